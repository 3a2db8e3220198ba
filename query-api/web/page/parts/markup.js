// Markup that the server rendered and made safe: the only place of the page that takes HTML as it comes.
import { html, classes, useLayoutEffect, useRef, useState } from "../html.js";
import { t } from "../words.js";

const FOLDED_PIXELS = 260;

/** Share of what is shown above the place where it fades. */
const SHOWN_SHARE = 0.75;

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

/** The same, cut off where it is long until the reader wants all of it: what is shown has a marked word, if there is any. */
export function FoldedMarkup({ markup }) {
  const place = useRef(null);
  const [isLong, setLong] = useState(false);
  const [open, setOpen] = useState(false);
  const [isInside, setInside] = useState(false);
  const isFolded = isLong && !open;
  useLayoutEffect(() => setLong(place.current.scrollHeight > FOLDED_PIXELS + 40), [markup]);
  useLayoutEffect(() => {
    const [element, mark] = [place.current, place.current.querySelector("mark")];
    const top = mark && isFolded ? mark.getBoundingClientRect().top - element.getBoundingClientRect().top + element.scrollTop : 0;
    element.scrollTop = top > FOLDED_PIXELS * SHOWN_SHARE ? top - FOLDED_PIXELS / 3 : 0;
    setInside(element.scrollTop > 0);
  }, [markup, isFolded]);
  return html`<div ref=${place} class=${classes("foldable", isFolded && "folded", isFolded && isInside && "inside")}><${Markup} markup=${markup} /></div>
    ${isLong && html`<button type="button" class="link" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>${t(open ? "hit.less" : "hit.more")}</button>`}`;
}
