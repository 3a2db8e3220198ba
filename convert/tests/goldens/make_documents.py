#!/usr/bin/env python3
"""Writes the documents of convert/tests/goldens: `make_documents.py FOLDER`.

All text is our own. The same bytes come out on every run. Needs the packages fonttools and xlwt (pip), and for report.pdf the
fonts Noto Sans CJK (fonts-noto-cjk, SIL OFL 1.1; a subset is embedded) and Liberation Sans (fonts-liberation, only measured).
"""

import base64
import io
import json
import struct
import sys
import zipfile
import zlib
from pathlib import Path

EPOCH = (2026, 1, 15, 8, 0, 0)
CREATED = "2026-01-15T08:00:00Z"
XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def png(width, height, pixel):
    """A picture of `pixel(x, y) -> (r, g, b)`."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def mast():
    """24 × 24 pixels that stand for a mast."""
    return png(24, 24, lambda x, y: (30, 60, 120) if abs(x - 12) * 3 < y or y < 2 else (255, 255, 255))


def package(members, first=None):
    """A ZIP container with fixed times; `first` is stored uncompressed at its start."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as container:
        for name, data in ([first] if first else []) + list(members.items()):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_STORED if first and name == first[0] else zipfile.ZIP_DEFLATED
            container.writestr(entry, data.encode() if isinstance(data, str) else data)
    return out.getvalue()


def relationships(*links):
    """`links`: (id, type, target[, is external])."""
    body = "".join(
        f'<Relationship Id="{link[0]}" Type="{link[1] if "://" in link[1] else OFFICE + "/" + link[1]}" Target="{link[2]}"'
        + (' TargetMode="External"' if len(link) > 3 else "")
        + "/>"
        for link in links
    )
    return XML + f'<Relationships xmlns="{PACKAGE}/relationships">{body}</Relationships>'


def content_types(**overrides):
    defaults = {"rels": "application/vnd.openxmlformats-package.relationships+xml", "xml": "application/xml", "png": "image/png"}
    body = "".join(f'<Default Extension="{ending}" ContentType="{kind}"/>' for ending, kind in defaults.items())
    body += "".join(f'<Override PartName="/{part}" ContentType="{kind}"/>' for part, kind in overrides.items())
    return XML + f'<Types xmlns="{PACKAGE}/content-types">{body}</Types>'


def core(title, author, subject=""):
    return (
        XML
        + f'<cp:coreProperties xmlns:cp="{PACKAGE}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        f"<dc:title>{title}</dc:title><dc:subject>{subject}</dc:subject><dc:creator>{author}</dc:creator>"
        f'<dcterms:created xsi:type="dcterms:W3CDTF">{CREATED}</dcterms:created></cp:coreProperties>'
    )


CORE_LINK = ("rId9", PACKAGE + "/relationships/metadata/core-properties", "docProps/core.xml")
CORE_TYPE = "application/vnd.openxmlformats-package.core-properties+xml"

# ---------------------------------------------------------------- Word

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml"


def handbook_docx():
    def run(text, properties=""):
        properties = f"<w:rPr>{properties}</w:rPr>" if properties else ""
        return f'<w:r>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>'

    def paragraph(*content, style="", properties=""):
        style = f'<w:pStyle w:val="{style}"/>' if style else ""
        inside = "".join(part if part.startswith("<") else run(part) for part in content)
        return f"<w:p><w:pPr>{style}{properties}</w:pPr>{inside}</w:p>"

    def item(level, number, *content):
        place = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'
        return paragraph(*content, style="a7", properties=place)

    def cell(*content, span=1, merge=""):
        properties = '<w:tcW w:w="2000" w:type="dxa"/>'
        properties += f'<w:gridSpan w:val="{span}"/>' if span > 1 else ""
        properties += {"": "", "start": '<w:vMerge w:val="restart"/>', "on": "<w:vMerge/>"}[merge]
        inside = "".join(part if part.startswith("<w:p>") or part.startswith("<w:p ") else paragraph(part) for part in content)
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inside or '<w:p/>'}</w:tc>"

    def row(*cells, head=False):
        return f"<w:tr>{'<w:trPr><w:tblHeader/></w:trPr>' if head else ''}{''.join(cells)}</w:tr>"

    def field(instruction, result):
        return (
            '<w:r><w:fldChar w:fldCharType="begin"/></w:r>'
            f'<w:r><w:instrText xml:space="preserve"> {instruction} </w:instrText></w:r>'
            '<w:r><w:fldChar w:fldCharType="separate"/></w:r>' + run(result) + '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
        )

    def mr(text):
        return f"<m:r><m:t>{text}</m:t></m:r>"

    def sub(base, below):
        return f"<m:sSub><m:e>{mr(base)}</m:e><m:sub>{mr(below)}</m:sub></m:sSub>"

    total = (
        '<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr>'
        f"<m:sub>{mr('i=1')}</m:sub><m:sup>{mr('K')}</m:sup><m:e>{sub('I', 'i')}</m:e></m:nary>"
    )
    display = (
        "<m:oMathPara><m:oMath>" + mr("γ=")
        + f"<m:f><m:num>{sub('P', 's')}</m:num><m:den>{total}{mr('+')}<m:sSup><m:e>{mr('σ')}</m:e><m:sup>{mr('2')}</m:sup></m:sSup></m:den></m:f>"
        + "</m:oMath></m:oMathPara>"
    )
    inline = f"<m:oMath>{mr('γ≥')}<m:rad><m:radPr><m:degHide m:val=\"1\"/></m:radPr><m:deg/><m:e>{mr('2')}</m:e></m:rad></m:oMath>"

    tracked = 'w:id="{}" w:author="审阅人" w:date="2026-01-10T09:00:00Z"'
    deleted = f'<w:del {tracked.format(1)}><w:r><w:delText xml:space="preserve">六个月</w:delText></w:r></w:del>'
    inserted = f'<w:ins {tracked.format(2)}>{run("三个月")}</w:ins>'
    hidden = run("（内部备注：此处待法务确认）", "<w:vanish/>")
    footnote = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteReference w:id="2"/></w:r>'
    link = f'<w:hyperlink r:id="rId7">{run("值班平台", "<w:u w:val=" + chr(34) + "single" + chr(34) + "/>")}</w:hyperlink>'
    picture = (
        '<w:r><w:drawing><wp:inline distT="0" distB="0" distL="0" distR="0"><wp:extent cx="457200" cy="457200"/>'
        '<wp:docPr id="1" name="图片 1" descr="楼顶铁塔示意图"/><a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture">'
        '<pic:pic><pic:nvPicPr><pic:cNvPr id="1" name="mast.png"/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip r:embed="rId6"/></pic:blipFill>'
        '<pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="457200" cy="457200"/></a:xfrm><a:prstGeom prst="rect"/></pic:spPr></pic:pic>'
        "</a:graphicData></a:graphic></wp:inline></w:drawing></w:r>"
    )
    contents = "".join(
        [
            "<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val=\"Table of Contents\"/></w:docPartObj></w:sdtPr><w:sdtContent>",
            paragraph("目录"),
            paragraph(run("第一章 总则") + "<w:r><w:tab/></w:r>" + run("1")),
            "</w:sdtContent></w:sdt>",
        ]
    )
    body = "".join(
        [
            paragraph("基站维护手册", style="a3"),
            paragraph("第 3 版", style="a4"),
            contents,
            paragraph("总则", style="a5"),
            paragraph("本手册规定", run("日常巡检", "<w:b/>"), "与", run("故障处置", "<w:i/>"), "的做法", footnote, "。记录至少保存", deleted, inserted, "。", hidden),
            paragraph("适用范围", style="a6"),
            paragraph("适用于室外宏站和室内分布系统，登录", link, "后可以查看当班人员。各步骤见", field("REF _Ref1 \\h", "第二章"), "。"),
            paragraph("例外", style="a8"),
            paragraph("试验站点另行约定。"),
            paragraph("<w:r><w:br w:type=\"page\"/></w:r>", "Inspection steps", style="a5"),
            paragraph("Every visit follows the same order:"),
            item(0, 2, "Look at the alarms"),
            item(1, 2, "critical ones first"),
            item(1, 2, "then those older than a day"),
            item(2, 3, "including muted alarms"),
            item(2, 3, "except test alarms"),
            item(0, 2, "Measure the antenna line"),
            item(0, 2, "Write the report"),
            paragraph("A second visit starts over:"),
            item(0, 4, "Compare with the last report"),
            item(0, 4, "Sign it"),
            paragraph("参数与门限", style="a6"),
            paragraph("表 1　巡检门限", style="a9"),
            "<w:tbl><w:tblPr><w:tblW w:w=\"0\" w:type=\"auto\"/></w:tblPr><w:tblGrid>" + '<w:gridCol w:w="2000"/>' * 4 + "</w:tblGrid>"
            + row(cell("频段", merge="start"), cell("门限", span=2), cell("处理", merge="start"), head=True)
            + row(cell(merge="on"), cell("告警"), cell("退服"), cell(merge="on"), head=True)
            + row(cell("低频", merge="start"), cell("-95 dBm"), cell("-110 dBm"), cell("派单", "两小时内到场"))
            + row(cell(merge="on"), cell("10 %"), cell("40 %"), cell("观察|复测"))
            + row(cell("高频"), cell("未设门限", span=2), cell("观察"))
            + "</w:tbl>",
            paragraph("The ratio of signal to interference and noise is"),
            paragraph(display),
            paragraph("and must keep ", inline, " at the edge of the cell; H", run("2", '<w:vertAlign w:val="subscript"/>'), "O in a connector spoils it."),
            paragraph(picture),
            paragraph("图 1　楼顶铁塔", style="a9"),
            paragraph("Text with *stars*, _lines_, &lt;brackets&gt; and 1. numbers stays text."),
            paragraph("1. not a list"),
            '<w:sectPr><w:headerReference w:type="default" r:id="rId4"/><w:footerReference w:type="default" r:id="rId5"/></w:sectPr>',
        ]
    )
    spaces = (
        'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:r="' + OFFICE + '" '
        'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
        'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
        'xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"'
    )

    def style(identifier, name, based="", more="", kind="paragraph"):
        based = f'<w:basedOn w:val="{based}"/>' if based else ""
        return f'<w:style w:type="{kind}" w:styleId="{identifier}"><w:name w:val="{name}"/>{based}{more}</w:style>'

    numbered = '<w:pPr><w:numPr>{}<w:numId w:val="1"/></w:numPr></w:pPr>'
    styles = XML + f"<w:styles {spaces}>" + "".join(
        [
            '<w:style w:type="paragraph" w:default="1" w:styleId="a"><w:name w:val="Normal"/></w:style>',
            style("1", "heading 1", "a", '<w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:rPr><w:b/></w:rPr>'),
            style("2", "heading 2", "a", '<w:pPr><w:outlineLvl w:val="1"/></w:pPr><w:rPr><w:b/></w:rPr>'),
            style("a3", "Title", "a"),
            style("a4", "Subtitle", "a"),
            style("a5", "章标题", "1", numbered.format("")),
            style("a6", "节标题", "2", numbered.format('<w:ilvl w:val="1"/>')),
            style("a7", "列表内容", "a"),
            style("a8", "条标题", "a6", '<w:pPr><w:outlineLvl w:val="2"/><w:numPr><w:numId w:val="0"/></w:numPr></w:pPr>'),
            style("a9", "caption", "a"),
        ]
    ) + "</w:styles>"

    def level(place, form, text):
        return f'<w:lvl w:ilvl="{place}"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'

    numbering = XML + f"<w:numbering {spaces}>" + "".join(
        [
            '<w:abstractNum w:abstractNumId="0">' + level(0, "chineseCountingThousand", "第%1章") + level(1, "decimal", "%1.%2") + "</w:abstractNum>",
            '<w:abstractNum w:abstractNumId="1">' + level(0, "decimal", "%1.") + level(1, "lowerLetter", "%2)") + level(2, "bullet", "•") + "</w:abstractNum>",
            '<w:abstractNum w:abstractNumId="2">' + level(0, "bullet", "•") + level(1, "bullet", "–") + level(2, "bullet", "•") + "</w:abstractNum>",
            '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>',
            '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>',
            '<w:num w:numId="3"><w:abstractNumId w:val="2"/></w:num>',
            '<w:num w:numId="4"><w:abstractNumId w:val="1"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>',
        ]
    ) + "</w:numbering>"
    notes = XML + f"<w:footnotes {spaces}>" + "".join(
        [
            '<w:footnote w:id="0" w:type="separator"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>',
            '<w:footnote w:id="2">' + paragraph("<w:r><w:footnoteRef/></w:r>", " 以本地规程为准。") + "</w:footnote>",
        ]
    ) + "</w:footnotes>"
    return package(
        {
            "[Content_Types].xml": content_types(
                **{
                    "word/document.xml": f"{WORD}.document.main+xml",
                    "word/styles.xml": f"{WORD}.styles+xml",
                    "word/numbering.xml": f"{WORD}.numbering+xml",
                    "word/footnotes.xml": f"{WORD}.footnotes+xml",
                    "word/header1.xml": f"{WORD}.header+xml",
                    "word/footer1.xml": f"{WORD}.footer+xml",
                    "docProps/core.xml": CORE_TYPE,
                }
            ),
            "_rels/.rels": relationships(("rId1", "officeDocument", "word/document.xml"), CORE_LINK),
            "word/document.xml": XML + f"<w:document {spaces}><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": relationships(
                ("rId1", "styles", "styles.xml"),
                ("rId2", "numbering", "numbering.xml"),
                ("rId3", "footnotes", "footnotes.xml"),
                ("rId4", "header", "header1.xml"),
                ("rId5", "footer", "footer1.xml"),
                ("rId6", "image", "media/mast.png"),
                ("rId7", "hyperlink", "https://duty.example.net/rota?team=3&amp;lang=zh", True),
            ),
            "word/styles.xml": styles,
            "word/numbering.xml": numbering,
            "word/footnotes.xml": notes,
            "word/header1.xml": XML + f"<w:hdr {spaces}>{paragraph('内部资料 请勿外传')}</w:hdr>",
            "word/footer1.xml": XML + f"<w:ftr {spaces}>{paragraph('第 ', field('PAGE', '1'), ' 页')}</w:ftr>",
            "word/media/mast.png": mast(),
            "docProps/core.xml": core("基站维护手册", "网络运维组", "巡检"),
        }
    )


# ---------------------------------------------------------------- PowerPoint

PRESENTATION = "application/vnd.openxmlformats-officedocument.presentationml"


def slides_pptx():
    spaces = (
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="' + OFFICE + '" '
        'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
    )
    counter = iter(range(2, 1000))

    def frame(x, y, width, height, prefix="a"):
        return f'<{prefix}:xfrm><a:off x="{x}" y="{y}"/><a:ext cx="{width}" cy="{height}"/></{prefix}:xfrm>'

    def paragraphs(*lines):
        out = ""
        for line in lines:
            level, text = line if isinstance(line, tuple) else (0, line)
            out += f'<a:p><a:pPr lvl="{level}"/><a:r><a:rPr lang="zh-CN"/><a:t>{text}</a:t></a:r></a:p>'
        return out

    def shape(name, place, *lines, holder="", bullets=False):
        holder = f"<p:ph {holder}/>" if holder else ""
        box = "" if holder else ' txBox="1"'
        geometry = "" if holder else '<a:prstGeom prst="rect"><a:avLst/></a:prstGeom>'
        place = f"<p:spPr>{frame(*place) if place else ''}{geometry}</p:spPr>"
        inside = paragraphs(*lines)
        if bullets:
            inside = inside.replace('"/><a:r>', '"><a:buChar char="•"/></a:pPr><a:r>')
        return (
            f'<p:sp><p:nvSpPr><p:cNvPr id="{next(counter)}" name="{name}"/><p:cNvSpPr{box}/><p:nvPr>{holder}</p:nvPr></p:nvSpPr>'
            f"{place}<p:txBody><a:bodyPr/>{inside}</p:txBody></p:sp>"
        )

    def tree(*shapes):
        return (
            '<p:cSld><p:spTree><p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
            + "".join(shapes)
            + "</p:spTree></p:cSld>"
        )

    def slide(*shapes, attributes=""):
        return XML + f"<p:sld {spaces}{attributes}>{tree(*shapes)}</p:sld>"

    title = 'type="title"'
    first = slide(
        shape("Title 1", None, "Network Review 2026", holder='type="ctrTitle"'),
        shape("Subtitle 2", None, "华东区域 · 第一季度", holder='type="subTitle" idx="1"'),
        shape("Slide Number", None, "1", holder='type="sldNum" idx="12"'),
    )
    # The right box comes first in the file, the left one is read first.
    second = slide(
        shape("Right", (6500000, 1600000, 4500000, 1500000), "After the change", "Dropped calls fell to 0.4 %"),
        shape("Below", (700000, 5200000, 10300000, 700000), "来源：自有路测数据"),
        shape("Title", None, "切换优化前后", holder=title),
        shape("Left", (700000, 1600000, 4500000, 1500000), "Before the change", "Dropped calls stood at 1.9 %"),
        f'<p:grpSp><p:nvGrpSpPr><p:cNvPr id="{next(counter)}" name="Group"/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr><a:xfrm>'
        '<a:off x="700000" y="3600000"/><a:ext cx="10300000" cy="1200000"/><a:chOff x="0" y="0"/><a:chExt cx="1000" cy="100"/></a:xfrm></p:grpSpPr>'
        + shape("G2", (600, 0, 400, 100), "Step B: widen the hysteresis")
        + shape("G1", (0, 0, 400, 100), "Step A: lower the threshold")
        + "</p:grpSp>",
        shape("Footer", None, "Confidential draft", holder='type="ftr" idx="11"'),
    )

    def cell(text, attributes=""):
        return f"<a:tc{attributes}><a:txBody><a:bodyPr/>{paragraphs(text) if text else '<a:p/>'}</a:txBody><a:tcPr/></a:tc>"

    def row(*cells):
        return f'<a:tr h="300000">{"".join(cells)}</a:tr>'

    def graphic(name, place, uri, inside):
        return (
            f'<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="{next(counter)}" name="{name}"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>'
            f'{frame(*place, prefix="p")}<a:graphic><a:graphicData uri="{uri}">{inside}</a:graphicData></a:graphic></p:graphicFrame>'
        )

    drawing = "http://schemas.openxmlformats.org/drawingml/2006"
    table = (
        '<a:tbl><a:tblPr firstRow="1"/><a:tblGrid><a:gridCol w="1"/><a:gridCol w="1"/><a:gridCol w="1"/></a:tblGrid>'
        + row(cell("City"), cell("Sites", ' gridSpan="2"'), cell("", ' hMerge="1"'))
        + row(cell("苏州", ' rowSpan="2"'), cell("macro"), cell("120"))
        + row(cell("", ' vMerge="1"'), cell("indoor"), cell("45"))
        + row(cell("Ningbo"), cell("macro"), cell("88"))
        + "</a:tbl>"
    )
    third = slide(
        shape("Title", None, "站点与流量", holder=title),
        graphic("Table", (700000, 1500000, 5000000, 1500000), drawing + "/table", table),
        graphic("Chart", (6300000, 1500000, 5000000, 3000000), drawing + "/chart", f'<c:chart xmlns:c="{drawing}/chart" r:id="rId3"/>'),
        f'<p:pic><p:nvPicPr><p:cNvPr id="{next(counter)}" name="Picture" descr="A mast on a roof"/><p:cNvPicPr/><p:nvPr/></p:nvPicPr>'
        f'<p:blipFill><a:blip r:embed="rId4"/></p:blipFill><p:spPr>{frame(700000, 4800000, 600000, 600000)}</p:spPr></p:pic>',
    )
    hidden = slide(shape("Title", None, "Backup figures, not shown", holder=title), attributes=' show="0"')
    last = slide(
        shape("Title", None, "Next steps", holder=title),
        shape("Body", None, "Fix the worst cells", (1, "Pudong 17"), (1, "Hongqiao 4"), "Measure again in May", holder='type="body" idx="1"'),
        shape("Later", (700000, 5600000, 10300000, 900000), "Later this year:", (1, "更多小区"), (1, "fewer alarms")).replace(
            '<a:pPr lvl="1"/>', '<a:pPr lvl="1"><a:buChar char="–"/></a:pPr>'
        ),
    )

    def series(index, name, values):
        points = "".join(f'<c:pt idx="{place}"><c:v>{value}</c:v></c:pt>' for place, value in enumerate(values))
        labels = "".join(f'<c:pt idx="{place}"><c:v>{label}</c:v></c:pt>' for place, label in enumerate(["Jan", "Feb", "Mar"]))
        return (
            f'<c:ser><c:idx val="{index}"/><c:order val="{index}"/><c:tx><c:strRef><c:f>Sheet1!B1</c:f><c:strCache><c:ptCount val="1"/>'
            f'<c:pt idx="0"><c:v>{name}</c:v></c:pt></c:strCache></c:strRef></c:tx><c:cat><c:strRef><c:f>Sheet1!A2:A4</c:f><c:strCache>'
            f'<c:ptCount val="3"/>{labels}</c:strCache></c:strRef></c:cat><c:val><c:numRef><c:f>Sheet1!B2:B4</c:f><c:numCache>'
            f'<c:formatCode>General</c:formatCode><c:ptCount val="3"/>{points}</c:numCache></c:numRef></c:val></c:ser>'
        )

    chart = (
        XML
        + f'<c:chartSpace xmlns:c="{drawing}/chart" xmlns:a="{drawing}/main" xmlns:r="{OFFICE}"><c:chart><c:title><c:tx><c:rich><a:bodyPr/>'
        + paragraphs("Traffic in TB")
        + '</c:rich></c:tx></c:title><c:plotArea><c:barChart><c:barDir val="col"/><c:grouping val="clustered"/>'
        + series(0, "4G", [310.5, 302, 298])
        + series(1, "5G", [120, 151, 190.25])
        + '<c:axId val="1"/><c:axId val="2"/></c:barChart>'
        + "".join(
            f'<c:{kind}><c:axId val="{own}"/><c:scaling><c:orientation val="minMax"/></c:scaling><c:delete val="0"/>'
            f'<c:axPos val="{side}"/><c:crossAx val="{other}"/></c:{kind}>'
            for kind, own, side, other in [("catAx", 1, "b", 2), ("valAx", 2, "l", 1)]
        )
        + "</c:plotArea></c:chart></c:chartSpace>"
    )
    holders = [
        shape("Title", (700000, 300000, 10300000, 900000), "Click to edit the title", holder=title),
        shape("Body", (700000, 1500000, 10300000, 4000000), "Click to edit the text", (1, "Second level"), holder='type="body" idx="1"', bullets=True),
        shape("Footer", (700000, 6300000, 4000000, 300000), "", holder='type="ftr" idx="11"'),
        shape("Number", (10000000, 6300000, 1000000, 300000), "#", holder='type="sldNum" idx="12"'),
    ]
    bullet = '<a:lvl{0}pPr marL="{1}"><a:buChar char="•"/></a:lvl{0}pPr>'
    master = (
        XML + f"<p:sldMaster {spaces}>" + tree(*holders)
        + '<p:clrMap bg1="lt1" tx1="dk1" bg2="lt2" tx2="dk2" accent1="accent1" accent2="accent2" accent3="accent3" accent4="accent4" '
        'accent5="accent5" accent6="accent6" hlink="hlink" folHlink="folHlink"/><p:sldLayoutIdLst><p:sldLayoutId id="2147483649" r:id="rId1"/><p:sldLayoutId id="2147483650" r:id="rId3"/></p:sldLayoutIdLst>'
        '<p:txStyles><p:titleStyle><a:lvl1pPr><a:buNone/></a:lvl1pPr></p:titleStyle><p:bodyStyle>' + bullet.format(1, 228600) + bullet.format(2, 685800)
        + "</p:bodyStyle><p:otherStyle/></p:txStyles></p:sldMaster>"
    )
    cover_shapes = [
        shape("Centred title", (700000, 1500000, 10300000, 900000), "", holder='type="ctrTitle"'),
        shape("Subtitle", (700000, 3000000, 10300000, 900000), "", holder='type="subTitle" idx="1"').replace(
            "<a:bodyPr/>", "<a:bodyPr/><a:lstStyle><a:lvl1pPr><a:buNone/></a:lvl1pPr></a:lstStyle>"
        ),
    ]
    content_shapes = [shape("Title", None, "", holder=title), shape("Body", None, "", holder='type="body" idx="1"')]
    layouts = [XML + f"<p:sldLayout {spaces}>" + tree(*shapes) + "</p:sldLayout>" for shapes in [cover_shapes, content_shapes]]
    colours = ["dk1", "lt1", "dk2", "lt2", "accent1", "accent2", "accent3", "accent4", "accent5", "accent6", "hlink", "folHlink"]
    line = '<a:ln w="9525"><a:solidFill><a:schemeClr val="phClr"/></a:solidFill></a:ln>'
    fill = '<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>'
    theme = (
        XML + f'<a:theme xmlns:a="{drawing}/main" name="Plain"><a:themeElements><a:clrScheme name="Plain">'
        + "".join(f'<a:{name}><a:srgbClr val="{"FFFFFF" if name.startswith("lt") else "203040"}"/></a:{name}>' for name in colours)
        + '</a:clrScheme><a:fontScheme name="Plain">'
        + "".join(f'<a:{kind}Font><a:latin typeface="Arial"/><a:ea typeface=""/><a:cs typeface=""/></a:{kind}Font>' for kind in ["major", "minor"])
        + f'</a:fontScheme><a:fmtScheme name="Plain"><a:fillStyleLst>{fill * 3}</a:fillStyleLst><a:lnStyleLst>{line * 3}</a:lnStyleLst>'
        + "<a:effectStyleLst>" + "<a:effectStyle><a:effectLst/></a:effectStyle>" * 3
        + f"</a:effectStyleLst><a:bgFillStyleLst>{fill * 3}</a:bgFillStyleLst></a:fmtScheme></a:themeElements></a:theme>"
    )
    notes = (
        XML + f"<p:notes {spaces}>"
        + tree(shape("Notes", None, "先讲结论，再讲数据。", "Mention the two pilot cells.", holder='type="body" idx="1"'), shape("Number", None, "2", holder='type="sldNum" idx="5"'))
        + "</p:notes>"
    )
    # Parts are numbered otherwise than shown: the presentation's list decides.
    order = {"slide3": first, "slide1": second, "slide2": third, "slide4": hidden, "slide5": last}
    shown = ["slide3", "slide1", "slide2", "slide4", "slide5"]
    presentation = (
        XML + f'<p:presentation {spaces}><p:sldMasterIdLst><p:sldMasterId id="2147483648" r:id="rId20"/></p:sldMasterIdLst><p:sldIdLst>'
        + "".join(f'<p:sldId id="{256 + place}" r:id="rId{place + 1}"/>' for place in range(len(shown)))
        + '</p:sldIdLst><p:sldSz cx="12192000" cy="6858000"/><p:notesSz cx="6858000" cy="9144000"/></p:presentation>'
    )
    layout_links = [("rId1", "slideLayout", f"../slideLayouts/slideLayout{number}.xml") for number in [1, 2]]
    more = {
        "slide1": [("rId2", "notesSlide", "../notesSlides/notesSlide1.xml")],
        "slide2": [("rId3", "chart", "../charts/chart1.xml"), ("rId4", "image", "../media/mast.png")],
    }
    members = {
        "[Content_Types].xml": content_types(
            **{
                "ppt/presentation.xml": f"{PRESENTATION}.presentation.main+xml",
                "ppt/slideMasters/slideMaster1.xml": f"{PRESENTATION}.slideMaster+xml",
                "ppt/slideLayouts/slideLayout1.xml": f"{PRESENTATION}.slideLayout+xml",
                "ppt/slideLayouts/slideLayout2.xml": f"{PRESENTATION}.slideLayout+xml",
                "ppt/theme/theme1.xml": "application/vnd.openxmlformats-officedocument.theme+xml",
                "ppt/charts/chart1.xml": "application/vnd.openxmlformats-officedocument.drawingml.chart+xml",
                "ppt/notesSlides/notesSlide1.xml": f"{PRESENTATION}.notesSlide+xml",
                "docProps/core.xml": CORE_TYPE,
                **{f"ppt/slides/{name}.xml": f"{PRESENTATION}.slide+xml" for name in shown},
            }
        ),
        "_rels/.rels": relationships(("rId1", "officeDocument", "ppt/presentation.xml"), CORE_LINK),
        "ppt/presentation.xml": presentation,
        "ppt/_rels/presentation.xml.rels": relationships(
            *[(f"rId{place + 1}", "slide", f"slides/{name}.xml") for place, name in enumerate(shown)],
            ("rId20", "slideMaster", "slideMasters/slideMaster1.xml"),
        ),
        "ppt/slideMasters/slideMaster1.xml": master,
        "ppt/slideMasters/_rels/slideMaster1.xml.rels": relationships(
            layout_links[0], ("rId2", "theme", "../theme/theme1.xml"), ("rId3", *layout_links[1][1:])
        ),
        **{f"ppt/slideLayouts/slideLayout{number}.xml": layout for number, layout in enumerate(layouts, 1)},
        **{f"ppt/slideLayouts/_rels/slideLayout{number}.xml.rels": relationships(("rId1", "slideMaster", "../slideMasters/slideMaster1.xml")) for number in [1, 2]},
        "ppt/theme/theme1.xml": theme,
        "ppt/charts/chart1.xml": chart,
        "ppt/notesSlides/notesSlide1.xml": notes,
        "ppt/notesSlides/_rels/notesSlide1.xml.rels": relationships(("rId1", "slide", "../slides/slide1.xml")),
        "ppt/media/mast.png": mast(),
        "docProps/core.xml": core("Network Review 2026", "Planning team"),
    }
    for name, text in order.items():
        members[f"ppt/slides/{name}.xml"] = text
        members[f"ppt/slides/_rels/{name}.xml.rels"] = relationships(layout_links[0 if text is first else 1], *more.get(name, []))
    return package(members)


# ---------------------------------------------------------------- workbooks

SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def counters_xlsx():
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="' + OFFICE + '"'
    texts = []

    def cell(place, value, style=0, formula=""):
        style = f' s="{style}"' if style else ""
        formula = f"<f>{formula}</f>" if formula else ""
        if value is None:
            return f'<c r="{place}"{style}/>'
        if isinstance(value, bool):
            return f'<c r="{place}"{style} t="b"><v>{int(value)}</v></c>'
        if isinstance(value, str) and value.startswith("#"):
            return f'<c r="{place}"{style} t="e">{formula}<v>{value}</v></c>'
        if isinstance(value, str) and formula:
            return f'<c r="{place}"{style} t="str">{formula}<v>{value}</v></c>'
        if isinstance(value, str):
            if value not in texts:
                texts.append(value)
            return f'<c r="{place}"{style} t="s"><v>{texts.index(value)}</v></c>'
        return f'<c r="{place}"{style}>{formula}<v>{value}</v></c>'

    def sheet(rows, more="", views=""):
        lines = "".join(
            f'<row r="{number}">' + "".join(cell(place + str(number), *(value if isinstance(value, tuple) else (value,))) for place, value in cells.items()) + "</row>"
            for number, cells in rows.items()
        )
        return XML + f"<worksheet {main}>{views}<sheetData>{lines}</sheetData>{more}</worksheet>"

    date, percent, thousands, moment, money = 1, 2, 3, 4, 5
    daily = sheet(
        {
            2: {"B": "小区话务日报（模拟数据）"},
            4: {"B": "日期", "C": "小区", "D": "话务", "E": None, "F": "接通率", "G": "备注"},
            5: {"B": None, "C": None, "D": "忙时", "E": "全天", "F": None, "G": None},
            6: {"B": (46023, date), "C": "A-01", "D": 412, "E": (12030, thousands), "F": (0.9931, percent), "G": "正常"},
            7: {"B": (46023, date), "C": "A-02", "D": 98, "E": (2410.5, thousands), "F": (0.87, percent), "G": "断电 2 小时\n已恢复"},
            8: {"B": (46024, date), "C": "A-01", "D": 395, "E": (11876, thousands), "F": (1, percent), "G": None},
            9: {"B": "合计", "C": None, "D": (905, 0, "SUM(D6:D8)"), "E": (26316.5, thousands, "SUM(E6:E8)"), "F": (0.9501, percent, "AVERAGE(F6:F8)"), "G": ("完成", 0, 'IF(D9&gt;900,"完成","未完")')},
        },
        '<mergeCells count="7"><mergeCell ref="B2:G2"/><mergeCell ref="B4:B5"/><mergeCell ref="C4:C5"/><mergeCell ref="D4:E4"/>'
        '<mergeCell ref="F4:F5"/><mergeCell ref="G4:G5"/><mergeCell ref="B6:B7"/></mergeCells>',
    )
    # The merged date's second cell is empty, as a spreadsheet program leaves it.
    daily = daily.replace('<c r="B7" s="1"><v>46023</v></c>', '<c r="B7" s="1"/>')
    sites = sheet(
        {
            1: {"A": "Site", "B": "On air", "C": "Commissioned", "D": "Rent", "E": "Ratio", "F": "Link"},
            2: {"A": "Harbour|North", "B": True, "C": (45992.75, moment), "D": (1250, money), "E": ("#DIV/0!", 0, "D2/0"), "F": "map"},
            3: {"A": "Old Mill", "B": False, "C": None, "D": (-80.5, money), "E": (0.125, 0), "F": None},
        },
        '<hyperlinks><hyperlink ref="F2" r:id="rId1"/></hyperlinks>',
    )
    secret = sheet({1: {"A": "password", "B": "not for the index"}})
    styles = (
        XML + f'<styleSheet {main}><numFmts count="3"><numFmt numFmtId="164" formatCode="yyyy&quot;年&quot;m&quot;月&quot;d&quot;日&quot;"/>'
        '<numFmt numFmtId="165" formatCode="yyyy-mm-dd hh:mm"/><numFmt numFmtId="166" formatCode="&quot;€&quot;#,##0.00;-&quot;€&quot;#,##0.00"/></numFmts>'
        '<fonts count="1"><font/></fonts><fills count="1"><fill/></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
        '<cellXfs count="6">' + "".join(f'<xf numFmtId="{number}" applyNumberFormat="1"/>' for number in [0, 164, 10, 4, 165, 166]) + "</cellXfs></styleSheet>"
    )
    shared = XML + f"<sst {main}>" + "".join(f'<si><t xml:space="preserve">{text}</t></si>' for text in texts) + "</sst>"
    workbook = (
        XML + f'<workbook {main}><sheets><sheet name="日报" sheetId="1" r:id="rId1"/><sheet name="Sites" sheetId="2" r:id="rId2"/>'
        '<sheet name="内部" sheetId="3" state="hidden" r:id="rId3"/></sheets></workbook>'
    )
    return package(
        {
            "[Content_Types].xml": content_types(
                **{
                    "xl/workbook.xml": f"{SHEET}.sheet.main+xml",
                    "xl/styles.xml": f"{SHEET}.styles+xml",
                    "xl/sharedStrings.xml": f"{SHEET}.sharedStrings+xml",
                    "docProps/core.xml": CORE_TYPE,
                    **{f"xl/worksheets/sheet{number}.xml": f"{SHEET}.worksheet+xml" for number in [1, 2, 3]},
                }
            ),
            "_rels/.rels": relationships(("rId1", "officeDocument", "xl/workbook.xml"), CORE_LINK),
            "xl/workbook.xml": workbook,
            "xl/_rels/workbook.xml.rels": relationships(
                *[(f"rId{number}", "worksheet", f"worksheets/sheet{number}.xml") for number in [1, 2, 3]],
                ("rId4", "styles", "styles.xml"),
                ("rId5", "sharedStrings", "sharedStrings.xml"),
            ),
            "xl/worksheets/sheet1.xml": daily,
            "xl/worksheets/sheet2.xml": sites,
            "xl/worksheets/_rels/sheet2.xml.rels": relationships(("rId1", "hyperlink", "https://maps.example.net/harbour", True)),
            "xl/worksheets/sheet3.xml": secret,
            "xl/styles.xml": styles,
            "xl/sharedStrings.xml": shared,
            "docProps/core.xml": core("Counters", "Planning team"),
        }
    )


def counters_xls():
    import datetime

    import xlwt

    book = xlwt.Workbook(encoding="utf-8")
    date = xlwt.easyxf(num_format_str="YYYY-MM-DD")
    percent = xlwt.easyxf(num_format_str="0.0%")
    price = xlwt.easyxf(num_format_str="#,##0.00")
    sheet = book.add_sheet("库存")
    sheet.write_merge(0, 0, 0, 4, "备件库存（示例）")
    for column, text in enumerate(["备件", "型号", "数量", "单价", "到货日期"]):
        sheet.write(1, column, text)
    sheet.write_merge(2, 3, 0, 0, "射频单元")
    for row, (model, count, cost, day) in enumerate([("RU-20", 12, 8300, (2025, 12, 1)), ("RU-40", 3, 15250.5, (2026, 1, 9)), ("PSU|48", 40, 310, (2024, 2, 29))], 2):
        if row == 4:
            sheet.write(row, 0, "电源")
        sheet.write(row, 1, model)
        sheet.write(row, 2, count)
        sheet.write(row, 3, cost, price)
        sheet.write(row, 4, datetime.date(*day), date)
    rates = book.add_sheet("Rates")
    for row, cells in enumerate([("Quarter", "Availability", "On target"), ("Q1", 0.9987, True), ("Q2", 0.982, False)]):
        for column, value in enumerate(cells):
            rates.write(row, column, value, percent if isinstance(value, float) else xlwt.Style.default_style)
    secret = book.add_sheet("hidden")
    secret.visibility = 1
    secret.write(0, 0, "not for the index")
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


SPACED = 'share of used blocks<text:s text:c="2"/>per hour'


def counters_ods():
    def cell(value=None, kind="string", shown="", more="", repeat=1):
        more += f' table:number-columns-repeated="{repeat}"' if repeat > 1 else ""
        if value is None:
            return f"<table:table-cell{more}/>"
        if kind == "string":
            lines = "".join(f"<text:p>{line}</text:p>" for line in value.split("\n"))
            return f'<table:table-cell office:value-type="string"{more}>{lines}</table:table-cell>'
        name = {"date": "date-value", "boolean": "boolean-value"}.get(kind, "value")
        return f'<table:table-cell office:value-type="{kind}" office:{name}="{value}"{more}><text:p>{shown or value}</text:p></table:table-cell>'

    def row(*cells, repeat=1):
        more = f' table:number-rows-repeated="{repeat}"' if repeat > 1 else ""
        return f"<table:table-row{more}>{''.join(cells)}</table:table-row>"

    covered = "<table:covered-table-cell/>"
    traffic = "".join(
        [
            row(cell("Traffic by hour", more=' table:number-columns-spanned="4" table:number-rows-spanned="1"'), covered * 3),
            row(cell(repeat=4), repeat=2),
            row(cell("时段"), cell("Date"), cell("Load"), cell("Alarm")),
            row(
                cell("夜间", more=' table:number-columns-spanned="1" table:number-rows-spanned="2"'),
                cell("2026-01-15", "date", "15.01.26"), cell("0.0425", "percentage", "4.25%"), cell("false", "boolean", "FALSE"),
            ),
            row(covered, cell("2026-01-16", "date", "16.01.26"), cell("0.051", "percentage", "5.10%"), cell("true", "boolean", "TRUE")),
            row(cell("白天\n(busy)"), cell("2026-01-16T14:30:00", "date", "16.01.26 14:30"), cell("0.87", "percentage", "87.00%"), cell("false", "boolean", "FALSE")),
            row(cell("Sum"), cell(), cell("0.9635", "percentage", "96.35%", more=' table:formula="of:=SUM([.C5:.C7])"'), cell()),
            row(cell(repeat=1000), repeat=1048568),
        ]
    )
    spaces = (
        'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" '
        'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0"'
    )
    link = '<table:table-cell office:value-type="string"><text:p>see the <text:a xlink:href="https://wiki.example.net/load">wiki</text:a></text:p></table:table-cell>'
    content = (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + f'<office:document-content {spaces} office:version="1.3"><office:automatic-styles>'
        '<style:style style:name="ta1" style:family="table"><style:table-properties table:display="true"/></style:style>'
        '<style:style style:name="ta2" style:family="table"><style:table-properties table:display="false"/></style:style></office:automatic-styles>'
        f'<office:body><office:spreadsheet><table:table table:name="Traffic" table:style-name="ta1">{traffic}</table:table>'
        f'<table:table table:name="说明" table:style-name="ta1">{row(cell("Name"), cell("Meaning"))}'
        f"{row(cell('Load'), cell(SPACED))}{row(cell('More'), link)}</table:table>"
        f'<table:table table:name="Hidden" table:style-name="ta2">{row(cell("not for the index"))}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    meta = (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + f'<office:document-meta {spaces} office:version="1.3"><office:meta><dc:title>Traffic counters</dc:title>'
        f"<meta:initial-creator>Planning team</meta:initial-creator><meta:creation-date>{CREATED}</meta:creation-date></office:meta></office:document-meta>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.3">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
        '<manifest:file-entry manifest:full-path="meta.xml" manifest:media-type="text/xml"/></manifest:manifest>'
    )
    return package({"content.xml": content, "meta.xml": meta, "META-INF/manifest.xml": manifest}, first=("mimetype", kind))


def alarms_csv():
    rows = [
        "告警编号;级别;网元;发生时间;门限;说明",
        '1001;严重;BBU-7;2026-01-03 02:14:55;-95,5;"光路中断; 主备同时告警"',
        '1002;一般;RRU-12;2026-01-03 02:15:10;12,0;"驻波比高，""复测""后正常"',
        '1003;提示;BBU-7;2026-01-04 11:00:00;;"第一行',
        '第二行|含竖线"',
        "1004;一般;𠮷田站;2026-01-05 00:00:00;3,5;已清除",
    ]
    return "\r\n".join(rows).encode("gb18030") + b"\r\n"


# ---------------------------------------------------------------- PDF

CHINESE_FONT = ("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc", "Noto Sans CJK SC")
MEASURED = "/usr/share/fonts/truetype/liberation/LiberationSans-{}.ttf"
WIDTH, HEIGHT = 595, 842


class Pdf:
    """Pages of Helvetica (F1), Helvetica-Bold (F2), Courier (F3) and a subset of a Chinese font (F4)."""

    def __init__(self):
        from fontTools.ttLib import TTFont

        self.pages = []
        self.content = []
        self.metrics = {}
        for name, face in [("F1", "Regular"), ("F2", "Bold")]:
            font = TTFont(MEASURED.format(face))
            scale = 1000 / font["head"].unitsPerEm
            widths, names = font["hmtx"], font.getBestCmap()
            self.metrics[name] = {chr(code): widths[names[code]][0] * scale for code in range(32, 127)}
        self.chinese = {}

    def width(self, font, size, text):
        if font == "F4":
            return size * len(text)
        if font == "F3":
            return 0.6 * size * len(text)
        return sum(self.metrics[font][character] for character in text) * size / 1000

    def text(self, font, size, x, y, text):
        if font == "F4":
            for character in text:
                self.chinese.setdefault(character, None)
            # The glyphs' numbers are known when all text is.
            self.content.append((size, x, y, text))
            return
        escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)").replace("•", "\\225")
        self.content.append(f"BT /{font} {size} Tf {x:.2f} {y:.2f} Td ({escaped}) Tj ET\n")

    def line(self, *ends):
        self.content.append("0.6 w {:.1f} {:.1f} m {:.1f} {:.1f} l S\n".format(*ends))

    def paragraph(self, x, y, width, text, font="F1", size=10, leading=12.5):
        """Justified to the left; `¬` marks where a word may be divided. Returns the baseline below."""
        line = ""
        for word in text.split(" "):
            parts = word.split("¬")
            rest = "".join(parts)
            if self.width(font, size, f"{line} {rest}".strip()) <= width:
                line = f"{line} {rest}".strip()
                continue
            for cut in range(len(parts) - 1, 0, -1):
                start = f"{line} {''.join(parts[:cut])}-".strip()
                if self.width(font, size, start) <= width:
                    line, rest = start, "".join(parts[cut:])
                    break
            self.text(font, size, x, y, line)
            line, y = rest, y - leading
        self.text(font, size, x, y, line)
        return y - leading

    def end_page(self):
        self.pages.append(self.content)
        self.content = []

    def chinese_font(self):
        """The subset as a bare CFF table, numbers of its glyphs, widths and letters."""
        from fontTools import subset
        from fontTools.ttLib import TTCollection

        path, family = CHINESE_FONT
        font = next(font for font in TTCollection(path).fonts if font["name"].getDebugName(1) == family)
        options = subset.Options(layout_features=[], hinting=False, desubroutinize=True, notdef_outline=False, name_IDs=[0, 1, 2, 6, 13, 14])
        maker = subset.Subsetter(options)
        maker.populate(text="".join(self.chinese))
        maker.subset(font)
        names = font.getBestCmap()
        top = font["CFF "].cff.topDictIndex[0]
        # In a font with CIDs, text is written with these, not with the places of the glyphs.
        for character in self.chinese:
            self.chinese[character] = int(names[ord(character)][3:])
        widths = {self.chinese[character]: font["hmtx"][names[ord(character)]][0] for character in self.chinese}
        assert top.ROS == ("Adobe", "Identity", 0)
        return font.getTableData("CFF ") if not font.isLoaded("CFF ") else font["CFF "].compile(font), widths

    def finish(self, title, author, bookmarks):
        """`bookmarks`: (level from 0, title, page, y)."""
        cff, widths = self.chinese_font()
        objects = [None] * 10
        kids = []

        def add(text, data=None):
            if data is not None:
                packed = zlib.compress(data, 9)
                text = text.encode() + b"\nstream\n" + packed + b"\nendstream"
                text = text.replace(b"LENGTH", str(len(packed)).encode())
            objects.append(text if isinstance(text, bytes) else text.encode())
            return len(objects)

        for content in self.pages:
            lines = ""
            for part in content:
                if isinstance(part, tuple):
                    size, x, y, text = part
                    codes = "".join(f"{self.chinese[character]:04X}" for character in text)
                    part = f"BT /F4 {size} Tf {x:.2f} {y:.2f} Td <{codes}> Tj ET\n"
                lines += part
            stream = add("<< /Length LENGTH /Filter /FlateDecode >>", lines.encode("latin-1"))
            fonts = " ".join(f"/F{number} {number + 2} 0 R" for number in range(1, 5))
            kids.append(add(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Resources << /Font << {fonts} >> >> /Contents {stream} 0 R >>"))
        program = add("<< /Length LENGTH /Filter /FlateDecode /Subtype /CIDFontType0C >>", cff)
        pairs = "".join(f"<{number:04X}> <{character.encode('utf-16-be').hex().upper()}>\n" for character, number in self.chinese.items())
        unicode_map = add(
            "<< /Length LENGTH /Filter /FlateDecode >>",
            (
                "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Own def /CMapType 2 def\n"
                "1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
                f"{len(self.chinese)} beginbfchar\n{pairs}endbfchar endcmap end end\n"
            ).encode(),
        )
        assert len(self.chinese) <= 100
        name = "TRIBUT+NotoSansCJKsc-Regular"
        descriptor = add(
            f"<< /Type /FontDescriptor /FontName /{name} /Flags 4 /FontBBox [-1002 -1048 2928 1808] /ItalicAngle 0 /Ascent 880 /Descent -120 "
            f"/CapHeight 733 /StemV 90 /FontFile3 {program} 0 R >>"
        )
        spans = " ".join(f"{number} [{width}]" for number, width in sorted(widths.items()))
        inner = add(
            f"<< /Type /Font /Subtype /CIDFontType0 /BaseFont /{name} /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> "
            f"/FontDescriptor {descriptor} 0 R /DW 1000 /W [{spans}] >>"
        )
        hexadecimal = lambda text: "<FEFF" + text.encode("utf-16-be").hex().upper() + ">"
        first = len(objects) + 1
        numbers = [first + place for place in range(len(bookmarks))]

        def parent(place):
            level = bookmarks[place][0]
            return next((other for other in range(place - 1, -1, -1) if bookmarks[other][0] < level), None)

        def children(place):
            return [other for other in range(len(bookmarks)) if parent(other) == place]

        for place, (_, text, page, y) in enumerate(bookmarks):
            siblings, own = children(parent(place)), children(place)
            at = siblings.index(place)
            entry = f"<< /Title {hexadecimal(text)} /Parent {numbers[parent(place)] if parent(place) is not None else 8} 0 R /Dest [{kids[page]} 0 R /XYZ 50 {y} 0]"
            entry += f" /Prev {numbers[siblings[at - 1]]} 0 R" if at else ""
            entry += f" /Next {numbers[siblings[at + 1]]} 0 R" if at + 1 < len(siblings) else ""
            entry += f" /First {numbers[own[0]]} 0 R /Last {numbers[own[-1]]} 0 R /Count {len(own)}" if own else ""
            add(entry + " >>")
        top = children(None)

        def western(name, base):
            # With widths of our own, no layout depends on the fonts of the machine that reads it.
            widths = [600 if name == "F3" else 350 if code == 149 else round(self.metrics[name].get(chr(code), 0)) for code in range(32, 150)]
            return (
                f"<< /Type /Font /Subtype /Type1 /BaseFont /{base} /Encoding /WinAnsiEncoding /FirstChar 32 /LastChar 149 "
                f"/Widths [{' '.join(map(str, widths))}] >>"
            )

        fixed = [
            "<< /Type /Catalog /Pages 2 0 R /Outlines 8 0 R >>",
            f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] >>",
            western("F1", "Helvetica"),
            western("F2", "Helvetica-Bold"),
            western("F3", "Courier"),
            f"<< /Type /Font /Subtype /Type0 /BaseFont /{name}-Identity-H /Encoding /Identity-H /DescendantFonts [{inner} 0 R] /ToUnicode {unicode_map} 0 R >>",
            f"<< /Title {hexadecimal(title)} /Author {hexadecimal(author)} /CreationDate (D:20260115080000Z) >>",
            f"<< /Type /Outlines /First {numbers[top[0]]} 0 R /Last {numbers[top[-1]]} 0 R /Count {len(top)} >>",
            "null",
            "null",
        ]
        objects[:10] = [text.encode() for text in fixed]
        out = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
        places = []
        for number, text in enumerate(objects, 1):
            places.append(len(out))
            out += f"{number} 0 obj\n".encode() + text + b"\nendobj\n"
        start = len(out)
        out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode() + b"".join(b"%010d 00000 n \n" % place for place in places)
        return out + f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info 7 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()


def report_pdf():
    pdf = Pdf()
    left, right, column, full = 50, 310, 235, 495

    def running(number):
        pdf.text("F1", 8, left, 806, "Field trial of the night mode")
        pdf.text("F1", 8, 440, 806, "Working paper 12")
        pdf.text("F1", 8, 290, 30, f"- {number} -")

    running(1)
    pdf.text("F2", 20, left, 750, "Field Trial of the Night Mode")
    pdf.text("F1", 11, left, 728, "Planning team, January 2026")
    pdf.paragraph(
        left, 704, full,
        "Sixty cells switched half of their carriers off between one and five in the morning. Energy fell by a fifth; "
        "no subscriber complained, and two alarms turned out to be false.",
    )
    pdf.text("F2", 14, left, 660, "1 Setup")
    y = pdf.paragraph(
        left, 640, column,
        "The trial ran for three weeks in a town on a river. The sites differ in height, in the number of their car¬riers and in "
        "the load that they see at noon, yet at night all of them are nearly empty. A script in the man¬age¬ment sys¬tem "
        "turned carriers off one after the other, the high¬est fre¬quen¬cy first, and waited a minute between two steps so "
        "that phones could move over in peace.",
    )
    y = pdf.paragraph(
        left, y - 6, column,
        "Before each step the script asked the neigh¬bours for their load. A neigh¬bour above forty per cent stopped it, and "
        "the cell stayed as it was until the next quar¬ter of an hour.",
    )
    y = pdf.paragraph(
        right, 640, column,
        "In the right column the story goes on. Each morning at five the car¬riers came back in the opposite order. The first "
        "week showed that one minute is too short for old phones, which need up to three to find another car¬rier; from the "
        "second week on the script waited for four.",
    )
    pdf.text("F2", 11, right, y - 8, "1.1 Equipment")
    pdf.paragraph(
        right, y - 26, column,
        "Radio units of two gener¬ations took part. The older ones keep their fans running while the am¬pli¬fiers sleep, so "
        "that they save less.",
    )
    pdf.end_page()

    running(2)
    pdf.text("F2", 14, left, 760, "2 Results")
    pdf.paragraph(left, 738, full, "Table 1 holds the means of the three weeks. Values in brackets are from the week before the trial.")
    pdf.text("F1", 9, left, 704, "Table 1. Energy and load by kind of site")
    rows = [
        ("Site", "Energy in kWh", None, "Load"),
        (None, "before", "during", None),
        ("Roof", "41.2", "33.0", "7 %"),
        ("Mast", "58.9", "46.1", "4 %"),
        ("Indoor", "12.4", "11.9", "2 %"),
    ]
    edges, top, height = [50, 170, 280, 390, 490], 692, 20
    for row in range(len(rows) + 1):
        y = top - height * row
        if row == 1:
            pdf.line(edges[1], y, edges[3], y)
        else:
            pdf.line(edges[0], y, edges[-1], y)
    for place, x in enumerate(edges):
        pdf.line(x, top - height if place == 2 else top, x, top - height * len(rows))
    for row, cells in enumerate(rows):
        for place, text in enumerate(cells):
            if text:
                pdf.text("F2" if row < 2 else "F1", 10, edges[place] + 6, top - height * row - 14, text)
    y = 560
    for text in ["roofs save the most per carrier,", "masts save the most in total,", "indoor sites save next to nothing."]:
        pdf.text("F1", 10, left + 8, y, "•")
        pdf.text("F1", 10, left + 22, y, text)
        y -= 13
    pdf.text("F1", 10, left, y - 12, "The script itself is short:")
    for place, code in enumerate(["for cell in cells:", "    if cell.load < 0.1:", "        cell.sleep()"]):
        pdf.text("F3", 9, left + 10, y - 32 - 11 * place, code)
    pdf.end_page()

    running(3)
    pdf.text("F4", 14, left, 760, "三、结论与建议")
    chinese = [
        "试验表明，夜间关闭一半载波可以节省约两成电能，用户没有察觉。",
        "旧型号射频单元的风扇在休眠时仍然运转，因此节能效果较差，建议随扩容逐步更换。",
    ]
    y = 736
    for text in chinese:
        for start in range(0, len(text), 28):
            pdf.text("F4", 10.5, left + (21 if start == 0 else 0), y, text[start : start + 28])
            y -= 17
    pdf.text("F4", 12, left, y - 10, "3.1 后续工作")
    y -= 34
    for text in ["（1）扩大到两百个小区；", "（2）与节假日模式合并。"]:
        pdf.text("F4", 10.5, left, y, text)
        y -= 17
    pdf.end_page()

    running(4)
    pdf.text("F2", 14, left, 760, "Appendix A Terms")
    pdf.paragraph(left, 738, full, "Carrier: one frequency of a cell. Load: the share of blocks in use, averaged over a quarter of an hour.")
    pdf.end_page()
    return pdf.finish(
        "Field Trial of the Night Mode",
        "Planning team",
        [(0, "1 Setup", 0, 676), (1, "1.1 Equipment", 0, 500), (0, "2 Results", 1, 776), (0, "三、结论与建议", 2, 776), (1, "3.1 后续工作", 2, 680), (0, "Appendix A Terms", 3, 776)],
    )


# ---------------------------------------------------------------- web, text and data

PAGE_HTML = """<!DOCTYPE html>
<html lang="zh">
<head>
<meta charset="utf-8">
<title>限流网关说明 - 示例文档站</title>
<meta name="author" content="网关小组">
<meta name="description" content="令牌桶的参数与用法">
<style>nav { color: red }</style>
<script>document.write("not text");</script>
</head>
<body>
<header><a href="/">示例文档站</a> <form><input type="search" placeholder="搜索"></form></header>
<nav><ul><li><a href="/a">首页</a></li><li><a href="/b">下载</a></li><li><a href="/c">论坛</a></li></ul></nav>
<main>
<h1>限流网关说明</h1>
<p>网关用<strong>令牌桶</strong>限制每个租户的请求。桶里的令牌按固定速率补充，<em>用完</em>即返回 <code>429</code>。更多内容见<a href="limits.html#top">配额一节</a>。</p>
<p>A burst of 2<sup>10</sup> requests fits; H<sub>2</sub>O does not. <del>Old text</del><ins>New text</ins> stands here,<br>after a break.</p>
<h2>Terms</h2>
<dl>
<dt>Bucket</dt><dd>Holds tokens of one tenant.</dd>
<dt>Rate</dt><dt>速率</dt><dd>Tokens per second.</dd><dd>At most 10 000.</dd>
</dl>
<h2>Quotas</h2>
<table>
<caption>Quotas by plan</caption>
<thead>
<tr><th rowspan="2">Plan</th><th colspan="2">Requests</th></tr>
<tr><th>per second</th><th>per day</th></tr>
</thead>
<tbody>
<tr><td rowspan="2">Small</td><td>10</td><td>100 000</td></tr>
<tr><td colspan="2">on weekends: a|b</td></tr>
<tr><td>Large</td><td>500</td><td>unlimited</td></tr>
</tbody>
</table>
<p>Without a header:</p>
<table>
<tr><td>north</td><td>12</td></tr>
<tr><td>south</td><td>9</td></tr>
</table>
<p>A table within a table:</p>
<table>
<tr><th>Part</th><th>Details</th></tr>
<tr><td>Queue</td><td><table><tr><td>size</td><td>512</td></tr><tr><td>age</td><td>30 s</td></tr></table></td></tr>
<tr><td>Lists</td><td><ul><li>one</li><li>two</li></ul></td></tr>
</table>
<h3>算法</h3>
<pre><code class="language-python">def take(bucket, n=1):
    if bucket.tokens &lt; n:
        return False   # 拒绝

    bucket.tokens -= n
    return True
</code></pre>
<p>The waiting time is <math><mi>t</mi><mo>=</mo><mfrac><mrow><mi>n</mi><mo>−</mo><mi>b</mi></mrow><mi>r</mi></mfrac></math> seconds, and over all tenants:</p>
<math display="block"><munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>K</mi></munderover><msub><mi>r</mi><mi>i</mi></msub><mo>≤</mo><msqrt><mi>C</mi></msqrt></math>
<ol start="3">
<li>third step
<ul><li>with a detail</li><li>and another</li></ul></li>
<li><p>fourth step</p><p>in two paragraphs</p></li>
</ol>
<blockquote><p>Whoever asks twice pays twice.</p></blockquote>
<figure><img src="bucket.svg" alt="A bucket with a leak"><figcaption>Figure 1: the bucket</figcaption></figure>
<p hidden>Not shown.</p>
<details><summary>常见问题</summary><p>令牌不会跨天累积。</p></details>
<p>Text with *stars*, [brackets] and a # sign.</p>
</main>
<footer><p>Copyright 2026 示例文档站</p><ul><li><a href="/imprint">Imprint</a></li></ul></footer>
</body>
</html>
"""

GUIDE_RST = """.. _guide-top:

==================
Scheduler 使用指南
==================

:作者: 调度小组
:Version: 2.1

.. contents::
   :depth: 2

.. toctree::
   :maxdepth: 2
   :caption: Contents

   install
   The commands <commands/index>

.. |name| replace:: Relay

|name| runs jobs *in order*, **never twice**, and writes ``job.log``. See `the site`_,
`another page <https://example.net/more>`__ and :ref:`the options <options>`.
中文段落里的\\ **粗体**\\ 不需要空格；见 :doc:`install` 与 :term:`队列`。

Install
=======

Put this into the file::

    [relay]
    workers = 4

        indented

and start it:

.. code-block:: bash
   :caption: first start

   relay start --workers 4   # 四个进程
   relay status

.. note:: The service needs two minutes.

   It says so in the log.

.. warning::

   不要同时运行两个实例。

Queues
------

- one

  with a second paragraph
- two

  1. inner first
  2. inner second

#. auto
#. numbered

Term
   What it means.

队列 : 名词
   按顺序保存的任务。

.. _options:

Options
=======

+------------+----------------------+
| Option     | Meaning              |
+============+===========+==========+
| retries    | how often | 3        |
+------------+-----------+----------+
| backoff    | 每次等待加倍         |
|            |                      |
|            | at most an hour      |
+------------+----------------------+

=======  ======  =========
Key      Kind    Default
=======  ======  =========
queue    text    main
timeout  number  30
\\        or text ``"30s"``
=======  ======  =========

.. list-table:: Exit codes
   :header-rows: 1

   * - Code
     - Meaning
   * - 0
     - done
   * - 75
     - try again, 稍后重试

.. csv-table:: Limits
   :header: "What", "Most"

   "jobs", 1000
   "size, packed", "2 GB"

.. function:: submit(job, *, queue="main")

   Puts a job into a queue.

   :param job: what is to be done
   :returns: its number

The load is :math:`\\rho = \\lambda / \\mu`, so

.. math::

   W = \\frac{1}{\\mu - \\lambda}

.. figure:: images/queue.png
   :alt: Three jobs in a queue

   The queue at noon

Press :kbd:`Ctrl+C` [#stop]_ and read [Own2026]_. H\\ :sub:`2`\\ O.

.. [#stop] Twice, if need be.
.. [Own2026] Our own notes.

.. This is a comment and is left out.

.. _the site: https://example.net/
"""


def notebook_ipynb():
    def cell(kind, source, **more):
        lines = source.splitlines(keepends=True)
        return {"cell_type": kind, "id": f"c{len(cells)}", "metadata": {}, "source": lines, **more}

    cells = []
    cells.append(cell("markdown", "# 吞吐量分析\n\nWe read *made-up* counters and look for **peaks**.\n\n| a | b |\n|---|---|\n| 1 | 2 |"))
    output = {"output_type": "stream", "name": "stdout", "text": ["rows: 3\n", "峰值: 412\n"]}
    cells.append(cell("code", "counters = [98, 412, 395]\nprint('rows:', len(counters))\nprint('峰值:', max(counters))", execution_count=1, outputs=[output]))
    cells.append(cell("markdown", "## Mean\n\nThe mean is $\\bar{x} = \\frac{1}{n}\\sum_i x_i$.\n\n![mast](attachment:mast.png)", attachments={"mast.png": {"image/png": base64.b64encode(mast()).decode()}}))
    frame = {
        "output_type": "execute_result", "execution_count": 2, "metadata": {},
        "data": {
            "text/plain": ["       load\n", "cell       \n", "A-01    412\n", "A-02     98"],
            "text/html": ["<table><thead><tr><th>cell</th><th>load</th></tr></thead><tbody><tr><td>A-01</td><td>412</td></tr><tr><td>A-02</td><td>98</td></tr></tbody></table>"],
        },
    }
    cells.append(cell("code", "%load_ext own\nframe", execution_count=2, outputs=[frame]))
    picture = {"output_type": "display_data", "metadata": {}, "data": {"image/png": base64.b64encode(mast()).decode(), "text/plain": ["<Figure size 24x24>"]}}
    cells.append(cell("code", "plot(frame)", execution_count=3, outputs=[picture]))
    error = {"output_type": "error", "ename": "ValueError", "evalue": "负数", "traceback": ["\u001b[0;31mValueError\u001b[0m: 负数"]}
    cells.append(cell("code", "check(-1)", execution_count=4, outputs=[error]))
    cells.append(cell("raw", "left as it is"))
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}, "language_info": {"name": "python"}}
    return (json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, ensure_ascii=False, indent=1) + "\n").encode()


def book_epub():
    def chapter(title, body):
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'
            f"<head><title>{title}</title></head><body>{body}</body></html>"
        )

    opf = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="zh">'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">urn:uuid:00000000-0000-4000-8000-000000000012</dc:identifier>'
        "<dc:title>夜班工程师</dc:title><dc:creator>沈远</dc:creator><dc:language>zh</dc:language><dc:date>2026-01-15</dc:date>"
        '<meta property="dcterms:modified">2026-01-15T08:00:00Z</meta></metadata><manifest>'
        '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        '<item id="two" href="text/two.xhtml" media-type="application/xhtml+xml"/><item id="one" href="text/one.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="three" href="text/three%20a.xhtml" media-type="application/xhtml+xml"/><item id="mast" href="images/mast.png" media-type="image/png"/>'
        '<item id="css" href="style.css" media-type="text/css"/></manifest>'
        '<spine><itemref idref="nav" linear="no"/><itemref idref="one"/><itemref idref="two"/><itemref idref="three"/></spine></package>'
    )
    nav = chapter(
        "目录",
        '<nav epub:type="toc"><h1>目录</h1><ol><li><a href="text/one.xhtml">第一章 开班</a></li><li><a href="text/two.xhtml">Chapter 2: The Alarm</a>'
        '<ol><li><a href="text/two.xhtml#call">The call</a></li></ol></li><li><a href="text/three%20a.xhtml">第三章 天亮</a></li></ol></nav>',
    )
    one = chapter(
        "第一章 开班",
        '<section><h1>第一章 开班</h1><p>晚上十点，机房只剩风扇的声音。老沈把茶杯放在<em>交接簿</em>旁边<sup><a epub:type="noteref" href="#n1">1</a></sup>。</p>'
        '<p><img src="../images/mast.png" alt="窗外的铁塔"/></p><aside epub:type="footnote" id="n1"><p>交接簿是纸质的。</p></aside></section>',
    )
    two = chapter(
        "Chapter 2",
        "<h1>Chapter 2: The Alarm</h1><p>At two a lamp turned red. <q>Again,</q> he said.</p><h2 id=\"call\">The call</h2>"
        "<p>He rang <a href=\"one.xhtml\">the desk</a> and read:</p><ol><li>which cell,</li><li>which board.</li></ol>"
        "<table><tr><th>Cell</th><th>State</th></tr><tr><td>A-02</td><td>down</td></tr></table>",
    )
    three = chapter("", "<p>天亮时告警清除，没有人打来电话。</p><p>He went home.</p>")
    container = (
        '<?xml version="1.0"?>\n<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    return package(
        {
            "META-INF/container.xml": container,
            "OEBPS/book.opf": opf,
            "OEBPS/nav.xhtml": nav,
            "OEBPS/text/one.xhtml": one,
            "OEBPS/text/two.xhtml": two,
            "OEBPS/text/three a.xhtml": three,
            "OEBPS/images/mast.png": mast(),
            "OEBPS/style.css": "p { text-indent: 2em }",
        },
        first=("mimetype", "application/epub+zip"),
    )


def mail_eml():
    import quopri

    def encoded(text, charset="utf-8"):
        return base64.encodebytes(text.encode(charset)).decode().strip()

    def quoted(text, charset="utf-8"):
        return quopri.encodestring(text.encode(charset)).decode().strip()

    subject = "=?utf-8?B?" + base64.b64encode("割接通知：1 月 18 日".encode()).decode() + "?=\n =?gb2312?Q?" + "".join(f"={byte:02X}" for byte in "凌晨".encode("gb2312")) + "?="
    plain = "各位同事：\n\n1 月 18 日凌晨 1 点至 3 点割接核心网，请勿变更配置。\n\nPlain text stays unused where HTML is there.\n"
    html = (
        '<html><body><p>各位同事：</p><p>1 月 18 日凌晨 <b>1 点至 3 点</b>割接核心网，请勿变更配置。</p><table><tr><th>Step</th><th>Time</th></tr>'
        '<tr><td>Freeze</td><td>00:30</td></tr><tr><td>Cut over</td><td>01:00</td></tr></table><p><img src="cid:mast@example.net" alt="铁塔"></p>'
        '<p>See <a href="https://change.example.net/4711">the ticket</a>.</p><blockquote><p>When does it start?</p></blockquote></body></html>'
    )
    table = "step;minutes\nfreeze;30\ncut over;60\n"
    inner = (
        "From: Night desk <night@example.net>\nTo: ops@example.net\nSubject: Re: cut-over\nDate: Fri, 16 Jan 2026 22:10:00 +0800\n"
        "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\n"
        + quoted("Hello,\n\nthe café line is free again, and this line is long enough that quoted-printable has to break it softly somewhere.\n", "latin-1")
    )
    return (
        "Received: from a.example.net by b.example.net; Sat, 17 Jan 2026 09:00:01 +0800\n"
        "From: =?utf-8?Q?=E5=BC=A0=E6=B4=8B?= <zhang.yang@example.net>\n"
        'To: "Ops, all" <ops@example.net>,\n =?utf-8?B?' + base64.b64encode("王芳".encode()).decode() + "?= <wang@example.net>\n"
        "Cc: night@example.net\n"
        f"Subject: {subject}\nDate: Sat, 17 Jan 2026 09:00:00 +0800\nMessage-ID: <4711@example.net>\nMIME-Version: 1.0\n"
        'Content-Type: multipart/mixed; boundary="outer"\n\nThis part is for old programs.\n'
        '--outer\nContent-Type: multipart/related; boundary="related"\n\n'
        '--related\nContent-Type: multipart/alternative; boundary="other"\n\n'
        "--other\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n" + quoted(plain) + "\n"
        "--other\nContent-Type: text/html; charset=gb18030\nContent-Transfer-Encoding: base64\n\n" + encoded(html, "gb18030") + "\n--other--\n"
        "--related\nContent-Type: image/png\nContent-ID: <mast@example.net>\nContent-Disposition: inline; filename=mast.png\nContent-Transfer-Encoding: base64\n\n"
        + base64.encodebytes(mast()).decode() + "--related--\n"
        "--outer\nContent-Type: text/csv; charset=utf-8\nContent-Disposition: attachment; filename*=utf-8''%E6%AD%A5%E9%AA%A4.csv\n"
        "Content-Transfer-Encoding: base64\n\n" + encoded(table) + "\n"
        "--outer\nContent-Type: message/rfc822\n\n" + inner + "\n--outer--\n"
    ).replace("\n", "\r\n").encode()


def note_rtf():
    def gbk(text):
        return "".join(character if ord(character) < 128 else "".join(f"\\'{byte:02x}" for byte in character.encode("gbk")) for character in text)

    row = "\\trowd\\trgaph108\\cellx2000\\cellx4000\\cellx6000 "
    lines = [
        "{\\rtf1\\ansi\\ansicpg936\\deff0{\\fonttbl{\\f0\\fnil\\fcharset134 SimSun;}{\\f1\\fswiss\\fcharset0 Arial;}}",
        "{\\colortbl;\\red0\\green0\\blue0;}",
        "{\\stylesheet{\\s0 Normal;}{\\s1\\outlinelevel0 heading 1;}{\\s2\\outlinelevel1 heading 2;}}",
        "{\\info{\\title " + gbk("值班记录") + "}{\\author " + gbk("沈远") + "}{\\creatim\\yr2026\\mo1\\dy15\\hr8\\min0}}",
        "{\\header\\pard " + gbk("内部页眉") + "\\par}",
        "\\pard\\s1\\outlinelevel0\\f0 " + gbk("值班记录") + "\\par",
        "\\pard\\s0 " + gbk("昨夜") + "{\\b " + gbk("无重大故障") + "}" + gbk("，仅") + "{\\i " + gbk("两条") + "}" + gbk("提示告警。") + "{\\v hidden remark}{\\deleted old words}\\par",
        "\\pard\\s2\\outlinelevel1\\f1 Open points\\par",
        "\\pard\\s0 The caf\\'e9 site \\u8212\\'97 see {\\field{\\*\\fldinst HYPERLINK \"https://example.net/sites\"}{\\fldrslt the list}}\\~\\endash  is back"
        " at 10{\\super 3} calls{\\super\\chftn}{\\footnote\\pard\\plain\\super\\chftn\\nosupersub  Since 04:10.\\par}.\\line A second line.\\par",
        "\\pard{\\pntext\\f1 1.\\tab}{\\*\\pn\\pnlvlbody\\pndec{\\pntxta .}}Replace the fan\\par",
        "{\\pntext\\f1 2.\\tab}Call the landlord\\par",
        "\\pard\\s2\\outlinelevel1\\f0 " + gbk("交接") + "\\par\\pard\\s0 ",
        row + "\\pard\\intbl Cell\\cell State\\cell " + gbk("备注") + "\\cell\\row",
        row + "\\pard\\intbl A-02\\cell up | stable\\cell " + gbk("已复测") + "\\cell\\row",
        row + "\\pard\\intbl B-07\\cell down\\cell\\cell\\row",
        "\\pard\\s0 \\u20877?\\u-10178?\\u-8256? end.\\par}",
    ]
    return "\r\n".join(lines).encode("ascii")


SETTINGS_YAML = """# 网关的设置
server:
  listen: 127.0.0.1:8080
  workers: 4
  tls: {enabled: false, certificate: null}
limits:
  - {tenant: small, rate: 10}
  - {tenant: large, rate: 500}
paths: [/var/log/gateway, /srv/data]
"""

CONFIG_JSON = {
    "name": "缓存淘汰策略",
    "summary": "The cache keeps what was asked for often and lately. 长期没有访问的条目最先被淘汰，体积大的条目稍后再说。",
    "author": {"name": "Cache group", "contact": "cache@example.net"},
    "policies": [
        {"policy": "LRU", "weight": 0.5, "enabled": True, "remark": "按最近访问时间"},
        {"policy": "LFU", "weight": 0.3, "enabled": True, "remark": "by how often | counted per day"},
        {"policy": "FIFO", "weight": 0.2, "enabled": False, "remark": None},
    ],
    "steps": ["Find the oldest entry.", "Write it to disk if it changed.", "Free its memory and tell the index."],
    "history": [
        {"version": "1.0", "notes": ["First version with a single list.", "没有统计信息。"]},
        {"version": "1.1", "notes": ["Counts how often an entry is asked for, and forgets half of it each night."]},
    ],
}

DATA_XML = """<?xml version="1.0" encoding="UTF-8"?>
<!-- not text -->
<runbook xmlns="urn:example:runbook" id="rb-7" language="zh">
  <title>断电处置流程</title>
  <summary>市电中断后由蓄电池供电，通常可以维持<b>四小时</b>，期间必须完成发电机的准备工作。</summary>
  <steps>
    <step number="1"><action>Check the <b>battery</b>, then write its voltage down.</action><owner>Field team</owner></step>
    <step number="2"><action>Start the generator when the voltage falls below 46 V.</action><owner>Landlord</owner></step>
    <step number="3"><action>通知监控中心，关闭高频载波。</action><owner>监控中心</owner></step>
  </steps>
  <contact>
    <name>Duty desk</name>
    <phone>+00 555 0100</phone>
  </contact>
  <note><![CDATA[Values < 44 V & falling: leave the site.]]></note>
</runbook>
"""

BIG5_TEXT = """行動網路維護週報

本週共巡查基地臺四十二座，其中三座因颱風受損，已於週五修復完畢。
許多使用者反映捷運站內訊號不佳，經量測後發現室內天線接頭鬆脫。

下週計畫：
- 更換老舊電池
- 重新調整鄰區清單

The next report follows on Friday.
"""

NOTES_MD = """---
title: 发布说明 4.2
author: Release group
tags: [network, 软件]
---

# 发布说明 4.2

Text with a [reference][one] and a picture ![chart](chart.png).

[one]: https://example.net/one

## What changed <a id="changed"></a>

<table><tr><th>Part</th><th>Change</th></tr><tr><td>索引</td><td>faster, <b>much</b></td></tr></table>

- [x] done
- [ ] to do

```rust
fn main() {} // # no heading
```

Formula $a_1 \\le b$ stays.
"""


def documents():
    return {
        "handbook.docx": handbook_docx(),
        "slides.pptx": slides_pptx(),
        "counters.xlsx": counters_xlsx(),
        "counters.xls": counters_xls(),
        "counters.ods": counters_ods(),
        "alarms.csv": alarms_csv(),
        "report.pdf": report_pdf(),
        "page.html": PAGE_HTML.encode(),
        "guide.rst": GUIDE_RST.encode(),
        "notebook.ipynb": notebook_ipynb(),
        "book.epub": book_epub(),
        "mail.eml": mail_eml(),
        "note.rtf": note_rtf(),
        "settings.yaml": SETTINGS_YAML.encode(),
        "config.json": (json.dumps(CONFIG_JSON, ensure_ascii=False, indent=2) + "\n").encode(),
        "data.xml": DATA_XML.encode(),
        "big5.txt": BIG5_TEXT.encode("big5"),
        "release.md": NOTES_MD.encode(),
    }


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in documents().items():
        assert len(data) < 30_000, f"{name}: {len(data)} bytes"
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
