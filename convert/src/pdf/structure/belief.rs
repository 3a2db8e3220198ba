//! Whether the tags of a page are to be believed: they name its text, and what they say of it is
//! not absurd.

use crate::pdf::geometry::Area;
use crate::pdf::segments::Segment;

use super::contents::{self, Contents};
use super::told::Told;

/// Share of the text between the first and the last line of the tree that the tree names, at least,
/// in percent.
const MINIMUM_SHARE_PERCENT: usize = 90;

/// Share of the text that artifacts in the middle of the page are at most, in percent.
const MAXIMUM_ARTIFACT_PERCENT: usize = 20;

/// Characters of a page that say something about it.
const ENOUGH_CHARACTERS: usize = 400;

/// Longest heading, in characters, and the share of the text that headings are at most, in percent.
const MAXIMUM_HEADING: usize = 400;
const MAXIMUM_HEADINGS_PERCENT: usize = 50;

/// Share of the text of which the tree only tells the order, at most, in percent.
const MAXIMUM_UNTOLD_PERCENT: usize = 60;

/// Characters of a paragraph that is nearly all of the page, and the percent that are nearly all.
const MAXIMUM_PARAGRAPH: usize = 1500;
const NEARLY_ALL_PERCENT: usize = 80;

/// Share of neighbours that may be out of order, or parts of one sentence, in percent, and the
/// number of them that is no accident.
const MAXIMUM_ODD_PERCENT: usize = 25;
const MINIMUM_ODD: usize = 4;

/// Characters of a page by what its tags say of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Share {
    /// Named by the tree.
    pub told: usize,
    /// Unnamed between the first and the last line of the tree, or in the middle of the page.
    pub loose: usize,
    /// Marked as artifacts in the middle of the page.
    pub artifacts: usize,
}

impl Share {
    /// Counts what is left of the contents of a page: `margin` at its top and bottom is where its
    /// head and its foot stand, `height` is its own, both in points.
    pub(super) fn of(told: &[Told], contents: &Contents, margin: f32, height: f32) -> Self {
        let texts = told.iter().flat_map(Told::segments);
        let named = Area::around(texts.map(|segment| segment.area)).unwrap_or_default();
        let is_middle = |y: f32| (margin..height - margin).contains(&y);
        let is_within = |y: f32| (named.top..named.bottom).contains(&y);
        let artifacts = contents::drawn(contents.artifacts.iter());
        Self {
            told: told.iter().map(characters).sum(),
            loose: contents
                .left()
                .filter(|found| is_middle(found.baseline) || is_within(found.baseline))
                .count(),
            artifacts: artifacts.filter(|found| is_middle(found.baseline)).count(),
        }
    }
}

/// Whether the tags of a page are to be believed.
pub(super) fn is_believable(told: &[Told], share: &Share) -> bool {
    share.told > 0
        && share.told * 100 >= (share.told + share.loose) * MINIMUM_SHARE_PERCENT
        && share.artifacts * 100 <= (share.told + share.artifacts) * MAXIMUM_ARTIFACT_PERCENT
        && !is_untold(told, share.told)
        && !has_absurd_headings(told, share.told)
        && !is_one_paragraph(told, share.told)
        && !is_torn(told)
        && !is_out_of_order(told)
}

fn characters(told: &Told) -> usize {
    let of_cells = |rows: &Vec<Vec<String>>| {
        let text = rows.iter().flatten().flat_map(|cell| cell.chars());
        text.filter(|character| !character.is_whitespace()).count()
    };
    match told {
        Told::Table { rows, .. } => of_cells(rows),
        other => other
            .segments()
            .iter()
            .map(|segment| segment.characters)
            .sum(),
    }
}

/// Whether the tree says of most text only where it stands.
fn is_untold(told: &[Told], all: usize) -> bool {
    let untold = told.iter().filter(|told| matches!(told, Told::Untold(_)));
    let untold: usize = untold.map(characters).sum();
    all >= ENOUGH_CHARACTERS && untold * 100 > all * MAXIMUM_UNTOLD_PERCENT
}

fn has_absurd_headings(told: &[Told], all: usize) -> bool {
    let headings = told
        .iter()
        .filter(|told| matches!(told, Told::Heading(..)))
        .map(characters);
    let (mut sum, mut longest) = (0, 0);
    for heading in headings {
        sum += heading;
        longest = longest.max(heading);
    }
    longest > MAXIMUM_HEADING
        || (all >= ENOUGH_CHARACTERS && sum * 100 > all * MAXIMUM_HEADINGS_PERCENT)
}

/// Whether one paragraph is nearly the whole page.
fn is_one_paragraph(told: &[Told], all: usize) -> bool {
    let longest = told
        .iter()
        .filter(|told| matches!(told, Told::Paragraph(_)))
        .map(characters)
        .max();
    longest.is_some_and(|longest| {
        longest > MAXIMUM_PARAGRAPH && longest * 100 > all * NEARLY_ALL_PERCENT
    })
}

/// Whether paragraphs end in the middle of sentences: each line is one.
fn is_torn(told: &[Told]) -> bool {
    let torn = |one: &Told, other: &Told| {
        matches!((one, other), (Told::Paragraph(_), Told::Paragraph(_)))
            && ends_open(one.segments())
            && starts_small(other.segments())
    };
    is_often(told, torn)
}

fn ends_open(segments: &[Segment]) -> bool {
    let last = segments
        .last()
        .and_then(|last| last.text.trim_end().chars().last());
    last.is_some_and(char::is_alphanumeric)
}

fn starts_small(segments: &[Segment]) -> bool {
    let first = segments
        .first()
        .and_then(|first| first.text.trim_start().chars().next());
    first.is_some_and(char::is_lowercase)
}

/// Whether the text is read upwards within a column.
fn is_out_of_order(told: &[Told]) -> bool {
    let goes_up = |one: &Told, other: &Told| {
        let area = |told: &Told| Area::around(told.segments().iter().map(|text| text.area));
        let (Some(one), Some(other)) = (area(one), area(other)) else {
            return false;
        };
        let shared = one.right.min(other.right) - one.left.max(other.left);
        other.bottom <= one.top && shared > 0.5 * one.width().min(other.width())
    };
    is_often(told, goes_up)
}

/// Whether something is said of many neighbours in the flow of the text.
fn is_often(told: &[Told], is_odd: impl Fn(&Told, &Told) -> bool) -> bool {
    let flow: Vec<&Told> = told
        .iter()
        .filter(|told| !matches!(told, Told::Note(_) | Told::Description(_)))
        .collect();
    let odd = flow
        .windows(2)
        .filter(|pair| matches!(pair, [one, other] if is_odd(one, other)))
        .count();
    odd >= MINIMUM_ODD && odd * 100 > flow.len() * MAXIMUM_ODD_PERCENT
}
