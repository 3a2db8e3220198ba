#!/usr/bin/env python3
"""How many terms of a list the lexicon verbs find in the documents that the list is of.

For each set: documents are published into a folder of their own, `lexicon discover` finds
candidates, and three rounds of 50 verdicts follow, those in doubt first. The reviewer is simulated:
yes to what is in the list, no to all else (a hard reviewer, as no list has all terms of a corpus).

    eval/workloads/lexicon/run.py --data DIR [--set NAME]... [--effect]

DIR holds the sets and lexicon/*-terms-gold.tsv. A term of the list counts as found when a candidate
is written like it; capitals and spaces aside. `--effect` also scores retrieval by keywords alone
(weight 0 of the vector side, feature hashing) without and with the lexicon that `build` makes
without any review.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Documents, list of terms, and what parts several names in one field of the list.
SETS = {
    "mindspore": ("mindspore/docs", "mindspore-terms-gold.tsv", "或"),
    "os-textbook": ("os-textbook/docs", "os-terms-gold.tsv", "/"),
    "wireless": ("wireless-docs/zh", "wireless-terms-gold.tsv", None),
}
ROUNDS, VERDICTS, FIRST = 3, 50, 500
KEYWORDS_ALONE = {"KIND": "fixed", "FIXED": "0"}


def key(term):
    return re.sub(r"(?<=[\u3400-\u9fff]) | (?=[\u3400-\u9fff])", "", " ".join(term.lower().split()))


def gold(data, name):
    """Each term of the list as the set of its names."""
    _, file, separator = SETS[name]
    rows = (data / "lexicon" / file).read_text(encoding="utf-8").splitlines()[1:]
    fields = [row.split("\t")[0] for row in rows]
    return [{key(one) for one in (field.split(separator) if separator else [field])} for field in fields]


def occurrences(data, name, term):
    texts = SETS[name][0]
    if texts not in occurrences.read:
        files = sorted(file for file in (data / texts).rglob("*") if file.is_file())
        occurrences.read[texts] = key("\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files))
    text = occurrences.read[texts]
    if re.search("[\u3400-\u9fff]", term):
        return text.count(term)
    return len(re.findall(rf"(?<![a-z0-9_.]){re.escape(term)}(?![a-z0-9_])", text))


occurrences.read = {}


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def __call__(self, *arguments, settings=None):
        environment = os.environ | {"TRIBUTARY__MODELS__KIND": "hashing"} | (settings or {})
        command = [self.path, "--data-dir", str(self.folder / "data"), *map(str, arguments), "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(done.stdout)


def lines(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def found(file, terms, limit):
    keys = {key(candidate["term"]) for candidate in lines(file)[:limit]}
    return sum(bool(names & keys) for names in terms)


def review(tributary, file, terms):
    """One round: the verdicts of the simulated reviewer on what the program would ask."""
    names = set().union(*terms)
    known = file.with_name("verdicts.jsonl")
    given = {line["term"] for line in lines(known)} if known.exists() else set()
    open_ones = [candidate for candidate in lines(file) if candidate["term"] not in given]
    asked = sorted(open_ones, key=lambda candidate: abs(candidate["score"] - 0.5))[:VERDICTS]
    verdicts = [{"term": one["term"], "decision": "yes" if key(one["term"]) in names else "no"} for one in asked]
    taken = file.with_name("round.jsonl")
    taken.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in verdicts), encoding="utf-8")
    tributary("lexicon", "review", file, "--reviewer", "simulated", "--verdicts", taken)
    tributary("lexicon", "discover", "--from", file, "--verdicts", known, "--output", file)
    return sum(one["decision"] == "yes" for one in verdicts)


def score(tributary, data, name, lexicon, folder):
    evaluated = folder / "set"
    if name == "os-textbook":
        textbook(data, evaluated)
    else:
        evaluated = data / {"wireless": "wireless-zh", "mindspore": "mindspore"}[name]
    settings = {f"TRIBUTARY__QUERY_API__RETRIEVAL__VECTOR_WEIGHT__{part}": value for part, value in KEYWORDS_ALONE.items()}
    settings["TRIBUTARY__TAXONOMY__LEXICON_FILES"] = json.dumps([str(lexicon)] if lexicon else [])
    own = Program(tributary.path, folder / ("with" if lexicon else "without"))
    report = own("eval", "run", "--set", evaluated, "--embedder", "hashing", settings=settings)
    return report["tiers"]["final"]["ndcg@10"]


def textbook(data, folder):
    """The textbook with its questions: any file of the right chapter counts."""
    if folder.exists():
        return
    folder.mkdir()
    (folder / "docs").symlink_to(data / "os-textbook/docs")
    questions = lines(data / "os-textbook/questions.jsonl")
    chapters = {}
    for file in sorted((data / "os-textbook/docs").rglob("*.rst")):
        path = file.relative_to(data / "os-textbook/docs")
        chapters.setdefault(path.parts[0], []).append(str(path))
    judgements = ["query-id\tcorpus-id\tscore"]
    for question in questions:
        judgements += [f"{question['_id']}\t{path}\t1" for path in chapters.get(question["gold_chapter"], [])]
    rows = [json.dumps({"_id": one["_id"], "text": one["text"]}, ensure_ascii=False) + "\n" for one in questions]
    (folder / "queries.jsonl").write_text("".join(rows), encoding="utf-8")
    (folder / "qrels.tsv").write_text("\n".join(judgements) + "\n", encoding="utf-8")


def measure(arguments, name):
    data = arguments.data.resolve()
    terms = gold(data, name)
    frequent = [names for names in terms if max(occurrences(data, name, one) for one in names) >= 2]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        tributary = Program(str(pathlib.Path(arguments.tributary).resolve()), folder)
        tributary("publish", data / SETS[name][0], "--wait")
        file = folder / "candidates.jsonl"
        read = tributary("lexicon", "discover", "--output", file, "--synonyms", folder / "synonyms.txt")
        everything = found(file, frequent, None)
        print(
            f"{name}: {read['documents']} documents, {read['candidates']} candidates, {read['other_names']} other names; "
            f"{len(terms)} terms in the list, {len(frequent)} of them at least twice in the text, {everything} of those candidates at all",
            flush=True,
        )
        lexicon = folder / "terms.txt"
        tributary("lexicon", "build", file, "--output", lexicon)
        yes = 0
        for number in range(ROUNDS + 1):
            if number:
                yes += review(tributary, file, terms)
            both = [found(file, some, FIRST) for some in (terms, frequent)]
            print(
                f"  after {number} rounds ({yes} yes of {number * VERDICTS}): {both[0]}/{len(terms)} in the first {FIRST}, "
                f"of the frequent {both[1]}/{len(frequent)} = {both[1] / max(len(frequent), 1):.2f}",
                flush=True,
            )
        if arguments.effect:
            without, with_it = (score(tributary, data, name, one, folder) for one in (None, lexicon))
            print(f"  nDCG@10 by keywords: {without:.4f} without, {with_it:.4f} with the lexicon ({with_it - without:+.4f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tributary", default="target/release/tributary", help="the program")
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder of sets")
    parser.add_argument("--set", action="append", choices=SETS, help="only this set (repeatable)")
    parser.add_argument("--effect", action="store_true", help="also score retrieval")
    arguments = parser.parse_args()
    for name in arguments.set or SETS:
        measure(arguments, name)


if __name__ == "__main__":
    main()
