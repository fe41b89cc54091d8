// Charts of values that still come: one line for each name, in its colour, redrawn at most once a frame.
// A point for so many pixels, at least so many of them: more would hide the course of a line.
const PIXELS = 3;
const LEAST = 120;
const DASH = [undefined, [6, 3], [2, 3]];

function liveChart(title, unit, { height = 190, events = [] } = {}) {
  const now = make("span", { class: "now" });
  const holder = make("div", { class: "plot", role: "img", "aria-label": `${title}, ${unit}` });
  const element = make("section", { class: "chart" }, make("h3", {}, title, make("small", {}, unit), now), holder);
  const chart = { element, lines: [], times: [], plot: null, span: null, dirty: false };

  // Means over neighbouring values, where they are many.
  const data = () => {
    const width = holder.clientWidth;
    const by = Math.max(1, Math.ceil(chart.times.length / Math.max(LEAST, width / PIXELS)));
    const means = (values) => {
      if (by === 1) return values;
      const list = [];
      for (let i = 0; i < values.length; i += by) {
        const some = values.slice(i, i + by).filter((v) => v !== null);
        list.push(some.length ? some.reduce((a, b) => a + b) / some.length : null);
      }
      return list;
    };
    return [means(chart.times), ...chart.lines.map((line) => means(line.values))];
  };
  const options = (width) => {
    const axis = { stroke: colour("--mute"), font: "11px system-ui,sans-serif", ticks: { stroke: colour("--line"), size: 4 }, grid: { stroke: colour("--line"), width: 1 } };
    return {
      width, height, padding: [8, 14, 0, 0], legend: { show: false },
      scales: {
        x: { time: false, range: (_, from, to) => chart.span ?? [from ?? 0, Math.max(to ?? 1, (from ?? 0) + 1)] },
        y: { range: (_, from, to) => [0, (to ?? 0) > 0 ? to * 1.05 : 1] },
      },
      axes: [{ ...axis, grid: { show: false }, size: 26 }, { ...axis, size: 46, values: (_, ticks) => ticks.map((t) => (t === null ? "" : String(+t.toPrecision(6)))) }],
      series: [{}, ...chart.lines.map((line) => ({
        stroke: colour(colourClass(line.k)), width: 1.7, show: !line.hidden, points: { show: false }, spanGaps: true,
        dash: DASH[Math.floor(line.k / COLOURS) % DASH.length],
      }))],
      cursor: { y: false, points: { size: 5 }, drag: { x: false, y: false } },
      hooks: {
        draw: [(plot) => drawEvents(plot, events)],
        setCursor: [(plot) => {
          const at = plot.cursor.left >= 0 ? plot.cursor.idx : null;
          const shown = chart.lines.map((line, i) => [line, at === null ? null : plot.data[i + 1][at]]).filter(([line, v]) => !line.hidden && v !== null && v !== undefined);
          now.textContent = at === null ? "" : `${short(plot.data[0][at])} s: ${shown.slice(0, 4).map(([line, v]) => `${line.name} ${short(v)}`).join(", ")}${shown.length > 4 ? ", …" : ""}`;
        }],
      },
    };
  };
  const build = () => {
    chart.plot?.destroy();
    chart.plot = null;
    const width = Math.floor(holder.clientWidth);
    if (width < 60) return;
    chart.plot = new uPlot(options(width), data(), holder);
  };
  // Lines with `values` of one length with `times`; new lines make a new plot.
  chart.setLines = (lines) => { chart.lines = lines; build(); };
  chart.redraw = () => {
    if (chart.dirty) return;
    chart.dirty = true;
    requestAnimationFrame(() => {
      chart.dirty = false;
      chart.plot?.setData(data());
    });
  };
  chart.values = () => chart.lines.map((l) => l.values);
  let width = 0;
  new ResizeObserver(() => {
    if (Math.abs(holder.clientWidth - width) < 2) return;
    width = holder.clientWidth;
    build();
  }).observe(holder);
  watch((what) => { if (what === "theme") build(); });
  return chart;
}

// Changes of the network as dashed lines.
function drawEvents(plot, events) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colour("--mute");
  ctx.setLineDash([3, 3]);
  for (const [at] of events) {
    const x = plot.valToPos(at, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}
