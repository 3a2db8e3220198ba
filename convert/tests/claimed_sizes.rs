//! Workbooks of 1.7 KB that claim to be huge, read with the memory that a conversion process has.
//! They are the proof of decision 0021: a reader that reserves what a file claims, or holds the
//! rectangle around two distant cells, dies on three of the five.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

#[path = "../src/test_config.rs"]
mod test_config;

use std::io::{Cursor, Write};

use rustix::process::{Resource, Rlimit, setrlimit};
use tributary_convert::{Config, Job, Limits, convert};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const WORKBOOK: &str = r#"<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>"#;

const ROOT_RELATIONSHIPS: &str = r#"<Relationships><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;

const RELATIONSHIPS: &str = r#"<Relationships><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" Target="sharedStrings.xml"/></Relationships>"#;

/// What a workbook says of itself, and the row that it has beside the first one.
struct Claims {
    shared_texts: u64,
    dimension: &'static str,
    far_row: &'static str,
}

const MODEST: Claims = Claims {
    shared_texts: 1,
    dimension: "A1:B2",
    far_row: "",
};

/// A workbook whose cell A1 is `hello`.
fn workbook(claims: &Claims) -> Vec<u8> {
    let texts = format!(
        r#"<sst count="1" uniqueCount="{}"><si><t>hello</t></si></sst>"#,
        claims.shared_texts
    );
    let sheet = format!(
        r#"<worksheet><dimension ref="{}"/><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c></row>{}</sheetData></worksheet>"#,
        claims.dimension, claims.far_row
    );
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in [
        ("_rels/.rels", ROOT_RELATIONSHIPS),
        ("xl/workbook.xml", WORKBOOK),
        ("xl/_rels/workbook.xml.rels", RELATIONSHIPS),
        ("xl/sharedStrings.xml", &texts),
        ("xl/worksheets/sheet1.xml", &sheet),
    ] {
        writer
            .start_file(name, SimpleFileOptions::default())
            .unwrap();
        writer.write_all(content.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The only test of its program: the limit holds for the whole process.
#[test]
fn claims_of_a_workbook_cost_no_memory() {
    let config: Config = test_config::config();
    let limit = Some(config.conversion_memory_bytes);
    setrlimit(
        Resource::As,
        Rlimit {
            current: limit,
            maximum: limit,
        },
    )
    .unwrap();
    let many = |shared_texts| Claims {
        shared_texts,
        ..MODEST
    };
    let whole_sheet = Claims {
        dimension: "A1:XFD1048576",
        ..MODEST
    };
    let distant = Claims {
        far_row: r#"<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>"#,
        dimension: "A1:XFD1048576",
        ..MODEST
    };
    for (claims, expected) in [
        (MODEST, "## S\n\nhello\n"),
        (many(1_000_000_000), "## S\n\nhello\n"),
        (many(1_000_000_000_000_000_000), "## S\n\nhello\n"),
        (whole_sheet, "## S\n\nhello\n"),
        (distant, "## S\n\nhello\n\n1\n"),
    ] {
        let limits = Limits::starting_now(&config);
        let bytes = workbook(&claims);
        let book = convert(Job::named(&bytes, "claims.xlsx"), &config, &limits).unwrap();
        assert_eq!(book.markdown, expected, "{}", claims.dimension);
    }
}
