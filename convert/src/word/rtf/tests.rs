//! Documents made in the test.
#![allow(clippy::unwrap_used)]

use super::document::Mark;
use super::*;
use crate::config::Config;
use crate::hostile::withstands;

const DOCUMENT: &str = r#"{\rtf1\ansi\ansicpg936\deff0{\fonttbl{\f0\fnil\fcharset134 SimSun;}{\f1\fnil\fcharset204 Arial;}}
{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 heading 1;}{\*\cs10 heading 1 char;}{\s2 heading 2;}}{\info{\title Test \'d6\'d0}{\author Me}}
{\header skip me}
\pard\s1 Title \'d6\'d0\'ce\'c4\par
\pard\s2 Second\par
\pard Plain {\b bold }and {\i italic} \u8364?uro \u20013\'3f \u-10179?\u-8704? {\f1\'cf\'f0} # *x*{\footnote Note text} end.\par
\pard{\listtext\bullet\tab}one\par
\pard{\listtext\bullet\tab}two\par
\pard{\listtext 1.\tab}first\par
\trowd\pard\intbl A\cell B|C\cell\row\trowd\pard\intbl 1\par 2\cell {\b 3}\cell\row
\pard {\field{\*\fldinst{HYPERLINK "http://x.y/z"}}{\fldrslt{link text}}} after\line broken\par
{\*\unknown gone}{\v hidden}{\deleted del}visible \{braces\}\par
{\pict\pngblip 89504e470d0a1a0a}\par}"#;

fn convert_text(document: &str) -> Result<Converted> {
    let config = Config::default();
    convert(document.as_bytes(), &Limits::starting_now(&config))
}

#[test]
fn text_structure_and_pictures_are_read() {
    let converted = convert_text(DOCUMENT).unwrap();
    assert_eq!(
        converted.markdown,
        "# Title 中文\n\n## Second\n\nPlain **bold** and *italic* €uro 中 😀 Пр # \\*x\\*[^1] end.\n\n- one\n- two\n\n1. first\n\n| A | B\\|C |\n| --- | --- |\n| 1<br>2 | **3** |\n\n[link text](http://x.y/z) after\nbroken\n\nvisible {braces}\n\n![](image:0)\n\n[^1]: Note text\n"
    );
    assert_eq!(converted.title.as_deref(), Some("Test 中"));
    assert_eq!(
        converted.metadata.get("author").map(String::as_str),
        Some("Me")
    );
    assert_eq!(converted.blobs.len(), 1);
}

#[test]
fn lists_as_word_writes_them_keep_numbers_and_levels() {
    let item = |mark: &str, level: u8, text: &str| {
        format!("{{\\listtext\\pard\\plain {mark}\\tab}}\\pard\\ls1\\ilvl{level} {text}\\par\n")
    };
    let list = [
        item("1.", 0, "First"),
        item("2.", 0, "Second"),
        item("a)", 1, "Nested a"),
        item("b)", 1, "Nested b"),
        item("3.", 0, "Third"),
    ]
    .concat();
    let behind = item("4.", 0, "Fourth");
    let document = format!("{{\\rtf1 {list}\\pard Body.\\par {behind}\\pard Body.\\par}}");
    assert_eq!(
        convert_text(&document).unwrap().markdown,
        "1. First\n2. Second\n\n   1. Nested a\n   2. Nested b\n3. Third\n\nBody.\n\n4. Fourth\n\nBody.\n"
    );
}

#[test]
fn marks_are_read_as_they_are_counted() {
    for (mark, expected) in [
        ("3.", Some(3)),
        ("(12)", Some(12)),
        ("b)", Some(2)),
        ("iv.", Some(4)),
        ("IX)", Some(9)),
        ("一、", Some(1)),
        ("（二十三）", Some(23)),
        ("十、", Some(10)),
        ("•", None),
        ("o", None),
        ("Note:", None),
    ] {
        let expected = expected.map_or(Mark::Bullet, Mark::Number);
        assert_eq!(Mark::read(mark), expected, "{mark}");
    }
}

#[test]
fn what_is_no_document_is_refused_and_a_cut_one_is_noted() {
    assert_eq!(
        convert_text("plain").unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    assert_eq!(
        convert_text("{\\rtf1{\\fonttbl").unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    let cut = convert_text("{\\rtf1 Some text that was").unwrap();
    assert_eq!(cut.markdown, "Some text that was\n");
    assert!(cut.metadata.contains_key("damaged"));
}

#[test]
fn damage_and_depth_do_no_harm() {
    withstands(DOCUMENT.as_bytes(), convert);
    for bomb in [
        format!("{{\\rtf1 {}x", "{".repeat(500_000)),
        format!("{{\\rtf1 {}}}", "\\cell\\row ".repeat(100_000)),
        format!("{{\\rtf1 {}}}", "{\\footnote a".repeat(50_000)),
        format!("{{\\rtf1 \\bin2000000000 {}}}", "x".repeat(100)),
        format!("{{\\rtf1 {}}}", "{\\field{\\fldrslt a}}".repeat(50_000)),
    ] {
        let started = std::time::Instant::now();
        drop(convert_text(&bomb));
        assert!(
            started.elapsed().as_secs() < 10,
            "took {:?}",
            started.elapsed()
        );
    }
}
