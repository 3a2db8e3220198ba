// Views that few visits need: their modules are asked for when one is shown first, so that a first visit does not wait for them.
import { html, useEffect, useState } from "../html.js";
import { t } from "../words.js";
import { Problem } from "../api.js";
import { Busy, ProblemNotice } from "./notice.js";

/** The view that `load` gives, with the same properties; another try after a failure when it is shown again. */
export function later(load) {
  let View = null;
  return function Later(properties) {
    const [problem, setProblem] = useState(null);
    const [, setReady] = useState(View !== null);
    useEffect(() => {
      if (View) return;
      load().then((view) => { View = view; setReady(true); }, () => setProblem(new Problem(t("problem.offline"))));
    }, []);
    return View ? html`<${View} ...${properties} />` : html`<${ProblemNotice} problem=${problem} />${!problem && html`<${Busy} />`}`;
  };
}
