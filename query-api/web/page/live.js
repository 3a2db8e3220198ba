// News of the server: one stream of events for the whole page. While it cannot be had, the page asks again every few seconds and says so.
// A page that is not seen has none: a browser has few connections for all pages of a server, and streams of many would leave none to ask by.
import { useEffect, useState } from "./html.js";
import { isSignedOut, reads } from "./session.js";

const ASK_AGAIN_MS = 5000;
const listeners = new Set();
const watchers = new Set();
let live = false;
let source = null;
let timer = null;

function tell() {
  listeners.forEach((listener) => listener());
}

function setLive(value) {
  if (live !== value) {
    live = value;
    watchers.forEach((watcher) => watcher(value));
  }
  clearInterval(timer);
  timer = live || document.hidden ? null : setInterval(tell, ASK_AGAIN_MS);
}

function disconnect() {
  source?.close();
  source = null;
  setLive(false);
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) disconnect();
  else if (listeners.size > 0) connect();
});

function connect() {
  if (source || document.hidden) return;
  if (isSignedOut() || !reads()) { // the stream would be refused; who may not read asks again
    setLive(false);
    return;
  }
  source = new EventSource("v1/events");
  source.onopen = () => {
    setLive(true);
    tell(); // what happened before the connection
  };
  source.onerror = () => {
    setLive(false);
    if (source.readyState !== EventSource.CLOSED) return; // it tries again by itself
    source = null;
    setTimeout(connect, ASK_AGAIN_MS);
  };
  source.addEventListener("documents", tell);
}

/** Calls `listener` whenever something may have changed, as long as the component is shown. */
export function useNews(listener) {
  useEffect(() => {
    connect();
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, [listener]);
}

/** Whether news come by themselves. */
export function useLive() {
  const [value, setValue] = useState(live);
  useEffect(() => {
    setValue(live);
    watchers.add(setValue);
    return () => watchers.delete(setValue);
  }, []);
  return value;
}
