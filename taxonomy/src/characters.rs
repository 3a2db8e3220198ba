//! What the analyzer needs to know of a character, in one table: its class and whether folding
//! would change it. Made once from the Unicode data of `std` and `unicode-normalization`; used by
//! `fold` and `analyzer`.

use std::sync::LazyLock;

use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use crate::simplified;

/// How the analyzer treats a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Space, punctuation, symbols: ends a token and is in none.
    Separator,
    /// Letters and digits of scripts that write spaces between words, their marks, and `_`.
    Word,
    /// Chinese characters: cut with the dictionary.
    Han,
    /// Scripts without spaces and without a dictionary here (hiragana, Thai, Lao, Khmer, Burmese):
    /// overlapping pairs.
    Pairs,
    /// Katakana: a run is a word.
    Katakana,
    /// Korean syllables: the word, and overlapping pairs for what stands before a particle.
    Hangul,
    /// Pictographs: each is a token.
    Pictograph,
}

const CLASS: u8 = 0x07;
/// Compatibility forms, combining marks, invisible characters: normalisation has to look at them.
const COMPATIBILITY: u8 = 0x10;
/// An upper-case letter outside ASCII.
const UPPER: u8 = 0x20;
/// Only a text with such a character changes when it is simplified.
const TRADITIONAL: u8 = 0x40;
/// Begins a phrase of the traditional → simplified tables (also many characters that are simplified
/// themselves).
const PHRASE: u8 = 0x80;
/// Class value of separators that only width tells apart (`，` and `,`): the analyzer need not look
/// at them.
const WIDE_SEPARATOR: u8 = 7;

/// One byte for each character of the basic plane.
static BASIC_PLANE: LazyLock<Box<[u8]>> = LazyLock::new(|| {
    (0..=0xFFFF_u32)
        .map(|code| char::from_u32(code).map_or(0, properties))
        .collect()
});

/// A handle on the table, so that loops do not ask whether it was made.
#[derive(Clone, Copy)]
pub(crate) struct Characters {
    basic_plane: &'static [u8],
}

impl Characters {
    pub(crate) fn get() -> Self {
        Self {
            basic_plane: &BASIC_PLANE,
        }
    }

    #[inline]
    fn byte(self, character: char) -> u8 {
        match self.basic_plane.get(character as usize) {
            Some(byte) => *byte,
            None => properties(character),
        }
    }

    #[inline]
    pub(crate) fn class(self, character: char) -> Class {
        match self.byte(character) & CLASS {
            1 => Class::Word,
            2 => Class::Han,
            3 => Class::Pairs,
            4 => Class::Katakana,
            5 => Class::Hangul,
            6 => Class::Pictograph,
            _ => Class::Separator,
        }
    }

    /// Whether folding leaves it alone, whatever stands around it.
    #[inline]
    pub(crate) fn is_plain(self, character: char) -> bool {
        self.byte(character) & (COMPATIBILITY | UPPER | TRADITIONAL) == 0
    }

    #[inline]
    pub(crate) fn needs_normalisation(self, character: char) -> bool {
        self.byte(character) & (COMPATIBILITY | UPPER) != 0
    }

    /// A separator that has another width or form.
    #[inline]
    pub(crate) fn is_wide_separator(self, character: char) -> bool {
        self.byte(character) & CLASS == WIDE_SEPARATOR
    }

    /// Whether a text with this character may change when it is simplified; a text without any such
    /// character does not.
    #[inline]
    pub(crate) fn may_be_traditional(self, character: char) -> bool {
        self.byte(character) & TRADITIONAL != 0
    }

    /// Whether simplification has to look at this place of a text.
    #[inline]
    pub(crate) fn may_be_replaced(self, character: char) -> bool {
        self.byte(character) & (TRADITIONAL | PHRASE) != 0
    }

    #[inline]
    pub(crate) fn begins_phrase(self, character: char) -> bool {
        self.byte(character) & PHRASE != 0
    }
}

/// Characters that nobody sees and that would only cut words in two: dropped.
pub(crate) fn is_invisible(character: char) -> bool {
    matches!(character, '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' | '\u{FE00}'..='\u{FE0F}')
}

fn properties(character: char) -> u8 {
    let mut byte = class_of(character) as u8;
    let is_stable = is_nfkc_quick(std::iter::once(character)) == IsNormalized::Yes
        && !is_combining_mark(character);
    if byte == Class::Separator as u8
        && !is_stable
        && !is_invisible(character)
        && (matches!(character, '‥' | '…') || std::iter::once(character).nfkc().all(separates))
    {
        byte = WIDE_SEPARATOR;
    } else if !is_stable || is_invisible(character) {
        byte |= COMPATIBILITY;
    }
    if !character.is_ascii() && character.to_lowercase().next() != Some(character) {
        byte |= UPPER;
    }
    if simplified::is_trigger(character) {
        byte |= TRADITIONAL;
    }
    if simplified::begins_phrase(character) {
        byte |= PHRASE;
    }
    byte
}

/// Whether it separates in every place: signs that join identifiers or belong to names do not.
fn separates(character: char) -> bool {
    class_of(character) == Class::Separator && !matches!(character, '.' | '-' | '/' | '+' | '#')
}

fn class_of(character: char) -> Class {
    match character {
        '_' => Class::Word,
        '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{323AF}'
        | '〇' => Class::Han,
        '\u{30A1}'..='\u{30FA}' | '\u{30FC}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' => {
            Class::Katakana
        }
        '\u{AC00}'..='\u{D7A3}' => Class::Hangul,
        '\u{3041}'..='\u{309F}'
        | '\u{0E01}'..='\u{0E3A}'
        | '\u{0E40}'..='\u{0E4E}'
        | '\u{0E81}'..='\u{0ECD}'
        | '\u{1000}'..='\u{1049}'
        | '\u{1780}'..='\u{17D3}' => Class::Pairs,
        '\u{1F1E6}'..='\u{1F1FF}' | '\u{1F300}'..='\u{1FAFF}' => Class::Pictograph,
        '・' => Class::Separator,
        other if other.is_alphanumeric() || is_combining_mark(other) => Class::Word,
        _ => Class::Separator,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_and_folding_needs_of_typical_characters() {
        let characters = Characters::get();
        let classes = [
            ('载', Class::Han),
            ('a', Class::Word),
            ('_', Class::Word),
            ('é', Class::Word),
            ('。', Class::Separator),
        ];
        for (character, class) in classes {
            assert_eq!(characters.class(character), class, "{character}");
            assert!(characters.is_plain(character), "{character}");
        }
        for character in ['載', 'Ａ', '．', 'É', '①', '\u{200B}', '\u{301}'] {
            assert!(!characters.is_plain(character), "{character}");
        }
        for character in ['，', '　', '一', '…'] {
            assert!(characters.is_plain(character), "{character}");
        }
        assert_eq!(characters.class('，'), Class::Separator);
        assert_eq!(characters.class('カ'), Class::Katakana);
        assert_eq!(characters.class('한'), Class::Hangul);
        assert_eq!(characters.class('の'), Class::Pairs);
        assert_eq!(characters.class('😀'), Class::Pictograph);
        assert_eq!(characters.class('𠀀'), Class::Han);
    }
}
