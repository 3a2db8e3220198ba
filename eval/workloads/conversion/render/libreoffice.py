"""Blocks to PDF by LibreOffice Writer, from a flat OpenDocument text with styles of its own. Tags and an outline are LibreOffice's.

Needs `soffice` with Writer (Debian: libreoffice-writer)."""
import html
import itertools
import pathlib
import re
import shutil
import subprocess
import tempfile

from sources import LINK, nested

NAMES = {"office": "office", "text": "text", "table": "table", "style": "style", "draw": "drawing", "fo": "xsl-fo-compatible", "svg": "svg-compatible"}
NAMESPACES = " ".join(f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for short, name in NAMES.items()) + ' xmlns:xlink="http://www.w3.org/1999/xlink"'
EXPORT = 'pdf:writer_pdf_Export:{"UseTaggedPDF":{"type":"boolean","value":"true"},"ExportBookmarks":{"type":"boolean","value":"true"}}'
PAPER = {"a4": ("21cm", "29.7cm"), "a5": ("14.8cm", "21cm"), "letter": ("21.59cm", "27.94cm")}
CJK = "WenQuanYi Zen Hei"
DEEPEST = 6


def render(blocks, title, look, numbers, out):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "page.fodt"
        source.write_text(page(blocks, title, look, numbers), encoding="utf-8")
        command = ["soffice", f"-env:UserInstallation=file://{folder}/profile", "--headless", "--convert-to", EXPORT, "--outdir", folder, str(source)]
        subprocess.run(command, check=True, capture_output=True, timeout=180)
        shutil.copyfile(source.with_suffix(".pdf"), out)


def page(blocks, title, look, numbers):
    writer, before = Writer(), iter(numbers)
    body = []
    for is_list, group in itertools.groupby(blocks, lambda block: block["kind"] == "item"):
        body += [writer.list(list(group), 0)] if is_list else [writer.one(block, before) for block in group]
    return (f'<?xml version="1.0" encoding="UTF-8"?><office:document {NAMESPACES} office:version="1.2" office:mimetype="application/vnd.oasis.opendocument.text">'
            f'<office:styles>{styles(look)}</office:styles><office:automatic-styles>{automatic(look)}</office:automatic-styles>{master(look)}'
            f'<office:body><office:text>{"".join(body)}</office:text></office:body></office:document>')


def styles(look):
    family = "DejaVu Serif" if look["font"] == "serif" else "DejaVu Sans"
    justify = "justify" if look["justify"] else "start"
    text = f'fo:font-size="{look["size"]}pt" style:font-size-asian="{look["size"]}pt" style:font-family-asian="{CJK}" fo:language="en" fo:country="US"'
    out = [f'<style:default-style style:family="paragraph"><style:text-properties fo:font-family="{family}" {text}/></style:default-style>',
           f'<style:style style:name="Standard" style:family="paragraph"><style:paragraph-properties fo:text-align="{justify}" fo:margin-bottom="0.2cm"/></style:style>',
           '<style:style style:name="Table_20_Contents" style:display-name="Table Contents" style:family="paragraph"/>',
           '<style:style style:name="Running" style:family="paragraph"><style:paragraph-properties fo:text-align="center"/></style:style>',
           '<style:style style:name="Outer" style:family="paragraph"><style:paragraph-properties fo:text-align="end"/></style:style>',
           f'<style:style style:name="Code" style:family="paragraph"><style:text-properties fo:font-family="DejaVu Sans Mono" style:font-family-asian="{CJK}"/></style:style>']
    for level in range(1, DEEPEST + 1):
        out.append(f'<style:style style:name="Heading_20_{level}" style:display-name="Heading {level}" style:family="paragraph" style:default-outline-level="{level}" style:class="text">{heading(look, level)}</style:style>')
    return "".join(out)


def heading(look, level):
    scale = {1: 1.8, 2: 1.4, 3: 1.15}.get(level, 1.0)
    weight, extra, align, scales = "bold", "", "start", True
    match look["headings"]:
        case "bold":
            scales = False
        case "colour":
            weight, extra = "normal", 'fo:color="#0066aa"'
        case "capitals":
            weight, extra = "normal", 'fo:font-variant="small-caps"'
        case "italic":
            scales, extra = level == 1, 'fo:font-style="italic"' if level > 1 else ""
            weight = "normal" if level > 2 else "bold"
        case "centred":
            scales, align = level == 1, "center" if level < 3 else "start"
            extra = 'fo:text-transform="uppercase"' if level < 3 else ""
    size = look["size"] * (scale if scales else 1)
    return (f'<style:paragraph-properties fo:margin-top="0.4cm" fo:margin-bottom="0.2cm" fo:keep-with-next="always" fo:text-align="{align}"/>'
            f'<style:text-properties fo:font-size="{size:.1f}pt" style:font-size-asian="{size:.1f}pt" fo:font-weight="{weight}" style:font-weight-asian="{weight}" {extra}/>')


def automatic(look):
    paper, *flipped = look["page"].split()
    width, height = PAPER[paper][::-1] if flipped else PAPER[paper]
    columns = '<style:columns fo:column-count="2" fo:column-gap="0.6cm"/>' if look["columns"] == 2 else ""
    running = "".join(f'<style:{part}-style><style:header-footer-properties fo:min-height="0.8cm" fo:margin-{side}="0.3cm"/></style:{part}-style>' for part, side in (("header", "bottom"), ("footer", "top"))) if look["head"] else ""
    usage = ' style:page-usage="mirrored"' if look["head"] == "outer" else ""
    border = {"all": "0.5pt solid #000000", "rows": None, "none": None}[look["borders"]]
    cell = f'fo:border="{border}"' if border else 'fo:border-bottom="0.5pt solid #000000"' if look["borders"] == "rows" else 'fo:border="none"'
    levels = range(1, 11)
    bullets = "".join(f'<text:list-level-style-bullet text:level="{level}" text:bullet-char="•">{place(level)}</text:list-level-style-bullet>' for level in levels)
    counted = "".join(f'<text:list-level-style-number text:level="{level}" style:num-format="1" style:num-suffix=".">{place(level)}</text:list-level-style-number>' for level in levels)
    return (f'<style:page-layout style:name="P"{usage}><style:page-layout-properties fo:page-width="{width}" fo:page-height="{height}" fo:margin="2cm" style:print-orientation="{"landscape" if flipped else "portrait"}">{columns}</style:page-layout-properties>{running}</style:page-layout>'
            f'<style:style style:name="B" style:family="text"><style:text-properties fo:font-weight="bold" style:font-weight-asian="bold"/></style:style>'
            '<style:style style:name="C" style:family="text"><style:text-properties fo:font-family="DejaVu Sans Mono"/></style:style>'
            f'<style:style style:name="Cell" style:family="table-cell"><style:table-cell-properties {cell} fo:padding="0.08cm"/></style:style>'
            f'<text:list-style style:name="L1">{bullets}</text:list-style><text:list-style style:name="L2">{counted}</text:list-style>')


def place(level):
    return (f'<style:list-level-properties text:list-level-position-and-space-mode="label-alignment"><style:list-level-label-alignment text:label-followed-by="listtab" '
            f'fo:text-indent="-0.6cm" fo:margin-left="{0.6 * level + 0.4:.1f}cm"/></style:list-level-properties>')


def master(look):
    running = ""
    if look["head"]:
        head = "<text:p text:style-name=\"{}\">Running head of the yearbook</text:p>"
        foot = "<text:p text:style-name=\"{}\">Sheet <text:page-number text:select-page=\"current\"/></text:p>"
        if look["head"] == "outer":
            running = "".join(f"<style:{part}>{text.format('Outer')}</style:{part}><style:{part}-left>{text.format('Standard')}</style:{part}-left>" for part, text in (("header", head), ("footer", foot)))
        else:
            running = f"<style:header>{head.format('Running')}</style:header><style:footer>{foot.format('Running')}</style:footer>"
    return f'<office:master-styles><style:master-page style:name="Standard" style:page-layout-name="P">{running}</style:master-page></office:master-styles>'


class Writer:
    def __init__(self):
        self.notes, self.tables = 0, 0

    def one(self, block, before):
        match block["kind"]:
            case "heading":
                level = min(block["level"], DEEPEST)
                return f'<text:h text:style-name="Heading_20_{level}" text:outline-level="{level}">{escaped(next(before))}{self.runs(block["runs"])}</text:h>'
            case "paragraph":
                return f'<text:p text:style-name="Standard">{self.runs(block["runs"])}</text:p>'
            case "code":
                return "".join(f'<text:p text:style-name="Code">{escaped(line)}</text:p>' for line in block["text"].split("\n"))
            case "table":
                return self.table(block["rows"])

    def list(self, group, depth):
        out = []
        name = "L1" if group[0]["number"] is None else "L2"
        for item, deeper in nested(group, depth):
            below = self.list(deeper, depth + 1) if deeper else ""
            start = f' text:start-value="{item["number"]}"' if item["number"] is not None else ""
            out.append(f'<text:list-item{start}><text:p text:style-name="Standard">{self.runs(item["runs"])}</text:p>{below}</text:list-item>')
        return f'<text:list text:style-name="{name}">{"".join(out)}</text:list>'

    def table(self, rows):
        width = max(sum(cell["columns"] for cell in row) for row in rows)
        self.tables += 1
        lines = []
        for row in rows:
            cells = []
            for cell in row:
                span = f' table:number-columns-spanned="{cell["columns"]}"' if cell["columns"] > 1 else ""
                cells.append(f'<table:table-cell table:style-name="Cell" office:value-type="string"{span}><text:p text:style-name="Table_20_Contents">{self.runs(cell["runs"])}</text:p></table:table-cell>'
                             + "<table:covered-table-cell/>" * (cell["columns"] - 1))
            cells += ['<table:table-cell table:style-name="Cell"><text:p/></table:table-cell>'] * (width - sum(cell["columns"] for cell in row))
            lines.append(f"<table:table-row>{''.join(cells)}</table:table-row>")
        return (f'<table:table table:name="T{self.tables}"><table:table-column table:number-columns-repeated="{width}"/>'
                f"<table:table-header-rows>{lines[0]}</table:table-header-rows>{''.join(lines[1:])}</table:table>")

    def runs(self, parts):
        return "".join(self.run(*part) for part in parts)

    def run(self, style, text):
        inner = escaped(text)
        match style:
            case "bold" | "code":
                return f'<text:span text:style-name="{"B" if style == "bold" else "C"}">{inner}</text:span>'
            case "link":
                return f'<text:a xlink:type="simple" xlink:href="{LINK}">{inner}</text:a>'
            case "note":
                self.notes += 1
                return (f'<text:note text:id="ftn{self.notes}" text:note-class="footnote"><text:note-citation>{self.notes}</text:note-citation>'
                        f'<text:note-body><text:p>{inner}</text:p></text:note-body></text:note>')
        return inner


def escaped(text):
    text = html.escape(text, quote=True).replace("\t", "    ")
    return re.sub(" {2,}|^ ", lambda blanks: f'<text:s text:c="{len(blanks[0])}"/>', text)
