//! Rich Text Format (Word, WordPad, mail programs): text with its code pages, headings by outline
//! level, bold and italic text, lists, tables, links, footnotes, pictures as files, and document
//! information as metadata.
//!
//! Deleted text (`\deleted`) and hidden text are dropped, inserted text is kept; comments, headers
//! and footers are dropped; text boxes are kept. No recursion: groups are a stack of bounded depth.

mod document;
mod reader;
mod scanner;
mod words;

use std::collections::BTreeMap;

use tributary_schemas::{Error, ErrorKind, Result};

use crate::document::Converted;
use crate::limits::Limits;
use crate::render::render;
use crate::slices::part;

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "rtf/4";

/// Converts a document. `Corrupt` if it is no RTF or breaks off with hardly any text.
pub(crate) fn convert(bytes: &[u8], limits: &Limits) -> Result<Converted> {
    let body = body_of(bytes)?;
    let mut reader = reader::Reader::new(limits);
    reader.read(body)?;
    let open_groups = reader.open_groups();
    let reader::Reader {
        document,
        information,
        embedded,
        images,
        ..
    } = reader;
    let markdown = render(&document.finish());
    let mut metadata: BTreeMap<String, String> = information;
    let blobs = embedded.finish(&mut metadata);
    if open_groups > 0 {
        if markdown.trim().is_empty() {
            return Err(Error::new(ErrorKind::Corrupt, "the document ends early")
                .with_hint("the file is damaged; fetch it again"));
        }
        metadata.insert("damaged".to_owned(), "the document ends early".to_owned());
    }
    let title = metadata.remove("title");
    Ok(Converted {
        markdown,
        title,
        converter: NAME.into(),
        metadata,
        images,
        blobs,
        ..Converted::default()
    })
}

/// The document behind blanks; `Corrupt` if it is no RTF.
fn body_of(bytes: &[u8]) -> Result<&[u8]> {
    let start = bytes
        .iter()
        .position(|byte| !byte.is_ascii_whitespace())
        .unwrap_or(0);
    let body = part(bytes, start..);
    if !body.starts_with(b"{\\rtf") {
        return Err(Error::new(
            ErrorKind::Corrupt,
            "the document does not begin with {\\rtf",
        )
        .with_hint("the file is no RTF document"));
    }
    Ok(body)
}

#[cfg(test)]
mod tests;
