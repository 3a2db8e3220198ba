// Knowledge sets: what is in them and why, and building the index anew for them, with progress and a way back.
import { html, classes, Fragment, useCallback, useEffect, useState } from "../html.js";
import { call, get } from "../api.js";
import { address } from "../router.js";
import { number, percent, t } from "../words.js";
import { useNews } from "../live.js";
import { builds, reads } from "../session.js";
import { CarefulButton } from "../parts/careful.js";
import { Meter } from "../parts/meter.js";
import { Busy, Empty, ProblemNotice } from "../parts/notice.js";
import { useResource } from "../parts/resource.js";
import { isFinal, State } from "../parts/state.js";
import { readSets, setName, useSetNames } from "./sets_names.js";

const LOOK_AGAIN_MS = 1500;
const DENIED = 403;

async function read(options) {
  const [sets, status, overview] = await Promise.all([readSets(), ofBuilders("v1/knowledge-sets/status", options), ofBuilders("v1/reindex", options)]);
  return { sets, status: new Map(status?.sets.map((one) => [one.id, one])), overview };
}

/** What only builders are told; `null` for others. */
async function ofBuilders(path, options) {
  if (!builds()) return null;
  return get(path, options).catch((problem) => {
    if (problem.status === DENIED) return null;
    throw problem;
  });
}

export function Sets() {
  const { value, problem, reload } = useResource(read, "");
  const [refused, setRefused] = useState(null);
  useNews(reload);
  const isBuilding = value?.overview?.builds.some((build) => !isFinal(build.report.state)) ?? false;
  useEffect(() => {
    if (!isBuilding) return undefined;
    const timer = setInterval(reload, LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isBuilding]);
  const act = useCallback(async (method, path, body) => {
    try {
      setRefused(null);
      await call(method, path, body);
    } catch (error) {
      setRefused(error);
    }
    reload();
  }, [reload]);
  if (!value) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Busy} />`;
  return html`<${ProblemNotice} problem=${refused ?? problem} />
    ${value.overview?.outdated.length > 0 && html`<p class="notice">${t("sets.outdated", { what: value.overview.outdated.join(", ") })}</p>`}
    ${value.sets.length === 0 ? html`<${Empty}><p>${t("sets.none")}</p><p><code>tributary knowledge-sets apply sets.toml</code></p><//>`
      : html`<ul class="cards">${value.sets.map((set) => html`<${SetCard} key=${set.id} set=${set} status=${value.status.get(set.id)} onBuild=${value.overview && (() => act("POST", `v1/knowledge-sets/${encodeURIComponent(set.id)}/reindex`))} />`)}</ul>`}
    ${value.overview && html`<${Builds} overview=${value.overview} onAct=${act} />`}`;
}

/** Colours of states, by those of documents. */
const COLOURS = { alarm: "dead", building: "moving", ready: "indexed", empty: "skipped" };

function SetCard({ set, status, onBuild }) {
  return html`<li class="card">
    <div class="head"><h2>${setName(set)}</h2><code>${set.id}</code>${status && html`<span class=${classes("state", COLOURS[status.state])}>${t(`setState.${status.state}`)}</span>`}</div>
    ${set.description && html`<p>${set.description}</p>`}
    <p class="facts"><span>${t(`setView.${set.view}`)}</span><a href=${reads() ? address("search", { parameters: { set: set.id } }) : undefined}>${status ? t("sets.members", { count: status.documents.searchable }) : t("sets.search")}</a>${set.workflow && html`<span>${t("sets.workflow", { name: set.workflow })}</span>`}${status?.owner && html`<span>${t("sets.owner", { name: status.owner })}</span>`}</p>
    ${status && html`<${Status} id=${set.id} status=${status} />`}
    <details><summary>${t("sets.rules", { count: set.rules.length })}</summary>
      ${set.rules.length === 0 && html`<p class="quiet">${t("sets.noRules")}</p>`}
      <ol>${set.rules.map((rule, at) => html`<li key=${at}><${Rule} rule=${rule} /></li>`)}</ol>
    </details>
    ${set.pipeline && html`<details><summary>${t("sets.pipeline")}</summary><pre tabindex="0"><code>${JSON.stringify(set.pipeline, null, 2)}</code></pre></details>`}
    ${onBuild && html`<div class="actions"><${CarefulButton} class="" label=${t("sets.build")} question=${t("sets.buildSure")} onAct=${onBuild} /></div>`}
  </li>`;
}

/** What is on its way, what failed and what was made in a lesser way; each leads to its documents. */
function Status({ id, status: { alarms, documents } }) {
  const counts = [["waiting", {}], ["failed", { state: "dead" }], ["degraded", { degraded: "true" }]].filter(([name]) => documents[name] > 0);
  return html`${alarms.map((alarm) => html`<p class="notice" key=${alarm}>${t(`setAlarm.${alarm}`, { count: documents.failed, minutes: number(Math.floor((documents.oldest_waiting_seconds ?? 0) / 60)) })}</p>`)}
    ${counts.length > 0 && html`<p class="facts">${counts.map(([name, parameters]) => html`<a key=${name} href=${reads() ? address("documents", { parameters: { set: id, ...parameters } }) : undefined}>${t(`sets.${name}`, { count: documents[name] })}</a>`)}</p>`}
    ${documents.failures?.length > 0 && html`<details><summary>${t("sets.failures")}</summary>
      <ul>${documents.failures.map((one) => html`<li key=${one.document_id}><a href=${reads() ? address("documents", { id: one.document_id }) : undefined}>${one.source_path || one.document_id}</a>: <span lang="en">${one.reason}</span></li>`)}</ul>
    </details>`}`;
}

/** A rule in words: all its conditions hold. */
function Rule({ rule }) {
  const patterns = (value) => [].concat(value).join(` ${t("sets.or")} `);
  const parts = ["source", "path", "media_type"].filter((name) => rule[name]).map((name) => [t(`rule.${name}`), patterns(rule[name])]);
  for (const kind of ["attribute", "metadata"]) {
    for (const [name, value] of Object.entries(rule[kind] ?? {})) parts.push([`${t(`rule.${kind}`)} ${name}`, patterns(value)]);
  }
  return html`${parts.map(([name, value], at) => html`<${Fragment} key=${name}>${at > 0 && ` ${t("sets.and")} `}${name} <code>${value}</code><//>`)}${rule.tags?.length > 0 && html` → ${rule.tags.map((tag) => html`<span class="tag" key=${tag}>${tag}</span>`)}`}`;
}

/** Building of the index, newest first, and the generations that are there. */
export function Builds({ overview, onAct }) {
  const isBuilding = overview.builds.some((build) => !isFinal(build.report.state));
  const canGoBack = overview.generations.length > 1 && !isBuilding;
  return html`<h2>${t("builds")}</h2>
    <div class="actions">
      <${CarefulButton} class="" label=${t("builds.all")} question=${t("sets.buildSure")} onAct=${() => onAct("POST", "v1/reindex", { knowledge_sets: [] })} />
      ${isBuilding && html`<${CarefulButton} label=${t("builds.cancel")} onAct=${() => onAct("DELETE", "v1/reindex")} />`}
      ${canGoBack && html`<${CarefulButton} label=${t("builds.rollback")} onAct=${() => onAct("POST", "v1/reindex/rollback")} />`}
    </div>
    ${overview.builds.length === 0 ? html`<p class="quiet">${t("builds.none")}</p>` : html`<ul class="cards">${overview.builds.slice(0, 10).map((build) => html`<${Build} key=${build.request.request_id} build=${build} />`)}</ul>`}`;
}

function Build({ build: { request, report, documents_done: done, documents_total: total, remaining_seconds: remaining } }) {
  const nameOf = useSetNames();
  const what = request.knowledge_sets.length === 0 ? t("builds.allDocuments") : request.knowledge_sets.map(nameOf).join(", ");
  const share = total > 0 ? Math.min(1, done / total) : 0;
  return html`<li class="card build">
    <div class="head"><h3>${what}</h3><${State} state=${report.state} /></div>
    ${!isFinal(report.state) && html`<p class="progress"><${Meter} share=${share} /> ${percent(share)} <span class="quiet">${t("builds.progress", { done, count: total })}${remaining !== undefined && remaining !== null ? ` · ${t("builds.remaining", { seconds: number(Math.ceil(remaining)) })}` : ""}</span></p>`}
    ${report.reason && html`<p class="message" lang="en">${report.reason}</p>`}
    ${report.generation && html`<p class="quiet">${report.previous ? `${report.previous} → ` : ""}${report.generation}</p>`}
  </li>`;
}
