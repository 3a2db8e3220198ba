// What the tests of the page publish: both languages, everything that is rendered, and everything that must not act.

const scheduler = `# Scheduler

How tasks share a processor. It becomes fair by a virtual clock.

## Time slices

Each task runs for a slice of $\\frac{T}{n}$ milliseconds, *never* longer. Of all weights it is $s = T \\cdot \\frac{w_1}{w_1 + w_2 + w_3 + w_4 + w_5 + w_6 + w_7 + w_8 + w_9 + w_{10} + w_{11} + w_{12} + w_{13}}$ at most.

> A slice that is too short costs more than it gives.

| parameter | default | what |
|---|---|---|
| \`slice_ms\` | 4 | length of one slice |
| \`wakeup_granularity_with_a_long_name\` | 1 | how far a woken task must lag behind before it preempts the running one |

## Priorities

\`\`\`c
static int pick_next_task(struct run_queue *queue_with_a_name_that_is_far_too_long_for_a_narrow_screen_and_more_so_on_a_phone);
\`\`\`

Call [the manual](https://example.com/manual) for more, or run \`nice <priority>\`.
`;

const antenna = `# 天线倾角

## 载波聚合

载波聚合的天线倾角默认是 6 度，
配置后立即生效。

## 告警

倾角超过 12 度时产生告警 TILT-4711。
`;

export const PAYLOADS = [
  "<script>window.acted=1</script>",
  "<img src=x onerror=\"window.acted=2\">",
  "<svg onload=\"window.acted=3\"><circle r=9 /></svg>",
  "<iframe srcdoc=\"<script>parent.acted=4</script>\"></iframe>",
  "[click](javascript:window.acted=5)",
  "<a href=\"javascript:window.acted=6\">go</a>",
  "<details open ontoggle=\"window.acted=7\"><summary>x</summary></details>",
  "<math><mtext><style><img src=x onerror=window.acted=8></style></mtext></math>",
  "$\\text{<img src=x onerror=window.acted=9>}$",
  "![x](javascript:window.acted=10)",
  "`<b onclick=window.acted=11>`",
];

const hostile = `# Payload ${PAYLOADS[1]}

${PAYLOADS.join("\n\n")}

| ${PAYLOADS[1]} | ${PAYLOADS[2]} |
|---|---|
| ${PAYLOADS[0]} | ${PAYLOADS[5]} |
`;

const sentences = Array.from({ length: 60 }, (_, at) => `Step ${at}: turn screw number ${at} of the mast by ${at + 2} degrees and note value ${at * 7}.`).join(" ");

/** Six sections, none of which is short. */
const valves = Array.from({ length: 6 }, (_, section) => `## Valve ${section}\n\n${Array.from({ length: 40 }, (_, at) => `The torque of valve ${section} at mark ${at} is ${section * 41 + at} newton metres.`).join(" ")}`).join("\n\n");

/** A PDF with a page for each line of text. */
export function pdf(...texts) {
  const pages = texts.flatMap((text, at) => {
    const content = `BT /F1 24 Tf 72 700 Td (${text}) Tj ET`;
    return [
      `<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents ${5 + 2 * at} 0 R>>`,
      `<</Length ${content.length}>>stream\n${content}\nendstream`,
    ];
  });
  const objects = [
    "<</Type/Catalog/Pages 2 0 R>>",
    `<</Type/Pages/Count ${texts.length}/Kids[${texts.map((_, at) => `${4 + 2 * at} 0 R`).join(" ")}]>>`,
    "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ...pages,
  ];
  let file = "%PDF-1.4\n";
  const places = objects.map((object, at) => {
    const place = file.length;
    file += `${at + 1} 0 obj${object}endobj\n`;
    return `${String(place).padStart(10, "0")} 00000 n \n`;
  });
  return `${file}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${places.join("")}trailer<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${file.length}\n%%EOF\n`;
}

export function documents() {
  const event = (source, path, content, more = {}) => ({ source, source_path: path, content, ...more });
  return [
    event("manual", "kernel/scheduler.md", scheduler, { attributes: { product: "kernel", product_version: "6.1", language: "en", security_level: 1 } }),
    event("manual", "radio/antenna.md", antenna, { attributes: { product: "radio", language: "zh" } }),
    event("portal", "mast-1.md", `# Mast assembly\n\n${sentences}`),
    event("portal", "mast-2.md", `# Mast assembly\n\n${sentences} Done.`),
    event(`evil <img src=x onerror="window.acted=20">`, `a/<img src=x onerror="window.acted=21">.md`, hostile, { title: `Payload <script>window.acted=22</script>`, attributes: { link: "javascript:window.acted=23" } }),
    { source: "manual", source_path: "broken/manual.pdf", content_base64: Buffer.from("%PDF-1.7\nnothing").toString("base64") },
    event("portal", "valves.md", `# Valves\n\n${valves}`),
  ];
}

/** Many small documents. */
export const many = (count) => Array.from({ length: count }, (_, at) => ({ source: "many", source_path: `folder/note-${String(at).padStart(4, "0")}.md`, content: `# Note ${at}\n\nNumber ${at} of ${count}.` }));

export const SETS = {
  knowledge_sets: [
    { id: "common", name: "Everybody", name_zh: "公共知识", view: "common", description: "What everybody needs.", rules: [{ source: "manual" }] },
    { id: "radio", name: "Radio", name_zh: "无线", view: "capability", owner: "radio team", description: "Masts and antennas.", rules: [{ path: "radio/**", tags: ["antenna"] }, { source: "portal" }] },
  ],
};
