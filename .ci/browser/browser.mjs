// Chromium as the tests of the page drive it: pages that fail a test with whatever goes wrong in them, pictures, and what axe finds.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const packages = createRequire(path.join(here, "../../.tributary/browser/package.json"));
const { chromium } = packages("playwright-core");
const axe = await readFile(packages.resolve("axe-core/axe.min.js"), "utf8");
const screenshots = process.env.TRIBUTARY_SCREENSHOTS;

const SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const REFUSED = /status of (4|5)\d\d/;

/** The folder of the page's sources. */
export const PAGE_FOLDER = path.join(here, "../../query-api/web/page");

export const launch = () => chromium.launch({ executablePath: process.env.TRIBUTARY_CHROMIUM, args: SWITCHES });

const endings = new WeakMap();

/** Does something when a test ends, what was said last first: a page is closed before its server stops. */
export function atEnd(t, act) {
  if (!endings.has(t)) {
    endings.set(t, []);
    t.after(async () => {
      const failed = [];
      for (const one of endings.get(t).reverse()) await Promise.resolve().then(one).catch((error) => failed.push(error));
      if (failed.length > 0) throw failed[0];
    });
  }
  endings.get(t).push(act);
}

/**
 * A page of its own at an address of the page that `url` serves; what goes wrong in it fails the test. `expected` says which errors of the
 * console belong to the test, `others` which addresses of others it goes to.
 */
export async function openPage(t, browser, url, address, { width = 1280, dark = false, language = "en-US", expected = REFUSED, others = [] } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light", locale: language, reducedMotion: "reduce" });
  context.setDefaultTimeout(60_000);
  if (process.env.TRIBUTARY_PAGE) await fromFolder(context, url, path.resolve(process.env.TRIBUTARY_PAGE));
  const errors = [];
  context.on("page", (page) => watch(page, { known: [url, "data:", ...others], expected, errors }));
  atEnd(t, async () => {
    await context.close();
    assert.deepEqual(errors, []);
  });
  return openTab(context, url, address);
}

/** Another tab of the same user. */
export async function openTab(context, url, address) {
  const page = await context.newPage();
  await page.goto(`${url}/#/${address}`);
  await page.locator("main h1").waitFor({ state: "attached" });
  return page;
}

function watch(page, { known, expected, errors }) {
  page.on("pageerror", (error) => errors.push(error.stack));
  page.on("dialog", (dialog) => { errors.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("console", (message) => { if (message.type() === "error" && !expected.test(message.text())) errors.push(message.text()); });
  page.on("request", (request) => { if (!known.some((start) => request.url().startsWith(start))) errors.push(`another host: ${request.url()}`); });
}

/** The page of a folder instead of the one in the binary. */
async function fromFolder(context, url, folder) {
  await context.route(`${url}/`, (route) => route.fulfill({ path: path.join(folder, "../index.html") }));
  await context.route(`${url}/page/**`, (route) => route.fulfill({ path: path.join(folder, new URL(route.request().url()).pathname.slice("/page/".length)) }));
}

/** Keeps a picture of the page where TRIBUTARY_SCREENSHOTS names a folder. */
export async function picture(page, name) {
  if (screenshots) await page.screenshot({ path: path.join(screenshots, `${name}.png`) });
}

/** No serious finding of axe, and nothing wider than the screen. */
export async function assertAccessible(page, where) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`), [], where);
  const room = await page.evaluate(() => [document.scrollingElement.scrollWidth, innerWidth]);
  assert.ok(room[0] <= room[1], `${where}: ${room[0]} pixels wide`);
}
