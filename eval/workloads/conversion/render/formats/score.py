#!/usr/bin/env python3
"""Scores a converter to Markdown on what `make.py` wrote.

    formats/score.py OUT/scored --command 'target/release/tributary convert {file}' [--by style] [--keep FOLDER] [--show recall]

recall, precision, level   headings found, those that are headings, and of those found the share at the right level; slides have no levels
cells     share of the filled cells that are found in one row with the cells of their row and in their column; merged cells count once
rows      share of the rows of tables found that are rows of a table
items     share of the items of lists that are items at their depth; definitions are no items
order     of neighbouring headings, paragraphs and items that are found, the share that are in order
texts     share of paragraphs, items, terms, definitions and notes that are found, by letters and digits
code      share of the lines of code that are lines of code blocks, however many blanks stand in them
formulas  share of the fractions that are fractions in LaTeX
links     share of the links with their text and address
kept      how many files keep what is no content: navigation, a table of contents, deleted text
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import re
import shlex
import subprocess
import sys
import unicodedata

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from markdown_it import MarkdownIt
from structures import places

KEY_LENGTH = 60


def key(text):
    return "".join(character for character in unicodedata.normalize("NFKC", text).lower() if character.isalnum())


def plain(runs):
    return "".join(run[1] for run in runs if run[0] != "note")


def parsed(markdown):
    """Headings, rows of cells, items with their depths, lines of code, links and the whole text of Markdown."""
    found = {"headings": [], "rows": [], "items": [], "code": [], "links": [], "markdown": markdown}
    # To CommonMark a note of one word is an address, which is never seen.
    markdown = re.sub(r"^\[\^[^\]]+\]: ", "", markdown.replace("\f", ""), flags=re.M)
    tokens, depth, in_item, texts = MarkdownIt("commonmark").enable("table").parse(markdown), -1, False, []
    for index, token in enumerate(tokens):
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                depth += 1
            case "bullet_list_close" | "ordered_list_close":
                depth -= 1
            case "list_item_open":
                in_item = True
            case "tr_open":
                found["rows"].append([])
            case "fence" | "code_block":
                texts.append(token.content)
                found["code"] += [" ".join(line.split()) for line in token.content.splitlines()]
            case "inline":
                found["links"] += links(token.children)
                texts.append("".join(child.content if child.type in ("text", "code_inline") else " " for child in token.children))
                text = re.sub(r"\[\^[^\]]*\]", "", texts[-1])
                match tokens[index - 1].type:
                    case "heading_open":
                        found["headings"].append((int(tokens[index - 1].tag[1]), key(text)))
                    case "td_open" | "th_open":
                        found["rows"][-1].append(key(text))
                    case _ if in_item:
                        found["items"].append((depth, key(text)[:KEY_LENGTH]))
                        in_item = False
    found["text"] = key(" ".join(texts))
    return found


def links(tokens):
    found, inside = [], None
    for token in tokens:
        if token.type == "link_open":
            inside, address = [], token.attrs["href"]
        elif token.type == "link_close":
            found.append((key("".join(inside)), address))
            inside = None
        elif inside is not None:
            inside.append(token.content)
    return found


class Score:
    """What is found of one document."""

    def __init__(self, truth, markdown):
        self.truth, self.found, self.counts, self.misses = truth, parsed(markdown), collections.Counter(files=1), []
        self.left_out = truth.get("left_out", [])
        self.headings()
        self.tables()
        self.texts()
        gone = [text for text in truth["gone"] if key(text) in self.found["text"]]
        self.counts["kept"] = int(bool(gone))
        self.misses += [("kept", text) for text in gone]

    def of(self, *kinds):
        return [block for block in self.truth["blocks"] if block["kind"] in kinds and block["kind"] not in self.left_out]

    def count(self, name, is_found, what):
        self.counts[f"{name}_of"] += 1
        self.counts[name] += bool(is_found)
        if not is_found:
            self.misses.append((name, what))

    def headings(self):
        left = collections.defaultdict(list)
        for level, text in self.found["headings"]:
            left[text].append(level)
        for block in self.of("heading"):
            levels = left[key(block.get("number", "") + plain(block["runs"]))]
            self.count("recall", levels, plain(block["runs"]))
            if levels:
                level = levels.pop(0)
                if "levels" not in self.left_out:
                    self.count("level", level == block["level"], plain(block["runs"]))
        self.counts["precision"], self.counts["precision_of"] = self.counts["recall"], len(self.found["headings"])
        self.misses += [("precision", text) for text, levels in left.items() for _ in levels]

    def tables(self):
        rows = [row for row in self.found["rows"] if any(row)]
        self.counts["rows_of"] = len(rows)
        waiting = [block["rows"] for block in self.of("table")]
        while waiting:
            table = waiting.pop(0)
            wanted = collections.defaultdict(dict)
            for row, column, cell in places(table):
                if key(plain(cell["runs"])):
                    wanted[row][column] = key(plain(cell["runs"]))
                waiting += [cell["inner"]] if "inner" in cell else []
            for row in wanted.values():
                right = [sum(column < len(other) and other[column] == text for column, text in row.items()) for other in rows]
                best = right.index(max(right)) if right and max(right) else None
                for column, text in row.items():
                    other = rows[best] if best is not None else []
                    self.count("cells", column < len(other) and other[column] == text, text)
                if best is not None:
                    rows.pop(best)
                    self.counts["rows"] += 1
        self.misses += [("rows", " | ".join(row)) for row in rows]

    def texts(self):
        items, behind, known = collections.Counter(self.found["items"]), [], self.found["text"]
        for block in self.of("heading", "paragraph", "item", "definition"):
            parts = [key(part) for part in "".join("\0" if run[0] == "note" else run[1] for run in block["runs"]).split("\0")]
            text = parts[0][:KEY_LENGTH]
            if block["kind"] == "item" and "items" not in self.left_out:
                self.count("items", items[(block["depth"], text)], (block["depth"], text))
            wanted = [text] + [key(run[1])[:KEY_LENGTH] for run in block["runs"] if run[0] == "note"] + [key(plain(block.get("term", [])))]
            for one in filter(None, wanted):
                self.count("texts", one in known, one)
            if len(text) >= 8:
                place = known.find(text, max(behind, default=0))
                behind.append(place if place >= 0 else known.find(text))
        for one, other in zip(behind, behind[1:]):
            if one >= 0 and other >= 0:
                self.count("order", one < other, known[other:other + 40])
        self.counts["order_of"] += 0
        for block in self.of("code"):
            for line in filter(None, (" ".join(line.split()) for line in block["text"].splitlines())):
                self.count("code", line in self.found["code"], line)
        for block in self.of("formula"):
            self.count("formulas", re.search(rf"\\frac{{\s*{letters(block['over'])}\s*}}{{\s*{letters(block['under'])}\s*}}", self.found["markdown"]), block["over"])
        known_links = set(self.found["links"])
        for block in self.of("paragraph", "item"):
            for run in block["runs"]:
                if run[0] == "link" and len(run) > 2:
                    self.count("links", (key(run[1]), run[2]) in known_links, run[2])


def letters(text):
    """A name such as `a12` as LaTeX may write it."""
    return rf"(\\(mathrm|text|operatorname){{)?{text[0]}\s*{text[1:]}}}?"


def convert(command, file):
    arguments = [part.replace("{file}", str(file)) for part in shlex.split(command)]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=300).stdout


NAMES = ["recall", "precision", "level", "cells", "rows", "items", "order", "texts", "code", "formulas", "links"]


def report(groups):
    print(f"| what | files | headings of | cells of | items of | {' | '.join(NAMES)} | kept |\n|{'---|' * (len(NAMES) + 6)}")
    for name, counts in sorted(groups.items()):
        shares = [f"{counts[one] / counts[one + '_of']:.3f}" if counts[one + "_of"] else "–" for one in NAMES]
        print(f"| {name} | {' | '.join(map(str, [counts['files'], counts['recall_of'], counts['cells_of'], counts['items_of'], *shares, counts['kept']]))} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--command", required=True, help="prints Markdown; {file} is replaced by the path")
    parser.add_argument("--formats", default="html,docx,pptx,odt")
    parser.add_argument("--by", choices=["style", "source", "file"], help="a row for each of them, too")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder that keeps every output; for the part to look at")
    parser.add_argument("--show", help="prints what is missed of that figure; for the part to look at")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    truths = [json.loads(line) for line in (arguments.folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()]
    truths = [truth for truth in truths if truth["format"] in arguments.formats.split(",")]

    def one(truth):
        markdown = convert(arguments.command, arguments.folder / truth["file"])
        if arguments.keep:
            (arguments.keep / f"{truth['file']}.md").write_text(markdown, encoding="utf-8")
        return Score(truth, markdown)

    groups = collections.defaultdict(collections.Counter)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for truth, score in zip(truths, pool.map(one, truths)):
            for name in [truth["format"]] + ([f"{truth['format']} {truth[arguments.by]}"] if arguments.by else []):
                groups[name].update(score.counts)
            for name, what in score.misses:
                if name == arguments.show:
                    print(truth["file"], name, what)
    report(groups)


if __name__ == "__main__":
    main()
