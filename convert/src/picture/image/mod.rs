//! Images (PNG, JPEG, GIF, WebP, BMP, TIFF): the text in them as Markdown, found by OCR.
//!
//! Rules: an image is turned as its EXIF orientation says; transparency lies on white; of an
//! animation (GIF, WebP, APNG) the first frame is read; each page of a TIFF is a page (`\f`),
//! reduced copies and masks of it are not. A cut-off image gives what is there if that is more than
//! half, with the metadata `damaged`; otherwise it is `Corrupt`. An image without text, or one that
//! is left unread, is empty Markdown. The image itself is kept beside its text, of a TIFF its pages
//! with text as JPEG. Sizes are checked
//! before any pixel is decoded.

mod colours;
mod decode;
mod orientation;
mod tiff_pages;

use tributary_models::ocr::RgbImage;
use tributary_schemas::{Error, ErrorKind, ImageLink, Result};

use crate::config::ImageConfig;
use crate::document::Converted;
use crate::document::EmbeddedFile;
use crate::limits::Limits;
use crate::picture::jpeg;
use crate::picture::ocr::PictureReader;

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "image/3";

/// A decoded page.
pub(crate) struct Page {
    /// The pixels, turned upright; `None` if the page is too damaged.
    pub image: Option<RgbImage>,
    /// What is missing, if something is.
    pub damaged: Option<String>,
}

/// Reads the text of an image file.
///
/// Errors: `Unsupported` for a format or variant that is not read, `Corrupt` for damaged bytes,
/// `Invalid` for an image over a limit, and those of the recogniser.
pub(crate) fn convert(
    bytes: &[u8],
    settings: &ImageConfig,
    limits: &Limits<'_>,
) -> Result<Converted> {
    let format = decode::format_of(bytes)?;
    let media_type = format.to_mime_type().to_owned();
    let mut converted = Converted {
        converter: NAME.into(),
        media_type,
        ..Converted::default()
    };
    let is_tiff = format == image::ImageFormat::Tiff;
    let (mut pages, mut shown) = (Vec::new(), Vec::new());
    let mut read_page = |page: Page| {
        limits.check_time()?;
        if let Some(damage) = page.damaged {
            converted.metadata.insert("damaged".to_owned(), damage);
        }
        let text = page
            .image
            .as_ref()
            .map(|image| limits.read_picture(image))
            .transpose()?
            .flatten();
        let text = text.unwrap_or_default();
        // Nothing that shows a page shows a TIFF: its pages are kept as JPEG.
        let image = page.image.filter(|_| is_tiff && !text.is_empty());
        shown.push(image.as_ref().and_then(jpeg::of));
        pages.push(text);
        Ok(())
    };
    match is_tiff {
        true => tiff_pages::each_page(bytes, settings, limits, &mut read_page)?,
        false => read_page(decode::decode(bytes, format, settings)?)?,
    }
    if pages.iter().all(String::is_empty) {
        return Ok(converted);
    }
    let files = match is_tiff {
        true => shown.into_iter().enumerate().map(page_file).collect(),
        false => vec![Some(whole_file(bytes, format))],
    };
    for (page, file) in pages.iter_mut().zip(files) {
        if let Some(file) = file {
            page.insert_str(0, &keep(&mut converted, file));
        }
    }
    converted.markdown = pages.join("\u{c}");
    Ok(converted)
}

/// The file of an image as it came.
fn whole_file(bytes: &[u8], format: image::ImageFormat) -> EmbeddedFile {
    let extension = format.extensions_str().first().copied().unwrap_or_default();
    EmbeddedFile {
        name: format!("image.{extension}"),
        media_type: format.to_mime_type().to_owned(),
        bytes: bytes.to_vec(),
    }
}

/// The file of a page, by its index.
fn page_file((index, jpeg): (usize, Option<Vec<u8>>)) -> Option<EmbeddedFile> {
    Some(EmbeddedFile {
        name: format!("page-{}.jpg", index + 1),
        media_type: "image/jpeg".to_owned(),
        bytes: jpeg?,
    })
}

/// Hands a picture over; returns the Markdown that shows it above its text.
fn keep(converted: &mut Converted, file: EmbeddedFile) -> String {
    let number = converted.blobs.len();
    converted.images.push(ImageLink {
        link: format!("embedded:{number}"),
        alt: String::new(),
    });
    converted.blobs.push(file);
    format!("![](image:{number})\n\n")
}

/// Whether an image is of a format that is read, by its first bytes.
pub(crate) fn is_readable(bytes: &[u8]) -> bool {
    decode::format_of(bytes).is_ok()
}

/// Whether an image that lies in a document is of a format that is read and not too small for text,
/// as its first bytes say.
pub(crate) fn may_show_text(
    bytes: &[u8],
    settings: &ImageConfig,
    reader: &PictureReader<'_>,
) -> bool {
    let Ok(format) = decode::format_of(bytes) else {
        return false;
    };
    // The first image of a TIFF may be a reduced copy.
    format == image::ImageFormat::Tiff
        || decode::size(bytes, format, settings)
            .is_some_and(|(width, height)| reader.is_large_enough(width, height))
}

/// The first frame of an image that lies in a document, upright; `None` for one that cannot be read.
pub(crate) fn embedded_picture(
    bytes: &[u8],
    settings: &ImageConfig,
    limits: &Limits<'_>,
) -> Option<RgbImage> {
    let format = decode::format_of(bytes).ok()?;
    match format {
        image::ImageFormat::Tiff => first_page(bytes, settings, limits),
        _ => decode::decode(bytes, format, settings).ok()?.image,
    }
}

fn first_page(bytes: &[u8], settings: &ImageConfig, limits: &Limits<'_>) -> Option<RgbImage> {
    let mut first = None;
    let read = tiff_pages::each_page(bytes, settings, limits, &mut |page| {
        first = first.take().or(page.image);
        Ok(())
    });
    read.ok().and(first)
}

/// Refuses an image without pixels or with more than the limit, before anything is made for them.
fn check_size(width: u32, height: u32, settings: &ImageConfig) -> Result<()> {
    let pixels = u64::from(width) * u64::from(height);
    if pixels == 0 {
        return Err(Error::new(
            ErrorKind::Corrupt,
            format!("the image has no pixels ({width} × {height})"),
        ));
    }
    let maximum = settings.maximum_pixels;
    if pixels > maximum {
        let message =
            format!("the image has {width} × {height} pixels, more than the limit of {maximum}");
        return Err(Error::new(ErrorKind::Invalid, message)
            .with_hint("make the image smaller, or raise `convert.image.maximum_pixels`"));
    }
    Ok(())
}

/// What a decoder left of a buffer that was zero before it failed: a note of what is missing, or an
/// error if it is too much. `row_bytes` is the length of a row of `buffer`; rows that were never
/// reached become white if `white` is given.
fn keep_most(
    buffer: &mut [u8],
    row_bytes: usize,
    white: Option<u8>,
    error: Error,
) -> Result<String> {
    let rows = buffer.len() / row_bytes.max(1);
    let last = buffer
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |at| at / row_bytes.max(1) + 1);
    if last * 2 <= rows {
        return Err(error);
    }
    if let Some(white) = white {
        buffer
            .iter_mut()
            .skip(last * row_bytes)
            .for_each(|byte| *byte = white);
    }
    Ok(format!(
        "{error}; the image ends after {last} of {rows} rows"
    ))
}

#[cfg(test)]
mod tests;
