#!/usr/bin/env python3
"""What other names of the lexicon do to retrieval.

For each name of a group of synonyms (CA = 载波聚合 = Carrier Aggregation) a question that knows only
this name. What counts is a passage that has another name of the group and not this one: without
other names only meaning leads there. Groups take turns in two halves, so that one is held out.

    eval/workloads/abbreviations/run.py --data DIR [--part first|second|all] [--model]

DIR holds the sets wireless-zh (BEIR layout) and mindspore (docs/); the lexicons are those of the
profiles wireless and mindspore. Feature hashing, or with `--model` the configured embedding model.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PROFILES = pathlib.Path(__file__).resolve().parents[3] / "deploy/profiles"
QUESTIONS = ["什么是{}？", "{}怎么用？", "{}有哪些限制？", "怎么配置{}？"]
# A passage is about a name that it has at least so often.
MENTIONS = 2


def groups(profile):
    lines = (PROFILES / profile / "synonyms.txt").read_text(encoding="utf-8").splitlines()
    fields = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [[term, *(name.strip() for name in names.split(";"))] for term, _, names in fields]


def count(name, text):
    """How often a name stands in a text, as a word of its own where it is a word."""
    if re.search("[\u3400-\u9fff]", name):
        return text.lower().count(name.lower())
    if len(name) < 3:
        return 0  # CA, SA and the like mean other things too
    flags = 0 if name.isupper() and len(name) <= 4 else re.IGNORECASE
    return len(re.findall(rf"(?<![A-Za-z0-9_.]){re.escape(name)}(?![A-Za-z0-9_])", text, flags))


def wireless(data):
    return [json.loads(line) for line in (data / "wireless-zh/corpus.jsonl").read_text(encoding="utf-8").splitlines()]


def mindspore(data):
    """The sections of all pages that have some text."""
    passages = []
    for file in sorted((data / "mindspore/docs").rglob("*")):
        if file.suffix not in (".md", ".rst"):
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        for number, section in enumerate(re.split(r"\n(?=#{1,3} )", text)):
            if len(section) >= 200:
                name = f"{file.relative_to(data / 'mindspore/docs')}-{number}"
                passages.append({"_id": name, "title": "", "text": section[:3000]})
    return passages


def questions(profile, passages, part):
    asked, qrels = [], ["query-id\tcorpus-id\tscore"]
    texts = [(passage["_id"], passage.get("title", "") + "\n" + passage["text"]) for passage in passages]
    turn = 0
    for group in groups(profile):
        mine = []
        counts = {name: [count(name, text) for _, text in texts] for name in group}
        for name in group:
            gold = [
                texts[at][0]
                for at in range(len(texts))
                if name not in texts[at][1] and not counts[name][at] and any(counts[other][at] >= MENTIONS for other in group if other != name)
            ]
            if gold:
                mine.append((name, gold))
        if not mine:
            continue
        turn += 1
        if part != "all" and (part == "first") != bool(turn % 2):
            continue
        for name, gold in mine:
            number = f"{profile}-{turn}-{len(asked)}"
            asked.append({"_id": number, "text": QUESTIONS[len(asked) % len(QUESTIONS)].format(name)})
            qrels += [f"{number}\t{passage}\t1" for passage in gold]
    return asked, qrels


def write(file, rows):
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def ask(arguments, profile, folder, understand):
    command = [arguments.tributary, "--profile", str(PROFILES / profile), "--data-dir", str(folder / "data"), "eval", "run"]
    command += ["--set", str(folder), "--format", "json", *(["--understand"] if understand else [])]
    command += [] if arguments.model else ["--embedder", "hashing"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["tiers"]["final"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tributary", default="target/release/tributary", help="the program")
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder of evaluation sets")
    parser.add_argument("--part", choices=["first", "second", "all"], default="all", help="half of the groups")
    parser.add_argument("--model", action="store_true", help="the configured embedding model instead of hashing")
    arguments = parser.parse_args()
    total, hits = 0, {False: 0.0, True: 0.0}
    for profile, corpus in [("wireless", wireless), ("mindspore", mindspore)]:
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            passages = corpus(arguments.data)
            asked, qrels = questions(profile, passages, arguments.part)
            write(folder / "corpus.jsonl", passages)
            write(folder / "queries.jsonl", asked)
            (folder / "qrels.tsv").write_text("\n".join(qrels) + "\n", encoding="utf-8")
            print(f"{profile}: {len(passages)} passages, {len(asked)} questions ({arguments.part})", flush=True)
            for understand in [False, True]:
                scores = ask(arguments, profile, folder, understand)
                hits[understand] += scores["hit@10"] * len(asked)
                way = "with other names" if understand else "as written"
                print(f"  {way:17} hit@10 {scores['hit@10']:.4f}  recall@10 {scores['recall@10']:.4f}  MRR@10 {scores['mrr@10']:.4f}", flush=True)
            total += len(asked)
    print(f"all: {total} questions  hit@10 {hits[False] / total:.4f} as written, {hits[True] / total:.4f} with other names")


if __name__ == "__main__":
    main()
