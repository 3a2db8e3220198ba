//! Lines of any direction as boxes on a level page. The direction of most of the text is that of
//! the page: a page that was scanned sideways or askew is turned back, and a page of vertical
//! Chinese reads from right to left.

use std::f32::consts::FRAC_PI_2;

use super::median;
use tributary_models::ocr::{Point, RecognizedLine, is_wide};

/// A line on the level page, in pixels.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub text: String,
    pub left: f32,
    pub right: f32,
    pub top: f32,
    pub bottom: f32,
}

impl Item {
    pub(super) fn width(&self) -> f32 {
        self.right - self.left
    }

    pub(super) fn height(&self) -> f32 {
        self.bottom - self.top
    }

    pub(super) fn middle(&self) -> f32 {
        (self.top + self.bottom) / 2.0
    }

    /// Length of the text, wide (Chinese) characters counted twice.
    pub(super) fn columns(&self) -> usize {
        self.text
            .chars()
            .map(|character| if is_wide(character) { 2 } else { 1 })
            .sum()
    }
}

/// All lines on the level page.
pub(super) fn level_items(lines: &[RecognizedLine]) -> Vec<Item> {
    let quarter = main_quarter(lines);
    let skews = lines
        .iter()
        .filter(|line| quarter_of(line) == quarter && line.quad.width() > 3.0 * line.quad.height());
    let skew = median(skews.map(|line| difference(direction(line), quarter)));
    let angle = quarter as f32 * FRAC_PI_2 + skew;
    let (sine, cosine) = angle.sin_cos();
    lines
        .iter()
        .map(|line| {
            item_of(line, |point| {
                Point::new(
                    point.x * cosine + point.y * sine,
                    point.y * cosine - point.x * sine,
                )
            })
        })
        .collect()
}

fn item_of(line: &RecognizedLine, turn: impl Fn(Point) -> Point) -> Item {
    let corners = line.quad.map(turn).0;
    let xs = corners.map(|corner| corner.x);
    let ys = corners.map(|corner| corner.y);
    let (low, high) = (
        |values: &[f32]| values.iter().copied().fold(f32::INFINITY, f32::min),
        |values: &[f32]| values.iter().copied().fold(f32::NEG_INFINITY, f32::max),
    );
    let text = line
        .text
        .chars()
        .filter(|character| !character.is_control())
        .collect();
    Item {
        text,
        left: low(&xs),
        right: high(&xs),
        top: low(&ys),
        bottom: high(&ys),
    }
}

/// Angle in which the text runs, in radians clockwise from level.
fn direction(line: &RecognizedLine) -> f32 {
    let [first, second, ..] = line.quad.0;
    (second.y - first.y).atan2(second.x - first.x)
}

/// Quarter turns, 0 to 3, nearest to the direction.
fn quarter_of(line: &RecognizedLine) -> i32 {
    ((direction(line) / FRAC_PI_2).round() as i32).rem_euclid(4)
}

/// The direction beyond the quarter turns, between -45° and 45°.
fn difference(direction: f32, quarter: i32) -> f32 {
    let beyond = direction - quarter as f32 * FRAC_PI_2;
    beyond - (beyond / (4.0 * FRAC_PI_2)).round() * 4.0 * FRAC_PI_2
}

/// The quarter in which most of the text runs.
fn main_quarter(lines: &[RecognizedLine]) -> i32 {
    let characters = |quarter: i32| -> usize {
        lines
            .iter()
            .filter(|line| quarter_of(line) == quarter)
            .map(|line| line.text.chars().count())
            .sum()
    };
    // The first of equals, so that level text wins.
    (0..4)
        .rev()
        .max_by_key(|quarter| characters(*quarter))
        .unwrap_or(0)
}
