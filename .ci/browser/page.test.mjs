// The web page in a real browser, against the real binary. Run by `.ci/test`; by hand:
//   TRIBUTARY_BINARY=target/release/tributary TRIBUTARY_CHROMIUM="$(.ci/browser/fetch)" node --test .ci/browser/page.test.mjs
// TRIBUTARY_SCREENSHOTS=FOLDER keeps a picture of every view; TRIBUTARY_PAGE=query-api/web/page takes the page from there instead of from
// the binary, so that a change of it needs no build.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";

import { assertAccessible, atEnd, launch, openPage, PAGE_FOLDER, picture } from "./browser.mjs";
import { documents, many, pdf, PAYLOADS, SETS } from "./documents.mjs";
import { Server, until } from "./server.mjs";

const MANY = 300;
const VIEWS = ["search", "ask", "search?q=scheduler%20slices&explain=1", "documents", "sets", "dead-letters", "operations"];

let server;
let browser;
let ids;

before(async () => {
  server = await Server.start(path.resolve(process.env.TRIBUTARY_BINARY));
  await server.call("PUT", "knowledge-sets", SETS);
  ids = await server.publish([...documents(), ...many(MANY)]);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const open = (t, address, options) => openPage(t, browser, server.url, address, options);
const hits = (page) => page.locator(".hit");
const marks = async (page) => [...new Set(await page.locator(".hit mark").allTextContents())];
const rows = (page) => page.locator("tr.row");

async function ask(page, question) {
  await page.getByRole("searchbox", { name: /^(Question|问题)$/ }).fill(question);
  await page.keyboard.press("Enter");
  await page.locator(".results-list[aria-busy=false]").waitFor();
}

test("words of the question are marked as the analyzer cuts them, in both languages", async (t) => {
  const page = await open(t, "search");
  await ask(page, "载波聚合的天线倾角怎么配置");
  await hits(page).first().waitFor();
  const chinese = (await marks(page)).join(" ");
  assert.match(chinese, /载波聚合|载波/);
  assert.match(chinese, /倾角/);
  await ask(page, "how to be fair: time slice");
  await page.locator(".hit mark", { hasText: "slice" }).first().waitFor();
  const english = await marks(page);
  assert.ok(english.includes("fair"), `${english}`);
  assert.ok(!english.some((word) => ["be", "to", "how"].includes(word.toLowerCase())), `${english}`);
  assert.ok(await page.evaluate(() => location.hash.includes("q=how")), "the question is in the address");
  await page.goBack();
  await page.locator(".hit mark", { hasText: "倾角" }).first().waitFor();
});

test("going back from a document leads to where one was among the hits", async (t) => {
  const page = await open(t, "search?q=note%20number%20scheduler&top=40");
  await page.locator(".results-list[aria-busy=false]").waitFor();
  const last = hits(page).last();
  await last.scrollIntoViewIfNeeded();
  await until("the place is noted", () => page.evaluate(() => history.state?.scrolled > 500));
  const before = await page.evaluate(() => scrollY);
  await last.locator("h2 a").click();
  await page.locator("article.document").waitFor();
  await page.goBack();
  await until("the same place", () => page.evaluate((y) => Math.abs(scrollY - y) < 200, before));
  assert.match(await page.title(), /^note number scheduler/);
});

test("Markdown and formulas are shown as what they mean", async (t) => {
  const page = await open(t, "search?q=scheduler%20slices%20priorities");
  const hit = hits(page).filter({ hasText: "kernel/scheduler.md" }).first();
  await hit.waitFor();
  const all = hit.getByRole("button", { name: "Show all" });
  if (await all.count()) await all.click();
  for (const element of ["math mfrac", "blockquote", "table td", "pre code", "em", "a[href='https://example.com/manual']"]) {
    assert.ok(await hit.locator(`.text ${element}`).count() > 0, element);
  }
  assert.match(await hit.innerText(), /nice <priority>/);
});

test("filters have values with counts, act at once and stay in the address", async (t) => {
  const page = await open(t, "search?q=note%20number%20scheduler");
  await hits(page).first().waitFor();
  const value = page.locator(".values label", { hasText: "many" });
  assert.match(await value.innerText(), /300/);
  await value.getByRole("checkbox").check();
  await page.getByRole("button", { name: /Remove filter Source: many/ }).waitFor();
  await until("only hits of the source", async () => (await page.locator(".where .file").allInnerTexts()).every((file) => file.startsWith("many")));
  assert.match(page.url(), /source=many/);
  await page.goBack();
  await until("the filter is taken back and the question stays", async () => !page.url().includes("source=many") && page.url().includes("q=note"));
  await page.goForward();
  await page.getByRole("button", { name: /Remove filter Source: many/ }).waitFor();
  await page.reload();
  await page.getByRole("button", { name: /Remove filter Source: many/ }).click();
  await until("hits of others too", async () => (await page.locator(".where .file").allInnerTexts()).some((file) => file.startsWith("manual")));
});

test("an answer explains its tiers and why a hit stands where it does", async (t) => {
  const page = await open(t, "search?q=scheduler&explain=1");
  await page.getByText("Plan of this search").waitFor();
  assert.match(await page.locator(".tiers").innerText(), /Coarse .* ms[\s\S]*→[\s\S]*Fine .* ms/);
  assert.doesNotMatch(await page.locator(".tiers").innerText(), /Rerank/, "none is configured");
  await page.getByText("Why this place").first().click();
  assert.match(await page.locator(".scores table").first().innerText(), /Coarse[\s\S]*Fine[\s\S]*keywords/);
});

test("near-duplicates are named by the hit that stands for them, and unfolded on request", async (t) => {
  const page = await open(t, "search?q=mast%20assembly%20screw");
  const folded = page.locator(".family summary", { hasText: "+1 nearly the same" });
  await folded.waitFor();
  await folded.click();
  await page.locator(".family").getByText(/mast-\d\.md/).waitFor();
  await page.getByRole("button", { name: "Show them as hits of their own" }).click();
  await until("both are hits", async () => new Set((await page.locator(".where .file").allInnerTexts()).filter((file) => file.includes("mast-"))).size === 2);
  assert.match(page.url(), /unfold=1/);
});

test("a long document does not fill the hits, and leads to the rest of its passages", async (t) => {
  const page = await open(t, "search?q=torque%20of%20the%20valve");
  const files = async () => page.locator(".where .file").allInnerTexts();
  const ofValves = async () => (await files()).filter((file) => file.includes("valves.md")).length;
  const more = page.getByRole("link", { name: /more passages? of this document/ });
  await more.waitFor();
  assert.equal(await ofValves(), 3);
  await more.click();
  await page.getByRole("button", { name: /Remove filter Document portal\/valves\.md/ }).waitFor();
  await until("all of its passages", async () => (await ofValves()) > 3 && (await ofValves()) === (await files()).length);
  assert.equal(await page.evaluate(() => scrollY), 0);
  await page.goBack();
  await until("three again", async () => (await ofValves()) === 3);
  await page.goto(`${server.url}/#/search?q=torque%20of%20the%20valve&every=1`);
  await until("all passages among the others", async () => (await ofValves()) > 3);
});

test("nothing in a document acts on the page", async (t) => {
  const page = await open(t, "search?q=payload");
  await hits(page).filter({ hasText: "Payload" }).first().waitFor();
  const hostile = ids[4];
  for (const address of [null, `documents/${encodeURIComponent(hostile)}`, "documents?source=" + encodeURIComponent(documents()[4].source), "dead-letters"]) {
    if (address) await page.goto(`${server.url}/#/${address}`);
    await page.locator("main h1").waitFor({ state: "attached" });
    await page.waitForLoadState("networkidle").catch(() => {});
    await page.evaluate(() => document.querySelectorAll("main details").forEach((one) => { one.open = true; }));
    const found = await page.evaluate(() => ({
      acted: window.acted,
      foreign: document.querySelectorAll("main :is(script, iframe, object, embed, form[action], style, .text svg)").length,
      handlers: [...document.querySelectorAll("main *")].filter((one) => [...one.attributes].some(({ name, value }) => name.startsWith("on") || /javascript:/i.test(value) && name !== "value" && name !== "aria-label" && name !== "title")).length,
    }));
    assert.deepEqual(found, { acted: undefined, foreign: 0, handlers: 0 }, `${address} ${PAYLOADS.length}`);
  }
});

test("a list of many documents makes few rows and reaches its end", async (t) => {
  const page = await open(t, "documents?source=many");
  await rows(page).first().waitFor();
  assert.ok(await rows(page).count() < 80);
  await until("the last row", async () => {
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    return (await page.locator(`tr[aria-rowindex="${MANY + 1}"] a`).count()) === 1;
  });
  assert.ok(await rows(page).count() < 80, "rows beyond the screen are not there");
  await page.getByRole("status").filter({ hasText: `${MANY} documents` }).waitFor();
});

test("a list is searched and sorted by the server, and says what can be found", async (t) => {
  await server.publish(many(MANY).slice(0, 1));
  const page = await open(t, "documents?source=many");
  await page.getByRole("searchbox", { name: "Title, path or id" }).fill("NOTE-000");
  await page.getByRole("status").filter({ hasText: "10 documents" }).waitFor();
  await page.getByRole("columnheader", { name: "Document" }).getByRole("button").click();
  const titles = () => page.locator("tr.row .name a").allTextContents();
  await until("sorted by title", async () => (await titles())[0] === "Note 0" && (await titles()).length === 10);
  await page.getByRole("columnheader", { name: "Document" }).getByRole("button").click();
  await until("the other way round", async () => (await titles())[0] === "Note 9");
  assert.match(page.url(), /sort=title&down=true/);
  await page.locator("tr.row", { hasText: "note-0000" }).getByText(/skipped/).waitFor();
  assert.equal(await page.locator("tr.row .state.indexed").count(), 10, "what was skipped can be found still");
});

test("the list follows what others publish", async (t) => {
  await server.publish([{ source: "news", source_path: "first.md", content: "# First" }]);
  const page = await open(t, "documents?source=news");
  await rows(page).filter({ hasText: "first.md" }).waitFor();
  await server.publish([{ source: "news", source_path: "late.md", content: "# Late\n\nCame later." }]);
  await rows(page).filter({ hasText: "late.md" }).locator(".state.indexed").waitFor();
});

test("several documents are deleted together, after a second question", async (t) => {
  await server.publish(["one", "two"].map((name) => ({ source: "bulk", source_path: `${name}.md`, content: `# ${name}` })));
  const page = await open(t, "documents?source=bulk");
  await rows(page).nth(1).waitFor();
  await page.getByRole("checkbox", { name: "Choose all documents of this list" }).check();
  const region = page.getByRole("region", { name: "Chosen documents" });
  await region.getByText("2 documents chosen").waitFor();
  await region.getByRole("button", { name: "Delete" }).click();
  await region.getByRole("button", { name: "Really delete 2 documents?" }).click();
  await until("both are deleted", async () => (await page.locator("tr.row .state.deleted").count()) === 2);
});

test("a folder is uploaded with its paths, and what fails says why", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "tributary-upload-"));
  atEnd(t, () => rm(folder, { recursive: true }));
  await mkdir(path.join(folder, "below"));
  await writeFile(path.join(folder, "top.md"), "# Top\n\nUploaded from a folder.");
  await writeFile(path.join(folder, "below", "deep.md"), "# Deep\n\nUploaded from below.");
  await writeFile(path.join(folder, "bad.pdf"), "%PDF-1.7\nnothing");
  const page = await open(t, "documents");
  await page.locator("input[data-kind=folder]").setInputFiles(folder);
  const deep = page.locator(".uploads li", { hasText: "below/deep.md" });
  await deep.locator(".state.indexed").waitFor();
  // As `tributary publish FOLDER` has it: the folder is the root.
  assert.ok(!(await deep.innerText()).includes(path.basename(folder)));
  const bad = page.locator(".uploads li", { hasText: "bad.pdf" });
  await bad.locator(".state.dead").waitFor();
  assert.ok((await bad.locator(".note").innerText()).length > 10);
  assert.ok((await bad.locator(".name").boundingBox()).width > 200, "the name keeps its room beside a long message");
  await page.getByText("3 of 3 done").waitFor();
});

test("uploads go three at a time and can be taken back", async (t) => {
  const page = await open(t, "documents");
  await page.route("**/v1/documents", (route) => (route.request().method() === "POST" ? undefined : route.continue()));
  await page.locator("input[data-kind=files]").setInputFiles(Array.from({ length: 5 }, (_, at) => ({ name: `held-${at}.md`, mimeType: "text/markdown", buffer: Buffer.from(`# ${at}`) })));
  await until("three are on their way", async () => (await page.locator(".uploads .progress").count()) === 3);
  assert.equal(await page.locator(".uploads .state.queued").count(), 2);
  await page.getByRole("button", { name: "Cancel held-4.md" }).click();
  await page.getByRole("button", { name: "Cancel the rest" }).click();
  await until("all are taken back", async () => (await page.locator(".uploads .state.cancelled_upload").count()) === 5);
});

test("a document is read with its outline, and the passage that was found is shown", async (t) => {
  const page = await open(t, "search?q=slice%20parameter%20default");
  await hits(page).filter({ hasText: "kernel/scheduler.md" }).first().getByRole("heading").getByRole("link").click();
  await page.locator(".piece.found").waitFor();
  assert.ok(await page.locator(".piece mark").count() > 0);
  const text = await page.locator(".reading").innerText();
  assert.equal(text.split("Each task runs for").length, 2, "the text stands there once");
  await page.getByRole("navigation", { name: "Outline" }).getByRole("button", { name: "Priorities" }).click();
  await page.getByText("About this document").click();
  assert.match(await page.locator(".facts-of").innerText(), /Timeline[\s\S]*Ingest/);
  await page.getByRole("link", { name: /Back to the hits/ }).click();
  await hits(page).first().waitFor();
});

test("a document gives its original, and a PDF its pages as pictures", async (t) => {
  const library = path.resolve(".tributary/models/pdfium");
  const draws = await readdir(library).then(() => true, () => false);
  const own = await Server.start(path.resolve(process.env.TRIBUTARY_BINARY), { settings: draws ? { "convert.pdf.library": library } : {} });
  atEnd(t, () => own.stop());
  const file = pdf("The feeder is bolted to the mast", "The antenna stands upright");
  const note = pdf("Only one page");
  const published = { "mast.pdf": file, "note.pdf": note };
  await own.publish(Object.entries(published).map(([name, text]) => ({ source: "books", source_path: name, content_base64: Buffer.from(text).toString("base64") })));
  const page = await openPage(t, browser, own.url, "search?q=feeder%20bolted");
  await hits(page).first().getByRole("link", { name: /^pages? 1/ }).click();
  await page.locator(".piece.found .page-pictures[open]").waitFor();
  if (draws) {
    const drawn = page.getByRole("img", { name: "Page 1", exact: true });
    await until("the page is drawn", () => drawn.evaluate((picture) => picture.complete && picture.naturalWidth > 500));
  } else {
    await page.getByText("Page 1 cannot be drawn.").waitFor();
  }
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download the original" }).click()]);
  assert.equal(download.suggestedFilename(), "mast.pdf");
  assert.equal(await readFile(await download.path(), "latin1"), file);
  await assertAccessible(page, "document of a PDF");
  await page.getByRole("link", { name: /Back to the hits/ }).click();
  await ask(page, "only one page");
  await hits(page).filter({ hasText: "note.pdf" }).first().getByRole("heading").getByRole("link").click();
  await page.getByText("Page 1 as a picture").waitFor();
});

test("a knowledge set shows its rules and members, is built anew and rolled back", async (t) => {
  const page = await open(t, "sets");
  const card = page.locator(".card", { has: page.getByRole("heading", { name: "Radio" }) }).first();
  await card.getByText("2 rules").click();
  assert.match(await card.innerText(), /path radio\/\*\*\s*→\s*antenna/);
  assert.match(await card.innerText(), /ready[\s\S]*owner: radio team/);
  await card.getByRole("button", { name: "Build the index anew for this set" }).click();
  await card.getByRole("button", { name: "Really build? Press again" }).click();
  await page.locator(".build .state.promoted").waitFor();
  await page.getByRole("button", { name: "Back to the index before" }).click();
  await page.getByRole("button", { name: "Sure?" }).click();
  await page.locator(".build .state.rolled_back").waitFor();
});

test("a dead letter names its file, and trying again tells the truth", async (t) => {
  const page = await open(t, "dead-letters");
  const letter = page.locator(".letters li", { hasText: "broken/manual.pdf" });
  await letter.getByText("stage Ingest").waitFor();
  await letter.getByRole("button", { name: "Record" }).click();
  await page.locator("dialog pre").waitFor();
  await page.keyboard.press("Escape");
  await until("the dialog is closed", async () => (await page.locator("dialog").count()) === 0);
  const idOf = async () => (await server.call("GET", "dead-letters")).dead_letters.find(({ document_id: id }) => id === ids[5])?.id;
  const before = await idOf();
  await letter.getByRole("button", { name: "Try again" }).click();
  await until("it failed again", async () => ![undefined, before].includes(await idOf()));
  await until("the page says so", async () => (await letter.count()) === 1 && (await page.locator(".letters .sent").count()) === 0);
});

test("all dead letters are tried again at once", async (t) => {
  await server.publish([{ source: "manual", source_path: "broken/second.pdf", content_base64: Buffer.from("%PDF-1.7\nnothing at all").toString("base64") }]);
  const page = await open(t, "dead-letters");
  const letters = page.locator(".letters li");
  const idsNow = async () => (await server.call("GET", "dead-letters")).dead_letters.map(({ id }) => id);
  const before = await idsNow();
  assert.ok(before.length >= 2);
  await until("all are there", async () => (await letters.count()) === before.length);
  await page.getByRole("button", { name: "Try all again" }).click();
  await page.getByRole("button", { name: "Really all? Press again" }).click();
  await until("all failed again", async () => { const now = await idsNow(); return now.length === before.length && now.every((id) => !before.includes(id)); });
  await until("the page says so", async () => (await letters.count()) === before.length && (await page.locator(".letters .sent").count()) === 0);
});

test("a list says which documents were made in lesser ways", async (t) => {
  const page = await open(t, "documents?source=portal&degraded=true");
  await page.getByText("No documents here.").waitFor();
  assert.equal(await page.getByLabel("Made in lesser ways").inputValue(), "true");
  await page.getByLabel("Made in lesser ways").selectOption("false");
  await page.locator("tr.row").first().waitFor();
});

test("operations show health, stages, generations and the reconciliation", async (t) => {
  const page = await open(t, "operations");
  await page.getByRole("heading", { name: "Stages" }).waitFor();
  await page.getByRole("button", { name: "Is everything accounted for?" }).click();
  await page.getByText(/Yes: all \d+ accepted documents/).waitFor();
  assert.ok(await page.locator(".checks li.good").count() > 2);
});

test("everything is reached by keyboard", async (t) => {
  const page = await open(t, "documents");
  await rows(page).first().waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  await page.keyboard.press("/");
  await page.locator("#question:focus").waitFor();
  await page.keyboard.type("scheduler");
  await page.keyboard.press("Enter");
  await hits(page).first().waitFor();
  const link = page.locator(".hit h2 a").first();
  await until("the first hit has the focus", async () => {
    await page.keyboard.press("Tab");
    return link.evaluate((one) => one === document.activeElement);
  });
  await page.keyboard.press("Enter");
  await page.locator("article.document").waitFor();
});

test("no view has serious findings of accessibility or is wider than the screen", async (t) => {
  const reading = `documents/${encodeURIComponent(ids[0])}`;
  for (const [width, dark, language] of [[1280, false, "en-US"], [390, true, "zh-CN"], [390, false, "en-US"], [1280, true, "zh-CN"]]) {
    const page = await open(t, "search", { width, dark, language });
    for (const view of [...VIEWS, reading]) {
      await page.goto(`${server.url}/#/${view}`);
      await page.waitForFunction(() => !document.querySelector(".busy") && document.querySelector("main h1"));
      if (view.includes("q=")) await hits(page).first().waitFor();
      if (view.startsWith("documents")) await page.locator("tr.row a, .piece").first().waitFor();
      await picture(page, `${view.replace(/\W+/g, "-").slice(0, 30)}-${width}-${dark ? "dark" : "light"}`);
      await assertAccessible(page, `${view} at ${width} ${dark ? "dark" : "light"} ${language}`);
    }
  }
});

test("an address of no view, and a filter that nothing meets, are told", async (t) => {
  const page = await open(t, "serach");
  await page.getByText("There is no page “serach”").waitFor();
  await page.goto(`${server.url}/#/search?q=slices&source=portel`);
  await page.getByText("No document meets these filters").waitFor();
  await page.getByText("Did you mean “portal”?").waitFor();
  assert.equal(await page.getByText("There is no page").count(), 0);
});

test("a document whose newest version cannot be read says so and shows the one before", async (t) => {
  const place = { source: "own", source_path: "earlier.md" };
  const [id] = await server.publish([{ ...place, content: "# Earlier\n\nThe text of before." }]);
  await server.call("POST", "documents", { ...place, content_base64: Buffer.from("%PDF-1.7\nnothing").toString("base64") });
  await until("it is given up", async () => (await server.call("POST", "documents/states", { document_ids: [id] })).documents[0].state === "dead");
  const page = await open(t, `documents/${encodeURIComponent(id)}`);
  await page.getByText("The newest version could not be read; this is the one before.").waitFor();
  await page.getByText("The text of before.").waitFor();
  assert.equal(await page.locator("article header .state.indexed").count(), 1);
  assert.equal(await page.locator("article header h2").innerText(), "Earlier");
});

test("both languages have every word, and the page asks for no other", async () => {
  const web = PAGE_FOLDER;
  const [en, zh] = await Promise.all(["en", "zh"].map(async (one) => JSON.parse(await readFile(path.join(web, "words", `${one}.json`), "utf8"))));
  assert.deepEqual(Object.keys(en), Object.keys(zh));
  const files = (await readdir(web, { recursive: true })).filter((file) => file.endsWith(".js") && !file.startsWith("vendor"));
  for (const file of files) {
    const source = await readFile(path.join(web, file), "utf8");
    for (const [, name] of source.matchAll(/\bt\("([^"]+)"/g)) assert.ok(name in en, `${file}: ${name}`);
    assert.ok(!/innerHTML|insertAdjacentHTML|eval\(|new Function/.test(source.replace("dangerouslySetInnerHTML", "")), `${file} makes markup of its own`);
  }
});
