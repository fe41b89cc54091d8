// Files from the page: values as CSV, drawings as SVG and PNG.
function save(name, type, content) {
  const link = make("a", { download: name });
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function figureCsv(figure) {
  const columns = shownPanels(figure).flatMap((panel) => [
    ...panel.lines.map((l) => [[panel.title, l.label].filter(Boolean).join(" "), l.values]),
    ...panel.bands.flatMap((b) => ["least", "lower quartile", "median", "upper quartile", "most"].map((n, i) => [`${panel.title} ${n}`, b.five[i]])),
  ]);
  const lines = [["time_s", ...columns.map((c) => cell(`${c[0]}: ${figure.y}`))].join(",")];
  for (let bin = 0; bin < figure.bins; bin++) {
    lines.push([+(bin * figure.bin).toFixed(6), ...columns.map((c) => c[1][bin]?.toPrecision(4) ?? "")].join(","));
  }
  return lines.join("\n") + "\n";
}

// The rules of the sheet that drawings need; those for dark ground are left out.
function sheet() {
  const rules = [...document.styleSheets].flatMap((s) => [...s.cssRules]);
  const plain = rules.filter((r) => r.selectorText && /^(\.fig|\.s\d)/.test(r.selectorText));
  return plain.map((r) => r.cssText).join("") + [...state.hidden].map((k) => `.fig .k${k}{opacity:.07}`).join("");
}
function standalone(svg) {
  const copy = svg.cloneNode(true);
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
  style.textContent = sheet();
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  Object.entries({ width, height, fill: "#fff" }).forEach(([n, v]) => ground.setAttribute(n, v));
  copy.prepend(style, ground);
  return new XMLSerializer().serializeToString(copy);
}

function savePng(name, width, height, draw) {
  const canvas = make("canvas", { width: Math.ceil(2 * width), height: Math.ceil(2 * height) });
  const context = canvas.getContext("2d");
  context.scale(2, 2);
  context.fillStyle = colour("--ground");
  context.fillRect(0, 0, width, height);
  draw(context);
  canvas.toBlob((blob) => blob && save(name, "image/png", blob));
}
function svgPng(name, svg) {
  const { width, height } = svg.viewBox.baseVal;
  const image = new Image();
  image.onload = () => savePng(name, width, height, (context) => context.drawImage(image, 0, 0, width, height));
  image.setAttribute("src", `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(svg))}`);
}

// The panels as they are on the page, with their headings.
function figurePng(figure) {
  all(".plot", figure.holder).forEach((plot) => { if (!one("canvas", plot)) { nearby.unobserve(plot); plot.drawNow(); } });
  const box = figure.holder.getBoundingClientRect();
  savePng(`${figure.id}.png`, box.width, box.height + 24, (context) => {
    context.fillStyle = colour("--ink");
    context.font = "600 13px system-ui,sans-serif";
    context.fillText(`${figure.title}, ${figure.y}`, 0, 14);
    for (const panel of all(".panel", figure.holder)) {
      const head = one(".head", panel).getBoundingClientRect();
      let x = head.left - box.left;
      context.font = "12px system-ui,sans-serif";
      for (const part of one(".head", panel).children) {
        context.fillStyle = getComputedStyle(part).color;
        context.fillText(part.textContent, x, head.top - box.top + 36);
        x += context.measureText(part.textContent).width + 12;
      }
      const canvas = one("canvas", panel);
      const at = canvas?.getBoundingClientRect();
      if (at?.width) context.drawImage(canvas, at.left - box.left, at.top - box.top + 24, at.width, at.height);
    }
  });
}

const exportTools = (figure) => [
  tool("CSV", "save the values that are shown", () => save(`${figure.id}.csv`, "text/csv", figureCsv(figure))),
  tool("SVG", "save the drawing for papers, with every scheme", () => save(`${figure.id}.svg`, "image/svg+xml", standalone(figure.svg))),
  tool("PNG", "save the picture as it is shown", () => figurePng(figure)),
];

// Figures that the script does not draw again.
function exportStatic(element) {
  const svg = one("svg.fig", element);
  const name = svg.getAttribute("aria-label").toLowerCase().replace(/[^a-z0-9]+/g, "-");
  svg.before(make("div", { class: "tools" },
    tool("SVG", "save the drawing", () => save(`${name}.svg`, "image/svg+xml", standalone(svg))),
    tool("PNG", "save the picture", () => svgPng(`${name}.png`, svg))));
}
