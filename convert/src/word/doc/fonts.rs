//! Names of the fonts, for characters of symbol fonts ([MS-DOC] 2.9.82, 2.9.271).

use super::properties::Character;
use crate::office::bytes::{u8_at, u16_at, utf_16};
use crate::office::symbol_fonts;

/// Bytes of a font's description before its name.
const BEFORE_NAME: usize = 40;

/// Names of the fonts by number.
#[derive(Debug, Default)]
pub(super) struct Fonts(Vec<String>);

impl Fonts {
    /// Reads the table of fonts as far as it goes.
    pub(super) fn read(table: &[u8]) -> Self {
        let count = usize::from(u16_at(table, 0).unwrap_or(0));
        let (mut at, mut names) = (4, Vec::new());
        while names.len() < count
            && let Some(length) = u8_at(table, at)
        {
            let end = at + 1 + usize::from(length);
            let name = utf_16(table.get(at + BEFORE_NAME..end).unwrap_or_default());
            names.push(name.split('\0').next().unwrap_or_default().to_owned());
            at = end;
        }
        Self(names)
    }

    /// What a character of a symbol font looks like; `None` for ornaments that Unicode has not.
    pub(super) fn character(&self, code: u16, font: Option<u16>) -> Option<char> {
        let name = font
            .and_then(|number| self.0.get(usize::from(number)))
            .map_or("Symbol", String::as_str);
        symbol_fonts::character(name, u32::from(code))
    }

    /// The inserted symbol of a run.
    pub(super) fn symbol(&self, character: &Character) -> Option<char> {
        let (font, code) = character.symbol?;
        self.character(code, Some(font))
    }
}
