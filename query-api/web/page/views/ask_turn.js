// A question and what became of it: the steps of an answer on its way, the answer with what it says of itself, or why there is none.
import { html, classes, Fragment, useMemo, useState } from "../html.js";
import { duration, lesser, milliseconds, named, percent, shortTime, t } from "../words.js";
import { CopyButton } from "../parts/copy.js";
import { ProblemNotice } from "../parts/notice.js";
import { isWebAddress, Pictures, ranges } from "../parts/pictures.js";
import { UnmetValues } from "../parts/unmet.js";
import { AnswerText, partOf, rememberTurn, sourceAddress } from "./ask_markup.js";
import { AnswerTable } from "./answer_table.js";
import { titleOf } from "./hit.js";

/** Failures that the page tells in its own words. */
const OWN_WORDS = ["stopped", "lost"];

export const placeOf = (turn) => `turn-${turn.id ?? turn.key}`;

/** `onAsk` is the same function each time: a turn that is over is made again only when it changes, not with each piece of another. */
export function Turn({ talk, turn, canAsk, onAsk }) {
  const change = turn.state === "pending" ? {} : null;
  const { state, id, answer, markup, feedback, failure } = turn;
  return useMemo(() => shown(talk, turn, canAsk && (() => onAsk(turn.question))), [change, state, id, answer, markup, feedback, failure, canAsk, onAsk]);
}

function shown(talk, turn, again) {
  const body = { pending: Working, answered: Answered, failed: Failed }[turn.state];
  return html`<article class="turn" id=${placeOf(turn)} tabindex="-1" aria-label=${turn.question} aria-busy=${String(turn.state === "pending")}>
    <div class="asked"><p>${turn.question}</p><small>${shortTime(turn.asked_at_ms)}</small></div>
    <${body} talk=${talk} turn=${turn} again=${again} />
  </article>`;
}

/** What is done for every question; workflows have steps of their own beside. */
const STEPS = ["understanding", "retrieval", "answer"];
/** Where source code is searched instead. */
const INSTEAD = { code_retrieval: "retrieval" };

/** The steps that came, then those that come in any case. */
function allSteps({ steps }) {
  const came = steps.map((step) => INSTEAD[step] ?? step);
  const latest = STEPS.findLastIndex((step) => came.includes(step));
  return [...steps, ...STEPS.slice(latest + 1)];
}

/** How many passages or definitions a step found, once it is known. */
const foundBy = (step, live) => ({ retrieval: live.sources, code_retrieval: live.code })[step]?.length;

function Working({ turn: { live } }) {
  if (!live) return null;
  const at = live.steps.length - 1;
  const { standalone_question: meant, question } = live.understanding ?? {};
  return html`<div class="answer">
    <ol class="steps">${allSteps(live).map((step, place) => html`<li key=${place} class=${classes(place < at && "done", place === at && "now")} aria-current=${place === at ? "step" : undefined}>
      ${named("ask.step", step)}${foundBy(step, live) !== undefined && html` <span class="quiet">${t(step === "retrieval" ? "ask.found" : "ask.foundCode", { count: foundBy(step, live) })}</span>`}</li>`)}</ol>
    ${meant && meant !== question && html`<p class="quiet">${t("ask.meant", { question: meant })}</p>`}
    ${live.text && html`<div class="text plain">${live.text}</div>`}
    ${live.isBroken && html`<p class="notice">${t("ask.broken")}</p>`}
    ${live.isStopping && html`<p class="quiet">${t("ask.stopping")}</p>`}
  </div>`;
}

function Failed({ turn, again }) {
  const { failure = {}, live } = turn;
  const isOwn = OWN_WORDS.includes(failure.code);
  const problem = { message: isOwn ? t(`ask.failure.${failure.code}`) : failure.detail, hint: isOwn ? null : failure.hint, isTranslated: isOwn };
  return html`<div class="answer">
    ${live?.text && html`<div class="text plain">${live.text}</div>`}
    ${failure.code === "stopped" ? html`<p class="notice">${problem.message}</p>` : html`<p class="verdict">${t("ask.failed")}</p><${ProblemNotice} problem=${problem} />`}
    <div class="actions">${again && html`<button type="button" onClick=${again}>${t("ask.retry")}</button>`}</div>
  </div>`;
}

function Answered({ talk, turn, again }) {
  const { answer } = turn;
  const lacks = answer.degraded.filter((what) => what !== "answer" || answer.verdict !== "extractive");
  return html`<div class="answer">
    <p class=${`verdict ${answer.verdict}`}>${t(`ask.verdict.${answer.verdict}`)}</p>
    ${turn.meant && html`<p class="quiet">${t("ask.meant", { question: turn.meant })}</p>`}
    ${!hasRows(answer) && html`<${AnswerText} turn=${turn} />`}
    ${answer.table && html`<${AnswerTable} table=${answer.table} />`}
    <${Quotations} answer=${answer} />
    ${answer.unmet_filter && html`<div class="notice"><p>${t("search.unmetFilter")}</p><${UnmetValues} unmet=${answer.unmet_filter} /></div>`}
    ${answer.unmatched_terms?.length > 0 && html`<p class="notice">${t("ask.unmatched", { words: answer.unmatched_terms.join(", ") })}</p>`}
    ${lacks.length > 0 && html`<p class="notice">${t("ask.degraded", { what: lacks.map(lesser).join(", ") })}</p>`}
    ${answer.removed_citations > 0 && html`<p class="quiet">${t("ask.removed", { count: answer.removed_citations })}</p>`}
    <${Sources} turn=${turn} />
    <${Related} turn=${turn} />
    <${How} answer=${answer} />
    <div class="actions">
      <${CopyButton} text=${answer.answer} />
      ${again && html`<button type="button" onClick=${again}>${t("ask.again")}</button>`}
      <${Feedback} talk=${talk} turn=${turn} />
    </div>
  </div>`;
}

/** Rows that are the answer: they are shown with their places instead of as its text. */
const hasRows = ({ workflow, table }) => workflow === "table" && table?.err_code === 0 && table.rows.length > 1;

/** Code and answers that stand in the sources word for word, or not. */
function Quotations({ answer: { quotations = [] } }) {
  const replaced = quotations.filter((quotation) => quotation.replaced).length;
  const unknown = quotations.filter(({ source }) => source === undefined).length;
  if (quotations.length === 0) return null;
  return html`<p class="quiet">${quotations.length > unknown && t("ask.quoted", { count: quotations.length - unknown })}${replaced > 0 && html` ${t("ask.quotedReplaced", { count: replaced })}`}${unknown > 0 && html` ${t("ask.quotedUnknown", { count: unknown })}`}</p>`;
}

/** The file of a definition with its lines. */
const linesOf = ({ lines }) => (lines ? `:${lines.first}-${lines.last}` : "");

function Sources({ turn }) {
  const { sources } = turn.answer;
  if (sources.length === 0) return null;
  const cited = sources.filter((source) => source.cited);
  const ordered = [...cited, ...sources.filter((source) => !source.cited)];
  return html`<details class="sources"><summary>${t("ask.sources", { count: sources.length, cited: cited.length })}</summary>
    <ol class="plain">${ordered.map((source) => html`<${Source} key=${source.number} source=${source} turn=${turn} />`)}</ol></details>`;
}

/** What is nearest where nothing answers. */
function Related({ turn }) {
  const { related } = turn.answer;
  if (related.length === 0) return null;
  return html`<section class="related"><h3>${t("ask.related")}</h3><ol class="plain">${related.map((source) => html`<${Source} key=${source.number} source=${source} turn=${turn} />`)}</ol></section>`;
}

function Source({ source, turn }) {
  const quotes = source.spans.map((span) => partOf(source.text, span));
  return html`<li class="source">
    <span class="rank">[${source.number}]</span> <a href=${sourceAddress(source, turn)} onClick=${() => rememberTurn(turn)}>${titleOf(source)}</a>
    ${turn.answer.verdict !== "refused" && !source.cited && html` <span class="quiet">${t("ask.notCited")}</span>`}
    ${typeof source.relevance === "number" && html` <span class="relevance">${t("hit.relevance", { share: percent(source.relevance) })}</span>`}
    <p class="where"><span class="file">${source.source} / ${source.source_path}${linesOf(source)}</span>${source.section_path.map((title) => html`<span>${title}</span>`)}
      ${source.pages.length > 0 && html`<span>${t("hit.pages", { count: source.pages.length, pages: ranges(source.pages) })}</span>`}</p>
    ${quotes.map((quote) => html`<blockquote>${quote}</blockquote>`)}
    <${Pictures} links=${source.images} />
    ${isWebAddress(source.url) && html`<a href=${source.url} target="_blank" rel="noopener noreferrer">${t("hit.original")}</a>`}
  </li>`;
}

/** How the answer came to be, in numbers. */
function How({ answer }) {
  const meaning = answer.understanding;
  const rows = [
    ["ask.meantAs", meaning?.standalone_question],
    ["ask.searchedAlso", [...(meaning?.variants ?? []), ...(meaning?.sub_queries ?? [])].join(" · ")],
    ["ask.sides", (answer.sides ?? []).map(({ name, found }) => `${name} ${t("ask.found", { count: found })}`).join(" · ")],
    ["ask.errors", (answer.error_map?.errors ?? []).join(" · ")],
    ["ask.understoodBy", meaning && named("madeBy", meaning.made_by)],
    ["ask.model", answer.model],
    ["ask.tokens", answer.tokens && t("ask.tokenCounts", answer.tokens)],
    ["ask.took", answer.steps.map(({ step, ms }) => `${named("ask.step", step)} ${milliseconds(ms)}`).join(" · ")],
  ].filter(([, value]) => value);
  return html`<details class="how"><summary>${t("ask.how", { time: duration(answer.took_ms) })}</summary>
    <dl>${rows.map(([name, value]) => html`<${Fragment} key=${name}><dt>${t(name)}</dt><dd>${value}</dd><//>`)}</dl></details>`;
}

const Thumb = ({ down }) => html`<svg viewBox="0 0 24 24" aria-hidden="true" class=${down ? "down" : undefined}><path d="M7 11v9H3v-9zM7 11l4-8c2 0 3 1 3 3l-1 4h6c1.5 0 2.2 1.3 1.8 2.6l-1.6 5.8c-.3 1-1 1.6-2 1.6H7" /></svg>`;

/** Whether the answer helped, and why; it can be changed and taken back. */
function Feedback({ talk, turn }) {
  const [problem, setProblem] = useState(null);
  const [reason, setReason] = useState(null);
  const given = turn.feedback;
  const rate = async (feedback) => {
    try {
      await talk.rate(turn, feedback);
      setProblem(null);
      setReason(null);
    } catch (refused) {
      setProblem(refused);
    }
  };
  const thumb = (helpful, label) => {
    const isGiven = given?.helpful === helpful;
    return html`<button type="button" class="icon" aria-pressed=${String(isGiven)} aria-label=${t(label)} title=${t(label)} onClick=${() => rate(isGiven ? null : { helpful, reason: given?.reason ?? "" })}><${Thumb} down=${!helpful} /></button>`;
  };
  const submit = (event) => {
    event.preventDefault();
    rate({ helpful: given.helpful, reason: (reason ?? given.reason).trim() });
  };
  return html`<span class="thumbs" role="group" aria-label=${t("ask.feedback")}>${thumb(true, "ask.helpful")}${thumb(false, "ask.notHelpful")}</span>
    ${given && html`<form class="reason" onSubmit=${submit}>
      <input aria-label=${t("ask.reason")} placeholder=${t("ask.reason")} value=${reason ?? given.reason} onInput=${(event) => setReason(event.target.value)} />
      <button disabled=${reason === null || reason.trim() === given.reason}>${t("ask.keep")}</button>
      <span role="status" class="quiet">${reason === null && t("ask.feedbackKept")}</span></form>`}
    <${ProblemNotice} problem=${problem} />`;
}
