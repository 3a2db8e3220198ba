#!/usr/bin/env python3
"""Writes documents of known structure as html, docx, pptx and odt, each in the ways of several programs, and what is known of them.

    venv/bin/python formats/make.py OUT [--markdown FOLDER ...] [--sources 60] [--styles 4] [--part look|scored]

OUT gets PART/NAME.STYLE.FORMAT and PART/truth.jsonl. `--sources` documents are generated, and as many Markdown files are taken, if there are so many. Sources and
styles are split as those of PDFs are, see ../README.md. Nothing is drawn, so this takes seconds.
"""
import argparse
import copy
import hashlib
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import open_text
import slides
import sources
import structures
import web
import word

WRITERS = {"html": web, "docx": word, "pptx": slides, "odt": open_text}


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def chosen(arguments):
    found = [(f"{folder.name}/{name}", blocks) for folder in arguments.markdown for name, blocks in sources.files(folder)]
    found = sorted(found, key=lambda source: digest(source[0]))[:arguments.sources]
    found += [(f"structures/{number}", structures.generated(number)) for number in range(arguments.sources)]
    return [(name, blocks) for name, blocks in found if sources.part(name) == arguments.part]


def write(name, blocks, form, style, folder):
    blocks = copy.deepcopy(blocks)
    stem = f"{re.sub(r'[^A-Za-z0-9]+', '-', name)[-60:]}.{digest(name)[:6]}.{style}.{form}"
    known = WRITERS[form].write(blocks, name, style, folder / stem)
    return {"file": stem, "source": name, "format": form, "style": style, "blocks": blocks} | known


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--sources", type=int, default=60)
    parser.add_argument("--styles", type=int, default=4)
    parser.add_argument("--part", choices=["look", "scored"], default="scored")
    arguments = parser.parse_args()
    folder = arguments.out / arguments.part
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "truth.jsonl", "w", encoding="utf-8") as truth:
        for name, blocks in chosen(arguments):
            for form, writer in WRITERS.items():
                styles = [style for style in writer.STYLES if (style in writer.LOOK) == (arguments.part == "look")]
                for style in sorted(styles, key=lambda style: digest(name + style))[:arguments.styles]:
                    truth.write(json.dumps(write(name, blocks, form, style, folder), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
