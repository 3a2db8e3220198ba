//! Hostile and damaged documents: none may panic, hang or grow without bound.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use tributary_schemas::ErrorKind;

use super::test_package::{TestPackage, markdown, paragraph};
use crate::config::Config;
use crate::limits::Limits;

fn sample() -> TestPackage {
    let table = "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den/></m:f></m:oMath></w:p></w:tc></w:tr></w:tbl>";
    let body: String = (0..40)
        .map(|number| paragraph("<w:pStyle w:val='1'/>", &format!("Heading {number}")) + table)
        .collect();
    TestPackage::with_body(&body)
        .part("word/styles.xml", "<w:styles><w:style w:type='paragraph' w:styleId='1'><w:name w:val='heading 1'/></w:style></w:styles>")
        .part("word/numbering.xml", "<w:numbering/>")
}

fn convert(bytes: &[u8]) -> tributary_schemas::Result<crate::document::Converted> {
    let config = Config::default();
    super::convert(bytes, &config.docx, &Limits::starting_now(&config))
}

fn kind(package: &TestPackage) -> ErrorKind {
    package.converted().unwrap_err().kind()
}

#[test]
fn truncated_files_are_refused() {
    let bytes = sample().zipped();
    assert!(convert(&bytes).is_ok());
    for length in (0..bytes.len()).step_by(97) {
        assert_eq!(
            convert(bytes.get(..length).unwrap()).unwrap_err().kind(),
            ErrorKind::Corrupt,
            "{length} bytes"
        );
    }
}

#[test]
fn flipped_bits_do_no_harm() {
    let bytes = sample().zipped();
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let (mut read, mut refused) = (0, 0);
    for _ in 0..600 {
        let mut damaged = bytes.clone();
        for _ in 0..3 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let place = usize::try_from(state).unwrap() % damaged.len();
            *damaged.get_mut(place).unwrap() ^= 1 << (state >> 61);
        }
        match convert(&damaged) {
            Ok(_) => read += 1,
            Err(error) => {
                assert!(
                    matches!(
                        error.kind(),
                        ErrorKind::Corrupt | ErrorKind::Invalid | ErrorKind::Unsupported
                    ),
                    "{error}"
                );
                refused += 1;
            }
        }
    }
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}

#[test]
fn flipped_bits_in_the_main_part_do_no_harm() {
    let body: String = (0..30)
        .map(|number| paragraph("<w:pStyle w:val='1'/>", &format!("Text {number}")))
        .collect();
    let text = format!("<w:document><w:body>{body}</w:body></w:document>");
    let mut state = 88_172_645_463_325_252_u64;
    for _ in 0..600 {
        let mut damaged = text.clone().into_bytes();
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let place = usize::try_from(state).unwrap() % damaged.len();
        *damaged.get_mut(place).unwrap() ^= 1 << (state >> 61);
        match sample().bytes("word/document.xml", &damaged).converted() {
            Ok(converted) => assert!(converted.markdown.len() < 4096),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}"),
        }
    }
}

#[test]
fn half_a_main_part_is_read_with_a_note_and_less_is_refused() {
    let body: String = (0..200)
        .map(|number| format!("<w:p><w:r><w:t>Text {number}</w:t></w:r></w:p>"))
        .collect();
    let text = format!("<w:document><w:body>{body}</w:body></w:document>");
    let broken_at = |percent: usize| {
        let (before, after) = text.split_at(text.len() * percent / 100);
        sample().part("word/document.xml", &format!("{before}</broken>{after}"))
    };
    let converted = broken_at(80).converted().unwrap();
    assert!(converted.markdown.contains("Text 100"));
    assert!(
        converted
            .metadata
            .get("damaged")
            .unwrap()
            .contains("word/document.xml")
    );
    assert_eq!(kind(&broken_at(20)), ErrorKind::Corrupt);
}

#[test]
fn deep_nesting_is_refused() {
    for (open, close) in [
        ("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>"),
        ("<w:sdt><w:sdtContent>", "</w:sdtContent></w:sdt>"),
        (
            "<w:p><w:r><w:pict><w:txbxContent>",
            "</w:txbxContent></w:pict></w:r></w:p>",
        ),
        ("<m:oMath><m:f><m:num>", "</m:num></m:f></m:oMath>"),
        (
            "<mc:AlternateContent><mc:Choice>",
            "</mc:Choice></mc:AlternateContent>",
        ),
        ("<x>", "</x>"),
    ] {
        let bomb = TestPackage::with_body(&(open.repeat(50_000) + &close.repeat(50_000)));
        let config = Config {
            maximum_unpacking_ratio: 100_000,
            ..Config::default()
        };
        assert_eq!(
            bomb.converted_with(&config).unwrap_err().kind(),
            ErrorKind::Invalid,
            "{open}"
        );
    }
}

#[test]
fn nesting_up_to_the_limit_fits_the_stack() {
    let (open, close) = ("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>");
    let cell = "<w:p><w:r><w:t>deep</w:t></w:r></w:p>";
    assert!(markdown(&(open.repeat(80) + cell + &close.repeat(80))).contains("deep"));
    let (open, close) = ("<m:f><m:num>", "</m:num></m:f>");
    let formula = format!(
        "<w:p><m:oMath>{}<m:r><m:t>x</m:t></m:r>{}</m:oMath></w:p>",
        open.repeat(120),
        close.repeat(120)
    );
    assert!(markdown(&formula).contains("frac"));
}

#[test]
fn bombs_are_stopped() {
    let zeros = vec![b' '; 40 << 20];
    let bomb = sample().bytes("word/styles.xml", &zeros);
    let error = bomb.converted().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        error
            .full_message()
            .contains("convert.maximum_unpacking_ratio")
    );
    let mut config = Config {
        maximum_unpacking_ratio: 100_000,
        maximum_unpacked_bytes: 8 << 20,
        ..Config::default()
    };
    let error = bomb.converted_with(&config).unwrap_err();
    assert!(
        error
            .full_message()
            .contains("convert.maximum_unpacked_bytes"),
        "{error}"
    );
    config.office.maximum_parts = 3;
    let error = bomb.converted_with(&config).unwrap_err();
    assert!(
        error
            .full_message()
            .contains("convert.office.maximum_parts"),
        "{error}"
    );
}

#[test]
fn repetition_is_bounded() {
    // One wide merged cell over many rows, and one note that is referred to again and again.
    let wide = format!(
        "<w:tc><w:tcPr><w:gridSpan w:val='1000000'/></w:tcPr>{}</w:tc>",
        paragraph("", &"w".repeat(190))
    );
    let rows = format!(
        "<w:tr><w:trPr><w:gridBefore w:val='99999999'/><w:tblHeader/></w:trPr>{wide}{wide}</w:tr>"
    )
    .repeat(2000);
    let mut config = Config {
        maximum_markdown_bytes: 1 << 20,
        ..Config::default()
    };
    config.maximum_unpacking_ratio = 100_000;
    let error = TestPackage::with_body(&format!("<w:tbl>{rows}</w:tbl>"))
        .converted_with(&config)
        .unwrap_err();
    assert!(
        error
            .full_message()
            .contains("convert.maximum_markdown_bytes"),
        "{error}"
    );
}

#[test]
fn late_conversions_stop() {
    let body = paragraph("", "x").repeat(200_000);
    let config = Config {
        maximum_unpacking_ratio: 100_000,
        ..Config::default()
    };
    let bytes = TestPackage::with_body(&body).zipped();
    let late = Limits {
        deadline: Instant::now(),
        ..Limits::starting_now(&config)
    };
    let started = Instant::now();
    assert_eq!(
        super::convert(&bytes, &config.docx, &late)
            .unwrap_err()
            .kind(),
        ErrorKind::Invalid
    );
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn references_to_themselves_end() {
    let styles = "<w:styles><w:style w:type='paragraph' w:styleId='1'><w:basedOn w:val='1'/></w:style></w:styles>";
    let numbering = "<w:numbering><w:abstractNum w:abstractNumId='0'><w:numStyleLink w:val='1'/></w:abstractNum><w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num></w:numbering>";
    let body = paragraph(
        "<w:pStyle w:val='1'/><w:numPr><w:numId w:val='1'/></w:numPr>",
        "text",
    );
    let package = TestPackage::with_body(&body)
        .part("word/styles.xml", styles)
        .part("word/numbering.xml", numbering);
    assert!(package.markdown().contains("text"));
}

#[test]
fn strange_packages_are_read_or_refused() {
    let plain = sample().markdown();
    let scattered = sample()
        .without("[Content_Types].xml")
        .without("_rels/.rels");
    assert_eq!(scattered.markdown(), plain);
    let text = paragraph("", "text");
    let backslashes = TestPackage::with_body("")
        .without("word/document.xml")
        .part(
            "Word\\Document.xml",
            &format!("<document><body>{text}</body></document>"),
        );
    assert_eq!(backslashes.markdown(), "text\n");
    let utf16: Vec<u8> = format!(
        "<?xml version='1.0' encoding='UTF-16'?><w:document><w:body>{text}</w:body></w:document>"
    )
    .encode_utf16()
    .flat_map(u16::to_le_bytes)
    .collect();
    assert_eq!(
        sample()
            .bytes(
                "word/document.xml",
                &[&[0xFF, 0xFE], utf16.as_slice()].concat()
            )
            .markdown(),
        "text\n"
    );
    assert_eq!(
        kind(&sample().without("word/document.xml")),
        ErrorKind::Corrupt
    );
    assert_eq!(
        kind(&sample().part("word/document.xml", "<html/>")),
        ErrorKind::Corrupt
    );
    assert_eq!(
        convert(b"plain text").unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    assert_eq!(convert(b"").unwrap_err().kind(), ErrorKind::Corrupt);
}
