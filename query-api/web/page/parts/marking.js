// Marks parts of shown text that are known as text only: both are compared by their letters and digits, so that neither spaces nor what
// Markdown makes of a text keep them apart.

const LETTER = /[\p{L}\p{N}]/gu;

const lettersOf = (text) => (text.match(LETTER) ?? []).join("");

/** The letters of an element, and where each of them stands: `[node, from, to]`. */
function lettersIn(root) {
  const places = [];
  let letters = "";
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    for (const { 0: letter, index } of node.data.matchAll(LETTER)) {
      letters += letter;
      for (let unit = 0; unit < letter.length; unit += 1) places.push([node, index, index + letter.length]);
    }
  }
  return { letters, places };
}

/** Where each text stands, `[from, to]` or null; the first place after the text before it, else the first. None overlaps another. */
function findAll(letters, texts) {
  const taken = [];
  let after = 0;
  return texts.map((text) => {
    const wanted = lettersOf(text);
    if (!wanted) return null;
    const later = letters.indexOf(wanted, after);
    const from = later >= 0 ? later : letters.indexOf(wanted);
    const range = [from, from + wanted.length];
    if (from < 0 || taken.some(([first, last]) => range[0] < last && first < range[1])) return null;
    taken.push(range);
    after = range[1];
    return range;
  });
}

/** Puts a part of a text node into an element. */
function enclose(node, from, to, element) {
  const part = node.splitText(from);
  part.splitText(to - from);
  part.replaceWith(element);
  element.append(part);
  return element;
}

/** What closes a sentence or a bracket belongs to the letter before it. */
const CLOSING = /^(?:(?![\p{Ps}\p{Pi}])\p{P})*/u;

/** The parts of text nodes that a range covers, in their order, with what stands between the letters. */
function partsOf(places, [from, to]) {
  const parts = [];
  for (const [node, start, end] of places.slice(from, to)) {
    const last = parts.at(-1);
    if (last?.node === node) last.to = end;
    else {
      if (last) last.to = last.node.length;
      parts.push({ node, from: last ? 0 : start, to: end });
    }
  }
  const end = parts.at(-1);
  end.to += CLOSING.exec(end.node.data.slice(end.to))[0].length;
  return parts;
}

/** Puts each text that stands in `root` into elements that `make(at)` gives. Gives those of each text in their order, none for one that is not found. */
export function markTexts(root, texts, make) {
  const { letters, places } = lettersIn(root);
  const ranges = findAll(letters, texts);
  const marked = texts.map(() => []);
  // From the end on: what is split stays as it was before the part.
  const order = ranges.map((range, at) => ({ range, at })).filter(({ range }) => range).sort((one, other) => other.range[0] - one.range[0]);
  for (const { range, at } of order) {
    for (const { node, from, to } of partsOf(places, range).reverse()) marked[at].unshift(enclose(node, from, to, make(at)));
  }
  return marked;
}

const CITATION = /\[(\d+)\]/g;

/** Puts links that `linkOf(number)` gives in the place of citations, `[1]`; code is left as it is. */
export function linkCitations(root, linkOf) {
  for (const link of root.querySelectorAll("a")) replaceForged(link, linkOf);
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) if (!walker.currentNode.parentElement.closest("a, code, pre")) nodes.push(walker.currentNode);
  for (const node of nodes) {
    for (const { 0: written, 1: number, index } of [...node.data.matchAll(CITATION)].reverse()) {
      const link = linkOf(Number(number));
      if (link) node.splitText(index).splitText(written.length).previousSibling.replaceWith(link);
    }
  }
}

/** A text that defines where `[1]` leads would make citations lead there. */
function replaceForged(link, linkOf) {
  const number = /^\s*\[?(\d+)\]?\s*$/.exec(link.textContent)?.[1];
  const citation = number && linkOf(Number(number));
  if (citation) link.replaceWith(citation);
}
