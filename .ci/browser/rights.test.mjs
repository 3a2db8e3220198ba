// Signing in and what each role is shown, in a real browser against a server that wants keys. Run by `.ci/test`; by hand as page.test.mjs.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { assertAccessible, launch, openPage, picture } from "./browser.mjs";
import { SETS } from "./documents.mjs";
import { Server, until } from "./server.mjs";

const binary = path.resolve(process.env.TRIBUTARY_BINARY);
const run = promisify(execFile);
const READER_VIEWS = ["Search", "Ask", "Report", "Judge", "Documents", "Knowledge sets"];
const ALL_VIEWS = [...READER_VIEWS, "Dead letters", "Terms", "Evaluation", "Operations"];

let server;
let browser;
const keys = {};

/** A key of these roles, as `tributary keys create` shows it. */
async function makeKey(...roles) {
  const given = roles.flatMap((role) => ["--role", role]);
  const { stdout } = await run(binary, ["keys", "create", "--data-dir", path.join(server.folder, "data"), "--format", "json", "--name", roles.join(" "), ...given]);
  return JSON.parse(stdout);
}

function send(method, route, body) {
  const headers = { authorization: `Bearer ${keys.administrator.secret}`, "content-type": "application/json" };
  return fetch(`${server.url}/v1/${route}`, { method, body: JSON.stringify(body), headers });
}

async function publish(source, name) {
  const event = { source, source_path: `${name}.md`, content: `# ${name}\n\nThe scheduler picks the next task of ${name}.\n`, attributes: { access: {} } };
  const accepted = await send("POST", "documents", event);
  assert.equal(accepted.status, 202, await accepted.clone().text());
  const { document_id: id } = await accepted.json();
  await until(`${name} is indexed`, async () => (await (await send("POST", "documents/states", { document_ids: [id] })).json()).documents[0]?.state === "indexed");
}

before(async () => {
  server = await Server.start(binary, { settings: { "query_api.server.network_access": "authenticated" } });
  keys.administrator = await makeKey("administrator");
  keys.reader = await makeKey("reader");
  keys.publisher = await makeKey("publisher=wiki,mail");
  keys.builder = await makeKey("builder");
  const sets = await send("PUT", "knowledge-sets", SETS);
  assert.ok(sets.ok, await sets.text());
  await Promise.all([publish("wiki", "Wiki page"), publish("mail", "Mail thread"), publish("portal", "Portal page")]);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const open = (t, address, options) => openPage(t, browser, server.url, address, options);
const dialogOf = (page) => page.getByRole("dialog");

async function enter(page, key) {
  await dialogOf(page).locator("input[name=key]").fill(key);
  await dialogOf(page).locator("button.primary").click();
}

/** A page at an address, signed in with a key of `keys`. */
async function signedIn(t, role, address, options) {
  const page = await open(t, address, options);
  await enter(page, keys[role].secret);
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  return page;
}

const titled = (page, title) => page.locator("tbody").getByText(title, { exact: true });
const menu = (page) => page.locator("header nav a").allInnerTexts();

test("a key that is not accepted is told in the language of the page, within the dialog, on every screen", async (t) => {
  const looks = [
    { name: "phone", width: 360, told: "This key is not accepted." },
    { name: "desk", width: 1280, told: "This key is not accepted." },
    { name: "dark", width: 1280, dark: true, told: "This key is not accepted." },
    { name: "chinese", width: 360, language: "zh-CN", told: "此密钥不被接受。" },
  ];
  for (const { name, told, ...options } of looks) {
    const page = await open(t, "search", options);
    await enter(page, "trb_000000000000_wrong");
    const alert = dialogOf(page).getByRole("alert");
    await alert.waitFor();
    assert.equal(await alert.innerText(), told);
    await assertInside(page, name);
    await assertAccessible(page, name);
    await picture(page, `sign-in-${name}`);
  }
});

/** Label, field, error and button stand below one another, the first three across the dialog, all of it within. */
async function assertInside(page, where) {
  const dialog = await dialogOf(page).boundingBox();
  const parts = [];
  for (const one of ["label", "input", ".notice", "button.primary"]) parts.push(await dialogOf(page).locator(`.sign-in ${one}`).boundingBox());
  for (const part of parts) assert.ok(part.x >= dialog.x && part.x + part.width <= dialog.x + dialog.width, `${where}: out of the dialog`);
  const [label, field, error, button] = parts;
  assert.ok(field.y > label.y && error.y >= field.y + field.height && button.y >= error.y + error.height, `${where}: below one another`);
  for (const part of [field, error]) assert.ok(part.width > dialog.width * 0.8, `${where}: across the dialog`);
}

test("a revoked key says so", async (t) => {
  const key = await makeKey("reader");
  await run(binary, ["keys", "revoke", "--data-dir", path.join(server.folder, "data"), key.id]);
  const page = await open(t, "search");
  await enter(page, key.secret);
  await dialogOf(page).getByText("This key has been revoked.").waitFor();
});

test("who closed the dialog comes back to it, signs in and out, and sees no error behind it", async (t) => {
  const page = await open(t, "documents");
  await dialogOf(page).getByRole("button", { name: "Close" }).click();
  await dialogOf(page).waitFor({ state: "detached" });
  await page.getByText("Sign in to see this.").waitFor();
  assert.equal(await page.locator(".notice.bad").count(), 0);
  assert.deepEqual(await menu(page), []);
  await assertAccessible(page, "signed out");
  await page.getByRole("button", { name: "Sign in" }).click();
  await enter(page, keys.reader.secret);
  await titled(page, "Portal page").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await dialogOf(page).waitFor();
  await page.getByText("Sign in to see this.").waitFor();
  assert.equal(await page.locator(".notice.bad").count(), 0);
});

test("a session that ended while the page was open asks for a key again", async (t) => {
  const page = await signedIn(t, "reader", "documents");
  await titled(page, "Portal page").waitFor();
  await page.context().clearCookies();
  await page.getByRole("link", { name: "Knowledge sets" }).click();
  await dialogOf(page).waitFor();
  await page.getByText("Sign in to see this.").waitFor();
});

test("each role has the views that it can use", async (t) => {
  const views = { administrator: ALL_VIEWS, reader: READER_VIEWS, publisher: ["Documents", "Dead letters"], builder: ["Knowledge sets", "Terms"] };
  for (const [role, names] of Object.entries(views)) {
    const page = await signedIn(t, role, "");
    assert.deepEqual(await menu(page), names, role);
    for (const name of names) {
      await page.locator("header nav a", { hasText: name }).click();
      await page.locator("main h1", { hasText: name }).waitFor({ state: "attached" });
      await page.waitForLoadState("networkidle").catch(() => {});
      assert.deepEqual(await page.locator("main .notice.bad").allInnerTexts(), [], `${role}: ${name}`);
    }
  }
});

test("an address of a view that the key may not use says so", async (t) => {
  const page = await signedIn(t, "reader", "operations");
  await page.getByText("You may not see this.").waitFor();
});

test("a reader sees knowledge sets without what builders do, and documents without what publishers do", async (t) => {
  const page = await signedIn(t, "reader", "sets");
  await page.locator(".card").first().waitFor();
  await page.getByRole("link", { name: "Search in it" }).first().waitFor();
  assert.equal(await page.getByRole("heading", { name: "Building the index" }).count(), 0);
  assert.equal(await page.locator("main button").count(), 0);
  await picture(page, "rights-reader-sets");
  await page.locator("header nav a", { hasText: "Documents" }).click();
  await page.getByRole("link", { name: "Portal page" }).waitFor();
  assert.equal(await page.locator("main input[type=checkbox], main .drop").count(), 0);
  await assertAccessible(page, "documents of a reader");
});

test("a publisher sees own sources, one at a time, and uploads to the one that is shown", async (t) => {
  const page = await signedIn(t, "publisher", "");
  await titled(page, "Wiki page").waitFor();
  assert.equal(await titled(page, "Mail thread").count(), 0);
  const upload = page.locator(".drop").getByLabel("Source");
  assert.equal(await upload.inputValue(), "wiki");
  await page.locator(".bar").getByLabel("Source").selectOption("mail");
  await titled(page, "Mail thread").waitFor();
  assert.equal(await titled(page, "Wiki page").count(), 0);
  assert.equal(await page.locator("main tbody a").count(), 0, "titles lead nowhere");
  assert.equal(await upload.inputValue(), "mail");
  await page.locator("input[data-kind=files]").setInputFiles({ name: "letter.md", mimeType: "text/markdown", buffer: Buffer.from("# Letter\n\nA new letter came.\n") });
  await page.locator(".uploads .state.indexed").waitFor();
  await page.locator("tbody small", { hasText: "letter.md" }).waitFor();
  await picture(page, "rights-publisher");
  await assertAccessible(page, "documents of a publisher");
});

test("a builder builds, and is led to nothing that readers see", async (t) => {
  const page = await signedIn(t, "builder", "");
  await page.getByRole("heading", { name: "Building the index" }).waitFor();
  await page.getByRole("button", { name: "Build everything anew" }).waitFor();
  assert.equal(await page.locator("main a[href]").count(), 0);
});
