//! Footnotes, endnotes, comments and text boxes: where each hangs in the main text, and its range
//! of the text ([MS-DOC] 2.8).

use std::collections::BTreeMap;
use std::ops::Range;

use tributary_schemas::Result;

use super::fib::{Fib, Place};
use super::{Document, story};
use crate::limits::Limits;
use crate::office::blocks::{Block, check_size, render};
use crate::office::bytes::{size_at, slice_at};

/// Bytes of a text box's record, and of a shape's anchor.
const TEXT_BOX: usize = 22;
const ANCHOR: usize = 26;

/// A note and its range of the text.
#[derive(Debug)]
pub(super) struct Note {
    label: String,
    range: Range<usize>,
}

/// Finds all notes, and puts their marks and the text boxes into the document.
pub(super) fn find(
    fib: &Fib,
    table: &[u8],
    keep_comments: bool,
    document: &mut Document,
) -> Vec<Note> {
    let lengths = &fib.lengths;
    let mut notes = Vec::new();
    let kinds = [
        (
            Place::FootnoteReferences,
            Place::FootnoteTexts,
            2,
            lengths.main,
            "",
        ),
        (
            Place::EndnoteReferences,
            Place::EndnoteTexts,
            2,
            lengths.endnotes_start(),
            "",
        ),
        (
            Place::CommentReferences,
            Place::CommentTexts,
            30,
            lengths.comments_start(),
            "comment-",
        ),
    ];
    for (references, texts, size, start, prefix) in kinds {
        if !prefix.is_empty() && !keep_comments {
            continue;
        }
        let positions = positions(fib.place(table, references), size);
        let ranges = positions_to_ranges(fib.place(table, texts), 0, start);
        for (position, range) in positions.into_iter().zip(ranges) {
            let label = format!("{prefix}{}", notes.len() + 1);
            document.references.insert(position, format!("[^{label}]"));
            notes.push(Note { label, range });
        }
    }
    document.text_boxes = text_boxes(fib, table).into();
    notes
}

/// Positions in a table of positions and records of `size` bytes; the last position, which ends the
/// table, is left out.
fn positions(table: &[u8], size: usize) -> Vec<usize> {
    let count = table.len().saturating_sub(4) / (4 + size);
    (0..count)
        .map_while(|index| size_at(table, 4 * index))
        .collect()
}

/// Ranges between the positions of such a table, counted from `start` of the text.
fn positions_to_ranges(table: &[u8], size: usize, start: usize) -> Vec<Range<usize>> {
    let count = table.len().saturating_sub(4) / (4 + size);
    let at =
        |index: usize| size_at(table, 4 * index).map(|position| position.saturating_add(start));
    // Positions that run backwards would let ranges overlap.
    (0..count)
        .map_while(|index| Some(at(index)?..at(index + 1)?))
        .take_while(|range| range.start <= range.end)
        .collect()
}

/// Text boxes with the position of the shape that they fill; those of no known shape come last.
fn text_boxes(fib: &Fib, table: &[u8]) -> Vec<(usize, Range<usize>)> {
    let anchors = shape_anchors(fib, table);
    let records = fib.place(table, Place::TextBoxes);
    let ranges = positions_to_ranges(records, TEXT_BOX, fib.lengths.text_boxes_start());
    let end = fib
        .lengths
        .text_boxes_start()
        .saturating_add(fib.lengths.text_boxes);
    let records_at = 4 * (ranges.len() + 1);
    let mut boxes: Vec<_> = ranges
        .into_iter()
        .enumerate()
        .filter(|(_, range)| range.end <= end)
        .filter_map(|(index, range)| {
            let record = slice_at(records, records_at + TEXT_BOX * index, TEXT_BOX)?;
            let shape = size_at(record, 14)?;
            Some((anchors.get(&shape).copied().unwrap_or(usize::MAX), range))
        })
        .collect();
    boxes.sort_by_key(|(anchor, _)| *anchor);
    boxes
}

/// Positions that shapes hang on, by the identifiers of the shapes.
pub(super) fn shape_anchors(fib: &Fib, table: &[u8]) -> BTreeMap<usize, usize> {
    let anchors = fib.place(table, Place::ShapeAnchors);
    let count = anchors.len().saturating_sub(4) / (4 + ANCHOR);
    let anchor = |index: usize| {
        Some((
            size_at(anchors, 4 * (count + 1) + ANCHOR * index)?,
            size_at(anchors, 4 * index)?,
        ))
    };
    (0..count).map_while(anchor).collect()
}

/// Blocks of the text boxes whose place is not known.
pub(super) fn left_over_boxes(document: &mut Document, limits: &Limits) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for (_, range) in std::mem::take(&mut document.text_boxes) {
        blocks.extend(story::blocks(document, range.start, range.end, limits)?);
    }
    Ok(blocks)
}

/// Definitions of the notes, behind a blank line.
pub(super) fn definitions(
    notes: &[Note],
    document: &mut Document,
    limits: &Limits,
) -> Result<String> {
    let mut markdown = String::new();
    for note in notes {
        let blocks = story::blocks(document, note.range.start, note.range.end, limits)?;
        let text = render(&blocks)
            .trim_end()
            .replace("\n", "\n    ")
            .replace("\n    \n", "\n\n");
        markdown.push_str(&format!("\n[^{}]: {text}\n", note.label));
        check_size(markdown.len(), limits)?;
    }
    Ok(markdown)
}
