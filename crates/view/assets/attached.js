// Programs that run elsewhere on this machine: forwarders by their metrics, fetches by their traces.
const POINTS = 600;
const FACES = 8;

// A chart that keeps the latest points of names that come and go.
function rolling(title, unit) {
  const chart = liveChart(title, unit, { height: 170 });
  const order = [];
  // The number of a name, by which it has its colour; none if it has no line.
  chart.number = (name) => order.indexOf(name);
  chart.add = (at, entries) => {
    const fresh = entries.map(([name]) => name).filter((name) => !order.includes(name));
    order.push(...fresh);
    chart.times.push(at);
    if (chart.times.length > POINTS) chart.times.shift();
    const length = chart.times.length;
    const lines = order.map((name, k) => chart.lines[k] ?? { name, k, values: new Array(length - 1).fill(null) });
    lines.forEach((line) => {
      line.values.push(entries.find(([name]) => name === line.name)?.[1] ?? null);
      if (line.values.length > length) line.values.shift();
    });
    if (fresh.length) chart.setLines(lines);
    else chart.redraw();
  };
  return chart;
}

function fetchCard(card, name) {
  const facts = make("p", {}, make("small", {}, "waiting for the first segment …"));
  const charts = [["goodput_mbps", "Goodput", "Mbit/s"], ["window", "Window", "segments"], ["in_flight", "Interests in flight", "Interests"], ["rtt_ms", "Round-trip time", "ms"]]
    .map(([metric, title, unit]) => ({ metric, chart: rolling(title, unit) }));
  card.append(make("h2", {}, "Fetch"), make("p", {}, make("code", {}, name)), facts, make("div", { class: "charts" }, ...charts.map((c) => c.chart.element)));
  return (event) => {
    facts.firstChild.textContent = `${(event.received_bytes / 1e6).toFixed(2)} MB received in ${short(event.at)} s`;
    charts.forEach(({ metric, chart }) => chart.add(event.at, [[name.split("/").at(-1), event[metric]]]));
  };
}

function forwarderCard(card, name) {
  const facts = make("p", {}, make("small", {}, "waiting for the second reading …"));
  const charts = [["in_mbps", "Received", "Mbit/s"], ["out_mbps", "Sent", "Mbit/s"], ["queue", "Egress queue", "packets"], ["marks", "Marks set", "per second"]]
    .map(([metric, title, unit]) => ({ metric, chart: rolling(title, unit) }));
  const headings = ["face", "in Mbit/s", "out Mbit/s", "Interests/s", "Data/s", "NACKs/s", "queue", "marks/s", "drops/s"];
  const body = make("tbody", {});
  const table = make("div", { class: "scroll", tabindex: "0" }, make("table", {},
    make("thead", {}, make("tr", {}, ...headings.map((h) => make("th", { scope: "col" }, h)))), body));
  card.append(make("h2", {}, "Forwarder"), make("p", {}, make("code", {}, name)), facts, make("div", { class: "charts" }, ...charts.map((c) => c.chart.element)), table);
  return (event) => {
    const more = event.faces_in_all > event.faces.length ? ` of ${event.faces_in_all}` : "";
    facts.firstChild.textContent = `${several(event.faces.length, "face")}${more}, ${event.pit} pending Interests, ${event.cs} packets in the content store`;
    const named = (f) => `${f.face} ${f.uri}`;
    charts.forEach(({ metric, chart }) => chart.add(event.at, event.faces.slice(0, FACES).map((f) => [named(f), f[metric]])));
    // The dot is the colour of the face's lines.
    const cell = (f) => {
      const k = charts[0].chart.number(named(f));
      return make("td", k < 0 ? {} : { class: colourClass(k) }, ...(k < 0 ? [] : [mark(k)]), make("span", {}, named(f)));
    };
    body.replaceChildren(...event.faces.map((f) => make("tr", {}, cell(f),
      ...[f.in_mbps, f.out_mbps, f.interests, f.data, f.nacks, f.queue, f.marks, f.drops].map((v) => make("td", {}, short(v))))));
  };
}

async function showAttached(main) {
  document.title = "Running programs · ndnweir";
  const programs = await api("attached");
  main.replaceChildren(make("h1", {}, "Running programs"));
  if (!programs.length) {
    main.append(make("p", { class: "empty" }, "Nothing is watched. Start the page with ",
      make("code", {}, "--forwarder HOST:PORT"), " (a forwarder's metrics) or ", make("code", {}, "--fetch TRACE.csv"), " (what ", make("code", {}, "ndnweir get --trace"), " writes)."));
    return;
  }
  programs.forEach((program, i) => {
    const card = make("section", {});
    const trouble = make("div", {});
    main.append(card);
    const take = program.kind === "fetch" ? fetchCard(card, program.name) : forwarderCard(card, program.name);
    card.append(trouble);
    follow(`attached/${i}/events`, (event) => {
      if (event.kind === "trouble") complain(trouble, event.message);
      else {
        trouble.replaceChildren();
        take(event);
      }
      return false;
    });
  });
}
