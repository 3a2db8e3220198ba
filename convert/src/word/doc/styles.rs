//! The style sheet: outline level and list of each paragraph style, look of each character style,
//! through their bases ([MS-DOC] 2.9.271).

use super::properties::{Character, Paragraph};
use crate::office::bytes::{slice_at, u16_at};

/// Longest chain of styles that are based on each other.
const MAXIMUM_BASES: usize = 16;
/// Kinds of styles.
const PARAGRAPH: u16 = 1;
const CHARACTER: u16 = 2;
/// `sti` of the built-in style Title.
const TITLE: u16 = 62;

#[derive(Clone, Debug, Default)]
struct Style {
    /// Number of the built-in style, whatever its name in the user's language.
    builtin: u16,
    base: usize,
    own: Paragraph,
    /// Properties of a character style, its bases' included.
    characters: Character,
}

/// The paragraph styles by number.
#[derive(Debug, Default)]
pub(super) struct Styles(Vec<Style>);

impl Styles {
    /// Reads as many styles as there are; damaged ones have no properties.
    pub(super) fn read(sheet: &[u8]) -> Self {
        let header = usize::from(u16_at(sheet, 0).unwrap_or(0));
        let base_length = usize::from(u16_at(sheet, 4).unwrap_or(10));
        let mut at = 2 + header;
        let mut styles: Vec<Style> = Vec::new();
        let mut lists = Vec::new();
        while let Some(length) = u16_at(sheet, at) {
            let length = usize::from(length);
            let style = slice_at(sheet, at + 2, length).and_then(|bytes| style(bytes, base_length));
            let characters =
                slice_at(sheet, at + 2, length).filter(|bytes| kind(bytes) == CHARACTER);
            lists.push(
                characters
                    .and_then(|bytes| properties(bytes, base_length))
                    .unwrap_or_default(),
            );
            styles.push(style.unwrap_or_default());
            at += 2 + length + length % 2;
        }
        let mut styles = Self(styles);
        styles.resolve_characters(&lists);
        styles
    }

    /// Gives each character style what its bases say, and then what it says itself.
    fn resolve_characters(&mut self, lists: &[&[u8]]) {
        for number in 0..self.0.len() {
            let mut bases = Vec::new();
            let mut next = number;
            while bases.len() < MAXIMUM_BASES
                && let Some(style) = self.0.get(next)
            {
                bases.push(next);
                next = style.base;
            }
            let mut characters = Character::default();
            bases
                .iter()
                .rev()
                .filter_map(|base| lists.get(*base))
                .for_each(|list| characters.apply(list));
            if let Some(style) = self.0.get_mut(number) {
                style.characters = characters;
            }
        }
    }

    /// What a character style says.
    pub(super) fn character(&self, number: u16) -> Character {
        self.0
            .get(usize::from(number))
            .map(|style| style.characters)
            .unwrap_or_default()
    }

    /// Level 1 to 9 of a paragraph that is a heading: by its own outline level, else by its style
    /// or that style's bases.
    pub(super) fn heading_level(&self, paragraph: &Paragraph) -> Option<u8> {
        let outline = |level: u8| (level < 9).then_some(level + 1);
        if let Some(level) = paragraph.outline {
            return outline(level);
        }
        for style in self.chain(paragraph.style) {
            match (style.builtin, style.own.outline) {
                (_, Some(level)) => return outline(level),
                (1..=9, None) => return u8::try_from(style.builtin).ok(),
                (TITLE, None) => return Some(1),
                _ => {}
            }
        }
        None
    }

    /// List (1 is the first) and level of a paragraph that stands in one.
    pub(super) fn list(&self, paragraph: &Paragraph) -> Option<(u16, u8)> {
        let from_style = || self.chain(paragraph.style).find_map(|style| style.own.list);
        let list = paragraph
            .list
            .or_else(from_style)
            .filter(|list| *list != 0 && *list <= 2047)?;
        let level = paragraph.list_level.or_else(|| {
            self.chain(paragraph.style)
                .find_map(|style| style.own.list_level)
        });
        Some((list, level.unwrap_or(0)))
    }

    /// A style and what it is based on.
    fn chain(&self, number: u16) -> impl Iterator<Item = &Style> {
        let first = self.0.get(usize::from(number));
        std::iter::successors(first, |style| self.0.get(style.base)).take(MAXIMUM_BASES)
    }
}

fn style(bytes: &[u8], base_length: usize) -> Option<Style> {
    let builtin = u16_at(bytes, 0)? & 0x0FFF;
    let kind_and_base = u16_at(bytes, 2)?;
    let base = usize::from(kind_and_base >> 4);
    let mut own = Paragraph::default();
    if kind(bytes) == PARAGRAPH {
        // The style's own number comes first.
        own.apply(
            properties(bytes, base_length)
                .and_then(|list| list.get(2..))
                .unwrap_or_default(),
        );
    }
    Some(Style {
        builtin,
        base,
        own,
        characters: Character::default(),
    })
}

fn kind(bytes: &[u8]) -> u16 {
    u16_at(bytes, 2).unwrap_or(0) & 0xF
}

/// The first property modifiers behind the name: those of paragraphs, or of characters if it is a
/// character style.
fn properties(bytes: &[u8], base_length: usize) -> Option<&[u8]> {
    let name_length = usize::from(u16_at(bytes, base_length)?);
    let at = base_length + 2 + 2 * name_length + 2;
    let length = usize::from(u16_at(bytes, at)?);
    slice_at(bytes, at + 2, length)
}
