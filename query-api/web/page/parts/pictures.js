// Pictures that documents carry, as this server keeps them; those of other places are not loaded.
import { html, useState } from "../html.js";
import { t } from "../words.js";
import { KEPT } from "./places.js";

function Picture({ link, label }) {
  const [gone, setGone] = useState(false);
  if (gone) return null;
  return html`<a href=${link.slice(1)} target="_blank" rel="noopener noreferrer"><img src=${link.slice(1)} alt=${label} loading="lazy" onError=${() => setGone(true)} /></a>`;
}

export function Pictures({ links = [] }) {
  const kept = links.filter((link) => KEPT.test(link));
  if (kept.length === 0) return null;
  return html`<div class="pictures">${kept.map((link, at) => html`<${Picture} key=${link} link=${link} label=${t("picture", { number: String(at + 1) })} />`)}</div>`;
}

/** Pages of a PDF, drawn by the server when the reader wants to see them; those of the passage that was found at once. */
export function PagePictures({ at, pages = [], open }) {
  const [shown, setShown] = useState(open);
  if (pages.length === 0) return null;
  return html`<details class="page-pictures" open=${open} onToggle=${(event) => event.currentTarget.open && setShown(true)}>
    <summary>${t("document.pages", { count: pages.length, pages: ranges(pages) })}</summary>
    ${shown && pages.map((page) => html`<${PagePicture} key=${page} link=${`${at.slice(1)}${page}`} page=${page} />`)}
  </details>`;
}

function PagePicture({ link, page }) {
  const [gone, setGone] = useState(false);
  if (gone) return html`<p class="notice">${t("document.pageMissing", { page: String(page) })}</p>`;
  return html`<a href=${link} target="_blank" rel="noopener noreferrer"><img src=${link} alt=${t("document.page", { page: String(page) })} loading="lazy" onError=${() => setGone(true)} /></a>`;
}

/** 1, 2, 3, 7 as 1–3, 7. */
export function ranges(numbers) {
  const parts = [];
  for (const value of [...numbers].sort((one, other) => one - other)) {
    const last = parts.at(-1);
    if (last && value <= last[1] + 1) last[1] = value;
    else parts.push([value, value]);
  }
  return parts.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(", ");
}

/** Documents say where they come from; only web addresses become links. */
export const isWebAddress = (url) => /^https?:\/\//i.test(url ?? "");
