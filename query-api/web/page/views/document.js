// One document as a reader sees it: outline, text, the passage that was found, pictures, and what is known about it.
import { html, Fragment, useEffect, useLayoutEffect, useRef, useState } from "../html.js";
import { call, documentPath, get, markdownOf, rendered } from "../api.js";
import { address, go } from "../router.js";
import { mayView, publishes } from "../session.js";
import { named, number, percent, t, time } from "../words.js";
import { CarefulButton } from "../parts/careful.js";
import { Markup, textOf } from "../parts/markup.js";
import { markTexts } from "../parts/marking.js";
import { Busy, Empty, ProblemNotice } from "../parts/notice.js";
import { isWebAddress, PagePictures, Pictures } from "../parts/pictures.js";
import { placesOf, withoutPlace, withPictures } from "../parts/places.js";
import { useResource } from "../parts/resource.js";
import { isFinal, State } from "../parts/state.js";
import { titleOf } from "./hit.js";
import { useSetNames } from "./sets_names.js";

/** Characters that two passages must share at their seam to be an overlap and no accident. */
const SHORTEST_OVERLAP = 24;

async function read(id, question, cited, options) {
  const report = await get(`${documentPath(id)}?passages=true`, options);
  const passages = report.passages ?? [];
  const pieces = pieced(passages);
  const places = placesOf(passages.map(({ text }) => text), report.pictures);
  const texts = pieces.map((piece) => ({ ...piece, text: withPictures(piece.text, places) }));
  const markup = await rendered(texts.map(markdownOf), question, options);
  const quotes = await rendered(cited, null, options);
  const pictures = withoutPlace(report.pictures, places);
  return { report, pictures, pieces: pieces.map((piece, at) => ({ ...piece, markup: markup[at] })), quotes: quotes.map(textOf) };
}

/**
 * The text once: passages overlap, and a section stands beside its parts. Each piece has the ids of the passages that it shows.
 */
export function pieced(passages) {
  const pieces = [];
  for (const passage of passages) {
    const around = pieces.find((piece) => piece.whole.includes(passage.text));
    if (around) {
      around.ids.push(passage.chunk_id);
      continue;
    }
    const inside = pieces.filter((piece) => passage.text.includes(piece.whole));
    const ids = [passage.chunk_id, ...inside.flatMap((piece) => piece.ids)];
    const before = inside.length === 0 ? pieces.at(-1) : undefined;
    for (const piece of inside) pieces.splice(pieces.indexOf(piece), 1);
    pieces.push({ ...passage, ids, whole: passage.text, text: withoutOverlap(before?.whole ?? "", passage.text) });
  }
  return pieces;
}

function withoutOverlap(before, text) {
  for (let length = Math.min(before.length, text.length); length >= SHORTEST_OVERLAP; length -= 1) {
    if (before.endsWith(text.slice(0, length))) return text.slice(length);
  }
  return text;
}

export function DocumentView({ id, parameters }) {
  const [question, chunk, cited] = [parameters.get("q"), parameters.get("chunk"), parameters.getAll("mark")];
  const { value, problem, busy } = useResource((options) => read(id, question, cited, options), `${id} ${question} ${cited}`);
  return html`<p><${Back} question=${question} conversation=${parameters.get("ask")} turn=${parameters.get("turn")} /></p>
    <${ProblemNotice} problem=${problem} />
    ${!value && busy && html`<${Busy} />`}
    ${value && html`<${Reading} ...${value} chunk=${chunk} />`}`;
}

/** The way back to where the document was named. */
function Back({ question, conversation, turn }) {
  if (conversation) return html`<a href=${address("ask", { id: conversation, parameters: { turn } })}>← ${t("document.toTalk")}</a>`;
  if (!question) return html`<a href=${address("documents")}>← ${t("document.toList")}</a>`;
  const goBack = (event) => {
    if (history.length < 2) return;
    event.preventDefault();
    history.back();
  };
  return html`<a href=${address("search", { parameters: { q: question } })} onClick=${goBack}>← ${t("document.toHits")}</a>`;
}

/** Marks what an answer cites, in the passage that it came from or else anywhere; gives how many of it are not there. */
function useCited(place, pieces, quotes) {
  const [missing, setMissing] = useState(0);
  useEffect(() => {
    const make = () => Object.assign(document.createElement("mark"), { className: "cited" });
    const passage = place.current.querySelector(".piece.found");
    const inPassage = passage ? markTexts(passage, quotes, make) : [];
    const elsewhere = quotes.filter((_, at) => !inPassage[at]?.length);
    const others = markTexts(place.current, elsewhere, make);
    setMissing(others.filter((parts) => parts.length === 0).length);
    place.current.querySelector("mark.cited")?.scrollIntoView({ block: "center" });
  }, [pieces]);
  return missing;
}

function Reading({ report, pictures, pieces, quotes, chunk }) {
  const shown = report.passages?.length ?? 0;
  const place = useRef(null);
  const headings = useHeadings(place, pieces);
  const missing = useCited(place, pieces, quotes);
  return html`<article class="document">
    <header class="head"><h2>${titleOf(report)}</h2>${report.searchable ? html`<span class="state indexed">${t("documents.searchable.true")}</span>` : html`<${State} state=${report.state} />`}</header>
    <p class="where"><span class="file">${report.source} / ${report.source_path}</span>${" "}
      ${report.original && html`<a href=${report.original.slice(1)} download>${t("document.original")}</a>`}</p>
    ${shown === 0 && report.reason && html`<p class=${report.state === "dead" ? "notice bad" : "notice"}><span lang="en">${report.reason}</span>${report.state === "dead" && mayView("dead-letters") && html` <a href=${address("dead-letters")}>${t("view.dead-letters")}</a>`}</p>`}
    ${shown > 0 && html`<${Earlier} report=${report} />`}
    <${Facts} report=${report} />
    ${report.chunks > shown && shown > 0 && html`<p class="notice">${t("document.partly", { shown, count: report.chunks })}</p>`}
    ${missing > 0 && html`<p class="notice">${t("document.citedMissing")}</p>`}
    <div class="columns">
      <${Outline} headings=${headings} />
      <div class="reading" ref=${place}>
        ${pieces.length === 0 && html`<${Empty}>${t("document.noText")}<//>`}
        <${Pictures} links=${pictures} />
        ${pieces.map((piece) => html`<${Piece} key=${piece.chunk_id} piece=${piece} pagesAt=${report.page_pictures} pages=${pagesOf(piece, report)} found=${piece.ids.includes(chunk)} />`)}
      </div>
    </div>
  </article>`;
}

/** Says that what is read here is not what was published last. */
function Earlier({ report }) {
  if (report.state === "dead") return html`<p class="notice bad">${t("document.earlierFailed")} <span lang="en">${report.reason}</span></p>`;
  return !isFinal(report.state) && html`<p class="notice">${t("document.earlierMoving")}</p>`;
}

/** Passages of a document of one page name none. */
const pagesOf = (piece, report) => (piece.pages?.length || report.metadata?.pages !== "1" ? piece.pages : [1]);

/** Scrolls to a passage and its first marked word; again when its pictures are there, until the reader moves. */
function showFound(passage) {
  const show = () => {
    passage.scrollIntoView({ block: "start" });
    const mark = passage.querySelector("mark.cited") ?? passage.querySelector("mark");
    if (mark && (mark.className === "cited" || mark.getBoundingClientRect().bottom > innerHeight)) mark.scrollIntoView({ block: "center" });
  };
  const moves = new AbortController();
  for (const kind of ["wheel", "touchstart", "keydown", "pointerdown"]) addEventListener(kind, () => moves.abort(), { passive: true, signal: moves.signal });
  passage.addEventListener("load", show, { capture: true, signal: moves.signal });
  show();
  return () => moves.abort();
}

function Piece({ piece, pagesAt, pages, found }) {
  const place = useRef(null);
  useEffect(() => {
    if (found) return showFound(place.current);
  }, [found]);
  const shape = ["piece", found && "found", piece.kind === "summary" && "summary"].filter(Boolean).join(" ");
  return html`<section ref=${place} class=${shape} aria-label=${found ? t("document.found") : undefined}>
    ${piece.kind === "summary" && html`<p class="quiet">${t("hit.summary")}</p>`}
    <${Markup} markup=${piece.markup} />
    ${pagesAt && html`<${PagePictures} at=${pagesAt} pages=${pages} open=${found} />`}
  </section>`;
}

/** Headings of the shown text, in their order. */
function useHeadings(place, pieces) {
  const [headings, setHeadings] = useState([]);
  useLayoutEffect(() => {
    const elements = [...place.current.querySelectorAll(":is(h3, h4, h5, h6)")];
    setHeadings(elements.map((element) => ({ element, title: element.textContent, level: Number(element.tagName.slice(1)) })));
  }, [pieces]);
  return headings;
}

function Outline({ headings }) {
  if (headings.length < 2) return null;
  const highest = Math.min(...headings.map(({ level }) => level));
  const jump = (element) => () => element.scrollIntoView({ block: "start" });
  return html`<nav class="outline" aria-label=${t("document.outline")}><h3>${t("document.outline")}</h3>
    <ul>${headings.map(({ element, title, level }, at) => html`<li key=${at} class=${`level-${level - highest}`}><button type="button" class="link" onClick=${jump(element)}>${title}</button></li>`)}</ul></nav>`;
}

function Facts({ report }) {
  const setNameOf = useSetNames();
  const lineage = Object.entries(report.lineage ?? {}).filter(([, value]) => value?.length);
  const rows = [
    ["document.reason", report.reason && html`<span lang="en">${report.reason}</span>`],
    ["documents.chunks", number(report.chunks)],
    ["document.supersededBy", report.superseded_by && html`<a href=${address("documents", { id: report.superseded_by })}>${report.superseded_by}</a>`],
    ["document.duplicateOf", report.duplicate_of && html`<a href=${address("documents", { id: report.duplicate_of })}>${report.duplicate_of}</a>`],
    ["document.family", report.family?.length > 0 && html`<ul class="plain">${report.family.map((member) => html`<li key=${member.document_id}><a href=${address("documents", { id: member.document_id })}>${titleOf(member)}</a> <span class="quiet">${percent(member.similarity)}</span></li>`)}</ul>`],
    ["filter.tag", report.tags?.join(", ")],
    ["view.sets", (report.knowledge_sets ?? []).map(setNameOf).join(", ")],
    ...attributes(report.attributes),
    ...Object.entries(report.metadata ?? {}).map(([name, value]) => [name, value]),
    ["document.tables", report.tables && html`<a href=${report.tables.replace(/^\//, "")} download>${t("document.download")}</a>`],
    ["document.mediaType", report.media_type],
    ["document.version", String(report.version)],
    ["document.id", html`<code>${report.document_id}</code>`],
    ["document.timeline", report.timeline?.map((step) => `${named("stage", step.stage)} ${time(step.at_ms)}`).join(" → ")],
    ["document.lineage", lineage.map(([name, part]) => `${name}: ${part}`).join(" · ")],
  ].filter(([, value]) => value);
  return html`<details class="facts-of"><summary>${t("document.facts")}</summary>
    <dl>${rows.map(([name, value]) => html`<${Fragment} key=${name}><dt>${t(name)}</dt><dd>${value}</dd><//>`)}</dl>
    <${Remove} report=${report} />
  </details>`;
}

function attributes(given = {}) {
  const { custom = {}, ...known } = given;
  return Object.entries({ ...known, ...custom }).map(([name, value]) => {
    if (name.endsWith("_at")) return [named("attribute", name), time(value)];
    return [named("attribute", name), isWebAddress(value) ? html`<a href=${value} target="_blank" rel="noopener noreferrer">${value}</a>` : String(value)];
  });
}

function Remove({ report }) {
  const [problem, setProblem] = useState(null);
  if (report.state === "deleted" || !publishes(report.source)) return null;
  const remove = async () => {
    try {
      await call("DELETE", documentPath(report.document_id));
      go(address("documents"));
    } catch (refused) {
      setProblem(refused);
    }
  };
  return html`<${CarefulButton} label=${t("documents.delete")} onAct=${remove} /><${ProblemNotice} problem=${problem} />`;
}
