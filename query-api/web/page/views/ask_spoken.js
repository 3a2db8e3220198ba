// What a screen reader says of an answer that comes in: its steps, then whole sentences now and then, and how it ended.
import { useEffect, useRef, useState } from "../html.js";
import { named, t } from "../words.js";

const SAY_AGAIN_MS = 3000;
const SENTENCE_END = /[.!?。！？\n](?=\s|$|[^\s\p{P}])/gu;

/** Where the last whole sentence ends. */
function wholeSentences(text) {
  const ends = [...text.matchAll(SENTENCE_END)];
  return ends.length ? ends.at(-1).index + 1 : 0;
}

export function useSpoken(talk) {
  const [spoken, setSpoken] = useState("");
  const followed = useRef(null);
  const said = useRef(0);
  const { running } = talk ?? {};
  const step = running?.live?.steps.at(-1);
  useEffect(() => {
    if (running && step) setSpoken(named("ask.step", step));
  }, [running, step]);
  useEffect(() => {
    if (!running) {
      if (followed.current) setSpoken(ending(followed.current, said.current));
      followed.current = null;
      return undefined;
    }
    followed.current = running;
    said.current = 0;
    const timer = setInterval(() => {
      const text = running.live?.text ?? "";
      const end = wholeSentences(text);
      if (end <= said.current) return;
      setSpoken(text.slice(said.current, end));
      said.current = end;
    }, SAY_AGAIN_MS);
    return () => clearInterval(timer);
  }, [running]);
  return spoken;
}

function ending({ state, answer, failure }, said) {
  if (state === "answered") return `${answer.answer.slice(said)} ${t(`ask.verdict.${answer.verdict}`)}`;
  return failure?.code === "stopped" ? t("ask.failure.stopped") : t("ask.failed");
}
