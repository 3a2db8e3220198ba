//! Pages as pictures.

use std::ffi::c_int;

use tributary_models::ocr::RgbImage;
use tributary_schemas::{Error, ErrorKind, Result};

use super::document::Page;
use crate::config::PdfConfig;

/// PDFium's number of the pixel format with three bytes, and its flag to draw annotations.
const FORMAT_BGR: c_int = 2;
const DRAW_ANNOTATIONS: c_int = 1;

const POINTS_PER_INCH: f32 = 72.0;

/// Longest side of an image in pixels.
const MAXIMUM_SIDE: f32 = 20_000.0;

/// Draws an open page on white so many pixels wide, fewer where it would have too many.
pub(super) fn draw_wide(page: &Page, width: u16, config: &PdfConfig) -> Result<RgbImage> {
    let (page_width, _) = size(page);
    draw(
        page,
        f32::from(width) * POINTS_PER_INCH / page_width,
        config,
    )
}

/// Draws an open page on white with so many dots per inch, fewer where it would have too many
/// pixels.
pub(super) fn draw(page: &Page, dots_per_inch: f32, config: &PdfConfig) -> Result<RgbImage> {
    let (page_width, page_height) = size(page);
    let scale = scale(
        page_width,
        page_height,
        dots_per_inch,
        config.maximum_image_pixels,
    );
    let pixels = |points: f32| (points * scale).round().clamp(1.0, MAXIMUM_SIDE) as usize;
    let (width, height) = (pixels(page_width), pixels(page_height));
    let stride = width * 3;
    let mut buffer = vec![0xFF_u8; stride * height];
    let (columns, rows, stride) = (width as c_int, height as c_int, stride as c_int);
    // SAFETY: the buffer has `height` rows of `stride` bytes and outlives the bitmap, which is
    // destroyed here.
    unsafe {
        let bitmap = page.pdfium.FPDFBitmap_CreateEx(
            columns,
            rows,
            FORMAT_BGR,
            buffer.as_mut_ptr().cast(),
            stride,
        );
        if bitmap.is_null() {
            return Err(Error::new(
                ErrorKind::Internal,
                format!("no bitmap of {width} x {height} pixels can be made"),
            ));
        }
        page.pdfium.FPDF_RenderPageBitmap(
            bitmap,
            page.handle,
            0,
            0,
            columns,
            rows,
            0,
            DRAW_ANNOTATIONS,
        );
        page.pdfium.FPDFBitmap_Destroy(bitmap);
    }
    buffer.chunks_exact_mut(3).for_each(<[u8]>::reverse);
    let (width, height) = (columns.unsigned_abs(), rows.unsigned_abs());
    RgbImage::new(width, height, buffer).ok_or_else(|| {
        Error::new(
            ErrorKind::Internal,
            "a page was drawn with other pixels than asked for",
        )
    })
}

/// Width and height in points.
fn size(page: &Page) -> (f32, f32) {
    // SAFETY: the page is open.
    let (width, height) = unsafe {
        (
            page.pdfium.FPDF_GetPageWidthF(page.handle),
            page.pdfium.FPDF_GetPageHeightF(page.handle),
        )
    };
    (width.clamp(1.0, 1.0e6), height.clamp(1.0, 1.0e6))
}

/// Pixels per point: as asked for, or fewer so that the image keeps to its limits.
fn scale(width: f32, height: f32, dots_per_inch: f32, maximum_pixels: u64) -> f32 {
    let wanted = dots_per_inch.clamp(1.0, 2400.0) / POINTS_PER_INCH;
    let by_area = (maximum_pixels.max(1) as f32 / (width * height)).sqrt();
    wanted.min(by_area).min(MAXIMUM_SIDE / width.max(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_pages_are_drawn_smaller() {
        assert_eq!(scale(612.0, 792.0, 144.0, 40_000_000), 2.0);
        let scale = scale(14_400.0, 14_400.0, 300.0, 40_000_000);
        assert!((scale * 14_400.0).powi(2) <= 40_100_000.0);
    }
}
