#!/usr/bin/env python3
"""What each workflow makes of real inputs with a real language model: whether it ends as its interface promises, and answers to read.

    deploy/services/chat start --model 1.5b
    eval/workloads/real_workflows/run.py --url http://127.0.0.1:8080/v1 --data DIR --models FOLDER --kernel linux-6.1 --answers FILE

textbook, code, course, judge and explain ask about the textbook and the kernel (profile `os-course`), error_map and report about MindSpore (profile
`mindspore`), table about WikiTableQuestions; `--inputs` of each. The documents come in without a model. An input is kept where the stream ends in
`done` (or the status is 200), the reply has every field that openapi.json requires, cites only what it was given, and has what its workflow adds.
Whether it is right is told for what has a known answer (table, judge); the rest is for a reader: `--answers FILE` has a line of JSON each.

`--kernel` is a folder with kernel/ and mm/ of Linux; of their files those that the questions are about and `--others` more are published.
"""
import collections
import concurrent.futures
import http.client
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve()
ROOT = HERE.parents[3]
sys.path.insert(0, str(HERE.parent.parent))
sys.path.insert(0, str(HERE.parent.parent / "tables"))
from server import Server, arguments, folder_of
from sets import is_chinese, lines, models
from values import is_right

SCHEMAS = json.loads((ROOT / "query-api/openapi.json").read_text())["components"]["schemas"]
DEPTHS = {"general": 1, "deep": 3, "deeper": 6}
STATES = {"answered", "partly", "extractive", "refused", "unsourced"}
JUDGES = {"model", "given_answer", "passages", "nobody"}


def settings(asked):
    limit = str(asked.seconds * 1000)
    long = ["FIRST_PIECE_TIMEOUT_MS", "PIECE_TIMEOUT_MS", "TIMEOUT_MS"]
    waits = ["DEADLINE_MS", "TEXTBOOK__DEADLINE_MS", "TABLE__DEADLINE_MS", "JUDGE__DEADLINE_MS", "REPORT__OUTLINE_DEADLINE_MS", "REPORT__DEADLINE_MS"]
    chat = {"URL": asked.url, "MODEL": "local", "CONTEXT_TOKENS": str(asked.context), "PARALLEL": str(asked.slots), **dict.fromkeys(long, limit)}
    return {
        "TELEMETRY__FILTER": "warn",
        **{f"MODELS__CHAT__ENDPOINT__{name}": value for name, value in chat.items()},
        # What is published comes in as without a model.
        **{f"MODELS__CHAT__ROLES__{role}__ENDPOINT": "" for role in ("SUMMARIZE", "DESCRIBE_CODE")},
        **{f"QUERY_API__ANSWER__{name}": limit for name in waits},
        "QUERY_API__ASK__TIMEOUT_MS": limit,
        "QUERY_API__SERVER__REQUEST_TIMEOUT_MS": limit,
        "QUERY_API__RETRIEVAL__UNDERSTANDING__DEADLINE_MS": limit,
        **models(asked.models),
    }


def publish(asked, server, folder, source):
    address = "http://{}:{}".format(*server.address)
    command = [str(pathlib.Path(asked.tributary).resolve()), "--server", address, "publish", str(folder), "--source", source, "--wait"]
    done = subprocess.run(command, capture_output=True, text=True)
    # 3: some ended dead, such as a notebook that is none; they are named.
    print(f"{source}: {' '.join((done.stdout or done.stderr).split())[-160:]}", flush=True)
    if done.returncode not in (0, 3):
        sys.exit(f"not published: {done.returncode} {done.stderr[-400:]}")


def missing(schema, value, path=""):
    """What a schema requires and a value lacks, as paths."""
    schema = SCHEMAS[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
    if isinstance(value, list):
        return [lack for at, one in enumerate(value) for lack in missing(schema.get("items", {}), one, f"{path}[{at}]")]
    if not isinstance(value, dict) or "properties" not in schema:
        return []
    lacks = [f"{path}.{name}" for name in schema.get("required", []) if name not in value]
    parts = [(schema["properties"].get(name, {}), name) for name in value]
    return lacks + [lack for part, name in parts for lack in missing(part, value[name], f"{path}.{name}")]


def stream(server, path, body, seconds):
    """Names of the events, and what the last one says."""
    connection = http.client.HTTPConnection(*server.address, timeout=seconds)
    connection.request("POST", path, json.dumps(body), {"content-type": "application/json", "accept": "text/event-stream"})
    response = connection.getresponse()
    text = response.read().decode()
    if response.status != 200:
        return [f"status {response.status}"], {"error": text}
    events = re.findall(r"^event: ?(\S+)$", text, re.M)
    last = re.findall(r"^data: ?(.*)$", text, re.M)[-1]
    return events, json.loads(last)


def ask(workflow, needed=(), check=lambda answer: []):
    """Asks a question in a workflow, and says what is wrong with what comes."""

    def one(asked, server, wanted):
        path = "/v1/report" if workflow == "report" else "/v1/ask"
        body = {key: value for key, value in wanted.items() if key in ("question", "depth")}
        events, answer = stream(server, path, body if workflow == "report" else {**body, "workflow": workflow}, asked.seconds)
        if events[-1] != "done":
            return [f"ended in {events[-1]}: {json.dumps(answer, ensure_ascii=False)[:200]}"], {}
        wrong = missing({"$ref": "#/Answer"}, answer)
        given = {source["number"] for source in answer["sources"]}
        wrong += [f"cites {number}" for number in cited(answer["answer"]) if number not in given]
        wrong += [f"verdict {answer['verdict']}"] if answer["verdict"] not in STATES else []
        if answer["verdict"] not in ("refused", "extractive"):
            wrong += [f"no {event}" for event in needed if event not in events] + check(answer | {"asked": wanted})
            wrong += [] if is_in_language_of(answer["answer"], wanted["question"]) else ["another language"]
        told = {name: answer.get(name) for name in ("answer", "verdict", "degraded", "removed_citations")}
        told["sources"] = [[source["number"], source["source_path"], source["text"][:300]] for source in answer["sources"]]
        return wrong, told | {"unsupported": sum(not part["supported"] for part in answer["support"]), "statements": len(answer["support"])}

    return one


def is_in_language_of(text, question):
    """Chinese answers about code and errors are for the most part names and messages."""
    signs = len(re.findall("[\u3400-\u9fff]", text))
    return signs >= 10 if is_chinese(question) else not is_chinese(text)


def cited(text):
    """Numbers that stand as citations outside code."""
    plain = re.sub(r"```.*?(```|$)|`[^`\n]*`", "", text, flags=re.S)
    return {int(number) for number in re.findall(r"(?<![\w\])])\[(\d{1,2})\](?!\()", plain)}


def report_is_whole(answer):
    sections = answer["report"]["sections"]
    wanted = DEPTHS[answer["asked"].get("depth", "general")]
    wrong = [] if len(sections) == wanted else [f"{len(sections)} sections of {wanted}"]
    for section in sections:
        wrong += [f"section {section['number']} cites {number}" for number in section["cited"] if number not in section["sources"]]
        wrong += [f"section {section['number']} is empty"] if not section["text"].strip() else []
    return wrong


def error_map_is_whole(answer):
    return [] if answer.get("error_map") else ["no error_map"]


def table(asked, server, wanted):
    body = {"question": wanted["question"], "filter": {"document_ids": [f"tables/{pathlib.PurePath(wanted['table']).name}"]}}
    status, answer = server.ask("POST", "/v1/tables/query", body)
    if status != 200:
        return [f"status {status}: {answer}"], {}
    wrong = missing({"$ref": "#/TableAnswer"}, answer)
    wrong += [f"code {answer['err_code']}"] if answer["err_code"] not in (0, 3002, 3003, 3005) else []
    told = {name: answer.get(name) for name in ("sql", "err_code", "err_msg", "repaired", "degraded")}
    return wrong, told | {"right": answer["err_code"] == 0 and is_right(answer, wanted["answer"]), "verdict": f"code {answer['err_code']}"}


def judge(asked, server, wanted):
    body = {key: value for key, value in wanted.items() if key != "is_right"}
    status, judged = server.ask("POST", "/v1/questions/judge", body)
    if status != 200:
        return [f"status {status}: {judged}"], {}
    wrong = missing({"$ref": "#/Judgement"}, judged)
    wrong += [f"judged by {judged['judged_by']}"] if judged["judged_by"] not in JUDGES else []
    wrong += ["fallback without a name"] if judged["judged_by"] != "model" and "judge" not in judged["degraded"] else []
    wrong += [f"{len(judged['option_analysis'])} options analysed"] if len(judged["option_analysis"]) != len(wanted.get("options", [])) else []
    told = {name: judged.get(name) for name in ("is_correct", "own_answer", "analysis", "reasoning", "confidence", "degraded", "answer_quality")}
    return wrong, told | {"right": judged["is_correct"] == wanted["is_right"], "verdict": judged["judged_by"]}


def explain(asked, server, wanted):
    body = {key: value for key, value in wanted.items() if key != "is_right"}
    status, explained = server.ask("POST", "/v1/questions/explain", body)
    if status != 200:
        return [f"status {status}: {explained}"], {}
    wrong, length = missing({"$ref": "#/Explanation"}, explained), len(explained["explanation"])
    of_length = 300 <= length <= 500
    if not of_length and not {"explanation_length", "explanation"} & set(explained["degraded"]):
        wrong.append(f"{length} characters, and nothing says so")
    told = {name: explained.get(name) for name in ("explanation", "degraded", "removed_citations")}
    return wrong, told | {"right": of_length, "verdict": "of 300 to 500 characters" if of_length else "of another length"}


# Workflow: how it is asked.
WORKFLOWS = {
    "textbook": ask("textbook"),
    "code": ask("code", ["code_retrieval", "code_description_chunk"]),
    "course": ask("course", ["textbook_done", "code_done"]),
    "judge": judge,
    "explain": explain,
    "error_map": ask("error_map", check=error_map_is_whole),
    "report": ask("report", ["outline", "section"], report_is_whole),
    "table": table,
}
# Profile: what is published from where, and which workflows ask.
SERVERS = {
    "os-course": ["textbook", "code", "course", "judge", "explain"],
    "mindspore": ["error_map", "report"],
    None: ["table"],
}


def spread(rows, count):
    """So many of all, evenly."""
    return [rows[at * len(rows) // count] for at in range(min(count, len(rows)))]


def inputs(asked, workflow):
    if workflow in ("judge", "explain"):
        return spread(lines(HERE.parent / "judged.jsonl"), asked.inputs)
    if workflow == "error_map":
        logs = [{"question": row["log"]} for row in lines(ROOT / "retrieval/tests/suite/error_logs.jsonl")]
        pages = [{"question": row["text"]} for row in lines(asked.data / "mindspore/questions.jsonl") if row["type"] == "error"]
        return (pages + spread(logs, asked.inputs))[: asked.inputs]
    if workflow == "report":
        rows = [row["text"] for row in lines(asked.data / "mindspore/questions.jsonl") if row["type"] != "error"]
        depths = ["general", "general", "deep", "general", "deeper"]
        return [{"question": text, "depth": depths[at % len(depths)]} for at, text in enumerate(spread(rows, asked.inputs))]
    if workflow == "table":
        return spread(lines(asked.data / "tables-en/questions.jsonl"), asked.inputs)
    name = "linux-kernel" if workflow == "code" else "os-textbook"
    rows = lines(asked.data / name / "questions.jsonl")
    return [{"question": row["text"]} for row in spread(rows[1:] if workflow == "course" else rows, asked.inputs)]


def kernel(asked, folder):
    """Files that the questions are about, and others beside them."""
    about = {gold["file"] for row in lines(asked.data / "linux-kernel/questions.jsonl") for gold in row["gold"]}
    every = sorted(str(path.relative_to(asked.kernel)) for part in ("kernel", "mm") for path in (asked.kernel / part).rglob("*.c"))
    for name in about | set(spread(every, asked.others)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((asked.kernel / name).read_bytes())
    return folder


def fill(asked, server, profile, folder):
    if profile == "os-course":
        publish(asked, server, asked.data / "os-textbook/docs", "textbook")
        publish(asked, server, kernel(asked, folder / "linux"), "kernel-code")
    elif profile == "mindspore":
        publish(asked, server, asked.data / "mindspore/docs", "mindspore")
    else:
        publish(asked, server, asked.data / "tables-en/csv", "tables")


def tell(workflow, rows):
    wrong = [row for row in rows if row["wrong"]]
    verdicts = collections.Counter(row["told"].get("verdict", "failed") for row in rows)
    degraded = collections.Counter(name for row in rows for name in row["told"].get("degraded", []))
    known = [row["told"]["right"] for row in rows if "right" in row["told"]]
    parts = [f"{len(rows) - len(wrong)} of {len(rows)} kept", ", ".join(f"{count} {name}" for name, count in verdicts.most_common())]
    parts += [f"{sum(known)} of {len(known)} right"] if known else []
    parts += ["degraded: " + ", ".join(f"{count} {name}" for name, count in degraded.most_common())] if degraded else []
    print(f"{workflow}: {'; '.join(parts)}; median {statistics.median(row['seconds'] for row in rows):.1f} s", flush=True)
    for row in wrong:
        print(f"  {row['asked']['question'][:60]!r}: {row['wrong']}", flush=True)


def run(asked, server, workflow, out):
    def one(wanted):
        begun = time.monotonic()
        wrong, told = WORKFLOWS[workflow](asked, server, wanted)
        return {"workflow": workflow, "asked": wanted, "wrong": wrong, "told": told, "seconds": round(time.monotonic() - begun, 1)}

    rows = []
    with concurrent.futures.ThreadPoolExecutor(asked.clients) as pool:
        for row in pool.map(one, inputs(asked, workflow)):
            rows.append(row)
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            out.flush()
    tell(workflow, rows)


def main():
    numbers = (("inputs", 10, "inputs of each workflow"), ("clients", 1, "inputs at the same time"), ("others", 60, "other files of the kernel"),
               ("context", 8192, "tokens of context of the model"), ("slots", 2, "requests that the model answers at once"),
               ("seconds", 900, "longest answer"))
    parser = arguments(__doc__, *numbers)
    parser.add_argument("--url", required=True, help="the model's interface")
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder of evaluation sets")
    parser.add_argument("--kernel", type=pathlib.Path, required=True, help="folder with kernel/ and mm/ of Linux")
    parser.add_argument("--models", type=pathlib.Path, help="folder of embedding models; without it feature hashing")
    parser.add_argument("--only", nargs="+", choices=WORKFLOWS, default=list(WORKFLOWS), help="these workflows [default: all]")
    parser.add_argument("--answers", type=pathlib.Path, required=True, help="file for all answers, a line of JSON each")
    asked = parser.parse_args()
    with folder_of(asked.folder) as folder, asked.answers.open("w", encoding="utf-8") as out:
        for profile, workflows in SERVERS.items():
            wanted = [workflow for workflow in workflows if workflow in asked.only]
            if not wanted:
                continue
            place = folder / (profile or "plain")
            place.mkdir(exist_ok=True)
            server = Server(asked.tributary, place, settings(asked), profile and ROOT / "deploy/profiles" / profile)
            try:
                fill(asked, server, profile, place)
                for workflow in wanted:
                    run(asked, server, workflow, out)
            finally:
                server.end()


main()
