// The network over time: links by utilisation, queues as bars, marks, drops and NACKs as flashes.
const LIMITS = [0.05, 0.3, 0.6, 0.8, 0.95];
const SVG = "http://www.w3.org/2000/svg";
const HAPPENED = ["mark", "drop", "NACK"];
const BAR = 34; // height in px of the deepest queue

function drawIn(parent, tag, attributes) {
  const element = parent.appendChild(document.createElementNS(SVG, tag));
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

// A bar for the queue and a dot for each kind of flash, beside the sending end of each link.
function decorations(svg, links) {
  return links.map((name, l) => {
    const path = one(`[data-l="${l}"]`, svg);
    if (!path) return null;
    const length = path.getTotalLength();
    const at = path.getPointAtLength(Math.min(30, 0.25 * length));
    const title = one("title", path);
    const bar = drawIn(svg, "rect", { class: "queue", x: at.x - 3, width: 6, y: at.y, height: 0 });
    const dots = HAPPENED.map((what, i) => {
      const place = path.getPointAtLength(Math.min(46 + 13 * i, (0.4 + 0.12 * i) * length));
      return drawIn(svg, "circle", { class: `flash f${i}`, cx: place.x, cy: place.y, r: 5, opacity: 0 });
    });
    return { name, path, bar, dots, at, title };
  });
}

function frame(data, links, scheme, number) {
  const text = data.schemes[scheme][1];
  links.forEach((link, l) => {
    if (!link) return;
    const at = 3 * (number * links.length + l);
    const [used, queue, bits] = [DIGIT[text[at]] / 63, DIGIT[text[at + 1]] / 63, DIGIT[text[at + 2]]];
    const step = LIMITS.filter((limit) => used >= limit).length;
    link.path.setAttribute("class", `u${step}`);
    link.path.setAttribute("stroke-width", 1.5 + 0.7 * step);
    link.bar.setAttribute("y", link.at.y - BAR * queue);
    link.bar.setAttribute("height", BAR * queue);
    link.dots.forEach((dot, i) => dot.setAttribute("opacity", (bits >> i) & 1));
    const happened = HAPPENED.filter((_, i) => (bits >> i) & 1).map((h) => `, ${h}s`).join("");
    link.title.textContent = `${link.name}: ${Math.round(100 * used)} % used, ${Math.round(queue * data.deepest)} packets wait${happened}`;
  });
}

function startPlayer(script) {
  const figure = script.closest("figure");
  const svg = one("svg.fig", figure).cloneNode(true);
  svg.setAttribute("aria-label", "the network at one time");
  const data = JSON.parse(script.textContent);
  const links = decorations(svg, data.links);
  const clock = make("output", {});
  const slider = make("input", { type: "range", min: 0, max: data.frames - 1, value: 0, "aria-label": "time" });
  const scheme = make("select", { "aria-label": "scheme" }, ...data.schemes.map(([name], i) => make("option", { value: i }, name)));
  const speed = make("select", { "aria-label": "speed" }, ...[1, 2, 5, 10].map((by) => make("option", { value: by }, `${by} ×`)));
  speed.value = "5";
  const show = () => {
    const number = Number(slider.value);
    frame(data, links, Number(scheme.value), number);
    const at = number * data.step;
    const event = data.events.filter((e) => e[0] <= at + data.step).at(-1);
    clock.textContent = `${at.toFixed(data.step < 1 ? 1 : 0)} s${event ? ` · ${event[1]}` : ""}`;
    slider.setAttribute("aria-valuetext", clock.textContent);
  };
  let playing = null;
  const play = tool("▶ play", "play or pause", () => {
    if (playing !== null) return stop();
    if (Number(slider.value) >= data.frames - 1) slider.value = 0;
    let last = performance.now();
    let time = Number(slider.value) * data.step;
    play.textContent = "❚❚ pause";
    const step = (now) => {
      time += ((now - last) / 1000) * Number(speed.value);
      last = now;
      slider.value = Math.floor(time / data.step);
      show();
      if (time >= data.frames * data.step) stop();
      else playing = requestAnimationFrame(step);
    };
    playing = requestAnimationFrame(step);
  });
  function stop() {
    cancelAnimationFrame(playing);
    playing = null;
    play.textContent = "▶ play";
  }
  [slider, scheme].forEach((control) => control.addEventListener("input", () => { if (control === slider && playing !== null) stop(); show(); }));
  const key = make("small", {}, `bars: packets that wait, the highest ${Math.round(data.deepest)}; dots: `,
    ...HAPPENED.map((what, i) => make("span", { class: `flashed f${i}` }, `${what}s `)));
  const left = data.left_out ? [make("small", {}, `${data.left_out} schemes are left out, for the size of the page.`)] : [];
  const holder = make("figure", { class: "player", tabindex: 0 },
    make("div", { class: "tools" }, play, slider, speed, scheme, clock), svg, make("div", { class: "tools" }, key, ...left));
  figure.before(make("h3", { id: "player" }, "Over time"), holder, make("h3", {}, "Over the whole window"));
  show();
}
