// Evaluations on the page, of runs that the real `tributary eval run` made. By hand:
//   TRIBUTARY_BINARY=target/release/tributary TRIBUTARY_CHROMIUM="$(.ci/browser/fetch)" node --test .ci/browser/evaluation.test.mjs
// TRIBUTARY_SCREENSHOTS=FOLDER keeps pictures; TRIBUTARY_PAGE=query-api/web/page takes the page from there instead of from the binary.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { assertAccessible, launch, openPage, picture } from "./browser.mjs";
import { Server } from "./server.mjs";

const binary = path.resolve(process.env.TRIBUTARY_BINARY);
const FILLERS = 40;

const DOCUMENTS = [
  { _id: "tilt", title: "Tilt", text: "The tilt of the antenna is set by software." },
  { _id: "power", title: "Power", text: "The greatest power of the transmitter is 23 dBm." },
  { _id: "ca", title: "载波聚合", text: "载波聚合由高层信令配置，辅小区随后激活。" },
  { _id: "tick", title: "Tick", text: "The timer interrupt counts the time slice of a task down." },
  ...Array.from({ length: FILLERS }, (_, at) => ({ _id: `filler-${at}`, title: `Antenna ${at}`, text: `Antenna ${at} has a cable and a connector of kind ${at}.` })),
];

const QUESTIONS = [
  { _id: "q-tilt", text: "how is the tilt of the antenna set", style: "verbatim", level: "single", modality: "text", evidence: [{ document: "tilt", quote: "set by software" }] },
  { _id: "q-power", text: "greatest power of the transmitter", style: "verbatim", evidence: [{ document: "power", quote: "23 dBm" }] },
  { _id: "q-ca", text: "怎么配置载波聚合", style: "noisy", level: "multi_hop", evidence: [{ document: "ca", quote: "高层信令" }, { document: "tilt", quote: "a quote that no document has" }] },
  { _id: "q-filter", text: "what does the timer interrupt count", request: { filter: { sources: ["elsewhere"] } } },
  { _id: "q-lost", text: "antenna cable connector kind", evidence: [{ document: "tick", quote: "counts the time slice" }] },
  { _id: "q-empty", text: "" },
];

const RELEVANT = [["q-tilt", "tilt"], ["q-power", "power"], ["q-ca", "ca"], ["q-filter", "tick"], ["q-lost", "tick"], ["q-empty", "tick"]];

let browser;
let server;

/** Runs the set as users do; the run is kept where the server looks. */
async function evaluate(...more) {
  const folder = path.join(server.folder, "radio");
  const lines = (all) => all.map((one) => `${JSON.stringify(one)}\n`).join("");
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, "corpus.jsonl"), lines(DOCUMENTS));
  await writeFile(path.join(folder, "queries.jsonl"), lines(QUESTIONS));
  await writeFile(path.join(folder, "qrels.tsv"), `query\tdocument\tscore\n${RELEVANT.map(([question, document]) => `${question}\t${document}\t1\n`).join("")}`);
  const store = path.join(server.folder, "data", "evaluations");
  await promisify(execFile)(binary, ["eval", "run", "--set", folder, "--store", store, "--format", "json", ...more], { cwd: server.folder, env: server.environment });
}

/** The runs that are kept, the oldest first; a file's name does not tell, since two of one second differ by a number. */
async function kept() {
  const folder = path.join(server.folder, "data", "evaluations");
  const names = (await readdir(folder)).filter((name) => name !== "torn.json" && name.endsWith(".json"));
  const runs = await Promise.all(names.map(async (name) => JSON.parse(await readFile(path.join(folder, name), "utf8"))));
  return runs.sort((one, other) => one.at_ms - other.at_ms);
}

before(async () => {
  server = await Server.start(binary);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const open = (t, address, options) => openPage(t, browser, server.url, address, options);
const region = (page, name) => page.getByRole("region", { name });

test("without a run the page says how to make one, and no visit loads the charts before they are shown", async (t) => {
  const page = await open(t, "search");
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.reload();
  await page.getByRole("searchbox").first().waitFor();
  await page.getByRole("link", { name: "Evaluation", exact: true }).click();
  await page.getByText("tributary eval run --set DIR").waitFor();
  assert.ok(asked.some((url) => url.endsWith("/vendor/preact.js")), "modules are seen");
  assert.deepEqual(asked.filter((url) => url.includes("uplot")), []);
  await assertAccessible(page, "no run");
  await picture(page, "evaluation-none");
});

test("runs over time, what each tier keeps, what was lost where, and a case in both runs", async (t) => {
  await evaluate("--top-k", "3");
  await evaluate("--top-k", "1", "--understand");
  await writeFile(path.join(server.folder, "data", "evaluations", "torn.json"), "{");
  const page = await open(t, "evaluation");
  await page.locator(".plot canvas").waitFor();
  const runs = region(page, "Runs, the newest first").locator("tbody tr");
  assert.equal(await runs.count(), 2);
  assert.notEqual(await runs.first().locator("code").innerText(), await runs.last().locator("code").innerText(), "other words, other settings");
  assert.equal(await page.getByText("same settings").count(), 0);
  assert.match(await page.locator("details.notice").first().innerText(), /1 file in the folder of runs is none/);
  assert.match(await region(page, "What each tier keeps").innerText(), /Tier 1[\s\S]*Tier 2[\s\S]*Answer[\s\S]*Evidence/);
  assert.match(await region(page, "Which step lost it").innerText(), /Conversion\s+1[\s\S]*Filter\s+1/);
  assert.match(await region(page, "By level, style and modality").innerText(), /Style: noisy\s+1/);
  assert.match(await page.getByText("line of the set could not be used").innerText(), /^1 line/);
  const measures = region(page, "Measures of the cases of both, with 95 % intervals");
  await measures.waitFor();
  assert.match(await measures.innerText(), /ndcg@10\s+0\.\d+\s+0\.\d+\s+\S+\s+\S+ … \S+/);
  const cases = region(page, "Cases, the worst first").locator("tbody tr");
  assert.equal(await cases.count(), 5);
  assert.match(await cases.last().innerText(), /Full/);
  await assertAccessible(page, "runs");
  await picture(page, "evaluation");

  await page.getByRole("button", { name: "Conversion" }).click();
  await page.getByRole("status").getByText("1 case", { exact: true }).waitFor();
  assert.match(page.url(), /step=conversion/);
  await page.getByRole("button", { name: "怎么配置载波聚合" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.locator("section").nth(1).waitFor();
  await dialog.locator("section").first().locator(".targets li").nth(1).waitFor();
  for (const at of [0, 1]) {
    const trace = await dialog.locator("section").nth(at).innerText();
    assert.match(trace, /Partial[\s\S]*lost by: Conversion[\s\S]*ca “?高层信令[\s\S]*Tier 1 1/);
  }
  await assertAccessible(page, "case");
  await picture(page, "evaluation-case");
  await dialog.getByRole("link", { name: "Search this question" }).click();
  await page.locator(".results-list, .search").first().waitFor();
  assert.match(decodeURIComponent(page.url()), /#\/search\?q=怎么配置载波聚合&explain=1/);
});

test("the other run is chosen by keyboard, and a case that it does not have is said to be missing", async (t) => {
  await evaluate("--limit", "2");
  const page = await open(t, "evaluation");
  await page.locator(".plot canvas").waitFor();
  const shown = () => page.getByRole("radio", { name: /^Show / });
  assert.ok(await shown().first().isChecked(), "the newest is shown");
  await shown().first().focus();
  await page.keyboard.press("ArrowDown");
  await page.waitForURL(/run=/);
  assert.ok(await shown().nth(1).isChecked());
  await page.getByRole("radio", { name: /^Compare with / }).first().click();
  await page.waitForURL(/against=/);
  await page.getByRole("button", { name: "antenna cable connector kind" }).click();
  await page.getByRole("dialog").getByText("This run has no such case.").waitFor();
});

test("cases that changed stand with their ranks before and after, and open side by side", async (t) => {
  // The second run as if tier 2 had lost a case.
  const [first, run] = await kept();
  const lost = run.cases.find(({ id }) => id === "q-tilt");
  Object.assign(lost, { verdict: "none", step: "fine", ranks: { coarse: 1, fine: 7, rerank: null, hit: null } });
  for (const name of Object.keys(lost.scores)) lost.scores[name] = 0;
  await writeFile(path.join(server.folder, "data", "evaluations", `${run.id}.json`), JSON.stringify(run));

  const page = await open(t, `evaluation?run=${run.id}&against=${first.id}`);
  const changed = region(page, "Cases that changed, the greatest loss first").locator("tbody tr");
  await changed.first().waitFor();
  assert.match(await changed.first().innerText(), /q-tilt\s+Full → None\s+– → Tier 2 \(fine\)[\s\S]*1 → 7[\s\S]*1\.000 → 0\.000/);
  assert.match(await region(page, "Measures of the cases of both, with 95 % intervals").innerText(), /ndcg@10[^\n]*-0\.200[\s\S]*may be chance/);
  await assertAccessible(page, "comparison");
  await picture(page, "evaluation-comparison");
  await changed.first().getByRole("button").click();
  const traces = page.getByRole("dialog").locator("section");
  await traces.nth(1).waitFor();
  await traces.first().locator(".targets li").waitFor();
  assert.match(await traces.first().innerText(), /Full/);
  assert.match(await traces.nth(1).innerText(), /lost by: Tier 2/);
});

test("narrow, dark and in Chinese", async (t) => {
  const page = await open(t, "evaluation", { width: 390, dark: true, language: "zh-CN" });
  await page.locator(".plot canvas").waitFor();
  await page.getByText("丢在哪一步").first().waitFor();
  await page.locator(".cases tbody tr").first().waitFor();
  assert.doesNotMatch(await page.locator("main").innerText(), /evaluation\.\w/, "every text has words");
  await assertAccessible(page, "narrow and dark");
  await picture(page, "evaluation-zh-narrow-dark");
  await page.locator(".cases button").first().click();
  await page.getByRole("dialog").locator(".targets li").first().waitFor();
  await assertAccessible(page, "a case, narrow and dark");
  await picture(page, "evaluation-case-zh-narrow-dark");
});

test("a narrow screen shows where one is, and the intervals of a comparison can be reached", async (t) => {
  const [before, after] = (await kept()).slice(-2);
  const isWithin = (one) => one.evaluate((element) => {
    const holder = element.closest(".scroll, nav").getBoundingClientRect();
    const { left, right } = element.getBoundingClientRect();
    return left >= Math.max(0, holder.left) - 1 && right <= Math.min(innerWidth, holder.right) + 1;
  });
  for (const [language, name] of [["en-US", "Measures of the cases of both, with 95 % intervals"], ["zh-CN", "两次评测共有用例的指标，附 95 % 区间"]]) {
    const page = await open(t, `evaluation?run=${after.id}&against=${before.id}`, { width: 320, language });
    const bar = page.locator("header nav");
    const holder = region(page, name);
    await holder.waitFor();
    assert.ok(await bar.evaluate((one) => one.scrollWidth > one.clientWidth), "the bar is wider than the screen");
    assert.ok(await isWithin(bar.locator("[aria-current]")), `${language}: where one is`);
    const intervals = holder.locator("th, td").nth(4);
    await holder.evaluate((one) => { one.scrollLeft = one.scrollWidth; });
    assert.ok(await isWithin(intervals), `${language}: the interval`);
    await holder.scrollIntoViewIfNeeded();
    await picture(page, `evaluation-narrow-end-${language}`);
    assert.match(await intervals.innerText(), language === "en-US" ? /interval/i : /区间/);
    await holder.evaluate((one) => { one.scrollLeft = 0; });
    await picture(page, `evaluation-narrow-${language}`);
    await page.goto(`${server.url}/#/search`);
    await page.locator("#question").waitFor();
    assert.ok(await isWithin(bar.locator("[aria-current]")), `${language}: back at the search`);
  }
});
