// Signing in with a real Keycloak, in a real browser, and its tokens at the interface, with the settings of docs/rights.md. Run by `.ci/test`;
// by hand as page.test.mjs, with a Keycloak of `deploy/services/keycloak start`:
//   TRIBUTARY_TEST_KEYCLOAK=http://localhost:8180 TRIBUTARY_TEST_KEYCLOAK_ADMINISTRATOR="$(deploy/services/keycloak administrator)"
// TRIBUTARY_TEST_SESSION_END=1 also waits for the end of a session, which takes a minute.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { assertAccessible, launch, openPage, picture } from "./browser.mjs";
import { guides, Keycloak } from "./keycloak.mjs";
import { Server, until } from "./server.mjs";

const binary = path.resolve(process.env.TRIBUTARY_BINARY);
const run = promisify(execFile);
const IDENTITY = "TRIBUTARY__QUERY_API__SERVER__IDENTITY__";
const PROGRAM = ["tributary-program", "only-to-try-it"];
/** The shortest that there is. */
const SESSION_SECONDS = 60;
const WAITS = process.env.TRIBUTARY_TEST_SESSION_END === "1";
const REALM = "kb";
const SCOPES = ["basic", "profile", "tributary"];
const ODD_SECRET = "ä secret: +100%/=&?";

const keycloak = new Keycloak(process.env.TRIBUTARY_TEST_KEYCLOAK, process.env.TRIBUTARY_TEST_KEYCLOAK_ADMINISTRATOR, REALM);

let server;
let browser;
let guide;
let administrator;
/** The context of a page that was signed in at the beginning. */
let early;

/** Starts the server with the settings of the guide; times are short, so that a test sees them pass. */
async function startServer() {
  const settings = { "query_api.server.network_access": "authenticated", "query_api.server.limits.wrong_keys_per_minute": 0 };
  server = await Server.start(binary, { settings });
  // Only now its address is known.
  await server.end("SIGTERM");
  const [english, chinese] = await guides(keycloak.url, server.url);
  assert.deepEqual([english.settings, english.commands.at(-1)], [chinese.settings, chinese.commands.at(-1)], "both guides");
  guide = english;
  const file = path.join(server.folder, "keycloak.toml");
  await writeFile(file, guide.settings[0]);
  const times = { TOKENS__CLOCK_SKEW_SECONDS: "0", TOKENS__JWKS_RETRY_SECONDS: "1", TOKENS__JWKS_REFRESH_SECONDS: "1", LOGIN__SESSION_SECONDS: String(SESSION_SECONDS) };
  Object.assign(server.environment, { TRIBUTARY_CONFIG: file }, ofIdentity(times));
  await server.again();
}

const ofIdentity = (settings) => Object.fromEntries(Object.entries(settings).map(([name, value]) => [IDENTITY + name, value]));

/** What a call with a token, or a key, is answered. */
async function asked(token, method, route, body) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const answer = await fetch(`${server.url}/v1/${route}`, { method, headers, body: body && JSON.stringify(body) });
  return { status: answer.status, body: await answer.json() };
}

/** The code of a refusal, or 200. */
async function outcome(token) {
  const { status, body } = await asked(token, "GET", "session");
  return status === 200 ? 200 : body.code;
}

const headerOf = (token) => JSON.parse(Buffer.from(token.split(".")[0], "base64url"));

async function publish(title, attributes) {
  const event = { source: "wiki", source_path: `${title}.md`, content: `# ${title}\n\nThe antenna of ${title} tilts.\n`, attributes };
  const { status, body } = await asked(administrator, "POST", "documents", event);
  assert.equal(status, 202, JSON.stringify(body));
  await until(`${title} is indexed`, async () => {
    const { body: states } = await asked(administrator, "POST", "documents/states", { document_ids: [body.document_id] });
    return states.documents[0]?.state === "indexed";
  });
}

before(async () => {
  assert.ok(keycloak.url && keycloak.administrator, "TRIBUTARY_TEST_KEYCLOAK and TRIBUTARY_TEST_KEYCLOAK_ADMINISTRATOR say where a Keycloak is");
  await startServer();
  const { stdout } = await run(binary, ["keys", "create", "--data-dir", path.join(server.folder, "data"), "--format", "json", "--name", "administrator", "--role", "administrator"]);
  administrator = JSON.parse(stdout).secret;
  browser = await launch();
  await Promise.all([
    publish("Open page", { access: {} }),
    publish("Radio page", { access: { groups: ["radio"] } }),
    publish("Internal page", { access: {}, security_level: 1 }),
    publish("Core page", { access: { groups: ["core"] } }),
  ]);
});

after(async () => {
  await early?.close();
  await browser?.close();
  await server?.stop();
  await keycloak.undo();
});

const open = (t, options) => openPage(t, browser, server.url, "documents", { others: [keycloak.url], ...options });
const offered = (page) => page.getByRole("dialog").getByRole("link", { name: "Sign in with your account" });
const signOut = (page) => page.getByRole("button", { name: "Sign out" });
const titles = async (page) => (await page.locator("tbody a").allInnerTexts()).sort();

/** Fills in Keycloak's own form. */
async function enter(page, user, password) {
  await page.locator("#username").fill(user);
  await page.locator("#password").fill(password);
  await page.locator("#kc-login").click();
}

/** Goes to Keycloak's form, and comes back signed in. */
async function signIn(page, user) {
  await offered(page).click();
  await enter(page, user, user);
  await signOut(page).waitFor();
}

async function documentsOf(page) {
  await page.locator("header nav a", { hasText: "Documents" }).click();
  await page.locator("tbody a").first().waitFor();
  return titles(page);
}

test("a session begins, for as long as the settings say", async () => {
  early = await browser.newContext({ locale: "en-US" });
  early.setDefaultTimeout(60_000);
  const page = await early.newPage();
  await page.goto(`${server.url}/#/documents`);
  const since = Date.now() / 1000;
  await signIn(page, "alice");
  const { expires } = await sessionCookie();
  assert.ok(expires >= since + SESSION_SECONDS - 1 && expires <= Date.now() / 1000 + SESSION_SECONDS + 1, `${since} ${expires}`);
});

const sessionCookie = async () => (await early.cookies(server.url)).find(({ name }) => name === "tributary_session");

test("Keycloak's form leads back to the page with the documents of the user's groups and clearance, until they sign out", async (t) => {
  const page = await open(t);
  await offered(page).click();
  await page.locator("#username").waitFor();
  assert.ok(page.url().startsWith(`${keycloak.issuer}/protocol/openid-connect/auth?`), page.url());
  await enter(page, "alice", "wrong");
  await page.getByText("Invalid username or password.").waitFor();
  assert.deepEqual((await page.context().cookies(server.url)).map(({ name }) => name), ["tributary_login"]);
  await enter(page, "alice", "alice");
  await signOut(page).waitFor();
  assert.deepEqual([new URL(page.url()).origin, new URL(page.url()).search], [server.url, ""]);
  assert.equal(await page.locator("header .user").getAttribute("title"), "Signed in as alice");
  assert.deepEqual(await documentsOf(page), ["Internal page", "Open page", "Radio page"]);
  await assertAccessible(page, "signed in by Keycloak");
  await picture(page, "keycloak-alice");
  await signOut(page).click();
  await offered(page).waitFor();
  assert.equal(await titles(page).then((all) => all.length), 0);
  // As the guide says: not at the provider, which lets her in again without asking.
  await offered(page).click();
  await signOut(page).waitFor();
});

test("somebody of no group sees what is for every reader", async (t) => {
  const page = await open(t);
  await signIn(page, "bob");
  assert.deepEqual(await documentsOf(page), ["Open page"]);
});

test("the guide's commands get a program a token, which is accepted", async () => {
  const { stdout } = await run("bash", ["-euo", "pipefail", "-c", guide.commands.at(-1)]);
  const { key, roles, groups, clearance } = JSON.parse(stdout);
  assert.ok(key.startsWith(`${keycloak.issuer}#`), key);
  assert.deepEqual([roles, groups ?? [], clearance], [[{ role: "reader" }], [], 0]);
});

test("an access token of a user finds what they may see; tokens for other uses are refused", async () => {
  const tokens = await keycloak.userTokens(PROGRAM, "alice", "alice");
  const { body } = await asked(tokens.access_token, "GET", "documents");
  assert.deepEqual(body.documents.map(({ title }) => title).sort(), ["Internal page", "Open page", "Radio page"]);
  const { body: session } = await asked(tokens.access_token, "GET", "session");
  assert.deepEqual([session.name, session.groups, session.clearance], ["alice", ["radio"], 1]);
  assert.equal(await outcome(tokens.id_token), "token_audience_wrong");
  assert.equal(await outcome(tokens.refresh_token), "token_algorithm_not_allowed");
  const other = [`other-${randomUUID()}`, "secret"];
  await keycloak.makeClient(...other, ["basic", "profile"]);
  assert.equal(await outcome((await keycloak.userTokens(other, "alice", "alice")).access_token), "token_audience_wrong");
});

test("a token that was accepted is refused when its time is over, and ends the session that it began", async (t) => {
  const short = [`short-${randomUUID()}`, "secret"];
  await keycloak.makeClient(...short, SCOPES, { attributes: { "access.token.lifespan": "6" } });
  const page = await open(t);
  const { access_token: token } = await keycloak.userTokens(short, "alice", "alice");
  assert.equal(await outcome(token), 200);
  await page.getByRole("dialog").locator("input[name=key]").fill(token);
  await page.getByRole("dialog").locator("button.primary").click();
  await signOut(page).waitFor();
  await until("the token is refused", async () => (await outcome(token)) === "token_expired");
  await page.locator("header nav a", { hasText: "Search" }).click();
  await offered(page).waitFor();
});

test("new keys of the provider are followed without a restart, and keys that it takes back are refused", async () => {
  const token = async () => (await keycloak.userTokens(PROGRAM, "bob", "bob")).access_token;
  const before = await token();
  const first = await keycloak.makeKey(1000);
  const signedByFirst = await token();
  await until("the first new key is accepted", async () => (await outcome(signedByFirst)) === 200);
  await keycloak.makeKey(2000);
  const signedBySecond = await token();
  assert.equal(new Set([before, signedByFirst, signedBySecond].map((text) => headerOf(text).kid)).size, 3);
  await until("the second is", async () => (await outcome(signedBySecond)) === 200);
  assert.equal(await outcome(before), 200);
  await keycloak.undo(first);
  await until("the first is not any more", async () => (await outcome(signedByFirst)) === "token_key_unknown");
  assert.deepEqual([await outcome(before), await outcome(signedBySecond)], [200, 200]);
});

test("tokens are read however Keycloak signs them, in the ways that the settings allow", async () => {
  for (const [algorithm, expected] of [["ES256", 200], ["EdDSA", 200], ["PS256", "token_algorithm_not_allowed"], ["HS256", "token_algorithm_not_allowed"]]) {
    const client = [`${algorithm}-${randomUUID()}`, "secret"];
    await keycloak.makeClient(...client, SCOPES, { attributes: { "access.token.signed.response.alg": algorithm } });
    const { access_token: token } = await keycloak.userTokens(client, "bob", "bob");
    assert.equal(headerOf(token).alg, algorithm);
    await until(`${algorithm}: ${expected}`, async () => (await outcome(token)) === expected);
  }
});

test("doctor finds the keys, and where people sign in", async () => {
  const doctor = run(binary, ["doctor", "--data-dir", path.join(server.folder, "data"), "--format", "json"], { cwd: server.folder, env: server.environment });
  const { stdout } = await doctor.catch((error) => error);
  const said = Object.fromEntries(JSON.parse(stdout).checks.map(({ name, ...check }) => [name, check]));
  assert.match(said.identity.detail, /certs has [1-9] keys of .* that sign tokens/);
  assert.deepEqual([said["sign-in"].status, said["sign-in"].detail], ["ok", "people sign in at localhost"]);
});

test("a session ends when its time is over, whoever keeps its cookie", { skip: WAITS ? false : "TRIBUTARY_TEST_SESSION_END=1 waits for it" }, async () => {
  const { value, expires } = await sessionCookie();
  const withCookie = async () => (await fetch(`${server.url}/v1/session`, { headers: { cookie: `tributary_session=${value}` } })).status;
  assert.equal(await withCookie(), 200);
  await new Promise((done) => setTimeout(done, expires * 1000 - Date.now() + 1000));
  assert.equal(await withCookie(), 401);
  const [page] = early.pages();
  await page.locator("header nav a", { hasText: "Documents" }).click();
  await offered(page).waitFor();
});

test("a client with a secret of any signs signs people in", async (t) => {
  const id = `page-${randomUUID()}`;
  await keycloak.makeClient(id, ODD_SECRET, SCOPES, { standardFlowEnabled: true, redirectUris: [`${server.url}/sign-in/callback`] });
  const secret = path.join(server.folder, "client-secret");
  await writeFile(secret, ODD_SECRET);
  await server.end("SIGTERM");
  Object.assign(server.environment, ofIdentity({ LOGIN__CLIENT_ID: id, LOGIN__CLIENT_SECRET_FILE: secret }));
  await server.again();
  const page = await open(t);
  await signIn(page, "bob");
});
