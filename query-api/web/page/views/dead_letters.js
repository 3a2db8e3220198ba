// What was given up, by the name of its file, with the reason; sent again or dropped.
import { html, useCallback, useEffect, useState } from "../html.js";
import { call, get } from "../api.js";
import { address } from "../router.js";
import { bytes, named, t, time } from "../words.js";
import { useNews } from "../live.js";
import { administers, reads } from "../session.js";
import { CarefulButton } from "../parts/careful.js";
import { Dialog } from "../parts/dialog.js";
import { Busy, Empty, ProblemNotice } from "../parts/notice.js";
import { useResource } from "../parts/resource.js";
import { State } from "../parts/state.js";
import { useTogether } from "../parts/together.js";
import { titleOf } from "./hit.js";

const PAGE = 50;
/** Letters asked for at once when all of them are meant. */
const MANY = 1000;

const letterPath = (letter) => `v1/dead-letters/${encodeURIComponent(letter.id)}`;

/** Letters in pages, each with what is known of its document. */
async function read(pages, options) {
  const letters = [];
  let after = null;
  for (let page = 0; page < pages; page += 1) {
    const answer = await get(`v1/dead-letters?limit=${PAGE}${after ? `&after=${encodeURIComponent(after)}` : ""}`, options);
    letters.push(...answer.dead_letters);
    after = answer.next;
    if (!after) break;
  }
  const ids = [...new Set(letters.map((letter) => letter.document_id).filter(Boolean))];
  const documents = new Map();
  for (let at = 0; at < ids.length; at += PAGE) {
    const answer = await call("POST", "v1/documents/states", { document_ids: ids.slice(at, at + PAGE) }, options);
    answer.documents.filter(Boolean).forEach((report) => documents.set(report.document_id, report));
  }
  return { letters, documents, hasMore: Boolean(after) };
}

/** All letters that there are now. */
async function readAll() {
  const letters = [];
  let after = null;
  do {
    const answer = await get(`v1/dead-letters?limit=${MANY}${after ? `&after=${encodeURIComponent(after)}` : ""}`);
    letters.push(...answer.dead_letters);
    after = answer.next;
  } while (after);
  return letters;
}

/** Sends a letter again; one that is gone has been dealt with. */
async function sendAgain(letter) {
  try {
    await call("POST", `${letterPath(letter)}/replay`);
  } catch (error) {
    if (error.status !== 404) throw error;
  }
}

/** What the menu says: a number, with a plus where there are more; nothing where it is not wanted. */
export function useDeadLetterCount(isWanted) {
  const [count, setCount] = useState("");
  const look = useCallback(async () => {
    const { dead_letters: letters, next } = await get(`v1/dead-letters?limit=${PAGE}`);
    setCount(letters.length === 0 ? "" : `${letters.length}${next ? "+" : ""}`);
  }, []);
  const quietly = useCallback(() => { if (isWanted) look().catch(() => {}); }, [look, isWanted]);
  useEffect(quietly, [quietly]);
  useNews(quietly);
  return count;
}

export function DeadLetters() {
  const [pages, setPages] = useState(1);
  const [sent, setSent] = useState([]);
  const [shown, setShown] = useState(null);
  const { value, problem, reload } = useResource((options) => read(pages, options), pages);
  const [refused, setRefused] = useState(null);
  useNews(reload);
  if (!value) return problem ? html`<${ProblemNotice} problem=${problem} />` : html`<${Busy} />`;
  const act = async (work) => {
    try {
      setRefused(null);
      await work();
    } catch (error) {
      setRefused(error);
    }
    reload();
  };
  const replay = (letter) => act(async () => {
    await call("POST", `${letterPath(letter)}/replay`);
    setSent((before) => [{ ...letter, report: value.documents.get(letter.document_id) }, ...before.filter((one) => one.id !== letter.id)]);
  });
  const here = new Set(value.letters.map((letter) => letter.document_id));
  const waiting = sent.filter((letter) => !here.has(letter.document_id));
  return html`<${ProblemNotice} problem=${refused} />
    ${value.letters.length === 0 && waiting.length === 0 && html`<${Empty}>${t("dead.none")}<//>`}
    ${value.letters.length > 1 && html`<${Everything} count=${value.letters.length} hasMore=${value.hasMore} onDrop=${() => act(() => call("DELETE", "v1/dead-letters"))} onDone=${reload} />`}
    <ul class="letters">
      ${waiting.map((letter) => html`<${SentAgain} key=${`sent ${letter.id}`} letter=${letter} />`)}
      ${value.letters.map((letter) => html`<${Letter} key=${letter.id} letter=${letter} report=${value.documents.get(letter.document_id)}
        onShow=${() => setShown(letter)} onReplay=${() => replay(letter)} onDrop=${() => act(() => call("DELETE", letterPath(letter)))} />`)}
    </ul>
    ${value.hasMore && html`<button type="button" onClick=${() => setPages(pages + 1)}>${t("more")}</button>`}
    ${shown && html`<${Record} letter=${shown} name=${nameOf(shown, value.documents.get(shown.document_id))} onClose=${() => setShown(null)} />`}`;
}

/** What can be done with all letters at once. */
function Everything({ count, hasMore, onDrop, onDone }) {
  const { left, problem, run } = useTogether();
  const [unread, setUnread] = useState(null);
  const replay = async () => {
    try {
      setUnread(null);
      await run(await readAll(), sendAgain);
    } catch (error) {
      setUnread(error);
    }
    onDone();
  };
  return html`<div class="bar">
    <span class="quiet" role="status">${left === null ? `${t("dead.count", { count })}${hasMore ? "+" : ""}` : t("dead.sending", { count: left })}</span>
    <${CarefulButton} class="" label=${t("dead.replayAll")} question=${t("dead.replayAllSure")} disabled=${left !== null} onAct=${replay} />
    ${administers() && html`<${CarefulButton} label=${t("dead.dropAll")} disabled=${left !== null} onAct=${onDrop} />`}
    <${ProblemNotice} problem=${unread ?? problem} />
  </div>`;
}

const nameOf = (letter, report) => letter.source_path || report?.source_path || (report && titleOf(report)) || letter.document_id || letter.id;
const sourceOf = (letter, report) => letter.source || report?.source || "";

function Letter({ letter, report, onShow, onReplay, onDrop }) {
  return html`<li>
    <h2>${report && reads() ? html`<a href=${address("documents", { id: letter.document_id })}>${nameOf(letter, report)}</a>` : nameOf(letter, report)}</h2>
    <p class="message"><b>${named("kind", letter.kind)}</b>: <span lang="en">${letter.message}</span></p>
    <p class="facts"><span>${sourceOf(letter, report)}</span><span>${t("dead.stage", { stage: named("stage", letter.stage) })}</span><span>${t("dead.attempts", { count: letter.attempts })}</span><span>${bytes(letter.bytes)}</span><time>${time(letter.at_ms)}</time></p>
    <div class="actions"><button type="button" onClick=${onReplay}>${t("dead.replay")}</button><button type="button" onClick=${onShow}>${t("dead.record")}</button>
      <${CarefulButton} label=${t("dead.drop")} onAct=${onDrop} /></div>
  </li>`;
}

/** A letter that was sent again: what becomes of its document is shown, whichever way it ends. */
function SentAgain({ letter }) {
  const [report, setReport] = useState(letter.report ?? null);
  const look = useCallback(async () => {
    const answer = await call("POST", "v1/documents/states", { document_ids: [letter.document_id] });
    if (answer.documents[0]) setReport(answer.documents[0]);
  }, [letter.document_id]);
  const quietly = useCallback(() => look().catch(() => {}), [look]);
  useEffect(() => { quietly(); }, []);
  useNews(quietly);
  return html`<li class="sent"><h2>${nameOf(letter, report)}</h2><p class="facts">${t("dead.sentAgain")} ${report && html`<${State} state=${report.state} />`}</p></li>`;
}

function Record({ letter, name, onClose }) {
  const { value, problem } = useResource((options) => get(letterPath(letter), options), letter.id);
  return html`<${Dialog} title=${name} onClose=${onClose}>
    <p class="message"><b>${named("kind", letter.kind)}</b>: <span lang="en">${letter.message}</span></p>
    <p class="quiet"><code>${letter.id}</code></p>
    <${ProblemNotice} problem=${problem} />
    <h3>${t("dead.record")}</h3>
    ${value ? html`<pre tabindex="0"><code>${value.preview ?? t("dead.noValue")}</code></pre>` : !problem && html`<${Busy} />`}
  <//>`;
}
