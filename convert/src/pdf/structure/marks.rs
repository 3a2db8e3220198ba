//! To which piece of marked content the objects of a page belong.

use std::collections::HashSet;
use std::ffi::{c_int, c_ulong};

use pdfium_render::prelude::{FPDF_PAGEOBJECT, FPDF_WCHAR};

use crate::pdf::document::Page;
use crate::pdf::library::Bindings;

/// Most marks of one object that are looked at.
const MAXIMUM_MARKS: c_int = 32;

/// The mark of heads, feet and decoration.
const ARTIFACT: &str = "Artifact";

/// What a drawn character belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::pdf) enum Content {
    /// Nothing that the structure names.
    #[default]
    Loose,
    /// A form drawn on the page, such as a stamp or a field: its ids are of another numbering.
    Form,
    /// Marked content by its id.
    Marked(c_int),
    /// A running head or foot, or decoration.
    Artifact,
}

/// The marks of a page's own objects.
pub(in crate::pdf) struct Marks<'a> {
    pdfium: &'a Bindings,
    own: HashSet<FPDF_PAGEOBJECT>,
}

impl<'a> Marks<'a> {
    /// The marks of an open page.
    pub(in crate::pdf) fn of(page: &'a Page) -> Self {
        // SAFETY: the page is open; PDFium checks the index.
        let own = unsafe {
            let count = page.pdfium.FPDFPage_CountObjects(page.handle);
            (0..count)
                .map(|index| page.pdfium.FPDFPage_GetObject(page.handle, index))
                .collect()
        };
        Self {
            pdfium: page.pdfium,
            own,
        }
    }

    /// What an object of the page, or of a form on it, belongs to.
    pub(in crate::pdf) fn content(&self, object: FPDF_PAGEOBJECT) -> Content {
        if !self.own.contains(&object) {
            return Content::Form;
        }
        // SAFETY: the object is of the open page.
        let id = unsafe { self.pdfium.FPDFPageObj_GetMarkedContentID(object) };
        if id >= 0 {
            return Content::Marked(id);
        }
        // SAFETY: as above; PDFium checks the index.
        let count = unsafe { self.pdfium.FPDFPageObj_CountMarks(object) }.min(MAXIMUM_MARKS);
        let is_artifact = (0..count).any(|index| self.name(object, index) == ARTIFACT);
        if is_artifact {
            Content::Artifact
        } else {
            Content::Loose
        }
    }

    /// The name of a mark; empty if it is longer than that of artifacts.
    fn name(&self, object: FPDF_PAGEOBJECT, index: c_int) -> String {
        let mut buffer = [FPDF_WCHAR::default(); ARTIFACT.len() + 1];
        let length = size_of_val(&buffer) as c_ulong;
        let mut needed: c_ulong = 0;
        // SAFETY: the object is of the open page, a null mark is not asked for its name, and the
        // buffer is as long as said.
        let is_known = unsafe {
            let mark = self
                .pdfium
                .FPDFPageObj_GetMark(object, c_ulong::try_from(index).unwrap_or(0));
            !mark.is_null()
                && self.pdfium.FPDFPageObjMark_GetName(
                    mark,
                    buffer.as_mut_ptr(),
                    length,
                    &raw mut needed,
                ) != 0
        };
        if !is_known || needed > length {
            return String::new();
        }
        let name: Vec<u16> = buffer
            .iter()
            .copied()
            .take_while(|unit| *unit != 0)
            .collect();
        String::from_utf16_lossy(&name)
    }
}
