// What is shown stands in the address: `#/documents?state=dead` is the view `documents` with its parameters, `#/documents/ID` one of its
// things. A link can be kept, sent and gone back to.
import { useEffect, useState } from "./html.js";

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

export function useRoute() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return parse(hash);
}
