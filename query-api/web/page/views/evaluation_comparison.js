// What changed from one run to another: each measure with its interval, and the cases, the greatest loss first, with their ranks at each step.
import { html, useState } from "../html.js";
import { get } from "../api.js";
import { number, t } from "../words.js";
import { Busy, Empty, ProblemNotice } from "../parts/notice.js";
import { useResource } from "../parts/resource.js";
import { CaseDialog, rank, TIERS } from "./evaluation_cases.js";
import { comparisonPath, runPath, score } from "./evaluation_scores.js";

const PAGE = 20;

/** The comparison with as many changes as were asked for. */
function useComparison(run, against) {
  const [count, setCount] = useState(PAGE);
  const load = async (options) => {
    const changes = [];
    let page = { next: null };
    do {
      page = await get(comparisonPath(run, { with: against.id, limit: PAGE, ...(page.next && { after: page.next }) }), options);
      changes.push(...page.comparison.changes);
    } while (page.next && changes.length < count);
    return { ...page.comparison, changes, total: page.total };
  };
  return { ...useResource(load, `${run.id} ${against.id} ${count}`), more: () => setCount(count + PAGE) };
}

export function Comparison({ run, against }) {
  const { value, problem, busy, more } = useComparison(run, against);
  const [open, setOpen] = useState(null);
  if (!value) return html`<${ProblemNotice} problem=${problem} />${!problem && html`<${Busy} />`}`;
  return html`<h3>${t("evaluation.measures")}</h3>
    <p class="facts"><span>${t("evaluation.both", { count: value.cases })}</span><span>${t("evaluation.won", { count: value.won })}</span><span>${t("evaluation.lostCases", { count: value.lost })}</span>
      ${value.only_in_a.length > 0 && html`<span>${t("evaluation.onlyBefore", { count: value.only_in_a.length })}</span>`}${value.only_in_b.length > 0 && html`<span>${t("evaluation.onlyAfter", { count: value.only_in_b.length })}</span>`}</p>
    <${Unlike} comparison=${value} />
    <${Measures} measures=${value.measures} />
    <h3>${t("evaluation.changes")}</h3>
    <${ProblemNotice} problem=${problem} />
    ${value.changes.length === 0 ? html`<${Empty}>${t("evaluation.noChanges")}<//>` : html`<${Changes} changes=${value.changes} onOpen=${setOpen} />`}
    ${value.changes.length < value.total && html`<p><button type="button" disabled=${busy} onClick=${more}>${t("more")}</button></p>`}
    ${open && html`<${ChangeDialog} key=${open.id} change=${open} run=${run} against=${against} onClose=${() => setOpen(null)} />`}`;
}

// In what both did not ask the same: a difference is no gain or loss then.
function Unlike({ comparison }) {
  const [before, after] = comparison.top_k;
  const said = [];
  const ids = (list) => ({ count: list.length, ids: list.slice(0, 5).join(", ") + (list.length > 5 ? ", …" : "") });
  if (comparison.asked_otherwise.length > 0) said.push(t("evaluation.askedOtherwise", ids(comparison.asked_otherwise)));
  if (comparison.judged_otherwise.length > 0) said.push(t("evaluation.judgedOtherwise", ids(comparison.judged_otherwise)));
  if (before !== after) said.push(t("evaluation.otherTopK", { before, after }));
  return said.length > 0 && html`<div class="notice" role="status">${said.map((line) => html`<p key=${line}>${line}</p>`)}</div>`;
}

const signed = (value) => number(value, { signDisplay: "exceptZero", minimumFractionDigits: 3, maximumFractionDigits: 3 });

/** A difference whose interval holds 0 may be chance; none at all is not marked. */
function Measures({ measures }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${t("evaluation.measures")}><table class="bars"><thead><tr><th scope="col">${t("evaluation.column.measure")}</th>${["before", "after", "difference", "interval"].map((name) => html`<th key=${name} scope="col" class="number">${t(`evaluation.column.${name}`)}</th>`)}</tr></thead>
    <tbody>${measures.map(({ measure, a, b, difference, low, high }) => {
      const isCertain = low > 0 || high < 0;
      const look = isCertain ? (difference > 0 ? "good" : "bad") : "quiet";
      return html`<tr key=${measure}><th scope="row">${measure === "full" ? t("evaluation.full") : measure}</th><td class="number">${score(a)}</td><td class="number">${score(b)}</td><td class="number ${look}">${signed(difference)}</td>
        <td class="number ${look}">${t("evaluation.interval", { low: signed(low), high: signed(high) })}${difference !== 0 && !isCertain && html` <small>${t("evaluation.chance")}</small>`}</td></tr>`;
    })}</tbody></table></div>`;
}

/** Both values of something, or the one that they have in common. */
const fromTo = ([before, after]) => (before === after ? after : t("evaluation.fromTo", { before, after }));

function Changes({ changes, onOpen }) {
  const step = (name) => (name ? t(`evaluation.step.${name}`) : "–");
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${t("evaluation.changes")}><table class="cases"><thead><tr><th scope="col">${t("evaluation.column.question")}</th><th scope="col">${t("evaluation.column.verdict")}</th><th scope="col">${t("evaluation.column.step")}</th>
    ${TIERS.map((tier) => html`<th key=${tier} scope="col" class="number">${t(`evaluation.rank.${tier}`)}</th>`)}<th scope="col" class="number">nDCG@10</th></tr></thead>
    <tbody>${changes.map((one) => html`<tr key=${one.id}><td><button type="button" class="link" onClick=${() => onOpen(one)}>${one.question}</button><small>${one.id_before ? t("evaluation.fromTo", { before: one.id_before, after: one.id }) : one.id}</small></td>
      <td>${fromTo(one.verdict.map((verdict) => t(`evaluation.verdict.${verdict}`)))}</td><td>${fromTo(one.step.map(step))}</td>
      ${TIERS.map((tier) => html`<td key=${tier} class="number">${fromTo(one.ranks.map((ranks) => rank(ranks, tier)))}</td>`)}<td class="number">${fromTo(one.ndcg_10.map(score))}</td></tr>`)}</tbody></table></div>`;
}

/** The case of the run after, whole, beside that of the run before. */
function ChangeDialog({ change, run, against, onClose }) {
  const load = async (options) => (await get(runPath(run, { case: change.id, limit: 1 }), options)).cases[0];
  const { value, problem } = useResource(load, change.id);
  if (!value) return html`<${ProblemNotice} problem=${problem} />`;
  return html`<${CaseDialog} one=${value} before=${change.id_before ?? change.id} run=${run} against=${against} onClose=${onClose} />`;
}
