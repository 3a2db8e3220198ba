//! What the attributes of a table cell say: what it spans, and which header cells stand above it.

use std::collections::HashMap;

use super::attributes::Attributes;

/// Most rows or columns that one cell spans.
const MAXIMUM_SPAN: usize = 1000;

/// Most header cells of a document that are remembered.
const MAXIMUM_KNOWN: usize = 50_000;

/// The tags of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CellTags {
    /// Columns that it fills.
    pub columns: usize,
    /// Rows that it fills.
    pub rows: usize,
    /// The name of a header of columns; empty for other cells.
    pub id: String,
    /// The names of the headers of a cell.
    pub headers: Vec<String>,
    /// It is a header of its row or column.
    pub is_header: bool,
}

impl Default for CellTags {
    fn default() -> Self {
        Self {
            columns: 1,
            rows: 1,
            id: String::new(),
            headers: Vec::new(),
            is_header: false,
        }
    }
}

/// The columns of the header cells of a document: tables go on over pages, their headers do not.
#[derive(Default)]
pub(super) struct HeaderColumns {
    known: HashMap<String, usize>,
}

impl HeaderColumns {
    /// Remembers where a header cell stands.
    pub(super) fn insert(&mut self, cell: &CellTags, column: usize) {
        if !cell.id.is_empty() && self.known.len() < MAXIMUM_KNOWN {
            self.known.insert(cell.id.clone(), column);
        }
    }

    /// The column of a cell by its headers.
    pub(super) fn column(&self, cell: &CellTags) -> Option<usize> {
        let columns = cell.headers.iter().map(|header| self.known.get(header));
        columns.flatten().next().copied()
    }
}

/// Reads the tags of a cell; `kind` is its type.
pub(super) fn read(attributes: &Attributes<'_>, kind: &str) -> CellTags {
    let is_header =
        kind == "TH" && matches!(attributes.string("Scope").as_str(), "Column" | "Both");
    CellTags {
        columns: attributes
            .number("ColSpan")
            .unwrap_or(1)
            .clamp(1, MAXIMUM_SPAN),
        rows: attributes
            .number("RowSpan")
            .unwrap_or(1)
            .clamp(1, MAXIMUM_SPAN),
        id: if is_header {
            attributes.id()
        } else {
            String::new()
        },
        headers: attributes.strings("Headers"),
        is_header: kind == "TH",
    }
}
