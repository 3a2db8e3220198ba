// How the server is: what it needs, how far the stages are, what the index is made of, and whether everything accepted is accounted for.
import { html, useEffect, useState } from "../html.js";
import { call, get, getText } from "../api.js";
import { bytes, milliseconds, named, number, t } from "../words.js";
import { useLive, useNews } from "../live.js";
import { Busy, ProblemNotice } from "../parts/notice.js";
import { useResource } from "../parts/resource.js";
import { State } from "../parts/state.js";
import { parseMetrics, valueOf } from "./metrics.js";

const HEALTH_MS = 15_000;
const STAGES = ["ingest", "chunk", "embed", "index"];

/** The readiness of the server; `{offline: true}` while it does not answer. */
export function useHealth() {
  const [health, setHealth] = useState(null);
  const isLive = useLive(); // a stream that breaks off tells first that the server is gone
  useEffect(() => {
    const look = async () => {
      try {
        setHealth(await (await fetch("health/readyz")).json());
      } catch {
        setHealth({ offline: true, checks: [] });
      }
    };
    look();
    const timer = setInterval(look, HEALTH_MS);
    return () => clearInterval(timer);
  }, [isLive]);
  return health;
}

async function read(options) {
  const [metrics, overview, version] = await Promise.all([getText("metrics"), get("v1/reindex", options), get("version", options)]);
  return { metrics: parseMetrics(metrics), overview, version };
}

export function Operations() {
  const health = useHealth();
  const { value, problem, reload } = useResource(read, "");
  useNews(reload);
  return html`<${ProblemNotice} problem=${problem} />
    <${Checks} health=${health} />
    ${!value && !problem && html`<${Busy} />`}
    ${value && html`<${Counts} metrics=${value.metrics} /><${Reconcile} /><${Stages} metrics=${value.metrics} /><${Generations} generations=${value.overview.generations} />
      <p class="quiet">${t("operations.version", { version: value.version.version })} · <a href="metrics">/metrics</a> · <a href="openapi.json">/openapi.json</a></p>`}`;
}

function Checks({ health }) {
  if (!health) return html`<${Busy} />`;
  return html`<h2>${t("operations.checks")}</h2><ul class="checks">${health.checks.map((check) => html`<li key=${check.name} class=${check.ok ? "good" : "bad"}>
    <b>${named("check", check.name)}</b> <span>${t(check.ok ? "check.ok" : "check.notOk")}</span> <span class="quiet" lang="en">${check.detail}</span>${check.hint && html`<small lang="en">${check.hint}</small>`}
  </li>`)}</ul>`;
}

const STATES = ["accepted", "chunking", "embedding", "indexing", "indexed", "skipped", "deleted", "dead"];

function Counts({ metrics }) {
  const shown = STATES.map((state) => [state, valueOf(metrics, "tributary_documents", { state })]).filter(([, count]) => count !== null);
  if (shown.length === 0) return null;
  return html`<h2>${t("view.documents")}</h2><ul class="counts">${shown.map(([state, count]) => html`<li key=${state}><a href=${`#/documents?state=${state}`}><${State} state=${state} /> <b>${number(count)}</b></a></li>`)}</ul>`;
}

/** Asks whether everything that was accepted is where it should be. */
function Reconcile() {
  const [result, setResult] = useState(null);
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const ask = async () => {
    setBusy(true);
    setProblem(null);
    try {
      setResult(await call("POST", "v1/documents/reconcile"));
    } catch (refused) {
      setProblem(refused);
    }
    setBusy(false);
  };
  const isWrong = result && [result.missing, result.orphan_chunks, result.duplicate_chunks].some((ids) => ids.length > 0);
  const words = result && (result.ok ? "reconcile.ok" : isWrong ? "reconcile.wrong" : "reconcile.underway");
  return html`<div class="bar"><button type="button" disabled=${busy} onClick=${ask}>${t("reconcile")}</button>
    ${result && html`<span role="status" class=${result.ok ? "good" : isWrong ? "bad" : "quiet"}>${t(words, { count: result.in_flight, accepted: result.accepted })}</span>`}</div>
    <${ProblemNotice} problem=${problem} />
    ${isWrong && html`<pre tabindex="0"><code>${JSON.stringify({ missing: result.missing, orphan_chunks: result.orphan_chunks, duplicate_chunks: result.duplicate_chunks }, null, 2)}</code></pre>`}`;
}

/** Figures of the stages of this process, from its metrics. */
function Stages({ metrics }) {
  const rows = STAGES.map((stage) => {
    const of = (name) => valueOf(metrics, `tributary_stage_${name}`, { stage });
    const [count, sum] = [of("seconds_count"), of("seconds_sum")];
    return { stage, done: of("records_out_total"), running: of("records_in_progress"), held: of("held"), dead: of("records_dead_total"), open: of("breaker_open"), mean: count > 0 ? (1000 * sum) / count : null };
  }).filter(({ done }) => done !== null);
  if (rows.length === 0) return null;
  const lag = (stage) => valueOf(metrics, "tributary_lag_records", { stage });
  const cell = (value) => html`<td class="number">${value === null ? "–" : number(value)}</td>`;
  return html`<h2>${t("operations.stages")}</h2><div class="scroll" tabindex="0" role="region" aria-label=${t("operations.stages")}><table>
    <thead><tr><th scope="col">${t("stage")}</th>${["lag", "running", "held", "done", "dead", "mean"].map((name) => html`<th scope="col" class="number" key=${name}>${t(`stage.${name}`)}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.stage}><th scope="row">${t(`stage.${row.stage}`)}${row.open ? html` <span class="state dead">${t("stage.breaker")}</span>` : ""}</th>
      ${cell(lag(row.stage))}${cell(row.running)}${cell(row.held)}${cell(row.done)}${cell(row.dead)}<td class="number">${row.mean === null ? "–" : milliseconds(row.mean)}</td></tr>`)}</tbody>
  </table></div>`;
}

function Generations({ generations }) {
  if (generations.length === 0) return null;
  return html`<h2>${t("operations.generations")}</h2><div class="scroll" tabindex="0" role="region" aria-label=${t("operations.generations")}><table>
    <thead><tr>${["name", "serving", "documents", "chunks", "bytes", "model"].map((name) => html`<th scope="col" key=${name}>${t(`generation.${name}`)}</th>`)}</tr></thead>
    <tbody>${generations.map((one) => html`<tr key=${one.name}><th scope="row">${one.name}</th><td>${one.serving ? t("generation.yes") : ""}</td><td class="number">${number(one.documents)}</td><td class="number">${number(one.chunks)}</td><td class="number">${bytes(one.bytes)}</td><td>${[...new Set([one.coarse_model, one.fine_model])].join(", ")}</td></tr>`)}</tbody>
  </table></div>`;
}
