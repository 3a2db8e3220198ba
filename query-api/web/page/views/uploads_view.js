// The place where files and folders are dropped, and what became of them.
import { html, useCallback, useEffect, useRef, useState } from "../html.js";
import { address } from "../router.js";
import { bytes, percent, t } from "../words.js";
import { useNews } from "../live.js";
import { ownSources, reads, seesSets } from "../session.js";
import { isFinal, State } from "../parts/state.js";
import { Meter } from "../parts/meter.js";
import { setName, useSets } from "./sets_names.js";
import { cancel, cancelAll, chosenFiles, clear, droppedFiles, enqueue, follow, uploads } from "./uploads.js";

/** Uploads that are shown; of more, those that need a look come first. */
const SHOWN = 50;

function useUploads() {
  const [, setTurn] = useState(0);
  useEffect(() => {
    const listener = () => setTurn((turn) => turn + 1);
    uploads.listeners.add(listener);
    return () => uploads.listeners.delete(listener);
  }, []);
  useNews(useCallback(() => { if (uploads.items.length) follow(isFinal).catch(() => {}); }, []));
  return uploads.items;
}

/** `source` is what is published under at first by who may not name any. */
export function Uploads({ source }) {
  const items = useUploads();
  return html`<${Drop} key=${source} first=${source} />${items.length > 0 && html`<${Summary} items=${items} /><ul class="uploads">${shown(items).map((item) => html`<${Item} key=${item.path + (item.version ?? "")} item=${item} />`)}</ul>`}`;
}

/** Refused and dead first, then what moves, then the newest. */
function shown(items) {
  const rank = (item) => (item.state === "refused" || item.state === "dead" ? 0 : isFinal(item.state) ? 3 : item.state === "queued" ? 2 : 1);
  return items.map((item, at) => ({ item, at })).sort((one, other) => rank(one.item) - rank(other.item) || other.at - one.at).slice(0, SHOWN).map(({ item }) => item);
}

function Drop({ first }) {
  const own = ownSources();
  const [source, setSource] = useState(own?.includes(first) ? first : own?.[0] ?? "upload");
  const [set, setSet] = useState("");
  const [over, setOver] = useState(false);
  const sets = useSets() ?? [];
  const take = (files) => enqueue(files, { source: source.trim() || "upload", set });
  const choose = (event) => {
    take(chosenFiles(event.target.files));
    event.target.value = "";
  };
  const drop = async (event) => {
    event.preventDefault();
    setOver(false);
    take(await droppedFiles(event.dataTransfer));
  };
  return html`<form class=${over ? "drop over" : "drop"} onSubmit=${(event) => event.preventDefault()} onDragOver=${(event) => { event.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)} onDrop=${drop}>
    <p><span class="with-mouse"><strong>${t("upload.drop")}</strong> ${t("upload.or")} </span><${Chooser} label="upload.files" onChoose=${choose} /> <${Chooser} label="upload.folder" folder onChoose=${choose} /></p>
    <label class="inline">${t("documents.source")} ${own
      ? html`<select value=${source} onChange=${(event) => setSource(event.target.value)}>${own.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select>`
      : html`<input value=${source} required onInput=${(event) => setSource(event.target.value)} />`}</label>
    ${seesSets() && html`<label class="inline">${t("upload.set")} <select value=${set} onChange=${(event) => setSet(event.target.value)}>
      <option value="">${t("upload.byRules")}</option>${sets.map((one) => html`<option key=${one.id} value=${one.id}>${setName(one)}</option>`)}
    </select></label>`}
  </form>`;
}

function Chooser({ label, folder = false, onChoose }) {
  const field = useRef(null);
  useEffect(() => { field.current.webkitdirectory = folder; }, [folder]);
  return html`<button type="button" onClick=${() => field.current.click()}>${t(label)}</button>
    <input class="hidden" type="file" multiple tabindex="-1" aria-hidden="true" ref=${field} data-kind=${folder ? "folder" : "files"} onChange=${onChoose} />`;
}

function Summary({ items }) {
  const count = (holds) => items.filter((item) => holds(item.state)).length;
  const done = count(isFinal);
  const open = count((state) => state === "queued" || state === "uploading");
  const failed = count((state) => state === "refused" || state === "dead");
  return html`<div class="bar"><span role="status">${t("upload.summary", { done, count: items.length })}${failed > 0 && html` · <b class="bad">${t("upload.failed", { count: failed })}</b>`}</span>
    <span class="progress"><${Meter} share=${done / items.length} /></span>
    ${open > 0 && html`<button type="button" onClick=${cancelAll}>${t("upload.cancelAll")}</button>`}
    ${done > 0 && html`<button type="button" class="link" onClick=${() => clear(isFinal)}>${t("upload.clear")}</button>`}
  </div>`;
}

function Item({ item }) {
  const isOpen = item.state === "queued" || item.state === "uploading";
  const outcome = item.state === "indexed" && (item.chunks === 0 ? t("upload.noChunks") : item.chunks !== null && t("chunks", { count: item.chunks }));
  return html`<li>
    <span class="name">${item.documentId && reads() ? html`<a href=${address("documents", { id: item.documentId })}>${item.path}</a>` : item.path}</span>
    ${item.state === "uploading" ? html`<span class="progress">${percent(item.sent)} ${item.file && html`<span class="quiet">${bytes(item.file.size)}</span>`}<${Meter} share=${item.sent} /></span>` : html`<${State} state=${item.state} />`}
    ${isOpen && html`<button type="button" class="link" aria-label=${t("upload.cancelOne", { path: item.path })} onClick=${() => cancel(item)}>${t("upload.cancel")}</button>`}
    ${(item.note || outcome) && html`<small class="note">${item.note ? html`<span lang="en">${item.note}</span>` : outcome}${item.hint && html` <span lang="en">${item.hint}</span>`}</small>`}
  </li>`;
}
