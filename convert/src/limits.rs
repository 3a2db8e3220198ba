//! What one conversion may use, and the errors for what is over it.

use std::time::{Duration, Instant};

use tributary_models::ocr::RgbImage;
use tributary_schemas::{Error, ErrorKind, Result};

use crate::config::Config;
use crate::picture::ocr::PictureReader;
use crate::slides::SlideDrawing;

/// What one conversion may use, whatever the format.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Largest Markdown in bytes.
    pub(crate) maximum_markdown_bytes: u64,
    /// Most files that are taken out of the document.
    pub(crate) maximum_embedded_files: usize,
    /// Most bytes of such files, all together.
    pub(crate) maximum_embedded_bytes: u64,
    /// Most bytes that an archive may unpack to.
    pub(crate) maximum_unpacked_bytes: u64,
    /// Most bytes that one packed byte of a large member of an archive may become.
    pub(crate) maximum_unpacking_ratio: u64,
    /// Most parts of a package of XML parts.
    pub(crate) maximum_package_parts: usize,
    /// Elements of XML that may be nested in each other.
    pub(crate) maximum_xml_depth: usize,
    /// Elements of HTML that may be nested in each other.
    pub(crate) maximum_html_depth: usize,
    /// Most front matter in bytes that is read as metadata.
    pub(crate) maximum_front_matter_bytes: usize,
    /// Time in milliseconds that the conversion may take.
    pub(crate) timeout_ms: u64,
    /// When it must be done, apart from the time that reading pictures and drawing slides take.
    pub(crate) deadline: Instant,
    /// Levels of messages within each other whose attached files are read.
    pub(crate) attachments: usize,
    /// Who is told of each attached file before it is read.
    pub(crate) watch: Option<AttachmentWatch<'a>>,
    /// Who reads text in pictures; `None` leaves them unread.
    pub(crate) pictures: Option<&'a PictureReader<'a>>,
    /// Who draws slides; `None` leaves them without pictures of their own.
    pub(crate) slides: Option<&'a SlideDrawing<'a>>,
}

/// Who is told of the files attached to a message, by their number, and which are left out as no
/// converter survives them.
#[derive(Clone, Copy)]
pub(crate) struct AttachmentWatch<'a> {
    pub(crate) left_out: &'a [usize],
    pub(crate) begins: &'a dyn Fn(usize) -> Result<()>,
}

impl std::fmt::Debug for AttachmentWatch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AttachmentWatch")
            .field("left_out", &self.left_out)
            .finish_non_exhaustive()
    }
}

impl<'a> Limits<'a> {
    /// Limits of a conversion that begins now.
    pub fn starting_now(config: &Config) -> Self {
        let timeout_ms = config.conversion_timeout_ms;
        Self {
            maximum_markdown_bytes: config.maximum_markdown_bytes,
            maximum_embedded_files: config.maximum_embedded_files,
            maximum_embedded_bytes: config.maximum_embedded_bytes,
            maximum_unpacked_bytes: config.maximum_unpacked_bytes,
            maximum_unpacking_ratio: config.maximum_unpacking_ratio,
            maximum_package_parts: config.office.maximum_parts,
            maximum_xml_depth: config.office.maximum_xml_depth,
            maximum_html_depth: config.html.maximum_depth,
            maximum_front_matter_bytes: config.maximum_front_matter_bytes,
            timeout_ms,
            deadline: Instant::now() + Duration::from_millis(timeout_ms),
            attachments: match config.mail.read_attachments {
                true => config.mail.maximum_depth.max(1),
                false => 0,
            },
            watch: None,
            pictures: None,
            slides: None,
        }
    }

    /// What one file attached to a message may use: half of the time that is left, so that some is
    /// left for the others, and Markdown up to so many bytes.
    pub(crate) fn of_attachment(self, maximum_markdown_bytes: u64) -> Self {
        let left = self.end().saturating_duration_since(Instant::now());
        Self {
            maximum_markdown_bytes,
            deadline: self.deadline.checked_sub(left / 2).unwrap_or(self.deadline),
            attachments: self.attachments.saturating_sub(1),
            watch: None,
            slides: None,
            ..self
        }
    }

    /// With somebody who reads text in pictures.
    pub(crate) fn with_pictures(self, pictures: &'a PictureReader<'a>) -> Self {
        Self {
            pictures: Some(pictures),
            ..self
        }
    }

    /// With somebody who draws slides.
    pub(crate) fn with_slides(self, slides: &'a SlideDrawing<'a>) -> Self {
        Self {
            slides: Some(slides),
            ..self
        }
    }

    /// The Markdown of a picture; `None` if it is left unread.
    pub(crate) fn read_picture(&self, image: &RgbImage) -> Result<Option<String>> {
        self.pictures
            .map_or(Ok(None), |pictures| pictures.read(image))
    }

    /// `Invalid` once the time is over.
    pub(crate) fn check_time(&self) -> Result<()> {
        if Instant::now() < self.end() {
            return Ok(());
        }
        Err(too_long(self.timeout_ms))
    }

    /// The deadline as it is by now.
    fn end(&self) -> Instant {
        let reading = self.pictures.map_or(Duration::ZERO, PictureReader::spent);
        let drawing = self.slides.map_or(Duration::ZERO, SlideDrawing::spent);
        self.deadline + reading + drawing
    }

    /// `Invalid` if there is more Markdown than one document may become.
    pub(crate) fn check_markdown(&self, markdown: &str) -> Result<()> {
        check_size(
            "Markdown",
            markdown.len(),
            self.maximum_markdown_bytes,
            "convert.maximum_markdown_bytes",
        )
    }
}

/// The error for a conversion that took longer than it may.
pub(crate) fn too_long(timeout_ms: u64) -> Error {
    Error::new(
        ErrorKind::Invalid,
        format!("conversion took longer than {timeout_ms} ms"),
    )
    .with_hint("simplify the document, or raise `convert.conversion_timeout_ms`")
}

/// `Invalid` for a body over the limit.
pub(crate) fn check_body(bytes: &[u8], maximum: u64) -> Result<()> {
    check_size("body", bytes.len(), maximum, "convert.maximum_body_bytes")
}

/// `Invalid` for what is over its limit, which `key` sets.
pub(crate) fn check_size(what: &str, bytes: usize, maximum: u64, key: &str) -> Result<()> {
    if bytes as u64 <= maximum {
        return Ok(());
    }
    let message = format!("{what} of {bytes} bytes is over the limit of {maximum} bytes");
    Err(Error::new(ErrorKind::Invalid, message)
        .with_hint(format!("split the document, or raise `{key}`")))
}
