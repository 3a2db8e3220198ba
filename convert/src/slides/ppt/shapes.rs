//! Shapes of a slide or of notes: places, texts, pictures, groups, and tables, which are groups of
//! cells ([MS-ODRAW] 2.2.13).

use super::text::{Kind, Text, texts};
use crate::office::bytes::{u8_at, u16_at, u32_at, utf_16};
use crate::office::records::{PICTURE, Record, first, kinds, property, records};
use crate::slides::pptx::model::{Cell, Content, Frame, Placeholder, Shape};

/// Groups within each other that are read; deeper ones are left out.
const MAXIMUM_DEPTH: usize = 32;
/// Most rows and columns of a table.
const MAXIMUM_CELLS: usize = 10_000;
/// Drawing properties: the description, and what marks a table.
const DESCRIPTION: u16 = 0x0381;
const TABLE: u16 = 0x039F;

/// The shapes of a container of a slide or of notes; `outline` holds the texts that its
/// placeholders show.
pub(super) fn shapes(container: &[u8], outline: &mut [Option<Text>]) -> Vec<Shape> {
    let drawing =
        first(container, kinds::DRAWING).and_then(|drawing| records(drawing.content).next());
    let group = drawing.and_then(|drawing| first(drawing.content, kinds::SHAPE_GROUP));
    group
        .map(|group| children(group.content, outline, 0))
        .unwrap_or_default()
}

/// The shapes of a group but the first, which is the group itself.
fn children(group: &[u8], outline: &mut [Option<Text>], depth: usize) -> Vec<Shape> {
    let mut read = |record: Record| match record.kind {
        kinds::SHAPE => Some(shape(record.content, outline)),
        kinds::SHAPE_GROUP if depth < MAXIMUM_DEPTH => {
            self::group(record.content, outline, depth + 1)
        }
        _ => None,
    };
    records(group).skip(1).filter_map(&mut read).collect()
}

fn group(content: &[u8], outline: &mut [Option<Text>], depth: usize) -> Option<Shape> {
    let own = records(content).next()?;
    let children = children(content, outline, depth);
    let mut shape = shape(own.content, outline);
    let is_table = first(own.content, kinds::MORE_PROPERTIES)
        .is_some_and(|list| property(list, TABLE).is_some());
    shape.content = match table(&children).filter(|_| is_table) {
        Some(table) => Content::Table(table),
        None => Content::Group(
            children,
            first(own.content, kinds::GROUP_FRAME).and_then(|frame| rectangle(frame.content)),
        ),
    };
    Some(shape)
}

fn shape(content: &[u8], outline: &mut [Option<Text>]) -> Shape {
    let mut shape = Shape {
        frame: frame(content),
        ..Shape::default()
    };
    if let Some(list) = first(content, kinds::PROPERTIES) {
        shape.alt = property(list, DESCRIPTION)
            .map(|(_, text)| utf_16(text).replace('\0', ""))
            .unwrap_or_default();
        if let Some((number, _)) = property(list, PICTURE).filter(|(number, _)| *number > 0) {
            shape.content = Content::Picture(number.to_string());
        }
    }
    let text =
        first(content, kinds::TEXT_BOX).and_then(|text_box| text_of(text_box.content, outline));
    if let Some(text) = text {
        let kind = if text.kind == Kind::Title {
            "title"
        } else {
            "body"
        };
        shape.placeholder = Some(Placeholder {
            kind: kind.to_owned(),
            index: None,
        });
        shape.body = text.body;
    }
    if let Some(kind) = margin(content) {
        shape.placeholder = Some(Placeholder {
            kind: kind.to_owned(),
            index: None,
        });
    }
    shape
}

/// The text in a box, or the one of the outline that it refers to.
fn text_of(text_box: &[u8], outline: &mut [Option<Text>]) -> Option<Text> {
    let own = texts(records(text_box)).into_iter().next();
    own.or_else(|| {
        let reference = first(text_box, kinds::OUTLINE_REFERENCE)?;
        outline
            .get_mut(usize::try_from(u32_at(reference.content, 0)?).ok()?)?
            .take()
    })
}

/// The kind of a placeholder in the margin: date, slide number, footer, header.
fn margin(content: &[u8]) -> Option<&'static str> {
    let data = first(content, kinds::CLIENT_DATA)?;
    let placeholder = first(data.content, kinds::PLACEHOLDER)?;
    match u8_at(placeholder.content, 4)? {
        7 => Some("dt"),
        8 => Some("sldNum"),
        9 | 10 => Some("ftr"),
        _ => None,
    }
}

/// Where a shape stands: on the slide, or in the coordinates of its group.
fn frame(content: &[u8]) -> Option<Frame> {
    if let Some(anchor) = first(content, kinds::CHILD_ANCHOR) {
        return rectangle(anchor.content);
    }
    let anchor = first(content, kinds::ANCHOR)?.content;
    if anchor.len() >= 16 {
        return wide_anchor(anchor);
    }
    let number = |at: usize| u16_at(anchor, at).map(|number| i64::from(number.cast_signed()));
    let (top, left, right, bottom) = (number(0)?, number(2)?, number(4)?, number(6)?);
    Some(Frame {
        left,
        top,
        width: right - left,
        height: bottom - top,
    })
}

/// An anchor of four numbers of 32 bits.
fn wide_anchor(anchor: &[u8]) -> Option<Frame> {
    let number = |at: usize| u32_at(anchor, at).map(|number| i64::from(number.cast_signed()));
    let (top, left, right, bottom) = (number(0)?, number(4)?, number(8)?, number(12)?);
    Some(Frame {
        left,
        top,
        width: right - left,
        height: bottom - top,
    })
}

/// Left, top, right and bottom.
fn rectangle(content: &[u8]) -> Option<Frame> {
    let number = |at: usize| u32_at(content, at).map(|number| i64::from(number.cast_signed()));
    let (left, top, right, bottom) = (number(0)?, number(4)?, number(8)?, number(12)?);
    Some(Frame {
        left,
        top,
        width: right - left,
        height: bottom - top,
    })
}

/// Cells by their left and upper edges; `None` if they make no table.
fn table(cells: &[Shape]) -> Option<Vec<Vec<Cell>>> {
    let frames: Vec<(Frame, &Shape)> = cells
        .iter()
        .filter_map(|shape| Some((shape.frame?, shape)))
        .collect();
    // Borders are lines: they have no height or no width.
    let boxes: Vec<_> = frames
        .into_iter()
        .filter(|(frame, _)| frame.width > 0 && frame.height > 0)
        .collect();
    let rows = edges(boxes.iter().map(|(frame, _)| frame.top));
    let columns = edges(boxes.iter().map(|(frame, _)| frame.left));
    if rows.is_empty() || rows.len().saturating_mul(columns.len()) > MAXIMUM_CELLS {
        return None;
    }
    let mut table = vec![vec![Cell::default(); columns.len()]; rows.len()];
    for (frame, shape) in boxes {
        let (row, column) = (
            rows.binary_search(&frame.top).ok()?,
            columns.binary_search(&frame.left).ok()?,
        );
        if let Some(cell) = table.get_mut(row).and_then(|row| row.get_mut(column)) {
            cell.body = shape.body.clone();
        }
        // Rows that it reaches down into show it again.
        let bottom = frame.top.saturating_add(frame.height);
        let below = rows.iter().zip(&mut table).skip(row + 1);
        for (_, below) in below.take_while(|(top, _)| **top < bottom) {
            if let Some(cell) = below.get_mut(column) {
                cell.continues_above = true;
            }
        }
    }
    Some(table)
}

/// Places of edges in ascending order, each once.
fn edges(places: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut edges: Vec<i64> = places.collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}
