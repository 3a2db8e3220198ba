//! Takes running headers, footers and page numbers off the pages: lines that stand at the same
//! place of many pages. The first page keeps its lines (a letterhead is content there), except a
//! bare page number. What is taken off is handed back once, for the metadata.

use std::collections::{HashMap, HashSet};

use super::lines;
use super::page_text::{MARGIN_SHARE, PageText};
use super::segments::Segment;
use super::tables;
use super::unicode;

/// Lines of a zone that are looked at.
const MAXIMUM_LINES: usize = 5;

/// Fewest pages that repeat a line.
const MINIMUM_PAGES: usize = 3;

/// Height of a grid, relative to the page, from which it is taken for a frame.
const MAXIMUM_GRID: f32 = 0.9;

/// Places are compared in steps of this many points.
const PLACE_STEP: f32 = 4.0;

/// What a line says with its numbers left out, and where it stands.
type Key = (String, i32);

/// Most different lines that are handed back, and the characters of one that the tags name.
const MAXIMUM_HANDED_BACK: usize = 12;
const MAXIMUM_CHARACTERS: usize = 200;

/// Removes repeated lines of all pages; returns the first of each kind of those that no page keeps,
/// and of those that the tags of pages leave out.
pub(super) fn remove(pages: &mut [PageText]) -> Vec<String> {
    let counts = count_keys(pages);
    let mut removed: Vec<String> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    for (index, page) in pages.iter_mut().enumerate() {
        for line in zone_lines(page) {
            let keys = line.keys();
            let repeats = keys.iter().filter_map(|key| counts.get(key)).max();
            if repeats.is_none_or(|repeats| *repeats < MINIMUM_PAGES) {
                continue;
            }
            let is_new = known.insert(line.text.clone());
            if index > 0 || line.is_number() {
                take(page, &line);
                removed.extend(Some(line.original).filter(|_| {
                    is_new
                        && removed.len() < MAXIMUM_HANDED_BACK
                        && line.text.chars().any(char::is_alphabetic)
                }));
            }
        }
        for line in std::mem::take(&mut page.running) {
            let pattern = pattern(&line);
            let has_letters = pattern.chars().any(char::is_alphabetic);
            if has_letters && removed.len() < MAXIMUM_HANDED_BACK && known.insert(pattern) {
                removed.push(line.chars().take(MAXIMUM_CHARACTERS).collect());
            }
        }
    }
    removed
}

/// On how many pages each key stands.
fn count_keys(pages: &[PageText]) -> HashMap<Key, usize> {
    let mut counts: HashMap<Key, usize> = HashMap::new();
    for page in pages.iter() {
        let keys: HashSet<Key> = zone_lines(page)
            .into_iter()
            .flat_map(|line| line.keys())
            .collect();
        for key in keys {
            *counts.entry(key).or_default() += 1;
        }
    }
    counts
}

struct ZoneLine {
    /// As printed.
    original: String,
    /// With its numbers left out.
    text: String,
    baseline: f32,
    members: Vec<(f32, f32)>,
}

impl ZoneLine {
    /// Its key at its place, and at the next step, so that a line between two steps meets itself.
    fn keys(&self) -> Vec<Key> {
        let step = self.baseline / PLACE_STEP;
        let (low, high) = (step.floor() as i32, step.ceil() as i32);
        [low, high]
            .into_iter()
            .map(|place| (self.text.clone(), place))
            .collect()
    }

    fn is_number(&self) -> bool {
        self.text
            .chars()
            .all(|character| !character.is_alphabetic())
    }
}

/// The outermost lines of the first layer.
fn zone_lines(page: &PageText) -> Vec<ZoneLine> {
    let Some(layer) = page.layers.first() else {
        return Vec::new();
    };
    let zone = layer.height * MARGIN_SHARE;
    // The head of a table that goes on over pages repeats too, and belongs to it. A grid as high as
    // the page is its frame.
    let grids: Vec<_> = tables::places(&layer.rules)
        .into_iter()
        .filter(|grid| grid.height() < MAXIMUM_GRID * layer.height)
        .collect();
    let side = |is_top: bool| -> Vec<ZoneLine> {
        let is_inside = |segment: &&Segment| {
            let is_near = if is_top {
                segment.area.bottom < zone
            } else {
                segment.area.top > layer.height - zone
            };
            is_near
                && !grids
                    .iter()
                    .any(|grid| grid.contains(segment.area.centre(), segment.area.middle()))
        };
        let inside: Vec<Segment> = layer.segments.iter().filter(is_inside).cloned().collect();
        let rows = lines::rows(inside);
        let skipped = if is_top {
            0
        } else {
            rows.len().saturating_sub(MAXIMUM_LINES)
        };
        rows.iter()
            .skip(skipped)
            .take(MAXIMUM_LINES)
            .filter_map(|row| zone_line(row))
            .collect()
    };
    let mut lines = side(true);
    lines.extend(side(false));
    lines
}

fn zone_line(row: &[Segment]) -> Option<ZoneLine> {
    let line = lines::line(row)?;
    let members = row
        .iter()
        .map(|segment| (segment.area.left, segment.baseline))
        .collect();
    let original = line
        .text
        .chars()
        .filter(|character| !unicode::is_mark(*character))
        .collect();
    Some(ZoneLine {
        original,
        text: pattern(&line.text),
        baseline: line.baseline,
        members,
    })
}

/// The text in lower case, each number (Roman ones too) as one sign.
fn pattern(text: &str) -> String {
    let mut pattern = String::new();
    for word in text.split_whitespace() {
        let is_roman = word.len() <= 6
            && word
                .chars()
                .all(|character| matches!(character, 'i' | 'v' | 'x' | 'l' | 'c'));
        if is_roman {
            pattern.push('#');
            continue;
        }
        for character in word
            .chars()
            .filter(|character| !unicode::is_mark(*character))
        {
            match character {
                '0'..='9' if pattern.ends_with('#') => {}
                '0'..='9' => pattern.push('#'),
                other => pattern.extend(other.to_lowercase()),
            }
        }
    }
    pattern
}

fn take(page: &mut PageText, line: &ZoneLine) {
    if let Some(layer) = page.layers.first_mut() {
        layer.segments.retain(|segment| {
            !line
                .members
                .contains(&(segment.area.left, segment.baseline))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::geometry::Area;
    use crate::pdf::page_text::Layer;

    fn page(number: usize) -> PageText {
        let segment = |text: String, baseline: f32| {
            let area = Area {
                left: 50.0,
                right: 200.0,
                top: baseline - 8.0,
                bottom: baseline + 2.0,
            };
            Segment {
                characters: text.len(),
                text,
                area,
                baseline,
                size: 10.0,
                ..Segment::default()
            }
        };
        let segments = vec![
            segment("The Book".into(), 30.0),
            segment(format!("text {number}"), 400.0),
            segment(format!("{number}"), 780.0),
        ];
        PageText {
            layers: vec![Layer {
                segments,
                height: 800.0,
                ..Layer::default()
            }],
            characters: 20,
            has_text: true,
            ..PageText::default()
        }
    }

    fn texts(page: &PageText) -> Vec<&str> {
        page.layers
            .iter()
            .flat_map(|layer| &layer.segments)
            .map(|segment| segment.text.as_str())
            .collect()
    }

    #[test]
    fn repeated_lines_go_from_the_second_page_on() {
        let mut pages: Vec<PageText> = (1..=4).map(page).collect();
        assert!(
            remove(&mut pages).is_empty(),
            "the first page keeps the line"
        );
        assert_eq!(
            pages.iter().map(texts).collect::<Vec<_>>(),
            [
                vec!["The Book", "text 1"],
                vec!["text 2"],
                vec!["text 3"],
                vec!["text 4"]
            ]
        );
        let mut few: Vec<PageText> = (1..=2).map(page).collect();
        remove(&mut few);
        assert_eq!(few.iter().flat_map(texts).count(), 6);
        let mut late: Vec<PageText> = std::iter::once(PageText::default())
            .chain((1..=3).map(page))
            .collect();
        assert_eq!(remove(&mut late), ["The Book"]);
    }
}
