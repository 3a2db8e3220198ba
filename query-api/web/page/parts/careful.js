// A button that asks once more before it acts.
import { html, useEffect, useState } from "../html.js";
import { t } from "../words.js";

const FORGET_MS = 4000;

export function CarefulButton({ label, question, onAct, ...rest }) {
  const [asked, setAsked] = useState(false);
  useEffect(() => {
    if (!asked) return undefined;
    const timer = setTimeout(() => setAsked(false), FORGET_MS);
    return () => clearTimeout(timer);
  }, [asked]);
  const press = () => {
    setAsked(!asked);
    if (asked) onAct();
  };
  return html`<button type="button" class="danger" ...${rest} onClick=${press}>${asked ? question ?? t("sure") : label}</button>`;
}
