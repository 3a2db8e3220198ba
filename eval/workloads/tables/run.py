#!/usr/bin/env python3
"""Whether the right table is among the first, and whether a model's statement gives the right values.

The tables are in two halves by a hash of their file, so that what was changed after looking at one half is measured on the other.

    eval/workloads/tables/run.py --server URL --data DIR choice [--half 0|1]
    eval/workloads/tables/run.py --server URL --data DIR accuracy --sample N [--half 0|1] [--alone]

The server has the files of DIR/csv published as the source `tables`. `choice` needs no model; `accuracy` needs one of the role `sql`. With
`--alone` each question is asked of its own table, so that only the statement counts. DIR holds `questions.jsonl` (`question`, `table`,
`answer`: a list of values) as WikiTableQuestions has them. Values are compared as sets, numbers by value, text without case and signs.
"""
import argparse
import hashlib
import json
import pathlib
import time
import urllib.request

from values import is_right

FIRST = 3


def ask(server, body):
    request = urllib.request.Request(f"{server}/v1/tables/query", json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


def half_of(table):
    return hashlib.sha256(table.encode()).digest()[0] % 2


def choice(options, questions):
    ranks = []
    for question in questions:
        answer = ask(options.server, {"question": question["question"], "filter": {"sources": ["tables"]}})
        paths = [table["source_path"] for table in answer["tables"]]
        name = pathlib.PurePath(question["table"]).name
        ranks.append(next((at for at, path in enumerate(paths) if path.endswith(name)), None))
    share = lambda most: sum(rank is not None and rank < most for rank in ranks) / len(ranks)
    print(json.dumps({"questions": len(ranks), "first": round(share(1), 3), f"first {FIRST}": round(share(FIRST), 3)}))


def accuracy(options, questions):
    step = max(1, len(questions) // options.sample)
    counts = {"questions": 0, "right": 0, "ran": 0, "repaired": 0, "right_repaired": 0}
    began = time.monotonic()
    for question in questions[::step][: options.sample]:
        path = f"tables/{pathlib.PurePath(question['table']).name}"
        scope = {"document_ids": [path]} if options.alone else {"sources": ["tables"]}
        answer = ask(options.server, {"question": question["question"], "filter": scope})
        right = answer["err_code"] == 0 and is_right(answer, question["answer"])
        counts["questions"] += 1
        counts["right"] += right
        counts["ran"] += answer["err_code"] == 0
        counts["repaired"] += answer["repaired"]
        counts["right_repaired"] += right and answer["repaired"]
        if options.show:
            print(json.dumps([right, question["question"], answer["sql"], answer["rows"][:3], question["answer"], answer["err_msg"]], ensure_ascii=False))
    print(json.dumps(counts | {"seconds": round(time.monotonic() - began)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["choice", "accuracy"])
    parser.add_argument("--server", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--half", type=int, choices=[0, 1])
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    lines = (options.data / "questions.jsonl").read_text().splitlines()
    questions = [json.loads(line) for line in lines]
    questions = [one for one in questions if options.half is None or half_of(one["table"]) == options.half]
    {"choice": choice, "accuracy": accuracy}[options.what](options, questions)


main()
