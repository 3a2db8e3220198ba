//! The characters of one paragraph as pieces of Markdown: fields, special characters, footnote
//! marks, pictures.
//!
//! Text that was deleted while changes were tracked is dropped, inserted text is kept, hidden text
//! is dropped unless the settings keep it. Of a field only its result is kept; a HYPERLINK's result
//! becomes a link.

use std::rc::Rc;

use super::Document;
use super::properties::{Character, character_style};
use crate::office::pieces::{Piece, Style};

/// An open field.
#[derive(Debug, Default)]
struct Field {
    instruction: String,
    in_result: bool,
    link: Option<Rc<str>>,
}

/// Fields that are open: they may span paragraphs.
#[derive(Debug, Default)]
pub struct Fields(Vec<Field>);

/// Deepest nesting of fields that is followed.
const MAXIMUM_FIELDS: usize = 64;

/// Collects the text of a paragraph.
struct Collector {
    pieces: Vec<Piece>,
    units: Vec<u16>,
    style: Style,
}

impl Collector {
    fn flush(&mut self) {
        if !self.units.is_empty() {
            self.pieces.push(Piece::Text(
                String::from_utf16_lossy(&self.units),
                self.style.clone(),
            ));
            self.units.clear();
        }
    }

    fn letter(&mut self, letter: Option<char>) {
        self.units.extend(
            letter
                .into_iter()
                .flat_map(|letter| letter.encode_utf16(&mut [0; 2]).to_vec()),
        );
    }

    fn add(&mut self, piece: Option<Piece>) {
        if piece.is_some() {
            self.flush();
            self.pieces.extend(piece);
        }
    }
}

/// The pieces of the characters from `start` to `end`, without the paragraph's end mark.
pub fn pieces(
    document: &mut Document,
    fields: &mut Fields,
    start: usize,
    end: usize,
) -> Vec<Piece> {
    let mut collector = Collector {
        pieces: Vec::new(),
        units: Vec::new(),
        style: Style::default(),
    };
    let mut properties = RunProperties::default();
    for position in start..end {
        let Some(unit) = document
            .text
            .units
            .get(position)
            .copied()
            .filter(|unit| *unit != 0)
        else {
            continue;
        };
        let character = properties.at(document, position);
        if character.is_deleted
            || (character.is_hidden && !document.keep_hidden && !matches!(unit, 0x13..=0x15))
        {
            continue;
        }
        let style = style_of(&character, fields);
        if style != collector.style {
            collector.flush();
            collector.style = style;
        }
        put(document, fields, &mut collector, position, unit, &character);
    }
    collector.flush();
    collector.pieces
}

/// The properties of the current run of characters, looked up anew where the run ends.
#[derive(Default)]
struct RunProperties {
    piece: Option<usize>,
    from: usize,
    to: usize,
    current: Character,
}

impl RunProperties {
    fn at(&mut self, document: &Document, position: usize) -> Character {
        let piece = document.text.piece_of(position);
        let Some(offset) = document.text.offset_of(position) else {
            return Character::default();
        };
        if self.piece == Some(piece) && (self.from..self.to).contains(&offset) {
            return self.current;
        }
        let mut character = Character::default();
        self.piece = Some(piece);
        (self.from, self.to) = (offset, offset + 1);
        if let Some(run) = document.characters.at(offset) {
            if let Some(style) = character_style(run.list) {
                character = document.styles.character(style);
            }
            character.apply(run.list);
            (self.from, self.to) = (run.start, run.end);
        }
        character.apply(&document.text.modifier_of(position));
        self.current = character;
        character
    }
}

fn style_of(character: &Character, fields: &Fields) -> Style {
    Style {
        is_bold: character.is_bold,
        is_italic: character.is_italic,
        is_struck: character.is_struck,
        // The outermost: Markdown has no links within links.
        link: fields.0.iter().find_map(|field| field.link.clone()),
    }
}

fn put(
    document: &mut Document,
    fields: &mut Fields,
    collector: &mut Collector,
    position: usize,
    unit: u16,
    character: &Character,
) {
    match unit {
        0x13 if fields.0.len() < MAXIMUM_FIELDS => fields.0.push(Field::default()),
        0x14 => begin_result(fields),
        0x15 => {
            fields.0.pop();
        }
        _ if fields.0.iter().any(|field| !field.in_result) => {
            let innermost = fields.0.iter_mut().rev().find(|field| !field.in_result);
            if let (Some(field), Some(letter)) = (innermost, char::from_u32(u32::from(unit))) {
                field.instruction.push(letter);
            }
        }
        _ if document.references.contains_key(&position) => {
            collector.add(
                document
                    .references
                    .get(&position)
                    .cloned()
                    .map(Piece::Markdown),
            );
        }
        0x01 | 0x08 if character.is_special => {
            let markdown = if unit == 0x01 {
                document.picture(character.picture)
            } else {
                document.floating_picture(position)
            };
            let is_shown = markdown.is_some();
            collector.add(markdown.map(Piece::Markdown));
            collector.add((is_shown && unit == 0x08).then_some(Piece::Break));
        }
        _ if character.symbol.is_some() => collector.letter(document.fonts.symbol(character)),
        0x0B => collector.add(Some(Piece::Break)),
        0x09 | 0xA0 => collector.units.push(0x20),
        0x1E => collector.units.push(u16::from(b'-')),
        0xF020..=0xF0FF => collector.letter(document.fonts.character(unit, character.font)),
        0x20.. => collector.units.push(unit),
        _ => {}
    }
}

/// From here on the field's text is what the reader sees.
fn begin_result(fields: &mut Fields) {
    if let Some(field) = fields.0.last_mut() {
        field.in_result = true;
        field.link = hyperlink(&field.instruction).map(Rc::from);
    }
}

/// Where a HYPERLINK field leads; places within the document are no links.
fn hyperlink(instruction: &str) -> Option<String> {
    let arguments = instruction
        .trim_start()
        .strip_prefix("HYPERLINK")?
        .trim_start();
    let place = match arguments.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => arguments.split_whitespace().next()?,
    };
    (!place.is_empty() && !place.starts_with('\\')).then(|| place.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyperlinks_to_places_outside() {
        assert_eq!(
            hyperlink(" HYPERLINK \"http://a.b/c\" \\o \"tip\" ").as_deref(),
            Some("http://a.b/c")
        );
        assert_eq!(
            hyperlink(" HYPERLINK http://a.b "),
            Some("http://a.b".to_owned())
        );
        assert_eq!(hyperlink("HYPERLINK \\l \"_Toc1\""), None);
        assert_eq!(hyperlink("PAGE"), None);
    }
}
