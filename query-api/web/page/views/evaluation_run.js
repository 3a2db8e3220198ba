// A run: what each tier kept, which steps lost what, how parts of the set fare, beside another run where one is chosen.
import { html } from "../html.js";
import { get } from "../api.js";
import { number, shortTime, t } from "../words.js";
import { Meter } from "../parts/meter.js";
import { Busy, ProblemNotice } from "../parts/notice.js";
import { useResource } from "../parts/resource.js";
import { Cases } from "./evaluation_cases.js";
import { Comparison } from "./evaluation_comparison.js";
import { fullShare, runPath, score, STEPS } from "./evaluation_scores.js";

export function Run({ run, against, parameters, onChange }) {
  const { value, problem } = useResource((options) => get(runPath(run, { limit: 1 }), options), run.id);
  return html`<h2>${t("evaluation.oneRun", { time: shortTime(run.at_ms) })}</h2>
    <p class="facts"><span>${run.id}</span><span>${t("evaluation.asked", { count: run.questions, file: run.queries_file })}</span><span>${t("evaluation.within", { count: run.top_k })}</span></p>
    ${against && html`<p class="facts"><span>${t("evaluation.comparedWith", { time: shortTime(against.at_ms), run: against.id })}</span>${against.settings_digest === run.settings_digest && html`<span>${t("evaluation.sameSettings")}</span>`}</p>`}
    ${against && html`<${Comparison} run=${run} against=${against} />`}
    <${Funnel} run=${run} against=${against} />
    <${LostBy} run=${run} against=${against} onChange=${onChange} />
    <${ProblemNotice} problem=${problem} />
    ${!value && !problem && html`<${Busy} />`}
    ${value && html`<${Groups} groups=${value.groups} /><${LeftOut} lines=${value.left_out} />`}
    <${Cases} run=${run} against=${against} parameters=${parameters} onChange=${onChange} />`;
}

/** A value, and how much it is above or below that of the other run. */
function Difference({ of, before, digits = 3, moreIsBetter = true }) {
  if (before === undefined || before === null) return null;
  const difference = of - before;
  const isNone = Math.abs(difference) < 0.5 * 10 ** -digits;
  const text = number(difference, { signDisplay: "exceptZero", minimumFractionDigits: digits, maximumFractionDigits: digits });
  return html`<td class="number ${isNone ? "quiet" : difference > 0 === moreIsBetter ? "good" : "bad"}">${text}</td>`;
}

function tiersOf(run) {
  const { coarse, fine, final } = run.tiers;
  return [
    { tier: "coarse", kept: coarse.candidates, share: coarse.recall },
    { tier: "fine", kept: fine.candidates, share: fine.recall },
    { tier: "final", kept: 20, share: final["recall@20"] },
    { tier: "full", kept: run.top_k, share: fullShare(run) },
  ];
}

/** Each tier with what is left of the relevant documents after it. */
function Funnel({ run, against }) {
  const before = against && tiersOf(against);
  return html`<h3>${t("evaluation.funnel")}</h3>
    <div class="scroll" tabindex="0" role="region" aria-label=${t("evaluation.funnel")}><table class="bars"><thead><tr><th scope="col">${t("evaluation.column.tier")}</th><td class="bar-cell" /><th scope="col" class="number">${t("evaluation.column.found")}</th>${before && html`<th scope="col" class="number">${t("evaluation.column.difference")}</th>`}<th scope="col" class="number">${t("evaluation.column.kept")}</th></tr></thead>
    <tbody>${tiersOf(run).map(({ tier, kept, share }, at) => html`<tr key=${tier}><th scope="row">${t(`evaluation.tier.${tier}`)}</th><td class="bar-cell"><${Meter} share=${share} /></td><td class="number">${score(share)}</td>
      ${before && html`<${Difference} of=${share} before=${before[at].share} />`}<td class="number">${number(kept, { maximumFractionDigits: 0 })}</td></tr>`)}</tbody></table></div>`;
}

function LostBy({ run, against, onChange }) {
  const counts = STEPS.filter((step) => run.steps[step] || against?.steps[step]);
  const most = Math.max(1, ...counts.map((step) => run.steps[step] ?? 0));
  if (counts.length === 0) return html`<p class="good">${t("evaluation.nothingLost")}</p>`;
  return html`<h3>${t("evaluation.lostBy")}</h3>
    <div class="scroll" tabindex="0" role="region" aria-label=${t("evaluation.lostBy")}><table class="bars"><thead><tr><th scope="col">${t("evaluation.column.step")}</th><td class="bar-cell" /><th scope="col" class="number">${t("evaluation.column.cases")}</th>${against && html`<th scope="col" class="number">${t("evaluation.column.difference")}</th>`}</tr></thead>
    <tbody>${counts.map((step) => {
      const count = run.steps[step] ?? 0;
      return html`<tr key=${step}><th scope="row"><button type="button" class="link" onClick=${() => onChange({ step, verdict: null })}>${t(`evaluation.step.${step}`)}</button></th><td class="bar-cell"><${Meter} share=${count / most} /></td><td class="number">${number(count)}</td>
        ${against && html`<${Difference} of=${count} before=${against.steps[step] ?? 0} digits=${0} moreIsBetter=${false} />`}</tr>`;
    })}</tbody></table></div>`;
}

/** Scores by what cases say of themselves. */
function Groups({ groups }) {
  const rows = Object.entries(groups).flatMap(([field, values]) => Object.entries(values).map(([value, group]) => ({ field, value, group })));
  if (rows.length === 0) return null;
  return html`<h3>${t("evaluation.groups")}</h3>
    <div class="scroll" tabindex="0" role="region" aria-label=${t("evaluation.groups")}><table><thead><tr><th scope="col">${t("evaluation.column.group")}</th><th scope="col" class="number">${t("evaluation.column.cases")}</th><th scope="col" class="number">${t("evaluation.full")}</th><th scope="col" class="number">nDCG@10</th><th scope="col" class="number">recall@20</th></tr></thead>
    <tbody>${rows.map(({ field, value, group }) => html`<tr key=${`${field} ${value}`}><th scope="row">${t("evaluation.part", { field: t(`evaluation.${field}`), value: t(`evaluation.${field}.${value}`) })}</th><td class="number">${number(group.cases)}</td><td class="number">${number(group.verdicts.full ?? 0)}</td>
      <td class="number">${score(group.scores["ndcg@10"])}</td><td class="number">${score(group.scores["recall@20"])}</td></tr>`)}</tbody></table></div>`;
}

function LeftOut({ lines }) {
  if (lines.length === 0) return null;
  return html`<details class="notice"><summary>${t("evaluation.notAsked", { count: lines.length })}</summary><ul>${lines.map((line) => html`<li key=${line} lang="en">${line}</li>`)}</ul></details>`;
}
