//! Lines of a region to paragraphs, list items and code.

use super::code;
use super::geometry::Area;
use super::headings::number_depth;
use super::lines::{self, Line};
use super::lists::{self, Marker};
use super::notes;
use super::raised;
use super::statistics::Statistics;
use super::tables::Table;
use super::unicode;
use crate::escape::{columns, is_wide};

/// Change of size from line to line that starts a paragraph, and the size from which text is large,
/// both relative.
const SIZE_CHANGE: f32 = 0.09;
const LARGE: f32 = 1.12;

/// Columns up to which a line that begins with `1.2` is a title, whatever follows.
const NUMBERED_TITLE: usize = 26;

/// One line of how many must end at a right edge to make it that of the text.
const SHARED_RIGHT: usize = 8;

/// Step to the next line that starts a paragraph, relative to the usual step.
const WIDE_STEP: f32 = 1.3;

/// Up to how many lines that fill their width may mostly be paragraphs of one line, and how much
/// larger than the smallest step theirs is.
const FEW_STEPS: usize = 5;
const OF_PARAGRAPHS: f32 = 1.5;

/// Part of a page.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Block {
    /// Running text, or a heading that nobody has found out yet.
    Paragraph(Paragraph),
    /// A heading of level 1 to 6.
    Heading(u8, String),
    /// An item of a list.
    Item(Item),
    /// A table.
    Table(Table),
    /// Lines in a font of one width.
    Code(Vec<String>),
    /// A footnote: its mark (see `unicode`) and its text.
    Note(char, String),
}

/// Text with the looks by which headings are told.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Paragraph {
    /// Its text, with the marks of links.
    pub text: String,
    /// Lines on the page.
    pub lines: usize,
    /// Size of its letters in points.
    pub size: f32,
    /// All bold.
    pub is_bold: bool,
    /// All drawn aslant.
    pub is_italic: bool,
    /// All but wide characters, which often have no such font, is bold, or aslant, and some is.
    pub is_bold_but_wide: bool,
    pub is_italic_but_wide: bool,
    /// The colour of all of it; `None` of several.
    pub colour: Option<u32>,
    /// Stands for the name of its first line's font.
    pub font: u32,
    /// Its place.
    pub area: Area,
    /// What is around it.
    pub around: Surroundings,
    /// The tags of the page say that it is no heading.
    pub is_told: bool,
}

/// What is around a paragraph.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Surroundings {
    /// Steps from the line before it and to the line behind it, baseline to baseline, relative to
    /// the usual step; `None` where its region begins and ends.
    pub before: Option<f32>,
    pub after: Option<f32>,
    /// Left and right edge of the text of its region, in points.
    pub left: f32,
    pub right: f32,
}

/// An item of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Item {
    /// `-`, or the number as printed, such as `3.`.
    pub marker: String,
    /// Text after the marker.
    pub text: String,
    /// Where the marker stands, for the depth of the list: in points from the left, or from the right
    /// and negative, so that what is set in is more in both.
    pub left: f32,
    /// What it would be if its number were that of a heading; `None` if that cannot be.
    pub paragraph: Option<Box<Paragraph>>,
}

/// The edges of the text of a region, in points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edges {
    left: f32,
    right: f32,
}

impl Edges {
    /// Of lines; of none they enclose nothing.
    pub(super) fn of(lines: &[Line]) -> Self {
        Self::of_all(&lines.iter().collect::<Vec<_>>())
    }

    fn of_all(lines: &[&Line]) -> Self {
        let area = Area::around(lines.iter().map(|line| line.area)).unwrap_or_default();
        Self {
            left: area.left,
            right: usual_right(lines).unwrap_or(area.right),
        }
    }
}

/// The blocks of lines that stand below each other. `around` are the edges of the region that they
/// are a part of: what stands between two tables may be short lines alone.
pub(super) fn blocks(lines: &[Line], around: Edges, statistics: &Statistics) -> Vec<Block> {
    let lines: Vec<&Line> = lines
        .iter()
        .filter(|line| !line.text.trim().is_empty())
        .collect();
    let region = Region::of(&lines, around);
    let are_code = code::lines_of(&lines, statistics);
    let mut groups: Vec<Group> = Vec::new();
    for (line, is_code) in lines.into_iter().zip(are_code) {
        match groups.last_mut() {
            Some(open) if !region.starts_new(open, line, is_code, statistics) => {
                open.lines.push(line);
            }
            _ => groups.push(Group {
                lines: vec![line],
                is_code,
            }),
        }
    }
    let last = |at: usize| groups.get(at).and_then(|group| group.lines.last().copied());
    let first = |at: usize| {
        groups
            .get(at)
            .and_then(|group| group.lines.first().copied())
    };
    let block = |(at, group): (usize, &Group)| {
        let around = Surroundings {
            before: region.space(at.checked_sub(1).and_then(last), first(at)),
            after: region.space(last(at), first(at + 1)),
            left: region.left,
            right: region.right,
        };
        block(group, around)
    };
    groups.iter().enumerate().filter_map(block).collect()
}

/// Lines of one block.
struct Group<'a> {
    lines: Vec<&'a Line>,
    is_code: bool,
}

/// What is usual among the lines of a region.
struct Region {
    right: f32,
    left: f32,
    /// Baseline to baseline, in sizes.
    step: f32,
}

impl Region {
    fn of(lines: &[&Line], around: Edges) -> Self {
        let own = Edges::of_all(lines);
        let region = Self {
            right: own.right.max(around.right),
            left: own.left.min(around.left),
            step: 1.35,
        };
        let pairs = || {
            lines.windows(2).filter_map(|pair| {
                if let [one, other] = pair {
                    Some((*one, *other))
                } else {
                    None
                }
            })
        };
        let is_same = |one: &Line, other: &Line| {
            (one.size - other.size).abs() < 0.5 && (0.8..3.2).contains(&step(one, other))
        };
        // Lines that fill their width go on below, so their steps are those within paragraphs.
        let mut steps: Vec<f32> = pairs()
            .filter(|(one, other)| is_same(one, other) && !region.has_room(one, other))
            .map(|(one, other)| step(one, other))
            .collect();
        if steps.is_empty() {
            steps = pairs()
                .filter(|(one, other)| is_same(one, other))
                .map(|(one, other)| step(one, other))
                .filter(|step| *step < 1.7)
                .collect();
        }
        steps.sort_by(f32::total_cmp);
        let smallest = steps.first().copied().unwrap_or(1.35);
        let usual = steps.get(steps.len() / 3).copied().unwrap_or(1.35);
        // Of few lines, most may be paragraphs.
        let are_paragraphs = steps.len() < FEW_STEPS && usual > OF_PARAGRAPHS * smallest;
        let step = if are_paragraphs { smallest } else { usual };
        Self {
            step: step.max(0.9),
            ..region
        }
    }

    /// The step between two lines, relative to the usual one.
    fn space(&self, above: Option<&Line>, below: Option<&Line>) -> Option<f32> {
        let (above, below) = (above?, below?);
        Some(step(above, below) / self.step)
    }

    /// Whether a line begins another block than the lines before it.
    fn starts_new(
        &self,
        open: &Group,
        line: &Line,
        is_code: bool,
        statistics: &Statistics,
    ) -> bool {
        let open_lines = open.lines.as_slice();
        let Some(last) = open_lines.last().copied() else {
            return true;
        };
        if is_code || open.is_code {
            return is_code != open.is_code || step(last, line) > code::FARTHEST;
        }
        let size_change = (line.size - last.size).abs() / last.size.max(line.size).max(1.0);
        // Bold words at the start of a paragraph may fill its first line and go on in the next.
        let runs_in =
            last.is_bold && line.starts_bold && open_lines.len() <= 2 && !self.has_room(last, line);
        // Chinese letters of a bold headline may have no bold font.
        let are_large = last.size.min(line.size) > LARGE * statistics.body_size;
        if size_change > SIZE_CHANGE
            || ((line.is_bold != last.is_bold || is_recoloured(last, line))
                && !runs_in
                && !are_large)
            || step(last, line) > WIDE_STEP * self.step
            || step(last, line) < 0.0
        {
            return true;
        }
        // The last characters of a paragraph may have room below the indent of its first line.
        let is_below_indent = open_lines.len() == 1 && !self.has_room(last, line);
        let is_beside = line.area.left > last.area.right
            || (line.area.right < last.area.left && !is_below_indent);
        let is_note = line.text.starts_with(raised::is_raised)
            && line.size <= notes::SMALLER * statistics.body_size;
        if is_beside
            || is_note
            || lists::has_leader(&last.text)
            || opens_item(line, last, open_lines)
        {
            return true;
        }
        if open_lines.len() == 1 && is_numbered_title(last) {
            return !line.text.trim_start().starts_with(char::is_lowercase);
        }
        let is_large = line.size > LARGE * statistics.body_size;
        if is_large || (line.is_bold && !statistics.is_bold) {
            return number_depth(&line.text) > 0;
        }
        self.has_room(last, line) || is_indented(last, line, open_lines)
    }

    /// Whether the first word of a line would have had room at the end of the line before: the line
    /// was ended on purpose.
    fn has_room(&self, last: &Line, line: &Line) -> bool {
        if line.is_right_to_left {
            return last.area.left - self.left > line.first_word + 0.5 * line.size;
        }
        let starts_wide = line.text.trim_start().chars().next().is_some_and(is_wide);
        let needed = if starts_wide {
            2.5 * line.size
        } else {
            line.first_word + 0.6 * line.size
        };
        let room = self.right - last.area.right;
        // A sentence goes on in a small letter, even where a line was broken early.
        let goes_on = line.text.trim_start().starts_with(char::is_lowercase)
            && !last.text.trim_end().ends_with(['.', ':', ';', '!', '?']);
        room > needed && !(goes_on && room < 0.3 * (self.right - self.left))
    }
}

/// The outermost right edge that several lines share: a line may stick out of the text.
fn usual_right(lines: &[&Line]) -> Option<f32> {
    let mut rights: Vec<f32> = lines.iter().map(|line| line.area.right).collect();
    rights.sort_by(|one, other| other.total_cmp(one));
    let size = lines.first()?.size;
    let needed = (lines.len() / SHARED_RIGHT).max(2);
    let shared = |right: f32| {
        rights.partition_point(|other| *other >= right - 0.7 * size)
            - rights.partition_point(|other| *other > right)
    };
    rights
        .iter()
        .copied()
        .find(|right| shared(*right) >= needed)
}

/// Whether a line is a number of several parts with few words: no column of text is as narrow.
fn is_numbered_title(line: &Line) -> bool {
    number_depth(&line.text) > 1 && columns(&line.text) < NUMBERED_TITLE
}

/// Whether all of a line has another colour than all of the line before, and neither is a link.
fn is_recoloured(last: &Line, line: &Line) -> bool {
    let is_plain = |line: &Line| !line.text.chars().any(unicode::is_mark);
    let both = last.colour.zip(line.colour);
    both.is_some_and(|(one, other)| one != other) && is_plain(last) && is_plain(line)
}

/// Baseline to baseline in sizes.
pub(super) fn step(last: &Line, line: &Line) -> f32 {
    (line.baseline - last.baseline) / last.size.max(line.size).max(1.0)
}

/// Whether a line opens a list item: numbers do so only where one expects them, as a sentence may
/// wrap before `2. `.
fn opens_item(line: &Line, last: &Line, open: &[&Line]) -> bool {
    match lists::parse(&line.text) {
        Some(Marker::Bullet(_)) => true,
        Some(Marker::Number(..)) => {
            let is_in_list = open
                .first()
                .is_some_and(|first| lists::parse(&first.text).is_some());
            is_in_list
                || last
                    .text
                    .trim_end()
                    .ends_with(['.', ':', ';', '。', '：', '；', '?', '!'])
                || last.area.right < line.area.right
        }
        None => false,
    }
}

/// Whether a line is set in like the first line of a paragraph, or out like that of an entry with
/// hanging lines.
fn is_indented(last: &Line, line: &Line, open: &[&Line]) -> bool {
    if line.is_right_to_left
        || open
            .first()
            .is_some_and(|first| lists::parse(&first.text).is_some())
    {
        return false;
    }
    let indent = line.area.left - last.area.left;
    let is_in = indent > 0.8 * line.size && indent < 6.0 * line.size && open.len() >= 2;
    let is_out = indent < -0.8 * line.size && open.len() >= 2;
    is_in || is_out
}

fn block(group: &Group, around: Surroundings) -> Option<Block> {
    if group.is_code {
        return Some(Block::Code(code::texts(&group.lines)));
    }
    let paragraph = Paragraph {
        around,
        ..paragraph(&group.lines)?
    };
    let is_right_to_left = group
        .lines
        .first()
        .is_some_and(|line| line.is_right_to_left);
    Some(match item(&paragraph, is_right_to_left) {
        Some(item) => Block::Item(item),
        None => Block::Paragraph(paragraph),
    })
}

/// Lines joined to a paragraph; `None` of none.
pub(super) fn paragraph(lines: &[&Line]) -> Option<Paragraph> {
    let first = lines.first()?;
    let mut text = String::new();
    let mut ends_with_hyphen = false;
    for line in lines {
        lines::append(&mut text, &line.text, ends_with_hyphen);
        ends_with_hyphen = line.ends_with_hyphen;
    }
    let area = Area::around(lines.iter().map(|line| line.area))?;
    let but_wide = |is_so: fn(&Line) -> bool| {
        lines.iter().any(|line| is_so(line))
            && lines.iter().all(|line| is_so(line) || line.is_plain_wide)
    };
    Some(Paragraph {
        text,
        lines: lines.len(),
        size: first.size,
        is_bold: lines.iter().all(|line| line.is_bold),
        is_italic: lines.iter().all(|line| line.is_italic),
        is_bold_but_wide: but_wide(|line| line.is_bold_but_wide),
        is_italic_but_wide: but_wide(|line| line.is_italic_but_wide),
        colour: first
            .colour
            .filter(|_| lines.iter().all(|line| line.colour == first.colour)),
        font: first.font,
        area,
        ..Paragraph::default()
    })
}

fn item(paragraph: &Paragraph, is_right_to_left: bool) -> Option<Item> {
    let left = match is_right_to_left {
        true => -paragraph.area.right,
        false => paragraph.area.left,
    };
    match lists::parse(&paragraph.text)? {
        Marker::Bullet(text) => Some(Item {
            marker: "-".to_owned(),
            text,
            left,
            paragraph: None,
        }),
        Marker::Number(marker, text)
            if !text.is_empty() && marker.starts_with(|first: char| first.is_ascii_digit()) =>
        {
            let marker = lists::plain_number(&marker);
            let paragraph = Some(Box::new(paragraph.clone()));
            Some(Item {
                marker,
                text,
                left,
                paragraph,
            })
        }
        Marker::Number(..) => None,
    }
}
