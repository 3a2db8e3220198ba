//! OpenDocument texts and presentations (.odt, .odp and their templates), read by the crate
//! `anydoc`: its blocks as Markdown, properties as metadata, pictures beside it.
//!
//! Rules: tracked deletions, comments and what is hidden are dropped; headers, footers, dates, slide
//! numbers and indexes too, such as the table of contents. Footnotes and endnotes stand at the end. Each slide is a page, its title a heading of level 2, its notes a
//! quotation; the pages of a text are known to its layout program alone.

mod blocks;
mod left_out;
mod pages;
mod properties;
mod styles;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use anydoc::{ConvertError, Format, to_document};
use tributary_schemas::{Error, ErrorKind, Result};

use self::styles::Styles;
use crate::archive::{Archive, encrypted};
use crate::document::Converted;
use crate::limits::Limits;
use crate::slides::slide_images::note_hidden;
use crate::titles::stated_or_shown;

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "open-document/3";

/// The part that holds text and slides.
const CONTENT: &str = "content.xml";
/// The part that holds the styles that have names.
const STYLES: &str = "styles.xml";

/// What the document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A text.
    Text,
    /// Slides.
    Presentation,
}

/// Converts a text or a presentation, with what is hidden if it is kept. Errors: `Unsupported` if encrypted, `Corrupt` if it cannot be
/// read, `Invalid` over a limit.
pub(crate) fn convert(
    bytes: &[u8],
    kind: Kind,
    keeps_hidden: bool,
    limits: &Limits,
) -> Result<Converted> {
    let mut archive = Archive::open(bytes, limits)?;
    // Also unpacks it within our own limits, before somebody else does within theirs.
    let content = archive
        .read(CONTENT)?
        .ok_or_else(|| corrupt(&format!("the part {CONTENT} is missing")))?;
    let mut metadata = properties::read(&mut archive)?;
    let common = archive.read(STYLES)?.unwrap_or_default();
    let package = match std::str::from_utf8(&content) {
        Ok(content) => {
            let common = std::str::from_utf8(&common).ok().unwrap_or_default();
            let styles = Styles::read([common, content]);
            let cleaned = left_out::cleaned(content, &styles, keeps_hidden);
            note_hidden(&mut metadata, &cleaned.hidden_slides);
            let to_read = match kind {
                Kind::Text => cleaned.content,
                Kind::Presentation => pages::with_marks(&cleaned.content).into(),
            };
            pages::with_content(bytes, content, &to_read)?
        }
        Err(_) => Cow::Borrowed(bytes),
    };
    let format = match kind {
        Kind::Text => Format::Odt,
        Kind::Presentation => Format::Odp,
    };
    let document = to_document(&package, format).map_err(refused)?;
    limits.check_time()?;
    let written = blocks::write(document, limits)?;
    limits.check_markdown(&written.markdown)?;
    Ok(Converted {
        markdown: written.markdown,
        title: stated_or_shown(metadata.get("title").cloned(), written.first_heading),
        converter: NAME.into(),
        metadata,
        images: written.pictures.images,
        blobs: written.pictures.blobs,
        ..Converted::default()
    })
}

fn refused(error: ConvertError) -> Error {
    match error {
        ConvertError::Encrypted => encrypted(),
        ConvertError::ResourceLimit { .. } => Error::new(
            ErrorKind::Invalid,
            format!("the OpenDocument file is too large to read: {error}"),
        )
        .with_hint("split the document"),
        other => corrupt(&other.to_string()),
    }
}

fn corrupt(what: &str) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("not a readable OpenDocument file: {what}"),
    )
    .with_hint("open it in LibreOffice and save it again")
}
