//! Character classes and clean-up: what is readable, wide, right to left; ligatures and
//! compatibility forms spelt out.

use unicode_normalization::UnicodeNormalization;

use crate::escape::is_wide;

/// First of the characters that mark the start of a link in text; the link's number is added.
const LINK_START: u32 = 0xF_0000;

/// First of the characters that stand in text for what refers to a note; the note's number is added.
const NOTE: u32 = 0x10_0000;

/// Stands for a drawn character without a meaning in Unicode.
pub(super) const UNREADABLE: char = '\u{FFFD}';

/// Marks the end of a link.
pub(super) const LINK_END: char = '\u{10_FFFD}';

/// Marks where the end of a line parted a word: behind its hyphen, or in its place.
pub(super) const JOINT: char = '\u{10_FFFC}';

/// The mark of the start of link `number`.
pub(super) fn link_start(number: u16) -> char {
    char::from_u32(LINK_START + u32::from(number).min(0xFFFD)).unwrap_or(LINK_END)
}

/// The number of the link that starts at a mark.
pub(super) fn link_number(mark: char) -> Option<u16> {
    (0xF_0000..=0xF_FFFD)
        .contains(&u32::from(mark))
        .then(|| (u32::from(mark) - LINK_START) as u16)
}

/// The mark of note `number`; `None` where there are too many.
pub(super) fn note_mark(number: usize) -> Option<char> {
    let number = u32::try_from(number)
        .ok()
        .filter(|number| *number < 0xFFF0)?;
    char::from_u32(NOTE + number)
}

/// The number of the note that a mark stands for.
pub(super) fn note_number(mark: char) -> Option<usize> {
    (0x10_0000..0x10_FFF0)
        .contains(&u32::from(mark))
        .then(|| (u32::from(mark) - NOTE) as usize)
}

/// Whether a character is one of our marks.
pub(super) fn is_mark(character: char) -> bool {
    matches!(character, LINK_END | JOINT)
        || link_number(character).is_some()
        || note_number(character).is_some()
}

/// The character of a code that means something in Unicode; bullets of symbol fonts become real
/// ones.
pub(super) fn readable(code: u32) -> Option<char> {
    let character = char::from_u32(code)?;
    match code {
        0..0x20 | 0x7F..0xA0 | 0xFFFD..=0xFFFF | 0xF_0000.. => None,
        0xF0B7 | 0xF06C | 0xF09F => Some('•'),
        0xF0A7 | 0xF06E => Some('▪'),
        0xF0D8 => Some('➢'),
        0xF0E0 | 0xF0E8 => Some('→'),
        0xF0FC => Some('✓'),
        0xF020..=0xF07E => char::from_u32(code - 0xF000),
        0xE000..=0xF8FF => None,
        _ => Some(character),
    }
}

/// Adds a character, its ligature or compatibility form spelt out.
pub(super) fn push(text: &mut String, character: char) {
    match u32::from(character) {
        0xAD | 0x200B | 0x2060 | 0xFEFF => {}
        // Ligatures, presentation forms of Arabic and Hebrew, radicals, compatibility ideographs,
        // and letters of formulas.
        0xFB00..=0xFDFF
        | 0xFE70..=0xFEFE
        | 0x2E80..=0x2FDF
        | 0xF900..=0xFAFF
        | 0x1_D400..=0x1_D7FF => text.extend(std::iter::once(character).nfkc()),
        _ => text.push(character),
    }
}

/// Whether two characters stand side by side without a space: both are wide, and they are not Latin
/// letters or digits of full width, whose words are parted.
pub(super) fn are_unspaced(before: char, after: char) -> bool {
    let is_latin = |character| matches!(character, '０'..='９' | 'Ａ'..='Ｚ' | 'ａ'..='ｚ');
    is_wide(before) && is_wide(after) && !(is_latin(before) && is_latin(after))
}

/// Whether two characters are letters or figures, no signs.
pub(super) fn are_letters(before: char, after: char) -> bool {
    before.is_alphanumeric() && after.is_alphanumeric()
}

/// Whether a wide gap between two texts without spaces parts words: not the letters of a word that
/// is spread, as `目 录` is.
pub(super) fn parts_words(before: &str, after: &str) -> bool {
    let before = before.chars().rev().filter(|letter| !is_mark(*letter));
    let after = after.chars().filter(|letter| !is_mark(*letter));
    let are_letters = (before.clone().next())
        .zip(after.clone().next())
        .is_some_and(|(last, first)| are_letters(last, first));
    are_letters && !(is_single(before) && is_single(after))
}

/// Whether a word of the letters has no second one.
fn is_single(mut letters: impl Iterator<Item = char>) -> bool {
    letters.nth(1).is_none_or(char::is_whitespace)
}

/// Both halves of a character that PDFium gives as two code units of UTF-16.
pub(super) fn joined(high: u32, low: u32) -> Option<u32> {
    let is_pair = (0xD800..0xDC00).contains(&high) && (0xDC00..0xE000).contains(&low);
    is_pair.then(|| 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00))
}

/// Whether a character belongs to a script that is written from right to left.
pub(super) fn is_right_to_left(character: char) -> bool {
    matches!(u32::from(character), 0x590..=0x8FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFC)
}

/// Whether a space belongs between two texts of one line or paragraph.
pub(super) fn needs_space(before: &str, after: &str) -> bool {
    let last = before.chars().rev().find(|character| !is_mark(*character));
    let first = after.chars().find(|character| !is_mark(*character));
    match (last, first) {
        (Some(last), Some(first)) => {
            !(last.is_whitespace() || first.is_whitespace() || are_unspaced(last, first))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_spelt_out() {
        let mut text = String::new();
        "ﬁﬀ⽂\u{AD}x𝐿"
            .chars()
            .for_each(|character| push(&mut text, character));
        assert_eq!(text, "fiff文xL");
        assert_eq!(
            [
                joined(0xD835, 0xDC3F),
                joined(0xD835, 0x41),
                joined(0x41, 0xDC3F)
            ],
            [Some(0x1_D43F), None, None]
        );
    }

    #[test]
    fn marks_keep_their_numbers() {
        assert_eq!(
            [0, 7, 60_000].map(|number| link_number(link_start(number))),
            [Some(0), Some(7), Some(60_000)]
        );
        assert!(is_mark(LINK_END) && link_number(LINK_END).is_none() && !is_mark('x'));
        let note = note_mark(7).unwrap_or_default();
        assert_eq!((note_number(note), note_number(LINK_END)), (Some(7), None));
        assert!(is_mark(note) && note_mark(70_000).is_none());
    }

    #[test]
    fn wide_gaps_part_words_but_no_spread_letters() {
        for (before, after, is_so) in [
            ("张三", "李四", true),
            ("男", "民族", true),
            ("目", "录", false),
            ("第一 章", "总", false),
            ("姓名：", "张三", false),
            ("", "张三", false),
        ] {
            assert_eq!(parts_words(before, after), is_so, "{before} {after}");
        }
    }

    #[test]
    fn wide_text_needs_no_spaces() {
        assert!(needs_space("ｏｆ", "ｗａｔｅｒ") && !needs_space("５", "年"));
        assert!(
            !needs_space("汉", "字")
                && needs_space("a", "字")
                && needs_space("a", "b")
                && !needs_space("a ", "b")
                && !needs_space("", "b")
        );
    }
}
