// In what and how the questions of a conversation are searched. The browser remembers it for each conversation; a new one begins with what
// was chosen last.
import { html, useState } from "../html.js";
import { kept, keep } from "../kept.js";
import { number, t } from "../words.js";
import { CONDITIONS } from "./search_state.js";
import { Condition, HitsWanted, LeastRelevance, StrategyChoice } from "./search_filters.js";

const LAST = "last";
/** Conversations whose settings are remembered. */
const KEPT = 100;
/** Passages of an answer, where nobody says how many: the server's default. */
const USUAL_PASSAGES = 8;
const SWITCHES = ["norewrite", "norerank", "nl2sql", "explain"];
const SINGLE = ["workflow", "retrieval", "strategy", "top", "relevance"];
const WORKFLOWS = ["", "general", "textbook", "error_map", "code", "course", "table", "report"];

const none = () => Object.fromEntries([...CONDITIONS.map(({ name }) => [name, []]), ...SINGLE.map((name) => [name, ""]), ...SWITCHES.map((name) => [name, false])]);

function all() {
  try {
    return JSON.parse(kept("ask.settings")) ?? {};
  } catch {
    return {};
  }
}

export function settingsOf(id) {
  const known = all();
  return { ...none(), ...(known[id ?? LAST] ?? known[LAST]) };
}

export function keepSettings(id, settings) {
  const { [id ?? LAST]: _, [LAST]: __, ...others } = all();
  const newest = Object.entries(others).slice(-KEPT + 1);
  keep("ask.settings", JSON.stringify({ ...Object.fromEntries(newest), ...(id ? { [id]: settings } : {}), [LAST]: settings }));
}

export function forgetSettings(id) {
  const { [id]: _, ...others } = all();
  keep("ask.settings", JSON.stringify(others));
}

/** The settings of a conversation, and a way to change them. */
export function useSettings(id) {
  const [settings, setSettings] = useState(() => settingsOf(id));
  const change = (changes) => {
    const changed = { ...settings, ...changes };
    keepSettings(id, changed);
    setSettings(changed);
  };
  return [settings, change];
}

/** Fields of `POST /v1/ask`. */
export function wishesOf(settings, choices) {
  const filter = {};
  for (const { name, filter: field } of CONDITIONS) if (settings[name].length) filter[field] = settings[name];
  const wishes = { filter, explain: settings.explain };
  if (settings.workflow) wishes.workflow = settings.workflow;
  if (isOnDemand(settings)) wishes.retrieval = "on_demand";
  if (settings.strategy) wishes.strategy = settings.strategy;
  if (settings.top) wishes.top_k = Number(settings.top);
  if (settings.relevance) wishes.minimum_relevance = Number(settings.relevance);
  if (settings.norewrite) wishes.rewrite = false;
  if (settings.nl2sql) wishes.nl2sql = true;
  if (settings.norerank && choices?.reranker) wishes.rerank = false;
  return wishes;
}

/** Goes with the workflow `general` alone. */
const maySearchItself = (workflow) => ["", "general"].includes(workflow);
const isOnDemand = ({ workflow, retrieval }) => retrieval === "on_demand" && maySearchItself(workflow);

const countOf = (settings) => Object.values(settings).reduce((sum, value) => sum + (Array.isArray(value) ? value.length : value ? 1 : 0), 0);

export function Settings({ settings, choices, onChange }) {
  const count = countOf(settings);
  const toggle = (name, label, isOn) => html`<label class="check"><input type="checkbox" checked=${isOn} onChange=${() => onChange({ [name]: !settings[name] })} /> ${t(label)}</label>`;
  return html`<details class="ask-settings">
    <summary>${t("ask.settings")} ${count > 0 && html`<span class="count">${number(count)}</span>`}</summary>
    <div class="fields">
      ${CONDITIONS.map((condition) => html`<${Condition} key=${condition.name} condition=${condition} chosen=${settings[condition.name]} values=${choices?.[condition.facet] ?? []} onChange=${onChange} />`)}
      <fieldset><legend>${t("manner")}</legend>
        <label><span>${t("ask.workflow")}</span><select value=${settings.workflow} onChange=${(event) => onChange({ workflow: event.target.value })}>
          ${WORKFLOWS.map((one) => html`<option key=${one} value=${one}>${t(`ask.workflow.${one || "usual"}`)}</option>`)}
        </select></label>
        ${maySearchItself(settings.workflow) && html`<label class="check"><input type="checkbox" checked=${isOnDemand(settings)} onChange=${() => onChange({ retrieval: isOnDemand(settings) ? "" : "on_demand" })} /> ${t("ask.onDemand")}</label>`}
        <${StrategyChoice} strategy=${settings.strategy} onChange=${onChange} />
        <${LeastRelevance} least=${settings.relevance} onChange=${onChange} />
        <${HitsWanted} search=${settings} most=${choices?.maximum_top_k} onChange=${onChange} label="ask.passages" usual=${USUAL_PASSAGES} />
        ${toggle("norewrite", "ask.rewrite", !settings.norewrite)}
        ${choices?.reranker && toggle("norerank", "manner.rerank", !settings.norerank)}
        ${["", "general"].includes(settings.workflow) && toggle("nl2sql", "ask.nl2sql", settings.nl2sql)}
        ${toggle("explain", "ask.explain", settings.explain)}
      </fieldset>
      ${count > 0 && html`<button type="button" onClick=${() => onChange(none())}>${t("ask.settingsNone")}</button>`}
    </div>
  </details>`;
}
