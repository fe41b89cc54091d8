//! Colours, fonts and the page's script, common to all figures.

/// A colour for each scheme, for light and dark backgrounds. The first eight are Okabe and Ito's set for all kinds of
/// colour vision (yellow, which is hard to see on white, is replaced by indigo); four more follow for larger
/// comparisons.
const PALETTE: [(&str, &str); 12] = [
    ("#0072b2", "#4aa8e0"),
    ("#d55e00", "#f0803c"),
    ("#009e73", "#2cc39a"),
    ("#b8578f", "#e08fbd"),
    ("#c98a00", "#f0b429"),
    ("#3fa0e0", "#8ccbf5"),
    ("#44389c", "#a79cf5"),
    ("#5c5c5c", "#b8b8b8"),
    ("#7a4f01", "#c79a55"),
    ("#117733", "#63c985"),
    ("#882255", "#d773a3"),
    ("#6b8e23", "#b5d56a"),
];

/// Link colours by utilisation, from idle to full; the line width shows the same.
pub const RAMP: [&str; 6] = ["#c3cdd5", "#9db4c6", "#7fa3c4", "#e3b04b", "#de7f2a", "#c22f1d"];

/// The CSS class with the colour of scheme number `index`.
pub fn colour(index: usize) -> String {
    format!("s{}", index % PALETTE.len())
}

const FONT: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";

/// The CSS rules for figures; with `dark` also those for dark backgrounds.
pub fn figure_css(dark: bool) -> String {
    let mut css = format!(".fig{{font-family:{FONT};font-size:11.5px}}");
    css.push_str(
        ".fig text{fill:#3b4650}.fig .head{font-size:15px;font-weight:600;fill:#14202b}.fig .name{font-weight:600}\
         .fig .mute{fill:#6b7781}.fig .small{font-size:10.5px}.fig .tint{fill:currentColor}\
         .fig .grid{stroke:#e4e9ed;stroke-width:1;fill:none}.fig .base{stroke:#aeb8c0;stroke-width:1;fill:none}\
         .fig .opt{stroke:#14202b;stroke-width:1.2;stroke-dasharray:5 3.5;fill:none}.fig text.optt{fill:#14202b}\
         .fig .event{stroke:#b3261e;stroke-width:1;stroke-dasharray:2 2.5;fill:none}.fig text.eventt{fill:#b3261e;font-size:9.5px}\
         .fig .lead{stroke:currentColor;stroke-width:.8;fill:none;opacity:.5}\
         .fig .l{fill:none;stroke:currentColor;stroke-width:1.7;stroke-linejoin:round;stroke-linecap:round}\
         .fig .l1{opacity:.5}.fig .l2{stroke-dasharray:5 3}.fig .l3{stroke-dasharray:1 3.2}\
         .fig .b0{fill:currentColor;opacity:.13}.fig .b1{fill:currentColor;opacity:.26}\
         .fig .bar{fill:currentColor;opacity:.85}.fig .track{fill:#eef2f5}\
         .fig .err{stroke:#14202b;stroke-width:1.1;fill:none}.fig .whisk{stroke:currentColor;stroke-width:1.4;fill:none}\
         .fig .box{fill:currentColor;fill-opacity:.22;stroke:currentColor;stroke-width:1.4}\
         .fig .med{stroke:currentColor;stroke-width:2.6;fill:none}.fig .dot{fill:currentColor}\
         .fig .mean{fill:#fff;stroke:currentColor;stroke-width:1.4}\
         .fig .node{fill:#fff;stroke:#52606b;stroke-width:1.5}.fig .host{fill:#52606b;stroke:#52606b;stroke-width:1.5}\
         .fig .halo{stroke:#fff;stroke-width:3.5px;stroke-linejoin:round;paint-order:stroke}",
    );
    for (i, (light, _)) in PALETTE.iter().enumerate() {
        css.push_str(&format!(".s{i}{{color:{light}}}"));
    }
    for (i, light) in RAMP.iter().enumerate() {
        css.push_str(&format!(".fig .u{i}{{stroke:{light}}}.fig .v{i}{{fill:{light}}}"));
    }
    if dark {
        css.push_str("@media (prefers-color-scheme:dark){");
        css.push_str(
            ".fig text{fill:#c3ccd4}.fig .head,.fig text.optt{fill:#eef3f7}.fig .mute{fill:#8f9ba5}.fig .grid{stroke:#2b343c}\
             .fig .base{stroke:#59646d}.fig .opt,.fig .err{stroke:#eef3f7}.fig .track{fill:#242c33}\
             .fig .mean,.fig .node{fill:#171d22}.fig .node,.fig .host{stroke:#a9b5be}.fig .host{fill:#a9b5be}\
             .fig .event{stroke:#f2938c}.fig text.eventt{fill:#f2938c}\
             .fig .halo{stroke:#171d22}.fig .tint{fill:currentColor}",
        );
        for (i, (_, dark)) in PALETTE.iter().enumerate() {
            css.push_str(&format!(".s{i}{{color:{dark}}}"));
        }
        css.push('}');
    }
    css
}

/// The CSS rules for the page.
pub fn page_css() -> String {
    let page = ":root{color-scheme:light dark;--ink:#14202b;--mute:#5d6973;--line:#dde4e9;--ground:#fff;--soft:#f5f8fa;--accent:#0072b2}\
@media (prefers-color-scheme:dark){:root{--ink:#e8eef3;--mute:#98a4ae;--line:#2e373f;--ground:#171d22;--soft:#1e262c;--accent:#6db9ea}}\
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);line-height:1.5;font-size:15px}\
main,header{max-width:1060px;margin:0 auto;padding:0 24px}header{padding-top:40px}\
h1{font-size:30px;line-height:1.2;margin:0 0 6px;letter-spacing:-.01em}h2{font-size:21px;margin:52px 0 4px;letter-spacing:-.005em}\
h3{font-size:16px;margin:30px 0 2px}p{margin:4px 0 12px;max-width:76ch}.lead{font-size:17px;color:var(--mute);margin-bottom:14px}\
.facts{display:flex;flex-wrap:wrap;gap:6px 26px;margin:14px 0 0;padding:0;list-style:none;color:var(--mute);font-size:14px}\
.facts b{color:var(--ink);font-weight:600}figure{margin:0 0 8px}figcaption{color:var(--mute);font-size:13.5px;margin:0 0 8px;max-width:90ch}\
svg.fig{width:100%;height:auto;display:block}.warn{border-left:4px solid #d55e00;background:var(--soft);padding:10px 14px;margin:16px 0}\
.chips{position:sticky;top:0;z-index:2;background:var(--ground);border-bottom:1px solid var(--line);padding:9px 0;margin-top:22px;display:flex;flex-wrap:wrap;gap:6px;align-items:center}\
.chip{display:inline-flex;align-items:center;gap:7px;border:1px solid var(--line);border-radius:99px;padding:3px 12px 3px 9px;background:none;color:var(--ink);font:inherit;font-size:13.5px}\
button.chip{cursor:pointer}.chip i{width:11px;height:11px;border-radius:50%;background:currentColor;display:inline-block}\
.chip span{color:var(--ink)}.chip[aria-pressed=false]{opacity:.45}.chip[aria-pressed=false] span{text-decoration:line-through}\
.chips small{color:var(--mute);margin-left:auto}\
.scroll{overflow-x:auto;margin:10px 0 4px}table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;min-width:100%}\
th,td{padding:5px 7px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}th{font-weight:600;color:var(--mute);font-size:12.5px;text-align:right;vertical-align:bottom}\
th:first-child,td:first-child,th.t,td.t{text-align:left;padding-left:2px}td:first-child{font-weight:600}td i{width:9px;height:9px;border-radius:50%;background:currentColor;display:inline-block;margin-right:8px}\
td i+span{color:var(--ink)}tr.ceil td{color:var(--mute);font-style:italic}td.up{color:#00805d}td.down{color:#c14f00}\
@media (prefers-color-scheme:dark){td.up{color:#2cc39a}td.down{color:#f0803c}}\
details{margin:10px 0}summary{cursor:pointer;color:var(--accent);font-size:14px}code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:13px}\
pre{background:var(--soft);border:1px solid var(--line);border-radius:6px;padding:12px 14px;overflow-x:auto}\
footer{max-width:1060px;margin:50px auto 0;padding:16px 24px 40px;color:var(--mute);font-size:13px;border-top:1px solid var(--line)}\
@media print{.chips{position:static}h2,figure{break-inside:avoid}}";
    format!("body{{font-family:{FONT}}}{page}{}", figure_css(true))
}

/// Turns the scheme names into switches. The page is complete without it.
pub const SCRIPT: &str = "(function(){var s=document.createElement('style');document.head.appendChild(s);var off={};\
document.querySelectorAll('.chip[data-s]').forEach(function(c){var b=document.createElement('button');b.className=c.className;\
b.innerHTML=c.innerHTML;b.type='button';b.title='show or fade this scheme';b.setAttribute('aria-pressed','true');var k=c.dataset.s;c.replaceWith(b);\
b.addEventListener('click',function(){off[k]=!off[k];b.setAttribute('aria-pressed',String(!off[k]));\
s.textContent=Object.keys(off).filter(function(x){return off[x]}).map(function(x){return '.fig .k'+x+'{opacity:.07}'}).join('')})});\
var h=document.querySelector('.chips small');if(h)h.textContent='click a scheme to fade it; hover a line for its name'})();";
