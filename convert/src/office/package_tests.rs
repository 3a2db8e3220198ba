//! Packages: names, types, limits.
#![allow(clippy::unwrap_used)]

use std::io::Write;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;
use crate::config::Config;

fn zipped(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        writer
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn parts_are_found_by_any_spelling() {
    let config = Config::default();
    let bytes = zipped(&[
        ("Word\\Media\\a b.PNG", "x"),
        ("/word/document.xml", "<a/>"),
    ]);
    let mut package = Package::open(&bytes, Limits::starting_now(&config)).unwrap();
    assert!(
        package.has("word/media/a%20b.png")
            && package.has("WORD/document.xml")
            && !package.has("word/other.xml")
    );
    assert_eq!(
        package.text("word/document.xml").unwrap().unwrap().text,
        "<a/>"
    );
    assert_eq!(package.media_type("word/media/a b.png"), "image/png");
    assert!(package.bytes("missing").unwrap().is_none());
}

#[test]
fn main_parts_are_found_by_relationship_type_or_name() {
    let config = Config::default();
    let find = |parts: &[(&str, &str)]| {
        let bytes = zipped(parts);
        Package::open(&bytes, Limits::starting_now(&config))
            .unwrap()
            .main_part(&["document.main+xml"], "word/document.xml")
            .unwrap()
    };
    let relationships = "<Relationships><Relationship Id='a' Type='http://purl.oclc.org/ooxml/officeDocument/relationships/officeDocument' Target='/x/y.xml'/></Relationships>";
    let types = "<Types><Override PartName='/z.xml' ContentType='application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml'/></Types>";
    assert_eq!(
        find(&[("_rels/.rels", relationships), ("x/y.xml", "")]).as_deref(),
        Some("x/y.xml")
    );
    assert_eq!(
        find(&[("[Content_Types].xml", types), ("z.xml", "")]).as_deref(),
        Some("z.xml")
    );
    assert_eq!(
        find(&[("word/document.xml", "")]).as_deref(),
        Some("word/document.xml")
    );
    assert_eq!(find(&[("other.xml", "")]), None);
}

#[test]
fn encrypted_members_are_refused() {
    let config = Config::default();
    let mut bytes = zipped(&[("word/document.xml", "<a/>")]);
    // The flag of encryption in the local header and in the directory.
    let places: Vec<usize> = bytes
        .windows(4)
        .enumerate()
        .filter(|(_, window)| *window == b"PK\x03\x04" || *window == b"PK\x01\x02")
        .map(|(place, _)| place)
        .collect();
    for place in places {
        let flags = place
            + if bytes.get(place + 2) == Some(&3) {
                6
            } else {
                8
            };
        *bytes.get_mut(flags).unwrap() |= 1;
    }
    let mut package = Package::open(&bytes, Limits::starting_now(&config)).unwrap();
    let error = package.bytes("word/document.xml").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().starts_with("the document is encrypted"));
}
