// What the parts of the view of evaluations share: numbers of a run, and its address.
import { number } from "../words.js";

/** Steps that can lose what a question needs, along the route. */
export const STEPS = ["not_indexed", "conversion", "chunking", "filter", "coarse", "fine", "rerank", "packing", "answer"];

export const score = (value) => number(value, { minimumFractionDigits: 3, maximumFractionDigits: 3 });

/** Cases of which all evidence was found, as a share. */
export const fullShare = ({ verdicts, questions }) => (verdicts.full ?? 0) / Math.max(1, questions);

export const runPath = (run, parameters) => `v1/evaluations/${encodeURIComponent(run.id)}?${new URLSearchParams(parameters)}`;

export const comparisonPath = (run, parameters) => `v1/evaluations/${encodeURIComponent(run.id)}/comparison?${new URLSearchParams(parameters)}`;
