//! The glyphs of a page by the marked content that they belong to.

use std::collections::HashMap;
use std::ffi::c_int;

use crate::pdf::characters::{Character, Glyph};
use crate::pdf::lines::{self, Line};
use crate::pdf::page_text::directions;
use crate::pdf::rules::Rules;
use crate::pdf::segments::{self, Segment};

use super::marks::Content;

/// How far up a line stands, in sizes, that begins another column.
const COLUMN_STEP: f32 = 2.0;

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
