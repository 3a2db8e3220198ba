// The words of the page in two languages, each a file below `words/`. `{name}` in a text is replaced; a text may be
// `{"one": …, "other": …}`, chosen by `count`.
import { useEffect, useState } from "./html.js";
import { kept, keep } from "./kept.js";

export const LANGUAGES = { en: { name: "English", locale: "en" }, zh: { name: "中文", locale: "zh-CN" } };

const loaded = {};
const listeners = new Set();
let language = "en";
let plural = new Intl.PluralRules("en");

export function preferredLanguage() {
  const chosen = kept("language");
  if (chosen in LANGUAGES) return chosen;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

/** Shows the page in a language from now on. */
export async function speak(wanted) {
  if (!loaded[wanted]) {
    const answer = await fetch(new URL(`words/${wanted}.json`, import.meta.url));
    loaded[wanted] = await answer.json();
  }
  language = wanted;
  plural = new Intl.PluralRules(LANGUAGES[wanted].locale);
  document.documentElement.lang = LANGUAGES[wanted].locale;
  keep("language", wanted);
  listeners.forEach((listener) => listener(wanted));
}

export const currentLanguage = () => language;
export const locale = () => LANGUAGES[language].locale;

/** Renders the component again when the language changes. */
export function useLanguage() {
  const [value, setValue] = useState(language);
  useEffect(() => {
    listeners.add(setValue);
    return () => listeners.delete(setValue);
  }, []);
  return value;
}

/** The text of a name; the name itself where there is none. */
export function t(name, values = {}) {
  const found = loaded[language]?.[name];
  if (found === undefined) return name;
  const text = typeof found === "string" ? found : found[plural.select(values.count ?? 0)] ?? found.other;
  return text.replace(/\{(\w+)\}/g, (whole, key) => {
    const value = values[key];
    if (value === undefined) return whole;
    return typeof value === "number" ? number(value) : value;
  });
}

/** The text for one of a kind that the server names, such as a stage; its own name where there is none. */
export const named = (kind, name) => (loaded[language]?.[`${kind}.${name}`] === undefined ? name : t(`${kind}.${name}`));

/** What was done in a lesser way; a part of the documents that was not searched has a name of its own. */
export const lesser = (what) => (what.startsWith("side ") ? t("degraded.side", { name: what.slice("side ".length) }) : named("degraded", what));

export const number = (value, options) => new Intl.NumberFormat(locale(), options).format(value);
export const percent = (share) => number(share, { style: "percent", maximumFractionDigits: 0 });
export const milliseconds = (value) => `${number(value, { maximumFractionDigits: 1 })} ${t("unit.ms")}`;
const seconds = (value) => number(value, { style: "unit", unit: "second", unitDisplay: "short", maximumFractionDigits: 1 });
export const duration = (ms) => (ms < 1000 ? milliseconds(ms) : seconds(ms / 1000));
export const shortTime = (ms) => new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "short" }).format(ms);
export const time = (ms) => new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "medium" }).format(ms);

const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];

export function bytes(count) {
  const step = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, count)) / 3));
  return number(count / 1000 ** step, { style: "unit", unit: UNITS[step], unitDisplay: "short", maximumFractionDigits: 1 });
}
