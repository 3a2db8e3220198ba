//! Takes running headers, footers and page numbers off the pages: lines that stand at the same
//! place of many pages, and lone numbers of pages. The first page keeps what is no short line apart
//! from the text (a letterhead is content there), and so do both pages of a document of two. What
//! is taken off is handed back once, for the metadata.

use std::collections::{HashMap, HashSet};

use super::geometry::Area;
use super::lines;
use super::page_text::{MARGIN_SHARE, PageText};
use super::segments::Segment;
use super::tables;
use super::unicode;

/// Lines of a zone that are looked at.
const MAXIMUM_LINES: usize = 5;

/// Fewest pages that repeat a line.
const MINIMUM_PAGES: usize = 3;

/// Most lines of a running head or foot where there are few pages to compare, and the gap to the
/// text from which they stand apart, in sizes of their letters.
const MAXIMUM_APART: usize = 2;
const APART: f32 = 0.8;

/// Fewest runs of text beside them.
const MINIMUM_TEXT: usize = 1;

/// Most characters of a line with the number of its page.
const MAXIMUM_NUMBER_CHARACTERS: usize = 24;

/// What stands beside the number of a page.
const PAGE_WORDS: [&str; 14] = [
    "page", "pages", "p", "pg", "sheet", "folio", "of", "seite", "blatt", "von", "第", "页", "頁",
    "共",
];

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
    let is_pair = pages.len() == 2;
    let mut removed: Vec<String> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    for (index, page) in pages.iter_mut().enumerate() {
        for line in zone_lines(page) {
            let keys = line.keys();
            let repeats = keys.iter().filter_map(|key| counts.get(key)).max();
            let repeats = repeats.copied().unwrap_or_default();
            let is_running = repeats >= MINIMUM_PAGES && (index > 0 || line.is_number())
                || line.is_apart && (repeats >= MINIMUM_PAGES || is_pair && repeats == 2);
            if !is_running && !line.is_number_of(index + 1) {
                continue;
            }
            let is_new = known.insert(line.text.clone());
            take(page, &line);
            removed.extend(Some(line.original).filter(|_| {
                is_new
                    && removed.len() < MAXIMUM_HANDED_BACK
                    && line.text.chars().any(char::is_alphabetic)
            }));
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
    area: Area,
    size: f32,
    /// One of few lines at the edge of the page with a gap to the text.
    is_apart: bool,
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

    /// Whether it is a lone number of its page: `7`, `- 7 -`, `Page 7`, `7 / 12`, `第 7 页`.
    fn is_number_of(&self, page: usize) -> bool {
        let numbers = self.original.split(|sign: char| !sign.is_ascii_digit());
        let mut numbers = numbers.filter(|digits| !digits.is_empty());
        let is_own = numbers
            .next()
            .is_some_and(|digits| digits == page.to_string());
        let mut words = self.text.split(|sign: char| !sign.is_alphabetic());
        let says_no_more = words.all(|word| word.is_empty() || PAGE_WORDS.contains(&word));
        self.is_apart
            && is_own
            && numbers.count() <= 1
            && says_no_more
            && self.text.chars().count() <= MAXIMUM_NUMBER_CHARACTERS
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
        let mut found: Vec<ZoneLine> = rows
            .iter()
            .skip(skipped)
            .take(MAXIMUM_LINES)
            .filter_map(|row| zone_line(row))
            .collect();
        mark_apart(&mut found, is_top);
        found
    };
    let mut lines = side(true);
    lines.extend(side(false));
    // Where a page has little else, its lines are its text.
    let members: usize = lines.iter().map(|line| line.members.len()).sum();
    if layer.segments.len() < members + MINIMUM_TEXT {
        lines.iter_mut().for_each(|line| line.is_apart = false);
    }
    lines
}

/// Marks the lines at the edge of the page that a gap parts from the others.
fn mark_apart(lines: &mut [ZoneLine], is_top: bool) {
    let inner_gap = |pair: &[ZoneLine]| match pair {
        [above, below] => below.area.top - above.area.bottom > APART * below.size.min(above.size),
        _ => false,
    };
    let gaps: Vec<bool> = lines.windows(2).map(inner_gap).collect();
    let outer = if is_top {
        gaps.iter()
            .position(|is_gap| *is_gap)
            .map_or(lines.len(), |at| at + 1)
    } else {
        let behind = gaps.iter().rposition(|is_gap| *is_gap);
        behind.map_or(lines.len(), |at| lines.len() - at - 1)
    };
    if outer > MAXIMUM_APART {
        return;
    }
    let first = if is_top { 0 } else { lines.len() - outer };
    for line in lines.iter_mut().skip(first).take(outer) {
        line.is_apart = true;
    }
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
        area: line.area,
        size: line.size,
        is_apart: false,
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
            segment("more".into(), 412.0),
            segment("and more".into(), 424.0),
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
    fn repeated_lines_go() {
        let mut pages: Vec<PageText> = (1..=4).map(page).collect();
        assert_eq!(remove(&mut pages), ["The Book"]);
        let left: Vec<_> = pages.iter().map(texts).collect();
        assert!(left.iter().all(|texts| texts.len() == 3), "{left:?}");
        let mut pair: Vec<PageText> = (1..=2).map(page).collect();
        remove(&mut pair);
        assert_eq!(pair.iter().flat_map(texts).count(), 6);
        // A number that is the page's own says nothing more; a line that stands once stays.
        let mut single = [page(1)];
        remove(&mut single);
        assert_eq!(
            texts(&single[0]),
            ["The Book", "text 1", "more", "and more"]
        );
    }

    #[test]
    fn the_first_page_keeps_its_letterhead() {
        let with_head = |number| {
            let mut page = page(number);
            let first = page.layers[0].segments[0].clone();
            for line in 1..=2 {
                let mut next = first.clone();
                next.text = format!("street {}", ["a", "b"][line - 1]);
                next.baseline += 11.0 * line as f32;
                next.area.top += 11.0 * line as f32;
                next.area.bottom += 11.0 * line as f32;
                page.layers[0].segments.push(next);
            }
            page
        };
        let mut pages: Vec<PageText> = (1..=3).map(with_head).collect();
        remove(&mut pages);
        let counts: Vec<_> = pages.iter().map(|page| texts(page).len()).collect();
        assert_eq!(counts, [6, 3, 3]);
    }
}
