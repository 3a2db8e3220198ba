//! Tables of any origin, written twice: as Markdown for reading and as an SQLite database for
//! questions about numbers.
//!
//! The route: rows come in (`spool`, or a reader of its own) → tables are found (`layout`) → each
//! is read once for its head and the types of its columns (`survey`, `header`, `plan`) and once
//! more to be written (`writer`: `markdown`, `database`). Titles of a table that has a header stand
//! above it as text.

pub(crate) mod classify;
pub(crate) mod database;
pub(crate) mod header;
pub(crate) mod layout;
pub(crate) mod markdown;
pub(crate) mod merges;
pub(crate) mod names;
pub(crate) mod plan;
pub(crate) mod spool;
pub(crate) mod survey;
#[cfg(test)]
pub(crate) mod test_support;
pub(crate) mod value;
pub(crate) mod writer;
