"""Blocks to PDF by XeLaTeX, as people write papers with it: article, `\\section*`, booktabs, footnotes, fancyhdr. No tags; an outline by hyperref.

Needs `xelatex` with xeCJK, titlesec, booktabs, tabularx, longtable, fancyhdr and fancyvrb (Debian: texlive-xetex, texlive-latex-recommended,
texlive-latex-extra, texlive-lang-chinese, lmodern)."""
import itertools
import pathlib
import re
import shutil
import subprocess
import tempfile

from sources import LINK, nested, plain

CJK = "WenQuanYi Zen Hei"
SPECIAL = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}",
           "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "-": "{-}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}"}
SECTIONS = ["section", "subsection", "subsubsection", "paragraph", "subparagraph"]
# How each heading of a look is set: of the first two levels, and of the others.
HEADINGS = {
    "large": (r"\Large\bfseries", r"\large\bfseries", r"\normalsize\bfseries"),
    "bold": (r"\normalsize\bfseries",) * 3,
    "colour": (r"\Large\color{heading}", r"\large\color{heading}", r"\normalsize\color{heading}"),
    "capitals": (r"\Large\scshape", r"\large\scshape", r"\large\scshape"),
    "italic": (r"\large\bfseries", r"\normalsize\bfseries\itshape", r"\normalsize\itshape"),
    "centred": (r"\large\bfseries\filcenter", r"\normalsize\bfseries\filcenter", r"\normalsize\bfseries"),
}
# Signs of a line of the page, and of cells: the shares of wrapped columns lie between these.
LINE = 84
NARROWEST_CELL = 6
LONG_CELL = 36
MOST_ROWS_IN_COLUMN = 24


def render(blocks, title, look, numbers, out):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "page.tex"
        source.write_text(page(blocks, title, look, numbers), encoding="utf-8")
        for _ in range(2):
            command = ["xelatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", source.name]
            done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120)
            if done.returncode:
                raise RuntimeError(next((line for line in done.stdout.decode(errors="replace").splitlines() if line.startswith("!")), "xelatex failed"))
        shutil.copyfile(source.with_suffix(".pdf"), out)


def page(blocks, title, look, numbers):
    first = blocks[0]
    has_title = first["kind"] == "heading" and first["level"] == 1 and sum(block["kind"] == "heading" and block["level"] == 1 for block in blocks) == 1
    before = iter(numbers)
    lines = preamble(title, look)
    if has_title:
        lines.append(rf"\title{{{next(before)}{runs(first['runs'])}}}\author{{}}\date{{}}\maketitle\thispagestyle{{fancy}}")
        blocks = blocks[1:]
    for is_list, group in itertools.groupby(blocks, lambda block: block["kind"] == "item"):
        if is_list:
            lines.append(items(list(group), 0))
            continue
        lines += [one(block, before, look, has_title) for block in group]
    return "\n\n".join(lines + [r"\end{document}"])


def preamble(title, look):
    paper, *flipped = look["page"].split()
    size = min((10, 11, 12), key=lambda size: abs(size - look["size"]))
    options = [f"{size}pt", f"{paper}paper"] + ["landscape"] * bool(flipped) + ["twocolumn"] * (look["columns"] == 2) + ["twoside"] * (look["head"] == "outer")
    lines = [rf"\documentclass[{','.join(options)}]{{article}}", r"\usepackage[margin=22mm]{geometry}", r"\usepackage{fontspec,xeCJK,titlesec,booktabs,tabularx,longtable,fancyhdr,fancyvrb,xcolor}",
             rf"\setCJKmainfont{{{CJK}}}\setCJKsansfont{{{CJK}}}\setCJKmonofont{{{CJK}}}\setmonofont[Scale=0.8]{{DejaVu Sans Mono}}\newfontfamily\other{{DejaVu Sans}}\definecolor{{heading}}{{HTML}}{{0066aa}}"]
    if look["font"] == "sans":
        lines.append(r"\renewcommand\familydefault{\sfdefault}")
    if not look["justify"]:
        lines.append(r"\raggedright")
    first, second, third = HEADINGS[look["headings"]]
    for name, style in zip(SECTIONS, (first, second, third, third, third)):
        lines.append(rf"\titleformat{{\{name}}}[hang]{{{style}}}{{}}{{0pt}}{{}}\titlespacing*{{\{name}}}{{0pt}}{{2.5ex plus .5ex}}{{1ex plus .2ex}}")
    lines.append(r"\pagestyle{fancy}\fancyhf{}\renewcommand\headrulewidth{0pt}")
    if look["head"]:
        place = {"outer": ("RO,LE", "RO,LE")}.get(look["head"], ("C", "C"))
        lines.append(rf"\fancyhead[{place[0]}]{{Running head of the yearbook}}\fancyfoot[{place[1]}]{{Sheet \thepage}}")
    lines += [rf"\usepackage[hidelinks,pdftitle={{{escaped(title)}}}]{{hyperref}}", r"\setlength\emergencystretch{3em}", r"\begin{document}"]
    return lines


def one(block, before, look, has_title):
    match block["kind"]:
        case "heading":
            number = next(before).strip()
            name = SECTIONS[min(block["level"] - 1 - has_title, len(SECTIONS) - 1)]
            gap = rf"{number}\quad " if number else ""
            text = runs([(style, text) for style, text in block["runs"] if style != "note"])
            return rf"\{name}*{{{gap}{text}}}\addcontentsline{{toc}}{{{name}}}{{{escaped(number + ' ' + plain(block['runs']))}}}"
        case "paragraph":
            return runs(block["runs"])
        case "code":
            return "\\begin{Verbatim}\n" + block["text"] + "\n\\end{Verbatim}"
        case "table":
            return table(block["rows"], look)


def table(rows, look):
    width = max(sum(cell["columns"] for cell in row) for row in rows)
    longest = [max((len(plain(row[index]["runs"])) for row in rows if index < len(row) and row[index]["columns"] == 1), default=1) for index in range(width)]
    is_long = len(rows) > MOST_ROWS_IN_COLUMN
    if is_long and look["columns"] == 2:
        raise RuntimeError("a table longer than a column")
    rule = "|" if look["borders"] == "all" else ""
    shares = [min(max(length, NARROWEST_CELL), LONG_CELL) for length in longest]
    wraps = sum(longest) > LINE / look["columns"]
    part = r">{{\raggedright\arraybackslash}}p{{\dimexpr{:.3f}\linewidth-2\tabcolsep}}"
    kinds = [part.format(share / sum(shares) * 0.99) for share in shares] if wraps else ["l"] * width
    spread = rule + rule.join(kinds) + rule
    lines = []
    for index, row in enumerate(rows):
        cells = [runs(cell["runs"], wraps) if cell["columns"] == 1 else rf"\multicolumn{{{cell['columns']}}}{{{rule}l{rule}}}{{{runs(cell['runs'], wraps)}}}" for cell in row]
        cells += [""] * (width - sum(cell["columns"] for cell in row))
        lines.append(" & ".join(cells) + r" \\" + {"all": r"\hline", "rows": r"\midrule" if index == 0 else ""}.get(look["borders"], ""))
    top, bottom = {"all": (r"\hline", ""), "rows": (r"\toprule", r"\bottomrule")}.get(look["borders"], ("", ""))
    name = "longtable" if is_long else "tabular"
    body = "\n".join([rf"\begin{{{name}}}{{{spread}}}{top}", *lines, rf"{bottom}\end{{{name}}}"])
    return body if is_long else rf"\medskip\noindent {body}\par\medskip"


def items(group, depth):
    out = []
    name = "itemize" if group[0]["number"] is None else "enumerate"
    for item, deeper in nested(group, depth):
        below = items(deeper, depth + 1) if deeper else ""
        number = item["number"]
        label = f"[{number}.]" if name == "enumerate" and number is not None else ""
        out.append(rf"\item{label} {runs(item['runs'])}{below}")
    return rf"\begin{{{name}}}" + "\n".join(out) + rf"\end{{{name}}}"


def runs(parts, breaks=False):
    """With `breaks`, long identifiers are broken behind their signs, as careful authors do in narrow columns."""
    out = []
    for style, text in parts:
        inner = re.sub(r"(?<=\w)(\\_|[./]|\{-\})(?=\w)", r"\1\\allowbreak{}", escaped(text)) if breaks else escaped(text)
        out.append({"bold": rf"\textbf{{{inner}}}", "code": rf"\texttt{{{inner}}}", "note": rf"\footnote{{{inner}}}", "link": rf"\href{{{LINK}}}{{{inner}}}"}.get(style, inner))
    return "".join(out) or "{}"


def escaped(text):
    """Signs that TeX or the font of the text does not have are written so that it does."""
    text = re.sub(r"\s+", " ", text)
    return "".join(SPECIAL.get(sign) or (rf"{{\other {sign}}}" if is_other(sign) else sign) for sign in text)


def is_other(sign):
    return ord(sign) > 0x17F and not (0x2E80 <= ord(sign) <= 0x9FFF or 0xFF00 <= ord(sign) <= 0xFFEF or 0x2010 <= ord(sign) <= 0x201F or sign in "…")
