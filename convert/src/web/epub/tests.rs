//! Books made in the test.
#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::config::Config;
use crate::hostile::withstands;

const CONTAINER_XML: &str =
    "<container><rootfiles><rootfile full-path='OEBPS/content.opf'/></rootfiles></container>";
const PACKAGE: &str = "<package><metadata><dc:title>The &amp; Book</dc:title><dc:creator>A</dc:creator><dc:creator>B</dc:creator><dc:language>zh</dc:language></metadata>
    <manifest><item id='n' href='nav.xhtml' media-type='application/xhtml+xml' properties='nav'/>
    <item id='b' href='text/two%20.xhtml' media-type='application/xhtml+xml'/><item id='a' href='text/one.xhtml' media-type='application/xhtml+xml'/>
    <item id='p' href='p.png' media-type='image/png'/></manifest>
    <spine><itemref idref='n'/><itemref idref='a'/><itemref idref='b'/></spine></package>";
const NAV: &str = "<html><body><nav epub:type='toc'><ol><li><a href='text/one.xhtml'>第一章 <b>One</b></a></li><li><a href='text/two%20.xhtml#x'>Two</a></li></ol></nav></body></html>";

fn members() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("mimetype", b"application/epub+zip".to_vec()),
        (CONTAINER, CONTAINER_XML.into()),
        ("OEBPS/content.opf", PACKAGE.into()),
        ("OEBPS/nav.xhtml", NAV.into()),
        ("OEBPS/text/one.xhtml", "<html><head><title>x</title></head><body><p>正文 <img src='../p.png' alt='P'/></p></body></html>".into()),
        ("OEBPS/text/two .xhtml", "<html><body><h2>Own heading</h2><p>More.</p><img src='../p.png'/></body></html>".into()),
        ("OEBPS/p.png", b"\x89PNG\r\n\x1A\n".to_vec()),
    ]
}

fn book(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn convert_book(bytes: &[u8]) -> Result<Converted> {
    let config = Config::default();
    convert(bytes, &Limits::starting_now(&config))
}

#[test]
fn chapters_come_in_reading_order_with_titles_and_pictures() {
    let converted = convert_book(&book(&members())).unwrap();
    assert_eq!(
        converted.markdown,
        "# 第一章 One\n\n正文 ![P](image:0)\n\n## Own heading\n\nMore.\n\n![](image:1)\n\n"
    );
    assert_eq!(converted.title.as_deref(), Some("The & Book"));
    assert_eq!(
        converted.metadata.get("author").map(String::as_str),
        Some("A, B")
    );
    assert_eq!(
        converted.metadata.get("language").map(String::as_str),
        Some("zh")
    );
    assert_eq!(converted.blobs.len(), 1, "each picture is taken once");
    assert!(
        converted
            .images
            .iter()
            .all(|image| image.link == "embedded:0")
    );
}

/// Chapters are XML, where `/>` ends any element.
#[test]
fn elements_without_content_hide_nothing() {
    let mut members = members();
    for (name, bytes) in &mut members {
        if name.ends_with("one.xhtml") {
            *bytes = "<html><head><title/><script src='a.js'/></head><body><a id='x'/><p>正文</p><textarea/><p>后文</p></body></html>".into();
        }
    }
    let converted = convert_book(&book(&members)).unwrap();
    assert!(
        converted
            .markdown
            .starts_with("# 第一章 One\n\n正文\n\n后文\n\n"),
        "{}",
        converted.markdown
    );
}

#[test]
fn protected_and_damaged_books_are_refused() {
    let mut protected = members();
    protected.push((
        "META-INF/encryption.xml",
        b"<CipherReference URI=\"OEBPS/text/one.xhtml\"/>".to_vec(),
    ));
    let error = convert_book(&book(&protected)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(
        error.to_string().starts_with("the document is encrypted"),
        "{error}"
    );
    let without = |name: &str| {
        book(
            &members()
                .into_iter()
                .filter(|(known, _)| *known != name)
                .collect::<Vec<_>>(),
        )
    };
    for name in [CONTAINER, "OEBPS/content.opf"] {
        assert_eq!(
            convert_book(&without(name)).unwrap_err().kind(),
            ErrorKind::Corrupt,
            "{name}"
        );
    }
    let damaged = convert_book(&without("OEBPS/text/two .xhtml")).unwrap();
    assert!(
        damaged
            .metadata
            .get("damaged")
            .unwrap()
            .contains("two .xhtml")
    );
}

#[test]
fn bombs_are_refused() {
    let mut bomb = members();
    bomb[4].1 = vec![b' '; 17 << 20];
    let config = Config {
        maximum_unpacked_bytes: 1 << 20,
        ..Config::default()
    };
    let error = convert(&book(&bomb), &Limits::starting_now(&config)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let config = Config {
        maximum_unpacking_ratio: 2,
        ..Config::default()
    };
    assert_eq!(
        convert(&book(&bomb), &Limits::starting_now(&config))
            .unwrap_err()
            .kind(),
        ErrorKind::Invalid
    );
}

#[test]
fn damage_does_no_harm() {
    withstands(&book(&members()), convert);
}
