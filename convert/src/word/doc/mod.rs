//! Word 97 to 2003 (.doc): text by the piece table, headings and lists by the style sheet, tables,
//! notes.
//!
//! The route: compound file → file information block (`fib`) → text (`text`), properties (`runs`,
//! `properties`), styles (`styles`, `lists`) → blocks (`story`, `paragraph`, `tables`) with notes
//! and text boxes (`notes`) → Markdown. Kept: inserted text, footnotes, endnotes, text boxes.
//! Dropped: headers and footers, deleted text, hidden text and comments (both by a setting).

mod fib;
mod fonts;
mod lists;
mod notes;
mod paragraph;
mod pictures;
mod properties;
mod runs;
mod story;
mod styles;
mod tables;
mod text;

use std::collections::{BTreeMap, VecDeque};

use tributary_schemas::Result;

use crate::config::DocConfig;
use crate::document::Converted;
use crate::limits::Limits;
use crate::office::blocks::{Block, render};
use crate::office::ole::{Compound, encrypted};
use crate::office::pictures::Pictures;
use crate::office::summary;
use crate::titles::stated_or_shown;
use fib::{Fib, Place};

/// Name and version; the version grows with every change of the output.
pub(crate) const NAME: &str = "doc/4";
/// Media type.
pub(crate) const MEDIA_TYPE: &str = "application/msword";

/// A document whose streams are read.
struct Document<'a> {
    text: text::Text,
    paragraphs: runs::Runs<'a>,
    characters: runs::Runs<'a>,
    styles: styles::Styles,
    lists: lists::Lists,
    fonts: fonts::Fonts,
    /// Markdown of the marks of notes, by position.
    references: BTreeMap<usize, String>,
    /// Ranges of text boxes and the positions that they hang on, in the order of these.
    text_boxes: VecDeque<(usize, std::ops::Range<usize>)>,
    /// The stream `Data`, in which pictures of the text lie, and `WordDocument`, in which floating
    /// ones lie.
    data: &'a [u8],
    word: &'a [u8],
    /// Offsets of floating pictures, by the position that each hangs on.
    floating: BTreeMap<usize, usize>,
    pictures: Pictures,
    keep_hidden: bool,
}

/// Converts a document. Errors: `Unsupported` if encrypted or older than Word 97, `Corrupt` if
/// damaged beyond use.
pub(crate) fn convert(bytes: &[u8], settings: &DocConfig, limits: &Limits) -> Result<Converted> {
    limits.check_time()?;
    let compound = Compound::open(bytes)?;
    if compound.has("EncryptedPackage") {
        return Err(encrypted());
    }
    let word = compound.required_stream("WordDocument")?;
    let fib = Fib::read(&word)?;
    let table = compound.required_stream(fib.table_stream)?;
    let data = compound.stream("Data").unwrap_or_default();
    let mut metadata = compound
        .stream(summary::STREAM)
        .map(|stream| summary::read(&stream))
        .unwrap_or_default();
    let streams = Streams {
        word: &word,
        table: &table,
        data: &data,
    };
    let pictures = Pictures::new(limits.maximum_embedded_bytes);
    let mut document = open(&fib, streams, pictures)?;
    document.keep_hidden = settings.include_hidden_text;
    if document.text.is_damaged {
        metadata.insert(
            "damaged".to_owned(),
            "text that the piece table names is missing".to_owned(),
        );
    }
    let notes = notes::find(&fib, &table, settings.include_comments, &mut document);
    let mut blocks = story::blocks(&mut document, 0, fib.lengths.main, limits)?;
    blocks.extend(notes::left_over_boxes(&mut document, limits)?);
    let title = stated_or_shown(metadata.get("title").cloned(), first_heading(&blocks));
    let markdown = render(&blocks) + &notes::definitions(&notes, &mut document, limits)?;
    let (images, blobs) = (document.pictures.images, document.pictures.blobs);
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

/// The streams of a file.
#[derive(Clone, Copy)]
struct Streams<'a> {
    word: &'a [u8],
    table: &'a [u8],
    data: &'a [u8],
}

fn open<'a>(fib: &Fib, streams: Streams<'a>, pictures: Pictures) -> Result<Document<'a>> {
    let Streams { word, table, data } = streams;
    let lists_at = fib.offset(Place::Lists);
    Ok(Document {
        text: text::Text::read(fib.place(table, Place::PieceTable), word, fib.language)?,
        paragraphs: runs::Runs::of_paragraphs(fib.place(table, Place::ParagraphRuns), word),
        characters: runs::Runs::of_characters(fib.place(table, Place::CharacterRuns), word),
        styles: styles::Styles::read(fib.place(table, Place::StyleSheet)),
        lists: lists::Lists::read(
            table.get(lists_at..).unwrap_or_default(),
            fib.place(table, Place::Lists).len(),
            fib.place(table, Place::ListOverrides),
        ),
        fonts: fonts::Fonts::read(fib.place(table, Place::Fonts)),
        references: BTreeMap::new(),
        text_boxes: VecDeque::new(),
        data,
        word,
        floating: pictures::floating(fib, table),
        pictures,
        keep_hidden: false,
    })
}

fn first_heading(blocks: &[Block]) -> Option<String> {
    blocks.iter().find_map(|block| match block {
        Block::Heading(_, text) => Some(text.clone()),
        _ => None,
    })
}

impl Document<'_> {
    /// Takes the next text box that hangs on a character from `start` to `end`.
    fn next_text_box(&mut self, start: usize, end: usize) -> Option<std::ops::Range<usize>> {
        let (anchor, _) = self.text_boxes.front()?;
        if !(start..=end).contains(anchor) {
            return None;
        }
        self.text_boxes.pop_front().map(|(_, range)| range)
    }
}

#[cfg(test)]
mod tests;
