// Markup that the server rendered and made safe: the only place of the page that takes HTML as it comes.
import { html, classes, useLayoutEffect, useRef, useState } from "../html.js";
import { t } from "../words.js";

const FOLDED_PIXELS = 260;

/** What can be scrolled sideways can be reached by keyboard. */
function makeReachable(element) {
  for (const part of element.querySelectorAll("pre, table, math[display=block], p, td, dd")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}

/** What a reader sees of markup, read without showing it. */
export const textOf = (markup) => new DOMParser().parseFromString(markup, "text/html").body.textContent;

/** `onShown(element)` may change the elements, which stay as it leaves them until the markup is another. */
export function Markup({ markup, onShown }) {
  const place = useRef(null);
  useLayoutEffect(() => { onShown?.(place.current); }, [markup]);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => makeReachable(place.current));
    observer.observe(place.current);
    return () => observer.disconnect();
  }, [markup]);
  return html`<div class="text" ref=${place} dangerouslySetInnerHTML=${{ __html: markup }} />`;
}

/** The same, cut off where it is long until the reader wants all of it. */
export function FoldedMarkup({ markup }) {
  const place = useRef(null);
  const [isLong, setLong] = useState(false);
  const [open, setOpen] = useState(false);
  useLayoutEffect(() => setLong(place.current.scrollHeight > FOLDED_PIXELS + 40), [markup]);
  return html`<div ref=${place} class=${classes("foldable", isLong && !open && "folded")}><${Markup} markup=${markup} /></div>
    ${isLong && html`<button type="button" class="link" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>${t(open ? "hit.less" : "hit.more")}</button>`}`;
}
