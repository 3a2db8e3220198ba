// A button that asks once more before it acts, until one looks elsewhere: a time limit would be a hurry for some.
import { html, useState } from "../html.js";
import { t } from "../words.js";

export function CarefulButton({ label, question, onAct, ...rest }) {
  const [asked, setAsked] = useState(false);
  const press = (event) => {
    event.currentTarget.focus(); // Safari gives it no focus by itself
    setAsked(!asked);
    if (asked) onAct();
  };
  const forget = () => setAsked(false);
  const onKeyDown = (event) => { if (event.key === "Escape") forget(); };
  return html`<button type="button" class="danger" ...${rest} onClick=${press} onBlur=${forget} onKeyDown=${onKeyDown}>${asked ? question ?? t("sure") : label}</button>`;
}
