//! Pictures that were drawn, as JPEG: slides and pages.

use image::codecs::jpeg::JpegEncoder;
use image::{ExtendedColorType, ImageEncoder};
use tributary_models::ocr::RgbImage;

const QUALITY: u8 = 85;

/// The file; `None` for a picture that the format cannot hold.
pub(crate) fn of(picture: &RgbImage) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let encoder = JpegEncoder::new_with_quality(&mut bytes, QUALITY);
    encoder
        .write_image(
            picture.pixels(),
            picture.width(),
            picture.height(),
            ExtendedColorType::Rgb8,
        )
        .ok()?;
    Some(bytes)
}
