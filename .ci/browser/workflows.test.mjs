// The ways of answering beside the usual one, and judging and reports, in a real browser: each is asked as a user does, against a scripted
// language model. Run by `.ci/test`; by hand as page.test.mjs.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";

import { assertAccessible, launch, openPage, picture } from "./browser.mjs";
import { SETS } from "./documents.mjs";
import { Server, until } from "./server.mjs";

const binary = path.resolve(process.env.TRIBUTARY_BINARY);

const PROFILES = `[[source_profile]]
name = "code"
source = ["code"]
chunker = "code"

[[source_profile]]
name = "faq"
source = ["faq"]
chunker = "faq"

[[source_profile]]
name = "default"
`;

const book = `# Scheduling

## Time slices

A time slice is the time that a task may run before the scheduler picks another one. When the time slice is used up, the task goes to the end of the queue.

## Interrupts

The timer interrupt comes a hundred times a second and counts the time slice down.
`;

const code = `/* Picks the task that runs next. */
struct task *pick_next_task(struct rq *rq)
{
	return first_task(rq);
}

/* Counts the time slice of the running task down. */
void task_tick(struct rq *rq_of_a_processor_with_a_name_that_is_far_too_long_for_a_narrow_screen, int how_many_ticks_have_passed)
{
	if (--rq->slice == 0)
		resched(rq);
}
`;

const faq = `# Questions

## Q: What does \`ActivationError: ERR-1024\` mean, and what helps?

A: The carrier was not configured before it was activated. Configure the carrier first:

\`\`\`python
cell.configure(carrier=2)
cell.activate(carrier=2)
\`\`\`

Operating system: Linux 6.1

Hardware: BBU5900
`;

const sales = `Region,Year,Units sold
North,2023,1200
South,2023,3400
East,2023,900
West,2023,2100
"A region with a name that is long enough to be cut off where it labels a bar",2023,50
`;

const chinese = `# 调度

## 时间片

时间片是任务一次可以运行的时间。时间片用完之后，调度器选择另一个任务。
`;

const DOCUMENTS = [
  { source: "book", source_path: "scheduling.md", content: book, attributes: { language: "en" } },
  { source: "book", source_path: "调度.md", content: chinese, attributes: { language: "zh" } },
  { source: "code", source_path: "kernel/sched.c", content: code },
  { source: "faq", source_path: "radio.md", content: faq },
  { source: "sales", source_path: "sales.csv", content: sales, media_type: "text/csv" },
];

const LOG = `Traceback (most recent call last):
  File "/opt/radio/activate.py", line 33, in <module>
    cell.activate(carrier=2)
ActivationError: ERR-1024 at 0x7f3a2b4c5d60`;

const FACT = "A time slice is the time that a task may run before the scheduler picks another one [1].";
const CHOICE = {
  reasoning: "The scheduler picks the next task [1], so it is A. The student chose B.",
  own_answer: ["A"],
  option_analysis: [
    { label: "A", is_correct: true, analysis: "It picks the next task when the time slice is used up [1]." },
    { label: "B", is_correct: false, analysis: "It works before a program runs." },
  ],
  analysis: "When the time slice is used up, the task goes to the end of the queue [1].",
  knowledge_point: "Time slices",
  confidence: 0.9,
};
const WORDS = {
  correct_answer: "The time that a task may run before the scheduler picks another one [1].",
  reasoning: "The answer names the time, but not what comes after it [1].",
  is_correct: true,
  confidence: 0.7,
  analysis: "When the time slice is used up, the task goes to the end of the queue [1].",
  knowledge_point: "Time slices",
  answer_quality: "fair",
  improvement_suggestions: "Say what happens when the time slice is used up.",
};
const section = (title, ...questions) => ({ title, questions });
const OUTLINE = {
  title: "How tasks share a processor",
  sections: [
    section("Time slices", "What is a time slice?", "When is it used up?"),
    section("Interrupts", "What does the timer interrupt do?", "How often does it come?"),
    section("Conclusion", "What follows from time slices?", "What happens to a task?"),
  ],
};
const EXPLAINED = `## Purpose

It counts the time slice of the running task down [1].

## Key functions

- \`task_tick\` counts the time slice of the running task down [1].

## Flow

1. \`task_tick\` calls \`resched\` [1].

\`\`\`c
	if (--rq->slice == 0)
		resched(rq);
\`\`\`
`;
const MAPPED = `## Analysis

ERR-1024 says that the carrier was not configured before it was activated [1].

## Solution

Configure the carrier first [1]:

\`\`\`python
cell.configure(carrier=2)
cell.activate(carrier=2)
\`\`\`

Or try this:

\`\`\`python
cell.reset_everything_with_a_name_that_is_far_too_long_for_a_narrow_screen(carrier=2, force=True)
\`\`\`
`;
const sql = (text, rest = {}) => JSON.stringify({ sql: text, err_code: 0, err_msg: "", ...rest });
/** Longer than any test waits for. */
const ENDLESS = { delay_ms: 600_000 };

const SCRIPT = [
  { prompt: "judge_choice", contains: "endlessly", reply: JSON.stringify(CHOICE), ...ENDLESS },
  { prompt: "judge_choice", contains: "broken", reply: "no JSON at all" },
  { prompt: "judge_choice", reply: JSON.stringify(CHOICE) },
  { prompt: "judge_text", reply: JSON.stringify(WORDS) },
  { prompt: "question_explanation", reply: JSON.stringify({ explanation: `${"The scheduler gives each task a slice of time, and takes the processor away when it is used up. ".repeat(3)}${FACT}` }) },
  { prompt: "report_outline", reply: JSON.stringify(OUTLINE) },
  { prompt: "report_section", contains: "What does the timer interrupt do?", failure: "unreachable" },
  { prompt: "report_section", contains: "endlessly", reply: FACT, ...ENDLESS },
  { prompt: "report_section", reply: `${FACT} A task of high rank owns nineteen processors [1].\n\n| task | slice |\n|---|---|\n| first | 10 ms |\n` },
  { prompt: "table_sql", contains: "enigmatic", reply: sql("", { err_code: 3005, err_msg: "it is not said which region is meant" }) },
  { prompt: "table_sql", contains: "How many regions", reply: sql("SELECT count(*) AS regions FROM sales") },
  { prompt: "table_sql", reply: sql('SELECT "Region", "Units sold" FROM sales ORDER BY "Units sold" DESC') },
  { prompt: "error_map_answer", reply: MAPPED },
  { prompt: "code_explanation", reply: EXPLAINED },
  { prompt: "textbook_answer", reply: FACT },
  { reply: FACT },
];

const ROLES = ["answer", "judge", "report", "sql"];
/** Few short documents, embedded by their words: a question in many words is far from them. */
const NEAR = { "query_api.answer.refuse_below": 0.05, "query_api.answer.error_map.refuse_below": 0.02, "query_api.answer.code.refuse_below.en": 0.02 };
const OF_PARTS = { "query_api.answer.course.textbook.sources": '["book"]', "query_api.answer.course.code.sources": '["code"]', "query_api.answer.code.scope.sources": '["code"]' };

/** The model is made to fail on purpose; no test waits for it because of another. */
const NEVER_LEFT_ALONE = { "models.chat.endpoints.talker.circuit_failures": 1000 };

let browser;
let server;

before(async () => {
  server = await Server.start(binary, { script: SCRIPT, roles: ROLES, profiles: PROFILES, settings: { ...NEAR, ...OF_PARTS, ...NEVER_LEFT_ALONE } });
  await server.call("PUT", "knowledge-sets", SETS);
  await server.publish(DOCUMENTS);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const open = (t, address, options = {}) => openPage(t, browser, server.url, address, options);
const turns = (page) => page.locator("article.turn");
const last = (page) => turns(page).last();
const reply = (page) => last(page).locator(".answer .text").first();

/** Asks in a workflow, and waits for the answer. */
async function ask(page, workflow, question) {
  const settings = page.locator(".ask-settings");
  if ((await settings.getAttribute("open")) === null) await settings.locator("> summary").click();
  await settings.locator("select", { has: page.locator("option[value=course]") }).selectOption(workflow);
  await settings.locator("> summary").click();
  const count = await turns(page).count();
  await page.locator("#question").fill(question);
  await page.locator("#question").press("Enter");
  await turns(page).nth(count).and(page.locator("[aria-busy=false]")).waitFor();
  await until("the answer is rendered", async () => (await last(page).locator(".text.plain").count()) === 0);
}

/** Fills the form of a question. */
async function fill(page, { kind = "single", question = "What gives a task its time slice?", options = "The scheduler\nThe linker", student = "B", correct = "" } = {}) {
  const form = page.locator("form.judge");
  await form.locator("select").first().selectOption(kind);
  const values = kind === "text" ? [question, student, correct] : [question, options, student, correct];
  for (const [at, value] of values.entries()) await form.locator("textarea").nth(at).fill(value);
  return form;
}

test("an answer with options is judged, says so aloud, and leads to its passages", async (t) => {
  const page = await open(t, "judge");
  const form = await fill(page);
  await form.getByRole("button", { name: "Judge" }).press("Enter");
  const judged = page.locator(".judged");
  await judged.getByRole("heading", { name: "Wrong" }).waitFor();
  await page.getByRole("status").filter({ hasText: "Wrong, 90% sure" }).waitFor({ state: "attached" });
  assert.match(await judged.innerText(), /Right answer: A[\s\S]*The scheduler[\s\S]*The linker/);
  assert.equal(await judged.getByRole("img", { name: "belongs to the right answer", exact: true }).count(), 1);
  await picture(page, "judge-choice");
  await judged.locator("a.citation").first().click();
  await page.locator("article.document").getByText("goes to the end of the queue").waitFor();
});

test("an answer in words is judged with what would make it better, and a question is explained", async (t) => {
  const page = await open(t, "judge");
  const form = await fill(page, { kind: "text", question: "What is a time slice?", student: "A time." });
  assert.equal(await form.locator("textarea").count(), 3, "words have no options");
  await form.getByRole("button", { name: "Judge" }).click();
  await page.getByRole("heading", { name: "Right · fair" }).waitFor();
  await page.getByText("Say what happens when the time slice is used up.").waitFor();
  await form.getByRole("button", { name: "Explain the question" }).click();
  await page.getByRole("heading", { name: "Explanation" }).waitFor();
  await page.getByText(/3\d\d characters/).waitFor();
  await page.locator("ol.cited a").first().click();
  await page.locator("article.document").waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Explanation" }).waitFor();
});

test("what cannot be judged says why, and what was typed is kept", async (t) => {
  const page = await open(t, "judge");
  const form = await fill(page, { student: "E" });
  await form.getByRole("button", { name: "Judge" }).click();
  await page.getByRole("alert").getByText(/student_answer/).waitFor();
  assert.equal(await form.locator("textarea").nth(2).inputValue(), "E");
  await form.locator("textarea").nth(2).fill("A");
  await form.locator("textarea").nth(0).fill("A broken question of a time slice");
  await form.locator("textarea").nth(3).fill("A");
  await form.getByRole("button", { name: "Judge" }).click();
  await page.getByRole("heading", { name: "Right" }).waitFor();
  await page.getByText("compared with the given answer").waitFor();
  await page.getByText(/the language model that judges/).waitFor();
  await page.getByRole("button", { name: "中文" }).click();
  await until("the question is still there", async () => (await page.locator("form.judge textarea").first().inputValue()) === "A broken question of a time slice");
});

const line = (question, student, rest = {}) => JSON.stringify({ kind: "single", question, options: ["The scheduler", "The linker"], student_answer: student, ...rest });
const file = (name, lines) => ({ name, mimeType: "application/jsonl", buffer: Buffer.from(lines.join("\n")) });

test("a file of questions is judged with progress, failures by line, and results to keep", async (t) => {
  const page = await open(t, "judge");
  const questions = [line("What gives a time slice?", "A"), line("What counts a time slice down?", "B"), "no JSON", "", line("What is a time slice?", "Z"), line("broken time slice", "A", { correct_answer: "A" })];
  await page.getByLabel("A file of questions").setInputFiles(file("questions.jsonl", questions));
  await page.getByRole("status").filter({ hasText: "5 of 5 done, 2 right" }).waitFor();
  await page.getByText("2 lines not judged").waitFor();
  const rows = page.locator("tbody tr");
  assert.deepEqual(await rows.locator("td:first-child").allInnerTexts(), ["1", "2", "3", "5", "6"]);
  assert.match(await rows.nth(1).innerText(), /Wrong/);
  assert.match(await rows.nth(4).innerText(), /compared with the given answer/);
  await picture(page, "judge-batch");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save the results" }).click()]);
  const results = (await readFile(await download.path(), "utf8")).trim().split("\n").map(JSON.parse);
  assert.deepEqual(results.map(({ line: at }) => at).sort(), [1, 2, 3, 5, 6]);
});

test("a file is stopped, and what is judged stays", async (t) => {
  const page = await open(t, "judge");
  const questions = [line("What gives a time slice?", "A"), ...Array.from({ length: 6 }, () => line("Judge endlessly: what gives a time slice?", "A"))];
  await page.getByLabel("A file of questions").setInputFiles(file("many.jsonl", questions));
  await page.getByRole("status").filter({ hasText: "1 of 7 done" }).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
  assert.equal(await page.locator("tbody tr").count(), 1);
  assert.ok(await page.getByRole("button", { name: "Choose a file" }).isEnabled(), "another file can be judged");
});

test("an address of no report says so, until another is begun; one of which nothing is kept says that", async (t) => {
  const page = await open(t, "report/ffff");
  await page.locator(".notice.bad").waitFor();
  await page.locator("header nav a", { hasText: "Report" }).click();
  await page.locator(".notice.bad").waitFor({ state: "detached" });
  await page.locator("#question").fill("Welche Farbe hat das Zebra?");
  await page.getByRole("button", { name: "Write the report" }).click();
  await page.locator("main article").getByText("The documents do not answer this question.").waitFor();
  await page.reload();
  await page.getByText("Nothing is written of it yet.").waitFor();
  assert.equal(await page.locator("#question").inputValue(), "Welche Farbe hat das Zebra?");
  await page.getByRole("button", { name: "Go on" }).click();
  await page.locator("main article").waitFor();
  assert.equal(await page.getByText("Nothing is written of it yet.").count(), 0);
});

test("a report that is being written is stopped", async (t) => {
  const page = await open(t, "report");
  await page.locator("#question").fill("Tell endlessly of time slices and of what a task may run");
  await page.getByRole("button", { name: "Write the report" }).click();
  await page.getByRole("status").filter({ hasText: "0 of" }).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
  assert.ok(await page.getByRole("button", { name: "Write the report" }).isEnabled());
});

test("a report has its outline with the state of each section, the text, sources and files", async (t) => {
  const page = await open(t, "report");
  await page.locator("#question").fill("How do tasks share a processor by time slices?");
  await page.getByLabel("Length").selectOption("deep");
  await page.getByRole("button", { name: "Write the report" }).press("Enter");
  await page.getByRole("status").filter({ hasText: "3 of 3 sections written" }).waitFor();
  const planned = page.locator(".card > ol > li");
  assert.match(await planned.nth(0).innerText(), /Time slices\s+written[\s\S]*When is it used up/);
  assert.match(await planned.nth(1).innerText(), /Interrupts\s+in the words of the documents/);
  const text = page.locator("main article");
  await text.getByRole("heading", { name: "Conclusion" }).waitFor();
  await text.locator("td", { hasText: "10 ms" }).first().waitFor();
  await page.getByText(/the language model that writes sections/).waitFor();
  await picture(page, "report-deep");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save as Markdown" }).click()]);
  assert.match(await readFile(await download.path(), "utf8"), /# How tasks share a processor/);
  await page.getByText("Open the sources").click();
  await page.locator("ol.cited a").first().waitFor();
  await text.locator(".doubtful", { hasText: "owns nineteen processors" }).first().waitFor();
  const written = await text.innerText();
  await page.reload();
  await text.getByRole("heading", { name: "Conclusion" }).waitFor();
  await text.getByRole("heading", { name: "Interrupts" }).waitFor();
  await page.getByRole("button", { name: "Go on" }).click();
  await text.getByRole("heading", { name: "Interrupts" }).waitFor();
  await text.locator(".doubtful").first().waitFor();
  assert.equal(await text.innerText(), written, "a report stands in the address");
  assert.equal(await page.getByLabel("Length").inputValue(), "deep");
  await text.locator("a.citation").first().click();
  await page.locator("article.document").getByText("may run before the scheduler").waitFor();
  await page.goBack();
  await text.getByRole("heading", { name: "Conclusion" }).waitFor();
});

test("an error log is answered in parts, with what is quoted word for word and what is in no source", async (t) => {
  const page = await open(t, "ask");
  await ask(page, "error_map", LOG);
  for (const name of ["Analysis", "Solution", "Environment"]) await reply(page).getByRole("heading", { name }).waitFor();
  assert.match(await reply(page).innerText(), /System: Linux 6\.1[\s\S]*Hardware: BBU5900/);
  assert.match(await reply(page).locator("pre").first().innerText(), /cell\.configure\(carrier=2\)/);
  await reply(page).getByText("This code stands in no source").waitFor();
  await last(page).getByText("1 block of code stands in no source.").waitFor();
  await last(page).getByText(/How it was answered/).click();
  await last(page).locator("dd").filter({ hasText: /^ActivationError: ERR-1024$/ }).waitFor();
  await picture(page, "ask-error-map");
});

test("rows of a table have their statement, chart and place, and lead to the document", async (t) => {
  const page = await open(t, "ask");
  await ask(page, "table", "Which region sold most units in 2023?");
  const tables = last(page).locator(".tables");
  assert.match(await tables.locator("tbody tr").first().innerText(), /South\s+3400/);
  await tables.getByRole("img", { name: /Units sold/ }).waitFor();
  await tables.getByText("SQL statement").click();
  assert.match(await tables.locator("pre").innerText(), /SELECT "Region"/);
  await picture(page, "ask-table");
  await ask(page, "table", "How many regions are there in sales?");
  assert.match(await last(page).innerText(), /5/);
  assert.equal(await last(page).locator(".chart").count(), 0);
  await ask(page, "table", "Something enigmatic about a region of sales");
  await last(page).getByText("it is not said which region is meant", { exact: true }).waitFor();
  await turns(page).first().getByRole("link", { name: "row 3" }).click();
  await page.locator("article.document").getByText("South").first().waitFor();
});

test("code is explained with the lines of its definitions, which open in the file", async (t) => {
  const page = await open(t, "ask");
  await ask(page, "code", "What counts the time slice of a task down?");
  for (const name of ["Purpose", "Key functions", "Flow"]) await reply(page).getByRole("heading", { name }).waitFor();
  assert.equal(await reply(page).locator("pre a").count(), 0);
  await last(page).getByText(/\d sources?, \d cited/).click();
  await last(page).getByText(/code \/ kernel\/sched\.c:\d+-\d+/).first().waitFor();
  await picture(page, "ask-code");
  await reply(page).locator("a.citation").first().click();
  await page.locator("article.document").getByText("Counts the time slice of the running task down").first().waitFor();
});

test("a course answers from the book, then behind a heading from the code", async (t) => {
  const page = await open(t, "ask");
  await ask(page, "course", "How is the time slice of a task used up?");
  const text = await reply(page).innerText();
  assert.ok(text.indexOf("may run before the scheduler") < text.indexOf("Source code"), text);
  assert.ok(text.indexOf("Source code") < text.indexOf("Purpose"), text);
  await reply(page).getByRole("heading", { name: "Source code" }).waitFor();
  await picture(page, "ask-course");
});

const SIZES = [[1280, false, "en-US"], [390, true, "zh-CN"], [390, false, "en-US"], [1280, true, "zh-CN"]];

test("no state of these views has serious findings of accessibility or is wider than the screen", async (t) => {
  for (const [width, dark, language] of SIZES) {
    const options = { width, dark, language };
    const check = async (page, what) => {
      await page.evaluate(() => document.querySelectorAll("main details").forEach((one) => { one.open = true; }));
      const name = `${what}-${width}-${dark ? "dark" : "light"}-${language}`;
      await picture(page, name);
      await assertAccessible(page, name);
    };
    const judge = await open(t, "judge", options);
    await fill(judge, { correct: "B" });
    await judge.locator("form.judge button").first().click();
    await judge.locator(".judged").waitFor();
    await judge.locator("input[type=file]").setInputFiles(file("questions.jsonl", [line("What gives a time slice?", "A"), "no JSON"]));
    await judge.locator("tbody tr").nth(1).waitFor();
    await check(judge, "judge");
    const report = await open(t, "report", options);
    await report.locator("#question").fill("How do tasks share a processor by time slices?");
    await report.locator("form.report select").first().selectOption("deep");
    await report.locator("form.report button").first().click();
    await report.locator("main article .text").waitFor();
    await check(report, "report");
    const asking = await open(t, "ask", options);
    await ask(asking, "error_map", LOG);
    await ask(asking, "table", "Which region sold most units in 2023?");
    await ask(asking, "course", "How is the time slice of a task used up?");
    await check(asking, "ask-workflows");
  }
});
