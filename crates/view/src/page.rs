//! The page and what it loads.

use ndnweir_report::assets;
use std::sync::LazyLock;

const OWN: [&str; 5] = [
    include_str!("../assets/charts.js"),
    include_str!("../assets/home.js"),
    include_str!("../assets/run.js"),
    include_str!("../assets/attached.js"),
    include_str!("../assets/start.js"),
];

/// The script: what pages of reports share, and this page's own.
pub static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let own = OWN.join("\n");
    format!("(()=>{{\"use strict\";\n{}\n{own}}})()", assets::BASE_SCRIPT)
});
/// The plotting library.
pub static PLOTTING: LazyLock<String> = LazyLock::new(assets::plotting_script);
/// The style sheet.
pub static STYLE: LazyLock<String> =
    LazyLock::new(|| format!("{}{}{}", assets::page_css(), assets::plotting_css(), include_str!("../assets/view.css")));

/// The page; its script fills it. `key` is 32 hexadecimal digits.
pub fn shell(key: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"key\" content=\"{key}\"><title>ndnweir</title>\
         <link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" href=\"/assets/view.css\"></head>\n\
         <body><nav aria-label=\"pages\"></nav><main id=\"main\"><noscript>This page needs JavaScript; reports do \
         not.</noscript></main><footer>ndnweir {}: on this machine alone, to who has the address with the key.</footer>\n\
         <script src=\"/assets/uplot.js\"></script><script src=\"/assets/view.js\"></script></body></html>\n",
        env!("CARGO_PKG_VERSION")
    )
}
