#!/usr/bin/env python3
"""Whether questions that nothing answers are refused, and those that something answers are not.

Half of the passages of each set are left out, and with them what answers half of the questions. Questions fall into two halves by their passage.
The threshold (`query_api.answer.refuse_below`) with the best F1 of refusing is fitted on the first half of the sets of `--fit`, and reported for
their second half and for the sets of `--held`, which nothing was fitted on. No language model takes part.

    eval/workloads/refusal/run.py --data DIR --fit cmrc2018-zh xquad-zh-en --held drcd-zht wireless-zh [--models FOLDER]

DIR holds the sets (BEIR layout). Without `--models` the embedding is feature hashing. `--rows FILE` keeps what was seen of each question: a second
run with the same file asks only for sets that are not in it, and fits again. Python 3.11 is enough.
"""
import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server, folder_of
from sets import lines, models, prepare, publish

# Hits of a question.
HITS = 8


def seen(server, name, row):
    """What is known of a question before anything answers it."""
    question = row["question"]
    status, answer = server.ask("POST", "/v1/ask", {"question": question})
    if status != 200:
        sys.exit(f"not answered: {status} {answer}")
    shown = answer["sources"] + answer["related"]
    best = max((source.get("relevance") or 0.0 for source in shown), default=0.0)
    status, found = server.ask("POST", "/v1/search", {"query": question, "top_k": HITS})
    if status != 200:
        sys.exit(f"not searched: {status} {found}")
    hits = [{"relevance": hit.get("relevance"), **hit["scores"]} for hit in found["hits"]]
    return {"set": name, **row, "best": best, "hits": hits, "unmatched": found.get("unmatched_terms", [])}


def collect(asked, name):
    kept, questions = prepare(asked.data / name, asked.each, asked.seed)
    settings = {"TELEMETRY__FILTER": "warn", "QUERY_API__ANSWER__REFUSE_BELOW": "0", **models(asked.models)}
    print(f"{name}: {len(kept)} passages stay, {len(questions)} questions", flush=True)
    with folder_of(None) as folder:
        server = Server(asked.tributary, folder, settings)
        try:
            publish(server, kept)
            return [seen(server, name, row) for row in questions]
        finally:
            server.end()


def scores(rows, threshold):
    """Precision, recall and F1 of refusing, and the share of right decisions."""
    refused = [row for row in rows if row["best"] < threshold]
    right = sum(not row["has_answer"] for row in refused)
    unanswerable = sum(not row["has_answer"] for row in rows)
    precision, recall = right / max(1, len(refused)), right / max(1, unanswerable)
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    kept = sum(row["has_answer"] for row in rows if row["best"] >= threshold)
    return precision, recall, f1, (right + kept) / max(1, len(rows))


def fit(rows):
    """The middle of the thresholds with the best F1."""
    candidates = [at / 200 for at in range(1, 200)]
    values = [scores(rows, threshold)[2] for threshold in candidates]
    best = [threshold for threshold, value in zip(candidates, values) if value >= max(values) - 1e-9]
    return best[len(best) // 2]


def say(name, rows, threshold):
    if not rows:
        return
    precision, recall, f1, accuracy = scores(rows, threshold)
    with_answer = sum(row["has_answer"] for row in rows)
    print(
        f"{name:32} {with_answer:4} with an answer, {len(rows) - with_answer:4} without   "
        f"precision {precision:.3f}  recall {recall:.3f}  F1 {f1:.3f}  right {accuracy:.3f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tributary", default="target/release/tributary", help="the program")
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder of evaluation sets")
    parser.add_argument("--models", type=pathlib.Path, help="folder of embedding models")
    parser.add_argument("--fit", nargs="*", default=["cmrc2018-zh", "xquad-zh-en"], help="sets whose first half is fitted on")
    parser.add_argument("--held", nargs="*", default=["drcd-zht", "wireless-zh"], help="sets that are only measured")
    parser.add_argument("--each", type=int, default=200, help="questions of each kind, half and set at most")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--rows", type=pathlib.Path, help="file of what was seen; read if it is there")
    parser.add_argument("--now", type=float, default=0.2, help="a threshold that is reported beside the fitted one")
    asked = parser.parse_args()
    rows = lines(asked.rows) if asked.rows and asked.rows.exists() else []
    known = {row["set"] for row in rows}
    for name in asked.fit + asked.held:
        rows += [] if name in known else collect(asked, name)
        if asked.rows:
            asked.rows.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    fitted = fit([row for row in rows if row["set"] in asked.fit and row["half"] == "first"])
    for threshold in (asked.now, fitted):
        print(f"refuse_below = {threshold}{' (fitted)' if threshold == fitted else ''}")
        for half in ("first", "second"):
            of_half = [row for row in rows if row["set"] in asked.fit and row["half"] == half]
            say(f"  fitted sets, {half} half", of_half, threshold)
            for name in asked.fit:
                say(f"    {name}", [row for row in of_half if row["set"] == name], threshold)
        for name in asked.held:
            say(f"  {name}, never fitted on", [row for row in rows if row["set"] == name], threshold)


if __name__ == "__main__":
    main()
