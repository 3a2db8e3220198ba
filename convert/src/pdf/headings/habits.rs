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

/// Spaces of paragraphs in order, and how many of the paragraphs before each place are short.
#[derive(Debug, Default)]
struct Spaces {
    spaces: Vec<f32>,
    short_before: Vec<usize>,
}

impl Spaces {
    /// Of spaces, each with whether the paragraph is short.
    fn of(mut all: Vec<(f32, bool)>) -> Self {
        all.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let mut short = 0;
        let counts = all.iter().map(|(_, is_short)| {
            short += usize::from(*is_short);
            short
        });
        Self {
            short_before: std::iter::once(0).chain(counts).collect(),
            spaces: all.into_iter().map(|(space, _)| space).collect(),
        }
    }

    /// Of the other paragraphs with the same space the share of short ones; `is_short` is whether
    /// the one that asks is. 0 where few are alike.
    fn share_of_short(&self, space: Option<f32>, is_short: bool) -> f32 {
        let Some(space) = space else { return 0.0 };
        let place = |limit: f32| self.spaces.partition_point(|other| *other < limit);
        let (first, end) = (place(space - SAME_SPACE), place(space + SAME_SPACE));
        let short_before = |at: usize| self.short_before.get(at).copied().unwrap_or_default();
        let others = end.saturating_sub(first + 1);
        if others < MINIMUM_ALIKE {
            return 0.0;
        }
        let short = short_before(end)
            .saturating_sub(short_before(first))
            .saturating_sub(usize::from(is_short));
        short as f32 / others as f32
    }
}

/// Whether its letters but wide ones are bold or aslant.
pub(super) fn is_set_off_but_wide(paragraph: &Paragraph) -> bool {
    paragraph.is_bold_but_wide || paragraph.is_italic_but_wide
}
