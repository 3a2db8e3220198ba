//! Pages without text, read from their pictures.

use std::collections::BTreeMap;

use tributary_schemas::Result;

use super::document::Document;
use super::page_image;
use crate::limits::Limits;

/// The Markdown of these pages (indices from 0), empty for one without text; those that are left
/// unread are missing.
pub fn read(
    document: &Document,
    pages: &[usize],
    limits: &Limits<'_>,
) -> Result<BTreeMap<usize, String>> {
    let mut texts = BTreeMap::new();
    for index in pages.iter().copied() {
        limits.check_time()?;
        let Some(page) = document.page(index) else {
            continue;
        };
        // A limit, or nobody who reads: those after it fare no better.
        if !limits.reads_another_picture() {
            break;
        }
        let picture = page_image::draw(&page, limits.config.ocr.dots_per_inch, &limits.config.pdf)?;
        let Some(text) = limits.read_picture(&picture)? else {
            break;
        };
        texts.insert(index, text);
    }
    Ok(texts)
}
