// How good retrieval is: the runs of `tributary eval run` over time, and one of them beside another.
import { html, useState } from "../html.js";
import { get } from "../api.js";
import { address, go } from "../router.js";
import { locale, number, shortTime, t } from "../words.js";
import { Chart } from "../parts/chart.js";
import { Busy, Empty, ProblemNotice } from "../parts/notice.js";
import { useResource } from "../parts/resource.js";
import { Run } from "./evaluation_run.js";
import { fullShare, score } from "./evaluation_scores.js";

const PAGE = 50;
/** Below a point of the chart. */
const DAY = { month: "numeric", day: "numeric", hour: "2-digit", minute: "2-digit" };

/** The runs as far as they were asked for, newest first. */
function useRuns() {
  const [count, setCount] = useState(PAGE);
  const load = async (options) => {
    const runs = [];
    let answer = { next: null };
    do {
      const after = answer.next ? `&after=${encodeURIComponent(answer.next)}` : "";
      answer = await get(`v1/evaluations?limit=${PAGE}${after}`, options);
      runs.push(...answer.evaluations);
    } while (answer.next && runs.length < count);
    return { runs, leftOut: answer.left_out, hasMore: answer.next !== null };
  };
  return { ...useResource(load, String(count)), more: () => setCount(count + PAGE) };
}

export function Evaluation({ parameters }) {
  const { value, problem, busy, more } = useRuns();
  return html`<div class="evaluation"><${ProblemNotice} problem=${problem} />
    ${!value && !problem && html`<${Busy} />`}
    ${value?.leftOut.length > 0 && html`<details class="notice"><summary>${t("evaluation.leftOut", { count: value.leftOut.length })}</summary>
      <ul>${value.leftOut.map((file) => html`<li key=${file} lang="en">${file}</li>`)}</ul></details>`}
    ${value && (value.runs.length === 0 ? html`<${HowToMakeOne} />` : html`<${Runs} runs=${value.runs} parameters=${parameters} />`)}
    ${value?.hasMore && html`<p><button type="button" disabled=${busy} onClick=${more}>${t("evaluation.older")}</button></p>`}
  </div>`;
}

function HowToMakeOne() {
  return html`<${Empty}><p>${t("evaluation.none")}</p>
    <p><code>tributary eval run --set DIR</code></p>
    <p>${t("evaluation.noneHelp")}</p><//>`;
}

/** What is looked at, as the address says it; else the newest run, and the one before it of the same set. */
function chosen(runs, parameters) {
  const byId = (name) => runs.find(({ id }) => id === parameters.get(name));
  const run = byId("run") ?? runs.find(({ set }) => set === parameters.get("set")) ?? runs[0];
  const earlier = runs.filter(({ set, at_ms: at }) => set === run.set && at < run.at_ms);
  const against = parameters.get("against") === "none" ? null : byId("against") ?? earlier[0] ?? null;
  return { run, against: against === run ? null : against };
}

function Runs({ runs, parameters }) {
  const { run, against } = chosen(runs, parameters);
  const sets = [...new Set(runs.map(({ set }) => set))];
  const ofSet = runs.filter(({ set }) => set === run.set);
  const change = (changes) => {
    const kept = Object.fromEntries(["run", "against", "set", "step", "verdict"].map((name) => [name, parameters.get(name)]));
    go(address("evaluation", { parameters: { ...kept, ...changes } }));
  };
  return html`${sets.length > 1 && html`<p class="bar"><label class="inline">${t("evaluation.set")} <select value=${run.set} onChange=${(event) => change({ set: event.target.value, run: null, against: null })}>
      ${sets.map((set) => html`<option key=${set} value=${set}>${set}</option>`)}</select></label></p>`}
    <h2>${t("evaluation.overTime", { set: run.set })}</h2>
    <${Chart} name=${t("evaluation.chart", { set: run.set })} lines=${linesOf(ofSet)} labels=${[...ofSet].reverse().map(({ at_ms: at }) => new Intl.DateTimeFormat(locale(), DAY).format(at))} />
    <${RunTable} runs=${ofSet} run=${run} against=${against} onChange=${change} />
    <${Run} key=${`${run.id} ${against?.id}`} run=${run} against=${against} parameters=${parameters} onChange=${change} />`;
}

function linesOf(runs) {
  const line = (label, of) => ({ label, values: [...runs].reverse().map(of) });
  return [
    line("nDCG@10", ({ tiers }) => tiers.final["ndcg@10"]),
    line("recall@20", ({ tiers }) => tiers.final["recall@20"]),
    line(t("evaluation.full"), fullShare),
  ];
}

const COLUMNS = ["time", "questions", "full"];

function RunTable({ runs, run, against, onChange }) {
  const choice = (name, one, chosen) => html`<td class="choice"><input type="radio" name=${name} aria-label=${t(`evaluation.${name}`, { run: one.id })} checked=${one.id === chosen?.id} onChange=${() => onChange({ [name]: one.id })} /></td>`;
  return html`<div class="scroll runs" tabindex="0" role="region" aria-label=${t("evaluation.runs")}><table>
    <thead><tr><th scope="col">${t("evaluation.show")}</th><th scope="col">${t("evaluation.compare")}</th>${COLUMNS.map((name) => html`<th key=${name} scope="col" class=${name === "time" ? "" : "number"}>${t(`evaluation.column.${name}`)}</th>`)}
      <th scope="col" class="number">nDCG@10</th><th scope="col" class="number">recall@20</th><th scope="col">${t("evaluation.column.settings")}</th></tr></thead>
    <tbody>${runs.map((one) => html`<tr key=${one.id} aria-current=${one === run ? "true" : undefined}>
      ${choice("run", one, run)}${one === run ? html`<td class="choice" />` : choice("against", one, against)}
      <td>${shortTime(one.at_ms)}<small>${one.id}</small></td><td class="number">${number(one.questions)}</td><td class="number">${score(fullShare(one))}</td>
      <td class="number">${score(one.tiers.final["ndcg@10"])}</td><td class="number">${score(one.tiers.final["recall@20"])}</td><td><code>${one.settings_digest}</code></td></tr>`)}</tbody></table></div>`;
}
