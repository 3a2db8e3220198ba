#!/usr/bin/env python3
"""Renders documents of known structure to PDF, each with tags and without, and writes what is known of them.

    python3 -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python make.py OUT --markdown FOLDER [--markdown FOLDER ...] --chromium PATH [--sources 60] [--part look|scored]

OUT gets PART/NAME.STYLE.tags.pdf, PART/NAME.STYLE.bare.pdf and PART/truth.jsonl. The bare file is the same one without structure tree and outline, as
a printer driver would write it. `--sources` limits the Markdown files, spread over the folders by their hash; as many as a third of them are generated beside
them, and Arabic ones for the styles that run from right to left. Each source is rendered in `--styles` styles of its part, chosen by its hash.
"""
import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re

import pikepdf
import pypdfium2

import renderers
import sources

ARABIC = "arabic"


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def chosen(arguments):
    """Name and blocks of each source of the wanted part."""
    found = []
    for folder in arguments.markdown:
        found += [(f"{folder.name}/{name}", blocks) for name, blocks in sources.files(folder)]
    found.sort(key=lambda source: digest(source[0]))
    found = found[:arguments.sources]
    found += [(f"generated/{number}", sources.generated(number)) for number in range(arguments.sources // 3)]
    found += [(f"{ARABIC}/{number}", sources.generated(number, sources.ARABIC)) for number in range(arguments.sources // 6)]
    return [(name, blocks) for name, blocks in found if sources.part(name) == arguments.part]


def bare(tagged, out):
    with pikepdf.open(tagged) as document:
        for key in ("/StructTreeRoot", "/MarkInfo", "/Outlines"):
            if key in document.Root:
                del document.Root[key]
        for page in document.pages:
            if "/StructParents" in page:
                del page["/StructParents"]
        document.save(out)


def broken_words(file):
    """The words that the ends of lines part with a hyphen, without it; PDFium has U+FFFE in its place."""
    with pypdfium2.PdfDocument(file) as document:
        text = "\n".join(page.get_textpage().get_text_range() for page in document)
    return [word.replace("\ufffe", "") for word in re.findall(r"\w+\ufffe\w+", text)]


def make(name, blocks, style, arguments):
    stem = f"{re.sub(r'[^A-Za-z0-9]+', '-', name)[-60:]}.{digest(name)[:6]}.{style}"
    folder = arguments.out / arguments.part
    tagged = folder / f"{stem}.tags.pdf"
    renderers.render(blocks, name, style, tagged, arguments.chromium)
    bare(tagged, folder / f"{stem}.bare.pdf")
    with pikepdf.open(tagged) as document:
        pages = len(document.pages)
    look = renderers.STYLES[style][1]
    before = renderers.numbers(blocks, look)
    blocks = [block | {"number": next(before)} if block["kind"] == "heading" else block for block in blocks]
    return {"file": stem, "source": name, "style": style, "pages": pages, "head": look["head"], "blocks": blocks}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--chromium", default="chromium")
    parser.add_argument("--sources", type=int, default=60)
    parser.add_argument("--styles", type=int, default=4)
    parser.add_argument("--later", action="store_true", help="only the styles that came later")
    parser.add_argument("--practice", action="store_true", help="of the part to look at, the styles that are only there to fit weights on")
    parser.add_argument("--renderer", action="append", help="only the styles of this one (chromium, weasyprint, typst, xelatex, libreoffice)")
    parser.add_argument("--part", choices=["look", "scored"], default="scored")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    arguments.out = arguments.out.absolute()
    folder = arguments.out / arguments.part
    folder.mkdir(parents=True, exist_ok=True)
    styles = renderers.LOOK_STYLES if arguments.part == "look" else renderers.SCORED_STYLES
    if arguments.practice and arguments.part == "look":
        styles = list(renderers.PRACTICE_STYLES)
    if arguments.later:
        styles = [style for style in styles if style in renderers.LATER_STYLES]
    if arguments.renderer:
        styles = [style for style in styles if renderers.STYLES[style][0] in arguments.renderer]
    jobs = []
    for name, blocks in chosen(arguments):
        is_arabic = name.startswith(ARABIC)
        fitting = [style for style in styles if style.endswith("-rtl") == is_arabic]
        own = sorted(fitting, key=lambda style: digest(name + style))[:arguments.styles]
        jobs += [(name, blocks, style) for style in own]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool, open(folder / "truth.jsonl", "w", encoding="utf-8") as truth:
        pending = {pool.submit(make, *job, arguments): job for job in jobs}
        for done in concurrent.futures.as_completed(pending):
            name, _, style = pending[done]
            try:
                known = done.result()
                known["broken_words"] = broken_words(folder / f"{known['file']}.tags.pdf")  # here, as PDFium runs in one thread
                truth.write(json.dumps(known, ensure_ascii=False) + "\n")
            except Exception as error:  # a source that a renderer refuses is named and left out
                print(f"LEFT OUT: {name} in {style}: {str(error)[:200]}", flush=True)


if __name__ == "__main__":
    main()
