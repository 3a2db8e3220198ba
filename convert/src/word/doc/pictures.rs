//! Pictures in the text, and floating ones that hang on a place of it ([MS-DOC] 2.9.190, 2.9.253).

use std::collections::BTreeMap;

use super::Document;
use super::fib::{Fib, Place};
use super::notes::shape_anchors;
use crate::document::EmbeddedFile;
use crate::office::art::{bitmaps, extension};
use crate::office::bytes::{size_at, slice_at, u16_at};
use crate::office::records::{PICTURE, Record, first, kinds, property, records};

/// Most shapes of the drawings that are looked at.
const MAXIMUM_SHAPES: usize = 100_000;

impl Document<'_> {
    /// Markdown of the picture at an offset of the stream `Data`.
    pub(super) fn picture(&mut self, offset: Option<usize>) -> Option<String> {
        let offset = offset?;
        let length = size_at(self.data, offset)?;
        let header = usize::from(u16_at(self.data, offset + 4)?);
        let mut stored = slice_at(self.data, offset, length)?.get(header..)?;
        if u16_at(self.data, offset + 6)? == 0x66 {
            // A linked file's name comes first.
            let name = usize::from(*stored.first()?);
            stored = stored.get(1 + name..)?;
        }
        self.show(&format!("data {offset}"), stored)
    }

    /// Markdown of the floating picture that hangs on a position.
    pub(super) fn floating_picture(&mut self, position: usize) -> Option<String> {
        let offset = *self.floating.get(&position)?;
        self.show(&format!("word {offset}"), self.word.get(offset..)?)
    }

    fn show(&mut self, key: &str, stored: &[u8]) -> Option<String> {
        let (media_type, content) = *bitmaps(stored, 1).first()?;
        let name = format!(
            "picture-{}.{}",
            self.pictures.blobs.len() + 1,
            extension(media_type)
        );
        self.pictures.show(key, "", || {
            Some(EmbeddedFile {
                name,
                media_type: media_type.to_owned(),
                bytes: content.to_vec(),
            })
        })
    }
}

/// Offsets in the stream `WordDocument` of floating pictures, by the position that each hangs on.
pub(super) fn floating(fib: &Fib, table: &[u8]) -> BTreeMap<usize, usize> {
    let drawings = fib.place(table, Place::Drawings);
    let Some(group) = records(drawings).next() else {
        return BTreeMap::new();
    };
    let entries = first(group.content, kinds::PICTURE_STORE)
        .map(|store| records(store.content).collect::<Vec<_>>())
        .unwrap_or_default();
    let anchors = shape_anchors(fib, table);
    let mut found = BTreeMap::new();
    // Each drawing stands behind a byte that says whether it is that of the text or of headers.
    let mut rest = drawings
        .get(8 + group.content.len() + 1..)
        .unwrap_or_default();
    while let Some(drawing) = records(rest).next() {
        for shape in shapes(drawing.content) {
            let picture = shape_picture(&shape, &entries);
            if let Some((position, offset)) =
                picture.and_then(|(shape, offset)| Some((*anchors.get(&shape)?, offset)))
            {
                found.insert(position, offset);
            }
        }
        rest = rest
            .get(8 + drawing.content.len() + 1..)
            .unwrap_or_default();
    }
    found
}

/// The shapes of a drawing, those of groups too.
fn shapes(drawing: &[u8]) -> Vec<Record<'_>> {
    let (mut shapes, mut waiting) = (Vec::new(), vec![drawing]);
    while let Some(content) = waiting.pop() {
        for record in records(content) {
            match record.kind {
                kinds::SHAPE => shapes.push(record),
                kinds::SHAPE_GROUP => waiting.push(record.content),
                _ => {}
            }
        }
        if shapes.len() > MAXIMUM_SHAPES {
            break;
        }
    }
    shapes
}

/// A shape's identifier and the offset of its picture.
fn shape_picture(shape: &Record, entries: &[Record]) -> Option<(usize, usize)> {
    let identifier = size_at(first(shape.content, kinds::SHAPE_IDENTIFIER)?.content, 0)?;
    let (number, _) = property(first(shape.content, kinds::PROPERTIES)?, PICTURE)?;
    let entry = entries.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
    Some((identifier, size_at(entry.content, 28)?))
}
