//! Formats, colours, pages and hostile files, read by a recogniser that tells what it was given.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::Cursor;

use image::codecs::{
    bmp::BmpEncoder, gif::GifEncoder, jpeg::JpegEncoder, png::PngEncoder, webp::WebPEncoder,
};
use image::{ExtendedColorType, Frame, ImageEncoder, RgbaImage};
use tiff::encoder::{TiffEncoder, colortype};
use tributary_models::ocr::OcrUnavailable;
use tributary_schemas::{ErrorKind, Result};

use super::*;
use crate::config::{Config, ImageConfig};
use crate::picture::ocr::mirror::{Blind, Mirror, reading};
use crate::picture::ocr::{Engine, UNAVAILABLE_KEY};

fn small_config() -> Config {
    Config {
        image: ImageConfig {
            maximum_pixels: 10_000,
            maximum_pages: 5,
        },
        ..Config::default()
    }
}

fn converted(bytes: &[u8]) -> Result<Converted> {
    read_by(
        &Engine::with(Box::new(Mirror::default())),
        bytes,
        &small_config(),
    )
}

fn read_by(engine: &Engine, bytes: &[u8], config: &Config) -> Result<Converted> {
    reading(engine, config, |limits| {
        convert(bytes, &config.image, limits)
    })
}

fn markdown(bytes: &[u8]) -> String {
    converted(bytes).map_or_else(
        |error| format!("{}: {error}", error.kind()),
        |converted| text_of(&converted),
    )
}

/// The Markdown without the image itself.
fn text_of(converted: &Converted) -> String {
    converted
        .markdown
        .trim_start_matches("![](image:0)\n\n")
        .to_owned()
}

/// Pixels from black in the first to almost white in the last, different in every row.
fn gradient(width: u32, height: u32, channels: usize) -> Vec<u8> {
    let pixels = (width * height) as usize;
    (0..pixels)
        .flat_map(|at| vec![(at * 240 / pixels) as u8 + 3; channels])
        .collect()
}

fn png(width: u32, height: u32, color: ExtendedColorType, samples: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    PngEncoder::new(&mut bytes)
        .write_image(samples, width, height, color)
        .unwrap();
    bytes
}

fn jpeg(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, 95)
        .write_image(
            &gradient(width, height, 3),
            width,
            height,
            ExtendedColorType::Rgb8,
        )
        .unwrap();
    bytes
}

fn tiff(pages: &[(u32, u32)]) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut bytes).unwrap();
    for (width, height) in pages {
        encoder
            .write_image::<colortype::RGB8>(*width, *height, &gradient(*width, *height, 3))
            .unwrap();
    }
    bytes.into_inner()
}

fn gif(frames: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = GifEncoder::new(&mut bytes);
    for frame in 0..frames {
        let pixel = image::Rgba([if frame == 0 { 255 } else { 0 }, 0, 0, 255]);
        encoder
            .encode_frame(Frame::new(RgbaImage::from_pixel(8, 6, pixel)))
            .unwrap();
    }
    drop(encoder);
    bytes
}

/// One file of each format.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let (mut webp, mut bmp) = (Vec::new(), Vec::new());
    WebPEncoder::new_lossless(&mut webp)
        .write_image(&gradient(40, 30, 3), 40, 30, ExtendedColorType::Rgb8)
        .unwrap();
    BmpEncoder::new(&mut bmp)
        .write_image(&gradient(40, 30, 3), 40, 30, ExtendedColorType::Rgb8)
        .unwrap();
    let png = png(40, 30, ExtendedColorType::Rgb8, &gradient(40, 30, 3));
    vec![
        ("image/png", png),
        ("image/jpeg", jpeg(40, 30)),
        ("image/gif", gif(3)),
        ("image/webp", webp),
        ("image/bmp", bmp),
        ("image/tiff", tiff(&[(40, 30), (20, 10)])),
    ]
}

#[test]
fn every_format_is_read() {
    for (media_type, bytes) in samples() {
        let converted = converted(&bytes).unwrap();
        assert_eq!(
            (converted.media_type.as_str(), &*converted.converter),
            (media_type, "image/3")
        );
        assert_eq!(
            converted.metadata["ocr_pages"],
            if media_type == "image/tiff" { "2" } else { "1" }
        );
        let size = if media_type == "image/gif" {
            "8x6 \\[255, 0, 0]"
        } else {
            "40x30 ["
        };
        assert!(
            text_of(&converted).starts_with(&size.replace('\\', "")),
            "{media_type}: {}",
            converted.markdown
        );
        let kept: Vec<&[u8]> = converted
            .blobs
            .iter()
            .map(|file| file.bytes.as_slice())
            .collect();
        let pages = if media_type == "image/tiff" { 2 } else { 1 };
        if pages > 1 {
            // JPEG, as nothing shows a TIFF.
            assert!(kept.iter().all(|kept| kept.starts_with(&[0xFF, 0xD8])));
        } else {
            assert_eq!(kept, [bytes.as_slice()], "{media_type}");
        }
        assert_eq!(
            (converted.blobs.len(), converted.images.len()),
            (pages, pages)
        );
    }
}

#[test]
fn each_page_of_a_tiff_is_a_page() {
    let found = converted(&tiff(&[(4, 3), (20, 10), (5, 6)])).unwrap();
    let pages: Vec<(&str, &str)> = found
        .markdown
        .split('\u{c}')
        .map(|page| page.split_once("\n\n").unwrap())
        .map(|(picture, text)| (picture, text.split(' ').next().unwrap()))
        .collect();
    assert_eq!(
        pages,
        [
            ("![](image:0)", "4x3"),
            ("![](image:1)", "20x10"),
            ("![](image:2)", "5x6")
        ]
    );
    let names: Vec<&str> = found.blobs.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["page-1.jpg", "page-2.jpg", "page-3.jpg"]);
    assert!(
        markdown(&tiff(&[(4, 3); 6])).starts_with("invalid: the TIFF image has more than 5 pages")
    );
}

#[test]
fn sixteen_bits_grey_and_transparency_become_rgb() {
    let samples: Vec<u8> = [0xFF00_u16, 0x1200, 0x3400, 0x0000]
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect();
    assert!(
        markdown(&png(1, 1, ExtendedColorType::Rgba16, &samples))
            .starts_with("1x1 [255, 255, 255]")
    );
    assert!(
        markdown(&png(2, 1, ExtendedColorType::La8, &[7, 255, 7, 0]))
            .starts_with("2x1 [7, 7, 7] [255, 255, 255]")
    );
    assert!(
        markdown(&png(2, 1, ExtendedColorType::L16, &samples[..4]))
            .starts_with("2x1 [255, 255, 255] [18, 18, 18]")
    );
}

type PageEncoder<'a> = TiffEncoder<&'a mut Cursor<Vec<u8>>>;

#[test]
fn tiff_colours_become_rgb() {
    let page = |write: &dyn Fn(&mut PageEncoder)| {
        let mut bytes = Cursor::new(Vec::new());
        write(&mut TiffEncoder::new(&mut bytes).unwrap());
        markdown(&bytes.into_inner())
    };
    let inks = page(&|encoder| {
        encoder
            .write_image::<colortype::CMYK8>(1, 2, &[0, 255, 255, 0, 0, 0, 0, 255])
            .unwrap()
    });
    assert!(inks.starts_with("1x2 [255, 0, 0] [0, 0, 0]"), "{inks}");
    let wide = page(&|encoder| {
        encoder
            .write_image::<colortype::Gray16>(1, 2, &[0xFFFF, 0x1234])
            .unwrap()
    });
    assert!(
        wide.starts_with("1x2 [255, 255, 255] [18, 18, 18]"),
        "{wide}"
    );
    let clear = page(&|encoder| {
        encoder
            .write_image::<colortype::RGBA8>(1, 1, &[0, 0, 0, 0])
            .unwrap()
    });
    assert!(clear.starts_with("1x1 [255, 255, 255]"), "{clear}");
}

/// A TIFF of one page with this data and these tags.
fn tiff_of(data: &[u8], tags: &[(u16, u32)]) -> Vec<u8> {
    let mut bytes = b"II*\0".to_vec();
    bytes.extend((8 + data.len() as u32).to_le_bytes());
    bytes.extend(data);
    bytes.extend((tags.len() as u16).to_le_bytes());
    for (tag, value) in tags {
        bytes.extend(tag.to_le_bytes());
        bytes.extend([4, 0, 1, 0, 0, 0]);
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0; 4]);
    bytes
}

/// A TIFF of one bit a pixel, white where a bit is set, rows of 10 pixels.
fn two_level_tiff(rows: &[[u8; 2]]) -> Vec<u8> {
    let height = rows.len() as u32;
    let tags = [
        (256, 10),
        (257, height),
        (258, 1),
        (259, 1),
        (262, 1),
        (273, 8),
        (278, height),
        (279, 2 * height),
    ];
    tiff_of(rows.as_flattened(), &tags)
}

#[test]
fn one_bit_pages_are_unpacked() {
    let mirror = Mirror::default();
    let bytes = two_level_tiff(&[[0b1010_0000, 0b0100_0000], [0, 0]]);
    read_by(
        &Engine::with(Box::new(mirror.clone())),
        &bytes,
        &small_config(),
    )
    .unwrap();
    let pages = mirror.0.lock().unwrap();
    let first: Vec<u8> = pages[0].row(0).iter().step_by(3).copied().collect();
    assert_eq!(first, [255, 0, 255, 0, 0, 0, 0, 0, 0, 255]);
}

/// The JPEG with an EXIF block that says how it is turned.
fn with_orientation(jpeg: &[u8], orientation: u8) -> Vec<u8> {
    let exif = [
        &b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0"[..],
        &[orientation, 0, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    let length = (exif.len() as u16 + 2).to_be_bytes();
    [&jpeg[..2], &[0xFF, 0xE1], &length, &exif, &jpeg[2..]].concat()
}

#[test]
fn exif_turns_the_image() {
    let image = jpeg(40, 30);
    assert!(markdown(&image).starts_with("40x30 ["));
    let turned = markdown(&with_orientation(&image, 6));
    assert!(turned.starts_with("30x40 ["), "{turned}");
}

#[test]
fn of_an_animation_the_first_frame_is_read() {
    assert!(markdown(&gif(3000)).starts_with("8x6 [255, 0, 0]"));
}

#[test]
fn images_without_text_are_empty() {
    let bytes = tiff(&[(4, 3), (4, 3)]);
    let converted = read_by(&Engine::with(Box::new(Blind)), &bytes, &Config::default()).unwrap();
    assert_eq!(
        (
            converted.markdown.as_str(),
            converted.metadata["ocr_found"].as_str()
        ),
        ("", "nothing")
    );
}

#[test]
fn without_a_recogniser_the_reason_is_told() {
    let engine = Engine::new(Err(OcrUnavailable::new("the OCR models are not installed")));
    let converted = read_by(&engine, &jpeg(4, 4), &Config::default()).unwrap();
    assert_eq!(
        (
            converted.markdown.as_str(),
            converted.metadata[UNAVAILABLE_KEY].as_str()
        ),
        ("", "the OCR models are not installed")
    );
    assert_eq!(
        read_by(&engine, b"no image at all", &Config::default())
            .unwrap_err()
            .kind(),
        ErrorKind::Unsupported
    );
}

#[test]
fn sizes_are_checked_before_pixels_are_made() {
    assert!(
        markdown(&png(200, 100, ExtendedColorType::L8, &[0; 20_000]))
            .starts_with("invalid: the image has 200 × 100 pixels, more than")
    );
    // The sizes that the headers claim, patched into small files.
    let mut claims = samples();
    for (media_type, bytes) in &mut claims {
        match *media_type {
            "image/png" => bytes[16..24].copy_from_slice(&[0, 0, 255, 255, 0, 0, 255, 255]),
            "image/gif" => bytes[6..10].fill(255),
            "image/bmp" => bytes[18..26].copy_from_slice(&[255, 255, 0, 0, 255, 255, 0, 0]),
            "image/jpeg" => {
                let start = bytes
                    .windows(2)
                    .position(|pair| pair == [0xFF, 0xC0])
                    .unwrap();
                bytes[start + 5..start + 9].fill(255);
            }
            _ => continue,
        }
        let error = converted(bytes).unwrap_err();
        // A PNG's header has a checksum, which is wrong now.
        let expected = if *media_type == "image/png" {
            ErrorKind::Corrupt
        } else {
            ErrorKind::Invalid
        };
        assert_eq!(error.kind(), expected, "{media_type}: {error}");
    }
}

/// A TIFF page whose JPEG strip says that it is much larger than the page.
#[test]
fn a_strip_larger_than_its_page_is_refused() {
    let mut strip = jpeg(16, 16);
    let at = strip
        .windows(2)
        .position(|pair| pair == [0xFF, 0xC0])
        .unwrap();
    strip[at + 5..at + 9].copy_from_slice(&[0x3F, 0xFF, 0x3F, 0xFF]);
    let tags: [(u16, u32); 9] = [
        (256, 16),
        (257, 16),
        (258, 8),
        (259, 7),
        (262, 1),
        (273, 8),
        (277, 1),
        (278, 16),
        (279, strip.len() as u32),
    ];
    let bytes = tiff_of(&strip, &tags);
    let refused = markdown(&bytes);
    assert!(
        refused.starts_with("invalid: page 1: ") && refused.contains("16383 × 16383"),
        "{refused}"
    );
}

#[test]
fn images_without_pixels_are_corrupt() {
    let mut bmp = samples().remove(4).1;
    bmp[18..22].fill(0);
    let refused = markdown(&bmp);
    assert!(
        refused.starts_with("corrupt: ") || refused.starts_with("unsupported: "),
        "{refused}"
    );
    assert!(
        markdown(&two_level_tiff(&[])).starts_with("corrupt: "),
        "{}",
        markdown(&two_level_tiff(&[]))
    );
    assert!(markdown(b"").starts_with("corrupt: "));
    assert!(markdown(b"%PDF-1.7 and so on").starts_with("unsupported: "));
}

#[test]
fn cut_off_images_give_what_is_there() {
    let noise: Vec<u8> = (0..90 * 100 * 3_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 | 1)
        .collect();
    let whole = png(90, 100, ExtendedColorType::Rgb8, &noise);
    let nearly_whole = converted(&whole[..whole.len() * 9 / 10]).unwrap();
    assert!(
        nearly_whole.metadata["damaged"].contains("of 100 rows"),
        "{:?}",
        nearly_whole.metadata
    );
    assert!(
        nearly_whole.markdown.contains("[255, 255, 255]"),
        "what is missing is white: {}",
        nearly_whole.markdown
    );
    assert!(markdown(&whole[..whole.len() / 3]).starts_with("corrupt: "));
    let photo = jpeg(96, 96);
    let nearly_whole = converted(&photo[..photo.len() * 9 / 10]).unwrap();
    assert!(
        nearly_whole.metadata.contains_key("damaged"),
        "{:?}",
        nearly_whole.metadata
    );
    assert!(
        markdown(&photo[..photo.len() / 2]).starts_with("corrupt: "),
        "{}",
        markdown(&photo[..photo.len() / 2])
    );
}

#[test]
fn damage_never_panics() {
    let mut random = 12345_u32;
    let mut next = move || {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        random >> 8
    };
    let mut outcomes = BTreeMap::new();
    for (media_type, bytes) in samples() {
        for end in (0..bytes.len()).step_by(97.min(bytes.len() / 8)) {
            *outcomes
                .entry((
                    media_type,
                    converted(&bytes[..end]).map_or_else(|error| error.kind().as_str(), |_| "read"),
                ))
                .or_insert(0) += 1;
        }
        for _ in 0..200 {
            let mut flipped = bytes.clone();
            for _ in 0..3 {
                let at = next() as usize % flipped.len();
                flipped[at] ^= 1 << (next() % 8);
            }
            *outcomes
                .entry((
                    media_type,
                    converted(&flipped).map_or_else(|error| error.kind().as_str(), |_| "read"),
                ))
                .or_insert(0) += 1;
        }
    }
    assert!(
        outcomes
            .keys()
            .all(|(_, outcome)| ["read", "corrupt", "unsupported", "invalid"].contains(outcome)),
        "{outcomes:?}"
    );
}

#[test]
fn a_page_chain_without_end_is_cut() {
    let mut looped = two_level_tiff(&[[0, 0], [0, 0]]);
    let length = looped.len();
    looped[length - 4..].copy_from_slice(&12_u32.to_le_bytes());
    let text = markdown(&looped);
    assert!(
        text.starts_with("corrupt: ") || text.starts_with("10x2"),
        "{text}"
    );
}

#[test]
fn time_is_checked() {
    let config = Config {
        conversion_timeout_ms: 0,
        ..Config::default()
    };
    let error = convert(&jpeg(40, 30), &config.image, &Limits::starting_now(&config)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}
