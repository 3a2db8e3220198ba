//! Packages made in the test.
#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Write};

use tributary_schemas::ErrorKind;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::hostile::withstands;
use crate::test_config::config;

const NAMESPACES: &str = r#"xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
    xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
    xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"
    xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"
    xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"
    xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0""#;

/// Smallest PNG there is, by its first bytes.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

fn package(kind: &str, body: &str) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let content = format!(
        r#"<office:document-content {NAMESPACES}><office:automatic-styles><style:style style:name="B" style:family="text">
        <style:text-properties fo:font-weight="bold"/></style:style></office:automatic-styles><office:body>{body}</office:body></office:document-content>"#
    );
    let meta = format!(
        r#"<office:document-meta {NAMESPACES} xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0"><office:meta>
        <dc:title>载波 &amp; more</dc:title><meta:keyword>a</meta:keyword><meta:keyword>b</meta:keyword><dc:date>2026-01-02</dc:date></office:meta></office:document-meta>"#
    );
    let media_type = format!("application/vnd.oasis.opendocument.{kind}");
    for (name, bytes) in [
        ("mimetype", media_type.as_bytes()),
        ("content.xml", content.as_bytes()),
        ("meta.xml", meta.as_bytes()),
        ("Pictures/a.png", PNG),
    ] {
        zip.start_file(name, stored).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn text() -> Vec<u8> {
    package(
        "text",
        r#"<office:text><text:h text:outline-level="1">第一章</text:h>
        <text:p>Some <text:span text:style-name="B">bold</text:span> text * with a note<text:note text:id="n" text:note-class="footnote">
        <text:note-citation>1</text:note-citation><text:note-body><text:p>Its text.</text:p></text:note-body></text:note>
        and <text:a xlink:href="https://example.org/">a link</text:a>.</text:p>
        <text:list><text:list-item><text:p>One</text:p><text:list><text:list-item><text:p>Inner</text:p></text:list-item></text:list></text:list-item>
        <text:list-item><text:p>Two</text:p></text:list-item></text:list>
        <text:p><draw:frame><draw:image xlink:href="Pictures/a.png"/><svg:title>A map</svg:title></draw:frame></text:p>
        <table:table><table:table-row><table:table-cell table:number-rows-spanned="2"><text:p>H|1</text:p></table:table-cell>
        <table:table-cell><text:p>H2</text:p></table:table-cell></table:table-row>
        <table:table-row><table:covered-table-cell/><table:table-cell><text:p>x</text:p><text:p>y</text:p></table:table-cell></table:table-row></table:table>
        </office:text>"#,
    )
}

fn slides() -> Vec<u8> {
    package(
        "presentation",
        r#"<office:presentation><draw:page draw:name="p1"><draw:frame presentation:class="title"><draw:text-box><text:p>First slide</text:p></draw:text-box></draw:frame>
        <draw:frame><draw:text-box><text:p>Body of one.</text:p></draw:text-box></draw:frame>
        <presentation:notes><draw:page-thumbnail/><draw:frame><draw:text-box><text:p>Say hello.</text:p></draw:text-box></draw:frame></presentation:notes></draw:page>
        <draw:page draw:name="empty"/>
        <draw:page draw:name="p3"><draw:frame><draw:text-box><text:p>Body of three.</text:p></draw:text-box></draw:frame></draw:page></office:presentation>"#,
    )
}

fn converted(bytes: &[u8], kind: Kind) -> Converted {
    convert(bytes, kind, false, &Limits::starting_now(&config())).unwrap()
}

#[test]
fn a_text_keeps_its_structure() {
    let converted = converted(&text(), Kind::Text);
    assert_eq!(
        converted.markdown,
        "# 第一章\n\nSome **bold** text * with a note[^1] and [a link](https://example.org/).\n\n- One\n\n  - Inner\n- Two\n\n\
         ![A map](image:0)\n\n| H\\|1 | H2 |\n| --- | --- |\n| H\\|1 | x<br>y |\n\n[^1]: Its text.\n"
    );
    assert_eq!(converted.title.as_deref(), Some("载波 & more"));
    assert_eq!(
        converted.metadata.get("keywords").map(String::as_str),
        Some("a, b")
    );
    let picture = converted.blobs.first().unwrap();
    assert_eq!(
        (picture.name.as_str(), picture.bytes.as_slice()),
        ("a.png", PNG)
    );
}

#[test]
fn each_slide_is_a_page() {
    assert_eq!(
        converted(&slides(), Kind::Presentation).markdown,
        "## First slide\n\nBody of one.\n\n> Say hello.\n\n\u{C}\n\u{C}Body of three.\n"
    );
}

#[test]
fn what_is_no_such_document_is_refused() {
    let kind = |bytes: &[u8]| {
        convert(bytes, Kind::Text, false, &Limits::starting_now(&config()))
            .unwrap_err()
            .kind()
    };
    assert_eq!(kind(b"PK\x03\x04"), ErrorKind::Corrupt);
    assert_eq!(
        kind(&package("text", "<office:nothing/>")),
        ErrorKind::Corrupt
    );
    let mut deep = "<text:section>".repeat(5_000);
    deep.push_str(&"</text:section>".repeat(5_000));
    let deep = package("text", &format!("<office:text>{deep}</office:text>"));
    assert_eq!(kind(&deep), ErrorKind::Invalid);
}

#[test]
fn damage_does_no_harm() {
    withstands(&text(), |bytes, limits| {
        convert(bytes, Kind::Text, false, limits)
    });
    withstands(&slides(), |bytes, limits| {
        convert(bytes, Kind::Presentation, false, limits)
    });
}
