// What a component asks the server for: the answer, or the problem, and a way to ask again.
import { useCallback, useEffect, useRef, useState } from "../html.js";

/** Runs `load({signal})` now and whenever `key` changes; the answer to an older question is dropped. */
export function useResource(load, key) {
  const [state, setState] = useState({ value: null, problem: null, busy: true });
  const running = useRef(null);
  const latest = useRef(load);
  latest.current = load;
  const reload = useCallback(async () => {
    running.current?.abort();
    const turn = new AbortController();
    running.current = turn;
    setState((state) => ({ ...state, busy: true }));
    try {
      const value = await latest.current({ signal: turn.signal });
      if (!turn.signal.aborted) setState({ value, problem: null, busy: false });
    } catch (problem) {
      if (!turn.signal.aborted) setState((state) => ({ ...state, problem, busy: false }));
    }
  }, []);
  useEffect(() => {
    reload();
    return () => running.current?.abort();
  }, [key]);
  return { ...state, reload };
}
