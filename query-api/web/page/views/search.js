// Search: the question, what narrows it, and the hits. Everything that is asked for is in the address, so any change of it is a search.
import { html, useCallback, useEffect, useMemo, useRef, useState } from "../html.js";
import { call, get, markdownOf, rendered } from "../api.js";
import { address, go, useReturn } from "../router.js";
import { named, t } from "../words.js";
import { useNews } from "../live.js";
import { ownSources, reads } from "../session.js";
import { useResource } from "../parts/resource.js";
import { Busy, Empty, ProblemNotice } from "../parts/notice.js";
import { UnmetValues } from "../parts/unmet.js";
import { Hit } from "./hit.js";
import { Plan, Tiers } from "./explain.js";
import { AppliedFilters, Filters } from "./search_filters.js";
import { isFiltered, requestOf, searchAddress, searchOf } from "./search_state.js";

const encoder = new TextEncoder();

/** The answer with each hit's text as HTML. */
async function find(search, choices, options) {
  if (!search.q.trim()) return null;
  const answer = await call("POST", "v1/search", requestOf(search, choices), options);
  const markup = await rendered(answer.hits.map(markdownOf), answer.query, options);
  return { ...answer, hits: answer.hits.map((hit, at) => ({ ...hit, markup: markup[at] })) };
}

export function useChoices() {
  const [choices, setChoices] = useState(null);
  const load = useMemo(() => () => { if (reads()) get("v1/facets").then(setChoices).catch(() => {}); }, []);
  useEffect(load, []);
  useNews(load);
  return choices;
}

export function Search({ parameters }) {
  const search = searchOf(parameters);
  const key = parameters.toString();
  const choices = useChoices();
  const { value: answer, problem, busy, reload } = useResource((options) => find(search, choices, options), key);
  useNews(useCallback(() => { if (problem) reload(); }, [problem])); // the server may be back
  useReturn(answer !== null && !busy);
  const change = (changes) => go(searchAddress({ ...search, ...changes }));
  return html`<div class="search">
    <${Question} question=${search.q} limit=${choices?.query_limit_bytes} onAsk=${(q) => change({ q })} />
    <div class="columns">
      <${Filters} search=${search} choices=${choices} onChange=${change} />
      <div class="results">
        <${AppliedFilters} search=${search} onChange=${change} />
        <${ProblemNotice} problem=${problem} />
        ${!problem && html`<${Results} search=${search} answer=${answer} busy=${busy} choices=${choices} onChange=${change} />`}
      </div>
    </div>
  </div>`;
}

function Question({ question, limit, onAsk }) {
  const [text, setText] = useState(question);
  const field = useRef(null);
  useEffect(() => setText(question), [question]);
  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) field.current.focus();
  }, []);
  const tooLong = limit !== undefined && encoder.encode(text).length > limit;
  const ask = (event) => {
    event.preventDefault();
    if (text.trim() && !tooLong) onAsk(text);
    else field.current.focus();
  };
  return html`<form role="search" class="searchbar" onSubmit=${ask}>
    <label class="hidden" for="question">${t("search.question")}</label>
    <input id="question" type="search" autocomplete="off" enterkeyhint="search" ref=${field} value=${text} placeholder=${t("search.placeholder")}
      aria-invalid=${tooLong ? "true" : undefined} aria-describedby=${tooLong ? "too-long" : undefined} onInput=${(event) => setText(event.target.value)} />
    <kbd aria-hidden="true">/</kbd>
    <button class="primary">${t("search.submit")}</button>
    ${tooLong && html`<p id="too-long" class="notice bad">${t("search.tooLong", { limit })}</p>`}
  </form>`;
}

function Results({ search, answer, busy, choices, onChange }) {
  if (!search.q.trim()) return html`<${Welcome} choices=${choices} />`;
  if (!answer) return html`<${Busy} />`;
  return html`<div class=${busy ? "results-list stale" : "results-list"} aria-busy=${String(busy)}>
    <${Tiers} answer=${answer} reranker=${choices?.reranker} />
    ${answer.degraded.length > 0 && html`<p class="notice">${t("search.degraded", { what: answer.degraded.map((what) => named("degraded", what)).join(", ") })}</p>`}
    ${choices?.documents !== 0 && answer.unmatched_terms?.length > 0 && html`<p class="notice">${t(isFiltered(search) ? "search.unmatchedFiltered" : "search.unmatched", { words: answer.unmatched_terms.join(", ") })}</p>`}
    ${isUnlikely(answer) && html`<p class="notice">${t("search.unlikely", { relevance: best(answer).toFixed(2) })}</p>`}
    ${answer.plan && html`<${Plan} answer=${answer} />`}
    ${answer.hits.length === 0 && html`<${Nothing} search=${search} choices=${choices} unmet=${answer.unmet_filter} />`}
    <ol class="hits">${answer.hits.map((hit) => html`<${Hit} key=${hit.chunk_id} hit=${hit} answer=${answer} onUnfold=${() => onChange({ unfold: true })} all=${searchAddress({ ...search, document: nameOf(hit), top: String(choices?.maximum_top_k ?? "") })} />`)}</ol>
  </div>`;
}

/** How the filter names the document of a hit. */
const nameOf = (hit) => (hit.source_path ? `${hit.source}/${hit.source_path}` : hit.document_id);

/** A best hit below this is said to be unlikely; the command line's `LIKELY`. */
const LIKELY = 0.1;

const best = (answer) => Math.max(...answer.hits.map((hit) => hit.relevance ?? 1));

/** Whether the answer has hits, and none of them is likely to be one. */
const isUnlikely = (answer) => answer.hits.length > 0 && best(answer) < LIKELY;

function Welcome({ choices }) {
  if (choices?.documents === 0) return html`<${NoDocuments} />`;
  return html`<${Empty}><p>${t("search.welcome")}</p>${choices && html`<p>${t("search.searchable", { count: choices.documents })}</p>`}<//>`;
}

const NoDocuments = () => html`<${Empty}><p>${t("search.noDocuments")}</p>
  <p><code>tributary publish docs/ --wait</code></p>${ownSources()?.length !== 0 && html`<p><a class="button" href=${address("documents")}>${t("search.publish")}</a></p>`}<//>`;

function Nothing({ search, choices, unmet }) {
  if (choices?.documents === 0) return html`<${NoDocuments} />`;
  if (unmet) return html`<${Empty}><p>${t("search.unmetFilter")}</p><${UnmetValues} unmet=${unmet} /><//>`;
  return html`<${Empty}><p>${t(isFiltered(search) ? "search.nothingFiltered" : "search.nothing")}</p><//>`;
}
