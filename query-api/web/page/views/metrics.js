// The text format of Prometheus, as far as the page reads it.

const LINE = /^(\w+)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** `{name, labels, value}` of each sample. */
export function parseMetrics(text) {
  return text.split("\n").filter((line) => line && !line.startsWith("#")).map((line) => {
    const [, name, labels = "", value] = LINE.exec(line) ?? [];
    return { name, labels: Object.fromEntries([...labels.matchAll(LABEL)].map(([, label, text]) => [label, text])), value: Number(value) };
  });
}

/** The value of a sample with these labels, summed over the others; null where there is none. */
export function valueOf(metrics, name, labels) {
  const found = metrics.filter((sample) => sample.name === name && Object.entries(labels).every(([label, text]) => sample.labels[label] === text));
  return found.length === 0 ? null : found.reduce((sum, sample) => sum + sample.value, 0);
}
