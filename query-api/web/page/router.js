// What is shown stands in the address: `#/documents?state=dead` is the view `documents` with its parameters, `#/documents/ID` one of its
// things. A link can be kept, sent and gone back to.
import { useEffect, useLayoutEffect, useState } from "./html.js";

/** `{view, id, parameters}` of an address. */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [view, ...rest] = path.split("/");
  return { view, id: rest.length ? decoded(rest.join("/")) : null, parameters: new URLSearchParams(query) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a view. Parameters without a value are left out; a list stands for several of one name. */
export function address(view, { id, parameters = {} } = {}) {
  const query = parameters instanceof URLSearchParams ? parameters : new URLSearchParams(pairs(parameters));
  const text = query.toString();
  return `#/${view}${id ? `/${encodeURIComponent(id)}` : ""}${text ? `?${text}` : ""}`;
}

function pairs(parameters) {
  return Object.entries(parameters)
    .flatMap(([name, value]) => [].concat(value).map((one) => [name, one]))
    .filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false)
    .map(([name, value]) => [name, value === true ? "1" : String(value)]);
}

/** Goes to an address; `replace` leaves no step to go back to. */
export function go(target, { replace = false } = {}) {
  if (target === location.hash) return;
  if (!replace) {
    location.hash = target;
    return;
  }
  history.replaceState(null, "", target);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

const SCROLL_PAUSE_MS = 150;
/** How long a view that is gone back to may take until it has its text again. */
const RETURN_MS = 5000;
/** The place to which one goes back, until its view is shown there again. */
let returning = null;
let noting = null;
let givingUp = null;

// Each step of the history remembers how far it was scrolled. The browser does too, and goes there before there is anything to scroll.
addEventListener("scroll", () => {
  clearTimeout(noting);
  noting = setTimeout(() => {
    if (returning === null) history.replaceState({ ...history.state, scrolled: scrollY }, "");
  }, SCROLL_PAUSE_MS);
}, { passive: true });
addEventListener("popstate", () => {
  clearTimeout(noting); // it would be noted of the step that is shown now
  returning = history.state?.scrolled ?? null;
  clearTimeout(givingUp);
  givingUp = setTimeout(() => { returning = null; }, RETURN_MS);
});

/** Goes to where this step of the history was scrolled to, once what it shows is there. */
export function useReturn(isShown) {
  useLayoutEffect(() => {
    if (!isShown || returning === null) return;
    scrollTo(0, returning);
    returning = null;
  }, [isShown]);
}

export function useRoute() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return parse(hash);
}
