//! PDF: text in reading order, headings, lists, tables, links.
//!
//! The route with PDFium (`library`): open (`document`) → characters, links and drawn lines of each
//! page (`page_text`) → running headers, footers and page numbers off (`repeats`) → tables,
//! columns, paragraphs (`layout`) → footnotes (`notes`) → tables over pages (`over_pages`) → words that
//! lines part (`hyphens`) → headings (`headings`) → Markdown (`render`). Pages with tags that are to be believed take all that from them (`structure`); the metadata `tagged_pages` lists
//! these. Without PDFium the built-in reader does it all (`fallback`). Rules: hidden layers and invisible text are read (it
//! is the text layer of scans), annotations and form fields are not, running lines that are taken
//! off stand once in the metadata `running_lines`, pages are parted by form feeds, pages without
//! readable text are read from their pictures (`scans`); those that are left unread are listed in
//! the metadata `pages_without_text`.

mod aligned;
mod blocks;
mod characters;
mod code;
mod columns;
mod cuts;
mod direction;
mod document;
mod entries;
mod fallback;
mod fonts;
mod geometry;
mod headings;
mod hyphens;
mod layout;
mod library;
mod lines;
mod links;
mod listings;
mod lists;
mod markers;
mod notes;
mod over_pages;
mod overlaps;
mod own_rows;
mod page_image;
mod page_text;
mod raised;
mod render;
mod repeats;
mod ruled;
mod rules;
mod scans;
mod second_fonts;
mod segments;
mod statistics;
mod structure;
mod tables;
mod unicode;
mod wrapped;

use std::collections::BTreeMap;

use tributary_models::ocr::RgbImage;
use tributary_schemas::{Error, ErrorKind, Result};

use crate::config::{Engine, PdfConfig};
use crate::document::{Converted, EmbeddedFile, PageWanted};
use crate::limits::Limits;
use crate::picture::jpeg;
use document::Document;
use page_text::PageText;
use render::References;
use statistics::Statistics;

#[doc(hidden)]
pub use headings::{HeadingExample, heading_examples};
pub use library::{
    LIBRARY_VARIABLE, find as find_library, is_named as is_library_named, probe as probe_library,
};

/// Name and version with PDFium; the version grows with every change of the output.
pub(crate) const NAME: &str = "pdf/11";

/// Name and version where tags told the text of a page at least.
pub(crate) const TAGGED_NAME: &str = "pdf-tagged/7";

/// Name and version of the built-in reader.
pub const BUILTIN_NAME: &str = "pdf-builtin/1";

/// What helps with a damaged document.
const SAVE_AGAIN: &str =
    "open it in a PDF viewer and save it again, or fetch it again from its source";

/// Name in the metadata of the pages whose text their tags tell.
const TAGGED_PAGES: &str = "tagged_pages";

/// Media type of PDF.
const MEDIA_TYPE: &str = "application/pdf";

/// What the readers keep to.
#[derive(Clone, Copy, Debug)]
struct Bounds<'a> {
    settings: &'a PdfConfig,
    limits: &'a Limits<'a>,
}

/// What a reader finds.
#[derive(Debug, Default)]
struct Extracted {
    markdown: String,
    title: Option<String>,
    metadata: BTreeMap<String, String>,
}

/// Converts a PDF.
///
/// Errors: `Unsupported` if it needs a password, `Corrupt` if no page can be read, `Invalid` over a
/// limit, `Unavailable` without libpdfium where the configuration or the environment names it.
pub(crate) fn convert(
    bytes: &[u8],
    settings: &PdfConfig,
    limits: &Limits<'_>,
) -> Result<Converted> {
    let library = match settings.engine {
        Engine::Builtin => None,
        Engine::Pdfium => Some(library::lock(settings)?),
        Engine::Auto => match library::lock(settings) {
            Err(error) if library::is_named(settings) => return Err(error),
            found => found.ok(),
        },
    };
    let bounds = Bounds { settings, limits };
    let (extracted, converter) = match &library {
        Some(pdfium) => (
            extract(&Document::open(pdfium.as_ref(), bytes)?, bounds)?,
            NAME,
        ),
        None => (fallback::extract(bytes, bounds)?, BUILTIN_NAME),
    };
    if library.is_none()
        && let (Some(pictures), true) = (
            limits.pictures,
            extracted.metadata.contains_key("pages_without_text"),
        )
    {
        pictures
            .unavailable("pages can only be drawn with libpdfium: get it with `deploy/models/fetch`, or name it in `convert.pdf.library`");
    }
    let Extracted {
        markdown,
        title,
        mut metadata,
    } = extracted;
    let converter = if metadata.contains_key(TAGGED_PAGES) {
        TAGGED_NAME
    } else {
        converter
    };
    let title = metadata
        .remove("title")
        .filter(|title| is_title(title))
        .or(title);
    Ok(Converted {
        markdown,
        title,
        media_type: MEDIA_TYPE.to_owned(),
        converter: converter.into(),
        metadata,
        ..Converted::default()
    })
}

/// Opens a PDF and lets `work` have pictures of its pages, `width` pixels wide, by their indices
/// from 0; `work` also gets their number.
///
/// Errors: `Unavailable` without libpdfium, those of opening the document and of `work`.
pub(crate) fn with_pictures<T>(
    bytes: &[u8],
    settings: &PdfConfig,
    work: impl FnOnce(usize, &dyn Fn(usize, u16) -> Result<RgbImage>) -> Result<T>,
) -> Result<T> {
    let pdfium = library::lock(settings)?;
    let document = Document::open(pdfium.as_ref(), bytes)?;
    check_pages(document.page_count(), settings)?;
    let draw = |index: usize, width: u16| {
        let unreadable = || {
            Error::new(
                ErrorKind::Corrupt,
                format!("page {} cannot be drawn", index + 1),
            )
        };
        page_image::draw_wide(
            &document.page(index).ok_or_else(unreadable)?,
            width,
            settings,
        )
    };
    work(document.page_count(), &draw)
}

/// The picture of one page, a JPEG, as the only file of a document without text.
///
/// Errors: `NotFound` for a page that the document does not have, and those of
/// [`with_pictures`].
pub(crate) fn page_picture(
    bytes: &[u8],
    wanted: PageWanted,
    settings: &PdfConfig,
) -> Result<Converted> {
    let PageWanted { number, width } = wanted;
    let picture = with_pictures(bytes, settings, |pages, draw| {
        let index = usize::try_from(number)
            .ok()
            .and_then(|at| at.checked_sub(1));
        let index = index.filter(|index| *index < pages).ok_or_else(|| {
            let message = format!("there is no page {number}: the document has {pages}");
            Error::new(ErrorKind::NotFound, message)
        })?;
        draw(index, width)
    })?;
    let unwritable = || {
        Error::new(
            ErrorKind::Internal,
            "the picture of a page cannot be written",
        )
    };
    let file = EmbeddedFile {
        name: format!("page-{number}.jpg"),
        media_type: "image/jpeg".to_owned(),
        bytes: jpeg::of(&picture).ok_or_else(unwritable)?,
    };
    Ok(Converted {
        media_type: MEDIA_TYPE.to_owned(),
        blobs: vec![file],
        ..Converted::default()
    })
}

fn extract(document: &Document, bounds: Bounds<'_>) -> Result<Extracted> {
    let read = read_pages(document, bounds)?;
    let mut metadata = document.metadata();
    metadata.insert("pages".to_owned(), read.pages.len().to_string());
    let scans = scans::read(document, &read.pages, &mut metadata, bounds)?;
    let damaged = page_list(read.unreadable.into_iter().map(|index| index + 1));
    metadata
        .extend(damaged.map(|list| ("damaged".to_owned(), format!("pages {list} cannot be read"))));
    let mut pages = read.pages;
    let tagged = pages
        .iter()
        .enumerate()
        .filter(|(_, page)| !page.told.is_empty());
    let tagged = page_list(tagged.map(|(index, _)| index + 1));
    metadata.extend(tagged.map(|list| (TAGGED_PAGES.to_owned(), list)));
    let removed = repeats::remove(&mut pages);
    if !removed.is_empty() {
        metadata.insert("running_lines".to_owned(), removed.join("\n"));
    }
    let (blocks, notes) = page_blocks(document, pages, bounds)?;
    let references = References {
        addresses: &read.addresses,
        notes: &notes,
    };
    let with_scan = |(index, blocks): (usize, &Vec<_>)| {
        scans
            .get(&index)
            .cloned()
            .unwrap_or_else(|| render::page(blocks, references))
    };
    let markdown = blocks
        .iter()
        .enumerate()
        .map(with_scan)
        .collect::<Vec<_>>()
        .join("\u{c}");
    // Pages without text leave only form feeds: no text at all is no Markdown.
    let is_empty = markdown.chars().all(|character| character == '\u{c}');
    Ok(Extracted {
        title: headings::title(&blocks),
        markdown: if is_empty { String::new() } else { markdown },
        metadata,
    })
}

/// The blocks of each page, with the headings among them, and the labels of notes.
fn page_blocks(
    document: &Document,
    pages: Vec<PageText>,
    bounds: Bounds<'_>,
) -> Result<(Vec<Vec<blocks::Block>>, Vec<String>)> {
    let (mut blocks, statistics) = layout_pages(pages, bounds)?;
    let notes = notes::link(&mut blocks, &statistics);
    hyphens::join_over_ends(&mut blocks);
    over_pages::mark(&mut blocks);
    hyphens::resolve(&mut blocks);
    headings::mark(&mut blocks, &statistics, &document.bookmarks());
    Ok((blocks, notes))
}

/// The blocks of each page, and what is usual on it.
fn layout_pages(
    pages: Vec<PageText>,
    bounds: Bounds<'_>,
) -> Result<(Vec<Vec<blocks::Block>>, Vec<Statistics>)> {
    let whole = Statistics::of(&pages);
    let statistics: Vec<Statistics> = pages.iter().map(|page| whole.of_page(page)).collect();
    let mut blocks = Vec::with_capacity(pages.len());
    let mut open = None;
    for (mut page, statistics) in pages.into_iter().zip(&statistics) {
        let told = std::mem::take(&mut page.told);
        let found = layout::blocks(page, statistics, bounds.limits, &mut open)?;
        blocks.push(structure::with_told(found, told, statistics));
    }
    Ok((blocks, statistics))
}

/// The pages of a document, as far as they can be read.
#[derive(Default)]
struct ReadPages {
    pages: Vec<PageText>,
    /// Where the links of all pages lead.
    addresses: Vec<String>,
    /// Indices of pages that cannot be read.
    unreadable: Vec<usize>,
}

fn read_pages(document: &Document, bounds: Bounds<'_>) -> Result<ReadPages> {
    let count = document.page_count();
    check_pages(count, bounds.settings)?;
    let mut read = ReadPages::default();
    let mut reader = page_text::Reader::new(document, bounds);
    let mut characters = 0;
    for index in 0..count {
        bounds.limits.check_time()?;
        let Some(page) = document.page(index) else {
            read.unreadable.push(index);
            read.pages.push(PageText::default());
            continue;
        };
        let text = reader.page(index, page)?;
        characters += text.characters;
        check_characters(characters, index, bounds.settings)?;
        read.pages.push(text);
    }
    read.addresses = reader.addresses;
    check_readable(&read, count)?;
    let producer = document.metadata().remove("producer");
    if producer.is_some_and(|name| name.starts_with(second_fonts::CHROMIUM)) {
        second_fonts::embolden(&mut read.pages);
    }
    Ok(read)
}

fn check_readable(read: &ReadPages, count: usize) -> Result<()> {
    if read.unreadable.len() < count {
        return Ok(());
    }
    let message = format!("none of the {count} pages can be read");
    Err(Error::new(ErrorKind::Corrupt, message).with_hint(SAVE_AGAIN))
}

/// `Invalid` for more characters than the limit, up to the page with that index.
fn check_characters(characters: usize, index: usize, settings: &PdfConfig) -> Result<()> {
    let maximum = settings.maximum_characters;
    if characters <= maximum {
        return Ok(());
    }
    let message = format!(
        "the document has more than {maximum} characters on its first {} pages",
        index + 1
    );
    Err(Error::new(ErrorKind::Invalid, message)
        .with_hint("split the document, or raise `convert.pdf.maximum_characters`"))
}

/// `Corrupt` without pages, `Invalid` with more than the limit.
fn check_pages(count: usize, settings: &PdfConfig) -> Result<()> {
    let maximum = settings.maximum_pages;
    if count == 0 {
        return Err(
            Error::new(ErrorKind::Corrupt, "the document has no pages").with_hint(SAVE_AGAIN)
        );
    }
    if count > maximum {
        let message = format!("the document has {count} pages, more than {maximum}");
        return Err(Error::new(ErrorKind::Invalid, message)
            .with_hint("split the document, or raise `convert.pdf.maximum_pages`"));
    }
    Ok(())
}

/// Ascending page numbers as `3,7-9`; `None` of none.
fn page_list(numbers: impl Iterator<Item = usize>) -> Option<String> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let written = ranges.iter().map(|(first, last)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    });
    (!ranges.is_empty()).then(|| written.collect::<Vec<_>>().join(","))
}

/// Whether a title of the metadata is one, and not the name of a file or what a program puts there.
fn is_title(title: &str) -> bool {
    let lower = title.trim().to_lowercase();
    let is_file = [
        ".doc", ".docx", ".ppt", ".pptx", ".xls", ".xlsx", ".pdf", ".tex", ".dvi", ".indd", ".odt",
        ".rtf", ".txt", ".qxd", ".fm",
    ]
    .iter()
    .any(|extension| lower.ends_with(extension));
    let is_default = lower.starts_with("microsoft word -")
        || lower.starts_with("microsoft powerpoint -")
        || lower.starts_with("untitled")
        || matches!(
            lower.as_str(),
            "(anonymous)" | "anonymous" | "(unspecified)"
        );
    lower
        .chars()
        .filter(|character| character.is_alphabetic())
        .count()
        >= 2
        && !is_file
        && !is_default
}

#[cfg(test)]
mod tests;
