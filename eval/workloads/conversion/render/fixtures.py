#!/usr/bin/env python3
"""Writes the tagged PDFs of convert/tests/goldens, one by typst and one by Chromium: `fixtures.py FOLDER --chromium PATH`."""
import argparse
import pathlib

import pikepdf

import renderers
from sources import cell

LOOK = renderers.PLAIN | {"page": "a5", "size": 9, "borders": "rows"}
# Chromium embeds the hints of fonts: without code, one font less keeps its file small.
LOOKS = {"typst": LOOK | {"headings": "bold"}, "chromium": LOOK | {"headings": "colour", "font": "sans"}}


def text(kind, words, **more):
    return {"kind": kind, "runs": [("plain", words)], **more}


def blocks(with_code):
    """A short report: headings as large as the text, a list in a list, a table with merged and empty cells, code, a footnote, two pages."""
    yield text("heading", "Field trial of the night mode", level=1)
    note = ("note", "Measured between midnight and five.")
    yield {"kind": "paragraph", "runs": [("plain", "Twelve stations slept at night. "), ("bold", "None was missed"), ("plain", " by its neighbours."), note]}
    yield text("heading", "Settings", level=2)
    yield text("item", "Wake on load", depth=0, number=None)
    yield text("item", "within two seconds", depth=1, number=None)
    yield text("item", "Sleep after an hour", depth=0, number=None)
    yield text("heading", "Results", level=2)
    rows = [["Station", "Saved", "Remark"], ["North", "31 %", ""], ["", "28 %", "rain"], ["South", "35 %", "wind"]]
    table = [[cell(words) for words in row] for row in rows]
    table.append([cell("All stations", columns=2), cell("fine")])
    yield {"kind": "table", "rows": table}
    if with_code:
        yield text("heading", "Commands", level=3)
        yield {"kind": "code", "text": "set_sleep(3600)\nif load > 2:\n    wake()"}
    for number in range(1, 7):
        yield text("heading", f"Week {number}", level=2)
        yield text("paragraph", f"In week {number} the stations slept for {40 + number} hours. The load at five in the morning was as low as in the week before, "
                                "so nothing was changed. The next report tells what the neighbours did.")


def pack(path):
    """Compresses the objects of the structure, which renderers leave as plain text."""
    with pikepdf.open(path, allow_overwriting_input=True) as document:
        document.save(path, object_stream_mode=pikepdf.ObjectStreamMode.generate, recompress_flate=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--chromium", default="chromium")
    arguments = parser.parse_args()
    for renderer in LOOKS:
        style = f"{renderer}-fixture"
        renderers.STYLES[style] = (renderer, LOOKS[renderer])
        out = (arguments.folder / f"tagged-{renderer}.pdf").absolute()
        renderers.render(list(blocks(with_code=renderer == "typst")), "Night mode", style, out, arguments.chromium)
        pack(out)


if __name__ == "__main__":
    main()
