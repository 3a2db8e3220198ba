//! The way of a document: detection, the converter of its format, pictures, title.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tributary_schemas::charset::charset_of;
use tributary_schemas::{Error, ErrorKind, Result, error};

use crate::config::Config;
use crate::detect::{Detected, Format, detect};
use crate::document::{Converted, Job};
use crate::limits::{Limits, check_body};
use crate::office::open_document;
use crate::picture::{image, pictures};
use crate::sheets::{csv, spreadsheet};
use crate::slides::slide_images::Drawing;
use crate::slides::{SlideFormat, ppt, pptx};
use crate::text::{markdown, notebook, plain, rst, structured};
use crate::text_encoding::{as_named, note_encoding};
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
/// Name and media type of the job only help the detection, and the name is the last resort for a
/// title. Errors: `Unsupported` for a format
/// that is not read, `Invalid` for a body, a result or a conversion over its limit, `Corrupt` for a
/// body that is not what it claims. Takes CPU time: call it on a blocking thread.
pub fn convert(job: Job<'_>, config: &Config, limits: &Limits<'_>) -> Result<Converted> {
    check_body(job.bytes, config.maximum_body_bytes)?;
    let detected = detect(job.bytes, job.name, job.media_type);
    let named = named_charset(job.bytes, job.media_type, detected.format)?;
    let bytes = named
        .as_ref()
        .map_or(job.bytes, |(text, _)| text.as_bytes());
    let mut converted = convert_as(&detected, bytes, config, limits)?;
    add_pictures(&mut converted, detected.format, config, limits)?;
    if let Some((_, encoding)) = &named {
        note_encoding(&mut converted.metadata, encoding, 0);
    }
    converted
        .metadata
        .values_mut()
        .for_each(|value| error::cut(value, MAXIMUM_METADATA_CHARACTERS));
    limits.check_markdown(&converted.markdown)?;
    limits.check_time()?;
    converted.media_type = detected.media_type.to_owned();
    converted.title = finish_title(converted.title, job.name, config.maximum_title_characters);
    Ok(converted)
}

/// Whether it is a message, to which files may be attached.
pub(crate) fn is_message(job: Job<'_>) -> bool {
    let format = detect(job.bytes, job.name, job.media_type).format;
    matches!(format, Format::Mail | Format::Outlook)
}

/// The text in the charset that the media type names, and its name; `None` where it says nothing
/// new, or where the format is no text.
fn named_charset(
    bytes: &[u8],
    media_type: Option<&str>,
    format: Format,
) -> Result<Option<(String, &'static str)>> {
    let Some(encoding) = media_type.map(charset_of).transpose()?.flatten() else {
        return Ok(None);
    };
    let is_text = matches!(
        format,
        Format::Html
            | Format::Markdown
            | Format::Rst
            | Format::Notebook
            | Format::Delimited
            | Format::Structured(_)
            | Format::Text { .. }
    );
    let text = is_text.then(|| as_named(bytes, encoding)).flatten();
    Ok(text.map(|text| (text, encoding.name())))
}

/// The converter of each format, with its section of the settings.
fn convert_as(
    detected: &Detected,
    bytes: &[u8],
    config: &Config,
    limits: &Limits<'_>,
) -> Result<Converted> {
    match detected.format {
        Format::Html => html::convert(bytes, &config.html, limits),
        Format::Markdown => markdown::convert(bytes, limits),
        Format::Rst => rst::convert(bytes, limits),
        Format::Notebook => notebook::convert(bytes, &config.notebook, limits),
        Format::Docx => docx::convert(bytes, &config.docx, limits),
        Format::Pptx => pptx::convert(bytes, &config.slides, limits),
        Format::Doc => doc::convert(bytes, &config.doc, limits),
        Format::Ppt => ppt::convert(bytes, &config.slides, limits),
        Format::OpenDocument(kind) => {
            let keeps_hidden = match kind {
                open_document::Kind::Text => config.docx.include_hidden_text,
                open_document::Kind::Presentation => config.slides.include_hidden,
            };
            open_document::convert(bytes, kind, keeps_hidden, limits)
        }
        Format::Spreadsheet => {
            spreadsheet::convert(bytes, &config.spreadsheet, &config.tables, limits)
        }
        Format::Delimited => csv::convert(bytes, &config.csv, &config.tables, limits),
        Format::Pdf => pdf::convert(bytes, &config.pdf, limits),
        Format::Image => image::convert(bytes, &config.image, limits),
        Format::Epub => epub::convert(bytes, limits),
        Format::Mail => mail::convert(bytes, &config.mail, limits, &|job, limits| {
            convert_attached(job, config, limits)
        }),
        Format::Outlook => mail::convert_outlook(bytes, &config.mail, limits, &|job, limits| {
            convert_attached(job, config, limits)
        }),
        Format::Rtf => rtf::convert(bytes, limits),
        Format::Structured(notation) => {
            structured::convert(bytes, notation, &config.structured, limits)
        }
        Format::Text { language } => Ok(plain::convert(bytes, language)),
        Format::Unsupported(what) => {
            let message = format!("no converter for {what} ({})", detected.media_type);
            let hint = format!("supported are {SUPPORTED}; convert the document to one of them");
            Err(Error::new(ErrorKind::Unsupported, message).with_hint(hint))
        }
    }
}

/// A file that is attached to a message. Whatever it does to its converter, the message goes on.
fn convert_attached(job: Job<'_>, config: &Config, limits: &Limits<'_>) -> Result<Converted> {
    let mut config = config.clone();
    // The database of a table belongs to a document of its own.
    config.tables.write_database = false;
    let detected = detect(job.bytes, job.name, job.media_type);
    without_panic(|| convert_as(&detected, job.bytes, &config, limits))
}

/// A panic is an error of the document like any other.
pub(crate) fn without_panic(convert: impl FnOnce() -> Result<Converted>) -> Result<Converted> {
    catch_unwind(AssertUnwindSafe(convert)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let message = format!(
            "the converter gave up on this document: {}",
            text.unwrap_or_default()
        );
        Err(Error::new(ErrorKind::Corrupt, message).with_hint(
            "save the document again with another program; if it opens there, report this",
        ))
    })
}

/// What pictures in the document show, and pictures of its slides.
fn add_pictures(
    converted: &mut Converted,
    format: Format,
    config: &Config,
    limits: &Limits<'_>,
) -> Result<()> {
    if format != Format::Image {
        pictures::read_embedded(converted, &config.image, limits)?;
    }
    let drawing = Drawing {
        slides: &config.slides,
        pdf: &config.pdf,
        limits,
    };
    match format {
        Format::Pptx => drawing.add_pictures(converted, SlideFormat::Pptx)?,
        Format::Ppt => drawing.add_pictures(converted, SlideFormat::Ppt)?,
        _ => {}
    }
    if let Some(pictures) = limits.pictures {
        pictures.note(&mut converted.metadata);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_charset_of_the_media_type_is_honoured_or_refused() {
        let config = crate::Config::default();
        let gbk = b"\xCC\xEC\xCF\xDF";
        let as_type = |media_type| {
            let job = Job {
                bytes: gbk,
                name: None,
                media_type: Some(media_type),
            };
            convert(job, &config, &Limits::starting_now(&config))
        };
        let converted =
            as_type("text/plain; charset=gbk").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(converted.markdown.trim(), "天线");
        assert_eq!(
            converted.metadata.get("encoding").map(String::as_str),
            Some("GBK")
        );
        let refused = as_type("text/plain; charset=gbkk").map_err(|error| error.kind());
        assert_eq!(refused.err(), Some(ErrorKind::Invalid));
    }

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
        let job = Job::named(document.as_bytes(), "a.md");
        let converted = convert(job, &config, &Limits::starting_now(&config))
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            converted
                .metadata
                .get("summary")
                .map(|value| value.chars().count()),
            Some(MAXIMUM_METADATA_CHARACTERS + 1)
        );
    }
}
