// The same done to many things, a few at a time, with how many are left.
import { useState } from "../html.js";

const AT_ONCE = 3;

/**
 * `run(items, act)` calls `act` for each and ends with the first problem, after what was under way; gives whether all were done. `left` is null
 * when nothing runs.
 */
export function useTogether() {
  const [left, setLeft] = useState(null);
  const [problem, setProblem] = useState(null);
  const run = async (items, act) => {
    const waiting = [...items];
    setProblem(null);
    setLeft(waiting.length);
    let refused = null;
    const worker = async () => {
      while (waiting.length > 0 && !refused) {
        try {
          await act(waiting.shift());
        } catch (error) {
          refused = error;
        }
        setLeft(waiting.length);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    setProblem(refused);
    setLeft(null);
    return !refused;
  };
  return { left, problem, run };
}
