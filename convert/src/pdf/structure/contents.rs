//! The glyphs of a page by the marked content that they belong to.

use std::collections::HashMap;
use std::ffi::c_int;

use crate::pdf::characters::{Character, Glyph};
use crate::pdf::geometry::Area;
use crate::pdf::lines::{self, Line};
use crate::pdf::page_text::directions;
use crate::pdf::rules::Rules;
use crate::pdf::segments::{self, Segment};
use crate::pdf::unicode;

use super::marks::Content;

/// How far up a line stands, in sizes, that begins another column.
const COLUMN_STEP: f32 = 2.0;

/// Most blanks between two characters of code.
const MAXIMUM_COLUMNS: f32 = 120.0;

/// Glyphs of a page, apart by what they belong to; each piece can be taken once.
pub(super) struct Contents {
    marked: HashMap<c_int, Vec<Glyph>>,
    /// Pieces in the order of the page.
    order: Vec<c_int>,
    pub artifacts: Vec<Glyph>,
    pub loose: Vec<Glyph>,
    forms: Vec<Glyph>,
}

impl Contents {
    /// White space belongs to the character before it.
    pub(super) fn of(glyphs: &[Glyph]) -> Self {
        let mut contents = Self {
            marked: HashMap::new(),
            order: Vec::new(),
            artifacts: Vec::new(),
            loose: Vec::new(),
            forms: Vec::new(),
        };
        let mut current = Content::Loose;
        for glyph in glyphs {
            if let Glyph::Drawn(character) = glyph {
                current = character.content;
            }
            contents.home(current).push(*glyph);
        }
        contents
    }

    fn home(&mut self, content: Content) -> &mut Vec<Glyph> {
        match content {
            Content::Loose => &mut self.loose,
            Content::Form => &mut self.forms,
            Content::Artifact => &mut self.artifacts,
            Content::Marked(id) => self.marked.entry(id).or_insert_with(|| {
                self.order.push(id);
                Vec::new()
            }),
        }
    }

    /// The glyphs of a piece of content; none at the second time.
    pub(super) fn take(&mut self, id: c_int) -> Vec<Glyph> {
        self.marked.remove(&id).unwrap_or_default()
    }

    /// The glyphs that nobody took and that are no artifacts, in the order of the page.
    pub(super) fn rest(&mut self) -> Vec<Glyph> {
        let order = std::mem::take(&mut self.order);
        let left = order.into_iter().flat_map(|id| self.take(id));
        let left: Vec<Glyph> = left.collect();
        let mut rest = std::mem::take(&mut self.loose);
        rest.extend(left);
        rest.append(&mut self.forms);
        rest
    }

    /// Characters that nobody took and that are no artifacts.
    pub(super) fn left(&self) -> impl Iterator<Item = &Character> {
        let unmarked = self.loose.iter().chain(&self.forms);
        drawn(self.marked.values().flatten().chain(unmarked))
    }
}

/// The characters among glyphs.
pub(super) fn drawn<'g>(
    glyphs: impl Iterator<Item = &'g Glyph>,
) -> impl Iterator<Item = &'g Character> {
    glyphs.filter_map(|glyph| match glyph {
        Glyph::Drawn(character) => Some(character),
        _ => None,
    })
}

/// The segments of glyphs in their order, those of the most frequent direction first.
pub(super) fn segments(glyphs: &[Glyph]) -> Vec<Segment> {
    let rules = Rules::default();
    directions(glyphs)
        .into_iter()
        .flat_map(|quarters| segments::build(glyphs, quarters, &rules))
        .collect()
}

/// Lines of code as segments, with all the blanks between their characters.
pub(super) fn code(glyphs: &[Glyph]) -> Vec<Segment> {
    glyphs
        .split(|glyph| *glyph == Glyph::LineEnd)
        .flat_map(|line| with_blanks(segments(line), line))
        .collect()
}

/// One segment with the text of the glyphs; the segments as they are if they stand on several
/// lines.
fn with_blanks(parts: Vec<Segment>, glyphs: &[Glyph]) -> Vec<Segment> {
    let Some(first) = parts.first() else {
        return parts;
    };
    let is_one_line = |part: &Segment| (part.baseline - first.baseline).abs() < 1.0;
    if !parts.iter().all(is_one_line) || first.is_right_to_left {
        return parts;
    }
    let sum = |count: fn(&Segment) -> usize| parts.iter().map(count).sum();
    let areas = parts.iter().map(|part| part.area);
    vec![Segment {
        text: typed(glyphs).trim().to_owned(),
        area: Area::around(areas).unwrap_or(first.area),
        characters: sum(|part| part.characters),
        bold: sum(|part| part.bold),
        fixed: sum(|part| part.fixed),
        ..first.clone()
    }]
}

/// The characters of a line with as many blanks as have room between them: PDFium gives one for
/// many.
fn typed(glyphs: &[Glyph]) -> String {
    let mut text = String::new();
    let mut last: Option<&Character> = None;
    let mut has_blank = false;
    for glyph in glyphs {
        match glyph {
            Glyph::Drawn(character) => {
                let room = last.map_or(0, |last| columns_between(last, character));
                let blanks = if has_blank { room.max(1) } else { room };
                text.extend(std::iter::repeat_n(' ', blanks));
                if character.value != unicode::UNREADABLE {
                    unicode::push(&mut text, character.value);
                }
                last = Some(character);
                has_blank = false;
            }
            Glyph::Space | Glyph::Gap => has_blank = true,
            Glyph::LineEndHyphen => text.push('-'),
            Glyph::LineEnd => {}
        }
    }
    text
}

/// How many letters of a font of one width have room between two characters.
fn columns_between(one: &Character, other: &Character) -> usize {
    let fixed = [one, other]
        .into_iter()
        .find(|character| character.style.is_fixed);
    let Some(width) = fixed.map(|character| character.area.width()) else {
        return 0;
    };
    let columns = (other.area.left - one.area.right) / width.max(1.0);
    columns.round().clamp(0.0, MAXIMUM_COLUMNS) as usize
}

/// The lines of segments that follow each other in reading order, column by column.
pub(super) fn lines_of(segments: &[Segment]) -> Vec<Line> {
    let goes_on = |one: &Segment, other: &Segment| {
        other.baseline > one.baseline - COLUMN_STEP * one.size.max(other.size)
    };
    segments
        .chunk_by(goes_on)
        .flat_map(|column| lines::rows(column.to_vec()))
        .filter_map(|row| lines::line(&row))
        .collect()
}

/// The text of glyphs, line by line.
pub(super) fn lines(glyphs: &[Glyph]) -> Vec<String> {
    lines_of(&segments(glyphs))
        .into_iter()
        .map(|line| line.text)
        .collect()
}
