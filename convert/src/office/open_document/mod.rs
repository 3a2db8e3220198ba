//! OpenDocument texts and presentations (.odt, .odp and their templates), read by the crate
//! `anydoc`: its blocks as Markdown, properties as metadata, pictures beside it.
//!
//! Rules: tracked deletions and hidden fields are dropped; headers, footers, dates, slide numbers and
//! indexes too, such as the table of contents. Text that its style hides is read. Footnotes and
//! endnotes stand at the end. Each slide is a page, its title a heading of level 2, its notes a
//! quotation; the pages of a text are known to its layout program alone.

mod blocks;
mod indexes;
mod pages;
mod properties;
#[cfg(test)]
mod tests;

use anydoc::{ConvertError, Format, to_document};
use tributary_schemas::{Error, ErrorKind, Result};

use crate::archive::{Archive, encrypted};
use crate::document::Converted;
use crate::limits::Limits;

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "open-document/2";

/// The part that holds text and slides.
const CONTENT: &str = "content.xml";

/// What the document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A text.
    Text,
    /// Slides.
    Presentation,
}

/// Converts a text or a presentation. Errors: `Unsupported` if encrypted, `Corrupt` if it cannot be
/// read, `Invalid` over a limit.
pub(crate) fn convert(bytes: &[u8], kind: Kind, limits: &Limits) -> Result<Converted> {
    let mut archive = Archive::open(bytes, limits)?;
    // Also unpacks it within our own limits, before somebody else does within theirs.
    let content = archive
        .read(CONTENT)?
        .ok_or_else(|| corrupt(&format!("the part {CONTENT} is missing")))?;
    let metadata = properties::read(&mut archive)?;
    let document = match kind {
        Kind::Text => to_document(&indexes::left_out(bytes, &content)?, Format::Odt),
        Kind::Presentation => to_document(&pages::marked(bytes, &content)?, Format::Odp),
    }
    .map_err(refused)?;
    limits.check_time()?;
    let written = blocks::write(document, limits)?;
    limits.check_markdown(&written.markdown)?;
    Ok(Converted {
        markdown: written.markdown,
        title: metadata.get("title").cloned().or(written.first_heading),
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
