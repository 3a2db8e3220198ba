// Who uses the page, as the server says: whether it wants keys, and what the roles of the key that was shown may do. The server decides by
// itself; this only keeps the page from offering what would be refused.
import { useEffect, useState } from "./html.js";
import { get, onKeyWanted } from "./api.js";

/** Roles that can use a view, beside administrators; see docs/rights.md. */
const ROLES = {
  search: ["reader"],
  ask: ["reader"],
  report: ["reader"],
  judge: ["reader"],
  documents: ["reader", "publisher"],
  sets: ["reader", "builder"],
  "dead-letters": ["publisher"],
  terms: ["builder"],
  evaluation: [],
  operations: [],
};

/** A server that could not say counts as one that wants no keys: each view then tells what it was refused. */
let session = { wants_keys: false, roles: [] };
let isOut = false;
const listeners = new Set();

onKeyWanted(() => {
  isOut = true;
  listeners.forEach((listener) => listener(true));
});

/** Asks who uses the page, once, before anything is shown. */
export async function readSession() {
  session = await get("v1/session").catch(() => session);
}

/** Whether the server wants a key and there is none, or none that is accepted any more. */
export const isSignedOut = () => isOut;

export const isSignedIn = () => session.wants_keys && !isOut;

/** Who uses the page, as people call it: the name of a key, else the user behind the provider or the proxy. */
export const userName = () => session.name ?? session.key?.replace(/^(proxy:|[^#]*#)/, "") ?? "";

/** Whether signing out here ends anything: a proxy says anew with each request who calls. */
export const canSignOut = () => isSignedIn() && !session.key?.startsWith("proxy:");

/** `isSignedOut`, for a component that is to be rendered again when it changes. */
export function useSignedOut() {
  const [value, setValue] = useState(isOut);
  useEffect(() => {
    setValue(isOut);
    listeners.add(setValue);
    return () => listeners.delete(setValue);
  }, []);
  return value;
}

const has = (...roles) => !session.wants_keys || session.roles.some(({ role }) => role === "administrator" || roles.includes(role));

/** Whether they may build the index as a whole, which is what the lexicon is for. */
const buildsAll = () => administers() || session.roles.some(({ role, knowledge_sets: own }) => role === "builder" && !own);

export const mayView = (view) => (view === "terms" ? buildsAll() : has(...ROLES[view]));
export const reads = () => has("reader");
export const builds = () => has("builder");
export const administers = () => has();
export const seesSets = () => has("reader", "builder");

/** The sources under which may be published; `null` stands for any. */
export function ownSources() {
  if (administers()) return null;
  return [...new Set(session.roles.flatMap(({ sources }) => sources ?? []))];
}

export const publishes = (source) => ownSources()?.includes(source) ?? true;
