//! Escapes what Markdown would read as marks in recognised text.

use crate::escape::{escape_starts, escaped};

/// A line of text.
pub(super) fn escape_line(line: &str) -> String {
    escape_starts(&escaped(line.trim()))
}

/// The text of a table cell.
pub(super) fn escape_cell(text: &str) -> String {
    escaped(text.trim()).replace('|', "\\|")
}
