// The Ask view of the web page in a real browser: with a scripted language model, and without one. Run by `.ci/test`; by hand as page.test.mjs.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";

import { assertAccessible, atEnd, launch, openPage, openTab, picture } from "./browser.mjs";
import { PAYLOADS, SETS } from "./documents.mjs";
import { Server, until, Wire } from "./server.mjs";

const binary = path.resolve(process.env.TRIBUTARY_BINARY);

const access = `# Random access

## Purpose

Random access is a procedure by which a terminal gets uplink timing. It has **four steps** and is guarded by timer \`T300\`.

## Failure

When timer T300 expires the terminal tries random access again after a pause.
`;

const chinese = `# 随机接入

随机接入是终端获得上行定时的过程。它有四个步骤，由定时器 T300 保护。
`;

const DOCUMENTS = [
  { source: "manual", source_path: "access.md", content: access, attributes: { language: "en" } },
  { source: "manual", source_path: "radio/接入.md", content: chinese, attributes: { language: "zh" } },
  { source: "portal", source_path: "pump.md", content: "# Pump\n\nThe pump moves water into the tank. Its seal is changed once a year." },
];

const FACT = "Random access is a procedure by which a terminal gets uplink timing [1].";
const SLOW = { piece_characters: 12, piece_delay_ms: 40 };
/** Longer than any test waits for. */
const ENDLESS = { reply: `${FACT} `.repeat(400), piece_characters: 4, piece_delay_ms: 50 };

/** Chosen by a word of the question; the last one for every other. */
const SCRIPT = [
  { contains: "endlessly", ...ENDLESS },
  { contains: "slowly", reply: `${FACT} `.repeat(20), ...SLOW },
  { contains: "wrongly", reply: `${FACT} It has 9 steps [1]. The moon is made of green cheese.` },
  { contains: "onerror=window.acted=40", reply: `${FACT}\n\n${PAYLOADS.join("\n\n")}\n\n![remote](https://example.org/a.png)\n\n<img src="https://example.org/b.png">\n\n> [1]: https://example.org/forged\n\n[1]: https://example.org/forged\n\n[go](javascript:window.acted=30)` },
  { contains: "table", reply: "| step | what |\n|---|---|\n| 1 | **preamble** [1] |\n\n```python\nstep[1] = 2\n```\n" },
  { contains: "接入", reply: "随机接入是终端获得上行定时的过程 [1]。" },
  { contains: `Q: What is random access?`, reply: "It has four steps [1]." },
  { reply: FACT },
];

let browser;
let plain;
let talking;

before(async () => {
  plain = await Server.start(binary);
  // One short page, embedded by its words: a question in many words is far from it.
  talking = await Server.start(binary, { script: SCRIPT, settings: { "query_api.answer.refuse_below": 0.2 } });
  for (const server of [plain, talking]) {
    await server.call("PUT", "knowledge-sets", SETS);
    await server.publish(DOCUMENTS);
  }
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await Promise.all([plain?.stop(), talking?.stop()]);
});

const open = (t, server, address = "ask", options = {}) => openPage(t, browser, server.url, address, options);
const field = (page) => page.locator("#question");
const turns = (page) => page.locator("article.turn");
const last = (page) => turns(page).last();
const stop = (page) => page.getByRole("button", { name: "Stop" });
const reply = (page) => last(page).locator(".answer .text");
const idOf = (page) => /#\/ask\/([0-9a-f]+)/.exec(page.url())?.[1];
const stored = async (server, page) => (await server.call("GET", `conversations/${idOf(page)}/turns`)).turns;
const isPending = async (server, page) => (await stored(server, page)).some(({ state }) => state === "pending");

/** Types a question and sends it. */
async function put(page, question) {
  await field(page).fill(question);
  await field(page).press("Enter");
}

/** The same, and waits for what becomes of it. */
async function ask(page, question) {
  const count = await turns(page).count();
  await put(page, question);
  await turns(page).nth(count).and(page.locator("[aria-busy=false]")).waitFor();
  await until("the answer is rendered", async () => (await last(page).locator(".text.plain").count()) === 0);
}

test("without a model the answer is in the words of the documents, and says so", async (t) => {
  const page = await open(t, plain);
  await page.getByText("Ask the documents. Answers cite").waitFor();
  await ask(page, "What is random access?");
  assert.match(await reply(page).innerText(), /gets uplink timing/);
  await last(page).getByText("In the words of the documents; no language model answered").waitFor();
  assert.ok(await last(page).locator("a.citation").count() > 0);
  await picture(page, "ask-extractive");
});

test("an answer comes in as it is written, its steps are shown, and it is rendered at the end", async (t) => {
  const page = await open(t, talking);
  await put(page, "Tell slowly: what is random access?");
  await last(page).locator(".steps li[aria-current=step]").waitFor();
  await last(page).locator(".text.plain").waitFor();
  const before = (await reply(page).innerText()).length;
  await until("more of it", async () => (await reply(page).innerText()).length > before);
  assert.match(await last(page).locator(".steps").innerText(), /Searching \d+ passages?/);
  await picture(page, "ask-streaming");
  await stop(page).waitFor();
  await turns(page).and(page.locator("[aria-busy=false]")).waitFor();
  await until("all citations are links", async () => (await last(page).locator("a.citation").count()) === 20);
  await last(page).getByText("Every statement is supported by what it cites").waitFor();
});

test("tables and code of an answer are rendered, and code has no citations", async (t) => {
  const page = await open(t, talking);
  await ask(page, "As a table: what is random access?");
  await reply(page).locator("td strong", { hasText: "preamble" }).waitFor();
  assert.equal(await reply(page).locator("td a.citation").count(), 1);
  assert.equal(await reply(page).locator("pre a").count(), 0);
  assert.match(await reply(page).locator("pre").innerText(), /step\[1\] = 2/);
});

test("an answer is stopped by button and by key, its question is kept, and retrying works", async (t) => {
  const page = await open(t, talking);
  await put(page, "Tell endlessly: what is random access?");
  await last(page).locator(".text.plain").waitFor();
  await stop(page).click();
  await last(page).getByText("Stopped.").waitFor();
  assert.equal((await stored(talking, page))[0].failure.code, "stopped");
  assert.match(await last(page).innerText(), /gets uplink timing|Random/, "what came before is shown");
  await last(page).getByRole("button", { name: "Try again" }).click();
  await until("asked again", async () => (await turns(page).count()) === 2);
  await last(page).locator(".text.plain").waitFor();
  await page.keyboard.press("Escape");
  await last(page).getByText("Stopped.").waitFor();
  await page.reload();
  await until("both are kept", async () => (await turns(page).getByText("Stopped.").count()) === 2);
  await ask(page, "What is random access?");
  await last(page).locator("a.citation").waitFor();
});

test("a follow-up is understood from what was said before", async (t) => {
  const page = await open(t, talking);
  await ask(page, "What is random access?");
  const id = idOf(page);
  assert.ok(id, "the conversation is in the address");
  await ask(page, "How many steps does random access have?");
  assert.match(await reply(page).innerText(), /It has four steps/);
  assert.equal(idOf(page), id);
  assert.equal((await stored(talking, page)).length, 2);
});

test("only one question at a time, here and in other tabs, which follow the answer", async (t) => {
  const page = await open(t, talking);
  await put(page, "Tell endlessly: what is random access?");
  await last(page).locator(".text.plain").waitFor();
  await put(page, "What is random access?");
  await page.getByText("One question at a time").waitFor();
  assert.equal(await field(page).inputValue(), "What is random access?", "it is kept");
  const other = await openTab(page.context(), talking.url, `ask/${idOf(page)}`);
  await last(other).locator(".text.plain").waitFor();
  await stop(other).click();
  for (const one of [page, other]) await last(one).getByText("Stopped.").waitFor();
  await put(other, "What is random access? wrongly");
  await until("the first tab shows it", async () => (await turns(page).count()) === 2);
  await last(page).locator(".doubtful").first().waitFor();
});

test("a question of another program in the same conversation is told, and the own one is not lost", async (t) => {
  const page = await open(t, talking);
  await ask(page, "What is random access?");
  await until("the page has read everything", async () => (await page.locator(".history li", { hasText: "What is random access?" }).count()) > 0);
  // It does not look again before the question is sent.
  let look;
  const mayLook = new Promise((done) => { look = done; });
  await page.route("**/turns?*", async (route) => { await mayLook; await route.continue(); });
  const asked = talking.call("POST", "ask", { question: "Tell endlessly: what is random access?", conversation_id: idOf(page) }).catch((error) => error);
  await until("it is recorded", () => isPending(talking, page));
  await put(page, "What is guarded by timer T300?");
  await page.getByText("A question of this conversation is still being answered").waitFor();
  assert.equal(await field(page).inputValue(), "What is guarded by timer T300?");
  look();
  await stop(page).click();
  assert.match((await asked).message, /stopped/);
  // Until the page has read that, it refuses another question and keeps its text.
  await until("the page knows that it ended", async () => (await stop(page).count()) === 0);
  await field(page).press("Enter");
  await until("it is asked", async () => (await turns(page).count()) === 3);
});

test("a citation opens the passage with what it cites marked, and there is a way back", async (t) => {
  const page = await open(t, talking);
  await ask(page, "What is random access?");
  const conversation = idOf(page);
  await reply(page).locator("a.citation").first().click();
  await page.locator("article.document mark.cited").first().waitFor();
  const marked = (await page.locator("mark.cited").allTextContents()).join("");
  assert.match(marked, /^Random access is a procedure by which a terminal gets uplink timing/);
  assert.doesNotMatch(marked, /expires/, "only what is cited");
  await picture(page, "ask-cited");
  await page.getByRole("link", { name: "Back to the conversation" }).click();
  await page.locator(".turn:focus").waitFor();
  assert.equal(idOf(page), conversation);
  await page.locator(".turn a.citation").first().click();
  await page.locator("mark.cited").first().waitFor();
  await page.goBack();
  await page.locator(".turn:focus").waitFor();
  await page.getByText(/sources?, \d cited/).click();
  await page.locator(".source blockquote").first().waitFor();
});

test("what the sources do not support is marked in words, where it stands", async (t) => {
  const page = await open(t, talking);
  await ask(page, "Tell wrongly: what is random access?");
  await last(page).getByText("Partly supported: what the sources do not support is marked").waitFor();
  await last(page).getByText("It has 9 steps [1]. [a number does not stand in what it cites]").waitFor();
  await last(page).getByText(/green cheese\.\s+\[not supported: cites nothing\]/).waitFor();
  const marked = (await last(page).locator(".doubtful").allTextContents()).join("");
  assert.ok(!marked.includes("uplink timing"), `what is supported is not marked: ${marked}`);
  await picture(page, "ask-unsupported");
});

test("a refusal names what is nearest", async (t) => {
  const page = await open(t, plain);
  await ask(page, "Who won the chess tournament in Reykjavik?");
  await last(page).getByText("The documents do not answer this", { exact: true }).waitFor();
  assert.match(await reply(page).innerText(), /The documents do not answer this question/);
  await ask(page, "pump chess tournament Reykjavik champion");
  await last(page).getByRole("heading", { name: "Nearest to the question" }).waitFor();
  await last(page).locator(".related a").first().click();
  await page.locator("article.document").waitFor();
});

test("nothing that a model writes acts on the page", async (t) => {
  const page = await open(t, talking);
  await put(page, "What is random access, the procedure by which a terminal gets uplink timing? <img src=x onerror=window.acted=40>");
  await turns(page).and(page.locator("[aria-busy=false]")).waitFor();
  await last(page).locator("a.citation").first().waitFor();
  for (const step of ["as it came", "loaded anew"]) {
    await page.evaluate(() => document.querySelectorAll("main details").forEach((one) => { one.open = true; }));
    const found = await page.evaluate(() => ({
      acted: window.acted,
      foreign: document.querySelectorAll(".talk :is(script, iframe, object, embed, style, .text svg)").length,
      pictures: [...document.querySelectorAll(".talk img")].filter((one) => one.src && !one.src.startsWith(location.origin)).length,
      handlers: [...document.querySelectorAll(".talk *")].filter((one) => [...one.attributes].some(({ name, value }) => name.startsWith("on") || name === "href" && /javascript:/i.test(value))).length,
      forged: [...document.querySelectorAll(".answer a")].filter((one) => one.href.includes("forged") && /^\W*1\W*$/.test(one.textContent)).length,
    }));
    assert.deepEqual(found, { acted: undefined, foreign: 0, pictures: 0, handlers: 0, forged: 0 }, step);
    await page.reload();
    await last(page).locator("a.citation").first().waitFor();
  }
});

test("feedback is kept, changed and taken back", async (t) => {
  const page = await open(t, talking);
  await ask(page, "What is random access?");
  const given = async () => (await stored(talking, page))[0].feedback;
  await page.getByRole("button", { name: "It helped" }).click();
  await until("it is kept", async () => (await given())?.helpful === true);
  await page.getByRole("textbox", { name: "Why? (optional)" }).fill("to the point");
  await page.getByRole("button", { name: "Save" }).click();
  await until("its reason too", async () => (await given())?.reason === "to the point");
  await page.reload();
  assert.equal(await page.getByRole("textbox", { name: "Why? (optional)" }).inputValue(), "to the point");
  await page.getByRole("button", { name: "It did not help" }).click();
  await until("it is changed", async () => (await given())?.helpful === false);
  await page.getByRole("button", { name: "It did not help", pressed: true }).click();
  await until("it is taken back", async () => (await given()) === undefined);
  await until("the page shows so", async () => (await page.locator(".thumbs [aria-pressed=true]").count()) === 0);
});

test("conversations are listed, found by title, renamed, exported and deleted", async (t) => {
  for (let at = 0; at < 35; at += 1) await talking.call("POST", "conversations", { title: `Old talk ${at}` });
  const page = await open(t, talking);
  await ask(page, "What is random access?");
  const list = page.locator(".history li");
  await until("the newest is first", async () => (await list.first().innerText()).startsWith("What is random access?"));
  await page.getByText("Manage").click();
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByRole("textbox", { name: "Title" }).fill("Renamed talk");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Renamed talk" }).waitFor();
  await list.filter({ hasText: "Renamed talk" }).waitFor();
  for (const [name, content] of [["Export as Markdown", /What is random access\?[\s\S]*uplink timing/], ["Export as JSON", /"question"/]]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name }).click()]);
    assert.match(await readFile(await download.path(), "utf8"), content);
  }
  assert.equal(await list.count(), 30);
  await page.getByRole("button", { name: "Older conversations" }).click();
  await until("older ones are there", async () => (await list.count()) > 30);
  await page.getByRole("searchbox", { name: "Find a title" }).fill("rEnamed");
  await until("only those found", async () => (await list.count()) === 1);
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Really delete this conversation?" }).click();
  await page.getByText("No conversation has such a title.").waitFor();
  assert.equal(idOf(page), undefined);
});

test("turns beyond a page are read on request", async (t) => {
  const { id } = await talking.call("POST", "conversations", {});
  for (let at = 1; at <= 32; at += 1) await talking.call("POST", "ask", { question: `What is random access? ${at}`, conversation_id: id });
  const page = await open(t, talking, `ask/${id}`);
  await until("the last thirty", async () => (await turns(page).count()) === 30);
  await page.getByRole("button", { name: "Earlier questions" }).click();
  await until("all", async () => (await turns(page).count()) === 32);
  assert.match(await turns(page).first().innerText(), /What is random access\? 1\b/);
  assert.equal(await page.getByRole("button", { name: "Earlier questions" }).count(), 0);
});

test("settings of a conversation are sent, and kept for it", async (t) => {
  const page = await open(t, talking);
  const choose = async () => {
    await page.getByText("What is searched, and how").click();
    return page.locator(".ask-settings");
  };
  let settings = await choose();
  await settings.locator("label", { hasText: "Everybody" }).getByRole("checkbox").check();
  await settings.getByLabel("Passages to answer from").fill("3");
  await settings.getByLabel("Complete follow-up questions").uncheck();
  await settings.getByLabel("Show how the question was understood").check();
  const sent = page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/v1/ask"));
  await ask(page, "What is random access?");
  const body = (await sent).postDataJSON();
  assert.deepEqual([body.filter, body.top_k, body.rewrite, body.explain], [{ knowledge_sets: ["common"] }, 3, false, true]);
  await page.getByText(/How it was answered/).click();
  await last(page).getByText("Understood as").waitFor();
  await page.reload();
  settings = await choose();
  assert.ok(await settings.locator("label", { hasText: "Everybody" }).getByRole("checkbox").isChecked());
  await settings.getByRole("button", { name: "Back to the defaults" }).click();
  await until("nothing is chosen", async () => (await settings.locator("summary .count").count()) === 0);
});

test("another way of answering is chosen, and its steps are shown", async (t) => {
  const page = await open(t, talking);
  await page.getByText("What is searched, and how").click();
  const settings = page.locator(".ask-settings");
  await settings.getByLabel("The model decides what is searched").check();
  await settings.getByLabel("Way of answering").selectOption({ label: "Textbook: passages are judged, and searched for once more" });
  await until("what goes with the other way alone is gone", async () => (await settings.getByLabel("The model decides what is searched").count()) === 0);
  const sent = page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/v1/ask"));
  await put(page, "Tell slowly: what is random access?");
  const body = (await sent).postDataJSON();
  assert.deepEqual([body.workflow, body.retrieval], ["textbook", undefined]);
  const steps = last(page).locator("ol.steps li");
  await until("it is written", async () => (await steps.last().getAttribute("aria-current")) === "step");
  const names = (await steps.allInnerTexts()).map((name) => name.replace(/\s*\d+ passages?$/, ""));
  assert.equal(names[0], "Looking for what would answer it");
  for (const name of ["Understanding the question", "Searching", "Judging the passages"]) assert.ok(names.includes(name), name);
  assert.equal(names.at(-1), "Writing the answer");
  await last(page).locator("a.citation").first().waitFor();
});

test("a page that is loaded anew in the middle follows the answer to its end", async (t) => {
  const page = await open(t, talking);
  await put(page, "Tell slowly: what is random access?");
  await last(page).locator(".text.plain").waitFor();
  await page.reload();
  await last(page).locator(".text.plain").waitFor();
  await until("all citations are links", async () => (await last(page).locator("a.citation").count()) === 20);
  assert.equal((await stored(talking, page))[0].state, "answered");
  await page.reload();
  await until("it is there", async () => (await last(page).locator("a.citation").count()) === 20);
});

test("after a broken connection the answer is read on where it stopped", async (t) => {
  const wire = await Wire.to(talking);
  atEnd(t, () => wire.close());
  const page = await openPage(t, browser, wire.url, "ask", { expected: /ERR_|status of/ });
  await put(page, "Tell slowly: what is random access?");
  await last(page).locator(".text.plain").waitFor();
  const resumed = page.waitForRequest((request) => request.method() === "GET" && request.url().includes("/v1/ask/"));
  wire.cut();
  assert.match((await resumed).headers()["last-event-id"], /^[0-9a-f]+-\d+$/);
  await until("all citations are links", async () => (await last(page).locator("a.citation").count()) === 20);
  const [{ answer }] = await stored(talking, page);
  assert.equal(answer.answer.trim(), `${FACT} `.repeat(20).trim());
});

test("a server that stops in the middle says so, and the question can be asked again", async (t) => {
  const server = await Server.start(binary, { script: [{ contains: "endlessly", ...ENDLESS }, { reply: FACT }] });
  atEnd(t, () => server.stop());
  await server.publish(DOCUMENTS);
  const page = await open(t, server, "ask", { expected: /ERR_|status of/ });
  await put(page, "Tell endlessly: what is random access?");
  await last(page).locator(".text.plain").waitFor();
  await server.end("SIGTERM");
  await last(page).getByText("the server stopped while it answered").waitFor();
  await last(page).getByText("ask again when it is back").waitFor();
  await server.again();
  await put(page, "Tell endlessly: what is random access?");
  await until("it is asked", async () => (await turns(page).count()) === 2);
  await last(page).locator(".text.plain").waitFor();
  await server.end("SIGKILL");
  await last(page).getByText("The connection broke. Reading on…").waitFor();
  await server.again();
  await last(page).getByText("No answer").waitFor();
  assert.deepEqual((await stored(server, page)).map(({ state }) => state), ["failed", "failed"]);
  await ask(page, "What is random access?");
  await last(page).locator("a.citation").waitFor();
});

test("a server with too much to do says when to try again, and keeps the question", async (t) => {
  const server = await Server.start(binary, { script: [ENDLESS], settings: { "query_api.ask.questions_at_once": 1 } });
  atEnd(t, () => server.stop());
  await server.publish(DOCUMENTS);
  const leave = new AbortController();
  atEnd(t, () => leave.abort());
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const other = await fetch(`${server.url}/v1/ask`, { method: "POST", headers, body: JSON.stringify({ question: "What is random access?" }), signal: leave.signal });
  assert.equal(other.status, 200);
  const page = await open(t, server, "ask", { expected: /ERR_|status of/ });
  await put(page, "Which timer guards random access?");
  await page.getByText(/Try again in \d+ seconds?\./).waitFor();
  assert.equal(await field(page).inputValue(), "Which timer guards random access?");
  leave.abort();
  await until("it is taken", async () => {
    if ((await turns(page).count()) === 0) await field(page).press("Enter");
    return (await last(page).locator(".text.plain").count()) === 1;
  });
});

test("keys: a word of an input method is not sent, Shift and Enter begins a line, focus stays", async (t) => {
  const page = await open(t, talking);
  await page.locator("#question:focus").waitFor();
  await page.keyboard.type("What is");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("random access?");
  const isSent = await field(page).evaluate((one) => !one.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true, cancelable: true })));
  assert.equal(isSent, false);
  assert.equal(await field(page).inputValue(), "What is\nrandom access?");
  await page.reload();
  assert.equal(await field(page).inputValue(), "What is\nrandom access?", "what is written is kept");
  await page.locator("#question:focus").waitFor();
  await page.keyboard.press("Enter");
  await last(page).locator("a.citation").waitFor();
  await page.locator("#question:focus").waitFor();
  await page.getByRole("status").filter({ hasText: "Every statement is supported" }).waitFor({ state: "attached" });
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("/");
  await page.locator("#question:focus").waitFor();
});

test("the answer is copied as Markdown", async (t) => {
  const page = await open(t, talking);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await ask(page, "What is random access?");
  await page.getByRole("button", { name: "Copy" }).click();
  await page.getByText("Copied").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), FACT);
});

test("it speaks Chinese, about Chinese documents", async (t) => {
  const page = await open(t, talking, "ask", { language: "zh-CN" });
  await put(page, "什么是随机接入？");
  await turns(page).and(page.locator("[aria-busy=false]")).waitFor();
  await last(page).locator("a.citation").click();
  await until("the Chinese sentence is marked", async () => /上行定时/.test((await page.locator("mark.cited").allTextContents()).join("")));
  await page.getByRole("link", { name: "返回对话" }).click();
  await last(page).getByText("每句话都有引用的资料支持").waitFor();
});

test("no state of the view has serious findings of accessibility or is wider than the screen", async (t) => {
  for (const [width, dark, language] of [[1280, false, "en-US"], [360, true, "zh-CN"], [390, false, "en-US"], [1280, true, "zh-CN"]]) {
    const name = (what) => `ask-${what}-${width}-${dark ? "dark" : "light"}-${language}`;
    const page = await open(t, talking, "ask", { width, dark, language });
    await field(page).waitFor();
    const check = async (what) => {
      await picture(page, name(what));
      await assertAccessible(page, name(what));
    };
    await check("new");
    await ask(page, language === "zh-CN" ? "什么是随机接入？" : "Tell wrongly: what is random access?");
    await page.locator(".sources summary").click();
    await page.locator(".thumbs button").first().click();
    await page.locator(".reason").waitFor();
    await check("answered");
    await ask(page, "As a table: what is random access?");
    await put(page, "Tell endlessly: what is random access?");
    await last(page).locator(".text.plain").waitFor();
    await check("streaming");
    await page.keyboard.press("Escape");
    await last(page).locator(".notice").waitFor();
    await page.locator(".menu summary").click();
    await page.locator(".ask-settings > summary").click();
    await page.evaluate(() => document.querySelectorAll("main details").forEach((one) => { one.open = true; }));
    await check("everything-open");
  }
});

test("the whole page is small, and comes from this server alone", async (t) => {
  const page = await open(t, talking);
  const bytes = await page.evaluate(() => performance.getEntries().filter(({ name }) => name.startsWith(location.origin) && !name.includes("/v1/")).reduce((sum, one) => sum + (one.encodedBodySize ?? 0), 0));
  assert.ok(bytes > 50_000 && bytes <= 300_000, `${bytes} bytes`);
  t.diagnostic(`${bytes} bytes, ready for input after ${Math.round(await readyAfter(page))} ms`);
});

/** Milliseconds until the page takes input, when all of it was kept from before. */
async function readyAfter(page) {
  await page.reload();
  await field(page).waitFor();
  return page.evaluate(() => performance.getEntriesByName("shown")[0].startTime);
}
