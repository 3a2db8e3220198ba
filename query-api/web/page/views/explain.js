// How an answer came about: the three tiers with their figures, the plan, and for each hit its places and scores.
import { html, Fragment } from "../html.js";
import { milliseconds, named, number, t } from "../words.js";
import { Meter } from "../parts/meter.js";

const TIERS = ["coarse", "fine", "rerank"];

/** The tiers that ran, with what each handed on. Without a reranker there is no third one. */
export function Tiers({ answer, reranker }) {
  const shown = TIERS.filter((tier) => answer.tiers[tier] && (tier !== "rerank" || reranker));
  return html`<div class="tiers" role="status">
    <span>${t("search.hits", { count: answer.hits.length, ms: number(answer.took_ms, { maximumFractionDigits: 1 }) })}</span>
    ${shown.map((tier, at) => html`<${Fragment} key=${tier}>${at > 0 && html`<span class="arrow" aria-hidden="true">→</span>`}
      <span class="badge">${t(`tier.${tier}`)} <b>${number(answer.tiers[tier].candidates)}</b> · ${milliseconds(answer.tiers[tier].ms)}</span><//>`)}
  </div>`;
}

/** What the weight adapted to, by name. */
function features(values = {}) {
  return Object.entries(values).map(([name, value]) => `${t(`feature.${name}`)} ${number(value, { maximumFractionDigits: 3 })}`).join(" · ");
}

export function Plan({ answer: { plan } }) {
  const rows = [
    ["explain.tokens", plan.tokens.join(" · ") || "–"],
    ["explain.names", plan.names?.join(" · ")],
    ["explain.strategy", t(`strategy.${plan.strategy}`)],
    ["explain.weight", t("explain.weights", { vector: number(plan.vector_weight, { maximumFractionDigits: 2 }), keyword: number(1 - plan.vector_weight, { maximumFractionDigits: 2 }) })],
    ["explain.weightFeatures", features(plan.weight_features)],
    ["explain.coarse", t("explain.limits", { keyword: plan.coarse.keyword, vector: plan.coarse.vector })],
    ["explain.fine", t("explain.keeps", { count: plan.fine_keep })],
    ["explain.reranker", plan.reranker ?? t("explain.noReranker")],
    ["explain.generation", plan.generation],
  ].filter(([, value]) => value);
  return html`<details class="plan" open>
    <summary>${t("explain.plan")}</summary>
    <dl>${rows.map(([name, value]) => html`<${Fragment} key=${name}><dt>${t(name)}</dt><dd>${value}</dd><//>`)}</dl>
  </details>`;
}

/** Place of a chunk in a tier, from 1. */
function placeIn(trace, chunk) {
  const at = trace?.candidates.findIndex((candidate) => candidate.chunk_id === chunk) ?? -1;
  return at < 0 ? null : { place: at + 1, score: trace.candidates[at].score };
}

export function HitScores({ hit, answer }) {
  const traces = Object.fromEntries(answer.traces.map((trace) => [trace.tier, trace]));
  const tiers = TIERS.filter((tier) => traces[tier] && (tier !== "rerank" || answer.plan.reranker));
  return html`<details class="scores">
    <summary>${t("explain.why")}</summary>
    <div class="scroll"><table>
      <thead><tr><th scope="col">${t("explain.tier")}</th><th scope="col" class="number">${t("explain.place")}</th><th scope="col" class="number">${t("explain.score")}</th><th scope="col">${t("explain.from")}</th></tr></thead>
      <tbody>${tiers.map((tier) => html`<${TierRow} key=${tier} tier=${tier} found=${placeIn(traces[tier], hit.chunk_id)} hit=${hit} plan=${answer.plan} />`)}</tbody>
    </table></div>
  </details>`;
}

const SIGNALS = ["keyword", "vector", "exact_name"];

function TierRow({ tier, found, hit, plan }) {
  const signals = tier === "fine" ? SIGNALS.filter((signal) => signal in hit.scores) : [];
  const how = { coarse: t("explain.fusion"), rerank: plan.reranker }[tier];
  return html`<tr>
    <th scope="row">${t(`tier.${tier}`)}</th>
    <td class="number">${found ? number(found.place) : "–"}</td>
    <td class="number">${found ? number(found.score, { maximumFractionDigits: 3 }) : "–"}</td>
    <td>${how ?? signals.map((signal) => html`<span class="signal" key=${signal}>${named("signal", signal)} ${number(hit.scores[signal], { maximumFractionDigits: 3 })}<${Meter} share=${hit.scores[signal]} /></span>`)}</td>
  </tr>`;
}
