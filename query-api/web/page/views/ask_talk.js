// Conversations that are open in this tab: their turns, and the answers that come in. They outlive the view, which is made anew when the
// address or the language changes. What was asked and answered is the server's; a turn of another tab is followed as one of our own.
import { call, get, readEvents } from "../api.js";
import { dress } from "./ask_markup.js";

const TURNS = 30;
/** How long an answer goes on while the page is loaded anew or a connection is made again. */
const COME_BACK_MS = 30_000;
/** Pauses before reading on is tried again; after the last one it is given up. */
const PAUSES_MS = [300, 700, 1500, 3000, 5000, 8000, 12_000];
/** Times that a question is sent for which nobody answers; the server knows it by its key. */
const SENDINGS = 3;

const talks = new Map();
const watchers = new Set();
const tabs = "BroadcastChannel" in window ? new BroadcastChannel("tributary.ask") : null;
if (tabs) tabs.onmessage = ({ data }) => heard(data);

/** The conversation, as far as this tab knows it. */
export function talkOf(id) {
  if (!talks.has(id)) talks.set(id, new Talk(id));
  return talks.get(id);
}

/** A new conversation at the server. */
export async function newTalk() {
  const conversation = await call("POST", "v1/conversations", {});
  const talk = talkOf(conversation.id);
  Object.assign(talk, { conversation, isLoaded: true });
  return talk;
}

/** Calls `watcher` when a conversation begins, changes its title or its place, or ends; in other tabs too. */
export function watchTalks(watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

/** Tells all tabs that a conversation changed. */
export function tellTalks(id) {
  tabs?.postMessage(id);
  watchers.forEach((watcher) => watcher());
}

function heard(id) {
  const talk = talks.get(id);
  if (talk?.isLoaded) talk.refresh();
  watchers.forEach((watcher) => watcher());
}

export const forgetTalk = (id) => talks.delete(id);

const path = (id, rest = "") => `v1/conversations/${encodeURIComponent(id)}${rest}`;
export { path as talkPath };

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** A key that no other question has. */
function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

class Talk {
  constructor(id) {
    Object.assign(this, { id, conversation: null, turns: [], older: null, problem: null, isLoaded: false, listeners: new Set() });
    /** `{problem, question}` of a question that was not taken: it goes back into its field. */
    this.refused = null;
  }

  changed() {
    this.listeners.forEach((listener) => listener());
  }

  /** The turn that is being answered. */
  get running() {
    return this.turns.find(({ state }) => state === "pending") ?? null;
  }

  /** Reads the last turns; what is known stays. */
  async refresh() {
    try {
      const [conversation, page] = await Promise.all([get(path(this.id)), get(path(this.id, `/turns?newest_first=true&limit=${TURNS}`))]);
      if (!this.isLoaded) this.older = page.next;
      Object.assign(this, { conversation, isLoaded: true, problem: null });
      this.take(page.turns.reverse());
    } catch (problem) {
      this.problem = problem;
    }
    this.changed();
    await this.dress();
  }

  /** Reads turns before those that are known. */
  async earlier() {
    try {
      const page = await get(path(this.id, `/turns?newest_first=true&limit=${TURNS}&after=${encodeURIComponent(this.older)}`));
      this.older = page.next;
      this.take(page.turns.reverse());
    } catch (problem) {
      this.problem = problem;
    }
    this.changed();
    await this.dress();
  }

  /** Turns of the server, the oldest first. */
  take(fresh) {
    for (const turn of fresh) {
      const known = this.turns.find(({ id }) => id === turn.id);
      if (known) update(known, turn);
      else this.turns.push({ ...turn, key: turn.id });
    }
    this.turns.sort((one, other) => (one.number ?? Infinity) - (other.number ?? Infinity) || one.asked_at_ms - other.asked_at_ms);
    for (const turn of this.turns) if (turn.state === "pending" && !turn.live) this.follow(turn);
  }

  async dress() {
    await dress(this.turns);
    this.changed();
  }

  /** Asks a question; one that is not taken is told in `refused`. */
  async ask(question, wishes) {
    const turn = { key: newKey(), question, state: "pending", asked_at_ms: Date.now(), live: begun() };
    this.turns = [...this.turns.filter(({ isLost }) => !isLost), turn];
    this.refused = null;
    this.changed();
    try {
      await this.send(turn, { question, conversation_id: this.id, abandoned_after_ms: COME_BACK_MS, ...wishes });
    } catch (problem) {
      this.turns = this.turns.filter((one) => one !== turn);
      this.refused = { problem, question };
      if (problem.status === 409) this.refresh();
      this.changed();
      return;
    }
    await this.readOn(turn);
  }

  /** Sends the question until the server has it, and reads as long as the connection lasts. */
  async send(turn, body) {
    const onOpen = (headers) => this.opened(turn, headers.get("x-answer-id"));
    for (let sending = 1; turn.id === undefined; sending += 1) {
      try {
        await readEvents("POST", "v1/ask", { body, headers: { "idempotency-key": turn.key }, onOpen, onEvent: (event) => this.happened(turn, event) });
      } catch (problem) {
        const isRefused = problem.status > 0 || sending >= SENDINGS;
        if (turn.id === undefined && isRefused) throw problem;
        await pause(PAUSES_MS[sending - 1]);
      }
    }
  }

  opened(turn, id) {
    turn.id = id;
    this.turns = this.turns.filter((one) => one === turn || one.id !== id);
    tellTalks(this.id);
    if (turn.live.isStopping) this.stop(turn);
    this.changed();
  }

  /** Follows a turn that somebody else asked, or this page before it was loaded anew. */
  async follow(turn) {
    turn.live = begun();
    await this.readOn(turn);
  }

  /** Reads until the turn is over, however often the connection breaks. */
  async readOn(turn) {
    for (let tries = 0; turn.state === "pending"; tries += 1) {
      const seen = turn.live.lastEvent;
      if (tries > 0) await pause(PAUSES_MS[tries - 1]);
      await this.read(turn);
      if (turn.live.lastEvent !== seen) tries = 0;
      if (turn.state === "pending" && tries === PAUSES_MS.length) lose(turn);
      this.changed();
    }
    await this.over();
  }

  async read(turn) {
    const headers = turn.live.lastEvent ? { "last-event-id": turn.live.lastEvent } : {};
    try {
      await readEvents("GET", `v1/ask/${encodeURIComponent(turn.id)}`, { headers, onEvent: (event) => this.happened(turn, event) });
    } catch (problem) {
      turn.live.isBroken = true;
      this.changed();
      // Not known any more: what became of it stands in the conversation.
      if (problem.status === 404) await this.refresh();
    }
  }

  happened(turn, { id, event, data }) {
    turn.live.lastEvent = id;
    turn.live.isBroken = false;
    HAPPENED[event]?.(turn, data);
    this.changed();
  }

  async over() {
    await this.dress();
    await this.refresh();
    tellTalks(this.id);
  }

  /** Stops the answer, for everybody who reads it. */
  async stop(turn) {
    turn.live.isStopping = true;
    this.changed();
    if (turn.id === undefined) return; // as soon as the server has it
    try {
      await call("DELETE", `v1/ask/${encodeURIComponent(turn.id)}`);
    } catch (problem) {
      turn.live.isStopping = false;
      if (problem.status !== 404) this.problem = problem;
      this.changed();
    }
  }

  /** What somebody thinks of an answer; null takes it back. */
  async rate(turn, feedback) {
    const address = path(this.id, `/turns/${encodeURIComponent(turn.id)}/feedback`);
    const kept = await (feedback ? call("PUT", address, feedback) : call("DELETE", address));
    turn.feedback = kept.feedback;
    this.changed();
  }
}

/** What is known of an answer on its way. */
const begun = () => ({ steps: [], text: "", sources: null, code: null, understanding: null, lastEvent: null, isBroken: false, isStopping: false });

const HAPPENED = {
  thinking: (turn, { step }) => { if (turn.live.steps.at(-1) !== step) turn.live.steps.push(step); },
  understanding: (turn, understanding) => { turn.live.understanding = understanding; },
  retrieval: (turn, { sources }) => { turn.live.sources = sources; },
  code_retrieval: (turn, { sources }) => { turn.live.code = sources; },
  answer_chunk: (turn, { text }) => { turn.live.text += text; },
  code_description_chunk: (turn, { text }) => { turn.live.text += text; },
  done: (turn, answer) => Object.assign(turn, { state: "answered", answer, meant: meantBy(turn) }),
  error: (turn, failure) => Object.assign(turn, { state: "failed", failure }),
};

/** What the question was completed to; null for one that stands for itself. */
function meantBy({ question, live }) {
  const meant = live?.understanding?.standalone_question;
  return meant && meant !== question.trim() ? meant : null;
}

/** A turn that is over stays so: what came later may have been read earlier. */
function update(known, turn) {
  if (known.state !== "pending" && turn.state === "pending" && !known.isLost) return;
  if (known.isLost) known.live = null;
  Object.assign(known, { failure: undefined, feedback: undefined }, turn, { isLost: false });
}

/** Nobody answers any more; the server may know more when it is back. */
function lose(turn) {
  Object.assign(turn, { state: "failed", isLost: true, failure: { code: "lost" } });
}
