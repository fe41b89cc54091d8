// Shared by all modules: elements, the theme, values from text, and the state of the page.
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const one = (selector, root = document) => root.querySelector(selector);

// An element with attributes and children. `on...` attributes are listeners; text is never read as markup.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

const tool = (text, title, click, pressed) =>
  make("button", { type: "button", class: "tool", title, "aria-pressed": pressed === undefined ? undefined : String(pressed), onclick: click }, text);
const press = (button, on) => button.setAttribute("aria-pressed", String(on));

// Few digits, as in the tables.
function short(value) {
  if (value === null || value === undefined || !isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e6) return value.toExponential(2).replace("e+", "e");
  const digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.0995 ? 2 : 3;
  return size < 0.0005 ? "<0.001" : value.toFixed(digits);
}

// Three characters for a value: sign, exponent, mantissa. The writer is src/series.rs.
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const DIGIT = Object.fromEntries([...DIGITS].map((character, value) => [character, value]));
function decode(text) {
  const values = new Array(text.length / 3);
  for (let i = 0; i < values.length; i++) {
    const code = (DIGIT[text[3 * i]] << 12) | (DIGIT[text[3 * i + 1]] << 6) | DIGIT[text[3 * i + 2]];
    const exponent = (code >> 11) & 63;
    const size = (1 + (code & 2047) / 2048) * 2 ** (exponent - 24);
    values[i] = code === 0 ? null : exponent === 0 ? 0 : code >> 17 ? -size : size;
  }
  return values;
}

// Names of schemes by number, from the chips; what the page knows about them, if it does.
const names = all(".chip[data-s]").map((chip) => chip.textContent);
const known = JSON.parse(one("script.schemes")?.textContent ?? "[]");
const COLOURS = 12;
const SHAPES = 5;
const colourClass = (k) => `s${k % COLOURS}`;
const mark = (k) => make("i", { class: `m${Math.floor(k / COLOURS) % SHAPES}` });

const state = {
  hidden: new Set(), // numbers of schemes
  view: null, // [from, to] in s; null is everything
  log: false,
  clip: true,
  overlay: false,
};
const watchers = [];
const watch = (watcher) => watchers.push(watcher);
const changed = (what) => watchers.forEach((watcher) => watcher(what));

// The theme: the system's, or what the reader chose. Storage may be forbidden to files.
const root = document.documentElement;
const dark = () =>
  root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
function setTheme(theme) {
  root.dataset.theme = theme;
  try {
    localStorage.setItem("ndnweir-theme", theme);
  } catch { /* The choice lasts as long as the page. */ }
  changed("theme");
}
try {
  const stored = localStorage.getItem("ndnweir-theme");
  if (stored === "dark" || stored === "light") root.dataset.theme = stored;
} catch { /* As above. */ }
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => changed("theme"));
// Paper is light.
let before;
addEventListener("beforeprint", () => { before = root.dataset.theme; root.dataset.theme = "light"; changed("theme"); });
addEventListener("afterprint", () => {
  if (before) root.dataset.theme = before;
  else delete root.dataset.theme;
  changed("theme");
});

// Colours of the sheet for drawings on canvas.
let colours = {};
watch((what) => { if (what === "theme") colours = {}; });
function colour(name) {
  if (colours[name]) return colours[name];
  if (name.startsWith("--")) return (colours[name] = getComputedStyle(root).getPropertyValue(name).trim());
  const probe = document.body.appendChild(make("i", { class: name, hidden: true }));
  colours[name] = getComputedStyle(probe).color;
  probe.remove();
  return colours[name];
}
