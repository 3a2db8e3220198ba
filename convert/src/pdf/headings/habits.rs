//! Habits of a document against which its headings stand out: the space before its paragraphs, and
//! whether its Chinese letters have bold fonts.

use super::features::{Feature, PROSE_LENGTH, SHORT_LENGTH, flag, is_short, length};
use crate::escape::is_wide;
use crate::pdf::blocks::Paragraph;

/// Fewest paragraphs whose space before them tells what is usual, and fewest that stand out but for
/// their wide letters.
const MINIMUM_SPACES: usize = 3;
const MINIMUM_SET_OFF: usize = 2;

/// Spaces that are the same, as in `Surroundings`, and fewest others with the same one that tell
/// what it stands for.
const SAME_SPACE: f32 = 0.04;
const MINIMUM_ALIKE: usize = 2;

/// What is usual in a document.
#[derive(Debug, Default)]
pub(super) struct Habits {
    /// The spaces before paragraphs, and behind them, each with whether the paragraph is short.
    before: Spaces,
    behind: Spaces,
    /// Space before paragraphs of running text, as in `Surroundings`.
    space: Option<f32>,
    /// Short texts that have other letters are bold or aslant, but no wide letter is.
    lacks_bold: bool,
}

impl Habits {
    /// Of the paragraphs of a document.
    pub(super) fn of<'a>(paragraphs: impl Iterator<Item = &'a Paragraph>) -> Self {
        let (mut spaces, mut set_off, mut wide_set_off) = (Vec::new(), 0, false);
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        for paragraph in paragraphs {
            let (around, short) = (paragraph.around, is_short(paragraph));
            before.extend(around.before.map(|space| (space, short)));
            behind.extend(around.after.map(|space| (space, short)));
            let length = length(&paragraph.text);
            if length >= PROSE_LENGTH {
                spaces.extend(paragraph.around.before);
            }
            if length <= SHORT_LENGTH {
                set_off += usize::from(is_set_off_but_wide(paragraph));
                wide_set_off |= (paragraph.is_bold || paragraph.is_italic)
                    && paragraph.text.chars().any(is_wide);
            }
        }
        spaces.sort_by(f32::total_cmp);
        let is_known = spaces.len() >= MINIMUM_SPACES;
        Self {
            before: Spaces::of(before),
            behind: Spaces::of(behind),
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
        let is_other = |letter: char| letter.is_alphabetic() && !is_wide(letter);
        let is_all_wide = is_plain && !text.chars().any(is_other);
        let (around, short) = (paragraph.around, is_short(paragraph));
        let before = self.before.share_of_short(around.before, short);
        let behind = self.behind.share_of_short(around.after, short);
        let is_but_wide =
            is_set_off_but_wide(paragraph) && !paragraph.is_bold && !paragraph.is_italic;
        [
            ("more space before than paragraphs", more),
            ("less space behind than paragraphs", less),
            ("space before of short texts", before),
            ("space behind of short texts", behind),
            ("bold or aslant but for wide letters", flag(is_but_wide)),
            (
                "wide letters without a bold font",
                flag(self.lacks_bold && is_all_wide),
            ),
        ]
    }
}

/// Spaces of paragraphs in order, each with whether the paragraph is short.
#[derive(Debug, Default)]
struct Spaces(Vec<(f32, bool)>);

impl Spaces {
    fn of(mut spaces: Vec<(f32, bool)>) -> Self {
        spaces.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        Self(spaces)
    }

    /// Of the other paragraphs with the same space the share of short ones; `short` is whether the
    /// one that asks is. 0 where few are alike.
    fn share_of_short(&self, space: Option<f32>, short: bool) -> f32 {
        let Some(space) = space else { return 0.0 };
        let first = self
            .0
            .partition_point(|(other, _)| *other < space - SAME_SPACE);
        let end = self
            .0
            .partition_point(|(other, _)| *other <= space + SAME_SPACE);
        let alike = self.0.get(first..end).unwrap_or_default();
        let others = alike.len().saturating_sub(1);
        if others < MINIMUM_ALIKE {
            return 0.0;
        }
        let short_ones = alike.iter().filter(|(_, short)| *short).count();
        (short_ones - usize::from(short)) as f32 / others as f32
    }
}

/// Whether its letters but wide ones are bold or aslant.
pub(super) fn is_set_off_but_wide(paragraph: &Paragraph) -> bool {
    paragraph.is_bold_but_wide || paragraph.is_italic_but_wide
}
