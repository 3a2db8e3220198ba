//! What a body is, judged by its content first; name and media type decide only between kinds of text,
//! which look alike (Markdown, reStructuredText, tables, source code, plain text).

mod containers;
mod hint;
mod languages;
mod magic;
mod textual;

use self::hint::Hint;
use self::magic::by_magic;
use self::textual::{is_html, textual};
use crate::office::open_document;
use crate::text::structured::Notation;
use crate::text_encoding;

/// A format as far as converters tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// HTML or XHTML.
    Html,
    /// Markdown.
    Markdown,
    /// reStructuredText.
    Rst,
    /// A Jupyter notebook.
    Notebook,
    /// A Word document (OOXML).
    Docx,
    /// A PowerPoint presentation (OOXML).
    Pptx,
    /// A Word 97-2003 document.
    Doc,
    /// A PowerPoint 97-2003 presentation.
    Ppt,
    /// An OpenDocument text or presentation.
    OpenDocument(open_document::Kind),
    /// A workbook of any kind.
    Spreadsheet,
    /// Values divided by commas, tabs or the like.
    Delimited,
    /// PDF.
    Pdf,
    /// A picture.
    Image,
    /// An EPUB book.
    Epub,
    /// An e-mail message.
    Mail,
    /// An e-mail message as Outlook saves it.
    Outlook,
    /// Rich Text Format.
    Rtf,
    /// Nested data.
    Structured(Notation),
    /// Text that is shown as it is; the language names a code block it goes into, empty for prose.
    Text {
        /// Name for the code fence, empty for prose.
        language: &'static str,
    },
    /// Something that no converter here reads, by its name for people.
    Unsupported(&'static str),
}

/// A format with its media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Detected {
    /// The format.
    pub format: Format,
    /// Its media type.
    pub media_type: &'static str,
}

impl Detected {
    const fn new(format: Format, media_type: &'static str) -> Self {
        Self { format, media_type }
    }
}

/// Bytes at the start of a body that decide about textual formats.
const SAMPLE_BYTES: usize = 64 * 1024;

/// Says what the bytes are. `name` is a file name, path or URL; `media_type` is what the producer
/// believes.
pub(crate) fn detect(bytes: &[u8], name: Option<&str>, media_type: Option<&str>) -> Detected {
    if let Some(binary) = by_magic(bytes, name) {
        return binary;
    }
    let sample = bytes.get(..SAMPLE_BYTES).unwrap_or(bytes);
    let text = text_encoding::decode(sample, None).text;
    if is_binary(&text) {
        return Detected::new(
            Format::Unsupported("binary data"),
            "application/octet-stream",
        );
    }
    let hint = Hint::of(name, media_type);
    if is_html(&text, hint) {
        let xhtml = text.trim_start().starts_with("<?xml");
        return Detected::new(
            Format::Html,
            if xhtml {
                "application/xhtml+xml"
            } else {
                "text/html"
            },
        );
    }
    textual(&text, hint)
}

/// More than one control character in a hundred, or many undecodable ones, is no text.
fn is_binary(text: &str) -> bool {
    let (mut characters, mut controls, mut replaced) = (0_usize, 0_usize, 0_usize);
    for character in text.chars() {
        characters += 1;
        controls +=
            usize::from(matches!(character, '\0'..='\x08' | '\x0E'..='\x1A' | '\x1C'..='\x1F'));
        replaced += usize::from(character == char::REPLACEMENT_CHARACTER);
    }
    controls * 100 > characters || replaced * 10 > characters
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
