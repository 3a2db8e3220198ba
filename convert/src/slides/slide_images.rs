//! A picture of each slide, as LibreOffice draws it: kept beside the slide's text, below its title,
//! and shown with what is found there.
//!
//! Rules: a slide is read from its picture only where it shows something that nobody else reads
//! (drawings in formats of Windows), or as a whole if it has no text at all (shapes alone); of that
//! only what the slide does not say already is taken. A presentation that cannot be drawn is
//! indexed without pictures, and its metadata say why; so are slides beyond a limit.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use tributary_models::ocr::RgbImage;
use tributary_schemas::{Error, ErrorKind, ImageLink, Result};

use crate::config::{PdfConfig, SlidesConfig};
use crate::document::{Converted, EmbeddedFile};
use crate::limits::Limits;
use crate::pdf;
use crate::picture::jpeg;
use crate::picture::ocr::PictureReader;
use crate::slides::{Area, SlideDrawing, SlideFormat};

/// Metadata: the numbers of the slides that are hidden and left out, from 1, with blanks between
/// them.
const HIDDEN_KEY: &str = "hidden_slides";
/// Metadata: why slides have no pictures.
const MISSING_KEY: &str = "slide_images_missing";

/// Times as wide as the kept picture is one that text is read from.
const READING_SCALE: u16 = 2;
/// Share of a text's pairs of letters from which on it is taken for what the slide says already;
/// the rest is misread.
const KNOWN_SHARE: f64 = 0.8;

/// What a slide's picture gives.
struct Drawn {
    jpeg: Vec<u8>,
    /// Text that only the picture shows.
    text: String,
}

/// Draws the slide with that index, so many pixels wide.
type Draw<'a> = &'a dyn Fn(usize, u16) -> Result<RgbImage>;

/// What pictures of slides are made by.
pub(crate) struct Drawing<'a> {
    pub slides: &'a SlidesConfig,
    pub pdf: &'a PdfConfig,
    pub limits: &'a Limits<'a>,
}

impl Drawing<'_> {
    /// Adds the pictures of a converted presentation. Errors: those of the recogniser and of
    /// whoever waits.
    pub(crate) fn add_pictures(
        &self,
        converted: &mut Converted,
        format: SlideFormat,
    ) -> Result<()> {
        let Some(slides) = self.limits.slides else {
            return Ok(());
        };
        let work = |pages, draw: Draw<'_>| {
            let count = converted.markdown.split('\u{c}').count();
            if pages != count {
                return Err(Error::new(
                    ErrorKind::Corrupt,
                    format!("{pages} pages were drawn for {count} slides"),
                ));
            }
            Ok(self.draw_slides(converted, draw, slides))
        };
        match slides
            .pdf(format)
            .and_then(|pdf| pdf::with_pictures(&pdf, self.pdf, work))
        {
            Ok(drawn) => show(converted, drawn?, self.limits),
            Err(error) => note(converted, &error.to_string()),
        }
        Ok(())
    }

    /// The slides in order; `None` for those that stay without a picture.
    fn draw_slides(
        &self,
        converted: &Converted,
        draw: Draw<'_>,
        slides: &SlideDrawing<'_>,
    ) -> Result<Vec<Option<Drawn>>> {
        let width = self.slides.image_width;
        let longest = Duration::from_millis(self.slides.drawing_timeout_ms);
        let hidden = hidden(converted);
        let mut drawn = Vec::new();
        for (index, section) in converted.markdown.split('\u{c}').enumerate() {
            let is_wanted = !hidden.contains(&(index + 1)) && slides.spent() < longest;
            let jpeg = if is_wanted {
                slides.slide(|| jpeg::of(&draw(index, width).ok()?))?
            } else {
                None
            };
            let Some(jpeg) = jpeg else {
                drawn.push(None);
                continue;
            };
            let areas = areas_to_read(section, slides.unread(index));
            let reader = self
                .limits
                .pictures
                .filter(|reader| !areas.is_empty() && reader.takes_another());
            let text = match reader {
                Some(reader) => {
                    let wide = width.saturating_mul(READING_SCALE);
                    let large = slides.slide(|| draw(index, wide).ok())?;
                    unknown_text(section, &read(large.as_ref(), &areas, reader)?)
                }
                None => String::new(),
            };
            drawn.push(Some(Drawn { jpeg, text }));
        }
        Ok(drawn)
    }
}

/// Notes the numbers of hidden slides that are left out.
pub(crate) fn note_hidden(metadata: &mut BTreeMap<String, String>, numbers: &[usize]) {
    if !numbers.is_empty() {
        metadata.insert(
            HIDDEN_KEY.to_owned(),
            numbers
                .iter()
                .map(usize::to_string)
                .collect::<Vec<_>>()
                .join(" "),
        );
    }
}

fn note(converted: &mut Converted, why: &str) {
    converted
        .metadata
        .insert(MISSING_KEY.to_owned(), why.to_owned());
}

/// What is read from a slide's picture: all of it if the slide has no text.
fn areas_to_read(section: &str, unread: Vec<Area>) -> Vec<Area> {
    if section.trim().is_empty() {
        vec![Area::WHOLE]
    } else {
        unread
    }
}

/// The text in areas of a picture.
fn read(picture: Option<&RgbImage>, areas: &[Area], reader: &PictureReader<'_>) -> Result<String> {
    let mut texts = Vec::new();
    for area in areas {
        let part = picture.and_then(|picture| cut_out(picture, *area));
        let part = part.filter(|part| reader.is_large_enough(part.width(), part.height()));
        let text = part.map(|part| reader.read(&part)).transpose()?;
        texts.extend(text.flatten());
    }
    Ok(texts.join("\n\n"))
}

/// A part of a picture; `None` if it lies outside.
fn cut_out(picture: &RgbImage, area: Area) -> Option<RgbImage> {
    let columns = pixels(area.left, area.width, picture.width());
    let rows = pixels(area.top, area.height, picture.height());
    let size = (
        u32::try_from(columns.len()).ok()?,
        u32::try_from(rows.len()).ok()?,
    );
    let pixels = rows
        .filter_map(|row| picture.row(row).get(columns.start * 3..columns.end * 3))
        .flatten()
        .copied()
        .collect();
    RgbImage::new(size.0, size.1, pixels)
}

/// The pixels of a stretch whose start and length are shares of all.
fn pixels(start: f64, length: f64, all: u32) -> std::ops::Range<usize> {
    let at = |share: f64| (share.clamp(0.0, 1.0) * f64::from(all)).round() as usize;
    at(start)..at(start + length)
}

/// The numbers of slides that are left out.
fn hidden(converted: &Converted) -> HashSet<usize> {
    converted
        .metadata
        .get(HIDDEN_KEY)
        .map_or("", String::as_str)
        .split(' ')
        .filter_map(|number| number.parse().ok())
        .collect()
}

/// Puts pictures and what was read from them where they belong.
fn show(converted: &mut Converted, drawn: Vec<Option<Drawn>>, limits: &Limits<'_>) {
    let mut sections: Vec<String> = converted
        .markdown
        .split('\u{c}')
        .map(str::to_owned)
        .collect();
    let hidden = hidden(converted);
    let kept: u64 = converted
        .blobs
        .iter()
        .map(|file| file.bytes.len() as u64)
        .sum();
    let mut room = limits.maximum_embedded_bytes.saturating_sub(kept);
    let mut left_out = 0;
    for (index, (section, drawn)) in sections.iter_mut().zip(drawn).enumerate() {
        let Some(Drawn { jpeg, text }) = drawn else {
            left_out += usize::from(!hidden.contains(&(index + 1)));
            continue;
        };
        append_text(section, &text);
        // A picture alone says nothing that could be found.
        if section.trim().is_empty() {
            continue;
        }
        let is_full = converted.blobs.len() >= limits.maximum_embedded_files;
        if jpeg.len() as u64 > room || is_full {
            left_out += 1;
            continue;
        }
        room -= jpeg.len() as u64;
        insert_picture(section, converted.images.len());
        embed(converted, index, jpeg);
    }
    if left_out > 0 {
        note(
            converted,
            &format!(
                "{left_out} slides cannot be drawn, took too long or are over the limit of embedded files"
            ),
        );
    }
    converted.markdown = sections.join("\u{c}");
}

/// Puts what only the picture shows below a slide's text.
fn append_text(section: &mut String, text: &str) {
    if text.is_empty() {
        return;
    }
    let before = section.trim_end();
    *section = if before.is_empty() {
        format!("{text}\n")
    } else {
        format!("{before}\n\n{text}\n")
    };
}

/// Adds the picture of a slide, counted from 0, to the document's files and images.
fn embed(converted: &mut Converted, slide: usize, jpeg: Vec<u8>) {
    converted.images.push(ImageLink {
        link: format!("embedded:{}", converted.blobs.len()),
        alt: String::new(),
    });
    converted.blobs.push(EmbeddedFile {
        name: format!("slide-{}.jpg", slide + 1),
        media_type: "image/jpeg".to_owned(),
        bytes: jpeg,
    });
}

/// Below the headings that a slide begins with.
fn insert_picture(section: &mut String, number: usize) {
    let mut place = 0;
    let mut end = 0;
    for line in section.split_inclusive('\n') {
        let is_heading = line.starts_with('#');
        if !is_heading && !line.trim().is_empty() {
            break;
        }
        end += line.len();
        place = if is_heading { end } else { place };
    }
    let picture = if place == 0 {
        format!("![](image:{number})\n\n")
    } else {
        format!("\n![](image:{number})\n")
    };
    section.insert_str(place, &picture);
}

/// The blocks of `read` that are not in `known` already, apart from misread letters.
fn unknown_text(known: &str, read: &str) -> String {
    let known: HashSet<(char, char)> = pairs(known).into_iter().collect();
    let is_new = |block: &&str| {
        let pairs = pairs(block);
        let found = pairs.iter().filter(|pair| known.contains(pair)).count();
        !pairs.is_empty() && (found as f64) < KNOWN_SHARE * pairs.len() as f64
    };
    read.split("\n\n")
        .map(str::trim)
        .filter(is_new)
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// Neighbouring letters and digits, in lower case.
fn pairs(text: &str) -> Vec<(char, char)> {
    let letters: Vec<char> = text
        .chars()
        .filter(|character| character.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    letters
        .iter()
        .copied()
        .zip(letters.iter().copied().skip(1))
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
#[path = "slide_images_tests.rs"]
mod tests;
