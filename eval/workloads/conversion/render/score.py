#!/usr/bin/env python3
"""Scores a converter of PDF to Markdown on what `make.py` rendered.

    score.py OUT/scored --command 'target/release/tributary convert {file}' [--kinds tags,bare] [--by style] [--keep FOLDER]

headings    recall, precision, and of those found the share at the right level; a heading is found if a heading has its letters and digits
cells       share of the filled cells that are found in one row with the cells of their row and in their column; merged cells count once
order       of neighbouring paragraphs that are both found, the share that are in order
texts       share of paragraphs, items and notes that are found at all, by letters and digits
items       share of the items of lists that are items
code        share of the lines of code that are lines of code blocks
hyphens     of the words that an end of a line parts with a hyphen, the share that are one word again, as it was written
notes       share of the footnotes that are footnotes of Markdown, `[^1]` behind the text that refers to them and their text behind `[^1]:`
links       share of the links that are links with the same text and address
heads       share of the running heads and feet that were printed and are kept in the text, and in how many files any is
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import pathlib
import re
import shlex
import subprocess
import unicodedata

from markdown_it import MarkdownIt

from renderers import FOOT, RUNNING
from sources import LINK, plain

KEY_LENGTH = 60
BEFORE_NOTE = 12
NOTE = re.compile(r"^\f?\[\^(\d[\d.]*)\]: ?(.*)", re.MULTILINE)
MARK = re.compile(r"\[\^(\d[\d.]*)\]")
WORD = re.compile(r"\w+(?:[-'’]\w+)*")


def key(text):
    return "".join(character for character in unicodedata.normalize("NFKC", text).lower() if character.isalnum())


def words(texts):
    return collections.Counter(WORD.findall(unicodedata.normalize("NFKC", "\n".join(texts)).lower()))


def linked(runs):
    """Text of each link of runs (style, text); neighbours are one."""
    return ["".join(text for _, text in group) for style, group in itertools.groupby(runs, lambda run: run[0]) if style == "link"]


def inline_runs(tokens):
    """The runs of an inline token; only links to the address of the sources have their style."""
    is_link = False
    for token in tokens:
        if token.type == "link_open":
            is_link = token.attrs["href"] == LINK
        elif token.type == "link_close":
            is_link = False
        else:
            yield "link" if is_link else "plain", token.content if token.type in ("text", "code_inline") else " "


def marked(markdown):
    """The text before each mark of a note, as far as it counts, and its label."""
    markdown = NOTE.sub("", markdown)
    return [(markdown[max(0, mark.start() - 4 * BEFORE_NOTE):mark.start()], mark[1]) for mark in MARK.finditer(markdown)]


def parsed(markdown):
    """Headings (level, key), rows of cells, items, lines of code, links, notes, words and the whole text of Markdown."""
    found = {"headings": [], "rows": [], "items": [], "code": [], "links": collections.Counter()}
    found["notes"] = {label: key(text) for label, text in NOTE.findall(markdown)}
    found["marked"] = [(key(text), label) for text, label in marked(markdown)]
    # CommonMark takes notes without spaces, as Chinese ones are, for targets of links.
    tokens = MarkdownIt("commonmark").enable("table").parse(MARK.sub("", NOTE.sub(r"\2", markdown)))
    in_item, texts = False, []
    for index, token in enumerate(tokens):
        match token.type:
            case "list_item_open":
                in_item = True
            case "tr_open":
                found["rows"].append([])
            case "fence" | "code_block":
                texts.append(token.content)
                found["code"] += [line.strip() for line in token.content.splitlines()]
            case "inline":
                runs = list(inline_runs(token.children))
                texts.append("".join(text for _, text in runs))
                found["links"].update(key(text) for text in linked(runs))
                text = key(texts[-1])
                match tokens[index - 1].type:
                    case "heading_open":
                        found["headings"].append((int(tokens[index - 1].tag[1]), text))
                    case "td_open" | "th_open":
                        found["rows"][-1].append(text)
                    case _ if in_item:
                        found["items"].append(text)
                        in_item = False
    found["text"] = key(" ".join(texts))
    found["words"] = words(texts)
    return found


def score(truth, markdown):
    counts = collections.Counter()
    found = parsed(markdown)
    score_headings(truth, found, counts)
    score_cells(truth, found, counts)
    score_texts(truth, found, counts)
    score_hyphens(truth, found, counts)
    score_links(truth, found, counts)
    score_notes(truth, found, counts)
    if truth["head"]:
        counts["heads_of"] = 2 * truth["pages"]
        kept = markdown.count(RUNNING) + len(re.findall(rf"\b{FOOT} \d+\b", markdown))
        counts["heads"], counts["heads_files"] = min(kept, counts["heads_of"]), int(kept > 0)
    counts["files"] = 1
    return counts


def score_headings(truth, found, counts):
    left = collections.defaultdict(list)
    for level, text in found["headings"]:
        left[text].append(level)
    for block in truth["blocks"]:
        if block["kind"] != "heading":
            continue
        counts["headings_of"] += 1
        levels = left[key(block["number"] + plain(block["runs"]))]
        if levels:
            counts["headings"] += 1
            counts["levels"] += levels[0] == block["level"]
            levels.pop(0)
    counts["headings_found"] = len(found["headings"])


def score_cells(truth, found, counts):
    rows = [row for row in found["rows"] if any(row)]
    for block in truth["blocks"]:
        if block["kind"] != "table":
            continue
        for row in block["rows"]:
            wanted, column = {}, 0
            for cell in row:
                if key(plain(cell["runs"])):
                    wanted[column] = key(plain(cell["runs"]))
                column += cell["columns"]
            right = [sum(index < len(other) and other[index] == text for index, text in wanted.items()) for other in rows]
            counts["cells_of"] += len(wanted)
            if right and max(right):
                best = right.index(max(right))
                counts["cells"] += right[best]
                rows.pop(best)


def score_texts(truth, found, counts):
    places = []
    code, items = collections.Counter(found["code"]), collections.Counter(item[:KEY_LENGTH] for item in found["items"])
    for block in truth["blocks"]:
        match block["kind"]:
            case "code":
                for line in filter(None, (line.strip() for line in block["text"].splitlines())):
                    counts["code_of"] += 1
                    counts["code"] += code[line] > 0
            case "paragraph" | "item":
                before_note = itertools.takewhile(lambda run: run[0] != "note", block["runs"])
                text = key(plain(before_note))[:KEY_LENGTH]
                if len(text) < 8:
                    continue
                if block["kind"] == "item":
                    counts["items_of"] += 1
                    counts["items"] += items[text] > 0
                behind = found["text"].find(text, max(places, default=0))
                places.append(behind if behind >= 0 else found["text"].find(text))
                for note in (key(text) for style, text in block["runs"] if style == "note"):
                    counts["texts_of"] += 1
                    counts["texts"] += note[:KEY_LENGTH] in found["text"]
    counts["texts_of"] += len(places)
    counts["texts"] += sum(place >= 0 for place in places)
    pairs = [(one, other) for one, other in zip(places, places[1:]) if one >= 0 and other >= 0]
    counts["order_of"], counts["order"] = len(pairs), sum(one < other for one, other in pairs)


def all_runs(blocks):
    """The runs of each text of blocks, of each cell of their tables too."""
    for block in blocks:
        if block["kind"] == "table":
            yield from (cell["runs"] for row in block["rows"] for cell in row)
        elif block["kind"] != "code":
            yield block["runs"]


def score_hyphens(truth, found, counts):
    written = words("".join(text for _, text in runs) for runs in all_runs(truth["blocks"]))
    forms = {key(word): word for word in written}
    for word, times in collections.Counter(map(key, truth.get("broken_words", []))).items():
        if (form := forms.get(word)) is None:
            continue
        lost = max(written[form] - found["words"][form], 0)
        counts["hyphens_of"] += times
        counts["hyphens"] += max(times - lost, 0)


def score_links(truth, found, counts):
    wanted = collections.Counter(key(text) for runs in all_runs(truth["blocks"]) for text in linked(runs))
    del wanted[""]
    counts["links_of"] += wanted.total()
    counts["links"] += (wanted & found["links"]).total()


def score_notes(truth, found, counts):
    for runs in all_runs(truth["blocks"]):
        before = ""
        for style, text in runs:
            if style != "note":
                before = key(before + text)[-BEFORE_NOTE:] if key(text) else before
                continue
            labels = {label for label, note in found["notes"].items() if note == key(text)}
            counts["notes_of"] += 1
            counts["notes"] += any(label in labels and text_before.endswith(before) for text_before, label in found["marked"])


def convert(command, file):
    arguments = [part.replace("{file}", str(file)) for part in shlex.split(command)]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=300).stdout


def share(counts, name, of):
    return f"{counts[name] / counts[of]:.3f}" if counts[of] else "–"


def report(groups):
    names = ["files", "headings of", "recall", "precision", "level", "cells of", "cells", "order", "texts", "items", "code", "hyphens", "links", "notes", "heads kept", "files with heads"]
    print(f"| what | {' | '.join(names)} |\n|{'---|' * (len(names) + 1)}")
    for name, counts in sorted(groups.items()):
        figures = [counts["files"], counts["headings_of"], share(counts, "headings", "headings_of"), share(counts, "headings", "headings_found"),
                   share(counts, "levels", "headings"), counts["cells_of"], share(counts, "cells", "cells_of"), share(counts, "order", "order_of"),
                   share(counts, "texts", "texts_of"), share(counts, "items", "items_of"), share(counts, "code", "code_of"),
                   share(counts, "hyphens", "hyphens_of"), share(counts, "links", "links_of"), share(counts, "notes", "notes_of"),
                   share(counts, "heads", "heads_of"), counts["heads_files"]]
        print(f"| {name} | {' | '.join(map(str, figures))} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--command", required=True, help="prints Markdown; {file} is replaced by the path")
    parser.add_argument("--kinds", default="tags,bare")
    parser.add_argument("--by", choices=["style", "source", "file"], help="a row for each of them, too")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder that keeps every output")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    truths = [json.loads(line) for line in (arguments.folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()]
    jobs = [(truth, kind) for truth in truths for kind in arguments.kinds.split(",")]

    def one(job):
        truth, kind = job
        markdown = convert(arguments.command, arguments.folder / f"{truth['file']}.{kind}.pdf")
        if arguments.keep:
            (arguments.keep / f"{truth['file']}.{kind}.md").write_text(markdown, encoding="utf-8")
        return score(truth, markdown)

    groups = collections.defaultdict(collections.Counter)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for (truth, kind), counts in zip(jobs, pool.map(one, jobs)):
            groups[kind].update(counts)
            if arguments.by:
                groups[f"{kind} {truth[arguments.by]}"].update(counts)
    report(groups)


if __name__ == "__main__":
    main()
