//! A range of the text as blocks: paragraphs, headings, list items, tables, and text boxes behind
//! the paragraph that they hang on.

use tributary_schemas::Result;

use super::Document;
use super::paragraph::{Fields, pieces};
use super::properties::Paragraph;
use super::tables::Tables;
use crate::limits::Limits;
use crate::office::blocks::Block;
use crate::office::pieces::{Piece, to_markdown, to_plain_line};

/// Tables within each other that are told apart; deeper ones count as this deep.
const MAXIMUM_DEPTH: usize = 16;
/// Characters after which the clock is looked at.
const BETWEEN_LOOKS: usize = 4096;

/// What ends a paragraph: a paragraph mark, a page or section end, a cell end.
fn is_end(unit: u16) -> bool {
    matches!(unit, 0x07 | 0x0C | 0x0D)
}

/// The blocks of the characters from `start` to `end`.
pub(super) fn blocks(
    document: &mut Document,
    start: usize,
    end: usize,
    limits: &Limits,
) -> Result<Vec<Block>> {
    let end = end.min(document.text.units.len());
    let mut reader = Reader {
        blocks: Vec::new(),
        tables: Tables::default(),
        fields: Fields::default(),
    };
    let (mut begins, mut looked_at) = (start, start);
    for position in start..end {
        let unit = document.text.units.get(position).copied().unwrap_or(0);
        if is_end(unit) {
            reader.paragraph(document, begins, position, unit);
            reader.text_boxes(document, begins, position, limits)?;
            begins = position + 1;
            if position - looked_at > BETWEEN_LOOKS {
                limits.check_time()?;
                looked_at = position;
            }
        }
    }
    if begins < end {
        reader.paragraph(document, begins, end, 0x0D);
    }
    let last = reader.tables.set_depth(0);
    reader.blocks.extend(last);
    Ok(reader.blocks)
}

struct Reader {
    blocks: Vec<Block>,
    tables: Tables,
    fields: Fields,
}

impl Reader {
    /// A paragraph from `start` up to its end mark `unit` at `end`.
    fn paragraph(&mut self, document: &mut Document, start: usize, end: usize, unit: u16) {
        let paragraph = properties(document, end);
        let depth = paragraph
            .depth
            .min(MAXIMUM_DEPTH)
            .max(usize::from(unit == 0x07));
        let closed = self.tables.set_depth(depth);
        self.blocks.extend(closed);
        if depth > 0 && paragraph.ends_row {
            self.tables.end_row(&paragraph.cells);
            return;
        }
        let pieces = pieces(document, &mut self.fields, start, end);
        let block = block(document, &paragraph, &pieces);
        if depth == 0 {
            self.blocks.extend(block);
            return;
        }
        self.tables.push(block);
        if unit == 0x07 || (depth > 1 && paragraph.ends_inner_cell) {
            self.tables.end_cell();
        }
    }

    /// The text boxes that hang on a paragraph. Those within a table wait for its end.
    fn text_boxes(
        &mut self,
        document: &mut Document,
        start: usize,
        end: usize,
        limits: &Limits,
    ) -> Result<()> {
        while let Some(range) = document.next_text_box(start, end) {
            // It was taken out before it is read, so a text box that claims to hang on itself ends
            // here.
            let content = blocks(document, range.start, range.end, limits)?;
            let content = self.tables.put_behind(content);
            self.blocks.extend(content);
        }
        Ok(())
    }
}

/// Properties of the paragraph whose end mark stands at `end`.
fn properties(document: &Document, end: usize) -> Paragraph {
    let mut paragraph = Paragraph::default();
    if let Some(run) = document
        .text
        .offset_of(end)
        .and_then(|offset| document.paragraphs.at(offset))
    {
        paragraph.style = run.style;
        paragraph.apply(run.list);
    }
    paragraph.apply(&document.text.modifier_of(end));
    paragraph
}

fn block(document: &mut Document, paragraph: &Paragraph, pieces: &[Piece]) -> Option<Block> {
    if let Some(level) = document.styles.heading_level(paragraph) {
        let text = to_plain_line(pieces);
        return (!text.is_empty()).then(|| Block::Heading(level.min(6), text));
    }
    let text = to_markdown(pieces);
    if text.is_empty() {
        return None;
    }
    match document.styles.list(paragraph) {
        Some((list, level)) => {
            let number = document.lists.next_number(list, level);
            Some(Block::Item {
                level: usize::from(level),
                number,
                text,
            })
        }
        None => Block::paragraph(text),
    }
}
