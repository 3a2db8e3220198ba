//! Boxes of one block to rows: what stands side by side belongs to one row.

use super::frame::Item;
use tributary_models::ocr::is_wide;

/// Boxes side by side, from left to right.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub items: Vec<Item>,
    /// Which block of the page it belongs to.
    pub block: usize,
}

impl Row {
    pub(super) fn left(&self) -> f32 {
        self.items
            .iter()
            .map(|item| item.left)
            .fold(f32::INFINITY, f32::min)
    }

    pub(super) fn right(&self) -> f32 {
        self.items
            .iter()
            .map(|item| item.right)
            .fold(f32::NEG_INFINITY, f32::max)
    }

    pub(super) fn top(&self) -> f32 {
        self.items
            .iter()
            .map(|item| item.top)
            .fold(f32::INFINITY, f32::min)
    }

    pub(super) fn bottom(&self) -> f32 {
        self.items
            .iter()
            .map(|item| item.bottom)
            .fold(f32::NEG_INFINITY, f32::max)
    }

    /// Height of the tallest box.
    pub(super) fn height(&self) -> f32 {
        self.items.iter().map(Item::height).fold(0.0, f32::max)
    }

    /// The boxes' texts, parted by spaces.
    pub(super) fn text(&self) -> String {
        self.items
            .iter()
            .map(|item| item.text.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Rows from top to bottom. Boxes of one row overlap in height by more than half of the lower one;
/// boxes that stand closer together than letters of two words are one.
pub(super) fn rows_of(mut items: Vec<Item>, block: usize) -> Vec<Row> {
    items.sort_by(|one, other| one.middle().total_cmp(&other.middle()));
    let mut rows: Vec<Row> = Vec::new();
    for item in items {
        match rows.last_mut().filter(|row| belongs(row, &item)) {
            Some(row) => row.items.push(item),
            None => rows.push(Row {
                items: vec![item],
                block,
            }),
        }
    }
    for row in &mut rows {
        row.items
            .sort_by(|one, other| one.left.total_cmp(&other.left));
        join_neighbours(row);
    }
    rows
}

fn belongs(row: &Row, item: &Item) -> bool {
    row.items.iter().all(|other| {
        let overlap = item.bottom.min(other.bottom) - item.top.max(other.top);
        let beside = item.left >= other.right - item.height() * 0.5
            || item.right <= other.left + item.height() * 0.5;
        beside && overlap > 0.5 * item.height().min(other.height())
    })
}

/// Joins boxes that are parts of one line: words that the detection parted.
fn join_neighbours(row: &mut Row) {
    let mut joined: Vec<Item> = Vec::with_capacity(row.items.len());
    for item in row.items.drain(..) {
        match joined
            .last_mut()
            .filter(|before| item.left - before.right < 0.6 * item.height().min(before.height()))
        {
            Some(before) => {
                before.text.push_str(separator(&before.text, &item.text));
                before.text.push_str(&item.text);
                before.right = before.right.max(item.right);
                (before.top, before.bottom) =
                    (before.top.min(item.top), before.bottom.max(item.bottom));
            }
            None => joined.push(item),
        }
    }
    row.items = joined;
}

/// A space, but nothing between two wide characters.
pub(super) fn separator(before: &str, after: &str) -> &'static str {
    let touches = before.chars().next_back().is_some_and(is_wide)
        && after.chars().next().is_some_and(is_wide);
    if touches { "" } else { " " }
}
