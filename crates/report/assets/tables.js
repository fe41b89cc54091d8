// Tables that are sorted by a click on a heading, and filtered if they are long.
const LONG = 10;

// The first number of a cell; `<0.001` counts as that number, and a dash comes last.
function number(text) {
  const found = text.replace("−", "-").match(/-?\d+(\.\d+)?(e-?\d+)?/i);
  return found ? Number(found[0]) : null;
}

function compare(a, b) {
  const [x, y] = [number(a), number(b)];
  if (/^[-−<]?\d/.test(a) && /^[-−<]?\d/.test(b)) return x - y;
  return a.localeCompare(b, undefined, { numeric: true });
}
const missing = (text) => text === "" || text === "–";

function sortable(table) {
  const headings = all("thead tr:last-child th", table);
  const body = one("tbody", table);
  headings.forEach((heading, column) => {
    if (heading.colSpan > 1 || heading.textContent === "") return;
    const button = make("button", { type: "button", title: "sort" });
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const up = heading.getAttribute("aria-sort") !== "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const text = (row) => row.cells[column]?.textContent.trim() ?? "";
      const ceiling = (row) => row.classList.contains("ceil");
      const rows = [...body.rows].map((row) => ({ row, text: text(row) }));
      rows.sort((a, b) => {
        if (ceiling(a.row) !== ceiling(b.row)) return ceiling(a.row) ? 1 : -1;
        if (missing(a.text) !== missing(b.text)) return missing(a.text) ? 1 : -1;
        return up ? compare(a.text, b.text) : compare(b.text, a.text);
      });
      body.append(...rows.map((r) => r.row));
    });
  });
}

function filterable(holder, table) {
  const rows = [...one("tbody", table).rows];
  if (rows.length <= LONG) return;
  const count = make("small", { role: "status" });
  const input = make("input", { class: "filter", type: "search", placeholder: "filter rows", "aria-label": "filter rows of the table" });
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
  });
  toolsOf(holder).prepend(input, count);
}

// The row of buttons before a table or in a figure.
function toolsOf(holder) {
  let tools = holder.previousElementSibling;
  if (!tools?.classList.contains("tools")) {
    tools = make("div", { class: "tools" });
    holder.before(tools);
  }
  return tools;
}

const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const tableCsv = (table) =>
  all("tr", table)
    .filter((row) => !row.hidden)
    .map((row) => [...row.cells].map((c) => cell(c.textContent.trim())).join(","))
    .join("\n") + "\n";

function startTables() {
  all(".scroll > table").forEach((table, i) => {
    const holder = table.parentElement;
    if (!one("thead", table) || one("thead", table).rows.length !== 1) return;
    sortable(table);
    filterable(holder, table);
    if (table.rows.length > 3) {
      toolsOf(holder).append(tool("CSV", "save the table", () => save(`table-${i + 1}.csv`, "text/csv", tableCsv(table))));
    }
  });
  // The marks of schemes that are hidden in the figures are fainter.
  const rows = all("tbody tr").map((row) => [row, names.indexOf(one("td span span", row)?.textContent ?? "")]);
  watch((what) => {
    if (what === "schemes") rows.forEach(([row, k]) => row.classList.toggle("off", k >= 0 && state.hidden.has(k)));
  });
}
