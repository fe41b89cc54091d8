// A headless Chromium, pages that are watched for errors, and pictures compared with committed ones.
import { chromium } from "playwright-core";
import { readFile, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(import.meta.url);

// A picture is compared at this share of its size, so that how letters are smoothed does not matter.
const SCALE = 0.25;
// Largest mean difference of a picture, and largest share of its points that differ visibly.
const MEAN = 0.02;
const VISIBLE = 0.04;

export async function start() {
  const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
  if (!executablePath) throw new Error("no Chromium; install it: apt-get install chromium");
  return chromium.launch({ executablePath, args: ["--no-sandbox"] });
}

// A page, of a file or of the server at `origin`. `page.faults` collects errors of scripts, messages of the console and
// requests to any other place.
export async function open(browser, address, { origin, width = 1400, height = 1000, theme = "light", script = true } = {}) {
  const context = await browser.newContext({
    viewport: { width, height }, colorScheme: theme, javaScriptEnabled: script, acceptDownloads: true, reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(`error: ${error.stack}`));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) page.faults.push(`${message.type()}: ${message.text()}`);
  });
  page.on("request", (request) => {
    const url = request.url();
    if (/^(https?|wss?):/.test(url) && new URL(url).origin !== origin) page.faults.push(`request: ${url}`);
  });
  await page.goto(origin ? address : `file://${address}`);
  return page;
}

// Waits until every chart near the window is drawn.
export async function drawn(page) {
  await page.waitForFunction(() => {
    const near = [...document.querySelectorAll(".plot")].filter((p) => {
      const box = p.getBoundingClientRect();
      return box.bottom > 0 && box.top < innerHeight;
    });
    return near.every((p) => p.querySelector("canvas"));
  });
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

// Fonts of one machine are not those of another: pictures are taken with one that the test installs.
export async function picture(page) {
  await page.evaluate(() => {
    // Not an element: pages may forbid styles of others.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("*{font-family:'DejaVu Sans'!important;caret-color:transparent!important}");
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  });
  await drawn(page);
  const shot = (await page.screenshot()).toString("base64");
  return page.evaluate(shrink, [shot, SCALE]);
}

// In the page: a PNG made smaller, as a data address.
async function shrink([base64, scale]) {
  const image = new Image();
  image.src = `data:image/png;base64,${base64}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width * scale, height: image.height * scale });
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL("image/png");
}

// In the page: mean difference of two PNGs of one size, and the share of points that differ by more than an eighth.
async function measure([one, two]) {
  const read = async (address) => {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    return { size: `${image.width}x${image.height}`, data: context.getImageData(0, 0, image.width, image.height).data };
  };
  const [a, b] = [await read(one), await read(two)];
  if (a.size !== b.size) return { mean: 1, visible: 1 };
  let [sum, visible] = [0, 0];
  for (let i = 0; i < a.data.length; i += 4) {
    const difference = (Math.abs(a.data[i] - b.data[i]) + Math.abs(a.data[i + 1] - b.data[i + 1]) + Math.abs(a.data[i + 2] - b.data[i + 2])) / 765;
    sum += difference;
    visible += difference > 0.125 ? 1 : 0;
  }
  return { mean: sum / (a.data.length / 4), visible: visible / (a.data.length / 4) };
}

export async function alike(page, one, two) {
  const found = await page.evaluate(measure, [one, two]);
  return { ...found, alike: found.mean <= MEAN && found.visible <= VISIBLE };
}

const PREFIX = "data:image/png;base64,";
export const load = async (path) => PREFIX + (await readFile(path)).toString("base64");
export const store = (path, address) => writeFile(path, Buffer.from(address.slice(PREFIX.length), "base64"));

// The page has nothing that shuts people out, as far as axe knows.
export async function accessible(page, what) {
  const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");
  // As the driver's own script: pages may forbid others.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const words = violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + (n.any[0]?.message ?? "")).join("; ")}`);
  assert.deepEqual(words, [], what);
}

// Takes pictures of a page at both widths in both themes and compares them with the committed ones, or writes these.
// `visit` gives a page of its own for each.
export async function looksAsCommitted(name, visit, { pictures, update, folder }) {
  const taken = {};
  for (const [width, height] of [[1400, 1800], [400, 2000]]) {
    for (const theme of ["light", "dark"]) {
      const page = await visit({ width, height, theme });
      await drawn(page);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}: no sideways scrolling at ${width} px`);
      await accessible(page, `${name} is accessible at ${width} px, ${theme}`);
      const file = `${name}-${width}-${theme}.png`;
      taken[theme] = await picture(page);
      if (update) await store(join(pictures, file), taken[theme]);
      const found = await alike(page, taken[theme], await load(join(pictures, file)));
      if (!found.alike) await store(join(folder, file), taken[theme]);
      assert.ok(found.alike, `${file} differs (${JSON.stringify(found)}); see ${folder}/${file}, and --update if it is meant`);
      assert.deepEqual(page.faults, []);
      if (theme === "dark") assert.ok(!(await alike(page, taken.dark, taken.light)).alike, "the comparison tells themes apart");
      await page.context().close();
    }
  }
}
