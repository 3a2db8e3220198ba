"""Documents by chance with every structure that files of programs tell: nested lists, tables with heads, spans, lists and tables in cells, definitions, notes,
links, formulas. Blocks are those of `../sources.py`, and

    {"kind": "definition", "term": runs, "runs": runs}     {"kind": "formula", "over": text, "under": text}, a fraction

A run may be (style, text, address) for a link; a cell may have `head`, and `inner`, the rows of a table in it behind its text.
"""
import random

from sources import CHINESE, ENGLISH

# Page of the first entry of a table of contents; no text has such numbers.
FIRST_PAGE = 301


class Maker:
    """One document of the number; every third is Chinese."""

    def __init__(self, number):
        self.chance = random.Random(f"structures {number}")
        self.is_chinese = number % 3 == 0
        self.blocks, self.links = [], 0

    def words(self, fewest, most):
        count = self.chance.randint(fewest, most)
        if self.is_chinese:
            return "".join(self.chance.choice(CHINESE) for _ in range(2 * count))
        return " ".join(self.chance.choice(ENGLISH) for _ in range(count)).capitalize()

    def prose(self):
        runs = [("plain", self.words(6, 20) + ("，" if self.is_chinese else ", ")), ("bold", self.words(1, 3)), ("plain", " " + self.words(8, 40))]
        if self.chance.random() < 0.3:
            self.links += 1
            runs += [("link", self.words(1, 3), f"https://example.org/page/{self.links}?a=1"), ("plain", " " + self.words(2, 6))]
        runs.append(("plain", "。" if self.is_chinese else "."))
        if self.chance.random() < 0.2:
            runs.append(("note", self.words(6, 14)))
        return runs

    def cell(self, text, columns=1, rows=1, head=False):
        return {"runs": [("plain", text)], "columns": columns, "rows": rows, "head": head}

    def value(self):
        return self.words(1, 4) if self.chance.random() < 0.6 else f"{self.chance.uniform(0, 99):.2f}"

    def table(self, depth=0):
        """Rows of one of seven shapes; each column has a cell of its own in some row."""
        columns, count = self.chance.randint(2, 5), self.chance.randint(2, 7)
        rows = [[self.cell(self.words(1, 3), head=True) for _ in range(columns)]]
        rows += [[self.cell(self.value()) for _ in range(columns)] for _ in range(count)]
        shape = self.chance.choice(["plain", "wide", "tall", "two heads", "sides", "inner", "inner", "records"] if depth == 0 else ["plain", "wide"])
        if shape == "wide" and columns > 2:
            at = self.chance.randrange(columns - 1)
            row = self.chance.randrange(1, len(rows))
            rows[row][at:at + 2] = [self.cell(self.words(2, 3), columns=2)]
        elif shape == "tall" and count > 2:
            at, row = self.chance.randrange(columns), self.chance.randrange(1, count)
            rows[row][at]["rows"] = 2
            del rows[row + 1][at]
        elif shape == "two heads" and columns > 2:
            top = [self.cell(self.words(1, 2), rows=2, head=True), self.cell(self.words(1, 2), columns=columns - 1, head=True)]
            rows[0:1] = [top, rows[0][1:]]
        elif shape == "records":
            rows[1:] = [[self.cell(self.words(1, 2))] + [self.cell(self.words(60, 110)) for _ in range(columns - 1)] for _ in range(max(count, 3))]
        elif shape == "sides":
            for row in rows:
                row[0]["head"] = True
        elif shape == "inner":
            cell = rows[self.chance.randrange(1, len(rows))][self.chance.randrange(columns)]
            cell["inner"] = self.table(1)
        return rows

    def items(self, depth=0):
        is_ordered = self.chance.random() < 0.4
        for count in range(self.chance.randint(2, 4)):
            runs = [("plain", self.words(3, 16))]
            self.blocks.append({"kind": "item", "depth": depth, "number": count + 1 if is_ordered else None, "runs": runs})
            if depth < 3 and self.chance.random() < 0.4:
                self.items(depth + 1)

    def section(self, level):
        self.blocks.append({"kind": "heading", "level": level, "runs": [("plain", self.words(2, 6))]})
        for _ in range(self.chance.randint(1, 3)):
            self.blocks.append({"kind": "paragraph", "runs": self.prose()})
        match self.chance.choice(["items", "table", "table", "code", "definitions", "formula", "none"]):
            case "items":
                self.items()
            case "table":
                self.blocks.append({"kind": "table", "rows": self.table()})
                self.blocks.append({"kind": "paragraph", "runs": self.prose()})
            case "code":
                lines = ["    " * (line % 3) + f"set_{self.chance.choice(ENGLISH)}({line})" for line in range(5)]
                self.blocks.append({"kind": "code", "text": "\n".join(lines)})
            case "definitions":
                for _ in range(self.chance.randint(2, 4)):
                    self.blocks.append({"kind": "definition", "term": [("plain", self.words(1, 2))], "runs": [("plain", self.words(6, 20))]})
            case "formula":
                over, under = (self.chance.choice("abcdkmn") + str(self.chance.randint(10, 99)) for _ in "ab")
                self.blocks.append({"kind": "formula", "over": over, "under": under})


def generated(number):
    maker = Maker(number)
    maker.section(1)
    for _ in range(maker.chance.randint(3, 6)):
        maker.section(2)
        for _ in range(maker.chance.randint(0, 3)):
            maker.section(3)
            if maker.chance.random() < 0.2:
                maker.section(4)
    return maker.blocks


def headings(blocks):
    """Text of each heading."""
    return ["".join(text for _, text, *_ in block["runs"]) for block in blocks if block["kind"] == "heading"]


def printed(blocks):
    """Entries of a table of contents as they would be read: headings with numbers of pages."""
    return [f"{text}{number}" for number, text in enumerate(headings(blocks), FIRST_PAGE)]


def tree(items):
    """Items of a list as (block, tree of the items below it)."""
    roots, stack = [], []
    for block in items:
        del stack[block["depth"]:]
        node = (block, [])
        (stack[-1][1] if stack else roots).append(node)
        stack.append(node)
    return roots


def grouped(blocks):
    """Kind and blocks of each run of items or definitions; other blocks alone."""
    groups = []
    for block in blocks:
        joins = block["kind"] in ("item", "definition") and groups and groups[-1][0] == block["kind"]
        if joins and not (block["kind"] == "item" and block["depth"] == 0 and (block["number"] is None) != (groups[-1][1][0]["number"] is None)):
            groups[-1][1].append(block)
        else:
            groups.append((block["kind"], [block]))
    return groups


def places(rows):
    """(row, column, cell) of each cell, as spans leave room for it."""
    taken = set()
    for number, row in enumerate(rows):
        column = 0
        for cell in row:
            while (number, column) in taken:
                column += 1
            taken |= {(number + down, column + right) for down in range(cell["rows"]) for right in range(cell["columns"])}
            yield number, column, cell
