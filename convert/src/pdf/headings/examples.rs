//! What is known of each paragraph that may be a heading, for fitting `weights`.

use tributary_schemas::Result;

use super::Outline;
use super::features::{Candidate, Document};
use crate::config::PdfConfig;
use crate::limits::Limits;
use crate::pdf::{Bounds, document, layout_pages, library, notes, read_pages, repeats};

/// A paragraph that may be a heading.
#[derive(Clone, Debug)]
pub struct HeadingExample {
    /// Its text, with marks where links begin and end.
    pub text: String,
    /// An entry of the document's outline names it.
    pub is_in_outline: bool,
    /// What speaks for it and against it, by name.
    pub features: Vec<(&'static str, f32)>,
}

/// The paragraphs of a PDF that may be headings, in order, as geometry finds them.
///
/// Errors: those of the converter; `Unavailable` without libpdfium.
pub fn heading_examples(
    bytes: &[u8],
    settings: &PdfConfig,
    limits: &Limits<'_>,
) -> Result<Vec<HeadingExample>> {
    let pdfium = library::lock(settings)?;
    let open = document::Document::open(pdfium.as_ref(), bytes)?;
    let bounds = Bounds { settings, limits };
    let mut pages = read_pages(&open, bounds)?.pages;
    repeats::remove(&mut pages);
    let (mut blocks, statistics) = layout_pages(pages, bounds)?;
    notes::link(&mut blocks, &statistics);
    let outline = Outline::of(&open.bookmarks());
    let document = Document::of(&blocks, &statistics);
    let example = |candidate: Candidate| {
        let paragraph = candidate.paragraph;
        Some(HeadingExample {
            text: paragraph.text.clone(),
            is_in_outline: outline.level(candidate.page, paragraph).is_some(),
            features: document.features(&candidate)?,
        })
    };
    Ok(document.candidates().filter_map(example).collect())
}
