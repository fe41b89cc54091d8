// Figures over time, drawn again with uPlot: linked time axes, a crosshair with values, panels or one overlay.
const live = new Set(); // plots on the page
const figures = [];
const DASHES = [undefined, undefined, [5, 3], [1, 3]];
const OVERLAY_HEIGHT = 300;

function read(element) {
  const data = JSON.parse(one("script.series", element).textContent);
  for (const panel of data.panels) {
    panel.lines = panel.lines.map(([label, scheme, style, text]) => ({ label, scheme, style, values: decode(text) }));
    panel.bands = panel.bands.map(([scheme, five]) => ({ scheme, five: five.map(decode) }));
  }
  const columns = data.panels.flatMap((p) => [...p.lines.map((l) => l.values), ...p.bands.map((b) => b.five[0])]);
  return { ...data, element, bins: Math.max(0, ...columns.map((c) => c.length)) };
}

// The panels to draw: those of schemes that are shown, or all their lines in one.
function shownPanels(figure) {
  const shown = (k) => k === null || k === undefined || !state.hidden.has(k);
  const panels = figure.panels
    .filter((p) => shown(p.scheme))
    .map((p) => ({ ...p, lines: p.lines.filter((l) => shown(l.scheme)), bands: p.bands.filter((b) => shown(b.scheme)) }))
    .filter((p) => p.lines.length + p.bands.length > 0);
  if (!state.overlay || panels.length < 2) return panels;
  const named = (panel) => (line) => ({ ...line, label: [panel.title, line.label].filter((t, i, l) => t && l.indexOf(t) === i).join(" ") });
  return [{
    title: "", scheme: null, references: panels[0].references, bands: panels.flatMap((p) => p.bands),
    lines: panels.flatMap((p) => p.lines.map(named(p))),
  }];
}

// Whether lines of different schemes share the panel.
const several = (panel) => panel.lines.some((l) => l.scheme !== panel.lines[0].scheme);

function key(line, output, panel) {
  const dash = line.style > 1 ? DASHES[line.style % 4].join(" ") : "";
  const sample = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  Object.entries({ width: 16, height: 6, "aria-hidden": "true" }).forEach(([n, v]) => sample.setAttribute(n, v));
  const stroke = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const look = { d: "M0 3H16", stroke: "currentColor", "stroke-width": 2, "stroke-dasharray": dash, opacity: line.style % 4 === 1 ? 0.5 : 1 };
  Object.entries(look).forEach(([n, v]) => stroke.setAttribute(n, v));
  sample.append(stroke);
  const shaped = several(panel) && Math.floor(line.scheme / COLOURS) > 0 ? [mark(line.scheme)] : [];
  return make("span", { class: `key ${colourClass(line.scheme)}` }, sample, ...shaped, make("span", {}, line.label), output);
}

function heading(panel) {
  const outputs = [];
  const head = make("div", { class: "head" });
  if (panel.scheme !== null && panel.scheme !== undefined) {
    head.append(make("span", { class: `key ${colourClass(panel.scheme)}` }, mark(panel.scheme), make("b", {}, panel.title)));
  } else if (panel.title) head.append(make("b", {}, panel.title));
  for (const line of panel.lines) {
    outputs.push(make("span", { class: "value" }));
    // The heading is the key of a line without a name of its own.
    head.append(line.label ? key(line, outputs.at(-1), panel) : outputs.at(-1));
  }
  const band = panel.bands.length ? make("span", {}) : null;
  if (band) head.append(band);
  return { head, outputs, band };
}

function options(figure, panel, size, heads) {
  const axis = { stroke: colour("--mute"), font: "11px system-ui,sans-serif", ticks: { stroke: colour("--line"), size: 4 }, grid: { stroke: colour("--line"), width: 1 } };
  const bandSeries = panel.bands.flatMap((b) => [4, 3, 2, 1, 0].map((i) => ({
    stroke: i === 2 ? colour(colourClass(b.scheme)) : "transparent", width: i === 2 ? 1.7 : 0, points: { show: false },
  })));
  const bands = panel.bands.flatMap((b, i) => [[1, 5, 0.15], [2, 4, 0.25]].map(([high, low, alpha]) => ({
    series: [5 * i + high, 5 * i + low], fill: colour(colourClass(b.scheme)).replace("rgb(", "rgba(").replace(")", `,${alpha})`),
  })));
  const lineSeries = panel.lines.map((l) => ({
    stroke: colour(colourClass(l.scheme)), width: 1.6, alpha: l.style % 4 === 1 ? 0.5 : 1, dash: DASHES[l.style % 4], points: several(panel) ? shapes(l.scheme) : { show: false },
  }));
  return {
    ...size, padding: [8, 8, 0, 0], legend: { show: false },
    scales: { x: { time: false }, y: { distr: state.log ? 3 : 1, range: () => figure.span } },
    axes: [{ ...axis, grid: { show: false }, size: 26 }, { ...axis, size: 44, values: (_, ticks) => ticks.map((t) => (t === null ? "" : String(+t.toPrecision(6)))) }],
    series: [{}, ...bandSeries, ...lineSeries], bands,
    cursor: {
      sync: { key: "time", scales: ["x", null] }, y: false, points: { size: 5 },
      drag: { x: true, y: false, setScale: false },
      bind: { dblclick: () => () => { setView(null); return null; } },
    },
    hooks: {
      draw: [(plot) => decorate(plot, figure, panel)],
      setSelect: [(plot) => {
        const { left, width } = plot.select;
        if (width < 4) return;
        plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
        setView([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")], end(figure));
      }],
      setCursor: [(plot) => values(plot, figure, panel, heads)],
    },
  };
}

// The values at the crosshair, in the heading of each panel.
function values(plot, figure, panel, { outputs, band }) {
  const at = plot.cursor.left >= 0 ? plot.cursor.idx : null;
  const first = 1 + 5 * panel.bands.length;
  outputs.forEach((output, i) => { output.textContent = at === null ? "" : short(plot.data[first + i][at]); });
  if (band) band.textContent = at === null ? "" : `median ${short(plot.data[3][at])}, ${short(plot.data[5][at])} to ${short(plot.data[1][at])}`;
  const near = at === null ? undefined : figure.events.find((e) => Math.abs(e[0] - plot.data[0][at]) <= Math.max(figure.bin, (plot.scales.x.max - plot.scales.x.min) / 80));
  figure.clock.textContent = at === null ? "" : `${short(plot.data[0][at])} s${near ? ` · ${near[2]}` : ""}`;
}

// Means over groups of bins: more points than a panel can show would hide the course of a line. Zooming refines them.
const PIXELS = 3;
const LEAST_POINTS = 120;
function grouping(figure, width) {
  const [from, to] = state.view ?? [0, end(figure)];
  return Math.max(1, Math.ceil((to - from) / figure.bin / Math.max(LEAST_POINTS, width / PIXELS)));
}
function grouped(values, by) {
  const clean = (v) => (state.log && !(v > 0) ? null : v);
  if (by === 1) return values.map(clean);
  const means = [];
  for (let i = 0; i < values.length; i += by) {
    let [sum, n] = [0, 0];
    for (let j = i; j < Math.min(i + by, values.length); j++) if (values[j] !== null) { sum += values[j]; n++; }
    means.push(n ? clean(sum / n) : null);
  }
  return means;
}
function dataOf(figure, panel, by) {
  const time = Array.from({ length: Math.ceil(figure.bins / by) }, (_, i) => (i + 0.5) * by * figure.bin);
  const bands = panel.bands.flatMap((b) => [4, 3, 2, 1, 0].map((i) => grouped(b.five[i], by)));
  return [time, ...bands, ...panel.lines.map((l) => grouped(l.values, by))];
}

function show(plot) {
  const by = grouping(plot.figure, plot.width);
  plot.batch(() => {
    if (by !== plot.by) plot.setData(dataOf(plot.figure, plot.panel, by), false);
    plot.by = by;
    plot.setScale("x", { min: state.view?.[0] ?? 0, max: state.view?.[1] ?? end(plot.figure) });
  });
}

function drawPanel(figure, panel, plotElement, heads, height) {
  const width = Math.floor(plotElement.clientWidth);
  if (width < 40) return;
  const by = grouping(figure, width);
  const plot = new uPlot(options(figure, panel, { width, height }, heads), dataOf(figure, panel, by), plotElement);
  Object.assign(plot, { figure, panel, by });
  show(plot);
  figure.plots.add(plot);
  live.add(plot);
}

// Panels are drawn when they come near the window.
const nearby = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    nearby.unobserve(entry.target);
    entry.target.drawNow();
  }
}, { rootMargin: "400px" });

function build(figure) {
  figure.plots.forEach((plot) => { live.delete(plot); plot.destroy(); });
  figure.plots.clear();
  const panels = shownPanels(figure);
  figure.shown = panels;
  figure.span = valueRange(figure, panels);
  const width = figure.holder.clientWidth || 360;
  const room = Math.max(1, Math.floor(width / (panels.length > 9 ? 230 : 300)));
  const columns = Math.min(room, panels.length <= 3 ? panels.length : panels.length === 4 ? 2 : panels.length <= 9 ? 3 : 4) || 1;
  const height = panels.length <= 1 ? Math.min(OVERLAY_HEIGHT, 0.7 * width) : columns >= 3 ? 165 : columns === 2 ? 200 : 170;
  figure.holder.style.setProperty("--columns", columns);
  figure.holder.style.setProperty("--height", `${height}px`);
  figure.holder.replaceChildren(...panels.map((panel) => {
    const heads = heading(panel);
    const label = `${figure.title}${panel.title ? `: ${panel.title}` : ""}, ${figure.y}`;
    const plot = make("div", { class: "plot", role: "img", "aria-label": label });
    plot.drawNow = () => drawPanel(figure, panel, plot, heads, height);
    nearby.observe(plot);
    return make("div", { class: "panel" }, heads.head, plot);
  }));
  if (panels.length === 0) figure.holder.append(make("p", {}, "No scheme of this figure is shown."));
}

function startFigure(element) {
  const figure = { ...read(element), plots: new Set(), holder: make("div", { class: "panels" }), clock: make("output", {}) };
  figures.push(figure);
  const tools = make("div", { class: "tools" }, make("small", {}, figure.y), figure.clock);
  figure.tools = tools;
  // The drawing of every scheme stays at hand for its file.
  figure.svg = one("svg.fig", element);
  figure.svg.replaceWith(tools, figure.holder);
  tools.append(...exportTools(figure));
  let width = 0;
  new ResizeObserver(() => {
    if (Math.abs(figure.holder.clientWidth - width) < 2) return;
    width = figure.holder.clientWidth;
    build(figure);
  }).observe(figure.holder);
}

// On paper every panel is near.
addEventListener("beforeprint", () => all(".plot").forEach((plot) => { if (!one("canvas", plot)) { nearby.unobserve(plot); plot.drawNow(); } }));

// One redraw for all changes of a moment.
let waiting = null;
watch((what) => {
  if (what === "view") {
    if (waiting === null) waiting = requestAnimationFrame(() => {
      waiting = null;
      figures.forEach((f) => { f.span = valueRange(f, f.shown ?? []); });
      live.forEach(show);
    });
  } else if (figures.length) figures.forEach(build);
});
