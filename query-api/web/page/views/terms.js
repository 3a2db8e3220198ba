// Terms for the lexicon: one candidate after the other, those in doubt first, decided by keys or buttons; and lists of what was said.
import { html, useEffect, useRef, useState } from "../html.js";
import { call, get } from "../api.js";
import { address } from "../router.js";
import { number, t } from "../words.js";
import { reads } from "../session.js";
import { Meter } from "../parts/meter.js";
import { Busy, Empty, ProblemNotice } from "../parts/notice.js";
import { TermList, Voters } from "./terms_list.js";

/** Candidates that are fetched at a time. */
const ROUND = 50;
const STATES = ["open", "disputed", "decided"];
const KEYS = { y: "yes", n: "no", s: "skip", u: "undo" };

export function Terms({ parameters }) {
  const wanted = parameters.get("state");
  const state = STATES.includes(wanted) ? wanted : "open";
  return html`<div class="terms"><nav class="bar" aria-label=${t("terms.which")}>${STATES.map((one) => html`<a key=${one} href=${address("terms", { parameters: { state: one === "open" ? null : one } })} aria-current=${one === state ? "page" : undefined}>${t(`terms.state.${one}`)}</a>`)}</nav>
    ${state === "open" ? html`<${Review} />` : html`<${TermList} key=${state} state=${state} />`}</div>`;
}

/** The review: `queue` is a round of candidates, `at` the one that is shown, `given` the way back. */
function useReview() {
  const [review, setReview] = useState({ queue: null, at: 0, next: null, given: [], progress: null, reviewer: "" });
  const [problem, setProblem] = useState(null);
  const busy = useRef(false);
  const attempt = async (work) => {
    if (busy.current) return;
    busy.current = true;
    try {
      const changes = await work();
      setReview((before) => ({ ...before, ...changes }));
      setProblem(null);
    } catch (failed) {
      setProblem(failed);
    } finally {
      busy.current = false;
    }
  };
  const load = async (after) => {
    const { candidates, next, progress, reviewer } = await get(`v1/terms?limit=${ROUND}${after ? `&after=${encodeURIComponent(after)}` : ""}`);
    return { queue: candidates, at: 0, next, progress, reviewer };
  };
  const say = async (term, verdict) => (await call("POST", "v1/terms/verdicts", { term, verdict })).progress;
  const decide = (verdict) => attempt(async () => {
    const { queue, at, given, next } = review;
    if (!queue?.[at]) return {};
    const progress = await say(queue[at].term, verdict);
    const on = { progress, given: [...given, { queue, at, next }] };
    return at + 1 < queue.length || !next ? { ...on, at: at + 1 } : { ...(await load(next)), ...on };
  });
  const undo = () => attempt(async () => {
    const last = review.given.at(-1);
    if (!last) return {};
    const progress = await say(last.queue[last.at].term, "undo");
    return { ...last, progress, given: review.given.slice(0, -1) };
  });
  const begin = () => attempt(() => load(null));
  useEffect(() => { begin(); }, []);
  return { ...review, problem, decide, undo, begin };
}

/** Keys act wherever nobody types and no other thing has them. */
function useKeys(act) {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const press = (event) => {
      const isElsewhere = /^(input|select|textarea)$/i.test(event.target.tagName) || document.querySelector("dialog[open]");
      const does = KEYS[event.key.toLowerCase()];
      if (!does || isElsewhere || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      latest.current(does);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

function Review() {
  const { queue, at, given, progress, reviewer, problem, decide, undo, begin } = useReview();
  const act = (does) => (does === "undo" ? undo() : decide(does));
  useKeys(act);
  const candidate = queue?.[at];
  return html`<${ProblemNotice} problem=${problem} />
    ${!queue && !problem && html`<${Busy} />`}
    ${progress?.candidates > 0 && html`<${Progress} progress=${progress} reviewer=${reviewer} />`}
    ${queue && progress.candidates === 0 && html`<${Empty}><p>${t("terms.none")}</p><p><code>tributary lexicon discover</code></p><p>${t("terms.noneHelp")}</p><//>`}
    <div role="status">${candidate && html`<${Card} candidate=${candidate} />`}${queue && !candidate && progress.candidates > 0 && html`<${Through} onAgain=${begin} />`}</div>
    ${progress?.candidates > 0 && html`<p class="actions">${Object.entries(KEYS).map(([key, does]) => html`<button key=${does} type="button" class=${does === "yes" ? "primary" : ""} aria-keyshortcuts=${key} disabled=${does === "undo" ? given.length === 0 : !candidate} onClick=${() => act(does)}>${t(`terms.${does}`)} <kbd>${key}</kbd></button>`)}</p>`}`;
}

function Progress({ progress, reviewer }) {
  const decided = progress.candidates - progress.open;
  return html`<p class="facts"><span class="progress"><${Meter} share=${decided / progress.candidates} /> ${t("terms.progress", { decided: number(decided), count: progress.candidates })}</span>
    <span>${t("terms.accepted", { count: progress.accepted })}</span><span>${t("terms.rejected", { count: progress.rejected })}</span><span>${t("terms.disputed", { count: progress.disputed })}</span><span>${t("terms.verdicts", { count: progress.verdicts })}</span><span>${t("terms.reviewer", { name: reviewer })}</span></p>`;
}

function Card({ candidate }) {
  const { term, score, count, documents, contexts } = candidate;
  return html`<section class="card"><div class="head"><h2>${term}</h2></div>
    <p class="facts"><span>${t("terms.score", { score: number(score, { minimumFractionDigits: 2, maximumFractionDigits: 2 }) })}</span><span>${t("terms.count", { count, documents: number(documents) })}</span>${reads() && html`<a href=${address("search", { parameters: { q: term } })}>${t("terms.search")}</a>`}</p>
    <${Voters} of=${candidate} />
    ${contexts.length > 0 ? html`<ul>${contexts.map((sentence, at) => html`<li key=${at}><${Marked} sentence=${sentence} term=${term} /></li>`)}</ul>` : html`<p class="quiet">${t("terms.withheld")}</p>`}</section>`;
}

/** A sentence with the term marked wherever it stands. */
function Marked({ sentence, term }) {
  return sentence.split(term).map((piece, at) => html`${at > 0 && html`<mark>${term}</mark>`}${piece}`);
}

function Through({ onAgain }) {
  return html`<${Empty}><p>${t("terms.through")}</p><p>${t("terms.learn")} <code>tributary lexicon discover</code></p><p>${t("terms.take")} <code>tributary lexicon build --output terms.txt</code></p>
    <p><button type="button" onClick=${onAgain}>${t("terms.again")}</button></p><//>`;
}
