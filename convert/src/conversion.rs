//! The way of a document: detection, the converter of its format, pictures, title.

use tributary_schemas::{Error, ErrorKind, Result, error};

use crate::detect::{Format, detect};
use crate::document::Converted;
use crate::limits::{Limits, check_body, check_size};
use crate::office::open_document;
use crate::picture::{image, pictures};
use crate::sheets::{csv, spreadsheet};
use crate::slides::{SlideFormat, ppt, pptx, slide_images};
use crate::text::{markdown, notebook, plain, rst, structured};
use crate::titles::finish_title;
use crate::web::{epub, html};
use crate::word::{doc, docx, rtf};
use crate::{mail, pdf};

/// Longest piece of metadata in characters; longer ones are cut.
const MAXIMUM_METADATA_CHARACTERS: usize = 8000;

/// What the formats that are read are called in hints.
const SUPPORTED: &str = "Word, PowerPoint, Excel, OpenDocument (odt, odp, ods), PDF, HTML, Markdown, reStructuredText, Jupyter \
    notebooks, EPUB, e-mail, RTF, CSV, JSON, YAML, XML, images, source code and plain text";

/// Converts a body of any supported format to Markdown.
///
/// `name` is a file name, path or URL and `media_type` what the producer believes; both only help
/// the detection, and the name is the last resort for a title. Errors: `Unsupported` for a format
/// that is not read, `Invalid` for a body, a result or a conversion over its limit, `Corrupt` for a
/// body that is not what it claims. Takes CPU time: call it on a blocking thread.
pub fn convert(
    bytes: &[u8],
    name: Option<&str>,
    media_type: Option<&str>,
    limits: &Limits<'_>,
) -> Result<Converted> {
    let config = limits.config;
    check_body(bytes, config)?;
    let detected = detect(bytes, name, media_type);
    let mut converted = match detected.format {
        Format::Html => html::convert(bytes, limits)?,
        Format::Markdown => markdown::convert(bytes, limits)?,
        Format::Rst => rst::convert(bytes, limits)?,
        Format::Notebook => notebook::convert(bytes, limits)?,
        Format::Docx => docx::convert(bytes, limits)?,
        Format::Pptx => pptx::convert(bytes, limits)?,
        Format::Doc => doc::convert(bytes, limits)?,
        Format::Ppt => ppt::convert(bytes, limits)?,
        Format::OpenDocument(kind) => open_document::convert(bytes, kind, limits)?,
        Format::Spreadsheet => spreadsheet::convert(bytes, limits)?,
        Format::Delimited => csv::convert(bytes, limits)?,
        Format::Pdf => pdf::convert(bytes, limits)?,
        Format::Image => image::convert(bytes, limits)?,
        Format::Epub => epub::convert(bytes, limits)?,
        Format::Mail => mail::convert(bytes, limits)?,
        Format::Outlook => mail::convert_outlook(bytes, limits)?,
        Format::Rtf => rtf::convert(bytes, limits)?,
        Format::Structured(notation) => structured::convert(bytes, notation, limits)?,
        Format::Text { language } => plain::convert(bytes, language),
        Format::Unsupported(what) => {
            let message = format!("no converter for {what} ({})", detected.media_type);
            return Err(
                Error::new(ErrorKind::Unsupported, message).with_hint(format!(
                    "supported are {SUPPORTED}; convert the document to one of them"
                )),
            );
        }
    };
    if detected.format != Format::Image {
        pictures::read_embedded(&mut converted, limits)?;
    }
    match detected.format {
        Format::Pptx => slide_images::add(&mut converted, SlideFormat::Pptx, limits)?,
        Format::Ppt => slide_images::add(&mut converted, SlideFormat::Ppt, limits)?,
        _ => {}
    }
    if let Some(pictures) = limits.pictures {
        pictures.note(&mut converted.metadata);
    }
    converted
        .metadata
        .values_mut()
        .for_each(|value| error::cut(value, MAXIMUM_METADATA_CHARACTERS));
    check_size(
        "Markdown",
        converted.markdown.len(),
        config.maximum_markdown_bytes,
        "convert.maximum_markdown_bytes",
    )?;
    limits.check_time()?;
    converted.media_type = detected.media_type.to_owned();
    converted.title = finish_title(converted.title, name, config.maximum_title_characters);
    Ok(converted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_metadata_are_cut() {
        let document = format!(
            "---\nsummary: {}\n---\n\nText\n",
            "表".repeat(MAXIMUM_METADATA_CHARACTERS + 2)
        );
        let config = crate::Config {
            maximum_front_matter_bytes: 1 << 20,
            ..crate::Config::default()
        };
        let converted = convert(
            document.as_bytes(),
            Some("a.md"),
            None,
            &Limits::starting_now(&config),
        )
        .unwrap_or_default();
        assert_eq!(
            converted
                .metadata
                .get("summary")
                .map(|value| value.chars().count()),
            Some(MAXIMUM_METADATA_CHARACTERS + 1)
        );
    }
}
