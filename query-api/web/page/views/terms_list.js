// Candidates of which somebody said something, and those on which reviewers disagree: who says what, and a verdict that can be changed.
import { html, useState } from "../html.js";
import { call, get } from "../api.js";
import { number, t } from "../words.js";
import { Busy, Empty, ProblemNotice } from "../parts/notice.js";
import { useResource } from "../parts/resource.js";

const PAGE = 50;

export function TermList({ state }) {
  const [count, setCount] = useState(PAGE);
  const [failed, setFailed] = useState(null);
  const load = async (options) => {
    const candidates = [];
    let next = null;
    do {
      const page = await get(`v1/terms?state=${state}&limit=${PAGE}${next ? `&after=${encodeURIComponent(next)}` : ""}`, options);
      candidates.push(...page.candidates);
      next = page.next;
    } while (next && candidates.length < count);
    return { candidates, hasMore: next !== null };
  };
  const { value, problem, busy, reload } = useResource(load, `${state} ${count}`);
  const decide = async (term, verdict) => {
    try {
      await call("POST", "v1/terms/verdicts", { term, verdict });
      setFailed(null);
      await reload();
    } catch (error) {
      setFailed(error);
    }
  };
  return html`<${ProblemNotice} problem=${failed ?? problem} />
    ${!value && !problem && html`<${Busy} />`}
    ${value && (value.candidates.length === 0 ? html`<${Empty}>${t(`terms.empty.${state}`)}<//>` : html`<${Table} state=${state} candidates=${value.candidates} onDecide=${decide} />`)}
    ${value?.hasMore && html`<p><button type="button" disabled=${busy} onClick=${() => setCount(count + PAGE)}>${t("more")}</button></p>`}`;
}

function Table({ state, candidates, onDecide }) {
  const name = t(`terms.state.${state}`);
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${name}><table><thead><tr><th scope="col">${t("terms.column.term")}</th><th scope="col" class="number">${t("terms.column.score")}</th><th scope="col">${t("terms.column.said")}</th><th scope="col">${t("terms.column.counts")}</th><th scope="col">${t("terms.column.yours")}</th></tr></thead>
    <tbody>${candidates.map((one) => html`<tr key=${one.term}><th scope="row">${one.term}</th><td class="number">${number(one.score, { minimumFractionDigits: 2, maximumFractionDigits: 2 })}</td><td><${Voters} of=${one} /></td><td>${counts(one)}</td>
      <td>${["yes", "no"].map((verdict) => html`<button key=${verdict} type="button" aria-pressed=${one.yours === verdict} aria-label=${t(`terms.${verdict}.of`, { term: one.term })} onClick=${() => onDecide(one.term, one.yours === verdict ? "undo" : verdict)}>${t(`terms.${verdict}`)}</button> `)}</td></tr>`)}</tbody></table></div>`;
}

const counts = ({ is_term: isTerm }) => t(isTerm === null ? "terms.counts.open" : isTerm ? "terms.counts.yes" : "terms.counts.no");

/** Who says what; that they disagree is said in words. */
export function Voters({ of: { yes, no } }) {
  if (yes.length + no.length === 0) return null;
  const side = (name, voters) => voters.length > 0 && html`<span>${t(`terms.by.${name}`, { names: voters.join(", ") })}</span>`;
  return html`<p class="facts">${side("yes", yes)}${side("no", no)}${yes.length > 0 && no.length > 0 && html`<span class="state blocked">${t("terms.disagree")}</span>`}</p>`;
}
