// The frame: header, views by address, language, theme, health.
import { html, render, useEffect, useRef, useState } from "./html.js";
import { address, go, useRoute } from "./router.js";
import { currentLanguage, LANGUAGES, preferredLanguage, speak, t, useLanguage } from "./words.js";
import { kept, keep } from "./kept.js";
import { useLive } from "./live.js";
import { canSignOut, isSignedIn, mayView, readSession, userName, useSignedOut } from "./session.js";
import { later } from "./parts/later.js";
import { Empty } from "./parts/notice.js";
import { SignIn, SignOutButton } from "./parts/sign_in.js";
import { Ask } from "./views/ask.js";
import { DeadLetters, useDeadLetterCount } from "./views/dead_letters.js";
import { DocumentView } from "./views/document.js";
import { Documents } from "./views/documents.js";
import { Judge } from "./views/judge.js";
import { Operations, useHealth } from "./views/operations.js";
import { Report } from "./views/report.js";
import { Search } from "./views/search.js";
import { Sets } from "./views/sets.js";

/** Views that show another of their things without beginning anew. */
const KEEPS_ITS_STATE = ["ask", "report"];
const VIEWS = {
  search: Search,
  ask: Ask,
  report: Report,
  judge: Judge,
  documents: Documents,
  sets: Sets,
  "dead-letters": DeadLetters,
  terms: later(async () => (await import("./views/terms.js")).Terms),
  evaluation: later(async () => (await import("./views/evaluation.js")).Evaluation),
  operations: Operations,
};

function App() {
  const language = useLanguage();
  const route = useRoute();
  const isSignedOut = useSignedOut();
  const [isSigningIn, setSigningIn] = useState(false);
  useEffect(() => setSigningIn(isSignedOut), [isSignedOut]);
  const view = route.view in VIEWS ? route.view : firstView();
  const main = useRef(null);
  const asked = route.parameters.get("q");
  useEffect(() => {
    document.title = [asked, t(`view.${view}`), "Tributary"].filter(Boolean).join(" – ");
  }, [view, language, asked]);
  useEffect(() => onSlash(view), [view]);
  const signIn = () => setSigningIn(true);
  return html`<a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current.focus(); }}>${t("skip")}</a>
    <${Header} view=${view} isSignedOut=${isSignedOut} onSignIn=${signIn} />${isSigningIn && html`<${SignIn} onClose=${() => setSigningIn(false)} />`}
    <main id="main" tabindex="-1" ref=${main} key=${`${language} ${view} ${KEEPS_ITS_STATE.includes(view) ? "" : route.id ?? ""}`}>
      <h1 class=${["search", "ask"].includes(view) || route.id ? "hidden" : ""}>${t(`view.${view}`)}</h1>
      ${route.view && !(route.view in VIEWS) && html`<p class="notice">${t("view.unknown", { view: route.view })}</p>`}
      ${isSignedOut ? html`<${Empty}>${t("signIn.toSee")}<//>` : html`<${View} view=${view} route=${route} />`}
    </main>`;
}

/** The first view of the menu: where an address of none leads. */
const firstView = () => Object.keys(VIEWS).find(mayView) ?? "search";

function View({ view, route: { id, parameters } }) {
  const isDocument = view === "documents" && id;
  if (!mayView(isDocument ? "search" : view)) return html`<${Empty}>${t("view.denied")}<//>`;
  return html`<${isDocument ? DocumentView : VIEWS[view]} id=${id} parameters=${parameters} />`;
}

/** `/` goes to the question from everywhere: to that of the view, or to the search. */
function onSlash(view) {
  const press = (event) => {
    const isTyping = /^(input|select|textarea)$/i.test(event.target.tagName);
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    if (!mayView("search")) return;
    if (!["search", "ask", "report", "judge"].includes(view)) go(address("search"));
    requestAnimationFrame(() => document.getElementById("question")?.select());
  };
  addEventListener("keydown", press);
  return () => removeEventListener("keydown", press);
}

/** Moves a bar that is wider than the screen to where one is, which is then in its middle. */
function showCurrent(bar) {
  const current = bar?.querySelector("[aria-current]");
  if (current) bar.scrollLeft = current.offsetLeft - bar.offsetLeft - (bar.clientWidth - current.offsetWidth) / 2;
}

function Header({ view, isSignedOut, onSignIn }) {
  const dead = useDeadLetterCount(!isSignedOut && mayView("dead-letters"));
  const bar = useRef(null);
  useEffect(() => showCurrent(bar.current), [view, currentLanguage(), isSignedOut]);
  return html`<header>
    <a class="brand" href=${address(firstView())}><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M4 3c0 7 8 6 8 12v6M20 3c0 7-8 6-8 12M12 3v5" /></svg>Tributary</a>
    <nav ref=${bar} aria-label=${t("nav")}>
      ${!isSignedOut && Object.keys(VIEWS).filter(mayView).map((name) => html`<a key=${name} href=${address(name)} aria-current=${name === view ? "page" : undefined}>${t(`view.${name}`)}${name === "dead-letters" && dead && html` <span class="count">${dead}</span>`}</a>`)}
    </nav>
    <div class="tools"><${Health} />${isSignedOut && html`<button type="button" onClick=${onSignIn}>${t("signIn")}</button>`}${isSignedIn() && userName() && html`<span class="user" title=${t("signedIn", { user: userName() })}>${userName()}</span>`}${canSignOut() && html`<${SignOutButton} />`}<${LanguageButton} /><${ThemeButton} /></div>
  </header>`;
}

function Health() {
  const health = useHealth();
  const isLive = useLive();
  const state = health === null ? "waiting" : health.offline ? "offline" : health.ready ? "ready" : "notReady";
  const href = mayView("operations") ? address("operations") : undefined;
  return html`<a class="health ${state}" href=${href} role="status" title=${t(isLive ? "live.on" : "live.off")}>${t(`health.${state}`)}</a>`;
}

function LanguageButton() {
  const other = Object.keys(LANGUAGES).find((language) => language !== currentLanguage());
  return html`<button type="button" lang=${other} onClick=${() => speak(other)}>${LANGUAGES[other].name}</button>`;
}

function ThemeButton() {
  const change = () => {
    const root = document.documentElement;
    const chosen = root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    root.dataset.theme = chosen === "dark" ? "light" : "dark";
    keep("theme", root.dataset.theme);
  };
  return html`<button type="button" class="icon" title=${t("theme")} aria-label=${t("theme")} onClick=${change}>
    <svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="8" /><path d="M12 4v16a8 8 0 0 0 0-16" class="solid" /></svg></button>`;
}

async function start() {
  if (kept("theme")) document.documentElement.dataset.theme = kept("theme");
  for (const name of ["dragover", "drop"]) addEventListener(name, (event) => event.preventDefault());
  await Promise.all([speak(preferredLanguage()), readSession()]);
  render(html`<${App} />`, document.getElementById("app"));
  performance.mark("shown");
}

start();
