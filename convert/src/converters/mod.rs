//! One converter per format: bytes in, Markdown with title, metadata and images out. Called by the stage in [`crate::process`] and by
//! `tributary convert`.

pub mod archive;
pub mod block;
pub mod cells;
mod code_pages;
pub mod csv;
pub mod doc;
pub mod docx;
pub mod embedded;
pub mod epub;
pub mod escape;
#[cfg(test)]
mod hostile;
pub mod html;
pub mod image;
pub mod mail;
pub mod markdown;
pub mod notebook;
pub mod office;
pub mod pdf;
pub mod pictures;
pub mod positions;
pub mod ppt;
pub mod pptx;
pub mod render;
pub mod rst;
pub mod rtf;
mod slide_images;
pub mod spreadsheet;
pub mod structured;
pub mod tables;
pub mod text;
mod xml_references;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tributary_models::ocr::RgbImage;
use tributary_schemas::{Error, ErrorKind, ImageLink, Result, failure};

use crate::config::Config;
use crate::detect::{Format, detect};
use crate::ocr::PictureReader;
use crate::slides::{SlideDrawing, SlideFormat};

/// Longest piece of metadata in characters; longer ones are cut.
const MAXIMUM_METADATA_CHARACTERS: usize = 8000;

/// What the formats that are read are called in hints.
pub const SUPPORTED: &str = "Word, PowerPoint, Excel and OpenDocument spreadsheets, PDF, HTML, Markdown, reStructuredText, Jupyter \
    notebooks, EPUB, e-mail, RTF, CSV, JSON, YAML, XML, images, source code and plain text";

/// A document as Markdown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// The text as Markdown (CommonMark with tables), `\n` line ends.
    pub markdown: String,
    /// Title found in the document, its first heading or its file name; `None` if there is none of them.
    pub title: Option<String>,
    /// Detected media type.
    pub media_type: String,
    /// Name and version of the converter, such as `markdown/1`.
    pub converter: Cow<'static, str>,
    /// Metadata found in the document itself, flattened to text; names are lowercase.
    pub metadata: BTreeMap<String, String>,
    /// Images in order of appearance; the Markdown names them `image:N`. A link `embedded:K` is the blob number K.
    pub images: Vec<ImageLink>,
    /// Files that the document carries beside its text.
    pub blobs: Vec<EmbeddedFile>,
}

/// A file in a document, such as a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmbeddedFile {
    /// Name, without folders.
    pub name: String,
    /// Media type.
    pub media_type: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// What one conversion may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Settings.
    pub config: &'a Config,
    /// When it must be done, apart from the time that reading pictures and drawing slides take.
    pub deadline: Instant,
    /// Who reads text in pictures; `None` leaves them unread.
    pub pictures: Option<&'a PictureReader<'a>>,
    /// Who draws slides; `None` leaves them without pictures of their own.
    pub slides: Option<&'a SlideDrawing<'a>>,
}

impl<'a> Limits<'a> {
    /// Limits of a conversion that begins now.
    pub fn starting_now(config: &'a Config) -> Self {
        Self { config, deadline: Instant::now() + Duration::from_millis(config.conversion_timeout_ms), pictures: None, slides: None }
    }

    /// With somebody who reads text in pictures.
    pub fn with_pictures(self, pictures: &'a PictureReader<'a>) -> Self {
        Self { pictures: Some(pictures), ..self }
    }

    /// With somebody who draws slides.
    pub fn with_slides(self, slides: &'a SlideDrawing<'a>) -> Self {
        Self { slides: Some(slides), ..self }
    }

    /// Whether one more picture is read; one that is not need not be decoded or drawn.
    pub fn reads_another_picture(&self) -> bool {
        self.pictures.is_some_and(|pictures| pictures.takes_another(self.config))
    }

    /// The Markdown of a picture; `None` if it is left unread.
    pub fn read_picture(&self, image: &RgbImage) -> Result<Option<String>> {
        self.pictures.map_or(Ok(None), |pictures| pictures.read(image, self.config))
    }

    /// `Invalid` once the time is over.
    pub fn check_time(&self) -> Result<()> {
        let reading = self.pictures.map_or(Duration::ZERO, PictureReader::spent);
        let drawing = self.slides.map_or(Duration::ZERO, SlideDrawing::spent);
        if Instant::now() < self.deadline + reading + drawing {
            return Ok(());
        }
        Err(too_long(self.config))
    }
}

/// The error for a conversion beyond its time.
pub fn too_long(config: &Config) -> Error {
    let limit = config.conversion_timeout_ms;
    Error::new(ErrorKind::Invalid, format!("conversion took longer than {limit} ms"))
        .with_hint("simplify the document, or raise `convert.conversion_timeout_ms`")
}

/// `Invalid` for a body over the limit.
pub fn check_body(bytes: &[u8], config: &Config) -> Result<()> {
    check_size("body", bytes.len(), config.maximum_body_bytes, "convert.maximum_body_bytes")
}

/// Converts a body of any supported format to Markdown.
///
/// `name` is a file name, path or URL and `media_type` what the producer believes; both only help the detection, and the name is the
/// last resort for a title. Errors: `Unsupported` for a format that is not read, `Invalid` for a body, a result or a conversion over
/// its limit, `Corrupt` for a body that is not what it claims. Takes CPU time: call it on a blocking thread.
pub fn convert(bytes: &[u8], name: Option<&str>, media_type: Option<&str>, limits: &Limits<'_>) -> Result<Converted> {
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
        Format::Spreadsheet => spreadsheet::convert(bytes, limits)?,
        Format::Delimited => csv::convert(bytes, limits)?,
        Format::Pdf => pdf::convert(bytes, limits)?,
        Format::Image => image::convert(bytes, limits)?,
        Format::Epub => epub::convert(bytes, limits)?,
        Format::Mail => mail::convert(bytes, limits)?,
        Format::Outlook => mail::convert_outlook(bytes, limits)?,
        Format::Rtf => rtf::convert(bytes, limits)?,
        Format::Structured(notation) => structured::convert(bytes, notation, limits)?,
        Format::Text { language } => text::convert(bytes, language),
        Format::Unsupported(what) => {
            let message = format!("no converter for {what} ({})", detected.media_type);
            return Err(Error::new(ErrorKind::Unsupported, message)
                .with_hint(format!("supported are {SUPPORTED}; convert the document to one of them")));
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
    converted.metadata.values_mut().for_each(|value| failure::cut(value, MAXIMUM_METADATA_CHARACTERS));
    check_size("Markdown", converted.markdown.len(), config.maximum_markdown_bytes, "convert.maximum_markdown_bytes")?;
    limits.check_time()?;
    converted.media_type = detected.media_type.to_owned();
    converted.title = finish_title(converted.title, name, config.maximum_title_characters);
    Ok(converted)
}

fn check_size(what: &str, bytes: usize, maximum: u64, key: &str) -> Result<()> {
    if bytes as u64 <= maximum {
        return Ok(());
    }
    let message = format!("{what} of {bytes} bytes is over the limit of {maximum} bytes");
    Err(Error::new(ErrorKind::Invalid, message).with_hint(format!("split the document, or raise `{key}`")))
}

/// The found title on one line and not too long, else the file name without extension.
fn finish_title(found: Option<String>, name: Option<&str>, maximum_characters: usize) -> Option<String> {
    let found = found.map(|title| one_line(&title, maximum_characters)).filter(|title| !title.is_empty());
    found.or_else(|| name.and_then(file_stem).map(|stem| one_line(&stem, maximum_characters)).filter(|title| !title.is_empty()))
}

/// White space to single spaces, cut after `maximum_characters`.
pub fn one_line(text: &str, maximum_characters: usize) -> String {
    // White space is at most as long as the text that is kept, so a huge title costs no more than a bounded one.
    let words = text.split_whitespace().take(maximum_characters);
    let joined = words.collect::<Vec<_>>().join(" ");
    joined.chars().filter(|character| !character.is_control()).take(maximum_characters).collect::<String>().trim_end().to_owned()
}

/// File name without folders, query and extension.
pub fn file_stem(name: &str) -> Option<String> {
    let path = name.split(['?', '#']).next()?.trim_end_matches(['/', '\\']);
    let file = path.rsplit(['/', '\\']).next()?;
    let stem = match file.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && extension.len() <= 8 && !extension.contains(' ') => stem,
        _ => file,
    };
    (!stem.is_empty()).then(|| stem.to_owned())
}

/// Windows and old Mac line ends to `\n`.
pub fn unix_line_ends(text: std::borrow::Cow<'_, str>) -> String {
    if !text.contains('\r') {
        return text.into_owned();
    }
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// A code block whose fence is longer than any run of backticks in it.
pub fn fenced(language: &str, code: &str) -> String {
    let fence = "`".repeat(longest_run(code, '`').max(2) + 1);
    let end = if code.ends_with('\n') || code.is_empty() { "" } else { "\n" };
    format!("{fence}{language}\n{code}{end}{fence}\n")
}

/// Length of the longest run of `wanted`.
pub fn longest_run(text: &str, wanted: char) -> usize {
    let (mut longest, mut current) = (0, 0);
    for character in text.chars() {
        current = if character == wanted { current + 1 } else { 0 };
        longest = longest.max(current);
    }
    longest
}

/// Notes in the metadata in which encoding a body came and how much of it could not be read.
pub fn note_encoding(metadata: &mut BTreeMap<String, String>, encoding: &str, replaced_characters: usize) {
    if encoding != "UTF-8" {
        metadata.insert("encoding".to_owned(), encoding.to_owned());
    }
    if replaced_characters > 0 {
        metadata.insert("replaced_characters".to_owned(), replaced_characters.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_metadata_are_cut() {
        let document = format!("---\nsummary: {}\n---\n\nText\n", "表".repeat(MAXIMUM_METADATA_CHARACTERS + 2));
        let config = Config { maximum_front_matter_bytes: 1 << 20, ..Config::default() };
        let converted = convert(document.as_bytes(), Some("a.md"), None, &Limits::starting_now(&config)).unwrap_or_default();
        assert_eq!(converted.metadata.get("summary").map(|value| value.chars().count()), Some(MAXIMUM_METADATA_CHARACTERS + 1));
    }

    #[test]
    fn titles_fall_back_to_the_file_name() {
        assert_eq!(finish_title(Some(" a \n b ".into()), Some("x.md"), 80).as_deref(), Some("a b"));
        assert_eq!(finish_title(Some(" \n".into()), Some("dir/载波 聚合.v2.md?x=1"), 80).as_deref(), Some("载波 聚合.v2"));
        assert_eq!(finish_title(None, Some("C:\\docs\\.profile"), 80).as_deref(), Some(".profile"));
        assert_eq!(finish_title(Some("四个汉字".into()), None, 2).as_deref(), Some("四个"));
        assert_eq!(finish_title(None, Some("https://host/path/"), 80).as_deref(), Some("path"));
        assert_eq!(finish_title(None, None, 80), None);
    }

    #[test]
    fn fences_are_longer_than_what_they_hold() {
        assert_eq!(fenced("c", "x"), "```c\nx\n```\n");
        assert_eq!(fenced("", "````\n"), "`````\n````\n`````\n");
    }
}
