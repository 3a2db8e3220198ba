//! Pages as pictures, for OCR of pages without text. Called by whoever runs the OCR.

use std::ffi::c_int;

use tributary_schemas::{Error, ErrorKind, Result};

use super::config::PdfConfig;
use super::document::{Document, Page};
use super::library;
use crate::converters::Limits;

/// PDFium's number of the pixel format with three bytes, and its flag to draw annotations.
const FORMAT_BGR: c_int = 2;
const DRAW_ANNOTATIONS: c_int = 1;

/// Longest side of an image in pixels.
const MAXIMUM_SIDE: f32 = 20_000.0;

/// A page as drawn on white.
#[derive(Clone, Debug, PartialEq)]
pub struct PageImage {
    /// Pixels from left to right.
    pub width: usize,
    /// Pixels from top to bottom.
    pub height: usize,
    /// Red, green, blue; row by row without gaps: `width * height * 3` bytes.
    pub pixels: Vec<u8>,
    /// Dots per inch as drawn: fewer than asked for where the page is too large.
    pub dots_per_inch: f32,
}

/// Draws one page (number from 1).
///
/// Errors: as `convert`, `NotFound` for a page that is not there, `Corrupt` for one that cannot be read, `Unavailable` without libpdfium.
pub fn page_image(bytes: &[u8], page: usize, dots_per_inch: f32, limits: &Limits<'_>) -> Result<PageImage> {
    let mut image = None;
    page_images(bytes, &[page], dots_per_inch, limits, |_, drawn| {
        image = Some(drawn);
        Ok(())
    })?;
    image.ok_or_else(|| Error::new(ErrorKind::Internal, "no page was drawn"))
}

/// Draws several pages of a document that is opened once and hands each over with its number; errors as of [`page_image`].
///
/// `take` runs while PDFium is locked: it must not draw or convert other documents, and should only store or encode the image.
pub fn page_images(
    bytes: &[u8],
    pages: &[usize],
    dots_per_inch: f32,
    limits: &Limits<'_>,
    mut take: impl FnMut(usize, PageImage) -> Result<()>,
) -> Result<()> {
    let config = &limits.config.pdf;
    let pdfium = library::lock(config)?;
    let document = Document::open(pdfium.as_ref(), bytes)?;
    let count = document.page_count();
    for number in pages.iter().copied() {
        limits.check_time()?;
        if number == 0 || number > count {
            return Err(Error::new(ErrorKind::NotFound, format!("the document has no page {number}, but {count} pages")));
        }
        let page = document.page(number - 1).ok_or_else(|| Error::new(ErrorKind::Corrupt, format!("page {number} cannot be read")))?;
        take(number, draw(&page, dots_per_inch, config)?)?;
    }
    Ok(())
}

fn draw(page: &Page, dots_per_inch: f32, config: &PdfConfig) -> Result<PageImage> {
    // SAFETY: the page is open.
    let (page_width, page_height) = unsafe { (page.pdfium.FPDF_GetPageWidthF(page.handle), page.pdfium.FPDF_GetPageHeightF(page.handle)) };
    let (page_width, page_height) = (page_width.clamp(1.0, 1.0e6), page_height.clamp(1.0, 1.0e6));
    let scale = scale(page_width, page_height, dots_per_inch, config.maximum_image_pixels);
    let pixels = |points: f32| (points * scale).round().clamp(1.0, MAXIMUM_SIDE) as usize;
    let (width, height) = (pixels(page_width), pixels(page_height));
    let stride = width * 3;
    let mut buffer = vec![0xFF_u8; stride * height];
    let (columns, rows, stride) = (width as c_int, height as c_int, stride as c_int);
    // SAFETY: the buffer has `height` rows of `stride` bytes and outlives the bitmap, which is destroyed here.
    unsafe {
        let bitmap = page.pdfium.FPDFBitmap_CreateEx(columns, rows, FORMAT_BGR, buffer.as_mut_ptr().cast(), stride);
        if bitmap.is_null() {
            return Err(Error::new(ErrorKind::Internal, format!("no bitmap of {width} x {height} pixels can be made")));
        }
        page.pdfium.FPDF_RenderPageBitmap(bitmap, page.handle, 0, 0, columns, rows, 0, DRAW_ANNOTATIONS);
        page.pdfium.FPDFBitmap_Destroy(bitmap);
    }
    buffer.chunks_exact_mut(3).for_each(<[u8]>::reverse);
    Ok(PageImage { width, height, pixels: buffer, dots_per_inch: scale * 72.0 })
}

/// Pixels per point: as asked for, or fewer so that the image keeps to its limits.
fn scale(width: f32, height: f32, dots_per_inch: f32, maximum_pixels: u64) -> f32 {
    let wanted = dots_per_inch.clamp(1.0, 2400.0) / 72.0;
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
