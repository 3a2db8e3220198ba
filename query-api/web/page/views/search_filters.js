// What narrows a search: values to choose from with counts, applied at once. What was chosen is shown above the hits too.
import { html, useEffect, useState } from "../html.js";
import { currentLanguage, number, percent, t } from "../words.js";
import { useSetNames } from "./sets_names.js";
import { CONDITIONS, countOf, PLAIN, unfiltered } from "./search_state.js";

/** Values of one condition that are shown before the reader asks for all. */
const FEW = 6;
const WIDE = "(min-width: 64rem)";

export function Filters({ search, choices, onChange }) {
  const [open, setOpen] = useState(matchMedia(WIDE).matches);
  const count = countOf(search);
  return html`<details class="filters" open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>${t("filters")} ${count > 0 && html`<span class="count">${number(count)}</span>`}</summary>
    <div class="fields">
      ${CONDITIONS.map((condition) => html`<${Condition} key=${condition.name} condition=${condition} chosen=${search[condition.name]} values=${choices?.[condition.facet] ?? []} onChange=${onChange} />`)}
      <${Dates} search=${search} onChange=${onChange} />
      <${Level} search=${search} levels=${choices?.security_levels ?? []} onChange=${onChange} />
      <${Manner} search=${search} choices=${choices} onChange=${onChange} />
    </div>
  </details>`;
}

/** Those chosen first, then the most frequent; chosen ones stay although no document has them now. */
function ordered(values, chosen) {
  const counts = new Map(values.map(({ value, documents }) => [value, documents]));
  const rest = values.filter(({ value }) => !chosen.includes(value));
  return [...chosen.map((value) => ({ value, documents: counts.get(value) ?? 0 })), ...rest];
}

export function Condition({ condition: { name }, chosen, values, onChange }) {
  const [wanted, setWanted] = useState("");
  const [all, setAll] = useState(false);
  const nameOf = useSetNames();
  const label = (value) => (name === "set" ? nameOf(value) : name === "language" ? languageName(value) : value);
  const listed = ordered(values, chosen);
  if (listed.length === 0) return null;
  const found = listed.filter(({ value }) => label(value).toLowerCase().includes(wanted.toLowerCase()));
  const shown = all || wanted ? found : found.slice(0, Math.max(FEW, chosen.length));
  const toggle = (value) => onChange({ [name]: chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value] });
  return html`<fieldset>
    <legend>${t(`filter.${name}`)}</legend>
    ${listed.length > FEW && html`<input type="search" aria-label=${t("filter.find", { what: t(`filter.${name}`) })} placeholder=${t("filter.findShort")} value=${wanted} onInput=${(event) => setWanted(event.target.value)} />`}
    <ul class="values">${shown.map(({ value, documents }) => html`<li key=${value}><label>
      <input type="checkbox" checked=${chosen.includes(value)} onChange=${() => toggle(value)} />
      <span class="value">${label(value)}</span> <span class="quiet number">${number(documents)}</span>
    </label></li>`)}</ul>
    ${found.length > shown.length && html`<button type="button" class="link" onClick=${() => setAll(true)}>${t("filter.all", { count: found.length })}</button>`}
  </fieldset>`;
}

/** A language tag in words, where the browser knows it. */
export function languageName(tag) {
  try {
    return new Intl.DisplayNames(currentLanguage(), { type: "language" }).of(tag) ?? tag;
  } catch {
    return tag;
  }
}

function Dates({ search, onChange }) {
  const field = (name) => html`<label><span>${t(`filter.${name}`)}</span><input type="date" value=${search[name]} onChange=${(event) => onChange({ [name]: event.target.value })} /></label>`;
  return html`<fieldset><legend>${t("filter.updated")}</legend><div class="pair">${field("from")}${field("to")}</div></fieldset>`;
}

function Level({ search, levels, onChange }) {
  if (levels.length === 0 && !search.level) return null;
  const values = levels.map(({ value }) => Number(value)).sort((one, other) => one - other);
  return html`<label><span>${t("filter.level")}</span><select value=${search.level} onChange=${(event) => onChange({ level: event.target.value })}>
    <option value="">${t("filter.any")}</option>
    ${values.map((value) => html`<option key=${value} value=${String(value)}>${t("filter.atMost", { level: String(value) })}</option>`)}
  </select></label>`;
}

export function StrategyChoice({ strategy, onChange }) {
  return html`<label><span>${t("manner.strategy")}</span><select value=${strategy || "hybrid"} onChange=${(event) => onChange({ strategy: event.target.value === "hybrid" ? "" : event.target.value })}>
    ${["hybrid", "semantic", "full_text"].map((one) => html`<option key=${one} value=${one}>${t(`strategy.${one}`)}</option>`)}
  </select></label>`;
}

/** How is searched, rather than in what. */
function Manner({ search, choices, onChange }) {
  const toggle = (name, label, isOn = search[name]) => html`<label class="check"><input type="checkbox" checked=${isOn} onChange=${() => onChange({ [name]: !search[name] })} /> ${t(label)}</label>`;
  return html`<fieldset><legend>${t("manner")}</legend>
    <${StrategyChoice} strategy=${search.strategy} onChange=${onChange} />
    <${LeastRelevance} least=${search.relevance} onChange=${onChange} />
    <${HitsWanted} search=${search} most=${choices?.maximum_top_k} onChange=${onChange} />
    ${choices?.reranker && toggle("norerank", "manner.rerank", !search.norerank)}
    ${toggle("unfold", "manner.unfold")}
    ${toggle("every", "manner.every")}
    ${toggle("explain", "manner.explain")}
  </fieldset>`;
}

const SHARES = ["0.25", "0.5", "0.75"];

/** Relevance means the same for every question, unlike the score that orders one answer. */
export function LeastRelevance({ least, onChange }) {
  const shares = least && !SHARES.includes(least) ? [least, ...SHARES] : SHARES;
  return html`<label><span>${t("filter.relevance")}</span><select value=${least} onChange=${(event) => onChange({ relevance: event.target.value })}>
    <option value="">${t("filter.any")}</option>
    ${shares.map((share) => html`<option key=${share} value=${share}>${t("filter.atLeast", { share: percent(Number(share)) })}</option>`)}
  </select></label>`;
}

export function HitsWanted({ search, most, onChange, label = "manner.top", usual = 10 }) {
  const [text, setText] = useState(search.top);
  useEffect(() => setText(search.top), [search.top]);
  const take = (event) => {
    const isValid = event.target.value === "" || event.target.checkValidity();
    if (isValid) onChange({ top: event.target.value });
    else event.target.reportValidity();
  };
  return html`<label><span>${t(label)}</span><input type="number" min="1" max=${most} placeholder=${String(usual)} value=${text} onInput=${(event) => setText(event.target.value)} onChange=${take} /></label>`;
}

/** What narrows the search, each with a way to take it back. */
export function AppliedFilters({ search, onChange }) {
  const nameOf = useSetNames();
  const chips = CONDITIONS.flatMap(({ name }) => search[name].map((value) => ({
    text: `${t(`filter.${name}`)}: ${name === "set" ? nameOf(value) : name === "language" ? languageName(value) : value}`,
    without: { [name]: search[name].filter((one) => one !== value) },
  })));
  for (const name of PLAIN) if (search[name]) chips.push({ text: `${t(`filter.${name}`)} ${search[name]}`, without: { [name]: "", ...(name === "document" ? { top: "" } : {}) } });
  if (search.relevance) chips.push({ text: `${t("filter.relevance")} ${t("filter.atLeast", { share: percent(Number(search.relevance)) })}`, without: { relevance: "" } });
  if (chips.length === 0) return null;
  return html`<div class="chips">
    ${chips.map(({ text, without }) => html`<button type="button" class="chip" key=${text} aria-label=${t("filter.remove", { what: text })} onClick=${() => onChange(without)}>${text} <span aria-hidden="true">✕</span></button>`)}
    <button type="button" class="link" onClick=${() => onChange(unfiltered(search))}>${t("filter.clear")}</button>
  </div>`;
}
