//! Takes running headers, footers and page numbers off the pages: lines that stand at the same
//! place of many pages, and lone numbers of pages. The first page keeps what is no short line apart
//! from the text (a letterhead is content there), and so do both pages of a document of two. Where
//! there are too few pages to compare, a head is told by the number of the page at the foot, which
//! it mirrors. Titles stay: large letters at the top of slides, and of pages unless nearly all have
//! them. What is taken off is handed back once, for the metadata.

mod text;

use std::collections::{HashMap, HashSet};

use super::geometry::Area;
use super::lines;
use super::page_text::{MARGIN_SHARE, PageText};
use super::segments::Segment;
use super::statistics::Statistics;
use super::structure::{self, Told};
use super::tables;
use super::unicode;
use text::{PAGE_NAMES, PAGE_WORDS, pattern, without_page};

/// Lines of a zone that are looked at.
const MAXIMUM_LINES: usize = 5;

/// Fewest pages that repeat a line.
const MINIMUM_PAGES: usize = 3;

/// Most lines of a running head or foot where there are few pages to compare, and the gap to the
/// text from which they stand apart, in sizes of their letters.
const MAXIMUM_APART: usize = 2;
const APART: f32 = 0.8;

/// How much further from the edge and how much larger than its foot the head of a page is at most,
/// relative.
const SAME_MARGIN: f32 = 1.3;
const SAME_SIZE: f32 = 1.05;

/// Fewest runs of text beside them.
const MINIMUM_TEXT: usize = 1;

/// Most characters of a line with the number of its page.
const MAXIMUM_NUMBER_CHARACTERS: usize = 24;

/// Size of a title, relative to running text: a running head is small or about as large as the text.
/// On a slide, on other pages, and on a slide if nearly all have it, or all. What is wider than high
/// by `SLIDE` is a slide.
const SLIDE_TITLE: f32 = 1.12;
const PAGE_TITLE: f32 = 1.25;
const CLEAR_TITLE: f32 = 1.3;
const HUGE_TITLE: f32 = 1.6;
const SLIDE: f32 = 1.1;

/// Most pages that have the same title where they are no slides, and their share in percent.
const MAXIMUM_TITLED: usize = 8;
const TITLED_PERCENT: usize = 80;

/// Height of a grid, relative to the page, from which it is taken for a frame.
const MAXIMUM_GRID: f32 = 0.9;

/// Places are compared in steps of this many points.
const PLACE_STEP: f32 = 4.0;

/// What a line says with its numbers left out, and where it stands.
type Key = (String, i32);

/// Most different lines that are handed back, and the characters of one that the tags name.
const MAXIMUM_HANDED_BACK: usize = 40;
const MAXIMUM_CHARACTERS: usize = 200;

/// Removes repeated lines of all pages; returns those that no page keeps and those that the tags of
/// pages leave out, each once whatever the number of its page.
pub(super) fn remove(pages: &mut [PageText]) -> Vec<String> {
    let titles = title_sizes(pages);
    let counts = count_keys(pages, &titles);
    let count = pages.len();
    let is_pair = count == 2;
    let mut removed: Vec<String> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    for (index, (page, title)) in pages.iter_mut().zip(titles).enumerate() {
        let lines = zone_lines(page, title);
        let head = margin_head(&lines, index + 1, page).filter(|_| count < MINIMUM_PAGES);
        for line in lines.into_iter().filter(|line| !line.is_bound) {
            let keys = line.keys();
            let repeats = keys.iter().filter_map(|key| counts.get(key)).max();
            let repeats = repeats.copied().unwrap_or_default();
            let is_running = repeats >= MINIMUM_PAGES && (index > 0 || line.is_number())
                || line.is_apart && (repeats >= MINIMUM_PAGES || is_pair && repeats == 2);
            let stays = line.is_large && title.stays(&line, repeats, count);
            let is_head = head == Some(line.baseline);
            if !is_head && (stays || !is_running && !line.is_number_of(index + 1)) {
                continue;
            }
            let is_new = known.insert(without_page(&line.original));
            take(page, &line);
            removed.extend(Some(line.original).filter(|_| {
                is_new
                    && removed.len() < MAXIMUM_HANDED_BACK
                    && line.text.chars().any(char::is_alphabetic)
            }));
        }
        for line in std::mem::take(&mut page.running) {
            let text = without_page(&line);
            let has_letters = text.chars().any(char::is_alphabetic);
            if has_letters && removed.len() < MAXIMUM_HANDED_BACK && known.insert(text) {
                removed.push(line.chars().take(MAXIMUM_CHARACTERS).collect());
            }
        }
    }
    removed
}

/// Where the head of a page stands that no other page repeats: it is a line by itself above the text,
/// as near to the edge of the page and in letters as small as the number of the page at the foot.
fn margin_head(lines: &[ZoneLine], number: usize, page: &PageText) -> Option<f32> {
    let height = page.height;
    let is_foot = |line: &&ZoneLine| line.area.middle() > 0.5 * height && line.is_number_of(number);
    let foot = lines.iter().rev().find(is_foot)?;
    let margin = SAME_MARGIN * (height - foot.area.bottom);
    let is_top =
        |line: &&ZoneLine| line.is_apart && !line.is_bound && line.area.middle() < 0.5 * height;
    let mut heads = lines.iter().filter(is_top);
    let head = heads.next().filter(|_| heads.next().is_none())?;
    let is_alike = head.area.top <= margin && head.size <= SAME_SIZE * foot.size;
    is_alike.then_some(head.baseline)
}

/// From which size letters at the top of a page are large.
#[derive(Clone, Copy, Debug)]
struct TitleSize {
    size: f32,
    is_slide: bool,
}

impl TitleSize {
    /// Whether a line in such letters that `repeats` of `pages` pages have is a title.
    fn stays(self, line: &ZoneLine, repeats: usize, pages: usize) -> bool {
        let is_rare = repeats * 100 < pages * TITLED_PERCENT;
        if self.is_slide {
            let clear = if repeats < pages {
                CLEAR_TITLE
            } else {
                HUGE_TITLE
            };
            return is_rare || line.size >= clear / SLIDE_TITLE * self.size;
        }
        is_rare && repeats <= MAXIMUM_TITLED
    }
}

/// The sizes of titles on each page.
fn title_sizes(pages: &[PageText]) -> Vec<TitleSize> {
    let usual = Statistics::of(pages);
    let of_page = |page: &PageText| {
        let is_slide = page.width > SLIDE * page.height;
        let share = if is_slide { SLIDE_TITLE } else { PAGE_TITLE };
        TitleSize {
            size: share * usual.of_page(page).body_size.max(usual.body_size),
            is_slide,
        }
    };
    pages.iter().map(of_page).collect()
}

/// On how many pages each key stands.
fn count_keys(pages: &[PageText], titles: &[TitleSize]) -> HashMap<Key, usize> {
    let mut counts: HashMap<Key, usize> = HashMap::new();
    for (page, title) in pages.iter().zip(titles) {
        let keys: HashSet<Key> = zone_lines(page, *title)
            .into_iter()
            .filter(|line| !line.is_bound)
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
    /// At the top, in the letters of a title.
    is_large: bool,
    /// One of few lines at the edge of the page with a gap to the text.
    is_apart: bool,
    /// The tags of the page say that it is a heading, an item or the like.
    is_bound: bool,
    members: Vec<Member>,
}

/// Left edge and baseline of a run of text, by which it is found again.
type Member = (f32, f32);

fn member(segment: &Segment) -> Member {
    (segment.area.left, segment.baseline)
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
        let says_no_more = words.all(|word| {
            word.is_empty() || PAGE_WORDS.contains(&word) || PAGE_NAMES.contains(&word)
        });
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

/// The outermost lines of the first layer and of what the tags of the page tell: some programs name
/// running heads among the text.
fn zone_lines(page: &PageText, title: TitleSize) -> Vec<ZoneLine> {
    let layer = page.layers.first();
    let in_layer = layer.into_iter().flat_map(|layer| &layer.segments);
    let segments: Vec<&Segment> = in_layer.chain(structure::segments(&page.told)).collect();
    let height = page.height;
    let zone = height * MARGIN_SHARE;
    // The head of a table that goes on over pages repeats too, and belongs to it. A grid as high as
    // the page is its frame.
    let grids: Vec<_> = layer
        .into_iter()
        .flat_map(|layer| tables::places(&layer.rules))
        .filter(|grid| grid.height() < MAXIMUM_GRID * height)
        .collect();
    let side = |is_top: bool| -> Vec<ZoneLine> {
        let is_inside = |segment: &&&Segment| {
            let is_near = if is_top {
                segment.area.bottom < zone
            } else {
                segment.area.top > height - zone
            };
            is_near
                && !grids
                    .iter()
                    .any(|grid| grid.contains(segment.area.centre(), segment.area.middle()))
        };
        let inside = segments.iter().filter(is_inside);
        let rows = lines::rows(inside.map(|segment| (*segment).clone()).collect());
        let skipped = if is_top {
            0
        } else {
            rows.len().saturating_sub(MAXIMUM_LINES)
        };
        let rows: Vec<_> = rows.into_iter().skip(skipped).take(MAXIMUM_LINES).collect();
        let mut found: Vec<ZoneLine> = rows.iter().filter_map(|row| zone_line(row)).collect();
        mark_apart(&mut found, is_top);
        if !is_top {
            return found;
        }
        let parts = rows.into_iter().zip(&found);
        parts
            .flat_map(|(row, whole)| title_parts(row, whole, title))
            .collect()
    };
    let mut lines = side(true);
    lines.extend(side(false));
    // Where a page has nothing else, its lines are its text.
    let apart = lines.iter().filter(|line| line.is_apart);
    let members: usize = apart.map(|line| line.members.len()).sum();
    let has_tables = page.told.iter().any(|told| told.segments().is_empty());
    if segments.len() < members + MINIMUM_TEXT && !has_tables {
        lines.iter_mut().for_each(|line| line.is_apart = false);
    }
    let bound = page.told.iter().filter(|told| !told.is_text());
    let bound: Vec<Member> = bound.flat_map(Told::segments).map(member).collect();
    for line in &mut lines {
        line.is_bound = line.members.iter().any(|member| bound.contains(member));
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

/// The lines of a row at the top: a small head may stand beside a title.
fn title_parts(row: Vec<Segment>, whole: &ZoneLine, title: TitleSize) -> Vec<ZoneLine> {
    let is_large = |segment: &Segment| segment.size >= title.size;
    let (large, small): (Vec<_>, Vec<_>) = row.into_iter().partition(is_large);
    let part = |row: &[Segment], is_large| {
        zone_line(row).map(|line| ZoneLine {
            is_large,
            is_apart: whole.is_apart,
            ..line
        })
    };
    let parts = [part(&small, false), part(&large, true)];
    parts.into_iter().flatten().collect()
}

fn zone_line(row: &[Segment]) -> Option<ZoneLine> {
    let line = lines::line(row)?;
    let members = row.iter().map(member).collect();
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
        is_large: false,
        is_apart: false,
        is_bound: false,
        members,
    })
}

fn take(page: &mut PageText, line: &ZoneLine) {
    let is_other = |segment: &Segment| !line.members.contains(&member(segment));
    if let Some(layer) = page.layers.first_mut() {
        layer.segments.retain(is_other);
    }
    page.told.retain_mut(|told| told.keep_text(is_other));
}

#[cfg(test)]
mod tests;
