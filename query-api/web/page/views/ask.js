// Ask: a conversation with the documents. The question streams its answer; the conversation is the server's and is found again by its address.
import { html, useCallback, useEffect, useLayoutEffect, useRef, useState } from "../html.js";
import { address, go } from "../router.js";
import { t } from "../words.js";
import { Busy, Empty, ProblemNotice } from "../parts/notice.js";
import { History, TalkHead } from "./ask_history.js";
import { keepSettings, Settings, useSettings, wishesOf } from "./ask_settings.js";
import { useSpoken } from "./ask_spoken.js";
import { newTalk, talkOf } from "./ask_talk.js";
import { placeOf, Turn } from "./ask_turn.js";
import { useChoices } from "./search.js";

/** How often a conversation that is shown is read again: others may ask in it. */
const READ_AGAIN_MS = 10_000;
/** Pixels from the end of the page at which a reader follows what comes. */
const NEAR_END = 160;

const encoder = new TextEncoder();

/** The conversation of an id, followed while it is shown. */
function useTalk(id) {
  const [, setTurn] = useState(0);
  const talk = id ? talkOf(id) : null;
  useEffect(() => {
    if (!talk) return undefined;
    const listener = () => setTurn((turn) => turn + 1);
    const look = () => { if (document.visibilityState === "visible" && !talk.running) talk.refresh(); };
    talk.listeners.add(listener);
    if (!talk.running) talk.refresh();
    const timer = setInterval(look, READ_AGAIN_MS);
    addEventListener("visibilitychange", look);
    return () => {
      talk.listeners.delete(listener);
      clearInterval(timer);
      removeEventListener("visibilitychange", look);
    };
  }, [talk]);
  return talk;
}

/** The list stays as it is while one conversation after the other is looked at. */
export function Ask({ id, parameters }) {
  const choices = useChoices();
  return html`<div class="ask columns">
    <${History} id=${id} />
    <${Conversation} key=${id} id=${id} wanted=${parameters.get("turn")} choices=${choices} />
  </div>`;
}

function Conversation({ id, wanted, choices }) {
  const talk = useTalk(id);
  const [settings, change] = useSettings(id);
  const [refused, setRefused] = useState(null);
  const wishes = useRef(null);
  wishes.current = { settings, choices };
  const ask = useCallback(async (question) => {
    setRefused(null);
    try {
      await begin(talk, question, wishes.current);
    } catch (problem) {
      setRefused({ problem, question });
    }
  }, [talk]);
  const spoken = useSpoken(talk);
  useEscape(talk);
  const unasked = refused ?? talk?.refused;
  return html`<section class="talk" aria-label=${t("view.ask")}>
    ${talk ? html`<${Talking} talk=${talk} wanted=${wanted} onAsk=${ask} />` : html`<${Empty}><p>${t("ask.welcome")}</p><//>`}
    <div class="composer">
      <${ProblemNotice} problem=${problemOf(unasked) ?? talk?.problem} />
      <${Composer} talk=${talk} returned=${unasked?.question} limit=${limitOf(settings, choices)} isFirst=${!wanted} onAsk=${ask} />
      <${Settings} settings=${settings} choices=${choices} onChange=${change} />
    </div>
    <p class="hidden" role="status">${spoken}</p>
  </section>`;
}

/** Why a question was not taken. */
function problemOf(refused) {
  const isPending = refused?.problem.status === 409;
  return isPending ? { message: t("ask.elsewhere"), isTranslated: true } : refused?.problem;
}

/** Asks in the conversation, or in a new one that is shown from now on. */
async function begin(talk, question, { settings, choices }) {
  const asked = talk ?? (await newTalk());
  const answering = asked.ask(question, wishesOf(settings, choices));
  if (!talk) {
    keepSettings(asked.id, settings);
    go(address("ask", { id: asked.id }));
  }
  await answering;
}

/** Escape stops the answer, wherever the focus is. */
function useEscape(talk) {
  useEffect(() => {
    const press = (event) => {
      const isOurs = event.key === "Escape" && !event.isComposing && !document.querySelector("dialog[open]");
      if (isOurs && talk?.running) talk.stop(talk.running);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [talk]);
}

function Talking({ talk, wanted, onAsk }) {
  useScrolling(talk, wanted);
  if (!talk.isLoaded && talk.turns.length === 0) return talk.problem ? null : html`<${Busy} />`;
  const { running } = talk;
  return html`<${TalkHead} talk=${talk} />
    ${talk.older && html`<button type="button" onClick=${() => talk.earlier()}>${t("ask.earlier")}</button>`}
    ${talk.turns.map((turn) => html`<${Turn} key=${turn.key} talk=${talk} turn=${turn} canAsk=${!running} onAsk=${onAsk} />`)}`;
}

/** Goes to the turn that is wanted, else to the end, and follows what comes while the reader is there. */
function useScrolling(talk, wanted) {
  const state = useRef({ isPlaced: false, isAtEnd: true });
  useEffect(() => {
    const look = () => { state.current.isAtEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - NEAR_END; };
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, []);
  useLayoutEffect(() => {
    const { isPlaced, isAtEnd } = state.current;
    if (talk.turns.length === 0) return;
    const turn = !isPlaced && talk.turns.find(({ id }) => id === wanted);
    const isDressed = talk.turns.every(({ answer, markup }) => !answer || markup);
    if (isDressed) state.current.isPlaced = true;
    if (turn) {
      const place = document.getElementById(placeOf(turn));
      place.scrollIntoView({ block: "start" });
      place.focus({ preventScroll: true });
    } else if (isAtEnd || (!isPlaced && !wanted)) scrollTo(0, document.documentElement.scrollHeight);
  });
}

/** What is written stays in this tab until it is asked. */
function useDraft(id) {
  const name = `tributary.ask.draft.${id ?? ""}`;
  const [text, setText] = useState(() => sessionStorage.getItem(name) ?? "");
  const change = (changed) => {
    setText(changed);
    if (changed) sessionStorage.setItem(name, changed);
    else sessionStorage.removeItem(name);
  };
  return [text, change];
}

/** A log may be longer than a question. Where the server finds out what it is, it may be one. */
const limitOf = ({ workflow }, choices) => (["", "error_map"].includes(workflow) ? choices?.log_limit_bytes : choices?.query_limit_bytes);

function Composer({ talk, returned, limit, isFirst, onAsk }) {
  const [text, setText] = useDraft(talk?.id);
  const [isEarly, setEarly] = useState(false);
  const field = useRef(null);
  const running = talk?.running;
  useEffect(() => { if (isFirst && matchMedia("(pointer: fine)").matches) field.current.focus({ preventScroll: true }); }, []);
  useEffect(() => { if (returned && !text) setText(returned); }, [returned]);
  useEffect(() => { if (!running) setEarly(false); }, [running]);
  const tooLong = limit !== undefined && encoder.encode(text).length > limit;
  const ask = (event) => {
    event.preventDefault();
    field.current.focus();
    if (running) setEarly(true);
    else if (text.trim() && !tooLong) {
      onAsk(text.trim());
      setText("");
    }
  };
  const press = (event) => {
    // Enter that ends a word of an input method is none of ours.
    const isComposing = event.isComposing || event.keyCode === 229;
    if (event.key === "Enter" && !event.shiftKey && !isComposing) ask(event);
  };
  return html`<form class="question" onSubmit=${ask}>
    <label class="hidden" for="question">${t("search.question")}</label>
    <textarea id="question" rows="2" ref=${field} value=${text} placeholder=${t("ask.placeholder")} enterkeyhint="send"
      aria-invalid=${tooLong ? "true" : undefined} aria-describedby="ask-help" onInput=${(event) => setText(event.target.value)} onKeyDown=${press} />
    ${running ? html`<button type="button" onClick=${() => talk.stop(running)}>${t("ask.stop")}</button>` : html`<button class="primary">${t("ask.submit")}</button>`}
    <p id="ask-help" class=${tooLong || isEarly ? "notice" : "hidden"} role=${tooLong || isEarly ? "alert" : undefined}>${tooLong ? t("search.tooLong", { limit }) : t(isEarly ? "ask.oneAtATime" : "ask.keys")}</p>
  </form>`;
}
