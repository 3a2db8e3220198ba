//! Habits of a document against which its headings stand out: the space before its paragraphs, and
//! whether its Chinese letters have bold fonts.

use super::features::{Feature, PROSE_LENGTH, SHORT_LENGTH, flag, length};
use crate::escape::is_wide;
use crate::pdf::blocks::Paragraph;

/// Fewest paragraphs whose space before them tells what is usual, and fewest that stand out but for
/// their wide letters.
const MINIMUM_SPACES: usize = 3;
const MINIMUM_SET_OFF: usize = 2;

/// What is usual in a document.
#[derive(Debug, Default)]
pub(super) struct Habits {
    /// Space before paragraphs of running text, as in `Surroundings`.
    space: Option<f32>,
    /// Short texts that have other letters are bold or aslant, but no wide letter is.
    lacks_bold: bool,
}

impl Habits {
    /// Of the paragraphs of a document.
    pub(super) fn of<'a>(paragraphs: impl Iterator<Item = &'a Paragraph>) -> Self {
        let (mut spaces, mut set_off, mut wide_set_off) = (Vec::new(), 0, false);
        for paragraph in paragraphs {
            let length = length(&paragraph.text);
            if length >= PROSE_LENGTH {
                spaces.extend(paragraph.around.before);
            }
            if length <= SHORT_LENGTH {
                set_off += usize::from(is_set_off(paragraph));
                wide_set_off |= (paragraph.is_bold || paragraph.is_italic)
                    && paragraph.text.chars().any(is_wide);
            }
        }
        spaces.sort_by(f32::total_cmp);
        let is_known = spaces.len() >= MINIMUM_SPACES;
        Self {
            space: spaces.get(spaces.len() / 2).copied().filter(|_| is_known),
            lacks_bold: set_off >= MINIMUM_SET_OFF && !wide_set_off,
        }
    }

    /// Its space against that of the paragraphs, and what its wide letters say of it.
    pub(super) fn features(
        &self,
        paragraph: &Paragraph,
        text: &str,
        is_plain: bool,
    ) -> [Feature; 6] {
        let relative = |space: Option<f32>| {
            let both = space.zip(self.space);
            both.map_or(0.0, |(own, usual)| own / usual - 1.0)
        };
        let more = relative(paragraph.around.before).clamp(-0.5, 1.0);
        let less = -relative(paragraph.around.after).clamp(-0.5, 1.0);
        let if_plain = |value: f32| if is_plain { value } else { 0.0 };
        let is_other = |letter: char| letter.is_alphabetic() && !is_wide(letter);
        let is_all_wide = is_plain && !text.chars().any(is_other);
        let is_but_wide = is_set_off(paragraph) && !paragraph.is_bold && !paragraph.is_italic;
        [
            ("more space before than paragraphs", more),
            ("less space behind than paragraphs", less),
            ("plain with more space before", if_plain(more)),
            ("plain with less space behind", if_plain(less)),
            ("bold or aslant but for wide letters", flag(is_but_wide)),
            (
                "wide letters without a bold font",
                flag(self.lacks_bold && is_all_wide),
            ),
        ]
    }
}

/// Whether its letters but wide ones are bold or aslant.
pub(super) fn is_set_off(paragraph: &Paragraph) -> bool {
    paragraph.is_bold_but_wide || paragraph.is_italic_but_wide
}
