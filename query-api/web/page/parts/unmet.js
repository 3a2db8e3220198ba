// The values of a filter that no document has, with the nearest that some have.
import { html } from "../html.js";
import { t } from "../words.js";

export const UnmetValues = ({ unmet }) => unmet.values.map((value) => html`<p>${absent(value)}</p>`);

const absent = ({ value, did_you_mean: near }) => (near ? t("search.absentNear", { value, near }) : t("search.absent", { value }));
