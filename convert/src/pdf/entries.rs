//! What was added to a page after it was made: fields of forms that are filled in, text written on
//! it, stamps and visible signatures.

use std::ffi::c_int;

use super::document::{Document, Page};

/// Most annotations that are looked at.
const MAXIMUM_ANNOTATIONS: c_int = 2000;
/// PDFium's numbers of the kinds of annotations that hold text of the page: text on it, stamps,
/// fields.
const WITH_TEXT: [c_int; 3] = [3, 13, 20];
/// PDFium's number of "as on the screen", and of success.
const AS_DISPLAYED: c_int = 0;
const SUCCESS: c_int = 1;

/// The page with its entries as text of its own; `None` if it has none. The page that was open
/// before stays as it was.
pub(super) fn with_entries<'d>(
    document: &'d Document,
    index: usize,
    page: &Page,
) -> Option<Page<'d>> {
    if !has_entries(page) {
        return None;
    }
    // SAFETY: the page is open.
    let outcome = unsafe { page.pdfium.FPDFPage_Flatten(page.handle, AS_DISPLAYED) };
    // Only a page that is opened again shows what has become part of it.
    if outcome == SUCCESS {
        document.page(index)
    } else {
        None
    }
}

fn has_entries(page: &Page) -> bool {
    // SAFETY: the page is open.
    let count = unsafe { page.pdfium.FPDFPage_GetAnnotCount(page.handle) };
    (0..count.min(MAXIMUM_ANNOTATIONS)).any(|index| {
        // SAFETY: the page is open, and the index is below the count; the annotation is closed
        // before anything else happens.
        unsafe {
            let annotation = page.pdfium.FPDFPage_GetAnnot(page.handle, index);
            if annotation.is_null() {
                return false;
            }
            let kind = page.pdfium.FPDFAnnot_GetSubtype(annotation);
            page.pdfium.FPDFPage_CloseAnnot(annotation);
            WITH_TEXT.contains(&kind)
        }
    })
}
