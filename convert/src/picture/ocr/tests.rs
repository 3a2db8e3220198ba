//! What one document may ask of the recogniser, and what is said of it.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::time::Duration;

use tributary_models::ocr::GoOn;

use super::mirror::{Blind, Mirror};
use super::*;
use crate::config::OcrConfig;

fn page() -> RgbImage {
    RgbImage::new(4, 3, vec![255; 36]).unwrap()
}

fn settings(change: impl FnOnce(&mut OcrConfig)) -> OcrConfig {
    let mut settings = OcrConfig::default();
    change(&mut settings);
    settings
}

fn noted(pictures: &PictureReader) -> BTreeMap<String, String> {
    let mut metadata = BTreeMap::new();
    pictures.note(&mut metadata);
    metadata
}

#[test]
fn pages_are_read_and_counted() {
    let settings = OcrConfig::default();
    let (engine, pages) = (Engine::with(Box::new(Mirror::default())), Cell::new(0));
    let on_page = || {
        pages.set(pages.get() + 1);
        Ok(())
    };
    let pictures = PictureReader::new(&settings, &engine, &on_page);
    let text = pictures.read(&page()).unwrap();
    assert_eq!(
        text.as_deref(),
        Some("4x3 [255, 255, 255] [255, 255, 255]\n")
    );
    assert!(pictures.read(&page()).unwrap().is_some());
    let expected = [
        ("ocr", ENGINE),
        ("ocr_confidence", "0.80"),
        ("ocr_pages", "2"),
        ("ocr_uncertain_lines", "2"),
    ];
    assert_eq!(
        noted(&pictures),
        expected
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into()
    );
    assert_eq!(pages.get(), 2, "each page is a sign of work");
}

#[test]
fn what_is_over_a_limit_is_left_out_and_told() {
    let engine = Engine::with(Box::new(Mirror::default()));
    for settings in [
        settings(|ocr| ocr.maximum_pages = 0),
        settings(|ocr| ocr.document_timeout_ms = 0),
    ] {
        let pictures = PictureReader::new(&settings, &engine, &|| Ok(()));
        assert_eq!(pictures.read(&page()).unwrap(), None);
        assert_eq!(noted(&pictures)["ocr_left_out"], "1");
    }
}

/// Never done with a page.
struct Slow;

impl TextRecognizer for Slow {
    fn recognize(&self, _: &RgbImage, go_on: GoOn<'_>) -> Result<RecognizedPage> {
        loop {
            std::thread::sleep(Duration::from_millis(1));
            go_on()?;
        }
    }
}

#[test]
fn a_page_that_takes_too_long_is_left_out_and_its_time_is_not_the_conversions() {
    let engine = Engine::with(Box::new(Slow));
    let settings = settings(|ocr| ocr.page_timeout_ms = 20);
    let pictures = PictureReader::new(&settings, &engine, &|| Ok(()));
    assert_eq!(pictures.read(&page()).unwrap(), None);
    assert_eq!(noted(&pictures)["ocr_left_out"], "1");
    assert!(pictures.spent() >= Duration::from_millis(20));
    let late = crate::Config {
        conversion_timeout_ms: 0,
        ..crate::Config::default()
    };
    let limits = crate::limits::Limits::starting_now(&late);
    assert!(limits.check_time().is_err());
    assert!(limits.with_pictures(&pictures).check_time().is_ok());
}

#[test]
fn why_nothing_is_read_is_told_once_and_without_failing() {
    let settings = OcrConfig::default();
    let engine = Engine::new(Err(OcrUnavailable::new("the models are not installed")));
    let pictures = PictureReader::new(&settings, &engine, &|| Ok(()));
    assert_eq!(pictures.read(&page()).unwrap(), None);
    assert_eq!(
        noted(&pictures),
        [(
            UNAVAILABLE_KEY.to_owned(),
            "the models are not installed".to_owned()
        )]
        .into()
    );
    let missing = OcrSetup {
        library: "/nowhere.so".into(),
        models: "/nowhere".into(),
        config: serde_json::from_str(SETTINGS).unwrap(),
    };
    let engine = Engine::new(Ok(missing));
    let pictures = PictureReader::new(&settings, &engine, &|| Ok(()));
    assert_eq!(pictures.read(&page()).unwrap(), None);
    assert!(
        noted(&pictures)[UNAVAILABLE_KEY].contains("/nowhere.so"),
        "{:?}",
        noted(&pictures)
    );
}

const SETTINGS: &str = r#"{"enabled": true, "folder": "ocr", "minimum_confidence": 0.5, "maximum_detection_side": 1440,
    "minimum_detection_side": 544, "maximum_lines_per_page": 3000, "sessions": 1, "session_threads": 1}"#;

#[test]
fn no_text_is_told_apart_from_no_reading() {
    let settings = OcrConfig::default();
    let engine = Engine::with(Box::new(Blind));
    let pictures = PictureReader::new(&settings, &engine, &|| Ok(()));
    assert_eq!(pictures.read(&page()).unwrap().as_deref(), Some(""));
    assert_eq!(noted(&pictures)[FOUND_KEY], "nothing");
    assert_eq!(
        noted(&PictureReader::new(&settings, &engine, &|| Ok(()))),
        BTreeMap::new(),
        "nothing was asked for"
    );
}
