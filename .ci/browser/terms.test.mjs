// The review of terms on the page, of candidates that the real `tributary lexicon discover` found. By hand:
//   TRIBUTARY_BINARY=target/release/tributary TRIBUTARY_CHROMIUM="$(.ci/browser/fetch)" node --test .ci/browser/terms.test.mjs
// TRIBUTARY_SCREENSHOTS=FOLDER keeps pictures.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { appendFile, readFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { assertAccessible, launch, openPage, picture } from "./browser.mjs";
import { Server } from "./server.mjs";

const binary = path.resolve(process.env.TRIBUTARY_BINARY);
const VERBS = ["读取", "修改", "检查", "释放"];

let browser;
let server;

const verdictFile = () => path.join(server.folder, "data", "lexicon", "verdicts.jsonl");
const lexicon = (...verb) => promisify(execFile)(binary, ["lexicon", ...verb, "--data-dir", path.join(server.folder, "data"), "--format", "json"], { cwd: server.folder, env: server.environment });
const verdicts = async () => (await readFile(verdictFile(), "utf8")).trim().split("\n").map(JSON.parse);

before(async () => {
  server = await Server.start(binary);
  await server.publish(VERBS.map((verb, at) => ({
    source: "os", source_path: `${at}.md`, content: `# 第 ${at} 章\n\n## 地址转换\n\n硬件完成地址转换以后，内核${verb}**物理页号** (PPN)。每次地址转换都要${verb}页表。TaskContext 保存在内核栈上，TaskContext 不变。\n`,
  })));
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const open = (t, address, options) => openPage(t, browser, server.url, address, options);
const shown = (page) => page.locator(".card h2");

test("without candidates the page says how to find some, and no visit loads the review before it is shown", async (t) => {
  const page = await open(t, "search");
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.reload();
  await page.getByRole("searchbox").first().waitFor();
  assert.deepEqual(asked.filter((url) => url.includes("views/terms")), []);
  await page.getByRole("link", { name: "Terms", exact: true }).click();
  await page.getByText("tributary lexicon discover").waitFor();
  await assertAccessible(page, "no candidates");
});

test("candidates are decided by key and by click, undone, and shared with the terminal", async (t) => {
  await lexicon("discover");
  const page = await open(t, "terms");
  await shown(page).waitFor();
  const first = await shown(page).innerText();
  assert.match(await page.locator(".card mark").first().innerText(), new RegExp(first.slice(0, 1)), "the term is marked in its sentences");
  await assertAccessible(page, "review");
  await picture(page, "terms");

  await page.keyboard.press("y");
  await page.waitForFunction((term) => document.querySelector(".card h2")?.textContent !== term, first);
  const second = await shown(page).innerText();
  await page.getByRole("button", { name: /^No / }).click();
  await page.waitForFunction((term) => document.querySelector(".card h2")?.textContent !== term, second);
  await page.keyboard.press("u");
  await page.waitForFunction((term) => document.querySelector(".card h2")?.textContent === term, second);
  await page.keyboard.press("s");
  await page.waitForFunction((term) => document.querySelector(".card h2")?.textContent !== term, second);
  const kept = await verdicts();
  assert.deepEqual(kept.map(({ term, decision, reviewer }) => [term, decision, reviewer]), [[first, "yes", "owner"], [second, "no", "owner"], [second, "undo", "owner"], [second, "skip", "owner"]]);

  // Somebody else disagrees in the terminal.
  await appendFile(verdictFile(), `${JSON.stringify({ term: first, decision: "no", reviewer: "ann", at_ms: 1 })}\n`);
  await page.getByRole("link", { name: "Disagreements" }).click();
  const row = page.getByRole("row", { name: new RegExp(first) });
  assert.match(await row.innerText(), /yes: owner[\s\S]*no: ann[\s\S]*disagreement[\s\S]*open/);
  await assertAccessible(page, "disagreements");
  await picture(page, "terms-disagreements");
  await row.getByRole("button", { name: `No: ${first}` }).click();
  await page.getByText("Nobody disagrees.").waitFor();
  await page.getByRole("link", { name: "Decided" }).click();
  assert.match(await page.getByRole("row", { name: new RegExp(first) }).innerText(), /no: ann, owner[\s\S]*no term/);

  const learned = JSON.parse((await lexicon("discover")).stdout);
  assert.equal(learned.learned_from.rejected, 1, "a round learns from what the page kept");
});

test("narrow, dark and in Chinese, to the last candidate", async (t) => {
  const page = await open(t, "terms", { width: 390, dark: true, language: "zh-CN" });
  await shown(page).waitFor();
  assert.doesNotMatch(await page.locator("main").innerText(), /terms\.\w/, "every text has words");
  await assertAccessible(page, "narrow and dark");
  await picture(page, "terms-zh-narrow-dark");
  for (;;) {
    const before = await page.locator("main [role=status]").innerText();
    if (before.includes("所有候选都看过了")) break;
    await page.keyboard.press("s");
    await page.waitForFunction((text) => document.querySelector("main [role=status]").innerText !== text, before);
  }
  await page.getByRole("button", { name: "从头开始" }).click();
  await shown(page).waitFor();
});
