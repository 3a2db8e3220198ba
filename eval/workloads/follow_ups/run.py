#!/usr/bin/env python3
"""What completing follow-ups does to retrieval.

Makes follow-ups of questions of which two name the same thing in one passage: the first is what was
said before, the second loses the name (a pronoun, or nothing where the name begins the question).
Then asks the complete questions, the follow-ups, and the follow-ups completed by rules, and sees
whether complete questions lose by what was said before them.

    eval/workloads/follow_ups/run.py --data DIR [--model] [--part first|second|all]

DIR holds the evaluation sets cmrc2018-zh and xquad-zh-en (BEIR layout). Rules are made by looking at
the first half alone. `--model` is not about rewriting but about vectors: the configured embedding
model instead of feature hashing.
"""
import argparse
import collections
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

SURNAMES = "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"


def lines(file):
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]


def read(folder):
    """Passages by id, questions, and the ids of the passages that answer each."""
    relevant = collections.defaultdict(list)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, passage, grade = line.split("\t")
        if int(grade) > 0:
            relevant[question].append(passage)
    passages = {line["_id"]: line for line in lines(folder / "corpus.jsonl")}
    return passages, lines(folder / "queries.jsonl"), relevant


def is_chinese(text):
    return bool(re.search("[\u3400-\u9fff]", text))


def names_in(text):
    """Runs of words with capitals, not at the beginning."""
    return re.findall(r"(?<=[a-z,] )(?:[A-Z][\w-]+)(?: (?:of |the )?[A-Z][\w-]+)*", text)


def common_name(left, right, passage):
    """What both questions name: the title, a name with capitals, the longest common text."""
    title = passage.get("title", "")
    if title:
        return title if title in left and title in right else None
    if not is_chinese(left):
        shared = [name for name in names_in(left) if name in right and name in passage["text"]]
        return max(shared, key=len, default=None)
    best = ""
    for start in range(len(left)):
        for end in range(start + len(best) + 1, len(left) + 1):
            part = left[start:end]
            if part not in right:
                break
            best = part
    only_name = re.fullmatch("[\u3400-\u9fffA-Za-z·]{3,}", best)
    asks = re.search("什么|哪|多少|怎|谁|几|何|是|的|在|有|于|了|被", best)
    return best if only_name and not asks and best in passage["text"] else None


def without(question, name):
    """The question with a pronoun or nothing for the name; none where that is no question."""
    quoted = f"《{name}》"
    text = question.replace(quoted, name) if quoted in question else question
    if text.count(name) != 1 or len(text) < len(name) + 4:
        return None
    at = text.index(name)
    after = text[at + len(name):]
    if not is_chinese(question):
        if after.startswith("'s"):
            return text[:at] + "its" + after[2:]
        before = text[:at].removesuffix("the ").removesuffix("The ")
        ends_here = re.match(r"[?.,;]|$| (?:in|on|at|to|for|from|with|by|and|or|as|is|was|has|had|do|did|become|have|use|used)\b", after)
        return before + "it" + after if at and ends_here else None
    # A longer name, or a part of one.
    if re.match("[+A-Za-z0-9号公]|人|市|省|县|队|的?时候|战役|大学", after) or (at and text[at - 1] not in "，,在以于对为从由和与下 期"):
        return None
    is_person = len(name) in (2, 3) and name[0] in SURNAMES
    # Where a predicate follows at once the subject can be left out.
    if at == 0 and re.match("是(?:什么时候|哪一?年|在|由|如何|怎么)|被|位于|属于|有(?:哪|多少|什么|几)|于", after):
        return after
    return text[:at] + ("他" if is_person else "它") + after


def follow_ups(folder, wanted, chooser):
    passages, questions, relevant = read(folder)
    by_passage = collections.defaultdict(list)
    for question in questions:
        by_passage[relevant[question["_id"]][0], is_chinese(question["text"])].append(question)
    made = []
    for (passage, _), asked in sorted(by_passage.items()):
        chooser.shuffle(asked)
        of_passage = 0
        for before, after in zip(asked, asked[1:]):
            name = common_name(before["text"], after["text"], passages[passage])
            short = name and without(after["text"], name)
            if short and of_passage < 2:
                of_passage += 1
                made.append({"_id": after["_id"], "history": [before["text"]], "query": short, "rewrite": after["text"]})
    chooser.shuffle(made)
    wanted = {language: count for language, count in wanted.items()}
    chosen = []
    for line in made:
        language = "zh" if is_chinese(line["rewrite"]) else "en"
        if wanted.get(language, 0) > 0:
            wanted[language] -= 1
            chosen.append(line)
    return chosen


def write(file, rows):
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def prepare(data, folder):
    """One set of both sources, and the files of questions."""
    chooser = random.Random(11)
    chosen, everything, qrels, corpus = [], [], ["query-id\tcorpus-id\tscore"], []
    for name, wanted in [("cmrc2018-zh", {"zh": 130}), ("xquad-zh-en", {"zh": 35, "en": 35})]:
        passages, questions, relevant = read(data / name)
        corpus += passages.values()
        everything += questions
        qrels += [f"{question['_id']}\t{passage}\t1" for question in questions for passage in relevant[question["_id"]]]
        chosen += follow_ups(data / name, wanted, chooser)
    chooser.shuffle(chosen)
    write(folder / "corpus.jsonl", corpus)
    (folder / "qrels.tsv").write_text("\n".join(qrels) + "\n", encoding="utf-8")
    write(folder / "follow_ups.jsonl", chosen)
    others = [line["text"] for line in everything]
    unrelated = [{"_id": line["_id"], "text": line["text"], "history": [chooser.choice(others)]} for line in everything]
    return chosen, unrelated


def questions(folder, name, rows):
    write(folder / f"{name}.jsonl", rows)
    return name


class Asker:
    """Runs `eval run` on one index."""

    def __init__(self, arguments, folder):
        self.folder = folder
        embedder = [] if arguments.model else ["--embedder", "hashing"]
        self.command = [arguments.tributary, "--data-dir", str(folder / "data"), "eval", "run", "--set", str(folder), *embedder]

    def recall(self, name, understand):
        command = [*self.command, "--queries", f"{name}.jsonl", "--format", "json", *(["--understand"] if understand else [])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        report = json.loads(done.stdout)
        recall = report["tiers"]["final"]["hit@10"]
        print(f"{name:24} {'understood' if understand else 'as written':11} {report['queries']:5} questions  hit@10 {recall:.4f}", flush=True)
        return recall


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tributary", default="target/release/tributary", help="the program")
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder of evaluation sets")
    parser.add_argument("--folder", type=pathlib.Path, help="where to work; kept if it is named")
    parser.add_argument("--part", choices=["first", "second", "all"], default="all", help="half of the follow-ups")
    parser.add_argument("--model", action="store_true", help="the configured embedding model instead of hashing")
    parser.add_argument("--complete", type=int, default=0, help="also so many complete questions with an unrelated history")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        measure(arguments, folder)


def measure(arguments, folder):
    chosen, unrelated = prepare(arguments.data, folder)
    half = len(chosen) // 2
    chosen = {"first": chosen[:half], "second": chosen[half:], "all": chosen}[arguments.part]
    print(f"{len(chosen)} follow-ups ({arguments.part})")
    short = questions(folder, "short", [{"_id": line["_id"], "text": line["query"], "history": line["history"]} for line in chosen])
    whole = questions(folder, "whole", [{"_id": line["_id"], "text": line["rewrite"], "history": line["history"]} for line in chosen])
    asker = Asker(arguments, folder)
    complete = asker.recall(whole, understand=False)
    asker.recall(short, understand=False)
    completed = asker.recall(short, understand=True)
    related = asker.recall(whole, understand=True)
    print(f"completed by rules: {completed / complete:.3f} of the complete (target .9)")
    print(f"complete with a related history: {related - complete:+.4f} (at least -.005)")
    if arguments.complete:
        some = questions(folder, "unrelated", unrelated[:: max(1, len(unrelated) // arguments.complete)])
        plain = asker.recall(some, understand=False)
        print(f"complete with an unrelated history: {asker.recall(some, understand=True) - plain:+.4f} (at least -.005)")


if __name__ == "__main__":
    main()
