// Reports: a question and how much is wanted, the outline with each section as it ends, the text, and files.
import { html, useEffect, useRef, useState } from "../html.js";
import { call, readEvents, Problem } from "../api.js";
import { address, go } from "../router.js";
import { lesser, t } from "../words.js";
import { Busy, ProblemNotice } from "../parts/notice.js";
import { AnswerText, dress } from "./ask_markup.js";
import { saveAs } from "./saving.js";
import { useChoices } from "./search.js";
import { setName, useSets } from "./sets_names.js";

const DEPTHS = ["general", "deep", "deeper"];
const FORMATS = { markdown: "report.md", html: "report.html", docx: "report.docx" };

/** What the events of a report add up to. */
function after(state, { event, data }) {
  if (event === "thinking") return { ...state, step: data.step };
  if (event === "outline") return { ...state, outline: data };
  if (event === "section") return { ...state, sections: { ...state.sections, [data.number]: data } };
  if (event === "done") return { ...state, answer: data, running: false };
  if (event === "error") return { ...state, running: false, problem: new Problem(data.detail, { hint: data.hint, code: data.code, isTranslated: false }) };
  return state;
}

/** What a report is kept under while it is written. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Whether a report ended before its end: the same request with the same id goes on with it. */
const isBrokenOff = (state) => state?.body.report_id && !state.running && !state.answer;

/** The answer with its markup, and with the statements marked that its sources do not support. */
async function dressed(answer) {
  const turn = { answer };
  await dress([turn]);
  return turn;
}

const EMPTY = { question: "", depth: "general", set: "", live: false };

/** What the form says of a report that was asked for. */
const formOf = ({ question, depth, knowledge_sets: sets, live }) => ({ question, depth: depth ?? EMPTY.depth, set: sets?.[0] ?? "", live: live === true });

/** A report that is kept, as its events would have told it. */
function stateOf({ request, plan, sections }) {
  const written = Object.fromEntries(sections.map(({ section }) => [section.number, section]));
  return { running: false, body: request, outline: plan?.outline, sections: written };
}

/** What is written of a report that broke off. */
function draftOf({ plan, sections }) {
  const written = sections.map(({ section }) => section);
  const cited = new Set(written.flatMap((section) => section.cited));
  const text = written.map((section) => `## ${section.title}\n\n${section.text}`).join("\n\n");
  const sources = plan.sources.map((source) => ({ ...source, cited: cited.has(source.number) }));
  return { answer: text, degraded: plan.degraded, language: plan.understanding.language, sources, support: [] };
}

const isWhole = ({ plan, sections }) => plan && sections.length === plan.outline.sections.length && sections.every(({ section }) => !section.failure);

/** The report of the address is shown again: one that is written is put together from what is kept, at no cost. */
export function Report({ id }) {
  const [form, setForm] = useState(EMPTY);
  const [state, setState] = useState(null);
  const control = useRef(null);
  const wantedNow = useRef(id);
  wantedNow.current = id;
  useEffect(() => {
    if (!id && state && !state.running) beginAnew();
    if (!id || state?.body.report_id === id) return;
    control.current?.abort();
    open(id);
  }, [id]);
  const beginAnew = () => {
    setForm(EMPTY);
    setState(null);
  };
  const open = async (wanted) => {
    try {
      const kept = await call("GET", `v1/report/${encodeURIComponent(wanted)}`);
      if (wantedNow.current !== wanted) return;
      setForm(formOf(kept.request));
      if (isWhole(kept)) write(kept.request);
      else setState({ ...stateOf(kept), draft: kept.sections.length > 0 ? await dressed(draftOf(kept)) : null, isUnwritten: kept.sections.length === 0 });
    } catch (problem) {
      if (wantedNow.current === wanted) setState({ running: false, sections: {}, problem, body: {} });
    }
  };
  const begin = (event) => {
    event.preventDefault();
    write({ report_id: newId(), question: form.question, depth: form.depth, ...(form.set ? { knowledge_sets: [form.set] } : {}), ...(form.live ? { live: true } : {}) });
  };
  const write = async (body) => {
    let now = { running: true, sections: {}, body };
    const own = new AbortController();
    control.current = own;
    const show = (next) => { now = next; if (control.current === own) setState(next); };
    show(now);
    go(address("report", { id: body.report_id }), { replace: true });
    try {
      await readEvents("POST", "v1/report", { body, signal: own.signal, onEvent: (one) => show(after(now, one)) });
      if (now.answer) show({ ...now, turn: await dressed(now.answer) });
      else if (!now.problem) show({ ...now, running: false, problem: new Problem(t("problem.offline")) });
    } catch (problem) {
      show({ ...now, running: false, problem: problem.name === "AbortError" ? null : problem });
    }
  };
  return html`<form class="report" onSubmit=${begin}>
    <${Fields} form=${form} onChange=${(changes) => setForm({ ...form, ...changes })} />
    <p class="actions"><button type="submit" class="primary" disabled=${state?.running}>${t("report.write")}</button>
      ${state?.running && html`<button type="button" onClick=${() => control.current.abort()}>${t("report.stop")}</button>`}
      ${isBrokenOff(state) && html`<button type="button" onClick=${() => write(state.body)}>${t("report.goOn")}</button>`}</p>
  </form>
  <${ProblemNotice} problem=${state?.problem} />
  ${state?.isUnwritten && html`<p class="notice" role="status">${t("report.unwritten")}</p>`}
  ${state?.running && !state.outline && html`<${Busy} step=${state.step && t(`ask.step.${state.step}`)} />`}
  ${state?.outline && html`<${Outline} state=${state} />`}
  ${state?.answer ? html`<${Written} answer=${state.answer} turn=${state.turn} />` : state?.draft && html`<${Written} answer=${state.draft.answer} turn=${state.draft} />`}`;
}

function Fields({ form, onChange }) {
  const sets = useSets() ?? [];
  const choices = useChoices();
  const field = (name) => (event) => onChange({ [name]: event.target.value });
  return html`<div class="fields">
    <label class="wide"><span>${t("report.question")}</span><textarea id="question" rows="2" required value=${form.question} onInput=${field("question")} /></label>
    <label><span>${t("report.depth")}</span><select value=${form.depth} onChange=${field("depth")}>${DEPTHS.map((depth) => html`<option key=${depth} value=${depth}>${t(`report.depth.${depth}`)}</option>`)}</select></label>
    <label><span>${t("judge.set")}</span><select value=${form.set} onChange=${field("set")}><option value="">${t("judge.allSets")}</option>${sets.map((one) => html`<option key=${one.id} value=${one.id}>${setName(one)}</option>`)}</select></label>
    ${(choices?.searches_web || form.live) && html`<label class="check"><input type="checkbox" checked=${form.live} onChange=${(event) => onChange({ live: event.target.checked })} /> <span>${t("report.live")}</span></label>`}
  </div>`;
}

function Outline({ state: { outline, sections, running } }) {
  const done = Object.keys(sections).length;
  const stateOf = (section) => section ? t(`report.by.${section.written_by}`) : t(running ? "report.waiting" : "report.missing");
  return html`<section class="card"><h2>${outline.title}</h2>
    <p role="status">${t("report.progress", { done, count: outline.sections.length })}</p>
    <ol>${outline.sections.map((planned) => html`<li key=${planned.number}><strong>${planned.title}</strong> <small class=${sections[planned.number]?.written_by === "extract" ? "bad" : "quiet"}>${stateOf(sections[planned.number])}</small>
      <ul class="quiet">${planned.questions.map((question) => html`<li key=${question}>${question}</li>`)}</ul></li>`)}</ol></section>`;
}

function Written({ answer, turn }) {
  const cited = answer.sources.filter((source) => source.cited);
  return html`${answer.degraded.length > 0 && html`<p class="notice">${t("search.degraded", { what: answer.degraded.map(lesser).join(", ") })}</p>`}
    ${answer.report && html`<p class="actions">${Object.keys(FORMATS).map((format) => html`<${SaveButton} key=${format} answer=${answer} format=${format} />`)}</p>`}
    <article lang=${answer.language}><${AnswerText} turn=${turn ?? { answer }} cite=${(number) => citation(cited, number)} /></article>
    ${cited.length > 0 && html`<details><summary>${t("report.open")}</summary><ol class="cited">${cited.map((source) => html`<li key=${source.number} value=${source.number}><${SourceLink} source=${source} /></li>`)}</ol></details>`}`;
}

const placeOf = (source) => (source.live ? source.url : address("documents", { id: source.document_id, parameters: { chunk: source.chunk_id } }));
const titleOf = (source) => [source.title, ...source.section_path].filter(Boolean).join(" › ");
/** A page of the web opens beside this one, and learns nothing of it. */
const WEB = { rel: "noopener noreferrer nofollow", target: "_blank" };

function citation(sources, number) {
  const source = sources.find((one) => one.number === number);
  if (!source) return null;
  return Object.assign(document.createElement("a"), { className: "citation", href: placeOf(source), title: titleOf(source), textContent: `[${number}]`, ...(source.live ? WEB : {}) });
}

/** A passage opens in its document, a page of the web where it is. */
function SourceLink({ source }) {
  if (source.live) return html`<a href=${placeOf(source)} ...${WEB}>${titleOf(source)}</a> <small class="quiet">${t("report.web", { day: source.live.found_at.slice(0, 10) })}</small>`;
  return html`<a href=${placeOf(source)}>${titleOf(source)}</a>`;
}

function SaveButton({ answer, format }) {
  const [problem, setProblem] = useState(null);
  const save = async () => {
    setProblem(null);
    const body = JSON.stringify({ markdown: answer.answer, title: answer.report.title, format });
    try {
      const response = await fetch("v1/report/export", { method: "POST", body, headers: { "content-type": "application/json" } });
      if (!response.ok) throw new Problem(`${response.status} ${response.statusText}`, { isTranslated: false });
      saveAs(FORMATS[format], await response.blob());
    } catch (error) {
      setProblem(error);
    }
  };
  return html`<button type="button" onClick=${save}>${t(`report.save.${format}`)}</button><${ProblemNotice} problem=${problem} />`;
}
