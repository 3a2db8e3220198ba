"""Documents whose structure is known: Markdown files, and generated ones. A document is its title and a list of blocks, each a dictionary:

    {"kind": "heading", "level": 1..6, "runs": runs}     {"kind": "paragraph", "runs": runs}     {"kind": "code", "text": lines}
    {"kind": "item", "depth": 0.., "number": None or 1.., "runs": runs}
    {"kind": "table", "rows": rows of cells}; a cell is {"runs": runs, "columns": 1.., "rows": 1..}, the first row is the head

Runs are (style, text) with the styles plain, bold, code, link and note; a note is a footnote at its place.
"""
import hashlib
import random
import re

from markdown_it import MarkdownIt

LINK = "https://example.org/"  # where every link leads
MOST_BLOCKS = 150
FEWEST_BLOCKS = 12
ENGLISH = ("the of station antenna signal channel measured power receiver carrier between network handover each cell report value during band test first "
           "configured timer result gain noise link budget site filter phase").split()
ARABIC = "محطة هوائي إشارة قناة قياس قدرة مستقبل شبكة تسليم خلية تقرير قيمة نطاق اختبار أول مؤقت نتيجة ضجيج وصلة ميزانية موقع مرشح طور".split()
CHINESE = "基站信号天线频率网络测量接收功率信道小区切换配置参数报告数据终端协议用户连接时间结果系统传输带宽滤波增益噪声路径损耗"


def plain(runs):
    return "".join(text for style, text in runs if style != "note")


def nested(items, depth=0):
    """Each item of a list at this depth, with the deeper ones that follow it."""
    index = 0
    while index < len(items):
        inner = index + 1
        while inner < len(items) and items[inner]["depth"] > depth:
            inner += 1
        yield items[index], items[index + 1:inner]
        index = inner


def part(name):
    """`look` for the third of names that may be looked at, `scored` for the rest, which nobody looks at."""
    return "look" if hashlib.sha256(name.encode()).digest()[0] % 3 == 0 else "scored"


def from_markdown(text):
    """The blocks of a Markdown file; HTML, pictures and front matter are left out."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    blocks, lists, open_items = [], [], []
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    table = None
    for index, token in enumerate(tokens):
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                lists.append(token.attrs.get("start", 1) if token.type.startswith("ordered") else None)
            case "bullet_list_close" | "ordered_list_close":
                lists.pop()
            case "list_item_open":
                open_items.append(lists[-1])
                if lists[-1] is not None:
                    lists[-1] += 1
            case "list_item_close":
                open_items.clear()
            case "table_open":
                table = []
            case "tr_open":
                table.append([])
            case "table_close":
                blocks.append({"kind": "table", "rows": table})
                table = None
            case "fence" | "code_block" if token.content.strip():
                blocks.append({"kind": "code", "text": token.content.expandtabs(4).rstrip("\n")})
            case "inline":
                runs = inline(token.children)
                if table is not None:
                    table[-1].append({"runs": runs, "columns": 1, "rows": 1})
                elif plain(runs).strip():
                    blocks.append(text_block(tokens[index - 1], runs, lists, open_items))
    return blocks[:MOST_BLOCKS]


def text_block(opening, runs, lists, open_items):
    if opening.type == "heading_open":
        return {"kind": "heading", "level": int(opening.tag[1]), "runs": runs}
    if open_items:
        number = open_items[-1]
        open_items.clear()
        return {"kind": "item", "depth": len(lists) - 1, "number": number, "runs": runs}
    return {"kind": "paragraph", "runs": runs}


def inline(tokens):
    runs, bold, link = [], 0, 0
    for token in tokens:
        match token.type:
            case "strong_open" | "strong_close":
                bold += 1 if token.nesting > 0 else -1
            case "link_open" | "link_close":
                link += token.nesting
            case "text":
                runs.append(("link" if link else "bold" if bold else "plain", re.sub(r"<[^<>]*>|\$", "", token.content)))
            case "code_inline":
                runs.append(("code", token.content))
            case "softbreak" | "hardbreak":
                runs.append(("plain", " "))
    return [(style, text) for style, text in runs if text]


def files(folder):
    """Markdown files below a folder with enough structure, by name."""
    for path in sorted(folder.rglob("*.md")):
        try:
            blocks = from_markdown(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue
        kinds = {block["kind"] for block in blocks}
        headings = sum(block["kind"] == "heading" for block in blocks)
        if len(blocks) >= FEWEST_BLOCKS and headings >= 3 and len(kinds) >= 3:
            yield path.relative_to(folder).as_posix(), blocks


def generated(number, vocabulary=ENGLISH):
    """A document by chance: sections with prose, lists, tables with merged cells, code and footnotes, in English or Chinese, or words of the vocabulary."""
    chance = random.Random(number)
    is_chinese = number % 3 == 0 and vocabulary is ENGLISH

    def words(fewest, most):
        count = chance.randint(fewest, most)
        if is_chinese:
            return "".join(chance.choice(CHINESE) for _ in range(2 * count))
        return " ".join(chance.choice(vocabulary) for _ in range(count)).capitalize()

    def prose():
        runs = [("plain", words(8, 30) + ("，" if is_chinese else ", ")), ("bold", words(1, 3)), ("plain", words(10, 60) + ("。" if is_chinese else "."))]
        if chance.random() < 0.25:
            runs.append(("note", words(6, 14)))
        return runs

    def table():
        columns = chance.randint(2, 5)
        rows = [[cell(words(1, 2)) for _ in range(columns)]]
        for _ in range(chance.randint(2, 9)):
            rows.append([cell(words(1, 4) if chance.random() < 0.6 else f"{chance.uniform(0, 99):.2f}") for _ in range(columns)])
        if columns > 2 and chance.random() < 0.4:
            merged = chance.randrange(1, len(rows))
            rows[merged][:2] = [cell(words(2, 3), columns=2)]
        return {"kind": "table", "rows": rows}

    def section(level):
        blocks.append({"kind": "heading", "level": level, "runs": [("plain", words(1, 6))]})
        for _ in range(chance.randint(1, 3)):
            blocks.append({"kind": "paragraph", "runs": prose()})
        extra = chance.random()
        if extra < 0.3:
            is_ordered = chance.random() < 0.5
            for count in range(chance.randint(2, 6)):
                blocks.append({"kind": "item", "depth": 0, "number": count + 1 if is_ordered else None, "runs": [("plain", words(3, 25))]})
                if chance.random() < 0.3:
                    blocks.append({"kind": "item", "depth": 1, "number": None, "runs": [("plain", words(2, 9))]})
        elif extra < 0.6:
            blocks.append(table())
        elif extra < 0.75:
            blocks.append({"kind": "code", "text": "\n".join("    " * (line % 3) + f"set_{chance.choice(ENGLISH)}({line})" for line in range(5))})

    blocks = []
    section(1)
    for _ in range(chance.randint(3, 6)):
        section(2)
        for _ in range(chance.randint(0, 3)):
            section(3)
    return blocks


def cell(text, columns=1, rows=1):
    return {"runs": [("plain", text)], "columns": columns, "rows": rows}
