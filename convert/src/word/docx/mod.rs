//! Word documents (.docx, .docm, .dotx, .dotm): the package's main part as Markdown, core
//! properties as metadata, pictures beside it.
//!
//! Rules: tracked deletions and the old place of moved text are dropped, insertions kept. Comments
//! are dropped (`convert.docx.include_comments` makes them footnotes), hidden text too
//! (`convert.docx.include_hidden_text`). Headers, footers and tables of contents are dropped; text
//! boxes are kept, after the paragraph that holds them. Footnotes and endnotes stand at the end.
//! Pages begin where Word last saw a break or the author asked for one; breaks within a table come
//! after it, once a row.
//!
//! The route: package → styles, numbering → blocks of the main part (`body`, `paragraph`, `run`,
//! `table`, `drawing`) → notes → Markdown.

mod body;
mod drawing;
mod fields;
mod notes;
mod numbering;
mod numerals;
mod paragraph;
mod picture;
mod run;
mod run_look;
mod set_headings;
mod styles;
mod table;
mod typed_contents;

use std::collections::HashMap;

use tributary_schemas::{Error, ErrorKind, ImageLink, Result};

use self::body::Story;
use self::notes::NoteKind;
use self::numbering::Numbering;
use self::set_headings::Evidence;
use self::styles::Styles;
use crate::config::DocxConfig;
use crate::document::Converted;
use crate::document::EmbeddedFile;
use crate::limits::Limits;
use crate::office::blocks::{Block, render};
use crate::office::package::{Package, TextPart};
use crate::office::properties;
use crate::office::xml::{Damage, XmlReader};
use crate::titles::stated_or_shown;

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "docx/6";

/// Media type of the usual kind of Word document.
pub(crate) const MEDIA_TYPE: &str =
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

/// Share of the main part, in percent, that must be readable for a damaged document to be of use.
const MINIMUM_PERCENT: usize = 50;

/// Ends of the content types of a main part.
const MAIN_TYPES: [&str; 4] = [
    "wordprocessingml.document.main+xml",
    "wordprocessingml.template.main+xml",
    "ms-word.document.macroenabled.main+xml",
    "ms-word.template.macroenabledtemplate.main+xml",
];

/// What the conversion of one document gathers.
struct Document<'b> {
    settings: &'b DocxConfig,
    package: Package<'b>,
    limits: Limits<'b>,
    styles: Styles,
    numbering: Numbering,
    images: Vec<ImageLink>,
    blobs: Vec<EmbeddedFile>,
    blob_numbers: HashMap<String, usize>,
    blob_bytes: u64,
    pictures_left_out: usize,
    /// Number of the image of each picture part, and its alternative text.
    known_pictures: HashMap<String, usize>,
    /// Notes in the order of their references.
    notes: Vec<(NoteKind, String)>,
    note_numbers: HashMap<(NoteKind, String), usize>,
    title: Option<String>,
    first_heading: Option<String>,
    /// What tells whether lines are headings by how they are set.
    evidence: Evidence,
    /// Bytes of text so far; bounds what repetition can build.
    written_bytes: u64,
}

/// Converts a document.
///
/// Errors: `Unsupported` if it is encrypted or of the old binary format, `Corrupt` if it is no Word
/// document or most of it cannot be read, `Invalid` over a limit.
pub(crate) fn convert(
    bytes: &[u8],
    settings: &DocxConfig,
    limits: &Limits<'_>,
) -> Result<Converted> {
    let mut package = Package::open(bytes, *limits)?;
    let main = main_part(&mut package)?;
    let mut metadata = properties::read(&mut package)?;
    let media_type = media_type(&package.media_type(&main));
    let (styles, numbering) = (
        read_styles(&mut package, &main)?,
        read_numbering(&mut package, &main)?,
    );
    let mut document = Document::new(settings, package, styles, numbering);
    let (mut blocks, damage) = document.main_blocks(&main)?;
    blocks.extend(document.note_blocks(&main)?);
    let markdown = render(&blocks);
    document.check_size(markdown.len() as u64)?;
    if let Some(damage) = damage {
        metadata.insert("damaged".to_owned(), damage);
    }
    if document.pictures_left_out > 0 {
        metadata.insert(
            "pictures_left_out".to_owned(),
            document.pictures_left_out.to_string(),
        );
    }
    // Printing to a file leaves the program's name in the title.
    let stated = metadata
        .get("title")
        .map(|title| title.trim_start_matches("Microsoft Word - ").to_owned());
    let title = stated_or_shown(stated, document.title.or(document.first_heading));
    Ok(Converted {
        markdown,
        title,
        media_type,
        converter: NAME.into(),
        metadata,
        images: document.images,
        blobs: document.blobs,
    })
}

impl<'b> Document<'b> {
    fn new(
        settings: &'b DocxConfig,
        package: Package<'b>,
        styles: Styles,
        numbering: Numbering,
    ) -> Self {
        Self {
            settings,
            limits: package.limits(),
            package,
            styles,
            numbering,
            images: Vec::new(),
            blobs: Vec::new(),
            blob_numbers: HashMap::new(),
            blob_bytes: 0,
            pictures_left_out: 0,
            known_pictures: HashMap::new(),
            notes: Vec::new(),
            note_numbers: HashMap::new(),
            title: None,
            first_heading: None,
            evidence: Evidence::default(),
            written_bytes: 0,
        }
    }

    /// Blocks of the main part, and what is damaged about it.
    fn main_blocks(&mut self, main: &str) -> Result<(Vec<Block>, Option<String>)> {
        let limits = self.limits;
        let Some(part) = self.package.text(main)? else {
            return Err(no_document());
        };
        let mut xml = XmlReader::new(&part.text, main, limits);
        let root = xml.child()?;
        if root.as_ref().is_none_or(|root| root.name() != "document") {
            let damage = xml
                .damage()
                .map(|damage| damage.message.clone())
                .or(part.damage);
            return Err(
                damage.map_or_else(no_document, |damage| Error::new(ErrorKind::Corrupt, damage))
            );
        }
        let mut story = Story::new(self, main)?;
        story.relies_on_rendered_pages = part.text.contains("lastRenderedPageBreak");
        let mut blocks = Vec::new();
        while let Some(element) = xml.child()? {
            match element.name() {
                "body" => blocks.extend(story.inner_blocks(&mut xml)?),
                _ => xml.skip()?,
            }
        }
        let blocks = story.settled(blocks);
        if self.first_heading.is_none() {
            self.first_heading = blocks.iter().find_map(heading_of);
        }
        check_damage(xml.damage(), &part, &blocks).map(|damage| (blocks, damage))
    }

    /// Adds to the text so far. Errors: `Invalid` over the limit of the Markdown.
    fn check_size(&mut self, bytes: u64) -> Result<()> {
        self.written_bytes = self.written_bytes.saturating_add(bytes);
        let limit = self.limits.maximum_markdown_bytes;
        // Text is counted when it is collected and when it is written.
        if self.written_bytes <= limit.saturating_mul(2) && bytes <= limit {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Invalid,
            format!("the text of the document is over the limit of {limit} bytes"),
        )
        .with_hint("split the document, or raise `convert.maximum_markdown_bytes`"))
    }
}

/// The text of a heading.
fn heading_of(block: &Block) -> Option<String> {
    match block {
        Block::Heading(_, text) => Some(text.clone()),
        _ => None,
    }
}

fn main_part(package: &mut Package) -> Result<String> {
    package
        .main_part(&MAIN_TYPES, "word/document.xml")?
        .ok_or_else(no_document)
}

fn no_document() -> Error {
    Error::new(ErrorKind::Corrupt, "the archive holds no Word document: there is no readable main part such as word/document.xml")
        .with_hint("give the file the name of its real format")
}

/// The media type of the document by that of its main part.
fn media_type(main: &str) -> String {
    match main.strip_suffix(".main+xml") {
        Some("application/vnd.ms-word.document.macroenabled") => {
            "application/vnd.ms-word.document.macroEnabled.12".to_owned()
        }
        Some("application/vnd.ms-word.template.macroenabledtemplate") => {
            "application/vnd.ms-word.template.macroEnabled.12".to_owned()
        }
        Some(kind) if kind.ends_with(".template") => kind.to_owned(),
        _ => MEDIA_TYPE.to_owned(),
    }
}

fn read_styles(package: &mut Package, main: &str) -> Result<Styles> {
    let limits = package.limits();
    let Some((name, text)) = side_part(package, main, "styles")? else {
        return Ok(Styles::default());
    };
    Styles::read(&mut XmlReader::new(&text, &name, limits))
}

fn read_numbering(package: &mut Package, main: &str) -> Result<Numbering> {
    let limits = package.limits();
    let Some((name, text)) = side_part(package, main, "numbering")? else {
        return Ok(Numbering::default());
    };
    Numbering::read(&mut XmlReader::new(&text, &name, limits))
}

/// Name and text of the part beside the main part that is related to it by `kind`, else has the
/// usual name.
fn side_part(package: &mut Package, main: &str, kind: &str) -> Result<Option<(String, String)>> {
    let relationships = package.relationships(main)?;
    let folder = main.rsplit_once('/').map_or("", |(folder, _)| folder);
    let usual = format!("{folder}/{kind}.xml");
    let name = relationships
        .target_of_kind(kind)
        .filter(|name| package.has(name))
        .map_or(usual, str::to_owned);
    Ok(package.text(&name)?.map(|part| (name, part.text)))
}

/// The note about damage if most of the document could be read, else `Corrupt`.
fn check_damage(xml: Option<&Damage>, part: &TextPart, blocks: &[Block]) -> Result<Option<String>> {
    let messages: Vec<String> = part
        .damage
        .iter()
        .cloned()
        .chain(xml.map(|damage| damage.message.clone()))
        .collect();
    let percent_read = part.percent_unpacked * xml.map_or(100, |damage| damage.percent_read) / 100;
    if percent_read >= MINIMUM_PERCENT && (messages.is_empty() || !blocks.is_empty()) {
        return Ok(messages.into_iter().next());
    }
    Err(Error::new(ErrorKind::Corrupt, messages.join("; "))
        .with_hint("open the document in Word, which may repair it, and save it anew"))
}

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod test_package;
#[cfg(test)]
mod tests;
