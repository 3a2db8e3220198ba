//! How a paragraph is drawn against the running text: size, weight, slant, colour, capitals.

use super::features::{Feature, flag, length, scaled};
use super::habits::is_set_off_but_wide;
use crate::pdf::blocks::Paragraph;
use crate::pdf::statistics::Statistics;
use crate::pdf::unicode;

/// Sizes from which text is large and very large, relative to running text.
pub(super) const LARGE: f32 = 1.12;
const VERY_LARGE: f32 = 1.45;

/// Difference of sizes that is none, relative.
const SAME_SIZE: f32 = 0.03;

/// The feature of what is drawn as the running text is.
pub(super) const PLAIN: &str = "plain";

/// How a paragraph is drawn against the running text.
struct Looks {
    /// Logarithm of its size, relative.
    size: f32,
    is_bold: bool,
    is_italic: bool,
    is_coloured: bool,
    is_capitals: bool,
}

impl Looks {
    fn of(paragraph: &Paragraph, text: &str, statistics: &Statistics) -> Self {
        let size = paragraph.size / statistics.body_size.max(1.0);
        Self {
            size: size.max(0.1).ln(),
            is_bold: paragraph.is_bold && !statistics.is_bold,
            is_italic: paragraph.is_italic && !statistics.is_italic,
            is_coloured: paragraph
                .colour
                .is_some_and(|colour| colour != statistics.colour)
                && !text.chars().all(unicode::is_mark),
            is_capitals: is_capitals(text),
        }
    }

    /// Nothing sets it off, neither its letters but wide ones.
    fn is_plain(&self, paragraph: &Paragraph) -> bool {
        let is_set_off = self.is_bold || self.is_italic || self.is_coloured || self.is_capitals;
        !is_set_off && !is_set_off_but_wide(paragraph) && self.size < SAME_SIZE
    }
}

/// Whether a paragraph is drawn as the running text is.
pub(super) fn is_plain(paragraph: &Paragraph, text: &str, statistics: &Statistics) -> bool {
    Looks::of(paragraph, text, statistics).is_plain(paragraph)
}

/// Size, weight and colour against the running text.
pub(super) fn of_looks(
    paragraph: &Paragraph,
    text: &str,
    statistics: &Statistics,
) -> [Feature; 11] {
    let looks = Looks::of(paragraph, text, statistics);
    let is_plain = looks.is_plain(paragraph);
    let Looks {
        size,
        is_bold,
        is_italic,
        is_coloured,
        is_capitals,
    } = looks;
    [
        ("larger", size.clamp(0.0, 0.7)),
        ("large", flag(size >= LARGE.ln())),
        ("very large", flag(size >= VERY_LARGE.ln())),
        (
            "length of large letters",
            if size >= LARGE.ln() {
                scaled(length(text))
            } else {
                0.0
            },
        ),
        ("smaller", (-size - SAME_SIZE).clamp(0.0, 0.5)),
        ("bold", flag(is_bold)),
        ("italic", flag(is_italic)),
        ("coloured", flag(is_coloured)),
        ("capitals", flag(is_capitals)),
        (PLAIN, flag(is_plain)),
        ("other font", flag(paragraph.font != statistics.font)),
    ]
}

/// Letters of a script that has small ones, without a small one.
pub(super) fn is_capitals(text: &str) -> bool {
    let capitals = text.chars().filter(|letter| letter.is_uppercase()).count();
    capitals >= 4 && !text.chars().any(char::is_lowercase)
}
