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
