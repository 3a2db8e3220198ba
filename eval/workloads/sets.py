"""Evaluation sets (BEIR layout) of which a part is left out, for the workloads beside this file."""
import collections
import json
import random
import re
import sys
import time

# Documents whose states are asked for in one request.
AT_ONCE = 500


def models(folder):
    """Settings of the embedder: models in a folder, or feature hashing."""
    if not folder:
        return {"MODELS__KIND": "hashing"}
    return {"MODELS__KIND": "onnx", "MODELS__SEARCH_FOLDERS": json.dumps([str(folder.resolve())])}


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
    """Passages that stay, and so many questions of each kind and half, as rows."""
    passages, questions, relevant = read(folder)
    group_of = groups(passages, relevant)
    chooser = random.Random(seed)
    roots = sorted(set(group_of.values()))
    chooser.shuffle(roots)
    place = {root: at for at, root in enumerate(roots)}
    kinds = collections.defaultdict(list)
    for question in sorted(relevant):
        at = place[group_of[relevant[question][0]]]
        row = {"half": "first" if at // 2 % 2 else "second", "has_answer": at % 2 == 0}
        row |= {"question": questions[question], "relevant": relevant[question]}
        kinds[row["half"], row["has_answer"]].append(row)
    asked = []
    for _, rows in sorted(kinds.items()):
        chooser.shuffle(rows)
        asked += rows[:each]
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


def is_chinese(text):
    """Whether more than a quarter of the letters are."""
    letters = re.findall(r"[^\W\d_]", text)
    return sum("\u3400" <= letter <= "\u9fff" for letter in letters) > len(letters) / 4
