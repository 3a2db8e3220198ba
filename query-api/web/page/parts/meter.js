// A share from 0 to 1 as a bar.
import { html } from "../html.js";

export const Meter = ({ share }) => html`<span class="meter" aria-hidden="true"><i style=${{ width: `${Math.round(100 * Math.min(1, Math.max(0, share)))}%` }} /></span>`;
