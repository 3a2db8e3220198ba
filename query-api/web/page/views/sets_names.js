// Names of knowledge sets in the language of the page, read once for all who show them.
import { useEffect, useState } from "../html.js";
import { get } from "../api.js";
import { currentLanguage } from "../words.js";
import { seesSets } from "../session.js";

let sets = null;
let asked = null;
const listeners = new Set();

/** Reads them again, as after a change. */
export function readSets() {
  asked = get("v1/knowledge-sets").then((answer) => {
    sets = answer.knowledge_sets;
    listeners.forEach((listener) => listener(sets));
    return sets;
  });
  asked.catch(() => { asked = null; });
  return asked;
}

export function useSets() {
  const [value, setValue] = useState(sets);
  useEffect(() => {
    listeners.add(setValue);
    if (asked) setValue(sets);
    else if (seesSets()) readSets().catch(() => {});
    return () => listeners.delete(setValue);
  }, []);
  return value;
}

export const setName = (set) => (currentLanguage() === "zh" && set.name_zh) || set.name || set.id;

/** From an id to a name. */
export function useSetNames() {
  const known = useSets();
  return (id) => {
    const set = known?.find((one) => one.id === id);
    return set ? setName(set) : id;
  };
}
