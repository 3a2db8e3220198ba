#!/usr/bin/env python3
"""Fits the weights by which `convert` tells headings of PDFs without tags, and prints the table that its source holds.

    fit.py list OUT/look [OUT/look ...] [--documents FOLDER] > files.txt
    TRIBUTARY_PDF_LIST=files.txt TRIBUTARY_PDF_EXAMPLES=examples.jsonl cargo test --release -p tributary-convert --lib -- write_examples --ignored
    fit.py table examples.jsonl OUT/look [OUT/look ...] [--documents FOLDER] > convert/src/pdf/headings/weights.rs

A logistic regression with a penalty on large weights. Examples are the paragraphs of the rendered documents without tags, of the part to look at, and of the
documents of FOLDER (with their manifest.jsonl) whose headings are known: those that it lists, and the entries of outlines. A made-up heading counts
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
SMALLEST = 0.005


def truths(folders):
    """The letters of the headings of each rendered file, by its path."""
    found = {}
    for folder in folders:
        for line in (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines():
            truth = json.loads(line)
            headings = [key(block["number"] + plain(block["runs"])) for block in truth["blocks"] if block["kind"] == "heading"]
            found[str((folder / f"{truth['file']}.bare.pdf").absolute())] = (truth["style"], headings)
    return found


def documents(folder):
    """The same of real documents; `None` where only their outline tells."""
    found = {}
    for line in (folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines() if folder else []:
        document = json.loads(line)
        if document["format"] == "pdf" and document["expect"] == "ok":
            headings = [key(text) for text in document.get("headings", [])] or None
            found[str((folder / document["file"]).absolute())] = ("documents", headings)
    return found


def examples(path, known, weight):
    """Groups, features, whether each is a heading, and how much it counts."""
    names, groups, rows, wanted, weights = None, [], [], [], []
    left = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        example = json.loads(line)
        group, headings = known[example["file"]]
        names = names or list(example["features"])
        if headings is None and not example["outline"]:
            continue  # an outline names some headings: what it leaves out may be others
        counts = left.setdefault(example["file"], collections.Counter(headings))
        text = key(example["text"])
        is_heading = example["outline"] if headings is None else counts[text] > 0
        counts[text] -= 1
        groups.append(group)
        rows.append([example["features"][name] for name in names])
        wanted.append(float(is_heading))
        weights.append(weight if group == "documents" else 1.0)
    return names, numpy.array(groups), numpy.array(rows), numpy.array(wanted), numpy.array(weights)


def fit(rows, wanted, weights, made_up):
    """Weights by Newton's method."""
    weights = weights * numpy.where(wanted > 0, 1.0, made_up)
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


def figures(name, rows, wanted, found):
    is_heading = rows @ found > 0
    hits = (is_heading & (wanted > 0)).sum()
    print(f"{name:24} headings {int(wanted.sum()):5} recall {hits / max(wanted.sum(), 1):.3f} precision {hits / max(is_heading.sum(), 1):.3f}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["list", "table"])
    parser.add_argument("paths", type=pathlib.Path, nargs="+")
    parser.add_argument("--documents", type=pathlib.Path)
    parser.add_argument("--made-up", type=float, default=1.5)
    parser.add_argument("--document-weight", type=float, default=5.0)
    arguments = parser.parse_args()
    folders = arguments.paths if arguments.verb == "list" else arguments.paths[1:]
    known = truths(folders) | documents(arguments.documents)
    if arguments.verb == "list":
        print("\n".join(known))
        return
    names, groups, rows, wanted, weights = examples(arguments.paths[0], known, arguments.document_weight)
    for group in sorted(set(groups)):
        out = groups == group
        figures(f"without {group}", rows[out], wanted[out], fit(rows[~out], wanted[~out], weights[~out], arguments.made_up))
    found = fit(rows, wanted, weights, arguments.made_up)
    for group in sorted(set(groups)):
        figures(f"with {group}", rows[groups == group], wanted[groups == group], found)
    print("//! Written by `eval/workloads/conversion/render/fit.py`, which says on what they were fitted.\n")
    print(f"/// What each number for a heading counts; above 0 in sum is a heading.\npub(super) const WEIGHTS: [(&str, f32); {len(names)}] = [")
    for name, weight in zip(names, found):
        print(f'    ("{name}", {weight:.2f}),')
    print("];")


if __name__ == "__main__":
    main()
