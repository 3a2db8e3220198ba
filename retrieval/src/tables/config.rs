//! Settings of questions to tables, section `[query_api.answer.table]`; the values live in
//! `cli/default.toml`.

use serde::{Deserialize, Serialize};

/// How tables are chosen and asked.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TableConfig {
    /// Documents with tables that are looked at for a question, at most.
    pub candidates: usize,
    /// Documents that are looked through for tables where the search finds fewer.
    pub looked_through: usize,
    /// Tables that a statement may read, at most.
    pub tables: usize,
    /// Values of each column that a model is shown.
    pub samples: usize,
    /// Characters of each.
    pub sample_characters: usize,
    /// Tokens of a model's reply at most.
    pub reply_tokens: usize,
    /// Longest time that a model has for a statement, in milliseconds.
    pub deadline_ms: u64,
    /// Whether a statement that fails is shown to the model again, once.
    pub repair: bool,
    /// Longest time of a statement, in milliseconds.
    pub statement_ms: u64,
    /// Steps of SQLite's machine that it may take.
    pub statement_steps: u64,
    /// Memory that it may use, in bytes.
    pub statement_memory_bytes: u64,
    /// Rows of an answer at most.
    pub maximum_rows: usize,
    /// Bytes of text of an answer at most.
    pub maximum_bytes: usize,
    /// Largest database of a document that is asked, in bytes.
    pub maximum_database_bytes: usize,
    /// Databases kept in memory, in bytes.
    pub cache_bytes: usize,
    /// Statements that run at the same time.
    pub statements_at_once: usize,
    /// Rows of an answer that are shown in its text.
    pub shown_rows: usize,
}

impl TableConfig {
    /// Most tables of a statement: SQLite attaches ten databases.
    const MOST_TABLES: usize = 8;

    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        let positive = [
            (self.candidates > 0, "candidates"),
            (self.reply_tokens > 0, "reply_tokens"),
            (self.deadline_ms > 0, "deadline_ms"),
            (self.statement_ms > 0, "statement_ms"),
            (self.statement_steps > 0, "statement_steps"),
            (self.statement_memory_bytes > 0, "statement_memory_bytes"),
            (self.maximum_rows > 0, "maximum_rows"),
            (self.maximum_bytes > 0, "maximum_bytes"),
            (self.maximum_database_bytes > 0, "maximum_database_bytes"),
            (self.statements_at_once > 0, "statements_at_once"),
            (self.shown_rows > 0, "shown_rows"),
        ];
        let zero = positive.into_iter().filter(|(holds, _)| !holds);
        let tables = (1..=Self::MOST_TABLES).contains(&self.tables);
        let tables = (!tables).then(|| {
            let most = Self::MOST_TABLES;
            format!("table.tables must be between 1 and {most}")
        });
        zero.map(|(_, key)| format!("table.{key} must be at least 1"))
            .chain(tables)
    }
}
