#!/usr/bin/env python3
"""Whether questions that nothing answers are refused, and those that something answers are not.

Half of the passages of each set are left out, and with them what answers half of the questions. Questions fall into two halves by their passage.
The threshold (`query_api.answer.refuse_below`) with the best F1 of refusing is fitted on the first half of the sets of `--fit`, and reported for
their second half and for the sets of `--held`, which nothing was fitted on. No language model takes part.

    eval/workloads/refusal/run.py --data DIR --fit cmrc2018-zh xquad-zh-en --held drcd-zht wireless-zh [--models FOLDER]

DIR holds the sets (BEIR layout). Without `--models` the embedding is feature hashing. `--rows FILE` keeps what was seen of each question: a second
run with the same file fits again without asking. Python 3.11 is enough.
"""
import argparse
import collections
import json
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from server import Server, folder_of

# Documents whose states are asked for in one request.
AT_ONCE = 500
# Hits of a question.
HITS = 8


def lines(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]


def read(folder):
    """Passages by id, questions by id, and the passages that answer each."""
    passages = {line["_id"]: line for line in lines(folder / "corpus.jsonl")}
    questions = {line["_id"]: line["text"] for line in lines(folder / "queries.jsonl")}
    relevant = collections.defaultdict(list)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, passage, grade = line.split("\t")
        if int(grade) > 0 and passage in passages and question in questions:
            relevant[question].append(passage)
    return passages, questions, relevant


def groups(passages, relevant):
    """Passages that answer one question go together: a translation is no other passage."""
    parent = {passage: passage for passage in passages}

    def root(passage):
        while parent[passage] != passage:
            passage = parent[passage]
        return passage

    for together in relevant.values():
        for passage in together[1:]:
            parent[root(passage)] = root(together[0])
    return {passage: root(passage) for passage in passages}


def prepare(folder, each, seed):
    """Passages that stay, and so many questions of each kind and half: (half, has_answer, text)."""
    passages, questions, relevant = read(folder)
    group_of = groups(passages, relevant)
    chooser = random.Random(seed)
    roots = sorted(set(group_of.values()))
    chooser.shuffle(roots)
    place = {root: at for at, root in enumerate(roots)}
    kinds = collections.defaultdict(list)
    for question in sorted(relevant):
        at = place[group_of[relevant[question][0]]]
        kinds["first" if at // 2 % 2 else "second", at % 2 == 0].append(questions[question])
    asked = []
    for (half, has_answer), texts in sorted(kinds.items()):
        chooser.shuffle(texts)
        asked += [(half, has_answer, text) for text in texts[:each]]
    kept = [passage for name, passage in passages.items() if place[group_of[name]] % 2 == 0]
    return kept, asked


def publish(server, passages):
    documents = []
    for passage in passages:
        event = {"source": "eval", "document_id": passage["_id"], "media_type": "text/plain", "content": passage["text"]}
        if passage.get("title"):
            event["title"] = passage["title"]
        status, answer = server.ask("POST", "/v1/documents", event)
        if status != 202:
            sys.exit(f"not accepted: {status} {answer}")
        documents.append(passage["_id"])
    while documents:
        states = []
        for start in range(0, len(documents), AT_ONCE):
            states += server.ask("POST", "/v1/documents/states", {"document_ids": documents[start : start + AT_ONCE]})[1]["documents"]
        documents = [state["document_id"] for state in states if state and state["state"] not in ("indexed", "skipped")]
        dead = [state for state in states if state and state["state"] == "dead"]
        if dead:
            sys.exit(f"dead: {dead[0]}")
        if server.process.poll() is not None:
            sys.exit("the server ended")
        time.sleep(0.2)


def seen(server, name, half, has_answer, question):
    """What is known of a question before anything answers it."""
    status, answer = server.ask("POST", "/v1/ask", {"question": question})
    if status != 200:
        sys.exit(f"not answered: {status} {answer}")
    shown = answer["sources"] + answer["related"]
    best = max((source.get("relevance") or 0.0 for source in shown), default=0.0)
    status, found = server.ask("POST", "/v1/search", {"query": question, "top_k": HITS})
    if status != 200:
        sys.exit(f"not searched: {status} {found}")
    hits = [{"relevance": hit.get("relevance"), **hit["scores"]} for hit in found["hits"]]
    return {"set": name, "half": half, "has_answer": has_answer, "question": question, "best": best, "hits": hits, "unmatched": found.get("unmatched_terms", [])}


def collect(asked, name):
    kept, questions = prepare(asked.data / name, asked.each, asked.seed)
    settings = {"TELEMETRY__FILTER": "warn", "QUERY_API__ANSWER__REFUSE_BELOW": "0"}
    if asked.models:
        settings |= {"MODELS__KIND": "onnx", "MODELS__SEARCH_FOLDERS": json.dumps([str(asked.models.resolve())])}
    else:
        settings["MODELS__KIND"] = "hashing"
    print(f"{name}: {len(kept)} passages stay, {len(questions)} questions", flush=True)
    with folder_of(None) as folder:
        server = Server(asked.tributary, folder, settings)
        try:
            publish(server, kept)
            return [seen(server, name, *question) for question in questions]
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
    if asked.rows and asked.rows.exists():
        rows = lines(asked.rows)
    else:
        rows = [row for name in asked.fit + asked.held for row in collect(asked, name)]
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
