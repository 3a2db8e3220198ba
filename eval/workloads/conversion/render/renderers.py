"""Blocks to PDF, in styles: by Chromium and WeasyPrint (HTML) and typst here, by XeLaTeX and LibreOffice in files of their own."""
import hashlib
import html
import itertools
import json
import re
import subprocess
import tempfile
import pathlib

import typst
import weasyprint

import libreoffice
import xelatex
from sources import LINK, nested

PLAIN = {"page": "a4", "size": 10.5, "columns": 1, "font": "serif", "headings": "large", "numbered": False, "borders": "all", "head": True, "justify": False, "direction": "ltr"}
LOOKS = {
    "report": {},
    "columns": {"columns": 2, "size": 9, "borders": "rows", "justify": True},
    "flat": {"headings": "bold", "font": "sans", "borders": "none"},
    "small": {"page": "a5", "size": 8, "headings": "colour", "numbered": True},
    "capitals": {"headings": "capitals", "borders": "rows", "justify": True},
    "bare": {"head": False, "font": "sans", "size": 12, "borders": "none"},
}
# Looks that came later: their styles are parted by hash, a third to look at.
LATER = {
    "landscape": {"page": "a4 landscape", "columns": 2, "size": 10, "headings": "bold", "numbered": True, "borders": "rows", "justify": True},
    "letter": {"page": "letter", "size": 11, "headings": "italic", "head": "outer", "borders": "none", "justify": True},
    "thesis": {"size": 11, "headings": "centred", "numbered": True, "borders": "rows", "head": "outer"},
    "leaflet": {"page": "a5 landscape", "size": 9, "font": "sans", "headings": "colour", "head": False, "borders": "none"},
    "rtl": {"font": "sans", "direction": "rtl"},
}
# Looks that weights are fitted on and nothing is ever scored on: headings that little sets off.
PRACTICE = {
    "essay": {"size": 11, "headings": "regular", "borders": "rows"},
    "memo": {"size": 10, "headings": "flush", "font": "sans", "borders": "none", "head": False},
    "brief": {"page": "letter", "size": 10, "headings": "spaced", "borders": "none", "justify": True},
    "booklet": {"page": "a5", "size": 9, "headings": "other", "borders": "rows", "justify": True},
    "twin": {"columns": 2, "size": 9.5, "headings": "upper", "borders": "none"},
    "folio": {"page": "a4 landscape", "columns": 2, "headings": "slanted", "font": "sans", "head": "outer", "numbered": True},
}
FIRST_STYLES = {f"{renderer}-{look}": (renderer, PLAIN | values) for look, values in LOOKS.items() for renderer in ("chromium", "typst")}
LATER_STYLES = {f"weasyprint-{look}": ("weasyprint", PLAIN | values) for look, values in (LOOKS | LATER).items()}
LATER_STYLES |= {f"{renderer}-{look}": (renderer, PLAIN | values) for look, values in LATER.items() for renderer in ("chromium", "typst")}
LATER_STYLES |= {f"{renderer}-{look}": (renderer, PLAIN | values) for renderer in ("xelatex", "libreoffice") for look, values in (LOOKS | LATER).items() if look != "rtl"}
PRACTICE_STYLES = {f"{renderer}-{look}": (renderer, PLAIN | values) for renderer in ("chromium", "weasyprint", "typst") for look, values in PRACTICE.items()}
STYLES = FIRST_STYLES | LATER_STYLES | PRACTICE_STYLES


def may_be_looked_at(style):
    if style in FIRST_STYLES:
        return style in ("chromium-report", "typst-flat", "chromium-small", "typst-columns")
    if style in PRACTICE_STYLES:
        return True
    return hashlib.sha256(style.encode()).digest()[0] % 3 == 0


# The look at parts and the scored ones share no style.
LOOK_STYLES = [style for style in STYLES if may_be_looked_at(style)]
SCORED_STYLES = [style for style in STYLES if style not in LOOK_STYLES]
LOOK_STYLES = [style for style in LOOK_STYLES if style not in PRACTICE_STYLES]
CJK = "WenQuanYi Zen Hei"
PROGRAMS = {"xelatex": xelatex, "libreoffice": libreoffice}
RUNNING = "Running head of the yearbook"
FOOT = "Sheet"


def render(blocks, title, style, out, chromium):
    renderer, look = STYLES[style]
    if renderer in PROGRAMS:
        PROGRAMS[renderer].render(blocks, title, look, numbers(blocks, look), out)
        return
    if renderer == "typst":
        source = typst_source(blocks, title, look)
        out.write_bytes(typst.compile(source.encode(), format="pdf"))
        return
    text = html_page(blocks, title, look, has_notes=renderer == "weasyprint")
    if renderer == "weasyprint":
        weasyprint.HTML(string=text).write_pdf(out, pdf_tags=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"
        page.write_text(text, encoding="utf-8")
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", "--generate-pdf-document-outline",
                   f"--user-data-dir={folder}/profile", f"--print-to-pdf={out}", page.as_uri()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)


def numbers(blocks, look):
    """The number before each heading of a numbered look."""
    counts = [0] * 6
    for block in blocks:
        if block["kind"] != "heading":
            continue
        level = block["level"]
        counts[level - 1] += 1
        counts[level:] = [0] * (6 - level)
        yield ".".join(map(str, counts[:level])) + " " if look["numbered"] else ""


# Chromium and WeasyPrint

HTML_HEADINGS = {
    "large": "h1{font-size:2em}h2{font-size:1.5em}h3{font-size:1.2em}",
    "bold": "h1,h2,h3,h4,h5,h6{font-size:1em;font-weight:bold;margin:1em 0 .3em}",
    "colour": "h1,h2,h3,h4,h5,h6{font-weight:normal;color:#06a;font-size:1.15em}h1{font-size:1.5em}",
    "capitals": "h1,h2,h3,h4,h5,h6{font-variant:small-caps;font-weight:normal;font-size:1.2em}h1{font-size:1.6em}",
    "italic": "h1,h2,h3,h4,h5,h6{font-size:1em;font-style:italic;margin:1.2em 0 .4em}h1{font-size:1.2em;font-style:normal}h3{font-weight:normal}",
    "regular": "h1,h2,h3,h4,h5,h6{font-weight:normal;font-size:1.15em}h1{font-size:1.4em}",
    "flush": "h1,h2,h3,h4,h5,h6{font-size:1em;margin:1.4em 0 .1em}p{margin:.1em 0 .7em}",
    "spaced": "h1,h2,h3,h4,h5,h6{font-size:1em;font-weight:normal;margin:1.8em 0 .8em}h1{font-size:1.3em}",
    "other": "h1,h2,h3,h4,h5,h6{font-family:'DejaVu Sans','WenQuanYi Zen Hei';font-size:1em;font-weight:normal;margin:1.3em 0 .5em}",
    "upper": "h1,h2,h3,h4,h5,h6{font-size:.95em;text-transform:uppercase;margin:1em 0 .4em}h1{font-size:1.25em}",
    "slanted": "h1,h2,h3,h4,h5,h6{font-size:1.1em;font-weight:normal;font-style:italic}h1{font-size:1.35em}",
    "centred": "h1,h2{text-align:center;text-transform:uppercase;font-size:1em}h1{font-size:1.3em}h3{font-size:1em}",
}
HTML_BORDERS = {"all": "td,th{border:1px solid #000}", "rows": "tr{border-bottom:1px solid #000}", "none": ""}


def html_running(look):
    """Running heads and feet: centred, or at the outer side of right and left pages."""
    head, foot = f'content:"{RUNNING}"', f'content:"{FOOT} " counter(page)'
    if not look["head"]:
        return ""
    if look["head"] == "outer":
        return (f"@page:right{{@top-right{{{head}}}@bottom-right{{{foot}}}}}"
                f"@page:left{{@top-left{{{head}}}@bottom-left{{{foot}}}}}")
    return f"@page{{@top-center{{{head}}}@bottom-center{{{foot}}}}}"


def html_page(blocks, title, look, has_notes):
    """The page; with `has_notes` footnotes stand at the foot of their page, else at the end."""
    family = "'DejaVu Serif'" if look["font"] == "serif" else "'DejaVu Sans'"
    style = (f"@page{{size:{look['page']};margin:20mm;}}{html_running(look)}"
             f"body{{font:{look['size']}pt {family},'{CJK}';column-count:{look['columns']};direction:{look['direction']};"
             f"text-align:{'justify' if look['justify'] else 'start'}}}{HTML_HEADINGS[look['headings']]}"
             f"table{{border-collapse:collapse}}td,th{{padding:2px 8px;text-align:start}}{HTML_BORDERS[look['borders']]}"
             "pre,code{font-family:'DejaVu Sans Mono'}pre{white-space:pre-wrap}.note{float:footnote}")
    body, notes = [], []
    before = numbers(blocks, look)
    for is_list, group in itertools.groupby(blocks, lambda block: block["kind"] == "item"):
        if is_list:
            body.append(html_list(list(group), 0, notes))
            continue
        body += [html_block(block, before, notes) for block in group]
    if has_notes:
        body = [re.sub(r"<sup>(\d+)</sup>", lambda found: f"<span class=note>{html.escape(notes[int(found[1]) - 1])}</span>", part) for part in body]
    else:
        body += [f"<p>{index}. {html.escape(note)}</p>" for index, note in enumerate(notes, 1)]
    return f"<!doctype html><html lang=en><meta charset=utf-8><title>{html.escape(title)}</title><style>{style}</style><body>{''.join(body)}"


def html_block(block, before, notes):
    match block["kind"]:
        case "heading":
            return f"<h{block['level']}>{next(before)}{html_runs(block['runs'], notes)}</h{block['level']}>"
        case "paragraph":
            return f"<p>{html_runs(block['runs'], notes)}</p>"
        case "code":
            return f"<pre><code>{html.escape(block['text'])}</code></pre>"
        case "table":
            rows = []
            for index, row in enumerate(block["rows"]):
                name = "td" if index else "th"
                cells = [f"<{name} colspan={cell['columns']} rowspan={cell['rows']}>{html_runs(cell['runs'], notes)}</{name}>" for cell in row]
                rows.append(f"<tr>{''.join(cells)}</tr>")
            return f"<table><thead>{rows[0]}</thead><tbody>{''.join(rows[1:])}</tbody></table>"


def html_list(items, depth, notes):
    out = []
    for item, deeper in nested(items, depth):
        below = html_list(deeper, depth + 1, notes) if deeper else ""
        value = f" value={item['number']}" if item["number"] is not None else ""
        out.append(f"<li{value}>{html_runs(item['runs'], notes)}{below}</li>")
    name = "ul" if items[0]["number"] is None else "ol"
    return f"<{name}>{''.join(out)}</{name}>"


def html_runs(runs, notes):
    out = []
    for style, text in runs:
        text = html.escape(text)
        match style:
            case "note":
                notes.append(html.unescape(text))
                out.append(f"<sup>{len(notes)}</sup>")
            case "link":
                out.append(f'<a href="{LINK}">{text}</a>')
            case "plain":
                out.append(text)
            case _:
                name = {"bold": "b", "code": "code"}[style]
                out.append(f"<{name}>{text}</{name}>")
    return "".join(out)


# typst

def typst_source(blocks, title, look):
    heading = {
        "large": "#show heading: it => it",
        "bold": f"#show heading: set text(size: {look['size']}pt)",
        "colour": "#show heading: set text(weight: \"regular\", fill: rgb(\"#0066aa\"))",
        "capitals": "#show heading: it => smallcaps(text(weight: \"regular\", it))",
        "italic": f"#show heading: set text(size: {look['size']}pt, style: \"italic\")",
        "regular": "#show heading: set text(weight: \"regular\", size: 1.15em)",
        "flush": f"#show heading: set text(size: {look['size']}pt)\n#show heading: set block(above: 1.4em, below: 0.5em)",
        "spaced": f"#show heading: set text(size: {look['size']}pt, weight: \"regular\")\n#show heading: set block(above: 2em, below: 1.4em)",
        "other": f"#show heading: set text(size: {look['size']}pt, weight: \"regular\", font: (\"DejaVu Sans\", \"{CJK}\"))\n#show heading: set block(above: 1.6em, below: 1em)",
        "upper": f"#show heading: it => upper(it)\n#show heading: set text(size: {look['size'] * 0.95}pt)",
        "slanted": "#show heading: set text(weight: \"regular\", style: \"italic\", size: 1.1em)",
        "centred": "#show heading.where(level: 1): set align(center)\n#show heading.where(level: 2): set align(center)\n"
                   f"#show heading: set text(size: {look['size']}pt)",
    }[look["headings"]]
    stroke = {"all": "0.5pt", "rows": "(x: none, y: 0.5pt)", "none": "none"}[look["borders"]]
    family = "Libertinus Serif" if look["font"] == "serif" else "DejaVu Sans"
    side = "if calc.odd(here().page()) { right } else { left }" if look["head"] == "outer" else "center"
    foot = f"[{FOOT} #counter(page).display()]"
    running = f", header: context align({side}, [{RUNNING}]), footer: context align({side}, {foot})" if look["head"] else ""
    paper, *flipped = look["page"].replace("letter", "us-letter").split()
    lines = [f"#set document(title: {quoted(title)})", f"#set page(paper: \"{paper}\", flipped: {str(bool(flipped)).lower()}, columns: {look['columns']}{running})",
             f"#set text(size: {look['size']}pt, dir: {look['direction']}, font: (\"{family}\", \"{CJK}\", \"DejaVu Sans\"))", f"#set par(justify: {str(look['justify']).lower()})",
             f"#set table(stroke: {stroke})", "#show raw: set text(font: (\"DejaVu Sans Mono\", \"" + CJK + "\"))", heading]
    before = numbers(blocks, look)
    for is_list, group in itertools.groupby(blocks, lambda block: block["kind"] == "item"):
        if is_list:
            lines.append("#" + typst_list(list(group), 0))
            continue
        lines += [typst_block(block, before) for block in group]
    return "\n\n".join(lines)


def typst_block(block, before):
    match block["kind"]:
        case "heading":
            return f"#heading(level: {block['level']})[#{quoted(next(before))}{typst_runs(block['runs'])}]"
        case "paragraph":
            return typst_runs(block["runs"])
        case "code":
            return f"#raw(block: true, {quoted(block['text'])})"
        case "table":
            width = max(sum(cell["columns"] for cell in row) for row in block["rows"])
            cells = [", ".join(f"table.cell(colspan: {cell['columns']}, rowspan: {cell['rows']})[{typst_runs(cell['runs'])}]" for cell in row) for row in block["rows"]]
            return f"#table(columns: {width}, table.header({cells[0]}), {', '.join(cells[1:])})"


def typst_list(items, depth):
    out = []
    is_ordered = items[0]["number"] is not None
    for item, deeper in nested(items, depth):
        below = f"#{typst_list(deeper, depth + 1)}" if deeper else ""
        out.append(f"[{typst_runs(item['runs'])}{below}]")
    start = f"start: {items[0]['number']}, " if is_ordered else ""
    return f"{'enum' if is_ordered else 'list'}({start}{', '.join(out)})"


def typst_runs(runs):
    out = []
    for style, text in runs:
        text = quoted(text)
        out.append({"bold": f"#strong({text})", "code": f"#raw({text})", "note": f"#footnote[#{text}]",
                    "link": f'#link("{LINK}")[#{text}]'}.get(style, f"#{text}"))
    return "".join(out)


def quoted(text):
    """A string of typst."""
    return json.dumps(text, ensure_ascii=False)
