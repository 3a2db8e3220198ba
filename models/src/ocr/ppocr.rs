//! The recogniser: PP-OCRv6 small (detection, recognition) and the PP-OCR line orientation
//! classifier, run by ONNX Runtime. Opened once per process by the service and by `tributary
//! convert`.

use std::path::Path;
use std::sync::OnceLock;

use ort::session::Session;
use tributary_schemas::ErrorKind;

use super::config::OcrConfig;
use super::geometry::Quad;
use super::pixels::RgbImage;
use super::recognition::{Characters, Reading, read_lines};
use super::{
    GoOn, OcrUnavailable, RecognizedLine, RecognizedPage, TextRecognizer, detection, orientation,
};
use crate::sessions::{Memory, SessionPool};
use crate::{Error, Result};

/// Name of the engine in metadata.
pub const ENGINE: &str = "ppocr-v6-small";
/// File of the detection model.
pub const DETECTION_FILE: &str = "PP-OCRv6_det_small.onnx";
/// File of the recognition model.
pub const RECOGNITION_FILE: &str = "PP-OCRv6_rec_small.onnx";
/// File of the line orientation model.
pub const ORIENTATION_FILE: &str = "ch_ppocr_mobile_v2.0_cls_mobile.onnx";

/// A box this much higher than wide holds text that runs up or down.
const TURNED_RATIO: f32 = 1.5;
/// The same where most lines are level: there a box that is a little higher than wide is a single
/// letter or digit.
const TURNED_RATIO_ON_LEVEL_PAGE: f32 = 2.2;
/// Lines whose orientation is looked at, of those that are level and of those that run up or down;
/// the others stand as most of these do.
const PROBED_LINES: usize = 8;

/// Mean confidence below which a page may have been read upside down and is read the other way too.
const UNREADABLE: f32 = 0.7;

/// The recogniser. Cheap to make: models are opened when the first page comes.
pub struct PpOcr {
    detection: SessionPool,
    recognition: SessionPool,
    orientation: SessionPool,
    characters: OnceLock<Characters>,
    config: OcrConfig,
}

impl PpOcr {
    /// With the models of a folder. Looks whether the files are there; damaged ones are found on
    /// the first page. ONNX Runtime must have been loaded.
    pub fn open(folder: &Path, config: &OcrConfig) -> std::result::Result<Self, OcrUnavailable> {
        let pool = |file: &str| {
            let path = folder.join(file);
            match path.is_file() {
                true => Ok(
                    SessionPool::new(&path, config.sessions, config.session_threads)
                        .with_memory(Memory::GivenBack),
                ),
                false => Err(OcrUnavailable::new(format!(
                    "the OCR models are not installed ({} is missing): get them with `tributary models pull ocr`",
                    path.display()
                ))),
            }
        };
        Ok(Self {
            detection: pool(DETECTION_FILE)?,
            recognition: pool(RECOGNITION_FILE)?,
            orientation: pool(ORIENTATION_FILE)?,
            characters: OnceLock::new(),
            config: config.clone(),
        })
    }

    /// The dictionary, read from the recognition model once.
    fn characters(&self) -> Result<&Characters> {
        if let Some(characters) = self.characters.get() {
            return Ok(characters);
        }
        let dictionary = self.recognition.with(|session| dictionary_of(session))?;
        Ok(self
            .characters
            .get_or_init(|| Characters::parse(&dictionary)))
    }

    /// Boxes turned so that their text is level and the right way up.
    fn upright(&self, image: &RgbImage, boxes: &[Quad]) -> Result<Vec<Quad>> {
        let mut quads = levelled(boxes);
        for was_level in [true, false] {
            let in_group = |(quad, before): &(&mut Quad, &Quad)| (**quad == **before) == was_level;
            let group: Vec<&mut Quad> = quads
                .iter_mut()
                .zip(boxes)
                .filter(in_group)
                .map(|(quad, _)| quad)
                .collect();
            if self.are_upside_down(image, &group)? {
                group.into_iter().for_each(|quad| *quad = quad.turned(2));
            }
        }
        Ok(quads)
    }

    /// Whether most of the longest of these lines stand on their heads; single short lines are
    /// often taken for it wrongly.
    fn are_upside_down(&self, image: &RgbImage, lines: &[&mut Quad]) -> Result<bool> {
        let mut longest: Vec<Quad> = lines.iter().map(|quad| **quad).collect();
        longest.sort_by(|one, other| other.width().total_cmp(&one.width()));
        longest.truncate(PROBED_LINES);
        let answers = orientation::upside_down(&self.orientation, image, &longest)?;
        Ok(answers.iter().filter(|answer| **answer).count() * 2 > answers.len())
    }
}

impl TextRecognizer for PpOcr {
    fn recognize(&self, image: &RgbImage, go_on: GoOn<'_>) -> Result<RecognizedPage> {
        go_on()?;
        let boxes = detection::find_lines(&self.detection, image, &self.config)?;
        go_on()?;
        let mut quads = self.upright(image, &boxes)?;
        let read =
            |quads: &[Quad]| read_lines(&self.recognition, image, quads, self.characters()?, go_on);
        let mut readings = read(&quads)?;
        if confidence(&readings) < UNREADABLE {
            let turned: Vec<Quad> = quads.iter().map(|quad| quad.turned(2)).collect();
            let again = read(&turned)?;
            if confidence(&again) > confidence(&readings) {
                (quads, readings) = (turned, again);
            }
        }
        Ok(page_of(&quads, readings, self.config.minimum_confidence))
    }
}

/// Mean confidence of the lines, by their length; 1 where nothing was read.
fn confidence(readings: &[Reading]) -> f32 {
    let length = |text: &str| text.chars().count() as f32;
    let letters: f32 = readings.iter().map(|(text, _)| length(text)).sum();
    let sure: f32 = readings
        .iter()
        .map(|(text, sure)| length(text) * sure)
        .sum();
    if letters > 0.0 { sure / letters } else { 1.0 }
}

/// Boxes of text that runs up or down, turned so that it is level.
fn levelled(boxes: &[Quad]) -> Vec<Quad> {
    let level: f32 = boxes
        .iter()
        .filter(|quad| quad.width() > quad.height())
        .map(Quad::width)
        .sum();
    let turned: f32 = boxes
        .iter()
        .filter(|quad| quad.height() > quad.width())
        .map(Quad::height)
        .sum();
    let ratio = if level > turned {
        TURNED_RATIO_ON_LEVEL_PAGE
    } else {
        TURNED_RATIO
    };
    boxes
        .iter()
        .map(|quad| quad.turned(usize::from(quad.height() >= ratio * quad.width())))
        .collect()
}

/// Keeps what was read with enough confidence.
fn page_of(quads: &[Quad], readings: Vec<Reading>, minimum_confidence: f32) -> RecognizedPage {
    let mut page = RecognizedPage::default();
    for (quad, (text, confidence)) in quads
        .iter()
        .zip(readings)
        .filter(|(_, (text, _))| !text.is_empty())
    {
        match confidence >= minimum_confidence {
            true => page.lines.push(RecognizedLine {
                text,
                confidence,
                quad: *quad,
            }),
            false => page.uncertain_lines += 1,
        }
    }
    page
}

fn dictionary_of(session: &Session) -> Result<String> {
    session
        .metadata()
        .ok()
        .and_then(|metadata| metadata.custom("character"))
        .ok_or_else(|| {
            Error::new(
                ErrorKind::Corrupt,
                format!(
                    "the model {RECOGNITION_FILE} holds no dictionary (metadata key `character`)"
                ),
            )
            .with_hint("fetch the model again with `tributary models pull ocr`")
        })
}
