// Signing in with an API key, where the server wants one, or with the identity provider, where it has one. The page keeps no key: the server gives it a cookie for one, which pictures and streams carry too.
import { html, useEffect, useState } from "../html.js";
import { call, get, Problem } from "../api.js";
import { named, t } from "../words.js";
import { Dialog } from "./dialog.js";
import { ProblemNotice } from "./notice.js";

const REFUSED = ["unauthenticated", "key_expired", "key_revoked"];

/** Refusals of a key in the words of the page: what the server says of them is for programs. */
const ofKey = (code) => new Problem(named("signIn.refused", code), { code, isTranslated: true });

/** Trades a key for a cookie. A header has room for nothing but these characters, and a key for no more. */
async function begin(key) {
  if (!/^[!-~]+$/.test(key)) throw ofKey("unauthenticated");
  try {
    await call("POST", "v1/session", undefined, { headers: { authorization: `Bearer ${key}` } });
  } catch (problem) {
    throw REFUSED.includes(problem.code) ? ofKey(problem.code) : problem;
  }
}

/** What the way back from the identity provider says where it let nobody in; once, as the address loses it. */
function takeRefusal() {
  const code = new URLSearchParams(location.search).get("refused");
  if (!code) return null;
  history.replaceState(null, "", location.pathname + location.hash);
  return new Problem(t("signIn.failed", { reason: named("signIn.refused", code) }), { code, isTranslated: true });
}

export function SignIn({ onClose }) {
  const [problem, setProblem] = useState(takeRefusal);
  const [hasProvider, setProvider] = useState(false);
  useEffect(() => {
    // Without an answer there is the key.
    get("sign-in/ways").then((ways) => setProvider(ways.provider), () => {});
  }, []);
  const [isBusy, setBusy] = useState(false);
  const signIn = async (event) => {
    event.preventDefault();
    const field = event.currentTarget.elements.namedItem("key");
    setBusy(true);
    setProblem(null);
    try {
      await begin(field.value.trim());
      location.reload();
    } catch (refused) {
      setProblem(refused);
      setBusy(false);
      field.select();
    }
  };
  return html`<${Dialog} title=${t("signIn")} onClose=${onClose}>
    <form class="sign-in" onSubmit=${signIn}>
      <label>${t("signIn.key")} <input name="key" type="password" required autocomplete="current-password" placeholder="trb_…" /></label>
      <${ProblemNotice} problem=${problem} />
      <button class="primary" disabled=${isBusy}>${t("signIn")}</button>
      ${hasProvider && html`<a class="button" href="sign-in">${t("signIn.provider")}</a>`}
    </form>
  <//>`;
}

export function SignOutButton() {
  const signOut = async () => {
    await call("DELETE", "v1/session").catch(() => {});
    location.reload();
  };
  return html`<button type="button" onClick=${signOut}>${t("signOut")}</button>`;
}
