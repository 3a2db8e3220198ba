//! The recogniser with its real models on a page that is drawn here. Where models or runtime are
//! missing the tests say so and read nothing.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use std::path::Path;

use common::{config, ocr_config};
use tributary_models::Config;
use tributary_models::ocr::{OcrConfig, OcrSetup, PpOcr, RecognizedPage, RgbImage, TextRecognizer};

/// Letters as rows of 5 pixels, from a small font of our own.
const FONT: [(char, [&str; 7]); 6] = [
    (
        'T',
        [
            "#####", "..#..", "..#..", "..#..", "..#..", "..#..", "..#..",
        ],
    ),
    (
        'E',
        [
            "#####", "#....", "#....", "####.", "#....", "#....", "#####",
        ],
    ),
    (
        'L',
        [
            "#....", "#....", "#....", "#....", "#....", "#....", "#####",
        ],
    ),
    (
        'H',
        [
            "#...#", "#...#", "#...#", "#####", "#...#", "#...#", "#...#",
        ],
    ),
    (
        'O',
        [
            ".###.", "#...#", "#...#", "#...#", "#...#", "#...#", ".###.",
        ],
    ),
    (
        'F',
        [
            "#####", "#....", "#....", "####.", "#....", "#....", "#....",
        ],
    ),
];

const WIDTH: usize = 640;
const HEIGHT: usize = 240;
/// Pixels of the page for one of a letter.
const SCALE: usize = 5;

fn is_ink(text: &str, x: usize, y: usize) -> bool {
    let letter = text.chars().nth(x / (6 * SCALE));
    let rows = letter
        .and_then(|letter| FONT.iter().find(|(known, _)| *known == letter))
        .map(|(_, rows)| rows);
    rows.and_then(|rows| rows.get(y / SCALE))
        .is_some_and(|row| row.as_bytes().get(x % (6 * SCALE) / SCALE) == Some(&b'#'))
}

/// A white page with two lines of black letters.
fn drawn_page() -> Vec<bool> {
    let lines = [("HELLO", 60, 40), ("TO THE HOTEL", 60, 140)];
    let ink = |x: usize, y: usize| {
        lines
            .iter()
            .any(|(text, left, top)| x >= *left && y >= *top && is_ink(text, x - left, y - top))
    };
    (0..HEIGHT)
        .flat_map(|y| (0..WIDTH).map(move |x| ink(x, y)))
        .collect()
}

fn image(width: usize, height: usize, ink: impl Fn(usize, usize) -> bool) -> RgbImage {
    let pixels = (0..height)
        .flat_map(|y| (0..width).map(move |x| (x, y)))
        .flat_map(|(x, y)| [if ink(x, y) { 20 } else { 245 }; 3])
        .collect();
    RgbImage::new(width as u32, height as u32, pixels).unwrap()
}

fn recognizer() -> Option<PpOcr> {
    match OcrSetup::find(&config("none"), Path::new("absent")).and_then(|setup| setup.open()) {
        Ok(recognizer) => Some(recognizer),
        Err(unavailable) => {
            eprintln!("SKIPPED: {unavailable}");
            None
        }
    }
}

/// The lines from top to bottom, as they stand on an upright page.
fn read(recognizer: &PpOcr, image: &RgbImage) -> RecognizedPage {
    recognizer.recognize(image, &|| Ok(())).unwrap()
}

#[test]
fn a_drawn_page_is_read_from_any_side() {
    let Some(recognizer) = recognizer() else {
        return;
    };
    let page = drawn_page();
    let at = |x: usize, y: usize| page[y * WIDTH + x];
    let turned = [
        image(WIDTH, HEIGHT, at),
        image(WIDTH, HEIGHT, |x, y| at(WIDTH - 1 - x, HEIGHT - 1 - y)),
        image(HEIGHT, WIDTH, |x, y| at(y, HEIGHT - 1 - x)),
        image(HEIGHT, WIDTH, |x, y| at(WIDTH - 1 - y, x)),
    ];
    for image in turned {
        let mut lines: Vec<String> = read(&recognizer, &image)
            .lines
            .into_iter()
            .map(|line| line.text)
            .collect();
        lines.sort();
        assert_eq!(lines.join(" "), "HELLO TO THE HOTEL", "{image:?}");
    }
}

#[test]
fn blank_and_tiny_images_have_no_text() {
    let Some(recognizer) = recognizer() else {
        return;
    };
    for (width, height) in [(300, 200), (1, 1), (2000, 1), (1, 2000), (3, 3)] {
        let page = read(&recognizer, &image(width, height, |_, _| false));
        assert!(
            page.lines.is_empty(),
            "{width} × {height}: {:?}",
            page.lines
        );
    }
}

#[test]
fn missing_models_are_a_reason() {
    let unavailable = PpOcr::open(Path::new("/nonexistent"), &ocr_config())
        .err()
        .unwrap();
    assert!(
        unavailable
            .reason()
            .contains("(/nonexistent/PP-OCRv6_det_small.onnx is missing)"),
        "{unavailable}"
    );
    let elsewhere = Config {
        search_folders: Vec::new(),
        ..config("none")
    };
    let unavailable = OcrSetup::find(&elsewhere, Path::new("/nonexistent")).unwrap_err();
    assert!(
        unavailable.reason().contains("tributary models pull ocr"),
        "{unavailable}"
    );
    let off = Config {
        ocr: OcrConfig {
            enabled: false,
            ..ocr_config()
        },
        ..elsewhere
    };
    let unavailable = OcrSetup::find(&off, Path::new("/nonexistent")).unwrap_err();
    assert!(
        unavailable.reason().contains("models.ocr.enabled"),
        "{unavailable}"
    );
}
