#!/usr/bin/env python3
"""What a real language model makes of the workflow `general`: citations, language, refusals, and answers to read.

Half of the questions are Chinese (cmrc2018-zh), half English (xquad-zh-en); what answers one in five was left out of the index. The model answers at
`--url` (OpenAI's interface). Whether an answer is right is for a reader: `--answers FILE` keeps question, answer and the passage that was cited
first, a line of JSON each, written as they come.

    deploy/services/chat start --model 0.5b
    eval/workloads/real_answers/run.py --url http://127.0.0.1:8080/v1 --data DIR --models FOLDER --questions 20 --answers FILE
"""
import collections
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server, arguments, folder_of
from sets import is_chinese, models, prepare, publish

SECONDS = 900
# One of so many questions has no answer in the index.
UNANSWERABLE = 5
SETS = {"zh": "cmrc2018-zh", "en": "xquad-zh-en"}


def questions(data, count):
    """Passages, and questions in turns of both languages."""
    passages, by_language = [], {}
    for language, name in SETS.items():
        kept, rows = prepare(data / name, 1000, 9)
        passages += kept
        rows = [row for row in rows if row["half"] == "second" and is_chinese(row["question"]) == (language == "zh")]
        with_answer = iter([row for row in rows if row["has_answer"]])
        without = iter([row for row in rows if not row["has_answer"]])
        wanted = range(count // 2)
        by_language[language] = [next(without if at % UNANSWERABLE == UNANSWERABLE - 1 else with_answer) for at in wanted]
    turns = zip(*by_language.values())
    return passages, [row for turn in turns for row in turn]


def settings(asked):
    limit = str(SECONDS * 1000)
    return {
        "TELEMETRY__FILTER": "warn",
        "MODELS__CHAT__ENDPOINTS__REAL__URL": asked.url,
        "MODELS__CHAT__ENDPOINTS__REAL__MODEL": "local",
        "MODELS__CHAT__ENDPOINTS__REAL__CONTEXT_TOKENS": str(asked.context),
        "MODELS__CHAT__ENDPOINTS__REAL__FIRST_PIECE_TIMEOUT_MS": limit,
        "MODELS__CHAT__ENDPOINTS__REAL__PIECE_TIMEOUT_MS": limit,
        "MODELS__CHAT__ENDPOINTS__REAL__TIMEOUT_MS": limit,
        "MODELS__CHAT__ROLES__ANSWER__ENDPOINT": "real",
        "QUERY_API__ANSWER__DEADLINE_MS": limit,
        "QUERY_API__ANSWER__REPLY_TOKENS": "160",
        "QUERY_API__ANSWER__TOP_K": str(asked.top),
        "QUERY_API__ASK__TIMEOUT_MS": limit,
        **models(asked.models),
    }


def judged(row, answer):
    """What can be told without reading."""
    sources = answer["sources"]
    numbers = [int(number) for number in re.findall(r"\[(\d+)\]", answer["answer"])]
    shown = [source["text"] for source in sources if source["cited"]] or [source["text"] for source in sources]
    said = answer["answer"]
    return {
        **row,
        "answer": said,
        "verdict": answer["verdict"],
        "by_model": bool(answer.get("model")),
        "degraded": answer["degraded"],
        "valid_citations": all(1 <= number <= len(sources) for number in numbers),
        "cites": bool(numbers),
        "removed_citations": answer["removed_citations"],
        "unsupported": sum(not one["supported"] for one in answer["support"]),
        "same_language": len(re.findall(r"[^\W\d_]", said)) < 8 or is_chinese(said) == is_chinese(row["question"]),
        "found": any(source["document_id"] in row["relevant"] for source in sources),
        "seconds": round(answer["took_ms"] / 1000, 1),
        "passage": shown[0][:400] if shown else "",
    }


def report(rows):
    counts = collections.Counter()
    for row in rows:
        kind = "with an answer" if row["has_answer"] else "without an answer"
        counts[kind, row["verdict"]] += 1
    print(f"{len(rows)} questions: " + ", ".join(f"{kind}: {count} {verdict}" for (kind, verdict), count in sorted(counts.items())))
    said = [row for row in rows if row["verdict"] in ("answered", "partly")]
    share = lambda name: f"{sum(bool(row[name]) for row in said)} of {len(said)}"
    print(f"  cite: {share('cites')}; only valid citations: {share('valid_citations')}; in the question's language: {share('same_language')}")
    print(f"  removed citations: {sum(row['removed_citations'] for row in said)}; statements without support: {sum(row['unsupported'] for row in said)}", flush=True)


def main():
    parser = arguments(__doc__, ("context", 4096, "tokens of context of the model"), ("questions", 20, "in all"), ("top", 3, "passages of a question"))
    parser.add_argument("--url", required=True, help="the model's interface")
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder of evaluation sets")
    parser.add_argument("--models", type=pathlib.Path, help="folder of embedding models; without it feature hashing")
    parser.add_argument("--answers", type=pathlib.Path, required=True, help="file for all answers, a line of JSON each")
    asked = parser.parse_args()
    passages, wanted = questions(asked.data, asked.questions)
    rows = []
    with folder_of(asked.folder) as folder:
        server = Server(asked.tributary, folder, settings(asked))
        try:
            publish(server, passages)
            for row in wanted:
                status, answer = server.ask("POST", "/v1/ask", {"question": row["question"]})
                if status != 200:
                    sys.exit(f"{row['question']}: {status} {answer}")
                rows.append(judged(row, answer))
                lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
                asked.answers.write_text("".join(lines), encoding="utf-8")
                print(f"{rows[-1]['verdict']:10} {rows[-1]['seconds']:6} s  {row['question'][:50]}", flush=True)
        finally:
            report(rows)
            server.end()


main()
