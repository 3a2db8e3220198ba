//! Pages without text, read from their pictures.

use std::collections::BTreeMap;

use tributary_schemas::Result;

use super::document::Document;
use super::page_image;
use super::page_text::PageText;
use super::{Bounds, page_list};

/// The Markdown of pages without text, by their indices; those that are left unread are noted.
pub(super) fn read(
    document: &Document,
    pages: &[PageText],
    metadata: &mut BTreeMap<String, String>,
    bounds: Bounds<'_>,
) -> Result<BTreeMap<usize, String>> {
    let without_text: Vec<usize> = pages
        .iter()
        .enumerate()
        .filter(|(_, page)| !page.has_text)
        .map(|(index, _)| index)
        .collect();
    let scans = texts(document, &without_text, bounds)?;
    let unread = without_text
        .iter()
        .filter(|index| !scans.contains_key(index))
        .map(|index| index + 1);
    metadata.extend(page_list(unread).map(|list| ("pages_without_text".to_owned(), list)));
    Ok(scans)
}

/// The Markdown of these pages (indices from 0), empty for one without text; those that are left
/// unread are missing.
fn texts(
    document: &Document,
    pages: &[usize],
    bounds: Bounds<'_>,
) -> Result<BTreeMap<usize, String>> {
    let mut texts = BTreeMap::new();
    for index in pages.iter().copied() {
        bounds.limits.check_time()?;
        let Some(page) = document.page(index) else {
            continue;
        };
        // A limit, or nobody who reads: those after it fare no better.
        let Some(reader) = bounds
            .limits
            .pictures
            .filter(|reader| reader.takes_another())
        else {
            break;
        };
        let picture = page_image::draw(&page, reader.dots_per_inch(), bounds.settings)?;
        let Some(text) = reader.read(&picture)? else {
            break;
        };
        texts.insert(index, text);
    }
    Ok(texts)
}
