//! Data and its Markdown.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::hostile::withstands;
use crate::test_config::config;

fn converted(text: &str, notation: Notation) -> Converted {
    let config: crate::Config = config();
    convert(
        text.as_bytes(),
        notation,
        &config.structured,
        &Limits::starting_now(&config),
    )
    .unwrap()
}

const MANUAL: &str = r#"{"title": "产品手册", "version": 2, "tags": ["a", "b"], "about": "这个产品用于无线网络的规划。\n\n第二段。",
    "chapters": [{"name": "One", "text": "Words of the | first."}, {"name": "Two", "text": "Words of the second."}],
    "deep": {"inner": {"list": [{"x": {"y": "z"}}, {"x": 1}]}}}"#;

#[test]
fn json_becomes_headings_lists_and_tables() {
    let manual = converted(MANUAL, Notation::Json);
    assert_eq!(
        manual.markdown,
        "- **title**: 产品手册\n- **version**: 2\n- **tags**: a, b\n\n**about**:\n\n这个产品用于无线网络的规划。\n\n第二段。\n\n# chapters\n\n| name | text |\n| --- | --- |\n| One | Words of the \\| first. |\n| Two | Words of the second. |\n\n# deep\n\n## inner\n\n### list\n\n#### list 1\n\n- **x**:\n\n  - **y**: z\n\n#### list 2\n\n- **x**: 1\n"
    );
    assert_eq!(manual.title.as_deref(), Some("产品手册"));
}

#[test]
fn settings_and_what_does_not_parse_stay_code() {
    assert_eq!(
        converted("{\"a\": 1, \"b\": [true]}", Notation::Json).markdown,
        "```json\n{\"a\": 1, \"b\": [true]}\n```\n"
    );
    assert_eq!(
        converted("{\"a\": // no\n 1}", Notation::Json).markdown,
        "```json\n{\"a\": // no\n 1}\n```\n"
    );
    assert_eq!(
        converted("a: [", Notation::Yaml).markdown,
        "```yaml\na: [\n```\n"
    );
    assert_eq!(
        converted("<a><b></a>", Notation::Xml).markdown,
        "```xml\n<a><b></a>\n```\n"
    );
    assert_eq!(
        converted("image: x/y:1\nports: [80]\n", Notation::Yaml).markdown,
        "```yaml\nimage: x/y:1\nports: [80]\n```\n"
    );
    assert_eq!(converted(" \n", Notation::Json).markdown, "");
}

#[test]
fn lines_and_documents_are_records() {
    let lines = "{\"q\": \"How does it work?\", \"a\": \"It works well enough.\"}\n\n{\"q\": \"And why?\", \"a\": \"Because of that.\"}\n";
    let table = "| q | a |\n| --- | --- |\n| How does it work? | It works well enough. |\n| And why? | Because of that. |\n";
    assert_eq!(converted(lines, Notation::JsonLines).markdown, table);
    let documents =
        "q: How does it work?\na: It works well enough.\n---\nq: And why?\na: Because of that.\n";
    assert_eq!(converted(documents, Notation::Yaml).markdown, table);
}

#[test]
fn xml_has_attributes_mixed_text_and_no_entities_of_its_own() {
    let source = "<?xml version=\"1.0\"?><!DOCTYPE c [<!ENTITY lol \"lol\">]><c xmlns:n=\"u\"><n:book id=\"1\"><t>First &amp; best</t>
        <p>Some <b>mixed</b> text &#20013; here.</p></n:book><n:book id=\"2\"><t><![CDATA[A < B]]></t><p>Other &lol; text.</p></n:book></c>";
    assert_eq!(
        converted(source, Notation::Xml).markdown,
        "# c\n\n## book\n\n| id | t | p |\n| --- | --- | --- |\n| 1 | First & best | Some mixed text 中 here. |\n| 2 | A < B | Other text. |\n"
    );
}

#[test]
fn xml_is_read_in_its_encoding() {
    let source =
        "<?xml version=\"1.0\" encoding=\"GBK\"?><a><b>载波聚合技术</b><c>提高峰值速率</c></a>";
    let (bytes, ..) = encoding_rs::GBK.encode(source);
    let config: crate::Config = config();
    let converted = convert(
        &bytes,
        Notation::Xml,
        &config.structured,
        &Limits::starting_now(&config),
    )
    .unwrap();
    assert_eq!(
        converted.markdown,
        "# a\n\n- **b**: 载波聚合技术\n- **c**: 提高峰值速率\n"
    );
}

#[test]
fn damage_and_bombs_do_no_harm() {
    let config: crate::Config = config();
    withstands(MANUAL.as_bytes(), |bytes, limits| {
        convert(bytes, Notation::Json, &config.structured, limits)
    });
    withstands(MANUAL.as_bytes(), |bytes, limits| {
        convert(bytes, Notation::Yaml, &config.structured, limits)
    });
    withstands(
        b"<a b='c'><d>text &amp; more</d><d><e/>tail</d></a>",
        |bytes, limits| convert(bytes, Notation::Xml, &config.structured, limits),
    );
    let mut aliases = String::from("a0: &a0 [word word,x,x,x,x,x,x,x,x]\n");
    for level in 1..30 {
        aliases.push_str(&format!(
            "a{level}: &a{level} [{}]\n",
            vec![format!("*a{}", level - 1); 9].join(",")
        ));
    }
    for (bomb, notation) in [
        ("[".repeat(200_000), Notation::Json),
        ("- ".repeat(100_000), Notation::Yaml),
        ("{\"a\":".repeat(100_000), Notation::Yaml),
        (aliases, Notation::Yaml),
        ("<a>".repeat(100_000), Notation::Xml),
        (
            "{\"a\":".repeat(100) + "\"some words to read\"" + &"}".repeat(100),
            Notation::Json,
        ),
    ] {
        let started = std::time::Instant::now();
        convert(
            bomb.as_bytes(),
            notation,
            &config.structured,
            &Limits::starting_now(&config),
        )
        .unwrap();
        assert!(
            started.elapsed().as_secs() < 10,
            "{notation:?} took {:?}",
            started.elapsed()
        );
    }
}
