//! A recogniser for tests: it reads no letters, but tells what it was given.

use std::sync::{Arc, Mutex};

use tributary_models::ocr::{
    GoOn, Point, Quad, RecognizedLine, RecognizedPage, RgbImage, TextRecognizer,
};
use tributary_schemas::Result;

use super::{Engine, PictureReader};
use crate::config::Config;
use crate::limits::Limits;

/// Tells the size of each page and the colours of its first and last pixel, and keeps the pages.
#[derive(Clone, Default)]
pub(crate) struct Mirror(pub Arc<Mutex<Vec<RgbImage>>>);

/// Finds nothing anywhere.
pub(crate) struct Blind;

impl TextRecognizer for Mirror {
    fn recognize(&self, image: &RgbImage, go_on: GoOn<'_>) -> Result<RecognizedPage> {
        go_on()?;
        let (width, height) = (image.width(), image.height());
        let last = image.at(i64::from(width) - 1, i64::from(height) - 1);
        let text = format!("{width}x{height} {:?} {last:?}", image.at(0, 0));
        let quad =
            Quad([(0.0, 0.0), (90.0, 0.0), (90.0, 9.0), (0.0, 9.0)].map(|(x, y)| Point::new(x, y)));
        self.0
            .lock()
            .expect("no test panics with it")
            .push(image.clone());
        Ok(RecognizedPage {
            lines: vec![RecognizedLine {
                text,
                confidence: 0.8,
                quad,
            }],
            uncertain_lines: 1,
        })
    }
}

impl TextRecognizer for Blind {
    fn recognize(&self, _: &RgbImage, _: GoOn<'_>) -> Result<RecognizedPage> {
        Ok(RecognizedPage::default())
    }
}

/// Converts with `work` and an engine, and notes what was read.
pub(crate) fn reading(
    engine: &Engine,
    config: &Config,
    work: impl FnOnce(&Limits<'_>) -> Result<crate::Converted>,
) -> Result<crate::Converted> {
    let pictures = PictureReader::new(&config.ocr, engine, &|| Ok(()));
    let mut converted = work(&Limits::starting_now(config).with_pictures(&pictures))?;
    pictures.note(&mut converted.metadata);
    Ok(converted)
}
