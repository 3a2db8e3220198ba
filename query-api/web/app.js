// The web page: search with tier figures, publishing with live states, documents, dead letters. Plain DOM calls, no build, no network
// but this server. Everything that comes from a document goes into the page as text nodes, never as markup.
"use strict";

const WORDS = {
  en: {
    skip: "Skip to content", search: "Search", documents: "Documents", deadLetters: "Dead letters", theme: "Dark or light", question: "Question",
    placeholder: "Ask, or name an error code, a parameter, a function…", filters: "Filters", knowledgeSets: "Knowledge sets", sources: "Sources",
    tags: "Tags", commas: "separated by commas", strategy: "Strategy", hybrid: "Hybrid", semantic: "Semantic", fullText: "Full text", topK: "Hits",
    minimumScore: "Minimum score", rerank: "Rerank", welcome: "Search everything that was published. Press / to begin.", drop: "Drop files here",
    or: "or", choose: "choose files", source: "Source", knowledgeSet: "Knowledge set", state: "State", all: "all", refresh: "Refresh",
    reconcile: "Reconcile", document: "Document", chunks: "Chunks", updated: "Updated", actions: "Actions", more: "More", close: "Close",
    noDocuments: "No documents here.", noDeadLetters: "No dead letters: nothing was given up.", ready: "ready", notReady: "not ready",
    offline: "server does not answer", nothingFound: "Nothing found. Try other words, fewer filters, or a lower minimum score.",
    coarse: "coarse", fine: "fine", rerankTier: "rerank", total: "total", ms: "ms", degraded: "Answered in a lesser way; not available:",
    searching: "searching…", final: "score", keyword: "keyword", vector: "vector", picture: "Picture", pages: "page", original: "original", inSection: "Show in section",
    hideSection: "Hide section", above: "Section", around: "Before and after", whole: "Show all", fold: "Show less", delete: "Delete", sure: "Sure?", show: "Show",
    replay: "Replay", forget: "Drop", stage: "stage", attempts: "attempts", preview: "Record", timeline: "Timeline", lineage: "Made with",
    version: "Version", reason: "Reason", path: "Path", noSets: "none defined", consistent: "everything accepted is accounted for",
    inconsistent: "not everything is accounted for", underway: "nothing is missing; some are on their way", inFlight: "on their way", uploading: "sending", refused: "refused",
    busy: "The server has too much to do at the moment. Try again in a few seconds.",
    states: { accepted: "accepted", chunking: "chunking", embedding: "embedding", indexing: "indexing", indexed: "indexed", skipped: "skipped", deleted: "deleted", dead: "dead" },
  },
  zh: {
    skip: "跳到正文", search: "搜索", documents: "文档", deadLetters: "死信", theme: "深色或浅色", question: "问题",
    placeholder: "提问，或输入错误码、参数、函数名……", filters: "筛选", knowledgeSets: "知识集", sources: "数据源",
    tags: "标签", commas: "用逗号分隔", strategy: "策略", hybrid: "混合", semantic: "语义", fullText: "全文", topK: "条数",
    minimumScore: "最低分", rerank: "精排", welcome: "搜索所有已发布的文档。按 / 开始。", drop: "把文件拖到这里",
    or: "或", choose: "选择文件", source: "数据源", knowledgeSet: "知识集", state: "状态", all: "全部", refresh: "刷新",
    reconcile: "核对", document: "文档", chunks: "切片", updated: "更新时间", actions: "操作", more: "更多", close: "关闭",
    noDocuments: "这里没有文档。", noDeadLetters: "没有死信：没有被放弃的记录。", ready: "就绪", notReady: "未就绪",
    offline: "服务器没有响应", nothingFound: "没有找到。换个说法，减少筛选条件，或降低最低分。",
    coarse: "粗筛", fine: "精筛", rerankTier: "精排", total: "总计", ms: "毫秒", degraded: "降级作答，不可用：",
    searching: "搜索中……", final: "得分", keyword: "关键词", vector: "向量", picture: "图片", pages: "页", original: "原文", inSection: "查看所在章节",
    hideSection: "收起章节", above: "章节", around: "前后文", whole: "展开", fold: "收起", delete: "删除", sure: "确定？", show: "查看",
    replay: "重放", forget: "丢弃", stage: "阶段", attempts: "尝试次数", preview: "记录", timeline: "时间线", lineage: "生成方式",
    version: "版本", reason: "原因", path: "路径", noSets: "尚未定义", consistent: "所有已接收的文档都有下落",
    inconsistent: "有文档没有下落", underway: "没有缺失，还有文档在处理中", inFlight: "处理中", uploading: "发送中", refused: "被拒绝",
    busy: "服务器现在太忙，请几秒后再试。",
    states: { accepted: "已接收", chunking: "切片中", embedding: "向量化", indexing: "索引中", indexed: "已索引", skipped: "已跳过", deleted: "已删除", dead: "死信" },
  },
};
const FINAL_STATES = ["indexed", "skipped", "deleted", "dead"];
const POLL_MS = 1000;

const $ = (id) => document.getElementById(id);
let language = stored("language") || (navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");
const t = (name) => WORDS[language][name] ?? name;

// ---- small things ----

function stored(name) {
  try { return localStorage.getItem(`tributary.${name}`); } catch { return null; }
}

function store(name, value) {
  try { localStorage.setItem(`tributary.${name}`, value); } catch { /* a private window forgets */ }
}

/** An element; children are elements or texts, `null` ones are left out. */
function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Calls the server; throws {title, detail, hint} for a problem. */
async function call(method, path, body) {
  const options = { method, headers: {} };
  if (body instanceof FormData) options.body = body;
  else if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["content-type"] = "application/json";
  }
  let response;
  try { response = await fetch(path, options); } catch { throw { detail: t("offline") }; }
  const text = await response.text();
  let value = null;
  try { value = text ? JSON.parse(text) : null; } catch { /* not JSON: the status says enough */ }
  if (response.status === 429) throw { ...value, detail: t("busy"), hint: null };
  if (!response.ok) throw value ?? { detail: `${response.status} ${response.statusText}` };
  return value;
}

function showProblem(place, problem) {
  place.replaceChildren(make("div", { class: "notice bad" }, problem.detail ?? String(problem),
    problem.hint ? make("small", {}, problem.hint) : null,
    problem.trace_id ? make("small", {}, `trace ${problem.trace_id}`) : null));
}

const list = (text) => text.split(/[,，、]/).map((part) => part.trim()).filter(Boolean);
const time = (ms) => new Date(ms).toLocaleString(language === "zh" ? "zh-CN" : "en");
const documentPath = (id) => `v1/documents/${encodeURIComponent(id)}`;

function badge(state) {
  const moving = FINAL_STATES.includes(state) ? "" : " moving";
  return make("span", { class: `state ${state}${moving}` }, WORDS[language].states[state] ?? state);
}

/** A button that asks once more before it acts. */
function carefulButton(name, act) {
  const button = make("button", { type: "button", class: "danger", onclick: () => {
    if (button.dataset.asked) { act(); return; }
    button.dataset.asked = "1";
    button.textContent = t("sure");
    setTimeout(() => { delete button.dataset.asked; button.textContent = t(name); }, 3000);
  } }, t(name));
  return button;
}

// ---- Markdown, the little of it that chunks need: code, tables, headings, lists; all as text nodes ----

function renderMarkdown(text) {
  const lines = text.split("\n");
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    const fence = /^\s*(```+|~~~+)/.exec(line);
    if (fence) {
      const start = at + 1;
      do at++; while (at < lines.length && !lines[at].trim().startsWith(fence[1]));
      blocks.push(make("pre", { tabindex: "0" }, make("code", {}, lines.slice(start, at).join("\n"))));
      at++;
    } else if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[at + 1] ?? "")) {
      const start = at;
      at += 2;
      while (at < lines.length && lines[at].includes("|")) at++;
      blocks.push(renderTable(lines.slice(start, at)));
    } else if (/^#{1,6}\s/.test(line)) {
      blocks.push(make("h3", {}, ...renderInline(line.replace(/^#+\s+/, ""))));
      at++;
    } else if (/^\s*([-*+]|\d+[.)])\s/.test(line)) {
      const ordered = /^\s*\d/.test(line);
      const items = [];
      while (at < lines.length && /^\s*([-*+]|\d+[.)])\s/.test(lines[at])) items.push(lines[at++].replace(/^\s*([-*+]|\d+[.)])\s+/, ""));
      blocks.push(make(ordered ? "ol" : "ul", {}, items.map((item) => make("li", {}, ...renderInline(item)))));
    } else if (line.trim() === "") {
      at++;
    } else {
      const start = at;
      do at++; while (at < lines.length && lines[at].trim() !== "" && !/^(\s*(```|~~~)|#{1,6}\s|\s*([-*+]|\d+[.)])\s)/.test(lines[at]) && !lines[at].includes("|"));
      blocks.push(make("p", {}, ...renderInline(lines.slice(start, at).join("\n"))));
    }
  }
  return blocks;
}

function renderTable(lines) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
  const [head, , ...rows] = lines;
  return make("table", {},
    make("thead", {}, make("tr", {}, cells(head).map((cell) => make("th", { scope: "col" }, ...renderInline(cell))))),
    make("tbody", {}, rows.map((row) => make("tr", {}, cells(row).map((cell) => make("td", {}, ...renderInline(cell)))))));
}

function renderInline(text) {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*|!?\[[^\]\n]*\]\([^)\n]*\))/).filter(Boolean).map((part) => {
    if (part.length > 2 && part.startsWith("`") && part.endsWith("`")) return make("code", {}, part.slice(1, -1));
    if (part.length > 4 && part.startsWith("**") && part.endsWith("**")) return make("strong", {}, unescape(part.slice(2, -2)));
    const link = part.match(/^(!?)\[([^\]]*)\]\(([^)]*)\)$/);
    return link ? renderLink(link[1] === "!", unescape(link[2]), link[3]) : unescape(part);
  });
}

/** Within the text an image is named by its text; those that are kept stand below it. A link leads somewhere only if it is a web address. */
function renderLink(isImage, label, target) {
  if (isImage) return label ? make("em", {}, `🖼 ${label}`) : "";
  return /^https?:\/\//.test(target) ? make("a", { href: target, rel: "noreferrer noopener", target: "_blank" }, label) : label;
}

/** Takes away the backslashes that keep Markdown from reading marks. */
function unescape(text) {
  return text.replace(/\\([\\`*_{}[\]()#+.!|<>~-])/g, "$1");
}

/** Marks the words of the question in the text nodes below `element`. */
function markWords(element, question) {
  const words = (question.match(/[\p{L}\p{N}_.-]{2,}/gu) ?? []).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).slice(0, 20);
  if (words.length === 0) return;
  const pattern = new RegExp(`(${words.join("|")})`, "giu");
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  for (const node of nodes) {
    const parts = node.data.split(pattern);
    if (parts.length > 1) node.replaceWith(...parts.map((part, at) => (at % 2 ? make("mark", {}, part) : part)));
  }
}

// ---- search ----

let searches = 0;

function searchRequest() {
  const filter = {};
  const sets = [...document.querySelectorAll("#knowledge-sets input:checked")].map((input) => input.value);
  if (sets.length) filter.knowledge_sets = sets;
  if (list($("sources").value).length) filter.sources = list($("sources").value);
  if (list($("tags").value).length) filter.tags = list($("tags").value);
  const request = { query: $("query").value, filter, strategy: $("strategy").value, rerank: $("rerank").checked, parents: true, neighbours: 2 };
  if ($("top-k").value) request.top_k = Number($("top-k").value);
  if ($("minimum-score").value) request.minimum_score = Number($("minimum-score").value);
  const count = Object.keys(filter).length;
  $("filter-count").hidden = count === 0;
  $("filter-count").textContent = count;
  return request;
}

async function search() {
  const request = searchRequest();
  if (!request.query.trim()) { $("query").focus(); return; }
  const turn = ++searches;
  history.replaceState(null, "", `#search?q=${encodeURIComponent(request.query)}`);
  $("welcome").hidden = true;
  $("notice").replaceChildren();
  $("tiers").textContent = t("searching");
  try {
    const answer = await call("POST", "v1/search", request);
    if (turn === searches) showAnswer(answer);
  } catch (problem) {
    if (turn !== searches) return;
    $("tiers").replaceChildren();
    $("hits").replaceChildren();
    showProblem($("notice"), problem);
  }
}

function showAnswer(answer) {
  const tiers = [["coarse", "coarse"], ["fine", "fine"], ["rerank", "rerankTier"]].filter(([tier]) => answer.tiers[tier]);
  const badges = tiers.flatMap(([tier, name]) => {
    const { candidates, ms } = answer.tiers[tier];
    return [make("span", { class: "badge" }, `${t(name)} `, make("b", {}, String(candidates)), ` · ${ms.toFixed(1)} ${t("ms")}`),
      make("span", { class: "arrow", "aria-hidden": "true" }, "→")];
  });
  $("tiers").replaceChildren(...badges, make("span", { class: "badge" }, `${t("total")} `, make("b", {}, answer.took_ms.toFixed(1)), ` ${t("ms")}`));
  if (answer.degraded.length) $("notice").replaceChildren(make("div", { class: "notice" }, `${t("degraded")} ${answer.degraded.join(", ")}`));
  $("hits").replaceChildren(...answer.hits.map((hit) => renderHit(hit, answer.query)));
  if (answer.hits.length === 0) $("hits").replaceChildren(make("li", { class: "empty" }, t("nothingFound")));
}

function renderHit(hit, question) {
  const text = make("div", { class: "text" }, renderMarkdown(hit.text));
  markWords(text, question);
  const isLong = hit.text.length > 900 || hit.text.split("\n").length > 14;
  if (isLong) text.classList.add("folded");
  const context = renderContext(hit);
  const buttons = [];
  if (isLong) {
    const unfold = make("button", { type: "button", class: "link", "aria-expanded": "false", onclick: () => {
      const folded = text.classList.toggle("folded");
      unfold.textContent = t(folded ? "whole" : "fold");
      unfold.setAttribute("aria-expanded", String(!folded));
    } }, t("whole"));
    buttons.push(unfold);
  }
  if (context) {
    const toggle = make("button", { type: "button", class: "link", "aria-expanded": "false", onclick: () => {
      context.hidden = !context.hidden;
      toggle.textContent = t(context.hidden ? "inSection" : "hideSection");
      toggle.setAttribute("aria-expanded", String(!context.hidden));
    } }, t("inSection"));
    buttons.push(toggle);
  }
  const path = [hit.source, ...hit.section_path].filter(Boolean);
  return make("li", { class: "hit", tabindex: "-1" },
    make("div", { class: "head" }, make("span", { class: "rank" }, String(hit.rank)),
      make("h2", {}, make("button", { type: "button", class: "link", onclick: () => showDocument(hit.document_id) }, hit.title || hit.source_path || hit.document_id))),
    make("div", { class: "path" }, path.map((part) => make("span", {}, part))),
    make("div", { class: "scores" }, scoreBar(t("final"), hit.score, true), ["keyword", "vector"].filter((name) => name in hit.scores).map((name) => scoreBar(t(name), hit.scores[name], false))),
    text,
    renderPictures(hit.images),
    make("div", { class: "meta" },
      hit.tags.map((tag) => make("span", { class: "tag" }, tag)),
      hit.pages.length ? make("span", {}, `${t("pages")} ${hit.pages.join(", ")}`) : null,
      isLink(hit.url) ? make("a", { href: hit.url, target: "_blank", rel: "noopener noreferrer" }, t("original")) : null,
      buttons),
    context);
}

/** Pictures that documents carry, as this server keeps them; those of other places are not loaded. */
function renderPictures(links) {
  const kept = links.filter((link) => /^\/v1\/images\/[0-9a-f]{64}$/.test(link));
  if (kept.length === 0) return null;
  const picture = (link, at) => make("a", { href: link.slice(1), target: "_blank", rel: "noopener noreferrer" },
    make("img", { src: link.slice(1), alt: `${t("picture")} ${at + 1}`, loading: "lazy", onerror: (event) => event.target.closest("a").remove() }));
  return make("div", { class: "pictures" }, kept.map(picture));
}

/** Documents say where they come from; only web addresses become links. */
const isLink = (url) => /^https?:\/\//i.test(url);

function scoreBar(name, score, isFinal) {
  const bar = make("i");
  bar.style.width = `${Math.round(score * 100)}%`;
  return make("span", { class: isFinal ? "score final" : "score" }, `${name} ${score.toFixed(3)}`, make("span", { class: "meter", "aria-hidden": "true" }, bar));
}

function renderContext(hit) {
  const neighbours = (hit.neighbours ?? []).filter((one) => one.chunk_id !== hit.parent?.chunk_id);
  if (!hit.parent && neighbours.length === 0) return null;
  const passage = (one) => make("section", {}, make("h4", {}, one.section_path.join(" › ")), make("div", { class: "text" }, renderMarkdown(one.text)));
  const context = make("div", { class: "context" },
    hit.parent ? [make("h3", {}, t("above")), passage(hit.parent)] : [],
    neighbours.length ? [make("h3", {}, t("around")), neighbours.map(passage)] : []);
  context.hidden = true;
  return context;
}

async function loadKnowledgeSets() {
  try {
    const { knowledge_sets: sets } = await call("GET", "v1/knowledge-sets");
    const name = (set) => (language === "zh" && set.name_zh) || set.name;
    const chosen = [...document.querySelectorAll("#knowledge-sets input:checked")].map((input) => input.value);
    $("knowledge-sets").replaceChildren(...sets.map((set) => {
      const input = make("input", { type: "checkbox", value: set.id });
      input.checked = chosen.includes(set.id);
      return make("label", { title: set.description ?? "" }, input, name(set));
    }));
    if (sets.length === 0) $("knowledge-sets").textContent = t("noSets");
    const before = $("publish-set").value;
    $("publish-set").replaceChildren(make("option", { value: "" }, "–"), ...sets.map((set) => make("option", { value: set.id }, name(set))));
    $("publish-set").value = before;
  } catch (problem) { showProblem($("knowledge-sets"), problem); }
}

// ---- documents ----

let nextDocument = null;

async function loadDocuments(more) {
  const parameters = new URLSearchParams({ limit: "50" });
  if ($("state-filter").value) parameters.set("state", $("state-filter").value);
  if ($("source-filter").value.trim()) parameters.set("source", $("source-filter").value.trim());
  if (more && nextDocument) parameters.set("after", nextDocument);
  try {
    const page = await call("GET", `v1/documents?${parameters}`);
    $("documents-notice").replaceChildren();
    if (!more) $("documents").replaceChildren();
    $("documents").append(...page.documents.map(documentRow));
    nextDocument = page.next;
    $("more-documents").hidden = !page.next;
    $("no-documents").hidden = $("documents").childElementCount > 0;
  } catch (problem) { showProblem($("documents-notice"), problem); }
}

function documentRow(report) {
  const remove = carefulButton("delete", async () => {
    try { await call("DELETE", documentPath(report.document_id)); await loadDocuments(false); } catch (problem) { showProblem($("documents-notice"), problem); }
  });
  return make("tr", {},
    make("td", { class: "name" }, make("button", { type: "button", class: "link", onclick: () => showDocument(report.document_id) }, report.title || report.source_path || report.document_id),
      make("small", {}, report.document_id)),
    make("td", {}, report.source),
    make("td", {}, badge(report.state), report.reason ? make("small", {}, report.reason) : null),
    make("td", { class: "number" }, String(report.chunks)),
    make("td", {}, time(report.at_ms)),
    make("td", {}, report.state === "deleted" ? null : remove));
}

async function showDocument(id) {
  $("dialog-title").textContent = id;
  $("dialog-body").replaceChildren();
  $("dialog").showModal();
  try {
    const report = await call("GET", `${documentPath(id)}?passages=true`);
    $("dialog-title").textContent = report.title || id;
    const lineage = Object.entries(report.lineage ?? {}).filter(([, value]) => value.length);
    const lines = [[t("document"), report.document_id], [t("state"), badge(report.state)], [t("reason"), report.reason], [t("version"), String(report.version)],
      [t("source"), report.source], [t("path"), report.source_path], [t("chunks"), String(report.chunks)],
      [t("timeline"), (report.timeline ?? []).map((step) => `${step.stage} ${time(step.at_ms)}`).join(" → ")],
      [t("lineage"), lineage.map(([name, value]) => `${name}: ${value}`).join(" · ")]];
    $("dialog-body").replaceChildren(
      make("dl", {}, lines.filter(([, value]) => value).map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]).flat()),
      ...(report.passages ?? []).map((passage) => make("section", { class: "context" }, make("h3", {}, `${passage.ordinal + 1} · ${passage.section_path.join(" › ")}`),
        make("div", { class: "text" }, renderMarkdown(passage.text)))));
  } catch (problem) { showProblem($("dialog-body"), problem); }
}

async function reconcile() {
  $("reconciliation").textContent = "…";
  try {
    const result = await call("POST", "v1/documents/reconcile");
    const counts = ["accepted", "indexed", "skipped", "deleted", "dead"].map((state) => `${WORDS[language].states[state]} ${result[state]}`);
    if (result.in_flight > 0) counts.push(`${t("inFlight")} ${result.in_flight}`);
    const isWrong = [result.missing, result.orphan_chunks, result.duplicate_chunks].some((ids) => ids.length > 0);
    const [mark, words] = result.ok ? ["✓", "consistent"] : isWrong ? ["✗", "inconsistent"] : ["…", "underway"];
    $("reconciliation").textContent = `${mark} ${t(words)} (${counts.join(" · ")})`;
  } catch (problem) {
    $("reconciliation").textContent = "";
    showProblem($("documents-notice"), problem);
  }
}

// ---- publishing ----

const waiting = [];
let sending = false;

function publish(files) {
  for (const file of files) {
    const state = make("span", {}, "…");
    const note = make("small", {});
    $("uploads").prepend(make("li", {}, make("span", { class: "name" }, file.webkitRelativePath || file.name), note, state));
    waiting.push({ file, state, note, source: $("publish-source").value.trim() || "upload", set: $("publish-set").value });
  }
  sendWaiting();
}

/** One file at a time: the server's limits hold for many tabs as well. */
async function sendWaiting() {
  if (sending) return;
  sending = true;
  while (waiting.length) {
    const upload = waiting.shift();
    upload.state.replaceChildren(make("span", { class: "state moving" }, t("uploading")));
    try {
      const form = new FormData();
      form.append("source", upload.source);
      form.append("source_path", upload.file.webkitRelativePath || upload.file.name);
      if (upload.set) form.append("knowledge_sets", upload.set);
      form.append("file", upload.file);
      const accepted = await call("POST", "v1/documents", form);
      upload.state.replaceChildren(badge(accepted.state));
      follow(upload, accepted);
    } catch (problem) {
      upload.state.replaceChildren(make("span", { class: "state dead" }, t("refused")));
      upload.note.textContent = [problem.detail, problem.hint].filter(Boolean).join(". ");
    }
  }
  sending = false;
}

/** Shows the state of a published version until it is final. */
async function follow(upload, accepted) {
  for (let wait = 250; ; wait = Math.min(wait * 1.3, 5 * POLL_MS)) {
    await new Promise((done) => setTimeout(done, wait));
    try {
      const report = await call("GET", documentPath(accepted.document_id));
      if (report.version < accepted.version) continue;
      upload.state.replaceChildren(badge(report.state));
      upload.note.textContent = report.reason ?? (report.state === "indexed" ? `${report.chunks} ${t("chunks")}` : "");
      if (FINAL_STATES.includes(report.state)) { loadDocuments(false); loadDeadLetters(false); return; }
    } catch (problem) {
      upload.note.textContent = problem.detail ?? "";
      if (problem.status !== 404) wait = 5 * POLL_MS;
    }
  }
}

// ---- dead letters ----

let nextDeadLetter = null;

async function loadDeadLetters(more) {
  const parameters = new URLSearchParams({ limit: "50" });
  if (more && nextDeadLetter) parameters.set("after", nextDeadLetter);
  try {
    const page = await call("GET", `v1/dead-letters?${parameters}`);
    $("dead-notice").replaceChildren();
    if (!more) $("dead-letters").replaceChildren();
    $("dead-letters").append(...page.dead_letters.map(deadLetterItem));
    nextDeadLetter = page.next;
    const count = $("dead-letters").childElementCount;
    $("more-dead-letters").hidden = !page.next;
    $("no-dead-letters").hidden = count > 0;
    $("dead-count").hidden = count === 0;
    $("dead-count").textContent = page.next ? `${count}+` : count;
  } catch (problem) { showProblem($("dead-notice"), problem); }
}

function deadLetterItem(letter) {
  const path = `v1/dead-letters/${encodeURIComponent(letter.id)}`;
  const act = (method, suffix) => async () => {
    try { await call(method, path + suffix); await loadDeadLetters(false); } catch (problem) { showProblem($("dead-notice"), problem); }
  };
  return make("li", {},
    make("h3", {}, letter.document_id || letter.id),
    make("p", { class: "message" }, `${letter.kind}: ${letter.message}`),
    make("div", { class: "meta" }, make("span", {}, `${t("stage")} ${letter.stage}`), make("span", {}, `${t("attempts")} ${letter.attempts}`),
      make("span", {}, time(letter.at_ms)), make("span", {}, letter.id),
      make("button", { type: "button", onclick: () => showDeadLetter(letter, path) }, t("show")),
      make("button", { type: "button", onclick: act("POST", "/replay") }, t("replay")),
      carefulButton("forget", act("DELETE", ""))));
}

async function showDeadLetter(letter, path) {
  $("dialog-title").textContent = letter.document_id || letter.id;
  $("dialog-body").replaceChildren();
  $("dialog").showModal();
  try {
    const detail = await call("GET", path);
    $("dialog-body").replaceChildren(make("p", {}, `${letter.kind}: ${letter.message}`), make("h3", {}, t("preview")), make("pre", {}, make("code", {}, detail.preview ?? "null")));
  } catch (problem) { showProblem($("dialog-body"), problem); }
}

// ---- frame: tabs, language, theme, health ----

const TABS = ["search", "documents", "dead-letters"];

function showTab(name) {
  for (const tab of TABS) {
    const chosen = tab === name;
    $(`view-${tab}`).hidden = !chosen;
    $(`tab-${tab}`).setAttribute("aria-selected", String(chosen));
    $(`tab-${tab}`).tabIndex = chosen ? 0 : -1;
  }
  if (name === "documents") loadDocuments(false);
  if (name === "dead-letters") loadDeadLetters(false);
}

function translate() {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  for (const element of document.querySelectorAll("[data-t]")) element.textContent = t(element.dataset.t);
  for (const element of document.querySelectorAll("[data-t-placeholder]")) element.placeholder = t(element.dataset.tPlaceholder);
  for (const element of document.querySelectorAll("[data-t-label]")) { element.title = t(element.dataset.tLabel); element.setAttribute("aria-label", element.title); }
  $("language").textContent = language === "zh" ? "English" : "中文";
  $("language").lang = language === "zh" ? "en" : "zh";
  const chosen = $("state-filter").value;
  $("state-filter").replaceChildren(make("option", { value: "" }, t("all")), ...Object.entries(WORDS[language].states).map(([state, name]) => make("option", { value: state }, name)));
  $("state-filter").value = chosen;
}

async function checkHealth() {
  let ready = null;
  try { ready = (await (await fetch("health/readyz")).json()).ready; } catch { /* shown as offline */ }
  $("health").className = ready ? "good" : "bad";
  $("health").textContent = t(ready === null ? "offline" : ready ? "ready" : "notReady");
}

function changeTheme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  store("theme", document.documentElement.dataset.theme);
}

function changeLanguage() {
  language = language === "zh" ? "en" : "zh";
  store("language", language);
  translate();
  checkHealth();
  loadKnowledgeSets();
  const shown = TABS.find((tab) => !$(`view-${tab}`).hidden);
  if (shown === "search" && $("hits").childElementCount) search();
  else showTab(shown);
}

/** What the address says: `#search?q=…`, `#documents`, `#dead-letters`. */
function followAddress() {
  const [name, parameters] = location.hash.slice(1).split("?");
  showTab(TABS.includes(name) ? name : "search");
  const question = new URLSearchParams(parameters).get("q");
  if (question && question !== $("query").value) { $("query").value = question; search(); }
}

function onKey(event) {
  const typing = /^(input|select|textarea)$/i.test(event.target.tagName);
  if (event.key === "/" && !typing && !$("dialog").open) {
    event.preventDefault();
    showTab("search");
    $("query").select();
  } else if ((event.key === "ArrowRight" || event.key === "ArrowLeft") && event.target.getAttribute("role") === "tab") {
    const step = event.key === "ArrowRight" ? 1 : TABS.length - 1;
    const next = TABS[(TABS.indexOf(event.target.id.slice(4)) + step) % TABS.length];
    location.hash = next;
    $(`tab-${next}`).focus();
  }
}

function start() {
  if (stored("theme")) document.documentElement.dataset.theme = stored("theme");
  translate();
  for (const tab of TABS) $(`tab-${tab}`).addEventListener("click", () => { location.hash = tab; showTab(tab); });
  $("language").addEventListener("click", changeLanguage);
  $("theme").addEventListener("click", changeTheme);
  $("search-form").addEventListener("submit", (event) => { event.preventDefault(); search(); });
  $("filters").addEventListener("change", searchRequest);
  $("files").addEventListener("change", () => { publish($("files").files); $("files").value = ""; });
  $("publish-form").addEventListener("submit", (event) => event.preventDefault());
  const drop = $("publish-form");
  for (const name of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.toggle("over", name === "dragover"); });
  }
  drop.addEventListener("drop", (event) => publish(event.dataTransfer.files));
  for (const name of ["dragover", "drop"]) document.addEventListener(name, (event) => event.preventDefault());
  for (const id of ["state-filter", "source-filter"]) $(id).addEventListener("change", () => loadDocuments(false));
  $("refresh").addEventListener("click", () => loadDocuments(false));
  $("more-documents").addEventListener("click", () => loadDocuments(true));
  $("more-dead-letters").addEventListener("click", () => loadDeadLetters(true));
  $("reconcile").addEventListener("click", reconcile);
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", followAddress);
  checkHealth();
  setInterval(checkHealth, 15 * POLL_MS);
  loadKnowledgeSets();
  loadDeadLetters(false);
  followAddress();
  if (matchMedia("(pointer: fine)").matches) $("query").focus();
}

start();
