// Files on their way to the server: a queue that outlives the view. Three go at once; each has its bytes, its state, and can be taken back.
import { call, upload } from "../api.js";

const AT_ONCE = 3;
/** Documents asked about at once. */
const ASKED_AT_ONCE = 100;
/** Ended uploads whose later fate is followed: an exact duplicate is found out after it was indexed. */
const FOLLOWED = 200;

export const uploads = { items: [], listeners: new Set() };

let running = 0;

function changed() {
  uploads.listeners.forEach((listener) => listener());
}

/** Takes files in: `{file, path}` each. */
export function enqueue(files, { source, set }) {
  const items = files.map(({ file, path }) => ({ file, path, source, set, state: "queued", sent: 0, note: "", hint: "", chunks: null, stop: new AbortController() }));
  uploads.items.push(...items);
  changed();
  for (let lane = running; lane < AT_ONCE; lane += 1) work();
}

async function work() {
  running += 1;
  let item;
  while ((item = uploads.items.find((one) => one.state === "queued"))) await send(item);
  running -= 1;
}

async function send(item) {
  item.state = "uploading";
  changed();
  const form = new FormData();
  form.append("source", item.source);
  form.append("source_path", item.path);
  if (item.set) form.append("knowledge_sets", item.set);
  form.append("file", item.file);
  const onBytes = (sent, total) => {
    item.sent = total > 0 ? sent / total : 0;
    changed();
  };
  try {
    const accepted = await upload(form, { onBytes, signal: item.stop.signal });
    Object.assign(item, { state: accepted.state, documentId: accepted.document_id, version: accepted.version, sent: 1, file: null });
  } catch (problem) {
    if (problem.name === "AbortError") item.state = "cancelled_upload";
    else Object.assign(item, { state: "refused", note: problem.message, hint: problem.hint ?? "" });
  }
  changed();
}

/** Takes back what has not arrived. */
export function cancel(item) {
  if (item.state === "queued") item.state = "cancelled_upload";
  item.stop.abort();
  changed();
}

export function cancelAll() {
  uploads.items.filter((item) => item.state === "queued" || item.state === "uploading").forEach(cancel);
}

/** Forgets what has come to an end. */
export function clear(isFinal) {
  uploads.items = uploads.items.filter((item) => !isFinal(item.state));
  changed();
}

/** Asks what became of those that arrived. */
export async function follow(isFinal) {
  const arrived = uploads.items.filter((item) => item.documentId);
  const open = arrived.filter((item) => !isFinal(item.state) || item.chunks === 0);
  const asked = new Set([...open, ...arrived.slice(-FOLLOWED)]);
  const items = [...asked];
  for (let at = 0; at < items.length; at += ASKED_AT_ONCE) await ask(items.slice(at, at + ASKED_AT_ONCE));
}

async function ask(items) {
  const { documents } = await call("POST", "v1/documents/states", { document_ids: items.map((item) => item.documentId) });
  documents.forEach((report, at) => {
    const item = items[at];
    if (!report || report.version < item.version) return;
    Object.assign(item, { state: report.state, note: report.reason ?? "", chunks: report.chunks });
  });
  changed();
}

/** Files of a drop, those of folders too, each with its path. */
export async function droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.length === 0) return chosenFiles(transfer.files);
  const found = (await Promise.all(entries.map(filesBelow))).flat();
  return entries.length === 1 && entries[0].isDirectory ? found.map(belowFolder) : found;
}

/** Files of a form field; of a chosen folder they have paths. */
export function chosenFiles(files) {
  return [...files].map((file) => {
    const path = file.webkitRelativePath;
    return path ? belowFolder({ file, path }) : { file, path: file.name };
  });
}

/** One folder is the root of its files, as it is for `tributary publish FOLDER`. */
function belowFolder({ file, path }) {
  return { file, path: path.slice(path.indexOf("/") + 1) };
}

async function filesBelow(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, path: entry.fullPath.replace(/^\//, "") }];
  }
  const reader = entry.createReader();
  const found = [];
  // A folder comes in pieces; an empty one is its end.
  for (;;) {
    const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (entries.length === 0) return found;
    for (const below of entries) found.push(...await filesBelow(below));
  }
}
