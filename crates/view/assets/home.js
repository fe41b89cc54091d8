// The list of results, and the form that runs a scenario.
const pageKey = one("meta[name=key]").content;

async function api(path, body) {
  const request = body === undefined ? {} : {
    method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json", "x-ndnweir-key": pageKey },
  };
  const response = await fetch(`/api/${path}`, request);
  const text = await response.text();
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    answer = { error: text.trim() };
  }
  if (!response.ok) throw new Error(answer.error ?? `the server answered ${response.status}`);
  return answer;
}

// Shows what went wrong where it went wrong.
const complain = (holder, error) => holder.replaceChildren(make("p", { class: "message", role: "alert" }, String(error.message ?? error)));

const date = (seconds) => new Date(seconds * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
const pathUrl = (path) => path.split("/").map(encodeURIComponent).join("/");
const several = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

function resultRow(folder) {
  const few = folder.schemes.slice(0, 6).join(", ") + (folder.schemes.length > 6 ? ` and ${folder.schemes.length - 6} more` : "");
  const link = make("a", { href: `/results/${pathUrl(folder.path)}/${folder.page}` }, folder.path);
  return make("tr", {}, make("td", {}, link), make("td", { class: "t" }, folder.kind), make("td", { class: "t" }, folder.scenario ?? "–"),
    make("td", { class: "t wrap" }, few || "–"), make("td", {}, folder.seeds || "–"), make("td", {}, date(folder.written_unix)));
}

function resultTable(folders) {
  const headings = [["folder", "t"], ["kind", "t"], ["scenario", "t"], ["schemes", "t"], ["seeds", ""], ["written", ""]];
  const body = make("tbody", {}, ...folders.map(resultRow));
  const filter = make("input", { type: "search", placeholder: "find results", "aria-label": "find results" });
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    all("tr", body).forEach((row) => { row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word)); });
  });
  const head = make("thead", {}, make("tr", {}, ...headings.map(([text, kind]) => make("th", { class: kind, scope: "col" }, text))));
  return make("div", {}, make("div", { class: "row" }, filter), make("div", { class: "scroll", tabindex: "0" }, make("table", {}, head, body)));
}

async function showResults(main) {
  document.title = "Results · ndnweir";
  const running = make("div", { class: "running" });
  const holder = make("div", {}, make("p", { class: "empty" }, "reading …"));
  main.replaceChildren(make("h1", {}, "Results"), make("p", { class: "lead" }, "Every report is a file of its folder and opens without this page, too."), running, holder);
  const runs = await api("runs");
  running.append(...runs.slice(0, 6).map((run) => make("a", { href: `/runs/${run.id}` },
    make("b", {}, run.scenario), make("small", {}, several(run.schemes.length, "scheme")), make("span", { class: `badge ${run.state.state}` }, run.state.state))));
  const { root, folders } = await api("results");
  if (folders.length) {
    holder.replaceChildren(resultTable(folders), make("p", {}, make("small", {}, `${several(folders.length, "folder")} below ${root}`)));
  } else {
    holder.replaceChildren(make("p", { class: "empty" }, `No results below ${root} yet. `, make("a", { href: "/new" }, "Run a scenario"), " to make the first."));
  }
}

// A slider with the value beside it. What was not moved is not sent.
function slider(label, { now, unit, from, to, log, digits = 3 }) {
  const steps = 200;
  const value = (at) => {
    const exact = log ? from * (to / from) ** (at / steps) : from + ((to - from) * at) / steps;
    return Number(exact.toPrecision(digits));
  };
  const at = now === null ? 0 : Math.round(steps * (log ? Math.log(now / from) / Math.log(to / from) : (now - from) / (to - from)));
  const input = make("input", { type: "range", min: 0, max: steps, value: Math.min(steps, Math.max(0, at)), "aria-label": label });
  const output = make("output", {}, now === null ? "as it is" : `${+now.toPrecision(4)} ${unit}`);
  const element = make("label", { class: "field" }, make("span", {}, label, output), input);
  const field = { element, moved: false, get value() { return field.moved ? value(Number(input.value)) : undefined; } };
  const say = () => { input.setAttribute("aria-valuetext", output.textContent); };
  say();
  input.addEventListener("input", () => {
    field.moved = true;
    element.classList.add("changed");
    output.textContent = `${value(Number(input.value))} ${unit}`;
    say();
  });
  return field;
}

const select = (label, entries, chosen) =>
  make("select", { "aria-label": label }, ...entries.map(([value, text]) => make("option", { value, selected: value === chosen }, text)));

// The sliders of a scenario; `read` gives what was changed.
function sliders(scenario) {
  const holder = make("div", {});
  const links = [["*", "all links"], ...scenario.links.map((l) => [l.name, l.name])];
  // The link in the middle of a chain is the bottleneck of most scenarios; the slowest one of all others.
  const rates = scenario.links.filter((l) => l.rate_mbps !== null);
  const slowest = Math.min(...rates.map((l) => l.rate_mbps));
  const first = rates.length ? (rates.every((l) => l.rate_mbps === slowest) ? rates.find((l) => /^R\d*-R\d*$/.test(l.name)) ?? rates[0] : rates.find((l) => l.rate_mbps === slowest)).name : "*";
  const which = select("link", links, first);
  let of = {};
  const place = make("div", {});
  const show = () => {
    const link = scenario.links.find((l) => l.name === which.value) ?? { rate_mbps: null, delay_ms: null, queue: "" };
    const packets = Number(/^(\d+) packets$/.exec(link.queue)?.[1] ?? NaN);
    const rate = link.rate_mbps ?? 10;
    const delay = link.delay_ms ?? 10;
    of = {
      rate_mbps: slider("rate", { now: link.rate_mbps, unit: "Mbit/s", from: rate / 20, to: rate * 20, log: true }),
      delay_ms: slider("delay", { now: link.delay_ms, unit: "ms", from: Math.max(0.01, delay / 20), to: Math.min(1000, Math.max(delay, 0.2) * 20), log: true }),
      queue_packets: slider("buffer", { now: isNaN(packets) ? null : packets, unit: "packets", from: 2, to: 2000, log: true, digits: 2 }),
    };
    place.replaceChildren(...Object.values(of).map((s) => s.element));
  };
  which.addEventListener("change", show);
  show();
  const duration = slider("simulated time", { now: scenario.duration_s, unit: "s", from: Math.min(5, scenario.duration_s), to: Math.max(120, scenario.duration_s), digits: 2 });
  const seeds = slider("seeds", { now: 1, unit: "", from: 1, to: 10, digits: 2 });
  const flows = scenario.flows === null ? null : scenario.flows.now === null
    ? slider("load of the flows", { now: null, unit: "%", from: 5, to: 95, digits: 2 })
    : slider("flows", { now: scenario.flows.now, unit: "", from: 1, to: 100, log: true, digits: 2 });
  holder.append(make("label", { class: "field" }, make("span", {}, "link to change"), which), place,
    ...(flows ? [flows.element] : []), duration.element, seeds.element);
  const read = () => ({
    link: Object.values(of).some((s) => s.moved) && which.value !== "*" ? which.value : undefined,
    ...Object.fromEntries(Object.entries(of).map(([name, s]) => [name, name === "queue_packets" && s.moved ? Math.round(s.value) : s.value])),
    duration_s: duration.value, seeds: seeds.moved ? Math.max(1, Math.round(seeds.value)) : undefined,
    ...(flows?.moved ? (scenario.flows.now === null ? { load_percent: flows.value } : { flows: Math.max(1, Math.round(flows.value)) }) : {}),
  });
  return { element: holder, read };
}

// Checkboxes of all schemes by where they act.
function schemePicker(schemes) {
  const boxes = schemes.map((scheme) => make("input", { type: "checkbox", value: scheme.name }));
  const pick = (i) => make("label", { class: "pick", title: schemes[i].stand_in ? "stands in for a law that is not public" : "" },
    boxes[i], schemes[i].name + (schemes[i].stand_in ? " *" : ""));
  const groups = [...new Set(schemes.map((s) => s.group))];
  const sets = groups.map((group) => make("fieldset", {}, make("legend", {}, group),
    make("div", { class: "picks" }, ...schemes.map((s, i) => (s.group === group ? pick(i) : null)).filter(Boolean))));
  const find = make("input", { type: "search", placeholder: "find a scheme", "aria-label": "find a scheme" });
  find.addEventListener("input", () => {
    sets.forEach((set) => {
      const found = all(".pick", set).map((label) => { label.hidden = !label.textContent.includes(find.value.trim()); return !label.hidden; });
      set.hidden = !found.some(Boolean);
    });
  });
  const count = make("small", {});
  const chosen = () => boxes.filter((b) => b.checked).map((b) => b.value);
  const say = () => { count.textContent = `${chosen().length} of ${boxes.length}`; };
  const set = (names) => { boxes.forEach((b) => { b.checked = names.includes(b.value); }); say(); };
  boxes.forEach((b) => b.addEventListener("change", say));
  const element = make("div", {}, make("div", { class: "row" }, find,
    tool("a few well-known", "measured, pcon, bic, cubic and aimd", () => set(["measured", "pcon", "bic", "cubic", "aimd"])),
    tool("none", "no scheme", () => set([])), count), ...sets, make("p", {}, make("small", {}, "* stands in for a law that is not public")));
  return { element, chosen, set };
}

async function showNew(main) {
  document.title = "Run a scenario · ndnweir";
  main.replaceChildren(make("h1", {}, "Run a scenario"), make("p", { class: "empty" }, "reading …"));
  const { scenarios, schemes } = await api("catalogue");
  const wanted = new URLSearchParams(location.search).get("scenario");
  const which = select("scenario", scenarios.map((s) => [s.name, s.name]), wanted ?? "dumbbell");
  const about = make("p", {});
  const facts = make("p", {}, make("small", {}));
  const room = make("div", {});
  const trouble = make("div", {});
  const picker = schemePicker(schemes);
  let knobs;
  const show = () => {
    const scenario = scenarios.find((s) => s.name === which.value) ?? scenarios[0];
    about.textContent = scenario.about;
    facts.firstChild.textContent = `${several(scenario.nodes, "node")}, ${several(scenario.links_in_all, "link")}, ${several(scenario.consumers, "consumer")}${scenario.warmup_s ? `; the first ${scenario.warmup_s} s are not measured` : ""}`;
    knobs = sliders(scenario);
    room.replaceChildren(knobs.element);
    picker.set(scenario.schemes);
  };
  which.addEventListener("change", show);
  show();
  const go = make("button", { type: "button", class: "go" }, "Run");
  go.addEventListener("click", async () => {
    go.disabled = true;
    trouble.replaceChildren();
    try {
      if (!picker.chosen().length) throw new Error("Choose at least one scheme.");
      const { id } = await api("runs", { scenario: which.value, schemes: picker.chosen(), ...knobs.read() });
      location.href = `/runs/${id}`;
    } catch (error) {
      complain(trouble, error);
      go.disabled = false;
    }
  });
  const left = make("div", { class: "card" }, make("label", { class: "field" }, make("span", {}, "scenario"), which), about, facts, room,
    make("div", { class: "row" }, go), trouble);
  const right = make("section", { "aria-label": "schemes" }, make("h2", {}, "Schemes"), picker.element);
  main.replaceChildren(make("h1", {}, "Run a scenario"),
    make("p", { class: "lead" }, "Move a slider to change the scenario, choose what to compare, and watch."),
    make("div", { class: "columns" }, left, right));
}
