//! Workbooks made to break readers: claims, bombs and damage.

use std::time::{Duration, Instant};

use super::ods::ods;
use super::*;
use crate::sheets::tables::test_support::{damaged, query};

#[test]
fn claimed_sizes_cost_nothing() {
    let content = r#"<dimension ref="A1:XFD1048576"/><sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="4294967295"><c r="A4294967295"><v>2</v></c></row>
<row r="1048576"><c r="XFD1048576"><v>3</v></c></row><row r="99999999999999999999"><c r="B1"><v>4</v></c></row></sheetData>"#;
    let started = Instant::now();
    let book = converted(&sheet(content));
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(book.markdown, "## S\n\n| 1 |\n| --- |\n| 2 |\n\n3\n");
    assert_eq!(query(&book, "SELECT cell FROM _notes"), ["'XFD1048576'"]);
}

#[test]
fn a_diagonal_over_the_whole_sheet_is_bounded() {
    let rows: String = (1..=3000)
        .map(|row| {
            format!(
                r#"<row r="{row}"><c r="A{row}"><v>1</v></c>{}</row>"#,
                diagonal(row)
            )
        })
        .collect();
    let started = Instant::now();
    let book = converted(&sheet(&format!("<sheetData>{rows}</sheetData>")));
    assert!(started.elapsed() < Duration::from_secs(20));
    assert!(book.markdown.len() < 10 << 20, "{}", book.markdown.len());
    assert!(book.markdown.contains("are only in the database"));
}

fn diagonal(row: u32) -> String {
    (0..3)
        .map(|step| {
            format!(
                r#"<c r="{}{row}"><v>{row}</v></c>"#,
                crate::sheets::tables::database::column_name(row + step)
            )
        })
        .collect()
}

#[test]
fn bombs_are_refused_with_the_limit_that_they_break() {
    let blanks = format!("<row/>{}", " ".repeat(1 << 20));
    let error = failure(&sheet(&format!(
        "<sheetData>{}</sheetData>",
        blanks.repeat(72)
    )));
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("400 times its size"), "{error}");
    let mut config = Config::default();
    config.spreadsheet.maximum_unpacked_bytes = 100_000;
    let rows: String = (1..5000)
        .map(|row| format!(r#"<row r="{row}"><c r="A{row}"><v>{row}</v></c></row>"#))
        .collect();
    let bytes = sheet(&format!("<sheetData>{rows}</sheetData>"));
    let error = convert_with(&bytes, &config).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        error
            .full_message()
            .contains("convert.spreadsheet.maximum_unpacked_bytes"),
        "{error}"
    );
    let mut config = Config::default();
    config.spreadsheet.maximum_cells = 1000;
    assert!(
        convert_with(&bytes, &config)
            .unwrap_err()
            .full_message()
            .contains("convert.spreadsheet.maximum_cells")
    );
    let mut config = Config::default();
    config.tables.maximum_sheet_bytes = 1000;
    assert!(
        convert_with(&bytes, &config)
            .unwrap_err()
            .full_message()
            .contains("convert.tables.maximum_sheet_bytes")
    );
    let mut config = Config::default();
    config.spreadsheet.maximum_sheets = 0;
    assert!(
        convert_with(&bytes, &config)
            .unwrap_err()
            .full_message()
            .contains("convert.spreadsheet.maximum_sheets")
    );
}

#[test]
fn shared_texts_and_endless_tags_are_bounded() {
    let texts = format!("<sst>{}</sst>", "<si><t>text</t></si>".repeat(5000));
    let bytes = xlsx(
        &[("S", "", "<sheetData/>")],
        &[("xl/sharedStrings.xml", &texts)],
        CompressionMethod::Deflated,
    );
    let mut config = Config::default();
    config.spreadsheet.maximum_shared_text_bytes = 10_000;
    assert!(
        convert_with(&bytes, &config)
            .unwrap_err()
            .full_message()
            .contains("convert.spreadsheet.maximum_shared_text_bytes")
    );
    let endless = format!("<sheetData><row><c><v>{}", "1".repeat(17 << 20));
    assert_eq!(failure(&sheet(&endless)).kind(), ErrorKind::Corrupt);
}

#[test]
fn deep_nesting_is_only_as_deep_as_the_file() {
    let deep = format!(
        "<sheetData>{}<row r=\"1\"><c r=\"A1\"><v>1</v></c></row></sheetData>",
        "<x>".repeat(500_000)
    );
    assert_eq!(converted(&sheet(&deep)).markdown, "## S\n\n1\n");
    let cell = format!(
        r#"<table:table table:name="T"><table:table-row><table:table-cell>{}"#,
        "<x>".repeat(500_000)
    );
    assert!(
        convert_with(&ods("", &cell), &Config::default())
            .is_ok_and(|book| book.metadata.contains_key("damaged"))
            || failure(&ods("", &cell)).kind() == ErrorKind::Corrupt
    );
}

#[test]
fn what_is_no_workbook_is_refused() {
    for (bytes, kind) in [
        (&b""[..], ErrorKind::Corrupt),
        (b"\x01\x02\x03\x04", ErrorKind::Corrupt),
        (b"<html><table></table></html>", ErrorKind::Unsupported),
        (b"a\tb\n1\t2\n", ErrorKind::Unsupported),
        (b"PK\x03\x04 cut off", ErrorKind::Corrupt),
        (
            b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1 cut off",
            ErrorKind::Corrupt,
        ),
    ] {
        assert_eq!(failure(bytes).kind(), kind, "{bytes:?}");
    }
    assert_eq!(
        failure(&zipped_parts(
            &[("word/document.xml", b"<w/>")],
            CompressionMethod::Stored
        ))
        .kind(),
        ErrorKind::Unsupported
    );
    assert_eq!(
        failure(&zipped_parts(
            &[("xl/workbook.xml", b"<html/>")],
            CompressionMethod::Stored
        ))
        .kind(),
        ErrorKind::Unsupported
    );
}

fn check_damaged(bytes: &[u8], flips: usize) -> (usize, usize) {
    let (mut read, mut refused) = (0, 0);
    for copy in damaged(bytes, flips) {
        match convert_with(&copy, &Config::default()) {
            Ok(_) => read += 1,
            Err(error) => {
                assert!(
                    matches!(
                        error.kind(),
                        ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::Invalid
                    ),
                    "{error}"
                );
                refused += 1;
            }
        }
    }
    (read, refused)
}

#[test]
fn damaged_containers_end() {
    let content = r#"<cols><col min="2" max="3" hidden="0"/></cols><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" s="1"><v>45351.5</v></c></row></sheetData><mergeCells><mergeCell ref="A1:B2"/></mergeCells>"#;
    let more = [
        ("xl/sharedStrings.xml", "<sst><si><t>x</t></si></sst>"),
        (
            "xl/styles.xml",
            "<styleSheet><cellXfs><xf/><xf numFmtId=\"14\"/></cellXfs></styleSheet>",
        ),
    ];
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let (read, refused) = check_damaged(
            &xlsx(&[("S", "", content), ("T", "", content)], &more, method),
            400,
        );
        assert!(read > 20 && refused > 20, "{read} {refused}");
    }
    check_damaged(
        &super::xls::container("Workbook", &super::xls::stream(&super::xls::example())),
        400,
    );
    check_damaged(&super::xlsb::example(), 400);
    check_damaged(
        &ods(
            "",
            r#"<table:table table:name="T"><table:table-row><table:table-cell office:value-type="float" office:value="1" table:number-columns-repeated="3"><text:p>1.0</text:p></table:table-cell></table:table-row></table:table>"#,
        ),
        400,
    );
}

/// Damage inside the parts, which the container's checksums do not see.
#[test]
fn damaged_content_ends() {
    for copy in damaged(&super::xls::stream(&super::xls::example()), 1500) {
        drop(convert_with(
            &super::xls::container("Workbook", &copy),
            &Config::default(),
        ));
    }
    let content = br#"<worksheet><sheetPr filterMode="0"/><sheetData><row r="1" hidden="0"><c r="A1" t="inlineStr"><is><t>a&amp;b&#65;</t></is></c><c r="B1" s="0"><f>HYPERLINK("http://a")</f><v>1.5</v></c></row></sheetData><mergeCells><mergeCell ref="A1:B2"/></mergeCells><hyperlinks><hyperlink ref="A1" r:id="x"/></hyperlinks></worksheet>"#;
    for copy in damaged(content, 1500) {
        let workbook = br#"<workbook><sheets><sheet name="S" r:id="s"/></sheets></workbook>"#;
        let relationships = br#"<Relationships><Relationship Id="s" Type="x/worksheet" Target="s.xml"/></Relationships>"#;
        let parts: [(&str, &[u8]); 4] = [
            ("_rels/.rels", ROOT_RELATIONSHIPS.as_bytes()),
            ("xl/workbook.xml", workbook),
            ("xl/_rels/workbook.xml.rels", relationships),
            ("xl/s.xml", &copy),
        ];
        match convert_with(
            &zipped_parts(&parts, CompressionMethod::Stored),
            &Config::default(),
        ) {
            Ok(book) => assert!(!book.markdown.contains('\u{C}')),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}"),
        }
    }
}

#[test]
fn a_row_and_a_list_without_end_are_bounded() {
    let row = format!(
        r#"<sheetData><row r="1">{}</row></sheetData>"#,
        r#"<c r="A1"><v>1</v></c>"#.repeat(200_000)
    );
    assert_eq!(converted(&sheet(&row)).markdown, "## S\n\n1\n");
    let text = "x".repeat(1 << 20);
    let long = format!(
        r#"<sheetData><row r="1">{}</row></sheetData>"#,
        r#"<c t="s"><v>0</v></c>"#.repeat(100)
    );
    let shared = format!("<sst><si><t>{text}</t></si></sst>");
    let error = failure(&xlsx(
        &[("S", "", &long)],
        &[("xl/sharedStrings.xml", &shared)],
        CompressionMethod::Deflated,
    ));
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    let workbook = format!(
        "<workbook><sheets>{}</sheets></workbook>",
        "<sheet/>".repeat(100_000)
    );
    let parts: [(&str, &[u8]); 2] = [
        ("_rels/.rels", ROOT_RELATIONSHIPS.as_bytes()),
        ("xl/workbook.xml", workbook.as_bytes()),
    ];
    assert!(
        failure(&zipped_parts(&parts, CompressionMethod::Deflated))
            .full_message()
            .contains("convert.spreadsheet.maximum_sheets")
    );
}
