// All documents: upload, a list of any length that follows what happens, and what can be done with several of them.
import { html, useCallback, useEffect, useState } from "../html.js";
import { call, documentPath, get } from "../api.js";
import { address, go } from "../router.js";
import { named, number, shortTime, t } from "../words.js";
import { useNews } from "../live.js";
import { ownSources, publishes, reads } from "../session.js";
import { CarefulButton } from "../parts/careful.js";
import { Empty, ProblemNotice } from "../parts/notice.js";
import { usePagedList } from "../parts/paged.js";
import { isFinal, State } from "../parts/state.js";
import { useTogether } from "../parts/together.js";
import { VirtualBody } from "../parts/virtual_rows.js";
import { titleOf } from "./hit.js";
import { useSetNames } from "./sets_names.js";
import { Uploads } from "./uploads_view.js";
import { useChoices } from "./search.js";

const STATES = ["accepted", "chunking", "embedding", "indexing", "indexed", "skipped", "deleted", "dead"];
const ROW_PIXELS = 58;
/** Documents asked for at once when all of a list are chosen. */
const MANY = 1000;
const TYPING_PAUSE_MS = 250;

export function Documents({ parameters }) {
  const mayPublish = ownSources()?.length !== 0;
  return html`${mayPublish && html`<${Uploads} source=${reads() ? null : filterOf(parameters).source} />`}<${DocumentList} parameters=${parameters} />`;
}

/** What the address says of the list: parameter here, parameter of the server. */
const CONDITIONS = { state: "state", source: "source", text: "text", set: "knowledge_set", tag: "tag", searchable: "searchable", degraded: "degraded", sort: "sort", down: "descending" };

/** Who publishes and may not read sees one of the own sources at a time. */
function filterOf(parameters) {
  const filter = Object.fromEntries(Object.keys(CONDITIONS).map((name) => [name, parameters.get(name) ?? ""]));
  return reads() ? filter : { ...filter, source: filter.source || ownSources()[0] };
}

function query(filter, more) {
  const conditions = Object.entries(CONDITIONS).map(([name, field]) => [field, filter[name]]);
  return new URLSearchParams([...conditions, ...Object.entries(more)].filter(([, value]) => value !== null && value !== ""));
}

function pageOf(filter) {
  return async ({ after, limit, signal }) => {
    const page = await get(`v1/documents?${query(filter, { after, limit })}`, { signal });
    return { rows: page.documents, next: page.next, total: page.total ?? null };
  };
}

function DocumentList({ parameters }) {
  const filter = filterOf(parameters);
  const list = usePagedList(pageOf(filter), parameters.toString());
  const [chosen, setChosen] = useState(new Set());
  useNews(useCallback(() => list.again(), [list]));
  const onShown = useCallback((first, last) => list.show(first, last), [list]);
  const change = (changes) => go(address("documents", { parameters: { ...filter, ...changes } }), { replace: "text" in changes }); // each letter is no step to go back to
  const choose = (id) => setChosen((before) => {
    const after = new Set(before);
    if (!after.delete(id)) after.add(id);
    return after;
  });
  return html`<${Bar} filter=${filter} list=${list} onChange=${change} />
    <${Selection} chosen=${chosen} onDone=${() => setChosen(new Set())} />
    <${ProblemNotice} problem=${list.problem} />
    ${list.isWhole && list.count === 0 ? html`<${Empty}>${t("documents.none")}<//>`
      : html`<div class="table-place"><table class="documents" aria-rowcount=${list.count + 1}>
        <${Head} chosen=${chosen} filter=${filter} canSort=${list.total !== null} onAll=${setChosen} onChange=${change} />
        <${VirtualBody} count=${list.count} height=${ROW_PIXELS} onShown=${onShown}
          row=${(index) => html`<${Row} key=${index} index=${index} report=${list.row(index)} chosen=${chosen} onChoose=${choose} />`} />
      </table></div>`}`;
}

function Bar({ filter, list, onChange }) {
  const choices = useChoices();
  const setNameOf = useSetNames();
  const values = (facet) => (choices?.[facet] ?? []).map(({ value }) => [value, value]);
  const sets = values("knowledge_sets").map(([id]) => [id, setNameOf(id)]);
  const states = STATES.map((state) => [state, t(`state.${state}`)]);
  const searchable = ["true", "false"].map((value) => [value, t(`documents.searchable.${value}`)]);
  const degraded = ["true", "false"].map((value) => [value, t(`documents.degraded.${value}`)]);
  const select = (name, label, options) => html`<${Select} label=${t(label)} value=${filter[name]} options=${options} onChange=${(value) => onChange({ [name]: value })} />`;
  return html`<div class="bar">
    ${list.total !== null && html`<label class="inline">${t("documents.find")} <${SlowInput} value=${filter.text} onChange=${(text) => onChange({ text })} /></label>`}
    ${select("state", "documents.state", states)}
    ${reads() ? select("source", "documents.source", values("sources"))
      : html`<${Select} label=${t("documents.source")} value=${filter.source} options=${ownSources().map((one) => [one, one])} isAnyOffered=${false} onChange=${(source) => onChange({ source })} />`}
    ${list.total !== null && [select("set", "filter.set", sets), select("tag", "filter.tag", values("tags")), select("searchable", "documents.searchable", searchable), select("degraded", "documents.degraded", degraded)]}
    <span class="quiet" role="status">${t(list.isWhole || list.total !== null ? "documents.count" : "documents.atLeast", { count: list.count })}</span>
  </div>`;
}

/** One of some values, or any where that is offered; a value that is not among them any more stays chosen. */
function Select({ label, value, options, isAnyOffered = true, onChange }) {
  const shown = value && !options.some(([one]) => one === value) ? [[value, value], ...options] : options;
  if (shown.length === 0) return null;
  return html`<label class="inline">${label} <select value=${value} onChange=${(event) => onChange(event.target.value)}>
    ${isAnyOffered && html`<option value="">${t("filter.any")}</option>`}${shown.map(([one, name]) => html`<option key=${one} value=${one}>${name}</option>`)}
  </select></label>`;
}

/** A text that counts once its writer pauses. */
function SlowInput({ value, onChange }) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => onChange(text), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return html`<input type="search" value=${text} onInput=${(event) => setText(event.target.value)} />`;
}

/** Columns by which the server sorts. */
const SORTS = { document: "title", source: "source", state: "state", updated: "time" };

function Head({ chosen, filter, canSort, onAll, onChange }) {
  const all = async (event) => {
    if (!event.target.checked) return onAll(new Set());
    const ids = new Set();
    let after = null;
    do {
      const page = await get(`v1/documents?${query(filter, { after, limit: MANY })}`);
      page.documents.filter(mayChoose).forEach((report) => ids.add(report.document_id));
      after = page.next;
    } while (after);
    return onAll(ids);
  };
  const mayPublish = ownSources()?.length !== 0;
  const column = (name, kind) => html`<${Column} name=${name} kind=${kind} sort=${canSort ? SORTS[name] : null} filter=${filter} onChange=${onChange} />`;
  return html`<thead><tr>
    ${mayPublish ? html`<th scope="col" class="choice"><input type="checkbox" aria-label=${t("documents.chooseAll")} checked=${chosen.size > 0} onChange=${all} /></th>` : html`<td class="choice"></td>`}
    ${column("document")}${column("source", "wide")}${column("state")}${column("chunks", "number wide")}${column("updated", "wide")}
  </tr></thead>`;
}

function Column({ name, kind, sort, filter, onChange }) {
  const text = t(`documents.${name}`);
  if (!sort) return html`<th scope="col" class=${kind}>${text}</th>`;
  const isSorted = filter.sort === sort;
  const isDown = isSorted && filter.down !== "";
  const press = () => onChange({ sort, down: isSorted && !isDown ? "true" : "" });
  return html`<th scope="col" class=${kind} aria-sort=${isSorted ? (isDown ? "descending" : "ascending") : "none"}>
    <button type="button" class="link" onClick=${press}>${text}${isSorted && html`<span aria-hidden="true"> ${isDown ? "↓" : "↑"}</span>`}</button></th>`;
}

/** Whether something can be done with a document: only deleting can. */
const mayChoose = (report) => report.state !== "deleted" && publishes(report.source);

function Row({ index, report, chosen, onChoose }) {
  if (!report) return html`<tr class="row" aria-rowindex=${index + 2}><td class="choice"></td><td class="quiet">…</td></tr>`;
  const title = titleOf(report);
  return html`<tr class="row" aria-rowindex=${index + 2}>
    <td class="choice">${publishes(report.source) && html`<input type="checkbox" aria-label=${t("documents.choose", { title })} checked=${chosen.has(report.document_id)} disabled=${!mayChoose(report)} onChange=${() => onChoose(report.document_id)} />`}</td>
    <td class="name">${reads() ? html`<a href=${address("documents", { id: report.document_id })}>${title}</a>` : html`<span>${title}</span>`}<small title=${report.source_path}>${report.source_path || report.document_id}</small></td>
    <td class="wide">${report.source}</td>
    <td class="status"><${Status} report=${report} /></td>
    <td class="number wide">${number(report.chunks)}</td>
    <td class="wide">${shortTime(report.at_ms)}</td>
  </tr>`;
}

/** Whether it can be found comes first, then what the last attempt did about it. */
function Status({ report }) {
  const isFound = Boolean(report.searchable) && isFinal(report.state);
  const attempt = isFound && report.state !== "indexed" ? named("state", report.state) : "";
  const lesser = report.lineage?.degraded ?? [];
  const inLesserWays = lesser.length > 0 ? t("documents.lesser", { what: lesser.join(", ") }) : "";
  const note = [attempt, report.reason, inLesserWays].filter(Boolean).join(": ");
  return html`${isFound ? html`<span class="state indexed">${t("documents.searchable.true")}</span>` : html`<${State} state=${report.state} />`}
    ${note && html`<small title=${note}>${note}</small>`}`;
}

/** What can be done with the documents that were chosen. */
function Selection({ chosen, onDone }) {
  const { left, problem, run } = useTogether();
  if (chosen.size === 0 && !problem) return null;
  const remove = async () => {
    if (await run(chosen, (id) => call("DELETE", documentPath(id)))) onDone();
  };
  return html`<div class="selection" role="region" aria-label=${t("documents.chosenRegion")}>
    <span>${left === null ? t("documents.chosen", { count: chosen.size }) : t("documents.deleting", { count: left })}</span>
    <${CarefulButton} label=${t("documents.delete")} question=${t("documents.deleteSure", { count: chosen.size })} disabled=${left !== null} onAct=${remove} />
    <button type="button" class="link" onClick=${onDone}>${t("documents.chooseNone")}</button>
    <${ProblemNotice} problem=${problem} />
  </div>`;
}
