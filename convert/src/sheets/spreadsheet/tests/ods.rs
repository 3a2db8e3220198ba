//! OpenDocument spreadsheets.

use super::*;
use crate::sheets::tables::test_support::query;

/// A spreadsheet with the given automatic styles and sheets.
pub(super) fn ods(styles: &str, sheets: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content><office:automatic-styles>{styles}</office:automatic-styles><office:body><office:spreadsheet>{sheets}</office:spreadsheet></office:body></office:document-content>"
    );
    zipped_parts(
        &[
            (
                "mimetype",
                b"application/vnd.oasis.opendocument.spreadsheet",
            ),
            ("content.xml", content.as_bytes()),
        ],
        CompressionMethod::Stored,
    )
}

const SHEET: &str = r##"<table:table table:name="Costs" table:style-name="ta1"><table:table-column table:number-columns-repeated="3"/><table:table-column table:visibility="collapse"/>
<table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>
<table:table-row><table:table-cell office:value-type="string"><text:p>name</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>share</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>day</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>hidden</text:p></table:table-cell></table:table-row>
<table:table-row table:number-rows-repeated="2"><table:table-cell table:number-rows-spanned="2" office:value-type="string"><office:annotation><text:p>comment</text:p></office:annotation><text:p>a<text:s text:c="2"/>b</text:p>
<text:p><text:a xlink:href="https://host/">c</text:a></text:p></table:table-cell><table:table-cell office:value-type="percentage" office:value="0.125"><text:p>12.5%</text:p></table:table-cell><table:table-cell office:value-type="date" office:date-value="2024-02-29T00:00:00"><text:p>29.02.24</text:p></table:table-cell></table:table-row>
<table:table-row><table:covered-table-cell/><table:table-cell office:value-type="float" office:value="0"><text:p>#DIV/0!</text:p></table:table-cell><table:table-cell office:value-type="date" office:date-value="2024-03-01"><text:p>01.03.24</text:p></table:table-cell></table:table-row>
<table:table-row table:number-rows-repeated="1048570"><table:table-cell table:number-columns-repeated="16384"/></table:table-row></table:table>"##;

#[test]
fn a_sheet_is_read() {
    let hidden = SHEET.replace("Costs", "Hidden").replace("ta1", "ta2");
    let styles = r#"<style:style style:name="ta2"><style:table-properties table:display="false"/></style:style>"#;
    let book = converted(&ods(styles, &format!("{SHEET}{hidden}")));
    let expected = "\
## Costs

| name | share | day |
| --- | --- | --- |
| [a  b<br>c](https://host/) | 12.5% | 2024-02-29 |
| [a  b<br>c](https://host/) | 12.5% | 2024-02-29 |
| | #DIV/0! | 2024-03-01 |
";
    assert_eq!(book.markdown, expected);
    assert_eq!(
        query(&book, "SELECT share, day FROM Costs"),
        [
            "0.125|'2024-02-29'",
            "0.125|'2024-02-29'",
            "NULL|'2024-03-01'"
        ]
    );
    assert_eq!(
        book.metadata.get("hidden_sheets").map(String::as_str),
        Some("Hidden")
    );
}

#[test]
fn repetitions_are_bounded() {
    let cell = r#"<table:table-cell table:number-columns-repeated="4000000000" office:value-type="float" office:value="1"/>"#;
    let row = format!(
        r#"<table:table-row table:number-rows-repeated="4000000000">{cell}</table:table-row>"#
    );
    let bytes = ods(
        "",
        &format!(r#"<table:table table:name="T">{row}</table:table>"#),
    );
    let mut config = Config::default();
    config.spreadsheet.maximum_cells = 1_000_000;
    let error = convert_with(&bytes, &config).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let row = row.replace("4000000000", "1000000");
    let error = convert_with(
        &ods(
            "",
            &format!(r#"<table:table table:name="T">{row}</table:table>"#),
        ),
        &config,
    )
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        error
            .full_message()
            .contains("convert.spreadsheet.maximum_cells")
    );
}

#[test]
fn encrypted_and_other_documents_are_refused() {
    let manifest = br#"<manifest:manifest><manifest:file-entry><manifest:encryption-data/></manifest:file-entry></manifest:manifest>"#;
    let error = failure(&zipped_parts(
        &[
            ("content.xml", b"\x01\x02\x03"),
            ("META-INF/manifest.xml", manifest),
        ],
        CompressionMethod::Stored,
    ));
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().starts_with("the document is encrypted"));
    let text = zipped_parts(
        &[("content.xml", b"<office:document-content><office:body><office:text/></office:body></office:document-content>")],
        CompressionMethod::Stored,
    );
    assert_eq!(failure(&text).kind(), ErrorKind::Unsupported);
}
