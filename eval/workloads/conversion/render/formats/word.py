"""Word documents as raw XML, so that everything programs write can be written: content controls, fields, tracked changes, text boxes, tables of contents."""
import zipfile
from xml.sax.saxutils import escape

from structures import FIRST_PAGE, headings, places, printed

NAMESPACES = ('xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
              'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
              'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
              'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:v="urn:schemas-microsoft-com:vml"')
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

# What each style is made of: how headings are told, and which habits are added.
STYLES = {
    "styles": {"headings": "style"},
    "outline": {"headings": "outline", "fields": True, "contents": "typed"},
    "controls": {"headings": "style", "controls": True, "contents": "control"},
    "tracked": {"headings": "chinese", "tracked": True, "contents": "field"},
    "direct": {"headings": "direct"},
    "numbered": {"headings": "numbered", "boxes": True, "contents": "field"},
    "mixed": {"headings": "style", "controls": True, "tracked": True, "fields": True, "boxes": True, "contents": "typed"},
    "bold": {"headings": "bold", "fields": True},
    "cells": {"headings": "outline", "controls": True, "contents": "styled"},
}
LOOK = ["styles", "outline", "controls", "direct"]
GONE = "Deleted words gone"


def t(text):
    return f'<w:t xml:space="preserve">{escape(text)}</w:t>'


def r(text, look=""):
    return f"<w:r>{f'<w:rPr>{look}</w:rPr>' if look else ''}{t(text)}</w:r>"


def field(instruction, inner):
    mark = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
    return mark.format("begin") + f'<w:r><w:instrText xml:space="preserve"> {escape(instruction)} </w:instrText></w:r>' + mark.format("separate") + inner + mark.format("end")


def control(inner, properties=""):
    return f'<w:sdt><w:sdtPr><w:alias w:val="Field"/><w:id w:val="7"/>{properties}</w:sdtPr><w:sdtContent>{inner}</w:sdtContent></w:sdt>'


class Writer:
    def __init__(self, style):
        self.habits = STYLES[style]
        self.links, self.notes, self.count = [], [], 0

    def has(self, habit, every=2):
        self.count += 1
        return self.habits.get(habit) and self.count % every == 0

    def runs(self, runs, look=""):
        return "".join(self.run(look, *run) for run in runs)

    def run(self, look, style, text, address="https://example.org/"):
        match style:
            case "bold":
                return r(text, look + "<w:b/>")
            case "code":
                return r(text, look + '<w:rFonts w:ascii="Courier New" w:hAnsi="Courier New"/>')
            case "link" if self.has("fields", 1):
                return field(f'HYPERLINK "{address}"', r(text, '<w:rStyle w:val="Hyperlink"/>'))
            case "link":
                self.links.append(address)
                return f'<w:hyperlink r:id="link{len(self.links)}" w:history="1">{r(text)}</w:hyperlink>'
            case "note":
                self.notes.append(text)
                return f'<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteReference w:id="{len(self.notes)}"/></w:r>'
        if self.has("controls", 3):
            return control(r(text, look))
        if self.has("tracked", 3):
            half = len(text) // 2
            return (r(text[:half], look) + f'<w:del w:id="1" w:author="x"><w:r><w:delText>{GONE}</w:delText></w:r></w:del><w:ins w:id="2" w:author="x">{r(text[half:], look)}</w:ins>')
        return r(text, look)

    def paragraph(self, inner, properties=""):
        text = f"<w:p>{f'<w:pPr>{properties}</w:pPr>' if properties else ''}{inner}</w:p>"
        return control(text) if self.has("controls", 4) else text

    def heading(self, block):
        level, runs = block["level"], block["runs"]
        match self.habits["headings"]:
            case "outline":
                return self.paragraph(self.runs(runs, "<w:b/>"), f'<w:outlineLvl w:val="{level - 1}"/>')
            case "chinese":
                return self.paragraph(self.runs(runs), f'<w:pStyle w:val="{level}"/>')
            case "direct":
                return self.paragraph(self.runs(runs, f'<w:b/><w:sz w:val="{38 - 4 * level}"/>'), '<w:keepNext/><w:spacing w:before="240" w:after="60"/>')
            case "bold":
                size = f'<w:sz w:val="{40 - 4 * level}"/><w:color w:val="1F3864"/>'
                return self.paragraph(self.runs(runs, ("<w:b/>" if level < 3 else "<w:b/><w:i/>") + size))
            case "numbered":
                return self.paragraph(self.runs(runs), f'<w:pStyle w:val="Heading{level}"/>')
        return self.paragraph(self.runs(runs), f'<w:pStyle w:val="Heading{level}"/>')

    def block(self, block):
        match block["kind"]:
            case "heading":
                return self.heading(block)
            case "paragraph" if self.has("boxes", 4):
                return self.paragraph(self.box(f"<w:p>{self.runs(block['runs'])}</w:p>"))
            case "paragraph":
                return self.paragraph(self.runs(block["runs"]))
            case "code":
                return "".join(f'<w:p><w:pPr><w:pStyle w:val="SourceCode"/></w:pPr>{r(line)}</w:p>' for line in block["text"].split("\n"))
            case "item":
                list_ = 1 if block["number"] is None else 2
                return self.paragraph(self.runs(block["runs"]), f'<w:pStyle w:val="ListParagraph"/><w:numPr><w:ilvl w:val="{block["depth"]}"/><w:numId w:val="{list_}"/></w:numPr>')
            case "definition":
                return self.paragraph(self.runs(block["term"], "<w:b/>") + r(": ") + self.runs(block["runs"]))
            case "formula":
                text = "<m:r><m:t>{}</m:t></m:r>"
                return f"<w:p><m:oMathPara><m:oMath><m:f><m:num>{text.format(block['over'])}</m:num><m:den>{text.format(block['under'])}</m:den></m:f></m:oMath></m:oMathPara></w:p>"
        return self.table(block["rows"])

    def box(self, inner):
        shape = f'<wp:inline><a:graphic><a:graphicData uri="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"><wps:wsp><wps:txbx><w:txbxContent>{inner}</w:txbxContent></wps:txbx></wps:wsp></a:graphicData></a:graphic></wp:inline>'
        return (f'<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing>{shape}</w:drawing></mc:Choice><mc:Fallback><w:pict><v:shape><v:textbox><w:txbxContent>{inner}</w:txbxContent>'
                '</v:textbox></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r>')

    def table(self, rows):
        cells = {(row, column): cell for row, column, cell in places(rows)}
        columns = max(column + cell["columns"] for (_, column), cell in cells.items())
        lines = []
        for number, source in enumerate(rows):
            line, column = [], 0
            while column < columns:
                cell = cells.get((number, column))
                if cell:
                    merge = '<w:vMerge w:val="restart"/>' if cell["rows"] > 1 else ""
                    line.append(self.cell(cell, merge))
                    column += cell["columns"]
                else:
                    above = next(cells[up, column] for up in range(number - 1, -1, -1) if (up, column) in cells)
                    line.append(f'<w:tc><w:tcPr><w:gridSpan w:val="{above["columns"]}"/><w:vMerge/></w:tcPr><w:p/></w:tc>')
                    column += above["columns"]
            is_head = source and all(cell.get("head") for cell in source)
            text = f"<w:tr>{'<w:trPr><w:tblHeader/></w:trPr>' if is_head else ''}{''.join(line)}</w:tr>"
            lines.append(control(text, "<w15:repeatingSectionItem xmlns:w15='http://schemas.microsoft.com/office/word/2012/wordml'/>") if self.has("controls", 3) else text)
        grid = "".join('<w:gridCol w:w="1500"/>' for _ in range(columns))
        table = f'<w:tbl><w:tblPr><w:tblStyle w:val="TableGrid"/></w:tblPr><w:tblGrid>{grid}</w:tblGrid>{"".join(lines)}</w:tbl>'
        return control(table) if self.has("controls", 3) else table

    def cell(self, cell, merge):
        span = f'<w:gridSpan w:val="{cell["columns"]}"/>' if cell["columns"] > 1 else ""
        inner = self.paragraph(self.runs(cell["runs"], "<w:b/>" if cell.get("head") else ""))
        inner += self.table(cell["inner"]) + "<w:p/>" if "inner" in cell else ""
        text = f"<w:tc><w:tcPr><w:tcW w:w='1500' w:type='dxa'/>{span}{merge}</w:tcPr>{inner}</w:tc>"
        return control(text) if self.has("controls", 3) else text

    def contents(self, blocks):
        """A table of contents with dotted leaders and page numbers, in one of the ways in which they come."""
        way = self.habits.get("contents")
        levels = [block["level"] for block in blocks if block["kind"] == "heading"]
        if not way:
            return ""
        style = lambda level: "" if way == "typed" else f'<w:pStyle w:val="TOC{level}"/>'
        tab = '<w:tabs><w:tab w:val="right" w:leader="dot" w:pos="9350"/></w:tabs>'
        lines = []
        for number, (level, heading) in enumerate(zip(levels, headings(blocks)), FIRST_PAGE):
            text = r(heading) + "<w:r><w:tab/></w:r>" + (r(str(number)) if way == "typed" else field(f"PAGEREF _Toc{number} \\h", r(str(number))))
            if way in ("field", "control"):
                text = f'<w:hyperlink w:anchor="_Toc{number}">{text}</w:hyperlink>'
            lines.append((style(level) + tab, text))
        if way in ("field", "control"):
            start, end = field('TOC \\o "1-3" \\h \\z \\u', "\0").split("\0")
            lines[0] = (lines[0][0], start + lines[0][1])
            lines[-1] = (lines[-1][0], lines[-1][1] + end)
        text = "".join(f"<w:p><w:pPr>{properties}</w:pPr>{inner}</w:p>" for properties, inner in lines)
        return control(text, '<w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj>') if way == "control" else text


def styles(kind):
    def paragraph(identifier, name, inner="", look=""):
        return f'<w:style w:type="paragraph" w:styleId="{identifier}"><w:name w:val="{name}"/><w:basedOn w:val="Normal"/><w:pPr>{inner}</w:pPr><w:rPr>{look}</w:rPr></w:style>'
    number = '<w:numPr><w:ilvl w:val="{}"/><w:numId w:val="3"/></w:numPr>' if kind == "numbered" else ""
    text = '<w:docDefaults><w:rPrDefault><w:rPr><w:sz w:val="22"/></w:rPr></w:rPrDefault></w:docDefaults><w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>'
    for level in range(1, 7):
        text += paragraph(f"Heading{level}", f"heading {level}", number.format(level - 1) + f'<w:outlineLvl w:val="{level - 1}"/>', f'<w:b/><w:sz w:val="{36 - 2 * level}"/>')
        text += paragraph(str(level), f"标题 {level}", "", "<w:b/>") + paragraph(f"TOC{level}", f"toc {level}")
    text += paragraph("ListParagraph", "List Paragraph") + paragraph("SourceCode", "Source Code")
    return f"{HEAD}<w:styles {NAMESPACES}>{text}</w:styles>"


def numbering():
    def levels(text, kind):
        return "".join(f'<w:lvl w:ilvl="{level}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/><w:lvlText w:val="{text(level)}"/></w:lvl>' for level in range(9))
    lists = [levels(lambda level: "•", "bullet"), levels(lambda level: f"%{level + 1}.", "decimal"), levels(lambda level: ".".join(f"%{up + 1}" for up in range(level + 1)), "decimal")]
    text = "".join(f'<w:abstractNum w:abstractNumId="{at}"><w:multiLevelType w:val="multilevel"/>{one}</w:abstractNum>' for at, one in enumerate(lists))
    text += "".join(f'<w:num w:numId="{at + 1}"><w:abstractNumId w:val="{at}"/></w:num>' for at in range(3))
    return f"{HEAD}<w:numbering {NAMESPACES}>{text}</w:numbering>"


def write(blocks, title, style, path):
    writer = Writer(style)
    body = writer.contents(blocks) + "".join(writer.block(block) for block in blocks)
    notes = "".join(f'<w:footnote w:id="{number}"><w:p>{r(text)}</w:p></w:footnote>' for number, text in enumerate(writer.notes, 1))
    relations = "".join(f'<Relationship Id="{kind}" Type="{OFFICE}/{kind}" Target="{kind}.xml"/>' for kind in ("styles", "numbering", "footnotes"))
    relations += "".join(f'<Relationship Id="link{number}" Type="{OFFICE}/hyperlink" Target="{escape(link)}" TargetMode="External"/>' for number, link in enumerate(writer.links, 1))
    package = "http://schemas.openxmlformats.org/package/2006"
    word = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    types = "".join(f'<Override PartName="/word/{part}.xml" ContentType="{word}.{kind}+xml"/>' for part, kind in
                    [("document", "document.main"), ("styles", "styles"), ("numbering", "numbering"), ("footnotes", "footnotes")])
    parts = {
        "[Content_Types].xml": f'{HEAD}<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>{types}</Types>',
        "_rels/.rels": f'{HEAD}<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/_rels/document.xml.rels": f'{HEAD}<Relationships xmlns="{package}/relationships">{relations}</Relationships>',
        "word/document.xml": f"{HEAD}<w:document {NAMESPACES}><w:body>{body}<w:sectPr/></w:body></w:document>",
        "word/styles.xml": styles(writer.habits["headings"]), "word/numbering.xml": numbering(),
        "word/footnotes.xml": f"{HEAD}<w:footnotes {NAMESPACES}>{notes}</w:footnotes>",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return {"gone": [GONE] + printed(blocks)}
