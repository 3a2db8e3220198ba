//! Messages of our own making.
#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Write};

use crate::convert;
use crate::document::Converted;
use crate::limits::Limits;
use crate::{Config, Job};

/// A message with these texts (property, value) and an attachment.
fn message(texts: &[(&str, &str)], attached: &[u8]) -> Vec<u8> {
    let mut file =
        cfb::CompoundFile::create_with_version(cfb::Version::V3, Cursor::new(Vec::new())).unwrap();
    let mut put =
        |path: &str, bytes: &[u8]| file.create_stream(path).unwrap().write_all(bytes).unwrap();
    put("/__properties_version1.0", &[0; 32]);
    let utf16 = |text: &str| {
        text.encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>()
    };
    for (property, text) in texts {
        put(&format!("/__substg1.0_{property}001F"), &utf16(text));
    }
    file.create_storage("/__nameid_version1.0").unwrap();
    file.create_storage("/__attach_version1.0_#00000000")
        .unwrap();
    let mut put = |path: &str, bytes: &[u8]| {
        file.create_stream(format!("/__attach_version1.0_#00000000/{path}"))
            .unwrap()
            .write_all(bytes)
            .unwrap();
    };
    put("__properties_version1.0", &[0; 8]);
    put("__substg1.0_3707001F", &utf16("告警.txt"));
    put("__substg1.0_37010102", attached);
    file.flush().unwrap();
    file.into_inner().into_inner()
}

fn converted(bytes: &[u8]) -> tributary_schemas::Result<Converted> {
    let config = Config::default();
    convert(
        Job::named(bytes, "a.msg"),
        &config,
        &Limits::starting_now(&config),
    )
}

#[test]
fn a_message_is_read_like_any_mail() {
    let texts = [
        ("0037", "载波聚合 review"),
        ("1000", "Dear all,\r\n\r\nthe tilt is 6 degrees.\r\n"),
        ("0C1A", "Li Wei"),
        ("5D01", "li@example.org"),
    ];
    let mail = converted(&message(&texts, b"attached")).unwrap();
    assert_eq!(
        (mail.title.as_deref(), mail.media_type.as_str()),
        (Some("载波聚合 review"), super::MEDIA_TYPE)
    );
    assert!(
        mail.markdown
            .starts_with("# 载波聚合 review\n\n- **From**: Li Wei"),
        "{}",
        mail.markdown
    );
    assert!(
        mail.markdown.contains("the tilt is 6 degrees."),
        "{}",
        mail.markdown
    );
    assert!(
        mail.markdown
            .contains("- 告警.txt (application/octet-stream, 8 bytes)"),
        "{}",
        mail.markdown
    );
    assert_eq!(
        mail.blobs.first().map(|file| file.bytes.as_slice()),
        Some(b"attached".as_slice())
    );
}

#[test]
fn a_message_that_holds_a_document_is_a_message() {
    let mut document =
        cfb::CompoundFile::create_with_version(cfb::Version::V3, Cursor::new(Vec::new())).unwrap();
    document
        .create_stream("/WordDocument")
        .unwrap()
        .write_all(&[0; 8192])
        .unwrap();
    document.flush().unwrap();
    let mail = converted(&message(
        &[("0037", "subject"), ("1000", "body")],
        &document.into_inner().into_inner(),
    ))
    .unwrap();
    assert_eq!(mail.media_type, super::MEDIA_TYPE);
}

#[test]
fn a_damaged_message_is_refused_or_read_in_part() {
    let whole = message(&[("0037", "subject"), ("1000", "body")], b"attached");
    for length in (600..whole.len()).step_by(97) {
        if let Err(error) = converted(whole.get(..length).unwrap_or_default()) {
            assert!(!error.to_string().is_empty());
        }
    }
    assert!(converted(whole.get(..700).unwrap_or_default()).is_err());
}

/// A file of these streams, whose paths name the storages.
fn file(streams: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file =
        cfb::CompoundFile::create_with_version(cfb::Version::V3, Cursor::new(Vec::new())).unwrap();
    for (path, content) in streams {
        let path = std::path::Path::new(path);
        file.create_storage_all(path.parent().unwrap()).unwrap();
        file.create_stream(path)
            .unwrap()
            .write_all(content)
            .unwrap();
    }
    file.flush().unwrap();
    file.into_inner().into_inner()
}

/// Short properties (number, value) behind a header.
fn short(header: usize, properties: &[(u16, u32)]) -> Vec<u8> {
    let mut stream = vec![0; header];
    for (number, value) in properties {
        stream.extend(
            [3, 0]
                .into_iter()
                .chain(number.to_le_bytes())
                .chain([0; 4])
                .chain(value.to_le_bytes())
                .chain([0; 4]),
        );
    }
    stream
}

#[test]
fn text_of_eight_bits_is_in_the_code_page_that_is_named() {
    let chinese = |text: &str| encoding_rs::GBK.encode(text).0.into_owned();
    let (subject, body) = (chinese("基站告警"), chinese("<p>小区退服</p>"));
    for named in [short(32, &[(0x3FFD, 936)]), short(32, &[(0x3FF1, 0x0804)])] {
        let streams: [(&str, &[u8]); 3] = [
            ("/__properties_version1.0", &named),
            ("/__substg1.0_0037001E", &subject),
            ("/__substg1.0_10130102", &body),
        ];
        assert_eq!(
            converted(&file(&streams)).unwrap().markdown,
            "# 基站告警\n\n小区退服\n\n"
        );
    }
}

#[test]
fn attached_messages_are_read_and_objects_listed() {
    let utf16 = |text: &str| {
        text.encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>()
    };
    let (subject, name, inner, recipient) = (
        utf16("outer"),
        utf16("sheet"),
        utf16("inner text"),
        utf16("li@example.org"),
    );
    let streams: [(&str, &[u8]); 9] = [
        ("/__properties_version1.0", &short(32, &[])),
        ("/__substg1.0_0037001F", &subject),
        (
            "/__recip_version1.0_#00000000/__properties_version1.0",
            &short(8, &[(0x0C15, 2)]),
        ),
        (
            "/__recip_version1.0_#00000000/__substg1.0_39FE001F",
            &recipient,
        ),
        (
            "/__attach_version1.0_#00000000/__properties_version1.0",
            &short(8, &[(0x3705, 5)]),
        ),
        (
            "/__attach_version1.0_#00000000/__substg1.0_3701000D/__substg1.0_1000001F",
            &inner,
        ),
        (
            "/__attach_version1.0_#00000001/__properties_version1.0",
            &short(8, &[(0x3705, 6)]),
        ),
        ("/__attach_version1.0_#00000001/__substg1.0_3001001F", &name),
        (
            "/__attach_version1.0_#00000001/__substg1.0_3701000D/CONTENTS",
            b"object",
        ),
    ];
    let mail = converted(&file(&streams)).unwrap();
    let expected = "# outer\n\n- **Cc**: li@example.org\n\n**Attachments**:\n\n- sheet (application/octet-stream)\n\ninner text\n\n";
    assert_eq!((mail.markdown.as_str(), mail.blobs.len()), (expected, 0));
}
