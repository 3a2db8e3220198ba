//! The attributes of a structure element.

use std::ffi::{c_int, c_ulong};

use pdfium_render::prelude::{FPDF_STRUCTELEMENT, FPDF_STRUCTELEMENT_ATTR_VALUE};

use crate::pdf::document::utf16_text;
use crate::pdf::library::Bindings;

/// Most attributes of an element, and texts of one attribute, that are looked at.
const MAXIMUM_ATTRIBUTES: c_int = 16;
const MAXIMUM_TEXTS: c_int = 8;

/// Reads the attributes of an element.
pub(super) struct Attributes<'a> {
    pub pdfium: &'a Bindings,
    /// Valid while its tree is open, and so are its attributes and their values.
    pub element: FPDF_STRUCTELEMENT,
}

impl Attributes<'_> {
    /// The name of the element itself, by which others refer to it; empty without one.
    pub(super) fn id(&self) -> String {
        // SAFETY: the element is valid; the buffer is as long as said.
        utf16_text(|buffer, length| unsafe {
            self.pdfium
                .FPDF_StructElement_GetID(self.element, buffer, length)
        })
    }

    /// A text or name; empty without it.
    pub(super) fn string(&self, name: &str) -> String {
        let value = self.value(name);
        value.map_or_else(String::new, |value| self.text(value))
    }

    /// A number without its fraction.
    pub(super) fn number(&self, name: &str) -> Option<usize> {
        let value = self.value(name)?;
        let mut number = 0.0_f32;
        // SAFETY: the value is of the valid element.
        let outcome = unsafe {
            self.pdfium
                .FPDF_StructElement_Attr_GetNumberValue(value, &raw mut number)
        };
        (outcome != 0).then_some(number as usize)
    }

    /// The texts of an array.
    pub(super) fn strings(&self, name: &str) -> Vec<String> {
        let Some(value) = self.value(name) else {
            return Vec::new();
        };
        // SAFETY: the value is of the valid element; PDFium checks the index.
        let count = unsafe { self.pdfium.FPDF_StructElement_Attr_CountChildren(value) };
        (0..count.min(MAXIMUM_TEXTS))
            // SAFETY: as above.
            .map(|index| unsafe {
                self.pdfium
                    .FPDF_StructElement_Attr_GetChildAtIndex(value, index)
            })
            .filter(|child| !child.is_null())
            .map(|child| self.text(child))
            .collect()
    }

    /// The first attribute of a name.
    fn value(&self, name: &str) -> Option<FPDF_STRUCTELEMENT_ATTR_VALUE> {
        // SAFETY: the element is valid.
        let count = unsafe {
            self.pdfium
                .FPDF_StructElement_GetAttributeCount(self.element)
        };
        (0..count.min(MAXIMUM_ATTRIBUTES)).find_map(|index| {
            // SAFETY: as above; PDFium checks the index, and a null attribute is not asked for its
            // value.
            let value = unsafe {
                let attribute = self
                    .pdfium
                    .FPDF_StructElement_GetAttributeAtIndex(self.element, index);
                if attribute.is_null() {
                    return None;
                }
                self.pdfium
                    .FPDF_StructElement_Attr_GetValue(attribute, name)
            };
            (!value.is_null()).then_some(value)
        })
    }

    fn text(&self, value: FPDF_STRUCTELEMENT_ATTR_VALUE) -> String {
        utf16_text(|buffer, length| {
            let mut needed: c_ulong = 0;
            // SAFETY: the value is of the valid element; the buffer is as long as said.
            let is_text = unsafe {
                self.pdfium.FPDF_StructElement_Attr_GetStringValue(
                    value,
                    buffer,
                    length,
                    &raw mut needed,
                )
            };
            if is_text == 0 { 0 } else { needed }
        })
    }
}
