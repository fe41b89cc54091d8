// Scales of a figure's panels, which are common to all of them, and what is drawn beside the lines.

// What is visible between two times: the largest value, and the smallest positive one.
function extent(figure, panels) {
  const [from, to] = state.view ?? [-Infinity, Infinity];
  let [top, least] = [0, Infinity];
  const look = (values) => {
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      const at = (i + 0.5) * figure.bin;
      if (value === null || at < from || at > to) continue;
      if (value > top) top = value;
      if (value > 0 && value < least) least = value;
    }
  };
  for (const panel of panels) {
    panel.lines.forEach((line) => look(line.values));
    panel.bands.forEach((band) => { look(band.five[0]); look(band.five[4]); });
    panel.references.forEach(([value]) => { top = Math.max(top, value); });
  }
  return [top, least];
}

// The range of the value axis.
function valueRange(figure, panels) {
  const [top, least] = extent(figure, panels);
  const clipped = state.clip && figure.cap !== null && top > figure.cap;
  let high = clipped ? figure.cap : top * 1.04 || 1;
  if (state.log) {
    const low = Math.max(Math.min(least, high / 10), high / 1e6);
    return [10 ** Math.floor(Math.log10(low)), 10 ** (Math.log10(top || 1) + 0.05)];
  }
  if (figure.range && !state.view) return figure.range;
  return [figure.range?.[0] ?? 0, figure.range ? Math.min(high, figure.range[1]) : high];
}

const end = (figure) => figure.bins * figure.bin;

// Every change of the time axis is one of all figures.
function setView(view, length) {
  if (view) {
    const width = Math.max(view[1] - view[0], length * 1e-3);
    const from = Math.min(Math.max(view[0], 0), length - width);
    view = width >= length * 0.999 ? null : [Math.max(from, 0), Math.max(from, 0) + width];
  }
  state.view = view;
  changed("view");
}
function zoom(by, length, at) {
  const [from, to] = state.view ?? [0, length];
  const centre = at ?? (from + to) / 2;
  setView([centre - (centre - from) * by, centre + (to - centre) * by], length);
}
function pan(by, length) {
  const [from, to] = state.view ?? [0, length];
  setView([from + by * (to - from), to + by * (to - from)], length);
}

// Lines across a panel: the optimum, and events with their marks.
function decorate(plot, figure, panel) {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.lineWidth = 1.2 * ratio;
  ctx.font = `${10 * ratio}px system-ui,sans-serif`;
  for (const [value, label] of panel.references) {
    const y = plot.valToPos(value, "y", true);
    const from = Math.max(plot.valToPos(figure.from, "x", true), bbox.left);
    ctx.strokeStyle = ctx.fillStyle = colour("--ink");
    ctx.setLineDash([5 * ratio, 3.5 * ratio]);
    ctx.beginPath();
    ctx.moveTo(from, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.textAlign = "right";
    if (label) ctx.fillText(label, bbox.left + bbox.width - 3 * ratio, y < bbox.top + 16 * ratio ? y + 12 * ratio : y - 4 * ratio);
  }
  ctx.strokeStyle = ctx.fillStyle = colour("--down");
  ctx.setLineDash([2 * ratio, 2.5 * ratio]);
  ctx.textAlign = "left";
  let last = -Infinity;
  for (const [at, text] of figure.events) {
    const x = plot.valToPos(at, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width || x - last < 3 * ratio) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (x - last > 14 * ratio) ctx.fillText(text, x + 3 * ratio, bbox.top + 9 * ratio);
    last = x;
  }
  ctx.restore();
}

// Shapes on the lines of schemes whose colour another scheme has, too.
function shapes(k) {
  const shape = Math.floor(k / COLOURS) % SHAPES;
  if (shape === 0) return { show: false };
  return {
    show: (plot, series) => {
      const { ctx } = plot;
      const ratio = devicePixelRatio || 1;
      const size = 4 * ratio;
      const data = plot.data[series];
      const [from, to] = plot.series[0].idxs ?? [0, data.length - 1];
      const step = Math.max(1, Math.round((to - from) / 9));
      ctx.save();
      ctx.fillStyle = colour(colourClass(k));
      for (let i = from + Math.floor(step / 2); i <= to; i += step) {
        if (data[i] === null) continue;
        const [x, y] = [plot.valToPos(plot.data[0][i], "x", true), plot.valToPos(data[i], "y", true)];
        if (y < plot.bbox.top) continue;
        const corners = [, [[-1, -1], [1, -1], [1, 1], [-1, 1]], [[0, -1.2], [1.2, 1], [-1.2, 1]],
          [[0, -1.4], [1.4, 0], [0, 1.4], [-1.4, 0]], [[-1.2, -1], [1.2, -1], [0, 1.2]]][shape];
        ctx.beginPath();
        corners.forEach(([dx, dy]) => ctx.lineTo(x + dx * size, y + dy * size));
        ctx.closePath();
        ctx.fill();
      }
      ctx.restore();
      return false;
    },
  };
}
