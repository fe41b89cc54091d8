// Uses the page of `ndnweir view` as a person does, and as a page of another site would.
//
//   node view.js BINARY FOLDER             compares with the pictures in tests/browser/pictures
//   node view.js BINARY FOLDER --update    writes these pictures
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createServer } from "node:http";
import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { accessible, drawn, looksAsCommitted, open, start } from "./browser.js";

const [binary, folder, update] = process.argv.slice(2);
const root = process.env.NDNWEIR_ROOT ?? join(dirname(fileURLToPath(import.meta.url)), "../..");
const pictures = join(root, "tests/browser/pictures");
const results = join(folder, "results");
const TRACE = "time_s,window_segments,in_flight_interests,rtt_ms,received_bytes\n";
const run = promisify(execFile);
const children = [];

// Starts a program; gives the first line of its output that matches.
function begin(words, pattern, stream = "stdout") {
  const child = spawn(binary, words, { cwd: folder });
  children.push(child);
  return new Promise((found, failed) => {
    let text = "";
    child.stdout.on("data", () => {});
    child.stderr.on("data", () => {});
    child[stream].on("data", (bytes) => {
      text += bytes;
      const match = pattern.exec(text);
      if (match) found({ child, match });
    });
    child.on("exit", (code) => failed(new Error(`${words.join(" ")} ended with ${code}: ${text}`)));
  });
}

const ready = (page) => page.waitForFunction(() => document.body.dataset.ready === "yes");
async function visit(browser, url, path, how = {}) {
  const { origin } = new URL(url);
  const page = await open(browser, url, { ...how, origin });
  await page.goto(origin + path);
  await ready(page);
  return page;
}

async function aRunIsMadeAndWatched(browser, url) {
  const page = await visit(browser, url, "/new");
  await page.getByRole("combobox", { name: "scenario" }).selectOption("dumbbell");
  await page.getByRole("button", { name: "none" }).click();
  await page.getByRole("searchbox", { name: "find a scheme" }).fill("bic");
  await page.getByRole("checkbox", { name: "bic", exact: true }).check();
  await page.getByRole("searchbox", { name: "find a scheme" }).fill("");
  await page.getByRole("checkbox", { name: "measured", exact: true }).check();
  await page.getByRole("slider", { name: "delay" }).fill("150");
  const delay = await page.getByRole("slider", { name: "delay" }).getAttribute("aria-valuetext");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForURL(/runs\/\d+$/);
  await page.getByRole("link", { name: "Open the report" }).waitFor();
  const values = await allValues(page, "goodput_mbps", [600, 600]);
  const stored = (await readFile(join(results, "dumbbell/series/network.csv"), "utf8")).split("\n").find((l) => l.startsWith("bic,1,30,"));
  const [bic] = (await page.getByRole("group", { name: "schemes" }).allTextContents())[0].startsWith("bic") ? [0] : [1];
  assert.ok(Math.abs(values[bic][300] / Number(stored.split(",")[3]) - 1) < 1e-3, `${values[bic][300]} of ${stored}`);
  const command = await page.locator("pre").textContent();
  assert.equal(command, `ndnweir sim dumbbell --scheme measured,bic --seeds 1 --seed 1 --set link.R1-R2.delay=${delay.replace(" ", "")}`);
  await page.getByRole("combobox", { name: "consumers" }).selectOption("C2");
  const one = await page.evaluate(() => window.ndnweirView.values("goodput_mbps"));
  assert.ok(one[0][300] < values[0][300], "of one consumer of two");
  const address = page.url();
  await page.getByRole("link", { name: "Open the report" }).click();
  await page.locator("#goodput").waitFor();
  await drawn(page);
  // The report has no rights here: its origin is its own.
  assert.equal(await page.evaluate(() => origin), "null");
  assert.equal(await page.evaluate(() => fetch("/api/runs").then(() => "read", () => "rejected")), "rejected");
  // Back from it: the page still knows its owner.
  await page.goBack();
  await page.getByRole("link", { name: "Open the report" }).waitFor();
  const own = page.faults.filter((fault) => !/Content Security Policy|Content-Security-Policy|Refused to connect|Connecting to/.test(fault));
  assert.deepEqual(own, []);
  await page.context().close();
  return new URL(address).pathname;
}

async function cancelledRunsEnd(browser, url) {
  const page = await visit(browser, url, "/new");
  await page.getByRole("combobox", { name: "scenario" }).selectOption("geant");
  await page.getByRole("slider", { name: "simulated time" }).fill("200");
  await page.getByRole("slider", { name: "seeds" }).fill("200");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForURL(/runs\/\d+$/);
  await page.getByRole("button", { name: "cancel" }).click();
  await page.locator(".badge.cancelled").waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

async function namesAreText(browser, url) {
  const name = "<img src=x onerror=document.title='owned'>";
  await mkdir(join(results, name), { recursive: true });
  await writeFile(join(results, name, "summary.json"), JSON.stringify({ scenario: { name }, runs: [{ scheme: name, seed: 1 }] }));
  await writeFile(join(results, name, "report.html"), "<!doctype html><title>hostile</title><script>document.title='own script'</script>");
  const page = await visit(browser, url, "/");
  await page.getByRole("link", { name }).waitFor();
  assert.equal(await page.title(), "Results · ndnweir");
  await page.getByRole("searchbox", { name: "find results" }).fill("dumb");
  assert.equal(await page.getByRole("link", { name }).isVisible(), false);
  assert.equal(await page.getByRole("link", { name: "dumbbell", exact: true }).isVisible(), true);
  await accessible(page, "the list is accessible");
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

// A page of another site, under another port, and with another name for this machine.
async function otherSitesReachNothing(browser, url) {
  const { origin, port } = new URL(url);
  const server = createServer((_, response) => response.end("<!doctype html><title>other</title>"));
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  try {
    const page = await open(browser, url, { origin });
    await page.goto(`http://localhost:${server.address().port}/`);
    const before = (await (await page.request.get(`${origin}/api/runs`, { headers: {} })).json()).length;
    const tried = await page.evaluate(async (target) => {
      const body = JSON.stringify({ scenario: "dumbbell" });
      const tries = [
        [`${target}/api/runs`, { credentials: "include" }],
        [`${target}/api/runs`, { method: "POST", body, mode: "no-cors", credentials: "include" }],
        [`${target}/api/runs`, { method: "POST", body, credentials: "include", headers: { "content-type": "application/json", "x-ndnweir-key": "0" } }],
      ];
      return Promise.all(tries.map(([address, how]) => fetch(address, how).then((r) => (r.type === "opaque" ? "opaque" : String(r.status)), () => "rejected")));
    }, origin);
    assert.deepEqual(tried, ["rejected", "rejected", "rejected"]);
    const after = (await (await page.request.get(`${origin}/api/runs`)).json()).length;
    assert.equal(after, before, "nothing was started");
    // It cannot be framed either.
    await page.evaluate((target) => document.body.append(Object.assign(document.createElement("iframe"), { src: `${target}/new` })), origin);
    await page.waitForTimeout(300);
    assert.ok(page.frames().every((frame) => !frame.url().startsWith(`${origin}/new`) || frame.url() === "about:blank"), "framed");
    await page.context().close();
    const rebound = await (await browser.newContext()).newPage();
    const answer = await rebound.goto(`http://rebound.localhost:${port}/`);
    assert.equal(answer.status(), 421);
    await rebound.context().close();
  } finally {
    server.close();
  }
}

async function programsAreWatched(browser, url, trace) {
  const page = await visit(browser, url, "/attached");
  for (let i = 1; i <= 6; i++) {
    await appendFile(trace, `${i / 5},${10 * i},${i},20,${50_000 * i}\n`);
    await page.waitForTimeout(300);
  }
  await page.getByText("0.30 MB received in 1.20 s").waitFor();
  await page.getByRole("cell", { name: /^\d+ internal/ }).first().waitFor();
  await page.getByText(/pending Interests/).waitFor();
  await accessible(page, "what is watched is accessible");
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

// The values of a chart, once so many of each line are there: those of a run that had ended come after the link to its report.
async function allValues(page, metric, counts) {
  await page.waitForFunction(([metric, counts]) => {
    const there = window.ndnweirView.values(metric).map((line) => line.filter((v) => v !== null).length);
    return String(there) === String(counts);
  }, [metric, counts]);
  return page.evaluate((metric) => window.ndnweirView.values(metric), metric);
}

async function aRunOfTheCommandLineIsShown(browser) {
  const words = ["sim", "two-paths", "--scheme", "pcon", "--set", "run.duration=20s", "--live", "--out", join(folder, "lives/one"), "--force"];
  const { child, match } = await begin(words, /watch: (http\S+)/, "stderr");
  const page = await open(browser, match[1], { origin: new URL(match[1]).origin });
  await page.getByRole("link", { name: "Open the report" }).waitFor();
  await allValues(page, "window", [200]);
  await page.getByRole("link", { name: "Open the report" }).click();
  await page.locator("#goodput").waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
  const ended = new Promise((done) => child.on("exit", done));
  child.kill("SIGINT");
  assert.equal(await ended, 0, "Ctrl-C ends the page, and the work was done");
}

async function whatIsLostIsSaid(browser, trace) {
  const { child, match } = await begin(["view", results, "--fetch", trace], /(http:\S+)\n/);
  const page = await visit(browser, match[1], "/attached");
  const ended = new Promise((done) => child.on("exit", done));
  child.kill("SIGTERM");
  assert.equal(await ended, 0);
  await page.getByText("does not answer; what is shown stays").waitFor();
  await page.context().close();
}

async function main() {
  await mkdir(results, { recursive: true });
  if (update) await mkdir(pictures, { recursive: true });
  const trace = join(folder, "trace.csv");
  await writeFile(trace, TRACE);
  const metrics = "127.0.0.1:" + (await freePort());
  await writeFile(join(folder, "fwd.toml"), `metrics = "${metrics}"\n[listen]\nunix = "${join(folder, "fwd.sock")}"\n`);
  await begin(["fwd", "--config", join(folder, "fwd.toml")], /metrics/, "stderr");
  const { match } = await begin(["view", results, "--forwarder", metrics, "--fetch", trace], /(http:\S+)\n/);
  const url = match[1];
  const browser = await start();
  try {
    const path = await aRunIsMadeAndWatched(browser, url);
    await cancelledRunsEnd(browser, url);
    await namesAreText(browser, url);
    await otherSitesReachNothing(browser, url);
    await programsAreWatched(browser, url, trace);
    await aRunOfTheCommandLineIsShown(browser);
    await whatIsLostIsSaid(browser, trace);
    for (const [path, width, theme] of [["/", 400, "dark"], ["/", 1400, "light"], ["/attached", 400, "light"], ["/attached", 1400, "dark"]]) {
      const page = await visit(browser, url, path, { width, theme });
      await drawn(page);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path}: no sideways scrolling at ${width} px`);
      await accessible(page, `${path} is accessible at ${width} px, ${theme}`);
      assert.deepEqual(page.faults, []);
      await page.context().close();
    }
    for (const [name, at] of [["view-new", "/new"], ["view-run", path]]) {
      await looksAsCommitted(name, (how) => visit(browser, url, at, how), { pictures, update, folder });
    }
  } finally {
    await browser.close();
  }
  console.log("the page of ndnweir view works in a browser");
}

function freePort() {
  const server = createServer();
  return new Promise((found) => server.listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => found(port));
  }));
}

try {
  await main();
} finally {
  children.forEach((child) => child.kill());
}
process.exit(process.exitCode ?? 0);
