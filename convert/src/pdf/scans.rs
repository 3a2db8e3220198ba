//! Pages without text, read from their pictures.

use std::collections::BTreeMap;

use tributary_schemas::Result;

use super::Bounds;
use super::document::Document;
use super::page_image;

/// The Markdown of these pages (indices from 0), empty for one without text; those that are left
/// unread are missing.
pub(super) fn read(
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
