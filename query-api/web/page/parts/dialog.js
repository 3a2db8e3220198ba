// Something over the page; Escape and the button close it, and the focus goes back to where it was.
import { html, useEffect, useRef } from "../html.js";
import { t } from "../words.js";

export function Dialog({ title, onClose, children }) {
  const place = useRef(null);
  useEffect(() => {
    place.current.showModal();
    // Not the button that closes it, which comes first.
    place.current.querySelector("input, textarea, select")?.focus();
  }, []);
  return html`<dialog ref=${place} aria-label=${title} onClose=${onClose}>
    <form method="dialog"><h2>${title}</h2><button class="icon" aria-label=${t("close")} title=${t("close")}>✕</button></form>
    ${children}
  </dialog>`;
}
