//! Links of a page to web addresses. Links within the document are left out: their targets have no
//! place in Markdown.

use std::ffi::{c_int, c_ulong};

use pdfium_render::prelude::{FPDF_LINK, FS_RECTF};

use super::document::{Document, Page};

/// Most links of one page, and the longest address in bytes.
const MAXIMUM_LINKS: usize = 1000;
const MAXIMUM_ADDRESS_BYTES: c_ulong = 2048;

/// Most links of one document; each has a number of its own.
const MAXIMUM_NUMBER: usize = 60_000;

/// PDFium's number of the action that opens an address.
const ADDRESS_ACTION: c_ulong = 3;

/// A link's place on the page, in PDF's own coordinates.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageLink {
    /// Index into the addresses of the document.
    pub number: u16,
    area: [f32; 4],
}

impl PageLink {
    /// Whether a point is part of the link.
    pub(super) fn covers(&self, x: f32, y: f32) -> bool {
        let [left, bottom, right, top] = self.area;
        (left..=right).contains(&x) && (bottom..=top).contains(&y)
    }
}

/// The links of a page; their addresses are added to those of the document.
pub(super) fn read(document: &Document, page: &Page, addresses: &mut Vec<String>) -> Vec<PageLink> {
    let mut links = Vec::new();
    let mut position: c_int = 0;
    let mut link: FPDF_LINK = std::ptr::null_mut();
    // SAFETY: the page is open; PDFium moves the position on and ends at the last annotation.
    while links.len() < MAXIMUM_LINKS
        && unsafe {
            page.pdfium
                .FPDFLink_Enumerate(page.handle, &raw mut position, &raw mut link)
        } != 0
    {
        let (Some(address), Some(area)) = (address(document, link), area(page, link)) else {
            continue;
        };
        if addresses.last() != Some(&address) {
            if addresses.len() >= MAXIMUM_NUMBER {
                break;
            }
            addresses.push(address);
        }
        links.push(PageLink {
            number: (addresses.len() - 1) as u16,
            area,
        });
    }
    links
}

fn area(page: &Page, link: FPDF_LINK) -> Option<[f32; 4]> {
    let mut area = FS_RECTF {
        left: 0.0,
        top: 0.0,
        right: 0.0,
        bottom: 0.0,
    };
    // SAFETY: the link is of the open page.
    let is_known = unsafe { page.pdfium.FPDFLink_GetAnnotRect(link, &raw mut area) } != 0;
    is_known.then(|| {
        [
            area.left.min(area.right),
            area.bottom.min(area.top),
            area.left.max(area.right),
            area.bottom.max(area.top),
        ]
    })
}

fn address(document: &Document, link: FPDF_LINK) -> Option<String> {
    let pdfium = document.pdfium;
    // SAFETY: the link is of the open document; the buffer is as long as said.
    unsafe {
        let action = pdfium.FPDFLink_GetAction(link);
        if action.is_null() || pdfium.FPDFAction_GetType(action) != ADDRESS_ACTION {
            return None;
        }
        let length = pdfium.FPDFAction_GetURIPath(document.handle, action, std::ptr::null_mut(), 0);
        if !(2..=MAXIMUM_ADDRESS_BYTES).contains(&length) {
            return None;
        }
        let mut buffer = vec![0_u8; length as usize];
        pdfium.FPDFAction_GetURIPath(document.handle, action, buffer.as_mut_ptr().cast(), length);
        usable(&String::from_utf8_lossy(&buffer))
    }
}

/// The address as Markdown can hold it; `None` for scripts and other schemes that are no places.
fn usable(address: &str) -> Option<String> {
    let address = address.trim_end_matches('\0').trim();
    let lower = address.to_ascii_lowercase();
    let is_place = ["http://", "https://", "mailto:", "ftp://"]
        .iter()
        .any(|scheme| lower.starts_with(scheme));
    let is_bare = !lower.contains(':') && lower.starts_with("www.");
    if !is_place && !is_bare {
        return None;
    }
    let mut usable = if is_bare {
        "http://".to_owned()
    } else {
        String::new()
    };
    for character in address.chars().filter(|character| !character.is_control()) {
        match character {
            ' ' => usable.push_str("%20"),
            '(' => usable.push_str("%28"),
            ')' => usable.push_str("%29"),
            '<' => usable.push_str("%3C"),
            '>' => usable.push_str("%3E"),
            other => usable.push(other),
        }
    }
    Some(usable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_places_are_kept() {
        assert_eq!(
            usable("http://a/b (c)\0").as_deref(),
            Some("http://a/b%20%28c%29")
        );
        assert_eq!(usable("www.a.org").as_deref(), Some("http://www.a.org"));
        assert_eq!(usable("javascript:alert(1)"), None);
        assert_eq!(usable("file.pdf"), None);
    }
}
