#!/usr/bin/env python3
"""Draws scanned pages of known text and scores what is read of them.

    formats/scans.py make OUT [--part look|scored]
    formats/scans.py score OUT/scored --command 'target/release/tributary convert {file}'

Pages are A4 in one or two columns, English or Chinese, at 100, 150 or 200 dots per inch, in print of 8, 10 or 12 points, upright, turned by quarters or askew by up
to four degrees, with noise. A third of the pages, by the hash of their names, may be looked at.

words    share of the words (of Chinese: pairs of neighbouring characters) that are read
lines    share of the beginnings of paragraphs that are found
order    of neighbouring paragraphs that are found, the share that are in order
"""
import argparse
import collections
import json
import pathlib
import re
import shlex
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from PIL import Image, ImageDraw, ImageFilter, ImageFont
from sources import part
from structures import Maker

LATIN, CHINESE = "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf", "/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc"
INCHES = (8.27, 11.69)
LINE_START = "，。、；：）"


def pages():
    """Number and habits of each page."""
    number = 0
    for columns in (1, 2, 2):
        for dots in (100, 150, 200):
            for turn in (0, 90, 180, 270, "askew"):
                for points in (8, 10):
                    number += 1
                    yield number, {"columns": columns, "dots": dots, "turn": turn, "points": points}


def name(number, habits):
    return f"scan-{number}.{habits['columns']}col.{habits['dots']}dpi.{habits['points']}pt.{habits['turn']}"


def lines_of(text, font, width):
    """Text broken into lines: between words, of Chinese between characters."""
    words = list(text) if any("一" <= character <= "鿿" for character in text) else re.findall(r"\S+\s*", text)
    lines, line = [], ""
    for word in words:
        if line and font.getlength((line + word).rstrip()) > width and word not in LINE_START:
            lines.append(line.rstrip())
            line = ""
        line += word
    return lines + [line.rstrip()] if line else lines


def draw(number, habits):
    """The picture and its paragraphs in reading order."""
    maker, scale = Maker(number), habits["dots"] / 72
    width, height = (round(side * habits["dots"]) for side in INCHES)
    page = Image.new("L", (width, height), 250)
    pen, size = ImageDraw.Draw(page), round(habits["points"] * scale)
    font = ImageFont.truetype(CHINESE if maker.is_chinese else LATIN, size)
    title = ImageFont.truetype(CHINESE if maker.is_chinese else LATIN, round(size * 1.6))
    margin, gap = round(56 * scale), round(18 * scale)
    column_width = (width - 2 * margin - gap * (habits["columns"] - 1)) // habits["columns"]
    top = margin + round(size * 3)
    texts = [maker.words(3, 4)]
    pen.text((margin, margin), texts[0], font=title, fill=20)
    for column in range(habits["columns"]):
        left, y = margin + column * (column_width + gap), top
        while True:
            text = maker.words(20, 60) + ("。" if maker.is_chinese else ".")
            lines = lines_of(text, font, column_width)
            if y + len(lines) * size * 1.4 > height - margin - maker.chance.randint(0, 60):
                break
            for line in lines:
                pen.text((left, y), line, font=font, fill=20)
                y += round(size * 1.4)
            y += round(size * 0.7)
            texts.append(text)
    return turned(page, habits, maker.chance), texts


def turned(page, habits, chance):
    angle = chance.choice([-4, -2.5, -1.2, 1.2, 2.5, 4]) if habits["turn"] == "askew" else habits["turn"]
    page = page.rotate(angle, resample=Image.Resampling.BICUBIC, expand=True, fillcolor=250)
    page = page.filter(ImageFilter.GaussianBlur(0.4 * habits["dots"] / 150))
    noise = Image.effect_noise(page.size, 18)
    return Image.blend(page, noise, 0.06)


def make(arguments):
    folder = arguments.out / arguments.part
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "truth.jsonl", "w", encoding="utf-8") as truth:
        for number, habits in pages():
            if part(name(number, habits)) == arguments.part and number % arguments.every == 0:
                picture, texts = draw(number, habits)
                picture.save(folder / f"{name(number, habits)}.png", dpi=(habits["dots"],) * 2)
                truth.write(json.dumps({"file": f"{name(number, habits)}.png", "texts": texts} | habits, ensure_ascii=False) + "\n")


def words(text):
    wide = re.findall("[一-鿿]+", text.replace("\n", ""))
    return collections.Counter(re.findall(r"[a-z0-9]+", text.lower()) + [run[at:at + 2] for run in wide for at in range(len(run) - 1)])


def key(text):
    return "".join(character for character in text.lower() if character.isalnum())


def score(arguments):
    truths = [json.loads(line) for line in (arguments.out / "truth.jsonl").read_text(encoding="utf-8").splitlines()]
    groups = collections.defaultdict(collections.Counter)
    for truth in truths:
        command = [one.replace("{file}", str(arguments.out / truth["file"])) for one in shlex.split(arguments.command)]
        text = subprocess.run(command, capture_output=True, text=True, timeout=300).stdout
        wanted, read = words(" ".join(truth["texts"])), words(re.sub(r"(?<=[一-鿿])\s+(?=[一-鿿])", "", text))
        whole = key(text)
        places = [whole.find(key(one)[:40]) for one in truth["texts"]]
        pairs = [pair for pair in zip(places, places[1:]) if min(pair) >= 0]
        counts = collections.Counter(files=1, words_of=wanted.total(), words=(wanted & read).total(), lines_of=len(places), lines=sum(place >= 0 for place in places),
                                     order_of=len(pairs), order=sum(one < other for one, other in pairs))
        for group in ("all", f"{truth['columns']} columns", f"{truth['dots']} dpi", f"{truth['points']} points", f"turned {truth['turn']}"):
            groups[group].update(counts)
        if arguments.each:
            print(truth["file"], *(f"{one} {counts[one] / max(counts[one + '_of'], 1):.3f}" for one in ("words", "lines", "order")))
    print("| pages | files | words | lines | order |\n|---|---|---|---|---|")
    for group, counts in sorted(groups.items()):
        print(f"| {group} | {counts['files']} | " + " | ".join(f"{counts[one] / max(counts[one + '_of'], 1):.3f}" for one in ("words", "lines", "order")) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["make", "score"])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--part", choices=["look", "scored"], default="scored")
    parser.add_argument("--every", type=int, default=1, help="only every so many pages; reading takes seconds")
    parser.add_argument("--command")
    parser.add_argument("--each", action="store_true", help="a line for each page; for the part to look at")
    arguments = parser.parse_args()
    (make if arguments.verb == "make" else score)(arguments)


if __name__ == "__main__":
    main()
