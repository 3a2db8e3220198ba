// The state of a document or a build, as a word with a colour.
import { html, classes } from "../html.js";
import { named } from "../words.js";

const FINAL = ["indexed", "skipped", "deleted", "dead", "promoted", "rolled_back", "cancelled", "failed", "refused", "cancelled_upload"];

export const isFinal = (state) => FINAL.includes(state);

export const State = ({ state }) => html`<span class=${classes("state", state, !isFinal(state) && "moving")}>${named("state", state)}</span>`;
