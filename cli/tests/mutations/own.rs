//! Small whole documents of most formats, made here: what mutations begin with where no real
//! documents are.

use crate::compound;
use crate::packages::package;
use crate::portable;

const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const WORD: &str = "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\" xmlns:m=\"http://schemas.openxmlformats.org/officeDocument/2006/math\"";
const DRAWING: &str = "xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" xmlns:p=\"http://schemas.openxmlformats.org/presentationml/2006/main\" xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"";
const SHEET: &str = "xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"";
const OPEN: &str = "xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" xmlns:table=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\" xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"";

const TEXTS: &[(&str, &str)] = &[
    (
        "own.md",
        "---\ntitle: 载波聚合\n---\n# Carriers\n\nText with **bold**, `code` and [a link](u).\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n  - two\n\n```c\nint x;\n```\n\n> quoted\n\n<details><b>html</b></details>\n",
    ),
    (
        "own.html",
        "<!DOCTYPE html><html><head><title>Tilt</title></head><body><nav>menu</nav><main><h1>Tilt</h1><p>The tilt is <b>6</b> degrees.</p><table><tr><th colspan=\"2\">a</th></tr><tr><td rowspan=\"2\">1</td><td>2</td></tr></table><ol start=\"3\"><li>x<ul><li>y</li></ul></li></ol><pre>code</pre><math><mfrac><mi>a</mi><mn>2</mn></mfrac></math></main></body></html>",
    ),
    (
        "own.csv",
        "site,level,\"note, long\"\n海淀,-71.5,\"a \"\"quoted\"\" word\"\nHarbour,12,\n",
    ),
    (
        "own.json",
        "{\"title\": \"Cells\", \"cells\": [{\"name\": \"a\", \"level\": -7, \"note\": \"a longer sentence of words\"}, {\"name\": \"b\", \"level\": 1e3}]}",
    ),
    (
        "own.yaml",
        "title: Cells\nbase: &base {level: 1}\ncells:\n  - <<: *base\n    name: a\n  - name: b\n    text: |\n      more lines of text\n",
    ),
    (
        "own.xml",
        "<?xml version=\"1.0\"?><cells xmlns:x=\"urn:x\"><cell id=\"1\"><name>a</name><note>a longer sentence of words</note></cell><x:cell id=\"2\"/></cells>",
    ),
    (
        "own.rst",
        "Title\n=====\n\nText with *emphasis*, ``code`` and `a link <u>`_.\n\n.. note:: Take care.\n\n+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+\n\n====  ====\nc     d\n====  ====\n3     4\n====  ====\n\n.. |s| replace:: text\n\nA |s| [1]_.\n\n.. [1] Note.\n",
    ),
    (
        "own.ipynb",
        "{\"nbformat\": 4, \"nbformat_minor\": 5, \"metadata\": {\"kernelspec\": {\"language\": \"python\"}}, \"cells\": [{\"cell_type\": \"markdown\", \"metadata\": {}, \"source\": [\"# Notebook\\n\", \"words\"]}, {\"cell_type\": \"code\", \"execution_count\": 1, \"metadata\": {}, \"source\": \"print(1)\", \"outputs\": [{\"output_type\": \"stream\", \"name\": \"stdout\", \"text\": [\"1\\n\"]}]}]}",
    ),
    (
        "own.rtf",
        "{\\rtf1\\ansi\\ansicpg936\\deff0{\\fonttbl{\\f0\\fcharset134 SimSun;}}{\\info{\\title T}}\\pard\\b Bold\\b0  text \\u36733?\\'d4\\'d8\\par\\trowd\\cellx100\\cellx200 a\\cell b\\cell\\row\\pard{\\*\\bkmkstart x}{\\field{\\*\\fldinst HYPERLINK \"u\"}{\\fldrslt link}}\\par}",
    ),
    (
        "own.eml",
        "From: a@example.org\r\nTo: b@example.org\r\nSubject: =?utf-8?B?6L295rOi?=\r\nDate: Mon, 2 Mar 2026 10:00:00 +0000\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"b1\"\r\n\r\n--b1\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nWords =E8=BD=BD=\r\n\r\n--b1\r\nContent-Type: text/html\r\n\r\n<p>more</p>\r\n--b1\r\nContent-Type: application/octet-stream; name=\"x.bin\"\r\nContent-Transfer-Encoding: base64\r\n\r\nAAEC\r\n--b1--\r\n",
    ),
    (
        "own.txt",
        "A plain text.\nWith a line, 载波 and a number 42.\n\nAnother paragraph.\n",
    ),
    (
        "own.rs",
        "//! A program.\nfn main() {\n    println!(\"{}\", 1 + 1);\n}\n",
    ),
];

/// All of them with their names.
pub fn documents() -> Vec<(String, Vec<u8>)> {
    let texts = TEXTS
        .iter()
        .map(|(name, text)| (*name, text.as_bytes().to_vec()));
    let made = [
        ("own.docx", word()),
        ("own.pptx", slides()),
        ("own.xlsx", sheets()),
        ("own.ods", open_sheets()),
        ("own.epub", book()),
        ("own.xls", compound::workbook(&["name", "carrier", "level"])),
        (
            "own.pdf",
            portable::document(
                "BT /F1 12 Tf 72 700 Td (The tilt of sector 3 is 6 degrees.) Tj ET",
                false,
            ),
        ),
    ];
    texts
        .chain(made)
        .map(|(name, bytes)| (name.to_owned(), bytes))
        .collect()
}

fn relationships(list: &[(&str, &str)]) -> String {
    let one = |(index, (kind, target)): (usize, &(&str, &str))| {
        format!(
            "<Relationship Id=\"rId{}\" Type=\"{OFFICE}/{kind}\" Target=\"{target}\"/>",
            index + 1
        )
    };
    let all: String = list.iter().enumerate().map(one).collect();
    format!(
        "{DECLARATION}<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">{all}</Relationships>"
    )
}

fn types(parts: &[(&str, &str)]) -> String {
    let one = |(part, kind): &(&str, &str)| {
        format!(
            "<Override PartName=\"/{part}\" ContentType=\"application/vnd.openxmlformats-officedocument.{kind}+xml\"/>"
        )
    };
    let all: String = parts.iter().map(one).collect();
    format!(
        "{DECLARATION}<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"><Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/><Default Extension=\"xml\" ContentType=\"application/xml\"/>{all}</Types>"
    )
}

fn word() -> Vec<u8> {
    let body = "<w:p><w:pPr><w:pStyle w:val=\"Heading1\"/></w:pPr><w:r><w:t>Tilt</w:t></w:r></w:p>\
        <w:p><w:pPr><w:numPr><w:ilvl w:val=\"0\"/><w:numId w:val=\"1\"/></w:numPr></w:pPr><w:r><w:rPr><w:b/></w:rPr><w:t>One item</w:t></w:r></w:p>\
        <w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val=\"2\"/></w:tcPr><w:p><w:r><w:t>wide</w:t></w:r></w:p></w:tc></w:tr>\
        <w:tr><w:tc><w:tcPr><w:vMerge w:val=\"restart\"/></w:tcPr><w:p/></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>\
        <w:p><m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath></w:p>\
        <w:p><w:r><w:t>Text with a note</w:t><w:footnoteReference w:id=\"2\"/></w:r><w:r><w:br w:type=\"page\"/></w:r></w:p>";
    let styles = "<w:style w:type=\"paragraph\" w:styleId=\"Normal\" w:default=\"1\"><w:name w:val=\"Normal\"/></w:style>\
        <w:style w:type=\"paragraph\" w:styleId=\"Heading1\"><w:name w:val=\"heading 1\"/><w:basedOn w:val=\"Normal\"/><w:pPr><w:outlineLvl w:val=\"0\"/></w:pPr></w:style>";
    let numbering = "<w:abstractNum w:abstractNumId=\"0\"><w:lvl w:ilvl=\"0\"><w:start w:val=\"1\"/><w:numFmt w:val=\"decimal\"/><w:lvlText w:val=\"%1.\"/></w:lvl></w:abstractNum>\
        <w:num w:numId=\"1\"><w:abstractNumId w:val=\"0\"/></w:num>";
    let notes = "<w:footnote w:id=\"2\"><w:p><w:r><w:t>The note.</w:t></w:r></w:p></w:footnote>";
    let part =
        |name: &str, content: &str| format!("{DECLARATION}<w:{name} {WORD}>{content}</w:{name}>");
    package(&[
        (
            "[Content_Types].xml",
            &types(&[("word/document.xml", "wordprocessingml.document.main")]),
        ),
        (
            "_rels/.rels",
            &relationships(&[("officeDocument", "word/document.xml")]),
        ),
        (
            "word/document.xml",
            &part("document", &format!("<w:body>{body}</w:body>")),
        ),
        (
            "word/_rels/document.xml.rels",
            &relationships(&[
                ("styles", "styles.xml"),
                ("numbering", "numbering.xml"),
                ("footnotes", "footnotes.xml"),
            ]),
        ),
        ("word/styles.xml", &part("styles", styles)),
        ("word/numbering.xml", &part("numbering", numbering)),
        ("word/footnotes.xml", &part("footnotes", notes)),
    ])
}

fn slides() -> Vec<u8> {
    let shape = |id: u32, kind: &str, text: &str| {
        format!(
            "<p:sp><p:nvSpPr><p:cNvPr id=\"{id}\" name=\"s\"/><p:cNvSpPr/><p:nvPr><p:ph type=\"{kind}\"/></p:nvPr></p:nvSpPr><p:spPr><a:xfrm><a:off x=\"0\" y=\"{id}\"/><a:ext cx=\"9\" cy=\"9\"/></a:xfrm></p:spPr><p:txBody><a:p><a:pPr lvl=\"1\"/><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
        )
    };
    let table = "<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id=\"9\" name=\"t\"/></p:nvGraphicFramePr><a:graphic><a:graphicData><a:tbl><a:tblGrid><a:gridCol w=\"1\"/><a:gridCol w=\"1\"/></a:tblGrid><a:tr h=\"1\"><a:tc gridSpan=\"2\"><a:txBody><a:p><a:r><a:t>cell</a:t></a:r></a:p></a:txBody></a:tc><a:tc hMerge=\"1\"/></a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>";
    let tree = format!(
        "<p:cSld><p:spTree><p:grpSp>{}</p:grpSp>{}{table}</p:spTree></p:cSld>",
        shape(2, "title", "Tilt"),
        shape(3, "body", "words")
    );
    package(&[
        (
            "[Content_Types].xml",
            &types(&[
                ("ppt/presentation.xml", "presentationml.presentation.main"),
                ("ppt/slides/slide1.xml", "presentationml.slide"),
            ]),
        ),
        (
            "_rels/.rels",
            &relationships(&[("officeDocument", "ppt/presentation.xml")]),
        ),
        (
            "ppt/presentation.xml",
            &format!(
                "{DECLARATION}<p:presentation {DRAWING}><p:sldIdLst><p:sldId id=\"256\" r:id=\"rId1\"/></p:sldIdLst></p:presentation>"
            ),
        ),
        (
            "ppt/_rels/presentation.xml.rels",
            &relationships(&[("slide", "slides/slide1.xml")]),
        ),
        (
            "ppt/slides/slide1.xml",
            &format!("{DECLARATION}<p:sld {DRAWING}>{tree}</p:sld>"),
        ),
    ])
}

fn sheets() -> Vec<u8> {
    let rows = "<row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"B1\" t=\"inlineStr\"><is><t>level</t></is></c></row>\
        <row r=\"2\"><c r=\"A2\" s=\"1\"><v>45000</v></c><c r=\"B2\"><f>A2*2</f><v>90000.5</v></c></row>\
        <row r=\"5\" hidden=\"1\"><c r=\"XFD5\" t=\"b\"><v>1</v></c></row>";
    let styles = "<numFmts count=\"1\"><numFmt numFmtId=\"164\" formatCode=\"yyyy\\-mm\\-dd;[Red]0.00\"/></numFmts><cellXfs count=\"2\"><xf numFmtId=\"0\"/><xf numFmtId=\"164\"/></cellXfs>";
    package(&[
        (
            "[Content_Types].xml",
            &types(&[
                ("xl/workbook.xml", "spreadsheetml.sheet.main"),
                ("xl/worksheets/sheet1.xml", "spreadsheetml.worksheet"),
            ]),
        ),
        (
            "_rels/.rels",
            &relationships(&[("officeDocument", "xl/workbook.xml")]),
        ),
        (
            "xl/workbook.xml",
            &format!(
                "{DECLARATION}<workbook {SHEET}><sheets><sheet name=\"Cells\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>"
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            &relationships(&[
                ("worksheet", "worksheets/sheet1.xml"),
                ("sharedStrings", "sharedStrings.xml"),
                ("styles", "styles.xml"),
            ]),
        ),
        (
            "xl/worksheets/sheet1.xml",
            &format!(
                "{DECLARATION}<worksheet {SHEET}><dimension ref=\"A1:XFD5\"/><cols><col min=\"1\" max=\"2\" width=\"9\"/></cols><sheetData>{rows}</sheetData><mergeCells count=\"1\"><mergeCell ref=\"A3:B4\"/></mergeCells></worksheet>"
            ),
        ),
        (
            "xl/sharedStrings.xml",
            &format!(
                "{DECLARATION}<sst {SHEET} count=\"1\" uniqueCount=\"1\"><si><r><t>day</t></r><rPh><t>x</t></rPh></si></sst>"
            ),
        ),
        (
            "xl/styles.xml",
            &format!("{DECLARATION}<styleSheet {SHEET}>{styles}</styleSheet>"),
        ),
    ])
}

fn open_sheets() -> Vec<u8> {
    let cells = "<table:table-row table:number-rows-repeated=\"2\"><table:table-cell office:value-type=\"string\" table:number-columns-spanned=\"2\"><text:p>name</text:p></table:table-cell><table:covered-table-cell/><table:table-cell table:number-columns-repeated=\"3\" office:value-type=\"float\" office:value=\"1.5\"><text:p>1.5</text:p></table:table-cell></table:table-row>";
    package(&[
        ("mimetype", "application/vnd.oasis.opendocument.spreadsheet"),
        (
            "content.xml",
            &format!(
                "{DECLARATION}<office:document-content {OPEN}><office:body><office:spreadsheet><table:table table:name=\"Cells\">{cells}</table:table></office:spreadsheet></office:body></office:document-content>"
            ),
        ),
        ("META-INF/manifest.xml", "<manifest/>"),
    ])
}

fn book() -> Vec<u8> {
    let contents = "<package><metadata><dc:title>Book</dc:title></metadata><manifest><item id=\"a\" href=\"one.xhtml\" media-type=\"application/xhtml+xml\"/><item id=\"n\" href=\"nav.xhtml\" media-type=\"application/xhtml+xml\" properties=\"nav\"/></manifest><spine><itemref idref=\"a\"/></spine></package>";
    package(&[
        ("mimetype", "application/epub+zip"),
        (
            "META-INF/container.xml",
            "<container><rootfiles><rootfile full-path=\"content.opf\"/></rootfiles></container>",
        ),
        ("content.opf", contents),
        (
            "nav.xhtml",
            "<html><body><nav epub:type=\"toc\"><ol><li><a href=\"one.xhtml\">One</a></li></ol></nav></body></html>",
        ),
        (
            "one.xhtml",
            "<html><body><h1>One</h1><p>Words <a href=\"one.xhtml#x\">here</a>.</p></body></html>",
        ),
    ])
}
