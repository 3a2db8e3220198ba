//! xls workbooks.

use std::io::Read;

use super::*;
use crate::sheets::tables::test_support::query;

fn record(kind: u16, data: &[u8]) -> Vec<u8> {
    [
        &kind.to_le_bytes(),
        &(data.len() as u16).to_le_bytes(),
        data,
    ]
    .concat()
}

fn words(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn place(row: u16, column: u16, format: u16, value: &[u8]) -> Vec<u8> {
    [words(&[row, column, format]), value.to_vec()].concat()
}

/// An OLE2 container with one stream.
pub(super) fn container(name: &str, stream: &[u8]) -> Vec<u8> {
    let mut file = cfb::CompoundFile::create(Cursor::new(Vec::new())).unwrap();
    file.create_stream(name).unwrap().write_all(stream).unwrap();
    file.flush().unwrap();
    file.into_inner().into_inner()
}

/// A workbook stream with one visible sheet and one that is hidden.
pub(super) fn stream(sheet: &[Vec<u8>]) -> Vec<u8> {
    let begin = record(0x0809, &words(&[0x0600, 5, 0, 0]));
    let format = record(
        0x041E,
        &[words(&[164, 4]), vec![0], b"0.0%".to_vec()].concat(),
    );
    let formats = [0_u16, 14, 164]
        .map(|id| record(0x00E0, &words(&[0, id, 0, 0])))
        .concat();
    let texts = record(
        0x00FC,
        &[
            vec![0; 8],
            words(&[4]),
            vec![0],
            b"name".to_vec(),
            words(&[2]),
            vec![1],
            words(&[0x4E2D, 0x6587]),
        ]
        .concat(),
    );
    let listed = |position: u32, state: u8, name: &str| {
        record(
            0x0085,
            &[
                position.to_le_bytes().to_vec(),
                vec![state, 0, name.len() as u8, 0],
                name.as_bytes().to_vec(),
            ]
            .concat(),
        )
    };
    let end = record(0x000A, &[]);
    let length = begin.len()
        + format.len()
        + formats.len()
        + texts.len()
        + end.len()
        + listed(0, 0, "Data").len()
        + listed(0, 1, "Gone").len();
    let sheets = [
        listed(length as u32, 0, "Data"),
        listed(length as u32, 1, "Gone"),
    ]
    .concat();
    [
        begin.clone(),
        format,
        formats,
        texts,
        sheets,
        end.clone(),
        begin,
        sheet.concat(),
        end,
    ]
    .concat()
}

pub(super) fn example() -> Vec<Vec<u8>> {
    vec![
        // A claim of four billion rows.
        record(
            0x0200,
            &[0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 255, 255, 0, 0],
        ),
        record(0x00FD, &place(0, 0, 0, &0_u32.to_le_bytes())),
        record(
            0x0204,
            &place(0, 1, 0, &[words(&[4]), vec![0], b"rate".to_vec()].concat()),
        ),
        record(
            0x0204,
            &place(0, 2, 0, &[words(&[3]), vec![0], b"day".to_vec()].concat()),
        ),
        record(
            0x0204,
            &place(0, 3, 0, &[words(&[2]), vec![0], b"ok".to_vec()].concat()),
        ),
        record(0x00FD, &place(1, 0, 0, &1_u32.to_le_bytes())),
        record(0x0203, &place(1, 1, 2, &0.125_f64.to_le_bytes())),
        record(
            0x027E,
            &place(1, 2, 1, &((45_351_u32 << 2) | 2).to_le_bytes()),
        ),
        record(0x0205, &place(1, 3, 0, &[1, 0])),
        // A formula with a text, one with an error.
        record(
            0x0006,
            &place(
                2,
                0,
                0,
                &[vec![0, 0, 0, 0, 0, 0, 255, 255], vec![0; 8]].concat(),
            ),
        ),
        record(0x0207, &[words(&[1]), vec![0], b"x".to_vec()].concat()),
        record(
            0x0006,
            &place(
                2,
                1,
                0,
                &[vec![2, 0, 7, 0, 0, 0, 255, 255], vec![0; 8]].concat(),
            ),
        ),
        record(
            0x00BD,
            &[
                words(&[3, 1]),
                words(&[2]),
                ((1_u32 << 2) | 2).to_le_bytes().to_vec(),
                words(&[1]),
                ((2_u32 << 2) | 2).to_le_bytes().to_vec(),
                words(&[2]),
            ]
            .concat(),
        ),
        record(0x00E5, &words(&[1, 2, 3, 0, 0])),
        // A chart inside the sheet has cells of its own.
        record(0x0809, &words(&[0x0600, 0x20, 0, 0])),
        record(0x0203, &place(9, 9, 0, &1_f64.to_le_bytes())),
        record(0x000A, &[]),
    ]
}

#[test]
fn a_workbook_is_read() {
    let book = converted(&container("Workbook", &stream(&example())));
    let expected = "\
## Data

| name | rate | day | ok |
| --- | --- | --- | --- |
| 中文 | 12.5% | 2024-02-29 | TRUE |
| x | #DIV/0! | | |
| x | 100.0% | 1900-01-02 | |
";
    assert_eq!(book.markdown, expected);
    assert_eq!(
        query(&book, "SELECT * FROM Data"),
        [
            "'中文'|0.125|'2024-02-29'|1",
            "'x'|NULL|NULL|NULL",
            "'x'|1.0|'1900-01-02'|NULL"
        ]
    );
    assert_eq!(
        book.metadata.get("hidden_sheets").map(String::as_str),
        Some("Gone")
    );
}

#[test]
fn encrypted_and_other_ole_files_are_refused() {
    let encrypted = [
        container("EncryptedPackage", &[1; 5000]),
        container(
            "Workbook",
            &[
                record(0x0809, &words(&[0x0600, 5])),
                record(0x002F, &[1, 0, 1, 0]),
            ]
            .concat(),
        ),
    ];
    for bytes in encrypted {
        let error = failure(&bytes);
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(
            error.to_string().starts_with("the document is encrypted"),
            "{error}"
        );
    }
    assert_eq!(
        failure(&container("WordDocument", b"x")).kind(),
        ErrorKind::Unsupported
    );
    assert_eq!(
        failure(&container("Workbook", b"nonsense")).kind(),
        ErrorKind::Corrupt
    );
    assert_eq!(
        failure(&[9, 0, 4, 0, 2, 0, 16, 0]).kind(),
        ErrorKind::Unsupported
    );
}

#[test]
fn a_stream_is_no_longer_than_its_file() {
    let bytes = container("Workbook", &stream(&example()));
    let mut file = cfb::CompoundFile::open(Cursor::new(bytes.as_slice())).unwrap();
    let mut content = Vec::new();
    file.open_stream("/Workbook")
        .unwrap()
        .read_to_end(&mut content)
        .unwrap();
    assert_eq!(super::super::xls::stream(&bytes).unwrap(), content);
}
