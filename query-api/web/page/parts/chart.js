// A line chart by uPlot, which is loaded with the first chart and not before. A table beside it says the same.
import { html, useEffect, useRef, useState } from "../html.js";
import { t } from "../words.js";
import { ProblemNotice } from "./notice.js";

const HEIGHT = 220;
/** Room of one label below the chart. */
const LABEL_PIXELS = 90;
/** Colours of the lines, as the style names them. */
const COLOURS = ["--accent", "--good", "--warn"];
/** Pixels drawn and left out, so that lines on top of each other, and without colours, can be told apart. */
const DASHES = [[], [9, 5], [2, 4]];

let loading = null;

/** The library with its style; another try after a failure. */
function library() {
  loading ??= Promise.all([import("../vendor/uplot.js"), styled()]).then(([module]) => module.default, (error) => {
    loading = null;
    throw error;
  });
  return loading;
}

function styled() {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = new URL("../vendor/uplot.css", import.meta.url);
  return new Promise((resolve, reject) => {
    link.onload = resolve;
    link.onerror = () => { link.remove(); reject(new Error(link.href)); };
    document.head.append(link);
  });
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/**
 * Shares from 0 to 1, a line each: `lines` are `{label, values}`, `labels` what stands below each point, evenly spaced. `name` is read
 * aloud.
 */
export function Chart({ name, lines, labels }) {
  const place = useRef(null);
  const [problem, setProblem] = useState(null);
  useEffect(() => {
    const stopping = new AbortController();
    const fail = () => setProblem({ message: t("chart.failed"), isTranslated: true });
    library().then((uPlot) => stopping.signal.aborted || drawn(uPlot, place.current, { lines, labels, signal: stopping.signal }), fail);
    return () => stopping.abort();
  }, [JSON.stringify([lines, labels])]);
  return html`<figure class="lines">
    <figcaption>${lines.map(({ label }, at) => html`<span key=${label} class="key line-${at}">${label}</span>`)}</figcaption>
    <div class="plot" role="img" aria-label=${name} ref=${place} />
    <${ProblemNotice} problem=${problem} />
  </figure>`;
}

/** Draws, and draws again when there is another width or theme, until the signal. */
function drawn(uPlot, element, { lines, labels, signal }) {
  let plot = null;
  const draw = () => {
    plot?.destroy();
    plot = new uPlot(options(element.clientWidth, lines, labels), [labels.map((_, at) => at), ...lines.map(({ values }) => values)], element);
  };
  draw();
  const resized = new ResizeObserver(() => plot.width !== element.clientWidth && plot.setSize({ width: element.clientWidth, height: HEIGHT }));
  resized.observe(element);
  const themed = new MutationObserver(draw);
  themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw, { signal });
  signal.addEventListener("abort", () => {
    resized.disconnect();
    themed.disconnect();
    plot.destroy();
  });
}

function options(width, lines, labels) {
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 }, font: "12px system-ui, sans-serif" };
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false, range: [-0.5, labels.length - 0.5] }, y: { range: [0, 1] } },
    axes: [
      { ...axis, size: 32, splits: () => spread(labels.length, Math.max(1, Math.floor(width / LABEL_PIXELS))), values: (_, places) => places.map((at) => labels[at]) },
      { ...axis, size: 44, values: (_, places) => places.map((value) => value.toFixed(1)) },
    ],
    series: [{}, ...lines.map(({ label }, at) => ({ label, stroke: colour(COLOURS[at]), width: 2, dash: DASHES[at], points: { show: true, size: 7, fill: colour(COLOURS[at]) } }))],
  };
}

/** At most `room` places of `count`, evenly from the last. */
function spread(count, room) {
  const step = Math.ceil(count / room);
  return Array.from({ length: Math.ceil(count / step) }, (_, at) => count - 1 - at * step).reverse();
}
