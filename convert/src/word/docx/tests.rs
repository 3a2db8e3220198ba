//! Documents and their Markdown.
#![allow(clippy::unwrap_used)]

use super::test_package::{TestPackage, markdown, paragraph};
use super::*;
use crate::config::Config;

fn run(text: &str) -> String {
    format!("<w:r><w:t xml:space='preserve'>{text}</w:t></w:r>")
}

fn field(kind: &str) -> String {
    format!("<w:r><w:fldChar w:fldCharType='{kind}'/></w:r>")
}

fn instruction(text: &str) -> String {
    format!("<w:r><w:instrText>{text}</w:instrText></w:r>")
}

#[test]
fn headings_come_from_styles_outlines_and_titles() {
    let styles = "<w:styles><w:style w:type='paragraph' w:styleId='a3'><w:name w:val='Title'/></w:style>
        <w:style w:type='paragraph' w:styleId='1'><w:name w:val='heading 1'/></w:style>
        <w:style w:type='paragraph' w:styleId='own'><w:name w:val='Own'/><w:basedOn w:val='1'/></w:style></w:styles>";
    let long = "x ".repeat(300);
    let body = paragraph("<w:pStyle w:val='a3'/>", "T")
        + &paragraph("<w:pStyle w:val='own'/>", "A")
        + &paragraph("<w:outlineLvl w:val='2'/>", "B")
        + &paragraph("<w:pStyle w:val='1'/><w:outlineLvl w:val='9'/>", "no")
        + &paragraph("<w:outlineLvl w:val='0'/>", &long);
    let converted = TestPackage::with_body(&body)
        .part("word/styles.xml", styles)
        .converted()
        .unwrap();
    assert_eq!(
        converted.markdown,
        format!("# T\n\n# A\n\n### B\n\nno\n\n{}\n", long.trim())
    );
    assert_eq!(converted.title.as_deref(), Some("T"));
}

#[test]
fn tracked_changes_comments_and_hidden_text() {
    let body =
        format!(
        "<w:p>{}<w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins>{}</w:ins><w:moveFrom>{}</w:moveFrom><w:moveTo>{}</w:moveTo>
         <w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r><w:r><w:commentReference w:id='0'/></w:r></w:p>
         <w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>{}</w:p><w:p>{}</w:p>",
        run("a "), run("b"), run("x"), run(" c"), run("joined "), run("line")
    );
    let package = TestPackage::with_body(&body).part(
        "word/comments.xml",
        "<w:comments><w:comment w:id='0' w:author='Li'><w:p><w:r><w:t>Why?</w:t></w:r></w:p></w:comment></w:comments>",
    );
    assert_eq!(package.markdown(), "a b c\n\njoined line\n");
    let mut config = Config::default();
    config.docx.include_comments = true;
    config.docx.include_hidden_text = true;
    assert_eq!(
        package.converted_with(&config).unwrap().markdown,
        "a b csecret[^1]\n\njoined line\n\n[^1]: Li: Why?\n"
    );
}

#[test]
fn a_run_decides_over_the_style_whether_it_is_hidden() {
    let shown = "<w:r><w:rPr><w:vanish w:val='0'/></w:rPr><w:t>shown</w:t></w:r>";
    let body = format!(
        "<w:p>{}{shown}</w:p><w:p>{}</w:p><w:p><w:pPr><w:pStyle w:val='S'/></w:pPr>{}</w:p>",
        run("hidden "),
        run("gone"),
        run("seen")
    );
    let styles = "<w:styles><w:style w:type='paragraph' w:default='1' w:styleId='N'><w:name w:val='Normal'/><w:rPr><w:vanish/></w:rPr></w:style>
                  <w:style w:type='paragraph' w:styleId='S'><w:basedOn w:val='N'/><w:rPr><w:vanish w:val='0'/></w:rPr></w:style></w:styles>";
    assert_eq!(
        TestPackage::with_body(&body)
            .part("word/styles.xml", styles)
            .markdown(),
        "shown\n\nseen\n"
    );
}

#[test]
fn lists_of_several_levels() {
    let level = |place: usize, format: &str, text: &str| {
        format!(
            "<w:lvl w:ilvl='{place}'><w:numFmt w:val='{format}'/><w:lvlText w:val='{text}'/></w:lvl>"
        )
    };
    let numbering = format!(
        "<w:numbering><w:abstractNum w:abstractNumId='0'>{}{}</w:abstractNum><w:abstractNum w:abstractNumId='1'>{}</w:abstractNum>
         <w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num><w:num w:numId='2'><w:abstractNumId w:val='1'/></w:num></w:numbering>",
        level(0, "decimal", "%1."),
        level(1, "bullet", "-"),
        level(0, "chineseCounting", "第%1章")
    );
    let item = |list: u8, level: u8, text: &str| {
        paragraph(
            &format!("<w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='{list}'/></w:numPr>"),
            text,
        )
    };
    let heading = |list: u8, text: &str| {
        paragraph(
            &format!("<w:outlineLvl w:val='0'/><w:numPr><w:numId w:val='{list}'/></w:numPr>"),
            text,
        )
    };
    let body = [
        item(1, 0, "a"),
        item(1, 1, "b"),
        item(1, 0, "c"),
        item(2, 0, "条文"),
        heading(2, "总则"),
        heading(1, "附录"),
    ]
    .concat();
    let package = TestPackage::with_body(&body).part("word/numbering.xml", &numbering);
    assert_eq!(
        package.markdown(),
        "1. a\n   - b\n2. c\n\n第一章 条文\n\n# 第二章 总则\n\n# 附录\n"
    );
    let mut config = Config::default();
    config.docx.show_heading_numbers = true;
    assert!(
        package
            .converted_with(&config)
            .unwrap()
            .markdown
            .ends_with("# 第二章 总则\n\n# 3. 附录\n")
    );
}

#[test]
fn tables_with_spans_merges_nesting_and_controls() {
    let cell = |properties: &str, content: &str| {
        format!("<w:tc><w:tcPr>{properties}</w:tcPr>{content}</w:tc>")
    };
    let text = |text: &str| paragraph("", text);
    let inner = format!(
        "<w:tbl><w:tr>{}{}</w:tr></w:tbl>",
        cell("", &text("k")),
        cell("", &text("l"))
    );
    let body = format!(
        "<w:tbl><w:tr><w:trPr><w:tblHeader/></w:trPr>{}{}</w:tr><w:tr>{}{}{}</w:tr><w:sdt><w:sdtContent><w:tr>{}{}{}</w:tr></w:sdtContent></w:sdt>
         <w:tr><w:trPr><w:del/></w:trPr>{}</w:tr></w:tbl>",
        cell("<w:vMerge w:val='restart'/>", &text("R")),
        cell("<w:gridSpan w:val='2'/>", &text("S")),
        cell("<w:vMerge/>", &text("")),
        cell("", &(text("a|b") + &text("c"))),
        cell("", &format!("{inner}{}", text("d"))),
        cell("", &text("1")),
        cell("", &text("2")),
        cell("", &text("3")),
        cell("", &text("deleted")),
    );
    assert_eq!(
        markdown(&body),
        "| R | S | S |\n| --- | --- | --- |\n| R | a\\|b<br>c | d |\n| 1 | 2 | 3 |\n\nR · S\n\n| k | l |\n| --- | --- |\n"
    );
    assert_eq!(
        markdown(&format!(
            "<w:tbl><w:tr>{}</w:tr></w:tbl>",
            cell("", &text("boxed"))
        )),
        "boxed\n"
    );
}

#[test]
fn text_boxes_are_read_once_and_stand_after_their_paragraph() {
    let content = "<w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p></w:txbxContent>";
    let body = format!(
        "<w:p><w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing><wps:txbx>{content}</wps:txbx></w:drawing></mc:Choice>
         <mc:Fallback><w:pict><v:textbox>{content}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>{}</w:p>",
        run("around")
    );
    assert_eq!(markdown(&body), "around\n\nbox\n");
}

#[test]
fn fields_show_results_and_contents_are_dropped() {
    let link = [
        field("begin"),
        instruction(" HYPERLINK \"http://h/\" "),
        field("separate"),
        run("here"),
        field("end"),
    ]
    .concat();
    let reference = [
        field("begin"),
        instruction("REF a"),
        field("separate"),
        run("Table 1"),
        field("end"),
    ]
    .concat();
    let contents = format!(
        "<w:p>{}{}{}{}</w:p><w:p><w:r><w:lastRenderedPageBreak/></w:r>{}</w:p><w:p>{}{}</w:p>",
        field("begin"),
        instruction("TOC \\o"),
        field("separate"),
        run("One 1"),
        run("Two 2"),
        field("end"),
        run("after")
    );
    let body = format!(
        "{contents}<w:p>{link} and {reference}<w:fldSimple w:instr='PAGE'>{}</w:fldSimple></w:p>",
        run(" p. 3")
    );
    assert_eq!(
        markdown(&body),
        "\u{C}after\n\n[here](http://h/)Table 1 p. 3\n"
    );
    let unended = format!(
        "<w:p>{}{}{}{}</w:p><w:p>{}</w:p>",
        field("begin"),
        instruction("TOC"),
        field("separate"),
        run("One"),
        run("text")
    );
    assert_eq!(markdown(&unended), "One\n\ntext\n");
    let control = format!(
        "<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val='Table of Contents'/></w:docPartObj></w:sdtPr><w:sdtContent><w:p>{}</w:p></w:sdtContent></w:sdt><w:p>{}</w:p>",
        run("One 1"),
        run("text")
    );
    assert_eq!(markdown(&control), "text\n");
}

#[test]
fn form_fields_and_symbols_are_shown() {
    let checked = "<w:p><w:r><w:fldChar w:fldCharType='begin'><w:ffData><w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox></w:ffData></w:fldChar></w:r>";
    let body = format!(
        "{checked}{}{}{}<w:r><w:sym w:font='Wingdings' w:char='F0FC'/><w:t>A</w:t><w:tab/><w:t>B</w:t><w:noBreakHyphen/><w:t>C</w:t><w:softHyphen/></w:r>
         <w:r><w:rPr><w:rFonts w:ascii='Symbol'/></w:rPr><w:t>\u{F061}</w:t></w:r></w:p>",
        instruction("FORMCHECKBOX"), field("end"), run(" yes ")
    );
    assert_eq!(markdown(&body), "☒ yes ✓A B-Cα\n");
}

#[test]
fn ruby_keeps_its_base() {
    let body = format!(
        "<w:p><w:r><w:ruby><w:rt>{}</w:rt><w:rubyBase>{}</w:rubyBase></w:ruby></w:r></w:p>",
        run("とう"),
        run("東")
    );
    assert_eq!(markdown(&body), "東\n");
}

#[test]
fn notes_stand_at_the_end() {
    let body = format!(
        "<w:p>{}<w:r><w:endnoteReference w:id='2'/></w:r><w:r><w:footnoteReference w:id='2'/></w:r></w:p>",
        run("t")
    );
    let note = |kind: &str, text: &str| {
        format!(
            "<w:{kind}s><w:{kind} w:id='0' w:type='separator'><w:p/></w:{kind}><w:{kind} w:id='2'><w:p><w:r><w:t>{text}</w:t></w:r></w:p><w:p><w:r><w:t>more</w:t></w:r></w:p></w:{kind}></w:{kind}s>"
        )
    };
    let package = TestPackage::with_body(&body)
        .part("word/footnotes.xml", &note("footnote", "f"))
        .part("word/endnotes.xml", &note("endnote", "e"));
    assert_eq!(
        package.markdown(),
        "t[^1][^2]\n\n[^1]: e\n\n    more\n\n[^2]: f\n\n    more\n"
    );
}

#[test]
fn notes_of_notes_are_read_in_rounds() {
    let reference = |id: u8| format!("<w:r><w:footnoteReference w:id='{id}'/></w:r>");
    let note = |id: u8, next: &str| {
        format!(
            "<w:footnote w:id='{id}'><w:p>{}{next}</w:p></w:footnote>",
            run(&format!("n{id}"))
        )
    };
    // The last one refers to the first.
    let notes = [
        note(2, &reference(4)),
        note(3, &reference(2)),
        note(4, &reference(3)),
    ];
    let package = TestPackage::with_body(&format!("<w:p>{}{}</w:p>", run("t"), reference(3))).part(
        "word/footnotes.xml",
        &format!("<w:footnotes>{}</w:footnotes>", notes.concat()),
    );
    assert_eq!(
        package.markdown(),
        "t[^1]\n\n[^1]: n3[^2]\n\n[^2]: n2[^3]\n\n[^3]: n4[^1]\n"
    );
}

#[test]
fn pictures_are_handed_over_and_links_are_links() {
    let picture = "<w:r><w:drawing><wp:inline><wp:docPr id='1' name='Picture 1' descr='A [cat]'/><a:graphic><pic:blip r:embed='p1'/></a:graphic></wp:inline></w:drawing></w:r>";
    let body = format!(
        "<w:p>{picture}{picture}<w:hyperlink r:id='h1'>{}</w:hyperlink><w:hyperlink w:anchor='x'>{}</w:hyperlink></w:p>",
        run("site"),
        run(" place")
    );
    let package = TestPackage::with_body(&body)
        .relationship("p1", "image", "media\\Image1.PNG")
        .relationship("h1", "hyperlink", "http://h/(1)")
        .bytes("word/media/image1.png", b"png");
    let converted = package.converted().unwrap();
    assert_eq!(
        converted.markdown,
        "![A cat](image:0)![A cat](image:0)[site](<http://h/(1)>) place\n"
    );
    assert_eq!(
        converted.images,
        vec![ImageLink {
            link: "embedded:0".into(),
            alt: "A cat".into()
        }]
    );
    assert_eq!(
        converted
            .blobs
            .iter()
            .map(|blob| blob.media_type.as_str())
            .collect::<Vec<_>>(),
        ["image/png"]
    );
    let config = Config {
        maximum_embedded_bytes: 2,
        ..Config::default()
    };
    let without = package.converted_with(&config).unwrap();
    assert_eq!(
        (
            without.blobs.len(),
            without
                .metadata
                .get("pictures_left_out")
                .map(String::as_str)
        ),
        (0, Some("2"))
    );
}

#[test]
fn pages_begin_where_word_or_the_author_broke_them() {
    let rendered = "<w:r><w:lastRenderedPageBreak/></w:r>";
    let explicit = "<w:r><w:br w:type='page'/></w:r>";
    let cell = format!("<w:tc><w:p>{rendered}{}</w:p></w:tc>", run("c"));
    let body = format!(
        "<w:p>{}{rendered}{}</w:p><w:p>{explicit}</w:p><w:p><w:pPr><w:outlineLvl w:val='0'/></w:pPr>{rendered}{}</w:p><w:tbl><w:tr>{cell}{cell}</w:tr></w:tbl><w:p>{}</w:p>",
        run("one "),
        run("two"),
        run("three"),
        run("four")
    );
    assert_eq!(
        markdown(&body),
        "one \u{C}two\n\n\u{C}# three\n\n| c | c |\n| --- | --- |\n\n\u{C}four\n"
    );
    let section = |kind: &str| format!("<w:sectPr><w:type w:val='{kind}'/></w:sectPr>");
    let sections = paragraph(&section("nextPage"), "a")
        + &paragraph(&section("continuous"), "b")
        + &paragraph("", "c")
        + &section("nextPage");
    assert_eq!(markdown(&sections), "a\n\nb\n\n\u{C}c\n");
    let before =
        paragraph("<w:pageBreakBefore/>", "first") + &paragraph("<w:pageBreakBefore/>", "second");
    assert_eq!(markdown(&before), "first\n\n\u{C}second\n");
}

#[test]
fn formulas_stand_in_and_between_lines() {
    let math = "<m:oMath><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:oMath>";
    assert_eq!(
        markdown(&format!(
            "<w:p>{}{math}</w:p><w:p><m:oMathPara>{math}</m:oMathPara></w:p>",
            run("so ")
        )),
        "so $x^{2}$\n\n$$\nx^{2}\n$$\n"
    );
}

#[test]
fn code_styles_become_code() {
    let styles = "<w:styles><w:style w:type='paragraph' w:styleId='c'><w:name w:val='Source Code'/></w:style></w:styles>";
    let body = paragraph("<w:pStyle w:val='c'/>", "int a;")
        + &paragraph("<w:pStyle w:val='c'/>", "  # b")
        + "<w:p><w:r><w:t>use </w:t></w:r><w:r><w:rPr><w:rFonts w:ascii='Consolas'/></w:rPr><w:t>ls</w:t></w:r></w:p>";
    let package = TestPackage::with_body(&body).part("word/styles.xml", styles);
    assert_eq!(package.markdown(), "```\nint a;\n  # b\n```\n\nuse `ls`\n");
}

#[test]
fn charts_diagrams_and_alternative_chunks() {
    let body = "<w:p><w:r><w:drawing><c:chart r:id='c'/></w:drawing></w:r><w:r><w:drawing><dgm:relIds r:dm='d'/></w:drawing></w:r></w:p><w:altChunk r:id='h'/>";
    let chart = "<c:chartSpace><c:chart><c:title><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:title><c:ser><c:tx><c:v>A</c:v></c:tx><c:val><c:pt idx='0'><c:v>3</c:v></c:pt></c:val></c:ser></c:chart></c:chartSpace>";
    let package = TestPackage::with_body(body)
        .relationship("c", "chart", "charts/chart1.xml")
        .relationship("d", "diagramData", "diagrams/data1.xml")
        .relationship("h", "aFChunk", "/word/part.htm")
        .part("word/charts/chart1.xml", chart)
        .part(
            "word/diagrams/data1.xml",
            "<dgm:dataModel><dgm:pt><dgm:t><a:p><a:r><a:t>Step</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:dataModel>",
        )
        .part("word/part.htm", "<html><body><p>Hello &amp; <b>bye</b></p></body></html>");
    assert_eq!(
        package.markdown(),
        "Sales\n\n|  | A |\n| --- | --- |\n|  | 3 |\n\n- Step\n\nHello & bye\n"
    );
}

#[test]
fn properties_become_metadata() {
    let core = "<cp:coreProperties><dc:title>Plan  B</dc:title><dc:creator>Li</dc:creator><dcterms:modified>2024-05-06T07:08:09Z</dcterms:modified><dc:subject/></cp:coreProperties>";
    let converted = TestPackage::with_body(&paragraph("<w:outlineLvl w:val='0'/>", "H"))
        .part("docProps/core.xml", core)
        .converted()
        .unwrap();
    assert_eq!(converted.title.as_deref(), Some("Plan B"));
    assert_eq!(
        converted.metadata.get("author").map(String::as_str),
        Some("Li")
    );
    assert_eq!(
        converted.metadata.get("modified").map(String::as_str),
        Some("2024-05-06T07:08:09Z")
    );
    assert_eq!(
        (converted.media_type.as_str(), converted.converter.as_ref()),
        (MEDIA_TYPE, "docx/6")
    );
    let printed =
        "<cp:coreProperties><dc:title>Microsoft Word - plan.doc</dc:title></cp:coreProperties>";
    let printed = TestPackage::with_body("")
        .part("docProps/core.xml", printed)
        .converted()
        .unwrap();
    assert_eq!(printed.title.as_deref(), Some("plan.doc"));
    let untitled = TestPackage::with_body(&paragraph("<w:outlineLvl w:val='0'/>", "H"))
        .converted()
        .unwrap();
    assert_eq!(untitled.title.as_deref(), Some("H"));
}

#[test]
fn large_first_letters_join_their_paragraph() {
    let body = paragraph("<w:framePr w:dropCap='drop'/>", "D") + &paragraph("", "rop cap");
    assert_eq!(markdown(&body), "Drop cap\n");
}

#[test]
fn forms_keep_their_cells_together_and_tables_their_columns() {
    let cell = |span: usize, text: &str| {
        format!(
            "<w:tc><w:tcPr><w:gridSpan w:val='{span}'/></w:tcPr>{}</w:tc>",
            paragraph("", text)
        )
    };
    let row = |spans: &[usize]| {
        let cells: String = spans
            .iter()
            .enumerate()
            .map(|(index, span)| cell(*span, &format!("c{index}")))
            .collect();
        format!("<w:tr>{cells}</w:tr>")
    };
    let form = row(&[9])
        + &row(&[1, 2, 6])
        + &row(&[4, 3, 2])
        + &row(&[5, 4])
        + &row(&[2, 6, 1])
        + &row(&[6, 2, 1]);
    assert!(
        markdown(&format!("<w:tbl>{form}</w:tbl>"))
            .starts_with("| c0 |  |  |\n| --- | --- | --- |\n| c0 | c1 | c2 |\n")
    );
    let table = row(&[1, 2]) + &row(&[1, 1, 1]);
    assert_eq!(
        markdown(&format!("<w:tbl>{table}</w:tbl>")),
        "| c0 | c1 |  |\n| --- | --- | --- |\n| c0 | c1 | c2 |\n"
    );
}

#[test]
fn templates_and_macro_documents_say_what_they_are() {
    let kinds = [
        (
            "vnd.ms-word.document.macroEnabled",
            "application/vnd.ms-word.document.macroEnabled.12",
        ),
        (
            "vnd.openxmlformats-officedocument.wordprocessingml.template",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.template",
        ),
    ];
    for (declared, media_type) in kinds {
        let types = format!(
            "<Types><Override PartName='/word/document.xml' ContentType='application/{declared}.main+xml'/></Types>"
        );
        let package = TestPackage::with_body(&paragraph("", "x"))
            .part("[Content_Types].xml", &types)
            .without("_rels/.rels");
        assert_eq!(package.converted().unwrap().media_type, media_type);
    }
}

fn set(text: &str, look: &str) -> String {
    format!("<w:p><w:r><w:rPr>{look}</w:rPr><w:t>{text}</w:t></w:r></w:p>")
}

#[test]
fn lines_that_are_set_as_headings_are_headings_where_nothing_else_is() {
    let large = |text: &str| set(text, "<w:b/><w:sz w:val='32'/>");
    let bold = |text: &str| set(text, "<w:b/>");
    let text = set("Text of the section that says something.", "");
    let body = large("概述 of it")
        + &text
        + &bold("Part")
        + &text
        + &text
        + &large("Second")
        + &text
        + &bold("Note: this is a sentence.");
    assert_eq!(
        markdown(&body),
        "# 概述 of it\n\nText of the section that says something.\n\n## Part\n\nText of the section that says something.\n\n\
         Text of the section that says something.\n\n# Second\n\nText of the section that says something.\n\n**Note: this is a sentence.**\n"
    );
    let told = paragraph("<w:outlineLvl w:val='0'/>", "Told") + &body;
    assert!(markdown(&told).contains("\n\n**Part**\n\n"));
    let form = text.clone() + &bold("Name") + &bold("Age") + &bold("Place") + &text + &text + &text;
    assert!(!markdown(&form).contains('#'));
}

#[test]
fn typed_tables_of_contents_are_left_out() {
    let entry = |text: &str| {
        format!("<w:p><w:r><w:t>{text}</w:t></w:r><w:r><w:tab/></w:r><w:r><w:t>7</w:t></w:r></w:p>")
    };
    let heading = |text: &str| paragraph("<w:outlineLvl w:val='0'/>", text);
    let headings = ["Scope", "载波聚合", "Limits"].map(heading).concat();
    let entries = ["1 Scope", "2 载波聚合 ......", "3 Limits"]
        .map(entry)
        .concat();
    let contents = paragraph("", "目录") + &entries;
    assert_eq!(
        markdown(&(contents + &headings)),
        "# Scope\n\n# 载波聚合\n\n# Limits\n"
    );
    let others = ["Part", "Item", "Limits"].map(entry).concat();
    assert!(markdown(&(others + &headings)).starts_with("Part 7\n"));
}

#[test]
fn a_control_that_nobody_filled_in_says_nothing() {
    let control = |properties: &str, text: &str| {
        format!(
            "<w:sdt><w:sdtPr>{properties}</w:sdtPr><w:sdtContent><w:r><w:t>{text}</w:t></w:r></w:sdtContent></w:sdt>"
        )
    };
    let body = format!(
        "<w:p><w:r><w:t xml:space='preserve'>since </w:t></w:r>{}{}</w:p>",
        control("<w:showingPlcHdr/>", "Click here to enter a date."),
        control("<w:showingPlcHdr w:val='0'/>", "May"),
    );
    assert_eq!(markdown(&body), "since May\n");
}

#[test]
fn a_column_that_is_numbered_says_its_numbers() {
    let cell = |content: &str| format!("<w:tc>{content}</w:tc>");
    let number =
        "<w:p><w:pPr><w:numPr><w:ilvl w:val='0'/><w:numId w:val='1'/></w:numPr></w:pPr></w:p>";
    let row = |first: &str, second: &str| {
        format!(
            "<w:tr>{}{}</w:tr>",
            cell(first),
            cell(&paragraph("", second))
        )
    };
    let table = format!(
        "<w:tbl>{}{}{}</w:tbl>",
        row(&paragraph("", "序号"), "件"),
        row(number, "泵"),
        row(number, "阀")
    );
    let numbering = "<w:numbering><w:abstractNum w:abstractNumId='0'><w:lvl w:ilvl='0'><w:start w:val='1'/><w:numFmt w:val='decimal'/><w:lvlText w:val='%1'/></w:lvl></w:abstractNum><w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num></w:numbering>";
    let package = TestPackage::with_body(&table).part("word/numbering.xml", numbering);
    assert_eq!(
        package.converted().unwrap().markdown,
        "| 序号 | 件 |\n| --- | --- |\n| 1 | 泵 |\n| 2 | 阀 |\n"
    );
}

#[test]
fn the_title_of_contents_is_not_that_of_the_document() {
    let heading = |text: &str| paragraph("<w:outlineLvl w:val='0'/>", text);
    let body = format!(
        "{}{}{}",
        heading("目 录"),
        heading("泵的安装"),
        paragraph("", "检查基础。")
    );
    let properties = "<cp:coreProperties><dc:title>文档1</dc:title></cp:coreProperties>";
    let package = TestPackage::with_body(&body).part("docProps/core.xml", properties);
    let converted = package.converted().unwrap();
    assert_eq!(converted.markdown, "# 泵的安装\n\n检查基础。\n");
    assert_eq!(converted.title.as_deref(), Some("泵的安装"));
}
