// Calls of the server. What it refuses comes as a `Problem` with its hint.
import { placesOf, withPictures } from "./parts/places.js";
import { t } from "./words.js";

const BUSY = 429;
const KEY_WANTED = 401;
const keyListeners = new Set();

/** Calls `listener` whenever the server wants a key that it was not shown. */
export function onKeyWanted(listener) {
  keyListeners.add(listener);
}

/** A refusal: `message`, and where the server gave them `hint`, `trace`, `status`, `code`. */
export class Problem extends Error {
  constructor(message, { hint = null, trace = null, status = 0, code = "", isTranslated = status === 0 } = {}) {
    super(message);
    Object.assign(this, { hint, trace, status, code, isTranslated });
  }
}

function problemOf(response, body) {
  if (response.status === BUSY) return busy(response, body);
  if (response.status === KEY_WANTED) keyListeners.forEach((listener) => listener());
  const message = body?.detail ?? `${response.status} ${response.statusText}`;
  return new Problem(message, { hint: body?.hint, trace: body?.trace_id, status: response.status, code: body?.code });
}

function busy(response, body) {
  const header = response.headers ? response.headers.get("retry-after") : response.getResponseHeader("retry-after");
  const seconds = Number.parseInt(header, 10);
  const message = seconds > 0 ? t("problem.busyFor", { count: seconds }) : t("problem.busy");
  return new Problem(message, { status: BUSY, code: body?.code, trace: body?.trace_id, isTranslated: true });
}

async function parsed(response) {
  const text = await response.text();
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null; // not JSON: the status says enough
  }
}

/** The answer as JSON. `body` is sent as JSON, a form as it is. */
export async function call(method, path, body, options) {
  return parsed(await sent(method, path, body, options));
}

/** The response of a request that was not refused. */
async function sent(method, path, body, { signal, headers = {} } = {}) {
  const options = { method, signal, headers: { ...headers } };
  if (body instanceof FormData) options.body = body;
  else if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["content-type"] = "application/json";
  }
  const response = await connected(() => fetch(path, options));
  if (!response.ok) throw problemOf(response, await parsed(response));
  return response;
}

/** What the browser calls a failure of the network is a problem like others. */
async function connected(work) {
  try {
    return await work();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(t("problem.offline"));
  }
}

/** Reads server-sent events: `onOpen(headers)`, then `onEvent({id, event, data})` for each, `data` as JSON. Resolves when the stream ends. */
export async function readEvents(method, path, { body, headers, signal, onOpen, onEvent }) {
  const response = await sent(method, path, body, { signal, headers: { ...headers, accept: "text/event-stream" } });
  onOpen?.(response.headers);
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await connected(() => reader.read());
    if (done) return;
    const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = blocks.pop();
    blocks.map(eventOf).filter(Boolean).forEach(onEvent);
  }
}

/** A block of a stream of events; comments are none. */
function eventOf(block) {
  const fields = {};
  for (const line of block.split("\n")) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name) fields[name] = value;
  }
  return fields.data === undefined ? null : { ...fields, data: JSON.parse(fields.data) };
}

export const get = (path, options) => call("GET", path, undefined, options);

/** Text of an address that answers no JSON. */
export async function getText(path) {
  const response = await fetch(path);
  if (!response.ok) throw problemOf(response, null);
  return response.text();
}

export const documentPath = (id) => `v1/documents/${encodeURIComponent(id)}`;

/** A form with one file, with its bytes as they go out. Resolves to the answer. */
export function upload(form, { onBytes, signal }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "v1/documents");
    request.upload.onprogress = (event) => onBytes(event.loaded, event.total);
    request.onerror = () => reject(new Problem(t("problem.offline")));
    request.onabort = () => reject(new DOMException("cancelled", "AbortError"));
    request.onload = () => {
      const answer = jsonOrNull(request.responseText);
      if (request.status < 300) resolve(answer);
      else reject(problemOf(request, answer));
    };
    signal.addEventListener("abort", () => request.abort());
    request.send(form);
  });
}

function jsonOrNull(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** HTML of Markdown texts, made safe by the server, with the words of a question marked. */
export async function rendered(texts, query, options) {
  if (texts.length === 0) return [];
  const body = query ? { markdown: texts, query } : { markdown: texts };
  const pieces = await Promise.all(batches(texts).map((batch) => call("POST", "v1/rendered", { ...body, markdown: batch }, options)));
  return pieces.flatMap((piece) => piece.html);
}

/** Source code as Markdown that shows it as it is: in a fence that is longer than any in it. */
export function fenced(code, language = "") {
  const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language.replace(/[^\w+#-]/g, "")}\n${code.replace(/\n$/, "")}\n${fence}\n`;
}

/** The text of a hit or a passage as Markdown, its pictures where they stand: source code is none. */
export function markdownOf({ text, language, images }) {
  return language === undefined ? withPictures(text, placesOf([text], images)) : fenced(text, language);
}

const BATCH_CHARACTERS = 150_000;
const BATCH_TEXTS = 100;

function batches(texts) {
  const all = [[]];
  let characters = 0;
  for (const text of texts) {
    const batch = all.at(-1);
    if (batch.length > 0 && (characters + text.length > BATCH_CHARACTERS || batch.length >= BATCH_TEXTS)) {
      all.push([]);
      characters = 0;
    }
    all.at(-1).push(text);
    characters += text.length;
  }
  return all;
}
