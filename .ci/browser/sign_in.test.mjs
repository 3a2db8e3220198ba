// Signing in with an identity provider of another site, in a real browser. Run by `.ci/test`; by hand as page.test.mjs.
import assert from "node:assert/strict";
import path from "node:path";
import { after, before, test } from "node:test";

import { assertAccessible, launch, openPage, picture } from "./browser.mjs";
import { Provider } from "./provider.mjs";
import { Server } from "./server.mjs";

const binary = path.resolve(process.env.TRIBUTARY_BINARY);
const IDENTITY = "TRIBUTARY__QUERY_API__SERVER__IDENTITY__";

let server;
let provider;
let browser;

before(async () => {
  provider = await Provider.start({ roles: ["readers"] });
  server = await Server.start(binary, { settings: { "query_api.server.network_access": "authenticated" } });
  // Only now its address is known, which the provider sends browsers back to.
  await server.end("SIGTERM");
  const identity = {
    ROLES__READERS: "reader",
    TOKENS__ISSUER: provider.url,
    TOKENS__JWKS: `${provider.url}/keys`,
    TOKENS__AUDIENCES: '["tributary"]',
    LOGIN__CLIENT_ID: "page",
    LOGIN__PAGE_URL: server.url,
  };
  for (const [name, value] of Object.entries(identity)) server.environment[IDENTITY + name] = value;
  await server.again();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  provider?.close();
});

const open = (t, options) => openPage(t, browser, server.url, "search", { others: [provider.url], ...options });
const offered = (page, name) => page.getByRole("dialog").getByRole("link", { name });

test("who signs in with their account is back on the page, with the views of their roles, until they sign out", async (t) => {
  const page = await open(t);
  await offered(page, "Sign in with your account").click();
  await page.getByRole("link", { name: "Go on" }).click();
  await page.getByRole("button", { name: "Sign out" }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/");
  assert.equal(await page.locator("header .user").getAttribute("title"), "Signed in as alice");
  const menu = await page.locator("header nav a").allInnerTexts();
  assert.ok(menu.includes("Ask") && !menu.includes("Operations"), String(menu));
  const cookies = await page.context().cookies();
  assert.deepEqual(cookies.map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]), [["tributary_session", true, "Strict"]]);
  await page.reload();
  await page.getByRole("button", { name: "Sign out" }).click();
  await offered(page, "Sign in with your account").waitFor();
});

test("who cancels at the provider is told so once, in the language of the page", async (t) => {
  const looks = [
    { name: "desk", link: "Sign in with your account", told: "Signing in with your account did not succeed: it was not finished, or not in this browser." },
    { name: "phone", width: 360, language: "zh-CN", link: "用您的账号登录", told: "用账号登录没有成功：登录没有完成，或不是在这个浏览器中开始的。" },
  ];
  for (const { name, link, told, ...options } of looks) {
    const page = await open(t, options);
    await offered(page, link).click();
    await page.getByRole("link", { name: "Cancel" }).click();
    const alert = page.getByRole("dialog").getByRole("alert");
    await alert.waitFor();
    assert.equal(await alert.innerText(), told);
    assert.equal(new URL(page.url()).search, "");
    await assertAccessible(page, name);
    await picture(page, `sign-in-provider-${name}`);
    await page.reload();
    await offered(page, link).waitFor();
    assert.equal(await alert.count(), 0);
  }
});
