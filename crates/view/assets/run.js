// One run: its charts while it is simulated, and where its report is.
const CHARTS = [
  ["goodput_mbps", "Goodput", "Mbit/s"], ["rtt_ms", "Round-trip time", "ms"], ["window", "Window", "segments"], ["queue_ms", "Queue", "ms"],
  ["loss_mbps", "Lost at full queues", "Mbit/s"], ["marks", "Marks", "Data per bin"],
];
const SOURCE = { queue_ms: "links", loss_mbps: "all" };
const CURVES = 12;

// The values of every scheme, by subject and metric.
function collector(run) {
  const schemes = run.schemes.map(() => ({ all: [], consumers: [], links: [] }));
  const put = (table, first, columns) => columns.forEach((column, m) => {
    const kept = (table[m] ??= []);
    column.forEach((value, i) => { kept[first + i] = value; });
  });
  return {
    schemes,
    take(event) {
      const kept = schemes[Math.floor(event.run / run.seeds.length)];
      if (!kept) return;
      put(kept.all, event.first, event.all);
      event.consumers.forEach((columns, i) => put((kept.consumers[i] ??= []), event.first, columns));
      event.links.forEach((columns, i) => put((kept.links[i] ??= []), event.first, columns));
    },
    // Of one scheme; `at` is the number of a consumer or link, null for all together.
    values(k, metric, kind, at) {
      if (at === null) return schemes[k].all[run.metrics.all.indexOf(metric)] ?? [];
      return schemes[k][kind][at]?.[run.metrics[kind].indexOf(metric)] ?? [];
    },
  };
}

function copier(text) {
  const button = tool("copy", "copy the command", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(pre);
      button.textContent = "selected";
    }
    setTimeout(() => { button.textContent = "copy"; }, 2000);
  });
  const pre = make("pre", { tabindex: "0" }, text);
  return make("div", { class: "command" }, pre, button);
}

function subjects(label, names, inAll, together) {
  const more = inAll > names.length ? ` (${names.length} of ${inAll} one by one)` : "";
  const which = select(label, [["", together + more], ...names.map((name, i) => [String(i), name])], "");
  return { element: make("label", {}, make("small", {}, `${label} `), which), which, get at() { return which.value === "" ? null : Number(which.value); } };
}

// The first changes of the network in words.
const changes = (events) => events.slice(0, 8).map(([at, text]) => `${+at.toPrecision(4)} s ${text}`).join("; ") + (events.length > 8 ? `; and ${events.length - 8} more` : "");

async function showRun(main, id) {
  const run = await api(`runs/${id}`);
  document.title = `${run.scenario} · ndnweir`;
  const values = collector(run);
  const badge = make("span", { class: "badge", role: "status" });
  const bar = make("progress", { max: 1, value: run.progress, "aria-label": "progress" });
  const far = make("span", {});
  const cancel = tool("cancel", "end this run; what is complete is written", async () => {
    cancel.disabled = true;
    await api(`runs/${id}/cancel`, {}).catch((error) => complain(trouble, error));
  });
  const done = make("div", {});
  const trouble = make("div", {});
  const consumer = subjects("consumers", run.consumers, run.consumers_in_all, "all together");
  const link = subjects("links", run.links, run.links_in_all, "the longest queue");
  const charts = CHARTS.map(([metric, title, unit]) => ({ metric, chart: liveChart(title, unit, { events: run.events }) }));
  const hidden = new Set(run.schemes.map((_, k) => k).slice(CURVES));
  const bins = Math.ceil(run.duration_s / run.bin_s);
  const times = Array.from({ length: bins }, (_, i) => +((i + 0.5) * run.bin_s).toFixed(6));
  const source = (metric) => (SOURCE[metric] === "all" ? ["all", null] : SOURCE[metric] === "links" ? ["links", link.at] : ["consumers", consumer.at]);
  const filled = (list) => { const all = list.slice(); for (let i = 0; i < bins; i++) all[i] ??= null; return all; };
  const refresh = () => charts.forEach(({ metric, chart }) => {
    chart.lines.forEach((line, k) => { line.values = filled(values.values(k, metric, ...source(metric))); });
    chart.redraw();
  });
  const rebuild = () => charts.forEach(({ metric, chart }) => {
    chart.times = times;
    chart.span = [0, run.duration_s];
    chart.setLines(run.schemes.map((name, k) => ({ name, k, hidden: hidden.has(k), values: filled(values.values(k, metric, ...source(metric))) })));
  });
  [consumer.which, link.which].forEach((which) => which.addEventListener("change", refresh));
  const legend = make("div", { class: "legend chips", role: "group", "aria-label": "schemes" }, ...run.schemes.map((name, k) => {
    const chip = make("button", { type: "button", class: `chip ${colourClass(k)}`, "aria-pressed": String(!hidden.has(k)), title: "show or hide", onclick: () => {
      if (!hidden.delete(k)) hidden.add(k);
      press(chip, !hidden.has(k));
      rebuild();
    } }, mark(k), make("span", {}, name));
    return chip;
  }));
  const say = (state) => {
    badge.textContent = state.state;
    badge.className = `badge ${state.state}`;
    const over = state.state !== "running";
    cancel.hidden = over;
    bar.hidden = over;
    if (over) far.textContent = "";
    if (state.message) complain(trouble, state.message);
    if (over && state.folder) {
      done.replaceChildren(make("div", { class: "row" }, make("a", { class: "go", href: `/results/${pathUrl(state.folder)}/report.html` }, "Open the report"),
        make("small", {}, `in ${state.folder}`)));
    }
  };
  say(run.state);
  main.replaceChildren(
    make("h1", {}, run.scenario), make("p", { class: "lead" }, run.about),
    make("div", { class: "status" }, badge, bar, far, cancel,
      make("span", {}, `${several(run.schemes.length, "scheme")}, ${several(run.seeds.length, "seed")}${run.seeds.length > 1 ? " (charts: the first)" : ""}, ${run.duration_s} s`)),
    done, trouble, make("h2", {}, "Over time"), legend, ...(run.events.length ? [make("p", {}, make("small", {}, `dashed: ${changes(run.events)}`))] : []), make("div", { class: "row" }, consumer.element, link.element),
    make("div", { class: "charts" }, ...charts.map((c) => c.chart.element)),
    make("h2", {}, "Repeat it"), make("p", {}, "The same command gives the same numbers on every machine."), copier(run.command),
  );
  rebuild();
  follow(`runs/${id}/events`, (event) => {
    if (event.kind === "bins") {
      values.take(event);
      refresh();
    } else if (event.kind === "progress") {
      bar.value = event.done;
      far.textContent = `${Math.round(event.done * 100)} %, ${event.complete} of ${event.of} simulations`;
    } else say(event);
    return event.kind === "state" && event.state !== "running";
  });
  window.ndnweirView = { values: (metric) => charts.find((c) => c.metric === metric).chart.values() };
}

function lost(is) {
  const said = one("#lost");
  if (!is) said?.remove();
  else if (!said) one("#main").prepend(make("p", { id: "lost", class: "message", role: "alert" }, "The program that serves this page does not answer; what is shown stays."));
}

// Events of the server until `take` says that there are no more. One that is lost is asked for again.
function follow(path, take) {
  const source = new EventSource(`/api/${path}`);
  source.onmessage = (message) => { if (take(JSON.parse(message.data))) source.close(); };
  // Said once for all streams, until one of them is there again.
  source.onerror = () => lost(true);
  source.onopen = () => lost(false);
  return source;
}
