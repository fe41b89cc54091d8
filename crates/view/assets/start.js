// Which page the address names.
async function start() {
  const main = one("#main");
  const run = /^\/runs\/(\d+)$/.exec(location.pathname)?.[1];
  const pages = [["/", "Results"], ["/new", "Run a scenario"], ["/attached", "Running programs"]];
  one("nav").append(make("b", {}, "ndnweir"),
    ...pages.map(([path, text]) => make("a", { href: path, "aria-current": location.pathname === path ? "page" : undefined }, text)),
    tool("◐", "dark or light", () => setTheme(dark() ? "light" : "dark")));
  try {
    if (run) await showRun(main, run);
    else if (location.pathname === "/new") await showNew(main);
    else if (location.pathname === "/attached") await showAttached(main);
    else await showResults(main);
  } catch (error) {
    const holder = make("div", {});
    main.replaceChildren(make("h1", {}, "This did not work"), holder, make("p", {}, make("a", { href: "/" }, "All results")));
    complain(holder, error);
  }
  document.body.dataset.ready = "yes";
}
start();
