//! What the attributes of a table cell say: what it spans, and which header cells stand above it.

use std::collections::HashMap;
use std::ffi::{c_int, c_ulong};

use pdfium_render::prelude::{FPDF_STRUCTELEMENT, FPDF_STRUCTELEMENT_ATTR_VALUE};

use crate::pdf::document::utf16_text;
use crate::pdf::library::Bindings;

/// Most rows or columns that one cell spans.
const MAXIMUM_SPAN: usize = 1000;

/// Most attributes of a cell and header cells of it that are looked at.
const MAXIMUM_ATTRIBUTES: c_int = 16;
const MAXIMUM_HEADERS: c_int = 8;

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
}

impl Default for CellTags {
    fn default() -> Self {
        Self {
            columns: 1,
            rows: 1,
            id: String::new(),
            headers: Vec::new(),
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

/// Reads the tags of an element that is a cell; `kind` is its type.
pub(super) fn read(pdfium: &Bindings, element: FPDF_STRUCTELEMENT, kind: &str) -> CellTags {
    let reader = Reader { pdfium, element };
    let is_header = kind == "TH" && matches!(reader.scope().as_str(), "Column" | "Both");
    CellTags {
        columns: reader.span("ColSpan"),
        rows: reader.span("RowSpan"),
        id: if is_header {
            reader.id()
        } else {
            String::new()
        },
        headers: reader.headers(),
    }
}

struct Reader<'a> {
    pdfium: &'a Bindings,
    /// Valid while its tree is open, and so are its attributes and their values.
    element: FPDF_STRUCTELEMENT,
}

impl Reader<'_> {
    fn scope(&self) -> String {
        // SAFETY: the element is valid; the buffer is as long as said.
        utf16_text(|buffer, length| unsafe {
            self.pdfium
                .FPDF_StructElement_GetStringAttribute(self.element, "Scope", buffer, length)
        })
    }

    fn id(&self) -> String {
        // SAFETY: the element is valid; the buffer is as long as said.
        utf16_text(|buffer, length| unsafe {
            self.pdfium
                .FPDF_StructElement_GetID(self.element, buffer, length)
        })
    }

    /// The first attribute of a name.
    fn value(&self, name: &str) -> Option<FPDF_STRUCTELEMENT_ATTR_VALUE> {
        // SAFETY: the element is valid; PDFium checks the index, and a null attribute is not asked
        // for its value.
        unsafe {
            let count = self
                .pdfium
                .FPDF_StructElement_GetAttributeCount(self.element);
            (0..count.min(MAXIMUM_ATTRIBUTES)).find_map(|index| {
                let attribute = self
                    .pdfium
                    .FPDF_StructElement_GetAttributeAtIndex(self.element, index);
                if attribute.is_null() {
                    return None;
                }
                let value = self
                    .pdfium
                    .FPDF_StructElement_Attr_GetValue(attribute, name);
                (!value.is_null()).then_some(value)
            })
        }
    }

    /// The number of a span attribute, 1 without it.
    fn span(&self, name: &str) -> usize {
        let mut number = 1.0_f32;
        let is_number = self.value(name).is_some_and(|value| {
            // SAFETY: the value is of the valid element.
            let outcome = unsafe {
                self.pdfium
                    .FPDF_StructElement_Attr_GetNumberValue(value, &raw mut number)
            };
            outcome != 0
        });
        let number = if is_number { number as usize } else { 1 };
        number.clamp(1, MAXIMUM_SPAN)
    }

    fn headers(&self) -> Vec<String> {
        let Some(value) = self.value("Headers") else {
            return Vec::new();
        };
        // SAFETY: the value is of the valid element; PDFium checks the index.
        let children = unsafe {
            let count = self.pdfium.FPDF_StructElement_Attr_CountChildren(value);
            (0..count.min(MAXIMUM_HEADERS)).map(move |index| {
                self.pdfium
                    .FPDF_StructElement_Attr_GetChildAtIndex(value, index)
            })
        };
        children
            .filter(|child| !child.is_null())
            .map(|child| self.string(child))
            .collect()
    }

    fn string(&self, value: FPDF_STRUCTELEMENT_ATTR_VALUE) -> String {
        utf16_text(|buffer, length| {
            let mut needed: c_ulong = 0;
            // SAFETY: the value is of the valid element; the buffer is as long as said.
            let is_string = unsafe {
                self.pdfium.FPDF_StructElement_Attr_GetStringValue(
                    value,
                    buffer,
                    length,
                    &raw mut needed,
                )
            };
            if is_string == 0 { 0 } else { needed }
        })
    }
}
