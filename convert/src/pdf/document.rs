//! One open document of PDFium: opening, pages, metadata, bookmarks. Every handle is closed when
//! its owner is dropped.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{c_int, c_ulong, c_void};

use pdfium_render::prelude::{FPDF_BOOKMARK, FPDF_DOCUMENT, FPDF_PAGE, FPDF_TEXTPAGE};
use tributary_schemas::{Error, ErrorKind, Result};

use super::library::Bindings;

/// Most bookmarks that are read, and how deep.
const MAXIMUM_BOOKMARKS: usize = 20_000;
const MAXIMUM_BOOKMARK_DEPTH: u8 = 16;

/// Longest text of a metadata entry or bookmark, in bytes of UTF-16.
const MAXIMUM_TEXT_BYTES: c_ulong = 16 * 1024;

/// PDFium's error numbers.
const ERROR_PASSWORD: c_ulong = 4;
const ERROR_SECURITY: c_ulong = 5;

/// An open document.
pub(super) struct Document<'a> {
    pub(super) pdfium: &'a Bindings,
    pub(super) handle: FPDF_DOCUMENT,
    pub(super) bytes: &'a [u8],
}

/// An entry of the outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bookmark {
    /// Title as the reader shows it.
    pub title: String,
    /// 1 for the outermost level.
    pub level: u8,
    /// Index of the page that it leads to.
    pub page: Option<usize>,
}

impl<'a> Document<'a> {
    /// Opens a document without a password (or with an empty one).
    ///
    /// Errors: `Unsupported` if it needs a password, `Corrupt` if it is not a readable PDF.
    pub(super) fn open(pdfium: &'a Bindings, bytes: &'a [u8]) -> Result<Self> {
        // SAFETY: the bytes outlive the document, which borrows them.
        let handle = unsafe { pdfium.FPDF_LoadMemDocument64(bytes, None) };
        if !handle.is_null() {
            return Ok(Self {
                pdfium,
                handle,
                bytes,
            });
        }
        // SAFETY: takes no arguments.
        match unsafe { pdfium.FPDF_GetLastError() } {
            ERROR_PASSWORD => Err(encrypted("the document is encrypted and needs a password")),
            ERROR_SECURITY => Err(encrypted(
                "the document is encrypted with a security handler that is not supported",
            )),
            _ => Err(Error::new(
                ErrorKind::Corrupt,
                "not a readable PDF: no page tree is found",
            )
            .with_hint(
                "open it in a PDF viewer and save it again, or fetch it again from its source",
            )),
        }
    }

    /// Number of pages that the document claims.
    pub(super) fn page_count(&self) -> usize {
        // SAFETY: the handle is open.
        usize::try_from(unsafe { self.pdfium.FPDF_GetPageCount(self.handle) }).unwrap_or(0)
    }

    /// Opens a page (index from 0); `None` if it cannot be read.
    pub(super) fn page(&self, index: usize) -> Option<Page<'_>> {
        let index = c_int::try_from(index).ok()?;
        // SAFETY: the handle is open; PDFium checks the index.
        let handle = unsafe { self.pdfium.FPDF_LoadPage(self.handle, index) };
        (!handle.is_null()).then_some(Page {
            pdfium: self.pdfium,
            handle,
        })
    }

    /// Entries of the information dictionary that are not empty, by lowercase name.
    pub(super) fn metadata(&self) -> BTreeMap<String, String> {
        let entries = [
            "Title",
            "Author",
            "Subject",
            "Keywords",
            "Creator",
            "Producer",
            "CreationDate",
            "ModDate",
        ];
        let names = [
            "title", "author", "subject", "keywords", "creator", "producer", "created", "modified",
        ];
        let texts = entries.iter().map(|entry| {
            // SAFETY: the buffer is as long as said.
            utf16_text(|buffer, length| unsafe {
                self.pdfium
                    .FPDF_GetMetaText(self.handle, entry, buffer, length)
            })
        });
        let found = names.iter().zip(texts).filter(|(_, text)| !text.is_empty());
        found
            .map(|(name, text)| {
                (
                    (*name).to_owned(),
                    if matches!(*name, "created" | "modified") {
                        time(&text)
                    } else {
                        text
                    },
                )
            })
            .collect()
    }

    /// The outline in order; cut off where it is too deep, too long or leads back to itself.
    pub(super) fn bookmarks(&self) -> Vec<Bookmark> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        // SAFETY: the handle is open, a null bookmark stands for the root.
        let first = unsafe {
            self.pdfium
                .FPDFBookmark_GetFirstChild(self.handle, std::ptr::null_mut())
        };
        let mut stack = vec![(first, 1_u8)];
        while let Some((bookmark, level)) = stack.pop() {
            if bookmark.is_null()
                || !seen.insert(bookmark as usize)
                || found.len() >= MAXIMUM_BOOKMARKS
            {
                continue;
            }
            found.push(self.bookmark(bookmark, level));
            // SAFETY: bookmarks stay valid while the document is open.
            let (next, child) = unsafe {
                (
                    self.pdfium
                        .FPDFBookmark_GetNextSibling(self.handle, bookmark),
                    self.pdfium
                        .FPDFBookmark_GetFirstChild(self.handle, bookmark),
                )
            };
            stack.push((next, level));
            if level < MAXIMUM_BOOKMARK_DEPTH {
                stack.push((child, level + 1));
            }
        }
        found
    }

    fn bookmark(&self, bookmark: FPDF_BOOKMARK, level: u8) -> Bookmark {
        // SAFETY: the bookmark is of this open document; the buffer is as long as said.
        let title = utf16_text(|buffer, length| unsafe {
            self.pdfium.FPDFBookmark_GetTitle(bookmark, buffer, length)
        });
        // SAFETY: as above; a null destination is not asked for its page.
        let page = unsafe {
            let destination = self.pdfium.FPDFBookmark_GetDest(self.handle, bookmark);
            if destination.is_null() {
                -1
            } else {
                self.pdfium
                    .FPDFDest_GetDestPageIndex(self.handle, destination)
            }
        };
        Bookmark {
            title,
            level,
            page: usize::try_from(page).ok(),
        }
    }
}

impl Drop for Document<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is open and used by nobody after this: pages borrow the document.
        unsafe { self.pdfium.FPDF_CloseDocument(self.handle) };
    }
}

/// An open page.
pub(super) struct Page<'a> {
    pub(super) pdfium: &'a Bindings,
    pub(super) handle: FPDF_PAGE,
}

impl Page<'_> {
    /// The page's characters; `None` if its text cannot be read.
    pub(super) fn text(&self) -> Option<TextPage<'_>> {
        // SAFETY: the page is open.
        let handle = unsafe { self.pdfium.FPDFText_LoadPage(self.handle) };
        (!handle.is_null()).then_some(TextPage {
            pdfium: self.pdfium,
            handle,
        })
    }
}

impl Drop for Page<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is open and used by nobody after this.
        unsafe { self.pdfium.FPDF_ClosePage(self.handle) };
    }
}

/// The characters of an open page.
pub(super) struct TextPage<'a> {
    pub(super) pdfium: &'a Bindings,
    pub(super) handle: FPDF_TEXTPAGE,
}

impl Drop for TextPage<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is open and used by nobody after this.
        unsafe { self.pdfium.FPDFText_ClosePage(self.handle) };
    }
}

/// `D:20240131120000+01'00'` as `2024-01-31T12:00:00+01:00`; other text as it is.
fn time(text: &str) -> String {
    let digits: Vec<char> = text
        .trim_start_matches("D:")
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    if digits.len() < 8 {
        return text.to_owned();
    }
    let part = |from: usize, length: usize| {
        digits
            .get(from..from + length)
            .map_or_else(|| "00".to_owned(), |part| part.iter().collect())
    };
    let zone: String = text
        .trim_start_matches("D:")
        .chars()
        .skip(digits.len())
        .collect();
    let zone = time_zone(&zone);
    format!(
        "{}-{}-{}T{}:{}:{}{zone}",
        part(0, 4),
        part(4, 2),
        part(6, 2),
        part(8, 2),
        part(10, 2),
        part(12, 2)
    )
}

/// `+01'00'` as `+01:00`; anything else is UTC.
fn time_zone(text: &str) -> String {
    let zone = text.replace('\'', "");
    match zone.split_at_checked(3) {
        Some((hours, minutes)) if hours.starts_with(['+', '-']) => format!(
            "{hours}:{}",
            if minutes.len() == 2 { minutes } else { "00" }
        ),
        _ => "Z".to_owned(),
    }
}

fn encrypted(message: &str) -> Error {
    Error::new(ErrorKind::Unsupported, message)
        .with_hint("save a copy without a password and send that")
}

/// Text of a function that fills a buffer with UTF-16 and answers the bytes it needs; empty if
/// there is none or too much of it.
pub(super) fn utf16_text(fill: impl Fn(*mut c_void, c_ulong) -> c_ulong) -> String {
    let bytes = fill(std::ptr::null_mut(), 0);
    if !(4..=MAXIMUM_TEXT_BYTES).contains(&bytes) {
        return String::new();
    }
    let mut units = vec![0_u16; bytes.div_ceil(2) as usize];
    let written = fill(units.as_mut_ptr().cast(), bytes);
    if written > bytes {
        return String::new();
    }
    let text = String::from_utf16_lossy(&units);
    let clean: String = text
        .chars()
        .filter(|character| *character == '\n' || !character.is_control())
        .collect();
    clean.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_everywhere_else() {
        assert_eq!(time("D:20240131120000+01'00'"), "2024-01-31T12:00:00+01:00");
        assert_eq!(time("D:20240131"), "2024-01-31T00:00:00Z");
        assert_eq!(time("yesterday"), "yesterday");
    }
}
