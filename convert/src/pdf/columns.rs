//! Reading order: the items of a page are cut into regions, columns one after the other.
//!
//! A region is cut where a gutter has text on both sides and nothing crosses it: what stands above
//! comes first, then the left side, the right side, and what stands below. Text in short pieces on
//! common lines is a table or a form, not columns, and is left whole.

use super::geometry::Area;
use super::ruled::Enclosed;
use super::segments::Segment;
use super::tables::Table;
use crate::escape::is_wide;

/// Narrowest gutter, in sizes of the region's letters and in points; between columns of prose the
/// narrower one, if there is no other.
const GUTTER_SIZES: f32 = 0.8;
const NARROW_GUTTER_SIZES: f32 = 0.65;
const GUTTER_POINTS: f32 = 5.0;

/// Characters of a piece of text (Chinese ones count twice) from which it is prose, on average.
const PROSE_CHARACTERS: f32 = 18.0;

/// Share of lines with a partner on the other side from which few lines are not taken for columns.
const ALIGNED_SHARE: f32 = 0.6;

/// The same for pieces that are no prose.
const ALIGNED_PIECES: f32 = 0.25;

/// Fewest lines of a column whose lines are short, beside one of prose.
const MINIMUM_SHORT_LINES: usize = 6;

/// Most places that are tried for a gutter, and how deep regions are cut.
const MAXIMUM_CANDIDATES: usize = 60;
const MAXIMUM_DEPTH: u8 = 20;

/// Full-width signs that are blank in their right half.
const HALF_BLANK: [char; 11] = [
    '，', '。', '、', '；', '：', '！', '？', '）', '》', '」', '】',
];

/// What the layout moves about.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    /// A run of text.
    Text(Segment),
    /// A table that was found by its lines.
    Table(Table),
    /// Text that is read by itself.
    Enclosed(Enclosed),
}

impl Item {
    /// Its place.
    pub(super) fn area(&self) -> Area {
        match self {
            Self::Text(segment) => segment.area,
            Self::Table(table) => table.area,
            Self::Enclosed(text) => text.area,
        }
    }

    /// Where its ink ends: a full-width sign at the end of a line is blank in its right half.
    fn right(&self) -> f32 {
        let right = self.area().right;
        match self {
            Self::Text(text) if text.text.ends_with(HALF_BLANK) => right - 0.5 * text.size,
            _ => right,
        }
    }
}

/// The regions of a page in reading order.
pub(super) fn regions(mut items: Vec<Item>) -> Vec<Vec<Item>> {
    items.sort_by(|one, other| one.area().middle().total_cmp(&other.area().middle()));
    let mut regions = Vec::new();
    cut(items, 0, &mut regions);
    regions
}

/// Items stay sorted by their middles all the way down.
fn cut(items: Vec<Item>, depth: u8, regions: &mut Vec<Vec<Item>>) {
    let gutter = if depth < MAXIMUM_DEPTH && items.len() >= 4 {
        best_gutter(&items, Gutters::Usual).or_else(|| best_gutter(&items, Gutters::Narrow))
    } else {
        None
    };
    let Some(gutter) = gutter else {
        if !items.is_empty() {
            regions.push(items);
        }
        return;
    };
    for part in around(&gutter, items) {
        cut(part, depth + 1, regions);
    }
}

/// What stands above a gutter, left of it, right of it and below.
fn around(gutter: &Gutter, items: Vec<Item>) -> [Vec<Item>; 4] {
    let (mut above, mut left, mut right, mut below) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (index, item) in items.into_iter().enumerate() {
        let side = match index {
            index if index < gutter.first => &mut above,
            index if index >= gutter.end => &mut below,
            _ if item.area().left >= gutter.right - 0.5 => &mut right,
            _ => &mut left,
        };
        side.push(item);
    }
    [above, left, right, below]
}

/// A gutter whose right edge is `right`, beside the items from `first` up to `end`.
struct Gutter {
    right: f32,
    first: usize,
    end: usize,
    score: f32,
}

/// Which gutters are looked for.
#[derive(Clone, Copy, PartialEq)]
enum Gutters {
    Usual,
    /// Narrower ones, with prose on both sides.
    Narrow,
}

fn best_gutter(items: &[Item], gutters: Gutters) -> Option<Gutter> {
    let sizes = match gutters {
        Gutters::Usual => GUTTER_SIZES,
        Gutters::Narrow => NARROW_GUTTER_SIZES,
    };
    let narrowest = (sizes * usual_size(items)).max(GUTTER_POINTS);
    let mut best: Option<Gutter> = None;
    for right in candidates(items) {
        for (first, end) in uncrossed(items, right, narrowest) {
            let Some(score) = items
                .get(first..end)
                .and_then(|run| score(run, right, gutters))
            else {
                continue;
            };
            if best.as_ref().is_none_or(|best| score > best.score) {
                best = Some(Gutter {
                    right,
                    first,
                    end,
                    score,
                });
            }
        }
    }
    best
}

fn usual_size(items: &[Item]) -> f32 {
    let mut sizes: Vec<f32> = items
        .iter()
        .filter_map(|item| {
            if let Item::Text(segment) = item {
                Some(segment.size)
            } else {
                None
            }
        })
        .collect();
    sizes.sort_by(f32::total_cmp);
    sizes.get(sizes.len() / 2).copied().unwrap_or(10.0)
}

/// Left edges of items, the frequent ones first.
fn candidates(items: &[Item]) -> Vec<f32> {
    let mut lefts: Vec<f32> = items.iter().map(|item| item.area().left).collect();
    lefts.sort_by(f32::total_cmp);
    let mut groups: Vec<&[f32]> = lefts.chunk_by(|one, other| other - one < 1.0).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups
        .iter()
        .take(MAXIMUM_CANDIDATES)
        .filter_map(|group| group.first().copied())
        .collect()
}

/// Longest runs of items of which none crosses the gutter.
fn uncrossed(items: &[Item], right: f32, narrowest: f32) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    let mut first = 0;
    for (index, item) in items.iter().enumerate() {
        if item.area().left < right - 0.5 && item.right() > right - narrowest {
            runs.push(without_row_mates(items, first, index));
            first = index + 1;
        }
    }
    runs.push(without_row_mates(items, first, items.len()));
    runs.retain(|(first, end)| first + 4 <= *end);
    runs
}

/// The run without items that stand on one line with the crossing items before and after it.
fn without_row_mates(items: &[Item], mut first: usize, mut end: usize) -> (usize, usize) {
    let area = |index: usize| items.get(index).map(Item::area);
    let is_mate = |one: Option<Area>, other: Option<Area>| {
        one.zip(other).is_some_and(|(one, other)| {
            one.shared_height(other) > 0.5 * one.height().min(other.height())
        })
    };
    let before = first.checked_sub(1).and_then(area);
    while first < end && is_mate(before, area(first)) {
        first += 1;
    }
    let after = area(end);
    while first < end && is_mate(after, area(end - 1)) {
        end -= 1;
    }
    (first, end)
}

/// How good a gutter is: the lines on its poorer side and a little for its width; `None` if it
/// parts no columns.
fn score(run: &[Item], right: f32, gutters: Gutters) -> Option<f32> {
    let is_right = |item: &&Item| item.area().left >= right - 0.5;
    let left_side = Side::of(run.iter().filter(|item| !is_right(item)))?;
    let right_side = Side::of(run.iter().filter(is_right))?;
    let lines = left_side.baselines.len().min(right_side.baselines.len());
    let aligned = left_side.aligned_share(&right_side);
    let is_prose = left_side.is_prose() && right_side.is_prose();
    let minimum = match (is_prose, aligned < ALIGNED_SHARE) {
        (true, true) => 2,
        _ => 3,
    };
    let most_aligned = match left_side.is_prose() || right_side.is_prose() {
        _ if is_prose => f32::INFINITY,
        // Short lines beside full ones: headings and the last lines of paragraphs.
        true if lines >= MINIMUM_SHORT_LINES => ALIGNED_SHARE,
        _ => ALIGNED_PIECES,
    };
    if lines < minimum || aligned >= most_aligned || (!is_prose && gutters == Gutters::Narrow) {
        return None;
    }
    let width = (right - left_side.right).max(0.0);
    Some(lines as f32 + (width / 100.0).min(0.9))
}

/// The items on one side of a gutter.
struct Side {
    baselines: Vec<f32>,
    pieces: f32,
    characters: f32,
    right: f32,
}

impl Side {
    fn of<'a>(items: impl Iterator<Item = &'a Item>) -> Option<Self> {
        let mut side = Self {
            baselines: Vec::new(),
            pieces: 0.0,
            characters: 0.0,
            right: f32::MIN,
        };
        for item in items {
            let area = item.area();
            side.right = side.right.max(item.right());
            match item {
                Item::Text(segment) => side.add_text(segment),
                Item::Table(_) | Item::Enclosed(_) => {
                    side.pieces += 3.0;
                    side.characters += 3.0 * PROSE_CHARACTERS;
                    side.baselines
                        .extend([area.top, area.middle(), area.bottom]);
                }
            }
        }
        (!side.baselines.is_empty()).then_some(side)
    }

    fn add_text(&mut self, segment: &Segment) {
        let wide = segment
            .text
            .chars()
            .filter(|character| is_wide(*character))
            .count();
        self.pieces += 1.0;
        self.characters += (segment.characters + wide) as f32;
        // Items come by their middles, so the pieces of one line are neighbours.
        if self
            .baselines
            .last()
            .is_none_or(|last| (segment.baseline - last).abs() > 0.4 * segment.size)
        {
            self.baselines.push(segment.baseline);
        }
    }

    fn is_prose(&self) -> bool {
        self.characters >= PROSE_CHARACTERS * self.pieces
    }

    fn aligned_share(&self, other: &Self) -> f32 {
        let (few, many) = if self.baselines.len() <= other.baselines.len() {
            (self, other)
        } else {
            (other, self)
        };
        let mut places = many.baselines.clone();
        places.sort_by(f32::total_cmp);
        let has_partner = |baseline: &&f32| {
            let next = places.partition_point(|other| *other < **baseline - 2.0);
            places
                .get(next)
                .is_some_and(|other| *other < **baseline + 2.0)
        };
        few.baselines.iter().filter(has_partner).count() as f32 / few.baselines.len().max(1) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &str, left: f32, baseline: f32) -> Item {
        let area = Area {
            left,
            right: left + 4.0 * words.len() as f32,
            top: baseline - 8.0,
            bottom: baseline + 2.0,
        };
        Item::Text(Segment {
            text: words.to_owned(),
            area,
            baseline,
            size: 10.0,
            characters: words.len(),
            ..Segment::default()
        })
    }

    fn order(items: Vec<Item>) -> Vec<Vec<String>> {
        let names = |item: Item| {
            if let Item::Text(segment) = item {
                segment.text
            } else {
                String::new()
            }
        };
        regions(items)
            .into_iter()
            .map(|region| region.into_iter().map(names).collect())
            .collect()
    }

    #[test]
    fn columns_are_read_one_after_the_other() {
        let mut items = vec![text(&"t".repeat(90), 0.0, 20.0)];
        for row in 0..5 {
            let y = 40.0 + 12.0 * row as f32;
            items.push(text(&format!("l{row}{}", "x".repeat(40)), 0.0, y));
            items.push(text(&format!("r{row}{}", "x".repeat(40)), 200.0, y));
        }
        let firsts: Vec<String> = order(items)
            .concat()
            .iter()
            .map(|name| name.chars().take(2).collect())
            .collect();
        assert_eq!(
            firsts,
            [
                "tt", "l0", "l1", "l2", "l3", "l4", "r0", "r1", "r2", "r3", "r4"
            ]
        );
    }

    #[test]
    fn short_lines_beside_prose_are_a_column_of_their_own() {
        let beside = |step: f32| {
            let mut items: Vec<Item> = (0_u8..7)
                .map(|row| text("1.8.4 Response", 0.0, 40.0 + step * f32::from(row)))
                .collect();
            let line = |row: u8| text(&"r".repeat(40), 200.0, 40.0 + 12.0 * f32::from(row));
            items.extend((0..14).map(line));
            order(items).len()
        };
        assert_eq!(beside(29.0), 2);
        // Each beside a line of the other side: a term and what it means.
        assert_eq!(beside(24.0), 1);
    }

    #[test]
    fn short_pieces_on_common_lines_stay_together() {
        let items = (0..5)
            .flat_map(|row| {
                [
                    text("name", 0.0, 12.0 * row as f32),
                    text("value", 200.0, 12.0 * row as f32),
                ]
            })
            .collect();
        assert_eq!(order(items).len(), 1);
    }
}
