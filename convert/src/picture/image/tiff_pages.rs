//! The pages of a TIFF file, one after the other, so that only one is in memory.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tiff::decoder::{Decoder, DecodingResult};
use tiff::tags::Tag;
use tiff::{ColorType, TiffError};
use tributary_schemas::{Error, ErrorKind, Result};

use super::colours::{Layout, cmyk_to_rgb, to_rgb, ycbcr_to_rgb};
use super::decode::DAMAGED_HINT;
use super::orientation::turn;
use super::{Page, check_size, keep_most};
use crate::config::ImageConfig;
use crate::limits::Limits;
use tributary_models::ocr::RgbImage;

/// Largest value of one tag in bytes; strip offsets of a large page fit.
const MAXIMUM_TAG_BYTES: usize = 4 << 20;

/// Value of the tag `Compression` for JPEG.
const JPEG: u16 = 7;

type PageDecoder<'a> = Decoder<Cursor<&'a [u8]>>;

/// Calls `read` with each page; a damaged page comes without its image. Fails if half of the pages
/// or more are damaged.
pub(super) fn each_page(
    bytes: &[u8],
    settings: &ImageConfig,
    limits: &Limits,
    read: &mut dyn FnMut(Page) -> Result<()>,
) -> Result<()> {
    let mut decoder = open(bytes, settings)?;
    let (mut pages, mut failures) = (0, Vec::new());
    loop {
        limits.check_time()?;
        if !is_reduced_copy(&mut decoder) || (pages == 0 && !decoder.more_images()) {
            pages += 1;
            check_pages(pages, settings)?;
            read(keep_damage(
                decode_safely(&mut decoder, settings),
                pages,
                &mut failures,
            )?)?;
        }
        if !decoder.more_images() {
            break;
        }
        if let Err(error) = decoder.next_image() {
            pages += 1;
            read(keep_damage(Err(error_of(error)), pages, &mut failures)?)?;
            break;
        }
    }
    check_damage(failures, pages)
}

/// The decoder is safe code that asserts what damaged files break.
fn decode_safely(decoder: &mut PageDecoder, settings: &ImageConfig) -> Result<Page> {
    catch_unwind(AssertUnwindSafe(|| decode_page(decoder, settings)))
        .unwrap_or_else(|_| Err(Error::new(ErrorKind::Corrupt, "the TIFF image is damaged")))
}

/// A page that is damaged as one without image; its error is noted beside the number of such pages
/// so far. Other errors stay.
fn keep_damage(
    page: Result<Page>,
    number: usize,
    failures: &mut Vec<(usize, Error)>,
) -> Result<Page> {
    page.or_else(|error| {
        let error = at_page(error, number);
        if error.kind() != ErrorKind::Corrupt {
            return Err(error);
        }
        failures.push((failures.len() + 1, error.clone()));
        Ok(Page {
            image: None,
            damaged: Some(error.to_string()),
        })
    })
}

fn decoder_limits(settings: &ImageConfig) -> tiff::decoder::Limits {
    let pixels = usize::try_from(settings.maximum_pixels).unwrap_or(usize::MAX);
    let mut allowed = tiff::decoder::Limits::default();
    allowed.decoding_buffer_size = pixels.saturating_mul(8);
    allowed.intermediate_buffer_size = pixels.saturating_mul(8);
    allowed.ifd_value_size = MAXIMUM_TAG_BYTES;
    allowed
}

fn open<'a>(bytes: &'a [u8], settings: &ImageConfig) -> Result<Decoder<Cursor<&'a [u8]>>> {
    let decoder = Decoder::new(Cursor::new(bytes)).map_err(error_of)?;
    Ok(decoder.with_limits(decoder_limits(settings)))
}

/// The last failure, if half of the pages or more have one.
fn check_damage(failures: Vec<(usize, Error)>, pages: usize) -> Result<()> {
    match failures.into_iter().next_back() {
        Some((count, error)) if count * 2 >= pages => Err(error),
        _ => Ok(()),
    }
}

fn check_pages(pages: usize, settings: &ImageConfig) -> Result<()> {
    let maximum = settings.maximum_pages;
    if pages <= maximum {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Invalid,
        format!("the TIFF image has more than {maximum} pages"),
    )
    .with_hint("split the file, or raise `convert.image.maximum_pages`"))
}

/// Whether this is a thumbnail or a mask of another page (bits 0 and 2 of the tag
/// `NewSubfileType`).
fn is_reduced_copy(decoder: &mut PageDecoder) -> bool {
    decoder
        .find_tag_unsigned::<u32>(Tag::NewSubfileType)
        .ok()
        .flatten()
        .is_some_and(|kind| kind & 0b101 != 0)
}

fn decode_page(decoder: &mut PageDecoder, settings: &ImageConfig) -> Result<Page> {
    let (width, height) = decoder.dimensions().map_err(error_of)?;
    check_size(width, height, settings)?;
    check_strips(decoder, settings)?;
    let color = decoder.colortype().map_err(error_of)?;
    let orientation = decoder
        .find_tag_unsigned::<u16>(Tag::Orientation)
        .ok()
        .flatten()
        .unwrap_or(1);
    let planes = decoder
        .image_buffer_layout()
        .map_err(error_of)?
        .planes
        .max(1);
    let mut buffer = DecodingResult::U8(Vec::new());
    let outcome = decoder.read_image_to_buffer(&mut buffer).map_err(error_of);
    let mut samples = eight_bit_samples(buffer, color.bit_depth())?;
    let row_samples = samples.len() / (height as usize * planes).max(1);
    let damaged = match outcome {
        Ok(_) => None,
        Err(error) if planes > 1 => return Err(error),
        Err(error) => Some(keep_most(
            &mut samples,
            row_samples.max(1),
            white_of(color),
            error,
        )?),
    };
    if planes > 1 {
        samples = interleaved(&samples, planes);
    }
    let image = rgb_of(samples, width, height, color)?;
    Ok(Page {
        image: Some(turn(image, u8::try_from(orientation).unwrap_or(1))?),
        damaged,
    })
}

/// Refuses JPEG strips that say they have more pixels than a page may have: the decoder would make
/// room for them.
fn check_strips(decoder: &mut PageDecoder, settings: &ImageConfig) -> Result<()> {
    if decoder
        .find_tag_unsigned::<u16>(Tag::Compression)
        .ok()
        .flatten()
        != Some(JPEG)
    {
        return Ok(());
    }
    let offsets = [Tag::StripOffsets, Tag::TileOffsets].map(|tag| {
        decoder
            .find_tag_unsigned_vec::<u64>(tag)
            .ok()
            .flatten()
            .unwrap_or_default()
    });
    let bytes: &[u8] = decoder.inner().get_ref();
    for offset in offsets.concat() {
        let strip = usize::try_from(offset)
            .ok()
            .and_then(|offset| bytes.get(offset..))
            .unwrap_or_default();
        if let Some((width, height)) = jpeg_size(strip) {
            check_size(width, height, settings)?;
        }
    }
    Ok(())
}

/// Width and height that the frame header of a JPEG stream tells.
fn jpeg_size(stream: &[u8]) -> Option<(u32, u32)> {
    let mut rest = stream.strip_prefix(&[0xFF, 0xD8])?;
    loop {
        let [0xFF, marker, high, low, ..] = *rest else {
            return None;
        };
        if let (
            0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF,
            [
                _,
                _,
                _,
                _,
                _,
                height_high,
                height_low,
                width_high,
                width_low,
                ..,
            ],
        ) = (marker, rest)
        {
            return Some((
                u32::from(u16::from_be_bytes([*width_high, *width_low])),
                u32::from(u16::from_be_bytes([*height_high, *height_low])),
            ));
        }
        rest = rest.get(2 + usize::from(u16::from_be_bytes([high, low])).max(2)..)?;
    }
}

/// The sample that makes rows white that were never reached, where one value does.
fn white_of(color: ColorType) -> Option<u8> {
    matches!(
        color,
        ColorType::Gray(_) | ColorType::RGB(_) | ColorType::RGBA(_)
    )
    .then_some(255)
}

/// Samples of any width as bytes; several samples of less than 8 bits stay packed in one.
fn eight_bit_samples(buffer: DecodingResult, bits: u8) -> Result<Vec<u8>> {
    let shift = u32::from(bits.saturating_sub(8));
    match buffer {
        DecodingResult::U8(values) => Ok(values),
        DecodingResult::U16(values) => Ok(values
            .iter()
            .map(|value| (value >> shift.min(8)).min(255) as u8)
            .collect()),
        DecodingResult::U32(values) => Ok(values
            .iter()
            .map(|value| (value >> shift.min(24)).min(255) as u8)
            .collect()),
        DecodingResult::F32(values) => Ok(values.iter().map(|value| byte_of(*value)).collect()),
        _ => Err(Error::new(
            ErrorKind::Unsupported,
            format!("TIFF images with signed or other samples of {bits} bits are not read"),
        )),
    }
}

/// A sample from 0 to 1 as a byte.
fn byte_of(sample: f32) -> u8 {
    (sample.clamp(0.0, 1.0) * 255.0).round() as u8
}

/// Planes one after the other to samples side by side.
fn interleaved(samples: &[u8], planes: usize) -> Vec<u8> {
    let length = samples.len() / planes.max(1);
    let plane_samples = |at: usize| {
        (0..planes).map(move |plane| samples.get(plane * length + at).copied().unwrap_or(0))
    };
    (0..length).flat_map(plane_samples).collect()
}

fn rgb_of(samples: Vec<u8>, width: u32, height: u32, color: ColorType) -> Result<RgbImage> {
    let rgb = |channels: usize, samples: Vec<u8>| {
        to_rgb(width, height, samples, Layout { channels, bytes: 1 })
    };
    match color {
        ColorType::Gray(bits @ (1 | 2 | 4)) => {
            rgb(1, unpacked(&samples, width as usize, height as usize, bits))
        }
        ColorType::Gray(8..) => rgb(1, samples),
        ColorType::GrayA(8..)
        | ColorType::Multiband {
            num_samples: 2,
            bit_depth: 8..,
        } => rgb(2, samples),
        ColorType::RGB(8..) => rgb(3, samples),
        ColorType::RGBA(8..) => rgb(4, samples),
        ColorType::YCbCr(8) => rgb(
            3,
            samples
                .as_chunks()
                .0
                .iter()
                .flat_map(|pixel| ycbcr_to_rgb(*pixel))
                .collect(),
        ),
        ColorType::CMYK(8..) => rgb(
            3,
            samples
                .as_chunks()
                .0
                .iter()
                .flat_map(|pixel| cmyk_to_rgb(*pixel))
                .collect(),
        ),
        other => Err(Error::new(
            ErrorKind::Unsupported,
            format!("TIFF images of the colours {other:?} are not read"),
        )),
    }
}

/// Samples of 1, 2 or 4 bits, each row begun in a new byte, as full bytes.
fn unpacked(samples: &[u8], width: usize, height: usize, bits: u8) -> Vec<u8> {
    let (per_byte, highest) = (usize::from(8 / bits), (1_u16 << bits) - 1);
    let row_bytes = width.div_ceil(per_byte).max(1);
    let mut values = Vec::with_capacity(width * height);
    for row in samples.chunks(row_bytes) {
        let packed = row
            .iter()
            .flat_map(|byte| (0..per_byte).map(move |at| byte >> (8 - bits as usize * (at + 1))));
        values.extend(
            packed
                .take(width)
                .map(|value| (u16::from(value) & highest) * 255 / highest)
                .map(|value| value as u8),
        );
    }
    values
}

fn at_page(error: Error, page: usize) -> Error {
    let located = Error::new(error.kind(), format!("page {page}: {error}"));
    match error.hint() {
        Some(hint) => located.with_hint(hint),
        None => located,
    }
}

fn error_of(error: TiffError) -> Error {
    let kind = match &error {
        TiffError::UnsupportedError(_) => ErrorKind::Unsupported,
        TiffError::LimitsExceeded => ErrorKind::Invalid,
        _ => ErrorKind::Corrupt,
    };
    let failure = Error::new(kind, format!("the TIFF image cannot be decoded: {error}"));
    match kind {
        ErrorKind::Invalid => {
            failure.with_hint("make the image smaller, or raise `convert.image.maximum_pixels`")
        }
        _ => failure.with_hint(DAMAGED_HINT),
    }
}
