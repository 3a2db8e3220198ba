// A long list of the server in memory as far as it is looked at: pages around what is shown, the others are forgotten.
import { useCallback, useEffect, useRef, useState } from "../html.js";

const PAGE = 100;
/** Pages that are kept; more than two screens of any size. */
const KEPT_PAGES = 8;
/** Pages that are asked for at once on the way to one far off. */
const PAGES_AT_ONCE = 10;

/**
 * `fetchPage({after, limit, signal})` gives `{rows, next, total}`. `after` is the `next` of the rows before; `total` may be null: then the
 * list is as long as what is known of it.
 */
export class PagedList {
  constructor(fetchPage, onChange) {
    Object.assign(this, { fetchPage, onChange, pages: new Map(), total: null, isWhole: false, problem: null, known: 0, running: null });
    // Where pages begin: there is no way to a page but over one before it.
    this.cursors = new Map([[0, null]]);
    this.wanted = [0, 0];
    this.stopping = new AbortController();
  }

  get count() {
    return this.total ?? this.known;
  }

  row(index) {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  stop() {
    this.stopping.abort();
  }

  /** Sees to it that the rows from `first` to before `last` come. */
  show(first, last) {
    const from = Math.floor(first / PAGE);
    let to = Math.floor(Math.max(first, last - 1) / PAGE);
    const isNearEnd = this.total === null && !this.isWhole && last >= this.known - PAGE / 2;
    if (isNearEnd) to = Math.max(to, Math.ceil(this.known / PAGE));
    this.wanted = [from, to];
    return this.work();
  }

  /** Asks again for what is shown, and for the ways to what follows. */
  async again() {
    await this.running;
    const [from] = this.wanted;
    for (const page of this.cursors.keys()) if (page > from) this.cursors.delete(page);
    this.isWhole = false;
    this.stale = new Set(this.pages.keys());
    return this.work();
  }

  /** One after the other: each page says where the next begins. */
  work() {
    this.running ??= this.loadMissing().finally(() => { this.running = null; });
    return this.running;
  }

  async loadMissing() {
    for (let page = this.missing(); page !== null; page = this.missing()) {
      const isLoaded = await this.load(page);
      this.onChange();
      if (!isLoaded) return;
    }
  }

  /** The first page that is wanted and not there. */
  missing() {
    for (let page = this.wanted[0]; page <= this.wanted[1]; page += 1) {
      const isThere = this.pages.has(page) && !this.stale?.has(page);
      const isBeyond = this.isWhole && page * PAGE >= this.known;
      if (!isThere && !isBeyond) return page;
    }
    return null;
  }

  async load(page) {
    const begin = Math.max(...[...this.cursors.keys()].filter((known) => known <= page));
    const pages = Math.min(PAGES_AT_ONCE, page - begin + 1);
    try {
      const answer = await this.fetchPage({ after: this.cursors.get(begin), limit: pages * PAGE, signal: this.stopping.signal });
      this.take(begin, pages, answer);
      this.problem = null;
      return true;
    } catch (problem) {
      if (!this.stopping.signal.aborted) this.problem = problem;
      return false;
    }
  }

  take(begin, pages, { rows, next, total = null }) {
    for (let at = 0; at < pages; at += 1) {
      this.pages.set(begin + at, rows.slice(at * PAGE, (at + 1) * PAGE));
      this.stale?.delete(begin + at);
    }
    const end = begin * PAGE + rows.length;
    this.total = total;
    this.isWhole = !next;
    this.known = next ? Math.max(this.known, end) : end;
    if (next) this.cursors.set(begin + pages, next);
    this.forget();
  }

  forget() {
    const middle = (this.wanted[0] + this.wanted[1]) / 2;
    const far = [...this.pages.keys()].sort((one, other) => Math.abs(other - middle) - Math.abs(one - middle));
    for (const page of far) if (this.pages.size > KEPT_PAGES) this.pages.delete(page);
  }
}

/** A list that is begun anew when `key` changes. */
export function usePagedList(fetchPage, key) {
  const [, setTurn] = useState(0);
  const held = useRef(null);
  const onChange = useCallback(() => setTurn((turn) => turn + 1), []);
  if (held.current?.key !== key) {
    held.current?.list.stop();
    held.current = { key, list: new PagedList(fetchPage, onChange) };
  }
  useEffect(() => { held.current.list.show(0, 1); }, [key]);
  useEffect(() => () => held.current.list.stop(), []);
  return held.current.list;
}
