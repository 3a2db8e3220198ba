// Judging: a form for one question, and a file of questions that are judged one after the other.
import { html, useRef, useState } from "../html.js";
import { call } from "../api.js";
import { address } from "../router.js";
import { number, percent, t } from "../words.js";
import { Meter } from "../parts/meter.js";
import { Busy, ProblemNotice } from "../parts/notice.js";
import { setName, useSets } from "./sets_names.js";
import { saveAs } from "./saving.js";

const KINDS = ["single", "multiple", "text"];
/** Questions of a file that are judged at the same time. */
const AT_ONCE = 2;
const EMPTY = { kind: "single", question: "", options: "", student: "", correct: "", set: "" };

/** The body of a question as the form has it. */
function bodyOf({ kind, question, options, student, correct, set }) {
  const body = { kind, question, student_answer: student };
  if (kind !== "text") body.options = options.split("\n").map((line) => line.trim()).filter(Boolean);
  if (correct.trim()) body.correct_answer = correct;
  if (set) body.knowledge_sets = [set];
  return body;
}

export function Judge() {
  const [form, setForm] = useState(EMPTY);
  const [shown, setShown] = useState({});
  const change = (changes) => setForm({ ...form, ...changes });
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
    <p class="actions"><button type="submit" disabled=${shown.busy}>${t("judge.judge")}</button>
      <button type="button" disabled=${shown.busy || !form.question.trim()} onClick=${() => ask("v1/questions/explain", "explanation")}>${t("judge.explain")}</button></p>
  </form>
  <div role="status">${shown.busy && html`<${Busy} />`}</div>
  <${ProblemNotice} problem=${shown.problem} />
  ${shown.judgement && html`<${Judgement} judgement=${shown.judgement} />`}
  ${shown.explanation && html`<${Explanation} explanation=${shown.explanation} />`}
  <${Batch} set=${form.set} />`;
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
  return html`<section class="card judged" lang=${judgement.language}>
    <h2 class=${judgement.is_correct ? "good" : "bad"}>${t(judgement.is_correct ? "judge.right" : "judge.wrong")}${quality && ` · ${quality}`}</h2>
    <p class="facts"><span>${t("judge.confidence", { share: percent(judgement.confidence) })}</span><span>${t(`judge.by.${judgement.judged_by}`)}</span>${judgement.knowledge_point && html`<span>${judgement.knowledge_point}</span>`}</p>
    ${judgement.correct_answer && html`<p><strong>${t("judge.rightAnswer")}</strong> ${judgement.correct_answer}</p>`}
    ${judgement.agrees_with_given === false && html`<p class="notice">${t("judge.doubted", { own: judgement.own_answer })}</p>`}
    <p>${judgement.reasoning}</p><p>${judgement.analysis}</p>
    ${judgement.option_analysis.length > 0 && html`<ul>${judgement.option_analysis.map((one) => html`<li key=${one.label}>${one.is_correct ? "✓" : "✗"} <strong>${one.label}</strong> ${one.text}${one.analysis && html` <small>${one.analysis}</small>`}</li>`)}</ul>`}
    ${judgement.improvement_suggestions && html`<p><strong>${t("judge.better")}</strong> ${judgement.improvement_suggestions}</p>`}
    <${Below} of=${judgement} />
  </section>`;
}

function Explanation({ explanation }) {
  return html`<section class="card judged" lang=${explanation.language}>
    <h2>${t("judge.explanation")}</h2>
    <p class="facts"><span>${t("judge.characters", { count: explanation.characters })}</span>${explanation.knowledge_point && html`<span>${explanation.knowledge_point}</span>`}</p>
    <p>${explanation.explanation}</p>
    <${Below} of=${explanation} />
  </section>`;
}

/** What it was made from, and what was lacking. */
function Below({ of }) {
  const cited = of.sources.filter((source) => source.cited);
  return html`${of.degraded.length > 0 && html`<p class="notice">${t("search.degraded", { what: of.degraded.map((what) => t(`degraded.${what}`)).join(", ") })}</p>`}
    ${cited.length > 0 && html`<ol class="cited">${cited.map((source) => html`<li key=${source.number} value=${source.number}><a href=${address("documents", { id: source.document_id, parameters: { chunk: source.chunk_id } })}>${[source.title, ...source.section_path].filter(Boolean).join(" › ")}</a></li>`)}</ol>`}`;
}

/** Reads a line of a file; its knowledge set is the chosen one where it names none. */
function questionOf(text, set) {
  const question = JSON.parse(text);
  return set && !question.knowledge_sets && !question.filter ? { ...question, knowledge_sets: [set] } : question;
}

function Batch({ set }) {
  const [state, setState] = useState(null);
  const stopped = useRef(false);
  const judge = async (file) => {
    const text = await file.text();
    const lines = text.replace(/^\uFEFF/, "").split("\n").map((line, at) => ({ line: at + 1, text: line.trim() })).filter((line) => line.text);
    const results = [];
    stopped.current = false;
    const show = () => setState({ name: file.name, count: lines.length, results: [...results], running: results.length < lines.length && !stopped.current });
    show();
    const queue = [...lines];
    const work = async () => {
      for (let next = queue.shift(); next && !stopped.current; next = queue.shift()) {
        results.push(await judged(next, set));
        show();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    show();
  };
  return html`<h2>${t("judge.batch")}</h2>
    <p>${t("judge.batchHelp")} <input type="file" accept=".jsonl,.json,.txt" aria-label=${t("judge.batch")} disabled=${state?.running} onChange=${(event) => { const [file] = event.target.files; event.target.value = ""; if (file) judge(file); }} /></p>
    ${state && html`<${Results} state=${state} onStop=${() => { stopped.current = true; }} />`}`;
}

async function judged({ line, text }, set) {
  try {
    return { line, judgement: await call("POST", "v1/questions/judge", questionOf(text, set)) };
  } catch (error) {
    return { line, error: error.message };
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
    <div class="scroll"><table><thead><tr>${["line", "verdict", "confidence", "answer", "point"].map((name) => html`<th key=${name}>${t(`judge.column.${name}`)}</th>`)}</tr></thead>
      <tbody>${results.map((result) => html`<${Row} key=${result.line} result=${result} />`)}</tbody></table></div>`;
}

function Row({ result: { line, judgement, error } }) {
  if (error) return html`<tr><td>${number(line)}</td><td colspan="4" class="bad" lang="en">${error}</td></tr>`;
  return html`<tr><td>${number(line)}</td><td class=${judgement.is_correct ? "good" : "bad"}>${t(judgement.is_correct ? "judge.right" : "judge.wrong")}</td><td>${percent(judgement.confidence)} <small>${t(`judge.by.${judgement.judged_by}`)}</small></td><td>${judgement.correct_answer}</td><td>${judgement.knowledge_point}</td></tr>`;
}
