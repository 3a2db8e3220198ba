// Answers as HTML that the server made safe, with their citations as links and what their sources do not support marked.
import { html } from "../html.js";
import { rendered } from "../api.js";
import { address } from "../router.js";
import { t } from "../words.js";
import { linkCitations, markTexts } from "../parts/marking.js";
import { Markup, textOf } from "../parts/markup.js";

/** Parts of a source that an address names at most. */
const MARKS = 8;

/** A part of a text by its Unicode characters. */
export const partOf = (text, { start, end }) => [...text].slice(start, end).join("");

const doubtfulOf = (answer) => answer.support.filter(({ supported }) => !supported);

/** Gives turns that have an answer its markup. Without it they are shown as text. */
export async function dress(turns) {
  const bare = turns.filter(({ answer, markup }) => answer && !markup);
  const texts = bare.map(({ answer }) => [answer.answer, ...doubtfulOf(answer).map(({ span }) => partOf(answer.answer, span))]);
  try {
    const all = await rendered(texts.flat());
    for (const [at, turn] of bare.entries()) {
      const [markup, ...statements] = all.splice(0, texts[at].length);
      turn.doubts = doubtfulOf(turn.answer).map(({ doubt }, place) => ({ doubt, text: textOf(statements[place]) }));
      turn.markup = markup;
    }
  } catch {
    // too much to do for the server: the text has to do until the turns are read again
  }
}

/** Where a source is read: the passage, with the parts marked that support the answer, and a way back. */
export function sourceAddress(source, turn) {
  const marks = source.spans.slice(0, MARKS).map((span) => partOf(source.text, span));
  const parameters = { chunk: source.chunk_id, mark: marks, ask: turn.conversation_id ?? turn.answer?.conversation_id, turn: turn.id };
  return address("documents", { id: source.document_id, parameters });
}

/** Going back from what is opened next leads to this turn. */
export function rememberTurn(turn) {
  const id = turn.conversation_id ?? turn.answer?.conversation_id;
  if (id) history.replaceState(null, "", address("ask", { id, parameters: { turn: turn.id } }));
}

/** The answer; `cite` makes the link of a citation, by the number of its source. */
export function AnswerText({ turn, cite = (number) => citation(number, turn) }) {
  if (!turn.markup) return html`<div class="text plain">${turn.answer.answer}</div>`;
  const show = (root) => {
    const marked = markTexts(root, turn.doubts.map(({ text }) => text), doubtful);
    marked.forEach((parts, at) => {
      const end = parts.at(-1);
      if (end) (end.closest("code") ?? end).after(doubtNote(turn.doubts[at].doubt));
      else root.append(unplaced(turn.doubts[at].text));
    });
    linkCitations(root, cite);
  };
  return html`<div onClick=${(event) => { if (event.target.closest("a.citation")) rememberTurn(turn); }}><${Markup} markup=${turn.markup} onShown=${show} /></div>`;
}

function doubtful() {
  const element = document.createElement("span");
  element.className = "doubtful";
  return element;
}

function doubtNote(doubt) {
  const note = document.createElement("small");
  note.className = "doubt";
  note.textContent = ` ${t(`ask.doubt.${doubt}`)} `;
  return note;
}

/** A statement that is told below the answer, where its place in it is not found. */
function unplaced(text) {
  const note = document.createElement("p");
  note.className = "doubt";
  note.textContent = `${t("ask.unplaced")} ${text}`;
  return note;
}

function citation(number, turn) {
  const source = turn.answer.sources.find((one) => one.number === number);
  if (!source) return null;
  const link = document.createElement("a");
  link.className = "citation";
  link.href = sourceAddress(source, turn);
  link.textContent = `[${number}]`;
  link.title = source.title || source.source_path;
  return link;
}
