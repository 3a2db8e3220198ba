// What tables of documents say: the statement, the rows with the place of each, and a chart where one says something.
import { html } from "../html.js";
import { address } from "../router.js";
import { number, t } from "../words.js";

/** Rows that are shown; the rest is behind the interface for programs. */
const MOST_ROWS = 200;
const BAR = 22;
const HEIGHT = 220;
const WIDEST = 600;
/** Pixels beside a chart on a narrow screen. */
const BESIDE = 72;
/** Share of it that labels have, and pixels of a letter. */
const LABELS = 0.32;
const LETTER = 7;
/** A chart is drawn as wide as it is shown, so that its letters stay as large. */
const widthOf = () => Math.max(260, Math.min(WIDEST, innerWidth - BESIDE));

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
    ${used.length > 0 && html`<ul class="plain">${used.map((one) => html`<li key=${one.name}><strong>${one.name}</strong> <span class="quiet">${one.source} / ${one.source_path} · ${one.sheet} ${one.range}</span></li>`)}</ul>`}
  </details>`;
}

/** Numbers of four digits stay together: many are years. */
const digits = (value) => number(value, { useGrouping: "min2" });
const shown = (value) => (value === null ? "–" : typeof value === "number" ? digits(value) : String(value));

function Rows({ table: { columns, rows, origins, tables, truncated } }) {
  if (rows.length === 0) return null;
  const hasOrigins = origins.some((row) => row.length > 0);
  const used = tables.filter((one) => one.used);
  const place = (row) => (row ?? []).map((origin, at) => {
    const table = tables[origin.table];
    const name = t("tables.row", { row: String(origin.sheet_row ?? origin.row) });
    return html`${at > 0 && ", "}<a href=${address("documents", { id: table.document_id })}>${used.length > 1 ? `${table.name}: ${name}` : name}</a>`;
  });
  return html`<details class="rows" open=${rows.length > 1}><summary>${t("tables.rows", { count: rows.length })}</summary>
    <div class="scroll" tabindex="0" role="region" aria-label=${t("tables.rows", { count: rows.length })}><table><thead><tr>${columns.map((column, at) => html`<th key=${at} scope="col">${column.name}</th>`)}${hasOrigins && html`<th scope="col">${t("tables.place")}</th>`}</tr></thead>
    <tbody>${rows.slice(0, MOST_ROWS).map((row, at) => html`<tr key=${at}>${row.map((value, cell) => html`<td key=${cell} class=${typeof value === "number" ? "number" : undefined}>${shown(value)}</td>`)}${hasOrigins && html`<td>${place(origins[at])}</td>`}</tr>`)}</tbody></table></div>
    ${truncated && html`<p class="quiet">${t("tables.more")}</p>`}
  </details>`;
}

function Chart({ table: { chart, columns, rows } }) {
  if (chart.kind === "none" || chart.values.length === 0) return null;
  const [at] = chart.values;
  const points = rows.map((row) => ({ label: String(row[chart.label] ?? ""), value: row[at] })).filter(({ value }) => typeof value === "number");
  if (points.length < 2) return null;
  const { name } = columns[at];
  const drawing = chart.kind === "bar" ? bars(points, name) : line(points, name);
  return html`<figure class="chart"><figcaption>${name}</figcaption>${drawing}</figure>`;
}

/** A label that fits; letters of Chinese are twice as wide. */
function shortened(label, letters) {
  let room = letters;
  const fitting = [...label].findIndex((letter) => (room -= letter > "\u2e80" ? 2 : 1) < 0);
  return fitting < 0 ? label : `${[...label].slice(0, fitting - 1).join("")}…`;
}

/** A bar for each row, from zero to either side. */
function bars(points, column) {
  const values = points.map(({ value }) => value);
  const least = Math.min(0, ...values);
  const range = Math.max(0, ...values) - least || 1;
  const width = widthOf();
  const labels = width * LABELS;
  const letters = Math.floor(labels / LETTER);
  const room = width - labels - 60;
  const x = (value) => labels + ((value - least) / range) * room;
  return html`<svg viewBox=${`0 0 ${width} ${points.length * BAR}`} role="img" aria-label=${t("tables.chartOf", { column })}>
    ${points.map(({ label, value }, at) => html`<g key=${at}>
      <text x=${labels - 6} y=${at * BAR + 15} text-anchor="end">${shortened(label, letters)}<title>${label}</title></text>
      <rect x=${Math.min(x(0), x(value))} y=${at * BAR + 3} width=${Math.max(1, Math.abs(x(value) - x(0)))} height=${BAR - 6} />
      <text x=${Math.max(x(0), x(value)) + 5} y=${at * BAR + 15}>${digits(value)}</text></g>`)}</svg>`;
}

/** A line in the order of the rows, or against it where time falls. */
function line(points, column) {
  const ordered = points[0].label > points.at(-1).label ? points.toReversed() : points;
  const values = ordered.map(({ value }) => value);
  const least = Math.min(...values);
  const height = Math.max(...values) - least || 1;
  const width = widthOf();
  const x = (at) => 60 + (at / (ordered.length - 1)) * (width - 80);
  const y = (value) => HEIGHT - 30 - ((value - least) / height) * (HEIGHT - 50);
  return html`<svg viewBox=${`0 0 ${width} ${HEIGHT}`} role="img" aria-label=${t("tables.chartOf", { column })}>
    <polyline points=${ordered.map(({ value }, at) => `${x(at)},${y(value)}`).join(" ")} />
    <text x="55" y=${y(Math.max(...values)) + 4} text-anchor="end">${digits(Math.max(...values))}</text>
    <text x="55" y=${y(least) + 4} text-anchor="end">${digits(least)}</text>
    <text x="60" y=${HEIGHT - 8}>${ordered[0].label}</text>
    <text x=${width - 20} y=${HEIGHT - 8} text-anchor="end">${ordered.at(-1).label}</text></svg>`;
}
