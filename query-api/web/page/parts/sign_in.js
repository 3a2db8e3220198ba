// Signing in with an API key, where the server wants one. The page keeps no key: the server gives it a cookie for one, which pictures and streams carry too.
import { html, useEffect, useState } from "../html.js";
import { call, get, onKeyWanted } from "../api.js";
import { t } from "../words.js";
import { Dialog } from "./dialog.js";
import { ProblemNotice } from "./notice.js";

/** Asks for a key as soon as the server wants one. */
export function SignIn() {
  const [isWanted, setWanted] = useState(false);
  const [problem, setProblem] = useState(null);
  useEffect(() => onKeyWanted(() => setWanted(true)), []);
  if (!isWanted) return null;
  const signIn = async (event) => {
    event.preventDefault();
    const key = new FormData(event.currentTarget).get("key").trim();
    // A header has room for nothing else, and a key for no more.
    if (!/^[!-~]+$/.test(key)) return;
    try {
      await call("POST", "v1/session", undefined, { headers: { authorization: `Bearer ${key}` } });
      location.reload();
    } catch (error) {
      setProblem(error);
    }
  };
  return html`<${Dialog} title=${t("signIn")} onClose=${() => setWanted(false)}>
    <form onSubmit=${signIn}>
      <p><label>${t("signIn.key")} <input name="key" type="password" required autocomplete="current-password" placeholder="trb_…" /></label></p>
      <${ProblemNotice} problem=${problem} />
      <button>${t("signIn")}</button>
    </form>
  <//>`;
}

/** Signs out; nothing where no key is wanted. */
export function SignOutButton() {
  const [isSignedIn, setSignedIn] = useState(false);
  useEffect(() => {
    // Refused where a key is wanted and there is none: the page asks for one then.
    get("v1/session").then((session) => setSignedIn(session.wants_keys), () => setSignedIn(false));
  }, []);
  const signOut = async () => {
    await call("DELETE", "v1/session");
    location.reload();
  };
  return isSignedIn && html`<button type="button" onClick=${signOut}>${t("signOut")}</button>`;
}
