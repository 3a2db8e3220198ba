// Pictures that documents carry, as this server keeps them; those of other places are not loaded.
import { html, useState } from "../html.js";
import { t } from "../words.js";

const KEPT = /^\/v1\/images\/[0-9a-f]{64}$/;

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

/** Documents say where they come from; only web addresses become links. */
export const isWebAddress = (url) => /^https?:\/\//i.test(url ?? "");
