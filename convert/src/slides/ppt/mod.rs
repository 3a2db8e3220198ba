//! PowerPoint 97 to 2003 (.ppt, .pps, .pot): one page for each slide, its title as a heading of
//! level 2.
//!
//! The route: compound file → newest version of each object (`persist`, `records`) → list of slides
//! with their outline (`text`) → shapes (`shapes`) → reading order and blocks as for
//! [`crate::pptx`] → Markdown. Kept and dropped is the same as there: notes are kept, hidden slides
//! leave an empty page, masters, footers, slide numbers and dates are dropped. Comments are
//! dropped.

mod persist;
mod shapes;
mod text;

use tributary_schemas::{Error, ErrorKind, Result};

use crate::config::SlidesConfig;
use crate::document::Converted;
use crate::document::EmbeddedFile;
use crate::limits::Limits;
use crate::office::art::{bitmaps, extension};
use crate::office::blocks::{Block, check_size, render};
use crate::office::bytes::{size_at, u16_at, u32_at};
use crate::office::ole::{Compound, encrypted};
use crate::office::pictures::Pictures;
use crate::office::records::{Record, first, kinds, records};
use crate::office::summary;
use crate::slides::pptx::model::{Content, Shape, SlideSize};
use crate::slides::pptx::parents::{Parents, Role};
use crate::slides::pptx::slide;
use crate::slides::slide_images;
use persist::Objects;
use text::{Text, texts};

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "ppt/3";
/// Media type.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.ms-powerpoint";

/// Size of a slide in 1/576 inch where the document does not say.
const USUAL_SIZE: SlideSize = SlideSize {
    width: 5760,
    height: 4320,
};

/// A slide as the list of slides has it.
struct Listed {
    /// Number of its object, and of itself.
    object: u32,
    identifier: u32,
    /// Each is shown by one placeholder.
    outline: Vec<Option<Text>>,
}

/// Converts a presentation. Errors: `Unsupported` if encrypted or older than PowerPoint 97,
/// `Corrupt` if damaged beyond use.
pub(crate) fn convert(bytes: &[u8], settings: &SlidesConfig, limits: &Limits) -> Result<Converted> {
    limits.check_time()?;
    let compound = Compound::open(bytes)?;
    refuse_unreadable(&compound)?;
    let stream = compound.required_stream("PowerPoint Document")?;
    let current_user = compound.stream("Current User").unwrap_or_default();
    let pictures = compound.stream("Pictures").unwrap_or_default();
    let mut metadata = compound
        .stream(summary::STREAM)
        .map(|stream| summary::read(&stream))
        .unwrap_or_default();
    let objects = Objects::read(&current_user, &stream)?;
    let mut conversion = Conversion {
        settings,
        document: objects.document()?,
        objects,
        stored: &pictures,
        limits: *limits,
        pictures: Pictures::new(limits.maximum_embedded_bytes),
        title: None,
        hidden: Vec::new(),
        unread: 0,
    };
    let markdown = conversion.pages()?;
    if conversion.unread > 0 {
        metadata.insert(
            "damaged".to_owned(),
            format!("{} slides are missing", conversion.unread),
        );
    }
    slide_images::note_hidden(&mut metadata, &conversion.hidden);
    let title = metadata
        .get("title")
        .filter(|title| !slide::is_usual_title(title))
        .cloned()
        .or(conversion.title);
    let (images, blobs) = (conversion.pictures.images, conversion.pictures.blobs);
    Ok(Converted {
        markdown,
        title,
        media_type: MEDIA_TYPE.to_owned(),
        converter: NAME.into(),
        metadata,
        images,
        blobs,
    })
}

fn refuse_unreadable(compound: &Compound) -> Result<()> {
    if compound.has("EncryptedPackage") || compound.has("EncryptedSummary") {
        return Err(encrypted());
    }
    if compound.has("PP40") && !compound.has("PowerPoint Document") {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "the presentation was written by PowerPoint 95, older than PowerPoint 97",
        )
        .with_hint("open it in PowerPoint or LibreOffice and save it as .pptx"));
    }
    Ok(())
}

/// A presentation that is being converted.
struct Conversion<'a> {
    settings: &'a SlidesConfig,
    objects: Objects<'a>,
    document: Record<'a>,
    /// The stream `Pictures`.
    stored: &'a [u8],
    limits: Limits<'a>,
    pictures: Pictures,
    title: Option<String>,
    /// Numbers of the hidden slides that are left out.
    hidden: Vec<usize>,
    /// Slides that cannot be read.
    unread: usize,
}

/// The entry that begins with the record of a slide; its texts are the others.
fn listed_slide(part: &[Record]) -> Option<Listed> {
    let entry = part
        .first()
        .filter(|record| record.kind == kinds::SLIDE_PERSIST)?;
    let outline = texts(part.iter().copied()).into_iter().map(Some).collect();
    Some(Listed {
        object: u32_at(entry.content, 0)?,
        identifier: u32_at(entry.content, 12)?,
        outline,
    })
}

/// The notes that a slide names.
fn listed_notes<'n>(slide: &[u8], notes: &'n mut [Listed]) -> Option<&'n mut Listed> {
    let identifier = first(slide, kinds::SLIDE_ATOM)
        .and_then(|atom| u32_at(atom.content, 16))
        .filter(|number| *number != 0)?;
    notes
        .iter_mut()
        .find(|listed| listed.identifier == identifier)
}

impl Conversion<'_> {
    fn pages(&mut self) -> Result<String> {
        let (mut slides, mut notes) = (self.listed(0), self.listed(2));
        let mut markdown = String::new();
        for (index, listed) in slides.iter_mut().enumerate() {
            self.limits.check_time()?;
            if index > 0 {
                markdown.push_str("\n\u{C}");
            }
            markdown.push_str(&self.page(index, listed, &mut notes));
            check_size(markdown.len(), &self.limits)?;
        }
        if self.unread * 2 > slides.len() {
            return Err(Error::new(
                ErrorKind::Corrupt,
                format!("{} of {} slides are missing", self.unread, slides.len()),
            )
            .with_hint(
                "the file is damaged; open it in PowerPoint or LibreOffice and save it again",
            ));
        }
        Ok(markdown)
    }

    /// The slides (0) or notes (2) of the document, in order.
    fn listed(&self, instance: u16) -> Vec<Listed> {
        let mut lists =
            records(self.document.content).filter(|record| record.kind == kinds::SLIDE_LIST);
        let Some(list) = lists.find(|record| record.instance == instance) else {
            return Vec::new();
        };
        let inner: Vec<Record> = records(list.content).collect();
        let parts = inner.chunk_by(|_, next| next.kind != kinds::SLIDE_PERSIST);
        parts.filter_map(listed_slide).collect()
    }

    fn page(&mut self, index: usize, listed: &mut Listed, notes: &mut [Listed]) -> String {
        let Some(container) = self
            .objects
            .get(listed.object)
            .filter(|record| record.kind == kinds::SLIDE)
        else {
            self.unread += 1;
            return String::new();
        };
        if is_hidden(container.content) && !self.settings.include_hidden {
            self.hidden.push(index + 1);
            return String::new();
        }
        let mut shapes = shapes::shapes(container.content, &mut listed.outline);
        slide::arrange(&mut shapes, &Parents::default(), self.size().height);
        let (mut blocks, mut title) = (Vec::new(), None);
        self.add_shapes(index, &shapes, &mut blocks, &mut title);
        self.title = self.title.take().or(title);
        if self.settings.include_notes {
            blocks.extend(self.notes(container.content, notes));
        }
        render(&blocks)
    }

    fn size(&self) -> SlideSize {
        let atom = first(self.document.content, kinds::DOCUMENT_ATOM);
        let stated = |at| {
            let length = u32_at(atom?.content, at)?;
            Some(i64::from(length.cast_signed())).filter(|length| *length > 0)
        };
        SlideSize {
            width: stated(0).unwrap_or(USUAL_SIZE.width),
            height: stated(4).unwrap_or(USUAL_SIZE.height),
        }
    }

    fn add_shapes(
        &mut self,
        index: usize,
        shapes: &[Shape],
        blocks: &mut Vec<Block>,
        title: &mut Option<String>,
    ) {
        for shape in shapes {
            match &shape.content {
                Content::Group(children, _) => self.add_shapes(index, children, blocks, title),
                Content::Table(rows) => blocks.extend(slide::table(rows)),
                Content::Picture(number) => {
                    let markdown = self.picture(number, &shape.alt);
                    // Drawings in formats of Windows are not handed over.
                    if let (None, Some(drawing)) = (self.pictures.file(number), self.limits.slides)
                    {
                        drawing.note_unread(index, self.size().area(shape.frame));
                    }
                    blocks.extend(markdown.map(Block::Paragraph));
                }
                _ => {}
            }
            slide::add_text(shape, &Parents::default(), blocks, title);
        }
    }

    /// Shows the picture with that number in the document's store.
    fn picture(&mut self, number: &str, alt: &str) -> Option<String> {
        let index = number.parse::<usize>().ok()?.checked_sub(1)?;
        let drawings = first(self.document.content, kinds::DRAWING_GROUP)?;
        let store = first(
            records(drawings.content).next()?.content,
            kinds::PICTURE_STORE,
        )?;
        let entry = records(store.content)
            .filter(|record| record.kind == kinds::PICTURE_ENTRY)
            .nth(index)?;
        let stored = self.stored.get(size_at(entry.content, 28)?..)?;
        self.pictures.show(number, alt, || {
            let (media_type, content) = *bitmaps(stored, 1).first()?;
            let name = format!("picture-{number}.{}", extension(media_type));
            Some(EmbeddedFile {
                name,
                media_type: media_type.to_owned(),
                bytes: content.to_vec(),
            })
        })
    }

    /// The speaker's notes of a slide.
    fn notes(&self, slide: &[u8], notes: &mut [Listed]) -> Vec<Block> {
        let listed = listed_notes(slide, notes);
        let Some(listed) = listed else {
            return Vec::new();
        };
        let Some(container) = self
            .objects
            .get(listed.object)
            .filter(|record| record.kind == kinds::NOTES)
        else {
            return Vec::new();
        };
        let shapes = shapes::shapes(container.content, &mut listed.outline);
        let bodies = shapes
            .iter()
            .filter(|shape| Parents::default().role(shape) == Role::Body);
        let texts = bodies.flat_map(|shape| {
            slide::paragraphs(&shape.body, |paragraph| {
                Parents::default().bullet(shape, paragraph)
            })
        });
        slide::notes(texts.collect())
    }
}

fn is_hidden(slide: &[u8]) -> bool {
    first(slide, kinds::SLIDE_SHOW_INFO)
        .and_then(|info| u16_at(info.content, 10))
        .is_some_and(|flags| flags & 4 != 0)
}

#[cfg(test)]
mod tests;
