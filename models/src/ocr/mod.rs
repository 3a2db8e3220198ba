//! Recognition of text in pixels: the trait that converters use and the engine behind it (PP-OCRv6
//! small on ONNX Runtime). Used by ingest, which makes Markdown of the lines.
//!
//! The route of a page: find lines (`detection`, `components`) → cut each one out upright
//! (`sampling`, `orientation`) → read it (`recognition`).
//!
//! # Models
//! A folder with these files (names as in the wheel `rapidocr` 3.10.0, its folder
//! `rapidocr/models/`, Apache-2.0, weights by the PaddleOCR authors; `MODEL_LICENSES.md` of the
//! wheel says what a redistribution must carry):
//!
//! | file | for | bytes |
//! |---|---|---|
//! | `PP-OCRv6_det_small.onnx` | where lines are | 9 929 594 |
//! | `PP-OCRv6_rec_small.onnx` | what a line says; its metadata key `character` holds the 18 708 characters | 21 234 383 |
//! | `ch_ppocr_mobile_v2.0_cls_mobile.onnx` | whether a line is upside down | 585 532 |

mod components;
mod config;
mod detection;
mod geometry;
mod orientation;
mod pixels;
mod ppocr;
mod recognition;
mod sampling;
mod setup;

pub use config::OcrConfig;
pub use geometry::{Point, Quad};
pub use pixels::RgbImage;
pub use ppocr::{DETECTION_FILE, ENGINE, ORIENTATION_FILE, PpOcr, RECOGNITION_FILE};
pub use setup::OcrSetup;

use ort::session::Session;
use ort::value::TensorRef;
use serde::{Deserialize, Serialize};
use tributary_schemas::ErrorKind;

use crate::runtime::runtime_error;
use crate::{Error, Result};

/// Asked between the steps of a page; its error ends the reading.
pub type GoOn<'a> = &'a dyn Fn() -> Result<()>;

/// Reads the text of one page image. Callers hold it for many pages; implementations open what they
/// need when it is first needed.
pub trait TextRecognizer: Send + Sync {
    /// All lines of a page, in no particular order, those of too little confidence left out. A page
    /// without text has no lines.
    ///
    /// Errors: that of `go_on`, `Corrupt` for a model file that does not load, `Internal` if the
    /// runtime fails. Takes CPU time (a tenth of a second to several seconds): call it on a
    /// blocking thread.
    fn recognize(&self, image: &RgbImage, go_on: GoOn<'_>) -> Result<RecognizedPage>;
}

/// The text of a page image.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecognizedPage {
    /// Lines in no particular order; a row with wide spaces is several lines.
    pub lines: Vec<RecognizedLine>,
    /// Lines that were found but left out because they were read with too little confidence.
    pub uncertain_lines: usize,
}

/// One line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct RecognizedLine {
    /// What it says; never empty or only white space.
    pub text: String,
    /// Mean probability of its characters, 0 to 1.
    pub confidence: f32,
    /// Where it stands, in pixels of the page image. Corners go round from where the text begins,
    /// so an upright line's first corner is the upper left one, and that of a line upside down
    /// is the lower right one.
    pub quad: Quad,
}

/// Why no text can be recognised on this machine: the models or the runtime are not there. No
/// error, because nothing is wrong with the document: the caller ends it as skipped or partial with
/// this reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OcrUnavailable {
    reason: String,
}

impl OcrUnavailable {
    /// With a reason such as `the model file … is not there`: lowercase, no full stop.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }

    /// What is missing, and what to do about it.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl std::fmt::Display for OcrUnavailable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.reason)
    }
}

/// Chinese, Japanese, Korean and full-width characters.
pub fn is_wide(character: char) -> bool {
    let code = u32::from(character);
    [
        0x2E80..=0x9FFF,
        0xAC00..=0xD7AF,
        0xF900..=0xFAFF,
        0xFF00..=0xFF60,
        0x20000..=0x3FFFF,
    ]
    .iter()
    .any(|block| block.contains(&code))
}

/// Runs a model of one float input and hands shape and values of its first output to `read`.
fn run<T>(
    session: &mut Session,
    shape: [usize; 4],
    values: &[f32],
    read: impl FnOnce(&[i64], &[f32]) -> Result<T>,
) -> Result<T> {
    let failed =
        |error: ort::Error| runtime_error(ErrorKind::Internal, "running an OCR model", error);
    let tensor = TensorRef::from_array_view((shape, values)).map_err(failed)?;
    let outputs = session.run(ort::inputs![tensor]).map_err(failed)?;
    let Some(value) = outputs.values().next() else {
        return Err(Error::new(ErrorKind::Corrupt, "an OCR model has no output"));
    };
    let (shape, values) = value.try_extract_tensor::<f32>().map_err(failed)?;
    read(shape, values)
}
