//! What tests of the converters share: reading a database blob, and damage that is the same in
//! every run.

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::document::Converted;

/// The rows of a query over the database of a document, values joined by `|`.
#[allow(clippy::unwrap_used)]
pub(crate) fn query(converted: &Converted, sql: &str) -> Vec<String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &converted.blobs.first().unwrap().bytes).unwrap();
    let connection = Connection::open(file.path()).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement
        .query_map([], |row| {
            (0..columns)
                .map(|column| row.get::<_, Value>(column))
                .collect::<Result<Vec<_>, _>>()
        })
        .unwrap();
    rows.map(|row| row.unwrap().iter().map(text).collect::<Vec<_>>().join("|"))
        .collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => format!("{number:?}"),
        Value::Text(text) => format!("'{text}'"),
        Value::Blob(_) => "blob".to_owned(),
    }
}

/// Numbers that look random and are the same in every run (xorshift).
pub(crate) struct Random(pub u64);

impl Random {
    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// The bytes cut off at every 97th byte, and with one to eight bits flipped in `flips` ways.
pub(crate) fn damaged(bytes: &[u8], flips: usize) -> Vec<Vec<u8>> {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let cut = (0..bytes.len())
        .step_by(97)
        .map(|end| bytes.iter().take(end).copied().collect());
    let flipped = (0..flips).map(|_| {
        let mut copy = bytes.to_vec();
        for _ in 0..=random.below(8) {
            let at = random.below(copy.len());
            if let Some(byte) = copy.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        copy
    });
    cut.chain(flipped.collect::<Vec<_>>()).collect()
}
