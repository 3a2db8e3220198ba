// Cases of a run, the worst first, and one of them in two runs side by side: where each thing that it needs was at each step.
import { html, useState } from "../html.js";
import { get } from "../api.js";
import { address } from "../router.js";
import { number, shortTime, t } from "../words.js";
import { Dialog } from "../parts/dialog.js";
import { Busy, Empty, ProblemNotice } from "../parts/notice.js";
import { useResource } from "../parts/resource.js";
import { runPath, score, STEPS } from "./evaluation_scores.js";

const PAGE = 20;
const VERDICTS = ["none", "partial", "full"];
/** Where ranks are known. */
export const TIERS = ["coarse", "fine", "rerank", "hit"];

/** The cases that are looked at, as far as they were asked for. */
function useCases(run, filter) {
  const [count, setCount] = useState(PAGE);
  const load = async (options) => {
    const cases = [];
    let answer = { next: null };
    do {
      answer = await get(runPath(run, { ...filter, limit: PAGE, ...(answer.next && { after: answer.next }) }), options);
      cases.push(...answer.cases);
    } while (answer.next && cases.length < count);
    return { cases, total: answer.total };
  };
  return { ...useResource(load, JSON.stringify([run.id, filter, count])), more: () => setCount(count + PAGE) };
}

export function Cases({ run, against, parameters, onChange }) {
  const filter = {};
  for (const name of ["step", "verdict"]) if (parameters.get(name)) filter[name] = parameters.get(name);
  const { value, problem, busy, more } = useCases(run, filter);
  const [open, setOpen] = useState(null);
  return html`<h3 id="cases">${t("evaluation.cases")}</h3>
    <div class="bar">
      <${Choice} name="step" values=${STEPS} chosen=${filter.step} onChange=${onChange} />
      <${Choice} name="verdict" values=${VERDICTS} chosen=${filter.verdict} onChange=${onChange} />
      <span class="quiet" role="status">${value && t("evaluation.count", { count: value.total })}</span>
    </div>
    <${ProblemNotice} problem=${problem} />
    ${!value && !problem && html`<${Busy} />`}
    ${value && (value.cases.length === 0 ? html`<${Empty}>${t("evaluation.noCases")}<//>` : html`<${CaseTable} cases=${value.cases} onOpen=${setOpen} />`)}
    ${value && value.cases.length < value.total && html`<p><button type="button" disabled=${busy} onClick=${more}>${t("more")}</button></p>`}
    ${open && html`<${CaseDialog} one=${open} run=${run} against=${against} onClose=${() => setOpen(null)} />`}`;
}

function Choice({ name, values, chosen = "", onChange }) {
  return html`<label class="inline">${t(`evaluation.column.${name}`)} <select value=${chosen} onChange=${(event) => onChange({ [name]: event.target.value })}>
    <option value="">${t("evaluation.all")}</option>${values.map((value) => html`<option key=${value} value=${value}>${t(`evaluation.${name}.${value}`)}</option>`)}</select></label>`;
}

export const rank = (ranks, tier) => (ranks[tier] === null || ranks[tier] === undefined ? "–" : number(ranks[tier]));

const Verdict = ({ of }) => html`<span class="state ${{ full: "indexed", partial: "blocked", none: "dead" }[of]}">${t(`evaluation.verdict.${of}`)}</span>`;

function CaseTable({ cases, onOpen }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${t("evaluation.cases")}><table class="cases"><thead><tr><th scope="col">${t("evaluation.column.question")}</th><th scope="col">${t("evaluation.column.verdict")}</th><th scope="col">${t("evaluation.column.step")}</th>
    ${TIERS.map((tier) => html`<th key=${tier} scope="col" class="number">${t(`evaluation.rank.${tier}`)}</th>`)}<th scope="col" class="number">nDCG@10</th></tr></thead>
    <tbody>${cases.map((one) => html`<tr key=${one.id}><td><button type="button" class="link" onClick=${() => onOpen(one)}>${one.question}</button><small>${one.id}</small></td><td><${Verdict} of=${one.verdict} /></td><td>${one.step && t(`evaluation.step.${one.step}`)}</td>
      ${TIERS.map((tier) => html`<td key=${tier} class="number">${rank(one.ranks, tier)}</td>`)}<td class="number">${score(one.scores["ndcg@10"])}</td></tr>`)}</tbody></table></div>`;
}

/** The same case of another run; null where that has none of this id. */
async function sameCase(run, id, options) {
  const { cases } = await get(runPath(run, { case: id, limit: 1 }), options);
  return cases[0] ?? null;
}

/** A case in its run, and beside it the case `before` of the other run. */
export function CaseDialog({ one, before = one.id, run, against, onClose }) {
  const { value, problem, busy } = useResource((options) => (against ? sameCase(against, before, options) : null), `${against?.id} ${before}`);
  return html`<${Dialog} title=${one.question} onClose=${onClose}>
    <p class="facts"><span>${one.id}</span>${["level", "style", "modality"].map((field) => one[field] && html`<span key=${field} class="tag">${t(`evaluation.${field}.${one[field]}`)}</span>`)}
      <a href=${address("search", { parameters: { q: one.question, explain: true } })}>${t("evaluation.search")}</a></p>
    <${ProblemNotice} problem=${problem} />
    <div class="beside">
      ${against && html`<section><h3><${RunName} run=${against} /></h3>${value ? html`<${Trace} of=${value} />` : busy ? html`<${Busy} />` : !problem && html`<p class="quiet">${t("evaluation.notInIt")}</p>`}</section>`}
      <section><h3><${RunName} run=${run} /></h3><${Trace} of=${one} /></section>
    </div><//>`;
}

const RunName = ({ run }) => html`${shortTime(run.at_ms)}<small>${run.id}</small>`;

function Trace({ of }) {
  return html`<p><${Verdict} of=${of.verdict} /> ${of.step && t("evaluation.lostAt", { step: t(`evaluation.step.${of.step}`) })}</p>
    ${of.degraded?.length > 0 && html`<p class="notice">${t("search.degraded", { what: of.degraded.join(", ") })}</p>`}
    <ul class="plain targets">${of.targets.map((target, at) => html`<li key=${at}><${Target} target=${target} /></li>`)}</ul>
    <h4>${t("evaluation.hits", { count: of.hits.length })}</h4>
    <ol class="case-hits">${of.hits.map((hit) => html`<li key=${hit.rank} value=${hit.rank}>${[hit.document_id, ...hit.section_path].join(" › ")}</li>`)}</ol>`;
}

/** A document or a quote of it, and its rank at each step. */
function Target({ target }) {
  return html`<p><span class=${target.found ? "good" : "bad"} role="img" aria-label=${t(target.found ? "evaluation.wasFound" : "evaluation.wasLost")}>${target.found ? "✓" : "✗"}</span> <b>${target.document}</b>${target.quote && html` <q>${target.quote}</q>`}</p>
    <p class="facts">${TIERS.map((tier) => html`<span key=${tier}>${t(`evaluation.rank.${tier}`)} <b class="number">${rank(target.ranks, tier)}</b></span>`)}</p>
    ${target.why && html`<p class="quiet" lang="en">${target.why}</p>`}`;
}
