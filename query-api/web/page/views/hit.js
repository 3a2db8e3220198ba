// One hit: what it is, its text, who stands behind it, and on request what stands around it and how it came to its place.
import { html, useState } from "../html.js";
import { markdownOf, rendered } from "../api.js";
import { address } from "../router.js";
import { percent, t } from "../words.js";
import { FoldedMarkup, Markup } from "../parts/markup.js";
import { Meter } from "../parts/meter.js";
import { isWebAddress, Pictures, ranges } from "../parts/pictures.js";
import { placesOf, withoutPlace } from "../parts/places.js";
import { ProblemNotice } from "../parts/notice.js";
import { HitScores } from "./explain.js";

export const titleOf = (document) => document.title || document.source_path || document.document_id;

export function Hit({ hit, answer, onUnfold, all }) {
  const reading = address("documents", { id: hit.document_id, parameters: { chunk: hit.chunk_id, q: answer.query } });
  return html`<li class="hit">
    <div class="head">
      <span class="rank" aria-hidden="true">${hit.rank}</span>
      <h2><a href=${reading}>${titleOf(hit)}</a></h2>
      ${typeof hit.relevance === "number" && html`<span class="relevance" title=${t("hit.relevanceHint")}>${t("hit.relevance", { share: percent(hit.relevance) })}<${Meter} share=${hit.relevance} /></span>`}
    </div>
    <p class="where"><span class="file">${hit.source} / ${hit.source_path}${linesOf(hit)}</span>${hit.section_path.map((title) => html`<span>${title}</span>`)}</p>
    ${hit.kind === "summary" && html`<p class="quiet">${t("hit.summary")}</p>`}
    <${Definition} code=${hit.code} />
    <${FoldedMarkup} markup=${hit.markup} />
    <${Pictures} links=${withoutPlace(hit.images, placesOf([hit.text], hit.images))} />
    <${Facts} hit=${hit} reading=${reading} />
    <${Family} family=${hit.family} onUnfold=${onUnfold} />
    ${hit.more_in_document > 0 && html`<p class="more"><a href=${all} onClick=${() => scrollTo(0, 0)}>${t("hit.moreInDocument", { count: hit.more_in_document })}</a></p>`}
    <${Context} hit=${hit} question=${answer.query} />
    ${answer.traces && html`<${HitScores} hit=${hit} answer=${answer} />`}
  </li>`;
}

/** The lines of a definition, as editors read them after a path. */
const linesOf = ({ code }) => (code ? `:${code.start_line}-${code.end_line}` : "");

/** What a piece of source code is and does. */
function Definition({ code }) {
  if (!code) return null;
  return html`${code.signature && html`<p class="signature"><code>${code.signature}</code></p>`}
    ${code.description && code.described_by !== "names" && html`<p>${code.description}</p>`}`;
}

function Facts({ hit, reading }) {
  return html`<p class="facts">
    ${hit.tags.map((tag) => html`<span class="tag">${tag}</span>`)}
    ${hit.pages.length > 0 && html`<a href=${reading}>${t("hit.pages", { count: hit.pages.length, pages: ranges(hit.pages) })}</a>`}
    ${isWebAddress(hit.url) && html`<a href=${hit.url} target="_blank" rel="noopener noreferrer">${t("hit.original")}</a>`}
  </p>`;
}

/** The documents that step aside for this one. */
function Family({ family = [], onUnfold }) {
  if (family.length === 0) return null;
  return html`<details class="family">
    <summary>${t("hit.family", { count: family.length })}</summary>
    <ul>${family.map((member) => html`<li key=${member.document_id}>
      <a href=${address("documents", { id: member.document_id })}>${titleOf(member)}</a>
      <span class="quiet">${member.source} / ${member.source_path} · ${t("hit.similar", { share: percent(member.similarity) })}</span>
    </li>`)}</ul>
    <button type="button" class="link" onClick=${onUnfold}>${t("hit.unfold")}</button>
  </details>`;
}

/** The section above the hit and the passages around it, rendered when they are asked for. */
function Context({ hit, question }) {
  const around = (hit.neighbours ?? []).filter((passage) => passage.chunk_id !== hit.parent?.chunk_id);
  const passages = hit.parent ? [hit.parent, ...around] : around;
  const [markup, setMarkup] = useState(null);
  const [open, setOpen] = useState(false);
  const [problem, setProblem] = useState(null);
  if (passages.length === 0) return null;
  const toggle = async () => {
    setOpen(!open);
    if (markup) return;
    try {
      setMarkup(await rendered(passages.map(markdownOf), question));
    } catch (refused) {
      setProblem(refused);
    }
  };
  const section = (passage, at) => html`<section key=${passage.chunk_id}>
    <h3>${at === 0 && hit.parent ? t("hit.above") : t("hit.around")}${passage.section_path.length > 0 && html`<small> ${passage.section_path.join(" › ")}</small>`}</h3>
    <${Markup} markup=${markup[at]} />
  </section>`;
  return html`<button type="button" class="link" aria-expanded=${String(open)} onClick=${toggle}>${t(open ? "hit.hideContext" : "hit.context")}</button>
    <${ProblemNotice} problem=${problem} />
    ${open && markup && html`<div class="context">${passages.map(section)}</div>`}`;
}
