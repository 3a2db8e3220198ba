// A list of any length of which only the rows on the screen exist. Rows have one height; the page itself scrolls.
import { html, useEffect, useRef, useState } from "../html.js";

/** Rows that are made beyond each end of the screen. */
const BEYOND = 8;

/** Which rows are on the screen, `[first, last)`, and the place that the list stands at. */
export function useVisibleRows(count, height) {
  const place = useRef(null);
  const [range, setRange] = useState([0, 40]);
  useEffect(() => {
    const look = () => {
      if (!place.current) return;
      const top = -place.current.getBoundingClientRect().top;
      const first = Math.max(0, Math.floor(top / height) - BEYOND);
      const last = Math.min(count, Math.ceil((top + innerHeight) / height) + BEYOND);
      setRange(([one, other]) => (one === first && other === last ? [one, other] : [first, Math.max(first, last)]));
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [count, height]);
  return { place, first: range[0], last: Math.min(range[1], count) };
}

/** Body of a table: `row(index)` for those on the screen, room for the others. */
export function VirtualBody({ count, height, row, onShown }) {
  const { place, first, last } = useVisibleRows(count, height);
  useEffect(() => onShown(first, last), [first, last, count, onShown]);
  const room = (rows) => rows > 0 && html`<tr class="room" aria-hidden="true"><td style=${{ height: `${rows * height}px` }}></td></tr>`;
  const indices = Array.from({ length: Math.max(0, last - first) }, (_, at) => first + at);
  return html`<tbody ref=${place}>${room(first)}${indices.map(row)}${room(count - last)}</tbody>`;
}
