#!/usr/bin/env python3
"""Fits the weights by which `convert` tells headings of PDFs without tags, and prints the table that its source holds.

    make.py OUT ... --part look, and the same with --practice into another folder
    fit.py list OUT/look PRACTICE/look --documents FOLDER --known known.json > files.txt
    cargo run --release -p tributary-convert --example headings -- files.txt > examples.jsonl
    fit.py table examples.jsonl OUT/look PRACTICE/look --documents FOLDER --known known.json > convert/src/pdf/headings/weights.rs

A logistic regression with a penalty on large weights. Examples are the paragraphs of the rendered documents without tags, of the part to look at, and of the
documents of FOLDER (with their manifest.jsonl) whose headings are known: by it, by --known, or by their outlines. A made-up heading counts
`--made-up` times a missed one. Printed to stderr: recall and precision on styles that were left out of the fit, one after the other, and on FOLDER.
"""
import argparse
import collections
import json
import pathlib
import sys

import numpy

from score import key
from sources import plain

PENALTY = 3.0

# What is drawn as the text is has weights of its own.
PLAIN = "plain"

# What never speaks against a heading, and what never for one, whatever a sample says.
FOR = ("larger", "large", "very large", "length of large letters", "bold", "italic", "coloured", "capitals", "other font", "number", "number of parts",
       "centred", "space before", "closer to what follows", "more space before than paragraphs", "less space behind than paragraphs")
AGAINST = ("smaller", "ends like a sentence", "ends with a colon", "parts of sentences", "length", "lines", "small start", "digits", "signs", "caption", "leader",
           "set in", "space behind", "behind its like", "before its like", "an item among items", "behind half a sentence", "behind a colon", "repeated")

# Entries of an outline from which it names all headings, and examples of a document that count fully.
WHOLE_OUTLINE = 200
FULL_EXAMPLES = 300


def truths(folders):
    """The letters of the headings of each rendered file, by its path."""
    found = {}
    for folder in folders:
        for line in (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines():
            truth = json.loads(line)
            headings = [key(block["number"] + plain(block["runs"])) for block in truth["blocks"] if block["kind"] == "heading"]
            found[str((folder / f"{truth['file']}.bare.pdf").absolute())] = (truth["style"], headings)
    return found


def documents(folder, more):
    """The same of real documents; `None` where only their outline tells. `more` names headings of files whose manifest has none."""
    found = {}
    listed = json.loads(more.read_text(encoding="utf-8")) if more else {}
    for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines() if folder else []:
        document = json.loads(line)
        if document["format"] == "pdf" and document["expect"] == "ok":
            headings = [key(text) for text in document.get("headings") or listed.get(document["file"], [])] or None
            found[str((folder / document["file"]).absolute())] = ("documents", headings)
    return found


def examples(path, known, weight):
    """Names of the features; of each example its group, features, whether it is a heading, and how much it counts."""
    files = collections.defaultdict(list)
    for line in filter(None, path.read_text(encoding="utf-8").split("\n")):
        example = json.loads(line)
        files[example["file"]].append(example)
    groups, rows, wanted, weights = [], [], [], []
    for file, found in files.items():
        group, headings = known[file]
        if headings is None:
            # What a short outline leaves out may be headings, too, and so may large letters.
            is_whole = sum(example["outline"] for example in found) >= WHOLE_OUTLINE
            found = [example for example in found if example["outline"] or is_whole and not dict(example["features"])["large"]]
        counts = collections.Counter(headings)
        for example in found:
            text = key(example["text"])
            wanted.append(float(example["outline"] if headings is None else counts[text] > 0))
            counts[text] -= 1
            groups.append(group)
            rows.append([value for _, value in example["features"]])
            weights.append(weight * min(1, FULL_EXAMPLES / len(found)) if group == "documents" else 1.0)
    names = [name for name, _ in next(found for found in files.values() if found)[0]["features"]]
    return names, numpy.array(groups), numpy.array(rows), numpy.array(wanted), numpy.array(weights)


def fit(names, rows, wanted, weights, made_up):
    """Weights by Newton's method; numbers are left out where they would count the wrong way."""
    weights = weights * numpy.where(wanted > 0, 1.0, made_up)
    used = numpy.ones(len(names), bool)
    while True:
        found = numpy.zeros(len(names))
        found[used] = newton(rows[:, used], wanted, weights)
        wrong = numpy.array([name in FOR and weight < 0 or name in AGAINST and weight > 0 for name, weight in zip(names, found)])
        if not wrong.any():
            return found
        used &= ~wrong


def fit_both(names, rows, wanted, weights, made_up):
    """The weights of what something sets off from the text, and of what is drawn as the text is."""
    is_plain = rows[:, names.index(PLAIN)] == 1
    of = lambda part: fit(names, rows[part], wanted[part], weights[part], made_up)
    return of(~is_plain), of(is_plain)


def newton(rows, wanted, weights):
    found = numpy.zeros(rows.shape[1])
    for _ in range(30):
        chance = 1 / (1 + numpy.exp(-numpy.clip(rows @ found, -30, 30)))
        slope = rows.T @ (weights * (chance - wanted)) + PENALTY * found
        curve = (rows * (weights * chance * (1 - chance))[:, None]).T @ rows + PENALTY * numpy.eye(len(found))
        step = numpy.linalg.solve(curve, slope)
        found -= step
        if numpy.abs(step).max() < 1e-4:
            break
    return found


def figures(name, names, rows, wanted, found):
    set_off, plain = found
    is_heading = numpy.where(rows[:, names.index(PLAIN)] == 1, rows @ plain, rows @ set_off) > 0
    hits = (is_heading & (wanted > 0)).sum()
    print(f"{name:24} headings {int(wanted.sum()):5} recall {hits / max(wanted.sum(), 1):.3f} precision {hits / max(is_heading.sum(), 1):.3f}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["list", "table"])
    parser.add_argument("paths", type=pathlib.Path, nargs="+")
    parser.add_argument("--documents", type=pathlib.Path)
    parser.add_argument("--known", type=pathlib.Path, help="JSON: the headings of more files of --documents, by name")
    parser.add_argument("--made-up", type=float, default=1.0)
    parser.add_argument("--document-weight", type=float, default=24.0)
    arguments = parser.parse_args()
    folders = arguments.paths if arguments.verb == "list" else arguments.paths[1:]
    known = truths(folders) | documents(arguments.documents, arguments.known)
    if arguments.verb == "list":
        print("\n".join(known))
        return
    names, groups, rows, wanted, weights = examples(arguments.paths[0], known, arguments.document_weight)
    for group in sorted(set(groups)):
        out = groups == group
        found = fit_both(names, rows[~out], wanted[~out], weights[~out], arguments.made_up)
        figures(f"without {group}", names, rows[out], wanted[out], found)
    found = fit_both(names, rows, wanted, weights, arguments.made_up)
    for group in sorted(set(groups)):
        figures(f"with {group}", names, rows[groups == group], wanted[groups == group], found)
    print("//! Written by `eval/workloads/conversion/render/fit.py`, which says on what they were fitted.\n")
    print("/// What each number for a heading counts, for one that something sets off from the text and for one that nothing does; above 0 in")
    print(f"/// sum is a heading.\n#[allow(clippy::approx_constant)]\npub(super) const WEIGHTS: [(&str, f32, f32); {len(names)}] = [")
    for name, set_off, plain in zip(names, *found):
        print(f'    ("{name}", {set_off:.2f}, {plain:.2f}),')
    print("];")


if __name__ == "__main__":
    main()
