// Judging: a form for one question, and a file of questions that are judged one after the other.
import { html, useEffect, useRef, useState } from "../html.js";
import { call } from "../api.js";
import { address } from "../router.js";
import { lesser, number, percent, t } from "../words.js";
import { Meter } from "../parts/meter.js";
import { Busy, ProblemNotice } from "../parts/notice.js";
import { setName, useSets } from "./sets_names.js";
import { saveAs } from "./saving.js";

const KINDS = ["single", "multiple", "text"];
/** Questions of a file that are judged at the same time. */
const AT_ONCE = 2;
const FORM = "tributary.judge";
const EMPTY = { kind: "single", question: "", options: "", student: "", correct: "", set: "" };

/** The body of a question as the form has it. */
function bodyOf({ kind, question, options, student, correct, set }) {
  const body = { kind, question, student_answer: student };
  if (kind !== "text") body.options = options.split("\n").map((line) => line.trim()).filter(Boolean);
  if (correct.trim()) body.correct_answer = correct;
  if (set) body.knowledge_sets = [set];
  return body;
}

/** What is typed stays in this tab. */
function useForm() {
  const [form, setForm] = useState(() => ({ ...EMPTY, ...JSON.parse(sessionStorage.getItem(FORM) ?? "{}") }));
  const change = (changes) => {
    const changed = { ...form, ...changes };
    sessionStorage.setItem(FORM, JSON.stringify(changed));
    setForm(changed);
  };
  return [form, change];
}

/** What was judged last: it is there again after a source of it was opened. */
let last = {};

function useShown() {
  const [shown, setShown] = useState(last);
  const show = (next) => {
    last = next.busy ? {} : next;
    setShown(next);
  };
  return [shown, show];
}

export function Judge() {
  const [form, change] = useForm();
  const [shown, setShown] = useShown();
  const ask = async (path, name) => {
    setShown({ busy: true });
    try {
      setShown({ [name]: await call("POST", path, bodyOf(form)) });
    } catch (problem) {
      setShown({ problem });
    }
  };
  return html`<form class="judge" onSubmit=${(event) => { event.preventDefault(); ask("v1/questions/judge", "judgement"); }}>
    <${Fields} form=${form} onChange=${change} />
    <p class="actions"><button class="primary" disabled=${shown.busy}>${t("judge.judge")}</button>
      <button type="button" disabled=${shown.busy || !form.question.trim()} onClick=${() => ask("v1/questions/explain", "explanation")}>${t("judge.explain")}</button></p>
  </form>
  <div role="status">${shown.busy && html`<${Busy} />`}<span class="hidden">${spoken(shown)}</span></div>
  <${ProblemNotice} problem=${shown.problem} />
  ${shown.judgement && html`<${Judgement} judgement=${shown.judgement} />`}
  ${shown.explanation && html`<${Explanation} explanation=${shown.explanation} />`}
  <${Batch} set=${form.set} />`;
}

/** What is read aloud when it is there. */
function spoken({ judgement, explanation }) {
  if (judgement) return `${verdictOf(judgement)}, ${t("judge.confidence", { share: percent(judgement.confidence) })}`;
  return explanation && t("judge.explanation");
}

function Fields({ form, onChange }) {
  const sets = useSets() ?? [];
  const field = (name) => (event) => onChange({ [name]: event.target.value });
  return html`<div class="fields">
    <label><span>${t("judge.kind")}</span><select value=${form.kind} onChange=${field("kind")}>${KINDS.map((kind) => html`<option key=${kind} value=${kind}>${t(`judge.kind.${kind}`)}</option>`)}</select></label>
    <label><span>${t("judge.set")}</span><select value=${form.set} onChange=${field("set")}><option value="">${t("judge.allSets")}</option>${sets.map((one) => html`<option key=${one.id} value=${one.id}>${setName(one)}</option>`)}</select></label>
    <label class="wide"><span>${t("judge.question")}</span><textarea id="question" rows="2" required value=${form.question} onInput=${field("question")} /></label>
    ${form.kind !== "text" && html`<label class="wide"><span>${t("judge.options")}</span><textarea rows="4" required value=${form.options} onInput=${field("options")} /></label>`}
    <label class="wide"><span>${t("judge.student")}</span><textarea rows="2" value=${form.student} onInput=${field("student")} /></label>
    <label class="wide"><span>${t("judge.correct")}</span><textarea rows="2" value=${form.correct} onInput=${field("correct")} /></label>
  </div>`;
}

function Judgement({ judgement }) {
  const quality = judgement.answer_quality && t(`judge.quality.${judgement.answer_quality}`);
  const { language, sources } = judgement;
  const cited = (text) => html`<${Cited} text=${text} sources=${sources} />`;
  return html`<section class="card judged" aria-labelledby="verdict">
    <h2 id="verdict" class=${judgement.is_correct ? "good" : "bad"}>${verdictOf(judgement)}${quality && ` · ${quality}`}</h2>
    <p class="facts"><span>${t("judge.confidence", { share: percent(judgement.confidence) })}</span><span>${t(`judge.by.${judgement.judged_by}`)}</span>${judgement.knowledge_point && html`<span class="tag" lang=${language}>${judgement.knowledge_point}</span>`}</p>
    ${judgement.correct_answer && html`<p><strong>${t("judge.rightAnswer")}</strong> <span lang=${language}>${cited(judgement.correct_answer)}</span></p>`}
    ${judgement.agrees_with_given === false && html`<p class="notice">${t("judge.doubted", { own: judgement.own_answer })}</p>`}
    ${judgement.option_analysis.length > 0 && html`<ul class="options plain" lang=${language}>${judgement.option_analysis.map((one) => html`<${Option} key=${one.label} option=${one} cited=${cited} />`)}</ul>`}
    ${judgement.reasoning && html`<p lang=${language}>${cited(judgement.reasoning)}</p>`}
    ${judgement.analysis && html`<p lang=${language}>${cited(judgement.analysis)}</p>`}
    ${judgement.improvement_suggestions && html`<p><strong>${t("judge.better")}</strong> <span lang=${language}>${cited(judgement.improvement_suggestions)}</span></p>`}
    <${Below} of=${judgement} />
  </section>`;
}

const verdictOf = ({ is_correct: isCorrect, judged_by: by }) => t(by === "nobody" ? "judge.unknown" : isCorrect ? "judge.right" : "judge.wrong");

function Option({ option: { label, text, is_correct: isCorrect, analysis }, cited }) {
  const name = t(isCorrect ? "judge.optionRight" : "judge.optionWrong");
  return html`<li><span class=${isCorrect ? "good" : "quiet"} role="img" aria-label=${name} title=${name}>${isCorrect ? "✓" : "✗"}</span>
    <span><strong>${label}</strong> ${text}${analysis && html`<small class="quiet">${cited(analysis)}</small>`}</span></li>`;
}

function Explanation({ explanation }) {
  return html`<section class="card judged">
    <h2>${t("judge.explanation")}</h2>
    <p class="facts"><span>${t("judge.characters", { count: explanation.characters })}</span>${explanation.knowledge_point && html`<span class="tag" lang=${explanation.language}>${explanation.knowledge_point}</span>`}</p>
    <p lang=${explanation.language}><${Cited} text=${explanation.explanation} sources=${explanation.sources} /></p>
    <${Below} of=${explanation} />
  </section>`;
}

const titleOf = (source) => [source.title, ...source.section_path].filter(Boolean).join(" › ");
const placeOf = (source) => address("documents", { id: source.document_id, parameters: { chunk: source.chunk_id } });

/** A text whose citations, `[1]`, lead to the passages. */
function Cited({ text, sources }) {
  return text.split(/(\[\d+\])/).map((part) => {
    const source = sources.find(({ number: of }) => part === `[${of}]`);
    return source ? html`<a class="citation" href=${placeOf(source)} title=${titleOf(source)}>${part}</a>` : part;
  });
}

/** What it was made from, and what was lacking. */
function Below({ of }) {
  const cited = of.sources.filter((source) => source.cited);
  return html`${of.degraded.length > 0 && html`<p class="notice">${t("search.degraded", { what: of.degraded.map(lesser).join(", ") })}</p>`}
    ${cited.length > 0 && html`<h3>${t("judge.sources")}</h3><ol class="cited">${cited.map((source) => html`<li key=${source.number} value=${source.number}><a href=${placeOf(source)}>${titleOf(source)}</a></li>`)}</ol>`}`;
}

/** Reads a line of a file; its knowledge set is the chosen one where it names none. */
function questionOf(text, set) {
  const question = parsed(text);
  if (!question || typeof question !== "object" || Array.isArray(question)) throw new Error(t("judge.noQuestion"));
  return set && !question.knowledge_sets && !question.filter ? { ...question, knowledge_sets: [set] } : question;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Lines of a file that say something, with their numbers. */
const linesOf = (text) => text.replace(/^\uFEFF/, "").split("\n").map((line, at) => ({ line: at + 1, text: line.trim() })).filter((line) => line.text);

/** Judges lines, some at the same time; `onResult` gets each that is over. */
async function judgeAll(lines, set, signal, onResult) {
  const queue = [...lines];
  const work = async () => {
    for (let next = queue.shift(); next && !signal.aborted; next = queue.shift()) {
      const result = await judged(next, set, signal);
      if (result) onResult(result);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

function Batch({ set }) {
  const [state, setState] = useState(null);
  const control = useRef(null);
  const input = useRef(null);
  useEffect(() => () => control.current?.abort(), []);
  const judge = async (file) => {
    const lines = linesOf(await file.text());
    const results = [];
    const show = (running) => setState({ name: file.name, count: lines.length, results: [...results], running });
    control.current = new AbortController();
    show(true);
    await judgeAll(lines, set, control.current.signal, (result) => {
      results.push(result);
      show(true);
    });
    show(false);
  };
  const chosen = (event) => {
    const [file] = event.target.files;
    event.target.value = "";
    if (file) judge(file);
  };
  return html`<h2>${t("judge.batch")}</h2>
    <p class="quiet">${t("judge.batchHelp")}</p>
    <p class="actions"><input type="file" hidden ref=${input} accept=".jsonl,.json,.txt" aria-label=${t("judge.batch")} onChange=${chosen} />
      <button type="button" disabled=${state?.running} onClick=${() => input.current.click()}>${t("judge.choose")}</button>${state && html`<span class="file">${state.name}</span>`}</p>
    ${state && html`<${Results} state=${state} onStop=${() => control.current.abort()} />`}`;
}

/** The result of a line; null where it was stopped before there was one. */
async function judged({ line, text }, set, signal) {
  try {
    return { line, judgement: await call("POST", "v1/questions/judge", questionOf(text, set), { signal }) };
  } catch (error) {
    return error.name === "AbortError" ? null : { line, error: error.message };
  }
}

function Results({ state, onStop }) {
  const results = [...state.results].sort((one, other) => one.line - other.line);
  const right = results.filter(({ judgement }) => judgement?.is_correct).length;
  const failed = results.filter(({ error }) => error).length;
  const save = () => saveAs("judged.jsonl", results.map((result) => `${JSON.stringify(result)}\n`).join(""), "application/jsonl");
  return html`<div class="bar"><span role="status">${t("judge.progress", { done: results.length, count: state.count, right })}${failed > 0 && html` · <b class="bad">${t("judge.failed", { count: failed })}</b>`}</span>
      <span class="progress"><${Meter} share=${results.length / Math.max(1, state.count)} /></span>
      ${state.running && html`<button type="button" onClick=${onStop}>${t("judge.stop")}</button>`}
      ${results.length > 0 && html`<button type="button" onClick=${save}>${t("judge.save")}</button>`}</div>
    <div class="scroll" tabindex="0" role="region" aria-label=${t("judge.results")}><table><thead><tr>${["line", "verdict", "confidence", "answer", "point"].map((name) => html`<th key=${name} scope="col">${t(`judge.column.${name}`)}</th>`)}</tr></thead>
      <tbody>${results.map((result) => html`<${Row} key=${result.line} result=${result} />`)}</tbody></table></div>`;
}

function Row({ result: { line, judgement, error } }) {
  if (error) return html`<tr><td>${number(line)}</td><td colspan="4" class="bad" lang="en">${error}</td></tr>`;
  return html`<tr><td>${number(line)}</td><td class=${judgement.is_correct ? "good" : "bad"}>${verdictOf(judgement)}</td><td>${percent(judgement.confidence)} <small>${t(`judge.by.${judgement.judged_by}`)}</small></td><td>${judgement.correct_answer.replace(/\s*\[\d+\]/g, "")}</td><td>${judgement.knowledge_point}</td></tr>`;
}
