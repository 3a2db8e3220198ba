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
pub(super) struct Fields(Vec<Field>);

/// Deepest nesting of fields that is followed.
const MAXIMUM_FIELDS: usize = 64;

/// Collects the text of a paragraph.
struct Collector<'c, 'd> {
    document: &'c mut Document<'d>,
    fields: &'c mut Fields,
    pieces: Vec<Piece>,
    units: Vec<u16>,
    style: Style,
}

impl Collector<'_, '_> {
    /// Adds the character at a position, unless it is hidden or deleted.
    fn character(&mut self, position: usize, properties: &mut RunProperties) {
        let unit = self.document.text.units.get(position).copied();
        let Some(unit) = unit.filter(|unit| *unit != 0) else {
            return;
        };
        let character = properties.at(self.document, position);
        let is_hidden = character.is_hidden && !self.document.keep_hidden;
        if character.is_deleted || (is_hidden && !matches!(unit, 0x13..=0x15)) {
            return;
        }
        let style = style_of(&character, self.fields);
        if style != self.style {
            self.flush();
            self.style = style;
        }
        self.put(position, unit, &character);
    }

    fn put(&mut self, position: usize, unit: u16, character: &Character) {
        match unit {
            0x13 if self.fields.0.len() < MAXIMUM_FIELDS => self.fields.0.push(Field::default()),
            0x14 => begin_result(self.fields),
            0x15 => {
                self.fields.0.pop();
            }
            _ if self.put_into_instruction(unit) => {}
            _ if self.document.references.contains_key(&position) => {
                let mark = self.document.references.get(&position).cloned();
                self.add(mark.map(Piece::Markdown));
            }
            0x01 if character.is_special => {
                let markdown = self.document.picture(character.picture);
                self.add(markdown.map(Piece::Markdown));
            }
            0x08 if character.is_special => {
                let markdown = self.document.floating_picture(position);
                let is_shown = markdown.is_some();
                self.add(markdown.map(Piece::Markdown));
                self.add(is_shown.then_some(Piece::Break));
            }
            _ if character.symbol.is_some() => {
                let letter = self.document.fonts.symbol(character);
                self.letter(letter);
            }
            0x0B => self.add(Some(Piece::Break)),
            0x09 | 0xA0 => self.units.push(0x20),
            0x1E => self.units.push(u16::from(b'-')),
            0xF020..=0xF0FF => {
                let letter = self.document.fonts.character(unit, character.font);
                self.letter(letter);
            }
            0x20.. => self.units.push(unit),
            _ => {}
        }
    }

    /// Whether the character belongs to the instruction of a field, which then has it.
    fn put_into_instruction(&mut self, unit: u16) -> bool {
        let fields = &mut self.fields.0;
        let Some(field) = fields.iter_mut().rev().find(|field| !field.in_result) else {
            return false;
        };
        field.instruction.extend(char::from_u32(u32::from(unit)));
        true
    }

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
pub(super) fn pieces(
    document: &mut Document,
    fields: &mut Fields,
    start: usize,
    end: usize,
) -> Vec<Piece> {
    let mut collector = Collector {
        document,
        fields,
        pieces: Vec::new(),
        units: Vec::new(),
        style: Style::default(),
    };
    let mut properties = RunProperties::default();
    for position in start..end {
        collector.character(position, &mut properties);
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
