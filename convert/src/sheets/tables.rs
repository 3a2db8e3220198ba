//! Tables of any origin, written twice: as Markdown for reading and as an SQLite database for
//! questions about numbers.
//!
//! The route: rows come in (`spool`, or a reader of its own) → tables are found (`layout`) → each
//! is read once for its head and the types of its columns (`survey`, `header`, `plan`) and once
//! more to be written (`writer`: `markdown`, `database`). Titles of a table that has a header stand
//! above it as text.

pub mod classify;
pub mod database;
pub mod header;
pub mod layout;
pub mod markdown;
pub mod merges;
pub mod names;
pub mod plan;
pub mod spool;
pub mod survey;
#[cfg(test)]
pub mod test_support;
pub mod value;
pub mod writer;

use serde::{Deserialize, Serialize};

/// The section `[convert.tables]`: tables of spreadsheets and delimited text.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TablesConfig {
    /// Rows between two headers in Markdown: a longer table becomes several with the same header.
    pub rows_per_group: u64,
    /// Most rows of one table that are written as Markdown; a note says how many more are only in
    /// the database.
    pub maximum_markdown_rows: u64,
    /// Bytes of Markdown from which rows are left out; a note says how many more are only in the
    /// database.
    pub maximum_markdown_bytes: usize,
    /// Whether the tables are also written as an SQLite database.
    pub write_database: bool,
    /// Largest database in bytes, which is in memory once it is finished; tables that need more
    /// are refused as `Invalid`.
    pub maximum_database_bytes: u64,
    /// Most columns of a database table, at most 2000; the columns after them are only in the
    /// Markdown.
    pub maximum_database_columns: usize,
    /// Most tables on one sheet; a sheet with more is taken for one table with gaps.
    pub maximum_tables_per_sheet: usize,
    /// Most bytes that the cells of one sheet hold, repeated texts counted each time; more is
    /// refused as `Invalid`.
    pub maximum_sheet_bytes: u64,
    /// Bytes of cells up to which a sheet and the database are kept in memory; larger ones go to
    /// temporary files.
    pub memory_bytes: usize,
}
