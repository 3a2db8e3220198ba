// What a search asks for, as the address says it: read from its parameters, written into them, made into a request.
import { address } from "../router.js";

/** Conditions with several values: parameter of the address, field of the filter, field of the facets. */
export const CONDITIONS = [
  { name: "set", filter: "knowledge_sets", facet: "knowledge_sets" },
  { name: "source", filter: "sources", facet: "sources" },
  { name: "tag", filter: "tags", facet: "tags" },
  { name: "product", filter: "products", facet: "products" },
  { name: "version", filter: "product_versions", facet: "product_versions" },
  { name: "language", filter: "languages", facet: "languages" },
];

const SWITCHES = ["unfold", "every", "explain", "norerank"];
const SINGLE = ["q", "strategy", "top", "document", "from", "to", "level", "relevance"];
/** Conditions with one value that need no words beside it. */
export const PLAIN = ["document", "from", "to", "level"];
/** Hits of one document, unless all are wanted. */
const PER_DOCUMENT = 3;

export function searchOf(parameters) {
  const search = {};
  for (const name of SINGLE) search[name] = parameters.get(name) ?? "";
  for (const name of SWITCHES) search[name] = parameters.has(name);
  for (const { name } of CONDITIONS) search[name] = parameters.getAll(name);
  return search;
}

export const searchAddress = (search) => address("search", { parameters: search });

export const isFiltered = (search) => countOf(search) > 0;

/** How many conditions narrow the search. */
export function countOf(search) {
  const values = CONDITIONS.reduce((sum, { name }) => sum + search[name].length, 0);
  return values + [...PLAIN, "relevance"].filter((name) => search[name]).length;
}

/** The search without any condition. */
export function unfiltered(search) {
  const empty = Object.fromEntries(CONDITIONS.map(({ name }) => [name, []]));
  const plain = Object.fromEntries(PLAIN.map((name) => [name, ""]));
  return { ...search, ...empty, ...plain, relevance: "" };
}

const DAY_MS = 24 * 60 * 60 * 1000;
const dayStart = (day) => new Date(`${day}T00:00:00`).getTime();

/** Body of `POST /v1/search`. */
export function requestOf(search, choices) {
  const filter = {};
  for (const { name, filter: field } of CONDITIONS) if (search[name].length) filter[field] = search[name];
  if (search.document) filter.document_ids = [search.document];
  if (search.from) filter.updated_from_ms = dayStart(search.from);
  if (search.to) filter.updated_before_ms = dayStart(search.to) + DAY_MS;
  if (search.level) filter.max_security_level = Number(search.level);
  const request = { query: search.q, filter, parents: true, neighbours: 2, unfold: search.unfold, explain: search.explain };
  if (!search.every && !search.document) request.per_document = PER_DOCUMENT;
  if (search.strategy) request.strategy = search.strategy;
  if (search.top) request.top_k = Number(search.top);
  if (search.relevance) request.minimum_relevance = Number(search.relevance);
  if (search.norerank && choices?.reranker) request.rerank = false;
  return request;
}
