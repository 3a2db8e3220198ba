"""OpenDocument texts as raw XML, as LibreOffice writes them (`writer`), and as other programs do (`plain`, `sections`)."""
import re
import zipfile
from xml.sax.saxutils import escape

from structures import FIRST_PAGE, grouped, headings, places, printed, tree

STYLES = {"writer": {"contents": True, "tracked": True}, "plain": {}, "sections": {"sections": True, "boxes": True}}
LOOK = ["plain"]
GONE = "Deleted words gone"
NAMES = {"office": "office", "text": "text", "table": "table", "style": "style", "draw": "drawing", "fo": "xsl-fo-compatible", "svg": "svg-compatible"}
NAMESPACES = " ".join(f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for short, name in NAMES.items()) + ' xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:math="http://www.w3.org/1998/Math/MathML"'


class Writer:
    def __init__(self, style):
        self.habits, self.count = STYLES[style], 0

    def has(self, habit, every):
        self.count += 1
        return self.habits.get(habit) and self.count % every == 0

    def runs(self, runs):
        return "".join(self.run(*run) for run in runs)

    def run(self, style, text, address="https://example.org/"):
        text = escape(text)
        match style:
            case "bold":
                return f'<text:span text:style-name="B">{text}</text:span>'
            case "link":
                return f'<text:a xlink:type="simple" xlink:href="{escape(address)}">{text}</text:a>'
            case "note":
                self.count += 1
                return (f'<text:note text:id="ftn{self.count}" text:note-class="footnote"><text:note-citation>{self.count}</text:note-citation><text:note-body>'
                        f'<text:p>{text}</text:p></text:note-body></text:note>')
        return f'{text}<text:change text:change-id="c1"/>' if self.has("tracked", 5) else text

    def paragraph(self, inner, style="Standard"):
        return f'<text:p text:style-name="{style}">{inner}</text:p>'

    def group(self, kind, group):
        block = group[0]
        match kind:
            case "heading":
                return f'<text:h text:style-name="Heading_20_{block["level"]}" text:outline-level="{block["level"]}"><text:bookmark-start text:name="x"/>{self.runs(block["runs"])}<text:bookmark-end text:name="x"/></text:h>'
            case "paragraph" if self.has("boxes", 4):
                box = f'<draw:frame text:anchor-type="paragraph" svg:width="5cm"><draw:text-box fo:min-height="1cm">{self.paragraph(self.runs(block["runs"]))}</draw:text-box></draw:frame>'
                return self.paragraph(box)
            case "paragraph":
                text = self.paragraph(self.runs(block["runs"]))
                return f'<text:section text:name="s{self.count}">{text}</text:section>' if self.has("sections", 3) else text
            case "code":
                spaced = (re.sub(" {2,}|^ ", lambda blanks: f'<text:s text:c="{len(blanks[0])}"/>', escape(line)) for line in block["text"].split("\n"))
                return "".join(self.paragraph(line, "Preformatted_20_Text") for line in spaced)
            case "item":
                return self.list(tree(group))
            case "definition":
                return "".join(self.paragraph(f"{self.runs(one['term'])}: {self.runs(one['runs'])}") for one in group)
            case "formula":
                return ""
        return self.table(block["rows"])

    def list(self, nodes):
        style = "L1" if nodes[0][0]["number"] is None else "L2"
        return f'<text:list text:style-name="{style}">' + "".join(
            f"<text:list-item>{self.paragraph(self.runs(block['runs']))}{self.list(below) if below else ''}</text:list-item>" for block, below in nodes) + "</text:list>"

    def table(self, rows):
        cells = {(row, column): cell for row, column, cell in places(rows)}
        columns = max(column + cell["columns"] for (_, column), cell in cells.items())
        lines = []
        for number in range(len(rows)):
            line = "".join(self.cell(cells[number, column]) if (number, column) in cells else "<table:covered-table-cell/>" for column in range(columns))
            lines.append(f"<table:table-row>{line}</table:table-row>")
        head = sum(all(cell.get("head") for cell in row) for row in rows[:2])
        return (f'<table:table table:name="T{self.count}"><table:table-column table:number-columns-repeated="{columns}"/>'
                f'<table:table-header-rows>{"".join(lines[:head])}</table:table-header-rows>{"".join(lines[head:])}</table:table>')

    def cell(self, cell):
        spans = "".join(f' table:number-{key}-spanned="{cell[key]}"' for key in ("columns", "rows")) if cell["columns"] + cell["rows"] > 2 else ""
        inner = self.paragraph(self.runs(cell["runs"]), "Table_20_Contents") + (self.table(cell["inner"]) if "inner" in cell else "")
        return f'<table:table-cell office:value-type="string"{spans}>{inner}</table:table-cell>'

    def contents(self, blocks):
        if not self.habits.get("contents"):
            return ""
        entries = "".join(f'<text:p text:style-name="Contents_20_1"><text:a xlink:href="#x" xlink:type="simple">{escape(text)}<text:tab/>{number}</text:a></text:p>' for number, text in enumerate(headings(blocks), FIRST_PAGE))
        change = f'<text:tracked-changes><text:changed-region text:id="c1"><text:deletion><text:p>{GONE}</text:p></text:deletion></text:changed-region></text:tracked-changes>'
        return change + f'<text:table-of-content text:name="T"><text:table-of-content-source text:outline-level="10"/><text:index-body><text:index-title text:name="H"><text:p>Contents</text:p></text:index-title>{entries}</text:index-body></text:table-of-content>'


def list_styles():
    bullets = "".join(f'<text:list-level-style-bullet text:level="{level}" text:bullet-char="•"/>' for level in range(1, 10))
    numbers = "".join(f'<text:list-level-style-number text:level="{level}" style:num-format="1" style:num-suffix="."/>' for level in range(1, 10))
    return f'<text:list-style style:name="L1">{bullets}</text:list-style><text:list-style style:name="L2">{numbers}</text:list-style>'


def styles():
    names = [f"Heading_20_{level}" for level in range(1, 7)] + ["Standard", "Preformatted_20_Text", "Table_20_Contents", "Contents_20_1"]
    text = "".join(f'<style:style style:name="{name}" style:display-name="{name.replace("_20_", " ")}" style:family="paragraph" style:class="text"/>' for name in names)
    return f'<?xml version="1.0" encoding="UTF-8"?><office:document-styles {NAMESPACES} office:version="1.2"><office:styles>{text}</office:styles></office:document-styles>'


def write(blocks, title, style, path):
    writer = Writer(style)
    body = writer.contents(blocks) + "".join(writer.group(kind, group) for kind, group in grouped(blocks))
    bold = '<style:style style:name="B" style:family="text"><style:text-properties fo:font-weight="bold"/></style:style>'
    content = f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {NAMESPACES} office:version="1.2"><office:automatic-styles>{bold}{list_styles()}</office:automatic-styles><office:body><office:text>{body}</office:text></office:body></office:document-content>'
    kind = "application/vnd.oasis.opendocument.text"
    manifest = (f'<?xml version="1.0" encoding="UTF-8"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
                '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/><manifest:file-entry manifest:full-path="styles.xml" manifest:media-type="text/xml"/></manifest:manifest>')
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", kind, zipfile.ZIP_STORED)
        archive.writestr("content.xml", content)
        archive.writestr("styles.xml", styles())
        archive.writestr("META-INF/manifest.xml", manifest)
    return {"gone": [GONE] + printed(blocks), "left_out": ["formula"]}
