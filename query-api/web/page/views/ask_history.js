// The conversations that the server keeps: a list beside the one that is open, and what can be done with it.
import { html, useCallback, useEffect, useRef, useState } from "../html.js";
import { call, get } from "../api.js";
import { address, go } from "../router.js";
import { shortTime, t } from "../words.js";
import { CarefulButton } from "../parts/careful.js";
import { Dialog } from "../parts/dialog.js";
import { ProblemNotice } from "../parts/notice.js";
import { forgetSettings } from "./ask_settings.js";
import { forgetTalk, talkPath, tellTalks, watchTalks } from "./ask_talk.js";

const PAGE = 30;
/** Rows of one request at most. */
const MOST = 100;
const WIDE = "(min-width: 64rem)";
/** Characters of a title that the server keeps. */
const TITLE = 200;

/** Pages of conversations whose titles have a text, the newest first. */
function useConversations(title) {
  const [state, setState] = useState({ rows: [], next: null, problem: null, isRead: false });
  const turn = useRef(0);
  const read = useCallback(async (wanted, after) => {
    const mine = (turn.current += 1);
    const parameters = new URLSearchParams({ limit: String(wanted), ...(title && { title }), ...(after && { after }) });
    try {
      const page = await get(`v1/conversations?${parameters}`);
      const add = ({ rows }) => ({ rows: after ? [...rows, ...page.conversations] : page.conversations, next: page.next, problem: null, isRead: true });
      if (mine === turn.current) setState(add);
    } catch (problem) {
      if (mine === turn.current) setState((known) => ({ ...known, problem, isRead: true }));
    }
  }, [title]);
  const shown = useRef(PAGE);
  shown.current = Math.min(MOST, Math.max(PAGE, state.rows.length));
  useEffect(() => {
    read(PAGE);
    return watchTalks(() => read(shown.current));
  }, [read]);
  return { ...state, more: () => read(PAGE, state.next) };
}

export function History({ id }) {
  const [title, setTitle] = useState("");
  const { rows, next, problem, isRead, more } = useConversations(title.trim());
  const [open, setOpen] = useState(matchMedia(WIDE).matches);
  const row = (one) => html`<li key=${one.id}><a href=${address("ask", { id: one.id })} aria-current=${one.id === id ? "page" : undefined}>
    <span class="title">${one.title || t("ask.untitled")}</span><small>${shortTime(one.updated_at_ms)}</small></a></li>`;
  return html`<details class="history" open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>${t("ask.history")}</summary>
    <a class="button" href=${address("ask")}>${t("ask.new")}</a>
    <input type="search" aria-label=${t("ask.findTitle")} placeholder=${t("ask.findTitle")} value=${title} maxlength=${TITLE} onInput=${(event) => setTitle(event.target.value)} />
    <${ProblemNotice} problem=${problem} />
    ${isRead && rows.length === 0 && html`<p class="quiet">${t(title ? "ask.noneFound" : "ask.none")}</p>`}
    <ul class="plain">${rows.map(row)}</ul>
    ${next && html`<button type="button" onClick=${more}>${t("ask.moreTalks")}</button>`}
  </details>`;
}

/** The open conversation: its title, and what can be done with it. */
export function TalkHead({ talk }) {
  const [renaming, setRenaming] = useState(false);
  const [problem, setProblem] = useState(null);
  const attempt = (work) => async (...given) => {
    try {
      await work(...given);
      setProblem(null);
    } catch (refused) {
      setProblem(refused);
    }
  };
  const rename = attempt(async (title) => {
    talk.conversation = await call("PATCH", talkPath(talk.id), { title });
    setRenaming(false);
    tellTalks(talk.id);
  });
  const remove = attempt(async () => {
    await call("DELETE", talkPath(talk.id));
    forgetTalk(talk.id);
    forgetSettings(talk.id);
    tellTalks(talk.id);
    go(address("ask"));
  });
  return html`<header class="talk-head">
    <h2>${talk.conversation?.title || talk.turns[0]?.question || t("ask.untitled")}</h2>
    <details class="menu"><summary>${t("ask.manage")}</summary><div class="actions">
      <button type="button" onClick=${() => setRenaming(true)}>${t("ask.rename")}</button>
      <a class="button" href=${talkPath(talk.id, "/export?format=markdown")} download=${`${talk.id}.md`}>${t("ask.exportMarkdown")}</a>
      <a class="button" href=${talkPath(talk.id, "/export?format=json")} download=${`${talk.id}.json`}>${t("ask.exportJson")}</a>
      <${CarefulButton} label=${t("ask.delete")} question=${t("ask.deleteSure")} onAct=${remove} />
    </div></details>
    <${ProblemNotice} problem=${problem} />
    ${renaming && html`<${Rename} title=${talk.conversation?.title ?? ""} onRename=${rename} onClose=${() => setRenaming(false)} />`}
  </header>`;
}

function Rename({ title, onRename, onClose }) {
  const [text, setText] = useState(title);
  const submit = (event) => {
    event.preventDefault();
    if (text.trim()) onRename(text.trim());
  };
  return html`<${Dialog} title=${t("ask.rename")} onClose=${onClose}>
    <form class="rename" onSubmit=${submit}>
      <input aria-label=${t("ask.title")} required maxlength=${TITLE} value=${text} onInput=${(event) => setText(event.target.value)} />
      <button class="primary">${t("ask.keep")}</button>
    </form>
  <//>`;
}
