// Opens reports in a browser and uses them as a reader does.
//
//   node report.js BINARY FOLDER             compares with the pictures in tests/browser/pictures
//   node report.js BINARY FOLDER --update    writes these pictures
//
// FOLDER takes the results. Prints how long a page takes until it can be used; no test asserts a time.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import { mkdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { accessible, drawn, looksAsCommitted, open, start } from "./browser.js";

const [binary, folder, update] = process.argv.slice(2);
// The sources: this file may run from a copy beside the libraries.
const root = process.env.NDNWEIR_ROOT ?? join(dirname(fileURLToPath(import.meta.url)), "../..");
const pictures = join(root, "tests/browser/pictures");
const require = createRequire(import.meta.url);
const SIX = "aimd,bic,cubic,pcon,pcon-ndnsim,hbhcm";
const WEIGHT = 1.5e6; // bytes
const NODES = 15_000; // elements, with every chart of the eight schemes that are shown first

const run = promisify(execFile);
async function results(name, ...words) {
  const out = join(folder, name);
  await run(binary, ["sim", ...words, "--quiet", "--force", "--out", out]);
  return join(out, "report.html");
}

async function uplotIsAsPublished() {
  const own = join(root, "crates/report/assets/uplot");
  const published = dirname(require.resolve("uplot/package.json"));
  const hash = async (path) => createHash("sha256").update(await readFile(path)).digest("hex");
  const recorded = (await readFile(join(own, "SHA256SUMS"), "utf8")).trim().split("\n").map((l) => l.split(/\s+/));
  assert.equal(recorded.length, 3);
  for (const [sum, file] of recorded) {
    assert.equal(await hash(join(own, file)), sum, `${file} is not what SHA256SUMS has`);
    const source = file === "LICENSE" ? file : `dist/${file}`;
    assert.equal(await hash(join(published, source)), sum, `${file} is not that of the npm package`);
  }
}

// What a state of the page means to a reader, from the plots themselves.
const axisEnds = (page) => page.evaluate(() => window.ndnweirReport.plots().map((p) => [p.scales.x.min, p.scales.x.max].map((v) => +v.toFixed(3)).join("-")));
const spans = (page) => page.evaluate(() => window.ndnweirReport.plots().map((p) => p.scales.y.max));
const titles = (page, figure) => page.evaluate((id) => [...document.querySelectorAll(`#${id} + figure .panel b`)].map((b) => b.textContent), figure);
const press = (page, key) => page.keyboard.press(key);

async function zoomIsLinked(page) {
  await page.locator("#goodput").scrollIntoViewIfNeeded();
  await drawn(page);
  const box = await page.locator("#goodput + figure .u-over").first().boundingBox();
  await page.mouse.move(box.x + 20, box.y + 30);
  await page.mouse.down();
  await page.mouse.move(box.x + 90, box.y + 40, { steps: 4 });
  await page.mouse.up();
  await drawn(page);
  const zoomed = new Set(await axisEnds(page));
  assert.equal(zoomed.size, 1, `one time axis: ${[...zoomed]}`);
  assert.notEqual([...zoomed][0], "0-60");
  await press(page, "ArrowRight");
  await drawn(page);
  assert.notEqual((await axisEnds(page))[0], [...zoomed][0]);
  await press(page, "0");
  await drawn(page);
  assert.deepEqual([...new Set(await axisEnds(page))], ["0-60"]);
}

async function theCrosshairShowsValues(page) {
  const box = await page.locator("#goodput + figure .u-over").first().boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 40);
  await drawn(page);
  const shown = await page.locator("#goodput + figure .value").allTextContents();
  assert.equal(shown.length, 12);
  assert.ok(shown.every((text) => Number(text) > 0 && Number(text) < 10), `Mbit/s of two consumers in six panels: ${shown}`);
  assert.match(await page.locator("#goodput + figure output").textContent(), /^(29|30)(\.\d)? s/);
}

async function axesAreClippedAndLogarithmic(page) {
  await page.locator("#delay").scrollIntoViewIfNeeded();
  await drawn(page);
  const caption = await page.locator("#delay + figure figcaption").textContent();
  assert.match(caption, /Values beyond \d+ are cut off: cubic C1 \d+ at/);
  const clipped = Math.max(...(await spans(page)));
  await press(page, "c");
  await drawn(page);
  assert.ok(Math.max(...(await spans(page))) > 2 * clipped, "outliers are back");
  await press(page, "c");
  await press(page, "l");
  await drawn(page);
  assert.ok(await page.evaluate(() => window.ndnweirReport.plots().every((p) => p.scales.y.distr === 3 && p.scales.y.min > 0)));
  await press(page, "l");
}

async function schemesAreHiddenAndAlone(page) {
  const chip = page.getByRole("button", { name: "cubic", exact: true });
  await chip.click();
  assert.deepEqual(await titles(page, "goodput"), ["aimd", "bic", "pcon", "pcon-ndnsim", "hbhcm"]);
  await chip.press("s");
  assert.deepEqual(await titles(page, "goodput"), ["cubic"]);
  await press(page, "a");
  await press(page, "o");
  assert.equal(await page.locator("#goodput + figure .panel").count(), 1);
  assert.equal(await page.locator("#goodput + figure .panel .key").count(), 12);
  await press(page, "o");
  assert.equal((await titles(page, "goodput")).length, 6);
}

async function tablesSortAndFilter(page) {
  const first = () => page.locator("#tables ~ div table tbody tr td:first-child").first().textContent();
  const heading = page.getByRole("button", { name: "delay ms" }).first();
  await heading.click();
  assert.equal(await first(), "pcon");
  await heading.click();
  assert.equal(await first(), "cubic");
  const filter = page.getByRole("searchbox", { name: "filter rows of the table" }).first();
  await filter.fill("pcon C2");
  assert.match(await page.getByText("2 of 12 rows").textContent(), /2 of 12/);
  await filter.fill("");
}

async function filesAreSaved(page) {
  const download = async (figure, name) => {
    const [file] = await Promise.all([page.waitForEvent("download"), page.locator(`#${figure} + figure`).getByRole("button", { name }).click()]);
    return readFile(await file.path());
  };
  const csv = (await download("goodput", "CSV")).toString().trim().split("\n");
  assert.equal(csv.length, 601);
  assert.match(csv[0], /^time_s,aimd C1: goodput of each consumer \(Mbit\/s\),/);
  const stored = (await readFile(join(folder, "six/series/consumers.csv"), "utf8")).split("\n").find((l) => l.startsWith("cubic,1,30,C2,"));
  const [values, column] = [csv[301].split(","), csv[0].split(",").findIndex((c) => c.startsWith("cubic C2"))];
  assert.equal(values[0], "30");
  assert.ok(Math.abs(values[column] / Number(stored.split(",")[4]) - 1) < 1e-3, `${values[column]} of ${stored}`);
  assert.match((await download("goodput", "SVG")).toString(), /^<svg [^]*<style[^]*\.fig[^]*<path/);
  assert.equal((await download("goodput", "PNG")).subarray(1, 4).toString(), "PNG");
  assert.equal((await download("glance", "PNG")).subarray(1, 4).toString(), "PNG");
}

async function thePlayerShowsTheNetworkAtATime(page) {
  const title = () => page.locator(".player [data-l] title", { hasText: /^R2>R1/ }).textContent();
  const slider = page.getByRole("slider", { name: "time" });
  await slider.fill("0");
  const start = await title();
  await slider.fill("120");
  assert.match(await page.locator(".player output").textContent(), /^36\.0 s/);
  const stored = (await readFile(join(folder, "six/series/links.csv"), "utf8")).split("\n");
  const of = (bin) => stored.find((l) => l.startsWith(`aimd,1,${bin},R2>R1,`)).split(",").slice(4, 6).map(Number);
  // A frame of 0.3 s of a link of 10 Mbit/s, in 63 steps.
  const used = ["36", "36.1", "36.2"].flatMap(of).reduce((a, b) => a + b) / 3 / 10;
  const shown = Number((await title()).match(/(\d+) % used/)[1]) / 100;
  assert.ok(Math.abs(shown - Math.min(used, 1)) < 0.02 && (await title()) !== start, `${shown} for ${used}`);
  await page.getByRole("button", { name: "▶ play" }).click();
  await page.waitForFunction(() => Number(document.querySelector(".player input").value) > 123);
  await page.getByRole("button", { name: "❚❚ pause" }).click();
}

async function completeWithoutScript(browser, file) {
  const page = await open(browser, file, { script: false });
  const html = await page.content();
  assert.ok(html.match(/<svg class="fig"/g).length >= 8);
  assert.ok(await page.locator("#goodput + figure svg.fig").isVisible());
  await page.context().close();
}

async function manySchemesStayUsable(browser, file) {
  const { size } = await stat(file);
  assert.ok(size <= WEIGHT, `${size} bytes`);
  const page = await open(browser, file);
  await drawn(page);
  const ready = await page.evaluate(() => performance.getEntriesByName("ndnweir-ready")[0].startTime);
  await page.evaluate(async () => {
    for (let y = 0; y < document.body.scrollHeight; y += 700) {
      scrollTo(0, y);
      await new Promise((done) => setTimeout(done, 30));
    }
    scrollTo(0, 0);
  });
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
  assert.ok(nodes <= NODES, `${nodes} elements`);
  assert.equal((await titles(page, "goodput")).length, 8);
  await page.getByRole("button", { name: /^Schemes: 8 of/ }).click();
  await page.getByRole("searchbox", { name: "find a scheme" }).fill("pcon-");
  await page.getByRole("button", { name: "all", exact: true }).click();
  assert.deepEqual(await titles(page, "goodput"), ["pcon-ndnsim", "pcon-aimd", "pcon-cubic"]);
  await accessible(page, "accessible with all schemes");
  assert.deepEqual(page.faults, []);
  await page.context().close();
  console.log(`all schemes: ${(size / 1e6).toFixed(2)} MB, ${nodes} elements, usable after ${Math.round(ready)} ms`);
}

// Pages that are only loaded, scrolled through and checked for errors and accessibility.
async function otherPagesLoad(browser) {
  const failing = await results("failing", "geant-failure", "--scheme", "pcon");
  await results("slower", "dumbbell", "--scheme", "pcon,cubic,plain", "--set", "link.R1-R2.rate=8Mbps");
  const compared = join(folder, "comparison.html");
  await run(binary, ["report", join(folder, "six"), join(folder, "slower"), "--out", compared]);
  for (const file of [failing, compared]) {
    for (const [width, theme] of [[1400, "light"], [400, "dark"]]) {
      const page = await open(browser, file, { width, theme });
      for (let i = 0; i < 12; i++) {
        await page.mouse.wheel(0, 900);
        await drawn(page);
      }
      await accessible(page, `${file} is accessible at ${width} px`);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${file} at ${width} px`);
      assert.deepEqual(page.faults, [], file);
      await page.context().close();
    }
  }
}

async function main() {
  await uplotIsAsPublished();
  const many = results("all", "dumbbell", "--scheme", "all");
  many.catch(() => {}); // Awaited below.
  const six = await results("six", "dumbbell", "--scheme", SIX);
  const browser = await start();
  try {
    const page = await open(browser, six);
    await zoomIsLinked(page);
    await theCrosshairShowsValues(page);
    await axesAreClippedAndLogarithmic(page);
    await schemesAreHiddenAndAlone(page);
    await tablesSortAndFilter(page);
    await thePlayerShowsTheNetworkAtATime(page);
    await filesAreSaved(page);
    assert.deepEqual(page.faults, []);
    await page.context().close();
    await completeWithoutScript(browser, six);
    if (update) await mkdir(pictures, { recursive: true });
    await looksAsCommitted("report", (how) => open(browser, six, how), { pictures, update, folder });
    await otherPagesLoad(browser);
    await manySchemesStayUsable(browser, await many);
  } finally {
    await browser.close();
  }
  console.log("reports work in a browser");
}
await main();
