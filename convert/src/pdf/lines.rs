//! Segments of one region to lines of text, top to bottom.

use super::geometry::Area;
use super::hyphens;
use super::segments::{Segment, WIDE_GAP};
use super::unicode;
use crate::escape::is_wide;

/// Share of the smaller height that two segments of one line have in common.
const SHARED_HEIGHT: f32 = 0.5;

/// Gap below which neighbours on a line belong to one word, in sizes.
const NO_GAP: f32 = 0.12;

/// Gap, in sizes, and ratio of sizes from which neighbours on a line have nothing to do with each
/// other.
const FAR_OFF: f32 = 1.5;
const OTHER_SIZE: f32 = 1.25;

/// A line of text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Line {
    /// Its text, with the marks of links.
    pub text: String,
    /// Its place.
    pub area: Area,
    /// Where its letters stand.
    pub baseline: f32,
    /// Size of most of its letters in points.
    pub size: f32,
    /// All bold.
    pub is_bold: bool,
    /// All but wide characters is bold, or aslant, and some is.
    pub is_bold_but_wide: bool,
    pub is_italic_but_wide: bool,
    /// No more than wide characters, neither bold nor aslant.
    pub is_plain_wide: bool,
    /// Its first letter is bold.
    pub starts_bold: bool,
    /// All drawn aslant.
    pub is_italic: bool,
    /// All in a font of one width.
    pub is_fixed: bool,
    /// The same but for wide characters.
    pub is_fixed_or_wide: bool,
    /// The colour of all of it; `None` of several.
    pub colour: Option<u32>,
    /// Stands for the name of the font of most of its letters.
    pub font: u32,
    /// Ends with the hyphen of a parted word.
    pub ends_with_hyphen: bool,
    /// Width of its first word in points, estimated.
    pub first_word: f32,
    /// Written from right to left.
    pub is_right_to_left: bool,
}

/// Segments grouped by the lines on which they stand, each line in reading order.
pub(super) fn rows(mut segments: Vec<Segment>) -> Vec<Vec<Segment>> {
    segments.sort_by(|one, other| one.area.top.total_cmp(&other.area.top));
    let mut rows: Vec<(Area, f32, Vec<Segment>)> = Vec::new();
    for segment in segments {
        let home = rows.iter_mut().rev().take(6).find(|(core, _, _)| {
            let shared = core.shared_height(segment.area);
            shared >= SHARED_HEIGHT * core.height().min(segment.area.height())
        });
        match home {
            Some((core, size, row)) => {
                // The core is the tallest member: small signs above and below must not pull two
                // lines together.
                if segment.size > *size {
                    (*core, *size) = (segment.area, segment.size);
                }
                row.push(segment);
            }
            None => rows.push((segment.area, segment.size, vec![segment])),
        }
    }
    rows.sort_by(|one, other| one.0.bottom.total_cmp(&other.0.bottom));
    rows.into_iter()
        .map(|(_, _, row)| in_reading_order(row))
        .collect()
}

fn in_reading_order(mut row: Vec<Segment>) -> Vec<Segment> {
    let right_to_left: usize = row
        .iter()
        .filter(|segment| segment.is_right_to_left)
        .map(|segment| segment.characters)
        .sum();
    let all: usize = row.iter().map(|segment| segment.characters).sum();
    if right_to_left * 2 > all {
        row.sort_by(|one, other| other.area.right.total_cmp(&one.area.right));
    } else {
        row.sort_by(|one, other| one.area.left.total_cmp(&other.area.left));
    }
    row
}

/// The lines of a row: one, or several where text of another size stands far off (a heading beside
/// small print).
pub(super) fn parted(row: &[Segment]) -> Vec<Line> {
    let is_near = |one: &Segment, other: &Segment| {
        let size = one.size.max(other.size);
        other.area.left - one.area.right < FAR_OFF * size
            || size < OTHER_SIZE * one.size.min(other.size)
    };
    row.chunk_by(is_near).filter_map(line).collect()
}

/// One line of the segments of a row; `None` of none.
pub(super) fn line(row: &[Segment]) -> Option<Line> {
    let area = Area::around(row.iter().map(|segment| segment.area))?;
    let main = row.iter().max_by(|one, other| {
        (one.characters as f32 * one.size).total_cmp(&(other.characters as f32 * other.size))
    })?;
    let text = text_of(row);
    let characters: usize = row.iter().map(|segment| segment.characters).sum();
    let has = |part: fn(&Segment) -> usize| row.iter().any(|piece| part(piece) > 0);
    // A line may be broken before and behind every wide character.
    let first_word = text
        .chars()
        .take_while(|character| *character != ' ' && !is_wide(*character))
        .filter(|character| !unicode::is_mark(*character))
        .count();
    Some(Line {
        area,
        baseline: main.baseline,
        size: main.size,
        font: main.font,
        starts_bold: row.first().is_some_and(|segment| segment.starts_bold),
        is_bold: row.iter().all(Segment::is_bold),
        is_bold_but_wide: row.iter().all(Segment::is_bold_or_wide) && has(|piece| piece.bold),
        is_italic_but_wide: row.iter().all(Segment::is_italic_or_wide) && has(|piece| piece.italic),
        is_plain_wide: row.iter().all(Segment::is_wide)
            && !has(|piece| piece.bold)
            && !has(|piece| piece.italic),
        is_italic: row.iter().all(Segment::is_italic),
        is_fixed: row.iter().all(Segment::is_fixed),
        is_fixed_or_wide: row.iter().all(Segment::is_fixed_or_wide),
        colour: main
            .colour
            .filter(|_| row.iter().all(|segment| segment.colour == main.colour)),
        ends_with_hyphen: row.last().is_some_and(|segment| segment.ends_with_hyphen),
        first_word: first_word as f32 * area.width() / characters.max(1) as f32,
        is_right_to_left: main.is_right_to_left,
        text,
    })
}

/// The text of segments beside each other, with blanks where there are gaps.
fn text_of(row: &[Segment]) -> String {
    let mut text = String::new();
    let mut last: Option<&Segment> = None;
    for segment in row {
        let gap = last.map_or(0.0, |last| {
            (segment.area.left - last.area.right).max(last.area.left - segment.area.right)
        });
        let size = last.map_or(segment.size, |last| last.size.min(segment.size));
        let is_wide = gap >= WIDE_GAP * size;
        let parts_words =
            |last: &Segment| is_wide && unicode::parts_words(&last.text, &segment.text);
        if gap > NO_GAP * size && unicode::needs_space(&text, &segment.text)
            || last.is_some_and(parts_words)
        {
            text.push(' ');
        }
        text.push_str(&segment.text);
        last = Some(segment);
    }
    text
}

/// Adds the text of the next line to a paragraph: parted words joined, with a mark by which `hyphens`
/// thinks again, and Chinese without a space.
pub(super) fn append(text: &mut String, next: &str, ends_with_hyphen: bool) {
    let next = next.trim();
    let before_hyphen = text.chars().rev().nth(1);
    let has_hyphen = (ends_with_hyphen || text.ends_with('-'))
        && before_hyphen.is_some_and(|before| before.is_alphanumeric() && !is_wide(before));
    let first = next.chars().next().unwrap_or(' ');
    // `pre- and post-`: the hyphen stands for a word that follows.
    let is_suspended = ["and ", "or ", "und ", "oder ", "et ", "to "]
        .iter()
        .any(|word| next.starts_with(word));
    if has_hyphen && !is_suspended && first.is_alphanumeric() {
        let are_letters = [before_hyphen, Some(first)]
            .iter()
            .all(|beside| beside.is_some_and(|beside| beside.is_alphabetic() && !is_wide(beside)));
        if are_letters && first.is_lowercase() && hyphens::is_one_word(text) {
            text.pop();
        }
        if are_letters {
            text.push(unicode::JOINT);
        }
    } else if unicode::needs_space(text, next) {
        text.push(' ');
    }
    text.push_str(next);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(text: &str, left: f32, baseline: f32, size: f32) -> Segment {
        let area = Area {
            left,
            right: left + 5.0 * text.len() as f32,
            top: baseline - 0.8 * size,
            bottom: baseline + 0.2 * size,
        };
        Segment {
            text: text.to_owned(),
            area,
            baseline,
            size,
            characters: text.len(),
            ..Segment::default()
        }
    }

    #[test]
    fn small_raised_signs_stay_on_their_line() {
        let segments = vec![
            segment("below", 0.0, 112.0, 10.0),
            segment("x", 0.0, 100.0, 10.0),
            segment("2", 5.0, 96.0, 6.0),
        ];
        let lines: Vec<_> = rows(segments)
            .iter()
            .filter_map(|row| line(row))
            .map(|line| line.text)
            .collect();
        assert_eq!(lines, ["x2", "below"]);
    }

    #[test]
    fn parted_words_are_joined() {
        let joined = |one: &str, next: &str, hyphen| {
            let mut text = one.to_owned();
            append(&mut text, next, hyphen);
            text.replace(unicode::JOINT, "")
        };
        assert_eq!(joined("the conver-", "sion of", true), "the conversion of");
        assert_eq!(
            joined("a state-of-the-", "art thing", false),
            "a state-of-the-art thing"
        );
        assert_eq!(joined("pages 1-", "5", false), "pages 1-5");
        assert_eq!(joined("pre-", "and postfix", false), "pre- and postfix");
        assert_eq!(joined("Neo-", "London", false), "Neo-London");
        assert_eq!(joined("汉语", "文字", false), "汉语文字");
        assert_eq!(joined("one", "two", false), "one two");
    }
}
