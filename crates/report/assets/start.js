// The tools of the whole page, the keyboard, and the start.
const KEYS = [
  ["+ −", "zoom in, zoom out"], ["← →", "earlier, later"], ["0", "all of the time axis"], ["l", "logarithmic axis"],
  ["c", "cut outliers off"], ["o", "all schemes in one chart, or a panel for each"], ["s", "on a scheme's button: this one alone"],
  ["a", "every scheme"], ["t", "dark or light"], ["?", "this list"],
];

const longest = () => Math.max(0, ...figures.map(end));
const flip = (what) => { state[what] = !state[what]; changed(what); };
const charts = () => all("figure script.series").length > 0;

function help() {
  const rows = KEYS.map(([k, text]) => make("tr", {}, make("td", {}, make("kbd", {}, k)), make("td", { class: "t" }, text)));
  const dialog = make("dialog", { class: "help", "aria-label": "keys" }, make("table", {}, make("tbody", {}, ...rows)),
    make("p", {}, "Drag over a chart to zoom, double click to see all. With Ctrl the wheel zooms, with Shift it moves."),
    tool("close", "close", () => dialog.close()));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function barTools() {
  const tools = make("div", { class: "end" });
  if (charts()) {
    const switches = [["log", "log", "logarithmic axis (l)"], ["clip", "clip", "cut outliers off (c)"], ["overlay", "overlay", "all schemes in one chart (o)"]];
    for (const [what, text, title] of switches) {
      const button = tool(text, title, () => flip(what), state[what]);
      watch(() => press(button, state[what]));
      tools.append(button);
    }
    tools.append(tool("−", "zoom out (−)", () => zoom(2, longest())), tool("+", "zoom in (+)", () => zoom(0.5, longest())));
    const whole = tool("all times", "the whole time axis (0)", () => setView(null));
    whole.disabled = true;
    watch((what) => { if (what === "view") whole.disabled = state.view === null; });
    tools.append(whole);
  }
  tools.append(tool("◐", "dark or light (t)", () => setTheme(dark() ? "light" : "dark")), tool("?", "keys (?)", help));
  return tools;
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const length = longest();
  const inScroll = event.target.closest?.(".scroll");
  const actions = {
    "+": () => zoom(0.5, length), "=": () => zoom(0.5, length), "-": () => zoom(2, length), 0: () => setView(null),
    ArrowLeft: () => pan(-0.25, length), ArrowRight: () => pan(0.25, length),
    l: () => flip("log"), c: () => flip("clip"), o: () => flip("overlay"),
    a: () => only(names.map((_, k) => k)), t: () => setTheme(dark() ? "light" : "dark"), "?": help,
  };
  const arrow = event.key.startsWith("Arrow");
  if (!Object.hasOwn(actions, event.key) || (arrow && (inScroll || state.view === null)) || one("dialog[open]")) return;
  if (!charts() && !["t", "a", "?"].includes(event.key)) return;
  event.preventDefault();
  actions[event.key]();
}

function onWheel(event) {
  const over = event.target.closest?.(".u-over");
  const plot = over && [...live].find((p) => p.over === over);
  if (!plot || !(event.ctrlKey || event.shiftKey)) return;
  event.preventDefault();
  const at = plot.posToVal(event.clientX - over.getBoundingClientRect().left, "x");
  const by = event.deltaY || event.deltaX;
  if (event.ctrlKey) zoom(by > 0 ? 1.25 : 0.8, end(plot.figure), at);
  else pan(by > 0 ? 0.1 : -0.1, end(plot.figure));
}

document.body.classList.add("live");
startSchemes();
startTables();
all("figure").forEach((element) => {
  if (one("script.series", element)) startFigure(element);
  else if (one("svg.fig", element)) exportStatic(element);
});
all("script.frames").forEach(startPlayer);
addEventListener("keydown", onKey);
addEventListener("wheel", onWheel, { passive: false });
// For tests: the plots on the page.
window.ndnweirReport = { plots: () => [...live] };
performance.mark("ndnweir-ready");
