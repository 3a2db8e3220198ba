// A problem as the server put it, with its hint. The server speaks English, whatever the page does.
import { html } from "../html.js";
import { t } from "../words.js";

export function ProblemNotice({ problem }) {
  if (!problem) return null;
  return html`<div class="notice bad" role="alert">
    <span lang=${problem.isTranslated ? undefined : "en"}>${problem.message}</span>
    ${problem.hint && html`<small lang="en">${problem.hint}</small>`}
    ${problem.trace && html`<small>${t("problem.trace")} <code>${problem.trace}</code></small>`}
  </div>`;
}

export const Empty = ({ children }) => html`<div class="empty">${children}</div>`;

/** `step` says what is being done, where that is known. */
export const Busy = ({ step }) => html`<p class="busy" role="status">${step || t("busy")}</p>`;
