// What tables of documents say: the statement, the rows with the place of each, and a chart where one says something.
import { html } from "../html.js";
import { number, t } from "../words.js";

/** Rows that are shown; the rest is behind the interface for programs. */
const MOST_ROWS = 200;
const WIDTH = 600;
const BAR = 22;
const LABELS = 190;
const HEIGHT = 220;

export function AnswerTable({ table }) {
  if (table.err_code !== 0) {
    const names = table.tables.map(({ name }) => name).join(", ");
    return html`<section class="tables"><p class="notice">${table.err_msg}</p>
      ${names && html`<p class="quiet">${t("tables.found", { names })}</p>`}
      ${table.sql && html`<${Statement} table=${table} />`}</section>`;
  }
  return html`<section class="tables">
    <${Chart} table=${table} />
    <${Rows} table=${table} />
    <${Statement} table=${table} />
  </section>`;
}

function Statement({ table }) {
  const used = table.tables.filter((one) => one.used);
  return html`<details class="statement"><summary>${t("tables.statement")}</summary>
    <pre><code>${table.sql}</code></pre>
    ${table.repaired && html`<p class="quiet">${t("tables.repaired")}</p>`}
    ${used.length > 0 && html`<ul class="plain">${used.map((one) => html`<li key=${one.name}>${one.name} <span class="file">${one.source} / ${one.source_path}</span> ${one.sheet} ${one.range}</li>`)}</ul>`}
  </details>`;
}

const shown = (value) => (value === null ? "–" : typeof value === "number" ? number(value) : String(value));

function Rows({ table: { columns, rows, origins, tables, truncated } }) {
  if (rows.length === 0) return null;
  const hasOrigins = origins.some((row) => row.length > 0);
  const place = (row) => (row ?? []).map((origin) => {
    const at = t("tables.row", { row: origin.sheet_row ?? origin.row });
    return tables.length > 1 ? `${tables[origin.table]?.name}: ${at}` : at;
  }).join(", ");
  return html`<details class="rows" open=${rows.length > 1}><summary>${t("tables.rows", { count: rows.length })}</summary>
    <div class="scroll"><table><thead><tr>${columns.map((column, at) => html`<th key=${at} scope="col">${column.name}</th>`)}${hasOrigins && html`<th scope="col">${t("tables.place")}</th>`}</tr></thead>
    <tbody>${rows.slice(0, MOST_ROWS).map((row, at) => html`<tr key=${at}>${row.map((value, cell) => html`<td key=${cell} class=${typeof value === "number" ? "number" : undefined}>${shown(value)}</td>`)}${hasOrigins && html`<td class="quiet">${place(origins[at])}</td>`}</tr>`)}</tbody></table></div>
    ${truncated && html`<p class="quiet">${t("tables.more")}</p>`}
  </details>`;
}

function Chart({ table: { chart, columns, rows } }) {
  if (chart.kind === "none" || chart.values.length === 0) return null;
  const [at] = chart.values;
  const points = rows.map((row) => ({ label: String(row[chart.label] ?? ""), value: row[at] })).filter(({ value }) => typeof value === "number");
  if (points.length < 2) return null;
  const drawing = chart.kind === "bar" ? bars(points) : line(points);
  return html`<figure class="chart"><figcaption>${columns[at].name}</figcaption>${drawing}</figure>`;
}

/** A bar for each row, from zero to either side. */
function bars(points) {
  const values = points.map(({ value }) => value);
  const least = Math.min(0, ...values);
  const width = Math.max(0, ...values) - least || 1;
  const room = WIDTH - LABELS - 70;
  const x = (value) => LABELS + ((value - least) / width) * room;
  return html`<svg viewBox=${`0 0 ${WIDTH} ${points.length * BAR}`} role="img" aria-label=${t("tables.chart")}>
    ${points.map(({ label, value }, at) => html`<g key=${at}>
      <text x=${LABELS - 6} y=${at * BAR + 15} text-anchor="end">${label.length > 26 ? `${label.slice(0, 25)}…` : label}<title>${label}</title></text>
      <rect x=${Math.min(x(0), x(value))} y=${at * BAR + 3} width=${Math.max(1, Math.abs(x(value) - x(0)))} height=${BAR - 6} />
      <text x=${Math.max(x(0), x(value)) + 5} y=${at * BAR + 15}>${number(value)}</text></g>`)}</svg>`;
}

/** A line in the order of the rows, or against it where time falls. */
function line(points) {
  const ordered = points[0].label > points.at(-1).label ? points.toReversed() : points;
  const values = ordered.map(({ value }) => value);
  const least = Math.min(...values);
  const height = Math.max(...values) - least || 1;
  const x = (at) => 60 + (at / (ordered.length - 1)) * (WIDTH - 80);
  const y = (value) => HEIGHT - 30 - ((value - least) / height) * (HEIGHT - 50);
  return html`<svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${t("tables.chart")}>
    <polyline points=${ordered.map(({ value }, at) => `${x(at)},${y(value)}`).join(" ")} />
    <text x="55" y=${y(Math.max(...values)) + 4} text-anchor="end">${number(Math.max(...values))}</text>
    <text x="55" y=${y(least) + 4} text-anchor="end">${number(least)}</text>
    <text x="60" y=${HEIGHT - 8}>${ordered[0].label}</text>
    <text x=${WIDTH - 20} y=${HEIGHT - 8} text-anchor="end">${ordered.at(-1).label}</text></svg>`;
}
