// A button that puts a text on the clipboard, also where the page did not come over HTTPS.
import { html, useEffect, useState } from "../html.js";
import { t } from "../words.js";

const SAID_MS = 3000;

export function CopyButton({ text }) {
  const [state, setState] = useState(null);
  useEffect(() => {
    if (!state) return undefined;
    const timer = setTimeout(() => setState(null), SAID_MS);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async () => setState((await copied(text)) ? "copy.done" : "copy.failed");
  return html`<button type="button" onClick=${copy}>${t("copy")}</button>
    <span role="status" class="quiet">${state && t(state)}</span>`;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedByHand(text); // no clipboard in this context
  }
}

function copiedByHand(text) {
  const before = document.activeElement;
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "hidden";
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  before?.focus();
  return isCopied;
}
