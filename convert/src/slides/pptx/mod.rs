//! PowerPoint 2007 and later (.pptx, .pptm, .ppsx, .potx): one page for each slide, its title as a
//! heading of level 2, sections as headings of level 1.
//!
//! The route: package → presentation part (`deck`) → for each slide, in the order of the
//! presentation: shapes (`shapes`, `text`) with what they inherit (`parents`), in reading order
//! (`order`), as blocks (`slide`, `diagram`) → Markdown. Kept: notes (behind `Notes:`; a setting
//! drops them), pictures with their alternative text. Dropped: hidden slides and shapes, comments
//! (settings keep both), footers, slide numbers, dates, the texts of layouts and masters. A hidden
//! slide leaves an empty page, so that the numbers of pages are those of slides.

mod comments;
mod deck;
mod diagram;
pub(crate) mod model;
mod order;
pub(crate) mod parents;
mod shapes;
pub(crate) mod slide;
mod text;

use std::collections::HashMap;
use std::rc::Rc;

use tributary_schemas::{Error, ErrorKind, Result};

use crate::config::SlidesConfig;
use crate::document::Converted;
use crate::limits::Limits;
use crate::office::blocks::{Block, check_size, render};
use crate::office::package::Package;
use crate::office::pictures::Pictures;
use crate::office::properties;
use crate::office::relationships::Relationships;
use crate::office::xml::XmlReader;
use crate::slides::slide_images;
use deck::Deck;
use model::{Slide, SlideSize};
use parents::{Parents, Role};

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "pptx/2";
/// Media type.
pub(crate) const MEDIA_TYPE: &str =
    "application/vnd.openxmlformats-officedocument.presentationml.presentation";

/// Ends of the content types of presentations, shows and templates.
const MAIN_TYPES: [&str; 6] = [
    "presentation.main+xml",
    "presentation.macroenabled.main+xml",
    "slideshow.main+xml",
    "slideshow.macroenabled.main+xml",
    "template.main+xml",
    "template.macroenabled.main+xml",
];
/// A presentation that is being converted.
struct Conversion<'b> {
    settings: &'b SlidesConfig,
    package: Package<'b>,
    limits: Limits<'b>,
    pictures: Pictures,
    /// Layouts and masters by the names of their parts.
    known: HashMap<String, Rc<Slide>>,
    damage: Vec<String>,
    /// Numbers of the hidden slides that are left out.
    hidden: Vec<usize>,
    /// Title of the first slide that has one.
    title: Option<String>,
}

/// Converts a presentation. Errors: `Unsupported` if encrypted, `Corrupt` if most of it cannot be
/// read, `Invalid` over a limit.
pub(crate) fn convert(bytes: &[u8], settings: &SlidesConfig, limits: &Limits) -> Result<Converted> {
    let package = Package::open(bytes, *limits)?;
    let pictures = Pictures::new(limits.maximum_embedded_bytes);
    let mut conversion = Conversion {
        settings,
        package,
        limits: *limits,
        pictures,
        known: HashMap::new(),
        damage: Vec::new(),
        hidden: Vec::new(),
        title: None,
    };
    let markdown = conversion.pages()?;
    let mut metadata = properties::read(&mut conversion.package)?;
    if let Some(first) = conversion.damage.first() {
        metadata.insert("damaged".to_owned(), first.clone());
    }
    slide_images::note_hidden(&mut metadata, &conversion.hidden);
    let stated = metadata
        .get("title")
        .filter(|title| !slide::is_usual_title(title))
        .cloned();
    let title = stated.or(conversion.title);
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

fn is_notes_body(shape: &model::Shape, parents: &Parents) -> bool {
    let is_body = shape
        .placeholder
        .as_ref()
        .is_some_and(|known| !matches!(known.kind.as_str(), "sldImg" | "title"));
    is_body && parents.role(shape) == Role::Body
}

impl<'b> Conversion<'b> {
    /// Markdown of all slides, a form feed between them.
    fn pages(&mut self) -> Result<String> {
        let Some(main) = self
            .package
            .main_part(&MAIN_TYPES, "ppt/presentation.xml")?
        else {
            return Err(corrupt("the package has no presentation part"));
        };
        let deck = self
            .read_part(&main, Deck::read)?
            .ok_or_else(|| corrupt(&format!("the part {main} is missing")))?;
        if deck.slides.is_empty()
            && let Some(damage) = self.damage.first()
        {
            return Err(corrupt(damage));
        }
        let links = self.package.relationships(&main)?;
        let (mut markdown, mut unread) = (String::new(), 0);
        for (index, (id, relationship)) in deck.slides.iter().enumerate() {
            if index > 0 {
                markdown.push_str("\n\u{C}");
            }
            let part = links
                .get(relationship)
                .filter(|link| !link.is_external)
                .map(|link| link.target.clone());
            match self.page(index, part.as_deref(), &deck, deck.sections.get(id))? {
                Some(page) => markdown.push_str(&page),
                None => unread += 1,
            }
            check_size(markdown.len(), &self.limits)?;
        }
        if unread * 2 > deck.slides.len() {
            let damage = self
                .damage
                .first()
                .map_or("its slides are missing", String::as_str);
            return Err(corrupt(&format!(
                "{unread} of {} slides cannot be read: {damage}",
                deck.slides.len()
            )));
        }
        Ok(markdown)
    }

    /// Markdown of a slide, empty if it is hidden; `None` if nothing of it can be read.
    fn page(
        &mut self,
        index: usize,
        part: Option<&str>,
        deck: &Deck,
        section: Option<&String>,
    ) -> Result<Option<String>> {
        let damages = self.damage.len();
        let Some(part) = part else {
            self.damage
                .push("a slide is named that is not there".to_owned());
            return Ok(None);
        };
        let links = self.package.relationships(part)?;
        let Some(mut slide) = self.read_part(part, |xml| shapes::slide(xml, &links))? else {
            return Ok(None);
        };
        let mut blocks: Vec<Block> = section
            .map(|name| Block::Heading(1, name.clone()))
            .into_iter()
            .collect();
        if slide.is_hidden && !self.settings.include_hidden {
            self.hidden.push(index + 1);
            return Ok(Some(render(&blocks)));
        }
        blocks.extend(self.slide_blocks(index, &mut slide, &links, deck.size)?);
        if self.settings.include_notes {
            blocks.extend(self.notes(&links)?);
        }
        if self.settings.include_comments {
            blocks.extend(comments::blocks(&mut self.package, &links)?);
        }
        let is_unread = blocks.is_empty() && self.damage.len() > damages;
        Ok((!is_unread).then(|| render(&blocks)))
    }

    fn slide_blocks(
        &mut self,
        index: usize,
        slide: &mut Slide,
        links: &Relationships,
        size: SlideSize,
    ) -> Result<Vec<Block>> {
        let parents = self.parents(links)?;
        slide::arrange(&mut slide.shapes, &parents, size.height);
        let mut reader = slide::Reader {
            package: &mut self.package,
            pictures: &mut self.pictures,
            links,
            parents,
            include_hidden: self.settings.include_hidden,
            blocks: Vec::new(),
            title: None,
            written: 0,
            damage: None,
            unread: Vec::new(),
        };
        reader.shapes(&slide.shapes)?;
        if let Some(drawing) = self.limits.slides {
            reader
                .unread
                .iter()
                .for_each(|frame| drawing.note_unread(index, size.area(*frame)));
        }
        self.damage.extend(reader.damage);
        self.title = self.title.take().or(reader.title);
        Ok(reader.blocks)
    }

    /// The layout of a slide and the layout's master.
    fn parents(&mut self, links: &Relationships) -> Result<Parents> {
        let mut parents = Parents::default();
        let Some(layout) = links.target_of_kind("slideLayout") else {
            return Ok(parents);
        };
        parents.layout = self.parent(layout)?;
        if let Some(master) = self
            .package
            .relationships(layout)?
            .target_of_kind("slideMaster")
        {
            parents.master = self.parent(master)?;
        }
        Ok(parents)
    }

    /// A layout or master; one that cannot be read gives nothing on.
    fn parent(&mut self, part: &str) -> Result<Rc<Slide>> {
        if let Some(known) = self.known.get(part) {
            return Ok(Rc::clone(known));
        }
        let slide = self.read_part(part, |xml| shapes::slide(xml, &Relationships::default()))?;
        let slide = Rc::new(slide.unwrap_or_default());
        self.known.insert(part.to_owned(), Rc::clone(&slide));
        Ok(slide)
    }

    /// The speaker's notes: the body of the notes page.
    fn notes(&mut self, links: &Relationships) -> Result<Vec<Block>> {
        let Some(part) = links.target_of_kind("notesSlide") else {
            return Ok(Vec::new());
        };
        let links = self.package.relationships(part)?;
        let Some(page) = self.read_part(part, |xml| shapes::slide(xml, &links))? else {
            return Ok(Vec::new());
        };
        let parents = Parents::default();
        let bodies = page
            .shapes
            .iter()
            .filter(|shape| is_notes_body(shape, &parents));
        let notes: Vec<Block> = bodies
            .flat_map(|shape| {
                slide::paragraphs(&shape.body, |paragraph| parents.bullet(shape, paragraph))
            })
            .collect();
        Ok(slide::notes(notes))
    }

    /// Reads a part with `read`, and keeps in mind what is wrong with it. `None` if there is no
    /// such part.
    fn read_part<T>(
        &mut self,
        part: &str,
        read: impl FnOnce(&mut XmlReader) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(content) = self.package.text(part)? else {
            self.damage.push(format!("the part {part} is missing"));
            return Ok(None);
        };
        let mut xml = XmlReader::new(&content.text, part, self.limits);
        let value = read(&mut xml)?;
        let damage = content
            .damage
            .or_else(|| xml.damage().map(|damage| damage.message.clone()));
        self.damage.extend(damage);
        Ok(Some(value))
    }
}

fn corrupt(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, what.to_owned())
        .with_hint("the file is damaged or was cut off; open it in PowerPoint or LibreOffice and save it again")
}

#[cfg(test)]
mod tests;
