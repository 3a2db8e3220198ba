//! What one conversion may use, and the errors for what is over it.

use std::time::{Duration, Instant};

use tributary_models::ocr::RgbImage;
use tributary_schemas::{Error, ErrorKind, Result};

use crate::config::Config;
use crate::picture::ocr::PictureReader;
use crate::slides::SlideDrawing;

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
        Self {
            config,
            deadline: Instant::now() + Duration::from_millis(config.conversion_timeout_ms),
            pictures: None,
            slides: None,
        }
    }

    /// With somebody who reads text in pictures.
    pub fn with_pictures(self, pictures: &'a PictureReader<'a>) -> Self {
        Self {
            pictures: Some(pictures),
            ..self
        }
    }

    /// With somebody who draws slides.
    pub fn with_slides(self, slides: &'a SlideDrawing<'a>) -> Self {
        Self {
            slides: Some(slides),
            ..self
        }
    }

    /// Whether one more picture is read; one that is not need not be decoded or drawn.
    pub fn reads_another_picture(&self) -> bool {
        self.pictures
            .is_some_and(|pictures| pictures.takes_another(self.config))
    }

    /// The Markdown of a picture; `None` if it is left unread.
    pub fn read_picture(&self, image: &RgbImage) -> Result<Option<String>> {
        self.pictures
            .map_or(Ok(None), |pictures| pictures.read(image, self.config))
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
    Error::new(
        ErrorKind::Invalid,
        format!("conversion took longer than {limit} ms"),
    )
    .with_hint("simplify the document, or raise `convert.conversion_timeout_ms`")
}

/// `Invalid` for a body over the limit.
pub fn check_body(bytes: &[u8], config: &Config) -> Result<()> {
    check_size(
        "body",
        bytes.len(),
        config.maximum_body_bytes,
        "convert.maximum_body_bytes",
    )
}

/// `Invalid` for what is over its limit, which `key` sets.
pub fn check_size(what: &str, bytes: usize, maximum: u64, key: &str) -> Result<()> {
    if bytes as u64 <= maximum {
        return Ok(());
    }
    let message = format!("{what} of {bytes} bytes is over the limit of {maximum} bytes");
    Err(Error::new(ErrorKind::Invalid, message)
        .with_hint(format!("split the document, or raise `{key}`")))
}
