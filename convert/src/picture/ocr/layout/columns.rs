//! Reading order: a page is cut into blocks, columns of running text one after the other,
//! everything else from top to bottom.
//!
//! A gutter is an upright strip that few boxes cross. It parts columns if both sides are running
//! text (lines that fill their side), or if the lines of both sides do not stand at the same
//! heights. Otherwise the sides are cells of one table or form, read row by row. Boxes that cross a
//! gutter (titles, wide figures' captions) part the page into bands.

use super::frame::Item;
use super::median;
use super::rows::{Row, rows_of};

/// Cuts of cuts; a page with more columns and bands than this is read row by row.
const MAXIMUM_DEPTH: usize = 24;
/// Places at which a gutter is looked for.
const PLACES: usize = 200;
/// Share of the boxes that may cross a gutter.
const MAXIMUM_CROSSING: f32 = 0.25;
/// Half of a gutter's least width, in line heights.
const HALF_GUTTER: f32 = 0.3;
/// Rows that a column has at least.
const MINIMUM_ROWS: usize = 3;
/// Share of its column's width that a row of running text fills.
const PROSE_FILL: f32 = 0.6;
/// Length of a line of running text in narrow characters.
const PROSE_COLUMNS: f32 = 12.0;

/// The boxes as blocks in reading order.
pub(super) fn reading_order(items: Vec<Item>) -> Vec<Vec<Item>> {
    let mut blocks = Vec::new();
    cut(items, 0, &mut blocks);
    blocks
}

fn cut(items: Vec<Item>, depth: usize, blocks: &mut Vec<Vec<Item>>) {
    if items.is_empty() {
        return;
    }
    if depth < MAXIMUM_DEPTH {
        if let Some(gutter) = best_gutter(&items) {
            for part in bands(items, &gutter) {
                cut(part, depth + 1, blocks);
            }
            return;
        }
        if let Some(height) = widest_gap(&items) {
            let (above, below) = items
                .into_iter()
                .partition(|item: &Item| item.middle() < height);
            cut(above, depth + 1, blocks);
            cut(below, depth + 1, blocks);
            return;
        }
    }
    blocks.push(items);
}

/// An upright strip between two columns.
#[derive(Clone, Copy, Debug)]
struct Gutter {
    left: f32,
    right: f32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
    Across,
}

impl Gutter {
    fn side(&self, item: &Item) -> Side {
        if item.right <= self.left {
            Side::Left
        } else if item.left >= self.right {
            Side::Right
        } else {
            Side::Across
        }
    }
}

/// The gutter that parts the most text and is crossed by the least.
fn best_gutter(items: &[Item]) -> Option<Gutter> {
    let height = median(items.iter().map(Item::height));
    let (left, right) = extent(items);
    let places = (1..PLACES).map(|place| left + (right - left) * place as f32 / PLACES as f32);
    let mut best: Option<(f32, Gutter)> = None;
    for place in places {
        let gutter = Gutter {
            left: place - HALF_GUTTER * height,
            right: place + HALF_GUTTER * height,
        };
        let value = value_of(&gutter, items);
        if value > best.map_or(0.0, |(value, _)| value) && parts_columns(&gutter, items) {
            best = Some((value, gutter));
        }
    }
    best.map(|(_, gutter)| gutter)
}

/// The left and the right side of all.
fn extent(items: &[Item]) -> (f32, f32) {
    let left = items
        .iter()
        .map(|item| item.left)
        .fold(f32::INFINITY, f32::min);
    let right = items
        .iter()
        .map(|item| item.right)
        .fold(f32::NEG_INFINITY, f32::max);
    (left, right)
}

/// Boxes on the smaller side less those that cross; 0 or less for no gutter.
fn value_of(gutter: &Gutter, items: &[Item]) -> f32 {
    let count = |side: Side| {
        items
            .iter()
            .filter(|item| gutter.side(item) == side)
            .count()
    };
    let (left, right, across) = (count(Side::Left), count(Side::Right), count(Side::Across));
    if across as f32 > MAXIMUM_CROSSING * items.len() as f32 || left.min(right) < MINIMUM_ROWS {
        return 0.0;
    }
    left.min(right) as f32 - 0.5 * across as f32
}

fn parts_columns(gutter: &Gutter, items: &[Item]) -> bool {
    let on = |side: Side| {
        rows_of(
            items
                .iter()
                .filter(|item| gutter.side(item) == side)
                .cloned()
                .collect(),
            0,
        )
    };
    let (left, right) = (on(Side::Left), on(Side::Right));
    if left.len().min(right.len()) < MINIMUM_ROWS || !stand_side_by_side(&left, &right) {
        return false;
    }
    (is_prose(&left) && is_prose(&right)) || aligned_share(&left, &right) < 0.5
}

/// Whether the sides share at least a third of the height of the lower one.
fn stand_side_by_side(left: &[Row], right: &[Row]) -> bool {
    let top = |rows: &[Row]| rows.iter().map(Row::top).fold(f32::INFINITY, f32::min);
    let bottom = |rows: &[Row]| {
        rows.iter()
            .map(Row::bottom)
            .fold(f32::NEG_INFINITY, f32::max)
    };
    let shared = bottom(left).min(bottom(right)) - top(left).max(top(right));
    shared * 3.0 > (bottom(left) - top(left)).min(bottom(right) - top(right))
}

/// Whether the rows of a side fill it with lines of some length.
fn is_prose(rows: &[Row]) -> bool {
    let left = rows.iter().map(Row::left).fold(f32::INFINITY, f32::min);
    let right = rows
        .iter()
        .map(Row::right)
        .fold(f32::NEG_INFINITY, f32::max);
    let fill = |row: &Row| row.items.iter().map(Item::width).sum::<f32>() / (right - left).max(1.0);
    let lengths = rows
        .iter()
        .flat_map(|row| row.items.iter().map(|item| item.columns() as f32));
    median(rows.iter().map(fill)) >= PROSE_FILL && median(lengths) >= PROSE_COLUMNS
}

/// Share of the rows of the side with fewer rows that stand at the height of a row of the other
/// side.
fn aligned_share(left: &[Row], right: &[Row]) -> f32 {
    let (few, many) = if left.len() <= right.len() {
        (left, right)
    } else {
        (right, left)
    };
    let middle = |row: &Row| (row.top() + row.bottom()) / 2.0;
    let is_aligned = |row: &&Row| {
        many.iter()
            .any(|other| (middle(other) - middle(row)).abs() < 0.3 * row.height())
    };
    few.iter().filter(is_aligned).count() as f32 / few.len().max(1) as f32
}

/// Left side, right side, what crosses, and again below it.
fn bands(mut items: Vec<Item>, gutter: &Gutter) -> Vec<Vec<Item>> {
    items.sort_by(|one, other| one.middle().total_cmp(&other.middle()));
    let mut parts = Vec::new();
    let (mut left, mut right, mut across) = (Vec::new(), Vec::new(), Vec::new());
    for item in items {
        let side = gutter.side(&item);
        if side == Side::Across && !(left.is_empty() && right.is_empty()) {
            parts.extend([std::mem::take(&mut left), std::mem::take(&mut right)]);
        }
        if side != Side::Across && !across.is_empty() {
            parts.push(std::mem::take(&mut across));
        }
        match side {
            Side::Left => left.push(item),
            Side::Right => right.push(item),
            Side::Across => across.push(item),
        }
    }
    parts.extend([across, left, right]);
    parts
}

/// Height of the middle of the widest empty band, if it is wider than a line.
fn widest_gap(items: &[Item]) -> Option<f32> {
    let height = median(items.iter().map(Item::height));
    let mut spans: Vec<(f32, f32)> = items.iter().map(|item| (item.top, item.bottom)).collect();
    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut reached = spans.first()?.1;
    let mut widest: Option<(f32, f32)> = None;
    for (top, bottom) in spans {
        if top - reached > widest.map_or(height, |(gap, _)| gap) {
            widest = Some((top - reached, (top + reached) / 2.0));
        }
        reached = reached.max(bottom);
    }
    widest.map(|(_, middle)| middle)
}
