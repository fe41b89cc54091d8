// The bar of schemes: show, hide, solo; groups, ranks and a search where they are many.
const FEW = 8;
const MENU = 12;
const METRICS = [
  ["goodput", 0, -1], ["mean delay", 1, 1], ["p99 of delay", 2, 1], ["Jain index", 3, -1], ["queue", 4, 1], ["loss", 5, 1],
];

// Goodput over mean delay: Kleinrock's power, which ranks schemes where no other order was asked for.
const power = (k) => (known[k]?.metrics[1] > 0 ? known[k].metrics[0] / known[k].metrics[1] : -1);

function toggle(k) {
  if (!state.hidden.delete(k)) state.hidden.add(k);
  changed("schemes");
}
function only(list) {
  state.hidden = new Set(names.map((_, k) => k).filter((k) => !list.includes(k)));
  changed("schemes");
}
function solo(k) {
  const alone = !state.hidden.has(k) && state.hidden.size === names.length - 1;
  only(alone ? names.map((_, i) => i) : [k]);
}

function chipOf(old) {
  const k = Number(old.dataset.s);
  const chip = make("button", {
    type: "button", class: old.className, "data-s": k, "aria-pressed": "true", title: "click: show or hide; double click or s: alone",
    onclick: () => toggle(k),
    ondblclick: () => solo(k),
    onkeydown: (event) => {
      if (event.key !== "s") return;
      event.stopPropagation();
      solo(k);
    },
  });
  chip.append(...old.childNodes);
  return chip;
}

// Chips under headings, by the chosen order.
function arrange(list, chips, order) {
  const ks = names.map((_, k) => k);
  list.replaceChildren();
  if (order === "group") {
    for (const group of [...new Set(known.map((s) => s.group))]) {
      const members = ks.filter((k) => known[k].group === group);
      list.append(make("div", { class: "group" }, `${group} (${members.length})`), ...members.map((k) => chips[k]));
    }
    return;
  }
  const metric = METRICS.find((m) => m[0] === order);
  const value = (k) => known[k].metrics[metric[1]];
  if (metric) ks.sort((a, b) => (value(a) === null) - (value(b) === null) || metric[2] * (value(a) - value(b)));
  if (order === "name") ks.sort((a, b) => names[a].localeCompare(names[b]));
  list.append(...ks.map((k) => chips[k]));
}

function menu(bar, list, chips) {
  list.hidden = true;
  const open = tool("", "choose schemes", () => {
    list.hidden = !list.hidden;
    open.setAttribute("aria-expanded", String(!list.hidden));
    extra.forEach((e) => { e.hidden = list.hidden; });
  });
  open.classList.add("menu");
  open.setAttribute("aria-expanded", "false");
  const search = make("input", { type: "search", placeholder: "find a scheme", "aria-label": "find a scheme", hidden: true });
  search.addEventListener("input", () => chips.forEach((chip, k) => { chip.hidden = !names[k].includes(search.value.trim()); }));
  const order = make("select", { "aria-label": "order of the schemes", hidden: true });
  const orders = known.length ? ["group", ...METRICS.map((m) => m[0]), "name"] : ["given", "name"];
  orders.forEach((o) => order.append(make("option", { value: o }, o === "group" ? "by where they act" : `by ${o}`)));
  order.addEventListener("change", () => arrange(list, chips, order.value));
  const matching = () => names.map((_, k) => k).filter((k) => !chips[k].hidden);
  const pick = (text, title, ks) => {
    const button = tool(text, title, () => only(ks()));
    button.hidden = true;
    return button;
  };
  // The first eight of the order that is shown.
  const first = () => all(".chip", list).filter((c) => !c.hidden).slice(0, FEW).map((c) => Number(c.dataset.s));
  const extra = [search, order, pick("all", "show every scheme that is found", matching),
    pick("none", "hide every scheme", () => []), pick(`first ${FEW}`, "show the first of this order", first)];
  bar.prepend(open, ...extra);
  const say = () => { open.textContent = `Schemes: ${names.length - state.hidden.size} of ${names.length} ▾`; };
  watch((what) => { if (what === "schemes") say(); });
  say();
  if (known.length) arrange(list, chips, "group");
}

function startSchemes() {
  const bar = one(".chips");
  if (!bar) return;
  const list = make("div", { class: "list" });
  const chips = all(".chip[data-s]", bar).map(chipOf);
  list.append(...chips);
  bar.replaceChildren(list);
  watch((what) => {
    if (what === "schemes") chips.forEach((chip, k) => press(chip, !state.hidden.has(k)));
  });
  // Figures that are not drawn by the script fade what is hidden.
  const sheet = document.head.appendChild(make("style"));
  watch((what) => {
    if (what === "schemes") sheet.textContent = [...state.hidden].map((k) => `.fig .k${k}{opacity:.07}`).join("");
  });
  if (names.length > MENU) {
    menu(bar, list, chips);
    if (known.length) {
      const ranked = names.map((_, k) => k).sort((a, b) => power(b) - power(a)).slice(0, FEW);
      bar.after(make("p", { class: "first" },
        `Figures over time begin with the ${FEW} schemes of the highest power (goodput over mean delay); choose others above.`));
      only(ranked);
    }
  }
  bar.append(barTools());
}
