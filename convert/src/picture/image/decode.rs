//! Formats of one frame (PNG, JPEG, GIF, WebP, BMP) to RGB pixels.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use image::codecs::{
    bmp::BmpDecoder, gif::GifDecoder, jpeg::JpegDecoder, png::PngDecoder, webp::WebPDecoder,
};
use image::metadata::Orientation;
use image::{ColorType, ImageDecoder, ImageError, ImageFormat};
use tributary_schemas::{Error, ErrorKind, Result};

use super::colours::{Layout, to_rgb};
use super::orientation::turn;
use super::{Page, check_size, keep_most};
use crate::config::ImageConfig;

/// What helps with a damaged image.
pub(super) const DAMAGED_HINT: &str =
    "open it in an image viewer and save it again, or fetch it again from its source";

/// Memory in bytes that a decoder may use besides the pixels: compressed metadata, tables.
const WORKING_BYTES: u64 = 64 << 20;

/// The format that the first bytes show.
pub(super) fn format_of(bytes: &[u8]) -> Result<ImageFormat> {
    let unknown = |what: &str| {
        Error::new(
            ErrorKind::Unsupported,
            format!("{what} is not an image format that is read"),
        )
        .with_hint("save the image as PNG, JPEG, WebP, GIF, BMP or TIFF")
    };
    match image::guess_format(bytes) {
        Ok(
            format @ (ImageFormat::Png
            | ImageFormat::Jpeg
            | ImageFormat::Gif
            | ImageFormat::WebP
            | ImageFormat::Bmp
            | ImageFormat::Tiff),
        ) => Ok(format),
        Ok(other) => Err(unknown(other.to_mime_type())),
        Err(_) if bytes.len() < 12 => Err(Error::new(
            ErrorKind::Corrupt,
            format!("the image ends after {} bytes", bytes.len()),
        )
        .with_hint(DAMAGED_HINT)),
        Err(_) => Err(unknown("this file")),
    }
}

/// Width and height in pixels, before it is turned upright; `None` if the first bytes are damaged.
pub(super) fn size(
    bytes: &[u8],
    format: ImageFormat,
    settings: &ImageConfig,
) -> Option<(u32, u32)> {
    catch_unwind(AssertUnwindSafe(|| {
        open(bytes, format, settings)
            .ok()
            .map(|decoder| decoder.dimensions())
    }))
    .ok()
    .flatten()
}

/// The first frame, upright, on white.
pub(super) fn decode(bytes: &[u8], format: ImageFormat, settings: &ImageConfig) -> Result<Page> {
    // The decoders are safe code that has panicked on damaged files before.
    catch_unwind(AssertUnwindSafe(|| decode_frame(bytes, format, settings))).unwrap_or_else(|_| {
        Err(Error::new(
            ErrorKind::Corrupt,
            format!("the {} image is damaged", name_of(format)),
        )
        .with_hint(DAMAGED_HINT))
    })
}

fn decode_frame(bytes: &[u8], format: ImageFormat, settings: &ImageConfig) -> Result<Page> {
    let failed = |error: ImageError| error_of(error, format);
    let mut decoder = open(bytes, format, settings).map_err(failed)?;
    let (width, height) = decoder.dimensions();
    check_size(width, height, settings)?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let layout = layout_of(decoder.color_type()).ok_or_else(|| {
        Error::new(
            ErrorKind::Unsupported,
            format!(
                "{} images of {:?} are not read",
                name_of(format),
                decoder.color_type()
            ),
        )
    })?;
    let mut pixels = vec![0_u8; decoder.total_bytes() as usize];
    let row_bytes = pixels.len() / height as usize;
    let damaged = match decoder.read_image(&mut pixels).map_err(failed) {
        Ok(()) if format == ImageFormat::Jpeg && is_cut_off(bytes) => {
            Some(check_grey_tail(&pixels, row_bytes)?)
        }
        Ok(()) => None,
        Err(error) => Some(keep_most(&mut pixels, row_bytes, Some(255), error)?),
    };
    let image = to_rgb(width, height, pixels, layout)?;
    Ok(Page {
        image: Some(turn(image, orientation.to_exif())?),
        damaged,
    })
}

fn open<'a>(
    bytes: &'a [u8],
    format: ImageFormat,
    settings: &ImageConfig,
) -> std::result::Result<Box<dyn ImageDecoder + 'a>, ImageError> {
    let reader = Cursor::new(bytes);
    let mut allowed = image::Limits::no_limits();
    allowed.max_alloc = Some(
        settings
            .maximum_pixels
            .saturating_mul(8)
            .saturating_add(WORKING_BYTES),
    );
    let mut decoder: Box<dyn ImageDecoder> = match format {
        ImageFormat::Png => Box::new(PngDecoder::with_limits(reader, allowed.clone())?),
        ImageFormat::Jpeg => Box::new(JpegDecoder::new(reader)?),
        ImageFormat::Gif => Box::new(GifDecoder::new(reader)?),
        ImageFormat::WebP => Box::new(WebPDecoder::new(reader)?),
        _ => Box::new(BmpDecoder::new(reader)?),
    };
    decoder.set_limits(allowed)?;
    Ok(decoder)
}

fn layout_of(color: ColorType) -> Option<Layout> {
    match color {
        ColorType::L8 => Some(Layout {
            channels: 1,
            bytes: 1,
        }),
        ColorType::La8 => Some(Layout {
            channels: 2,
            bytes: 1,
        }),
        ColorType::Rgb8 => Some(Layout {
            channels: 3,
            bytes: 1,
        }),
        ColorType::Rgba8 => Some(Layout {
            channels: 4,
            bytes: 1,
        }),
        ColorType::L16 => Some(Layout {
            channels: 1,
            bytes: 2,
        }),
        ColorType::La16 => Some(Layout {
            channels: 2,
            bytes: 2,
        }),
        ColorType::Rgb16 => Some(Layout {
            channels: 3,
            bytes: 2,
        }),
        ColorType::Rgba16 => Some(Layout {
            channels: 4,
            bytes: 2,
        }),
        _ => None,
    }
}

/// Whether a JPEG has no end mark after its last scan has begun: its decoder then fills the rest
/// without a word.
fn is_cut_off(bytes: &[u8]) -> bool {
    let last = |second: u8| bytes.windows(2).rposition(|pair| pair == [0xFF, second]);
    last(0xD9) < last(0xDA)
}

/// A note for a JPEG that is cut off, or `Corrupt` if half of it or more has one colour from
/// somewhere to the end.
fn check_grey_tail(pixels: &[u8], row_bytes: usize) -> Result<String> {
    let rows = pixels.len() / row_bytes.max(1);
    let last_row = pixels
        .rchunks_exact(row_bytes.max(1))
        .next()
        .unwrap_or_default();
    let same = pixels
        .rchunks_exact(row_bytes.max(1))
        .take_while(|row| *row == last_row)
        .count();
    let is_one_colour = last_row.iter().all(|value| {
        last_row
            .first()
            .is_some_and(|first| first.abs_diff(*value) <= 8)
    });
    let missing = if is_one_colour { same } else { 0 };
    if missing * 2 >= rows {
        let what = format!("the JPEG image ends early, {missing} of {rows} rows are missing");
        return Err(Error::new(ErrorKind::Corrupt, what).with_hint(DAMAGED_HINT));
    }
    Ok(format!(
        "the JPEG image ends early, after about {} of {rows} rows",
        rows - missing
    ))
}

fn name_of(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Png => "PNG",
        ImageFormat::Jpeg => "JPEG",
        ImageFormat::Gif => "GIF",
        ImageFormat::WebP => "WebP",
        ImageFormat::Bmp => "BMP",
        _ => "TIFF",
    }
}

fn error_of(error: ImageError, format: ImageFormat) -> Error {
    let kind = match &error {
        ImageError::Unsupported(_) => ErrorKind::Unsupported,
        ImageError::Limits(_) => ErrorKind::Invalid,
        _ => ErrorKind::Corrupt,
    };
    let message = format!(
        "the {} image cannot be decoded: {}",
        name_of(format),
        error.to_string().lines().next().unwrap_or_default()
    );
    let failure = Error::new(kind, message);
    match kind {
        ErrorKind::Invalid => {
            failure.with_hint("make the image smaller, or raise `convert.image.maximum_pixels`")
        }
        _ => failure.with_hint(DAMAGED_HINT),
    }
}
