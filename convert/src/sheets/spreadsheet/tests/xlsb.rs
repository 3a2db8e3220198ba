//! xlsb workbooks.

use super::*;
use crate::sheets::tables::test_support::query;

/// A record; its type and length are numbers of seven bits a byte.
fn record(kind: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = if kind < 0x80 {
        vec![kind as u8]
    } else {
        vec![(kind & 0x7F | 0x80) as u8, (kind >> 7) as u8]
    };
    let mut length = data.len();
    while length >= 0x80 {
        bytes.push((length & 0x7F) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend_from_slice(data);
    bytes
}

fn wide(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().collect();
    [
        (units.len() as u32).to_le_bytes().to_vec(),
        units.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
    ]
    .concat()
}

fn cell(kind: u32, column: u32, format: u32, value: &[u8]) -> Vec<u8> {
    record(
        kind,
        &[&column.to_le_bytes(), &format.to_le_bytes(), value].concat(),
    )
}

fn row(index: u32, hidden: bool) -> Vec<u8> {
    record(
        0,
        &[
            index.to_le_bytes().to_vec(),
            vec![0; 7],
            vec![u8::from(hidden) << 4],
            vec![0; 5],
        ]
        .concat(),
    )
}

pub(super) fn example() -> Vec<u8> {
    let workbook = record(156, &[vec![0; 8], wide("s1"), wide("Daten")].concat());
    let relationships = r#"<Relationships><Relationship Id="s1" Type="x/worksheet" Target="worksheets/sheet1.bin"/></Relationships>"#;
    let styles = [
        record(617, &[]),
        record(47, &[0, 0, 0, 0]),
        record(47, &[0, 0, 10, 0]),
        record(618, &[]),
    ]
    .concat();
    let texts = record(19, &[vec![0], wide("name")].concat());
    let sheet = [
        row(0, false),
        cell(7, 0, 0, &0_u32.to_le_bytes()),
        cell(6, 1, 0, &wide("rate")),
        row(1, false),
        cell(8, 0, 0, &wide("中文")),
        cell(5, 1, 1, &0.5_f64.to_le_bytes()),
        row(2, true),
        cell(5, 1, 1, &7_f64.to_le_bytes()),
        row(3, false),
        cell(10, 0, 0, &[1]),
        cell(2, 1, 1, &((1_u32 << 2) | 2).to_le_bytes()),
        record(130, &[]),
    ];
    zipped_parts(
        &[
            ("xl/workbook.bin", &workbook),
            ("xl/_rels/workbook.bin.rels", relationships.as_bytes()),
            ("xl/styles.bin", &styles),
            ("xl/sharedStrings.bin", &texts),
            ("xl/worksheets/sheet1.bin", &sheet.concat()),
        ],
        CompressionMethod::Stored,
    )
}

#[test]
fn a_workbook_is_read() {
    let book = converted(&example());
    assert_eq!(
        book.markdown,
        "## Daten\n\n| name | rate |\n| --- | --- |\n| 中文 | 50.00% |\n| TRUE | 100.00% |\n"
    );
    assert_eq!(
        query(&book, "SELECT * FROM Daten"),
        ["'中文'|0.5", "'TRUE'|1.0"]
    );
}
