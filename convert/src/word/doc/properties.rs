//! Lists of property modifiers (`grpprl`, [MS-DOC] 2.6) and what they say of paragraphs, characters
//! and table rows.

use crate::office::bytes::{size_at, u8_at, u16_at};

/// The modifiers of a list, as code and operand (without its length byte).
pub(super) fn modifiers(list: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = list;
    std::iter::from_fn(move || {
        let code = u16_at(rest, 0)?;
        let (operand, length) = operand(code, rest.get(2..)?)?;
        rest = rest.get(2 + length..)?;
        Some((code, operand))
    })
}

/// The operand, and the bytes that it takes in the list.
fn operand(code: u16, after: &[u8]) -> Option<(&[u8], usize)> {
    let fixed = fixed_length(code);
    if fixed > 0 {
        return Some((after.get(..fixed)?, fixed));
    }
    let (prefix, length) = match (code, u8_at(after, 0)?) {
        (0xD608, _) => (2, usize::from(u16_at(after, 0)?).checked_sub(1)?),
        (0xC615, 255) => {
            // Tab stops that are too many for one length byte: deleted ones of 4 bytes, added ones
            // of 3.
            let deleted = usize::from(u8_at(after, 1)?);
            let added = usize::from(u8_at(after, 2 + 4 * deleted)?);
            (1, 2 + 4 * deleted + 3 * added)
        }
        (_, length) => (1, usize::from(length)),
    };
    Some((after.get(prefix..prefix + length)?, prefix + length))
}

/// The bytes of an operand that has always as many; 0 for those that say their length.
fn fixed_length(code: u16) -> usize {
    match code >> 13 {
        0 | 1 => 1,
        2 | 4 | 5 => 2,
        3 => 4,
        7 => 3,
        _ => 0,
    }
}

/// What matters of a paragraph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Paragraph {
    /// Number of its style.
    pub style: u16,
    /// Outline level of its own: 0 to 8 are headings, 9 is body text.
    pub outline: Option<u8>,
    /// Its list (1 is the first, 0 is none) and level.
    pub list: Option<u16>,
    pub list_level: Option<u8>,
    /// How many tables it lies in.
    pub depth: usize,
    /// Whether it ends a row, or a cell of a table within a table.
    pub ends_row: bool,
    pub ends_inner_cell: bool,
    /// Cells of the row that it ends.
    pub cells: Vec<CellEdge>,
}

/// A cell of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CellEdge {
    /// Right edge, in twips.
    pub right: i16,
    /// Whether the cell is merged into the one on its left, or above.
    pub continues_left: bool,
    pub continues_above: bool,
}

impl Paragraph {
    /// Takes over what a list of modifiers says.
    pub(super) fn apply(&mut self, list: &[u8]) {
        for (code, operand) in modifiers(list) {
            let byte = operand.first().copied().unwrap_or(0);
            match code {
                0x4600 => self.style = u16_at(operand, 0).unwrap_or(0),
                0x2640 => self.outline = Some(byte),
                0x260A => self.list_level = Some(byte),
                0x460B => self.list = u16_at(operand, 0),
                0x2416 => self.depth = self.depth.max(usize::from(byte != 0)),
                0x2417 | 0x244C => self.ends_row = byte != 0,
                0x244B => self.ends_inner_cell = byte != 0,
                0x6649 => self.depth = size_at(operand, 0).unwrap_or(0),
                0x664A => self.depth = self.depth.saturating_add(size_at(operand, 0).unwrap_or(0)),
                0xD608 => self.cells = cells(operand),
                _ => {}
            }
        }
    }
}

/// Cells of `sprmTDefTable`: a count, the edges, then 20 bytes for each cell ([MS-DOC] 2.9.323).
fn cells(operand: &[u8]) -> Vec<CellEdge> {
    let count = usize::from(operand.first().copied().unwrap_or(0));
    let edge = |index: usize| {
        let right = u16_at(operand, 1 + 2 * (index + 1))?.cast_signed();
        let flags = u16_at(operand, 1 + 2 * (count + 1) + 20 * index).unwrap_or(0);
        Some(CellEdge {
            right,
            continues_left: flags & 3 == 1,
            continues_above: flags >> 5 & 3 == 1,
        })
    };
    (0..count).map_while(edge).collect()
}

/// What matters of a run of characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Character {
    pub is_bold: bool,
    pub is_italic: bool,
    pub is_struck: bool,
    pub is_deleted: bool,
    pub is_hidden: bool,
    /// Whether marks such as 0x01 stand for something rather than for themselves.
    pub is_special: bool,
    /// Offset of a picture in the stream `Data`.
    pub picture: Option<usize>,
    /// Number of the font of text outside of East Asia.
    pub font: Option<u16>,
    /// Font and code of an inserted symbol.
    pub symbol: Option<(u16, u16)>,
}

/// The character style that a list of modifiers names.
pub(super) fn character_style(list: &[u8]) -> Option<u16> {
    modifiers(list)
        .find(|(code, _)| *code == 0x4A30)
        .and_then(|(_, operand)| u16_at(operand, 0))
}

impl Character {
    /// Takes over what a list of modifiers says.
    pub(super) fn apply(&mut self, list: &[u8]) {
        for (code, operand) in modifiers(list) {
            // 0x80 is "as the style", 0x81 the opposite of the style: what stands here is the
            // style's.
            let switched = |current: bool| match operand.first() {
                Some(0x80) => current,
                Some(0x81) => !current,
                value => value == Some(&1),
            };
            match code {
                0x0800 => self.is_deleted = switched(false),
                0x0835 => self.is_bold = switched(self.is_bold),
                0x0836 => self.is_italic = switched(self.is_italic),
                0x0837 | 0x2A53 => self.is_struck = switched(self.is_struck),
                0x083C => self.is_hidden = switched(self.is_hidden),
                0x0855 => self.is_special = switched(false),
                0x6A03 => self.picture = size_at(operand, 0),
                0x4A4F => self.font = u16_at(operand, 0),
                0x6A09 => self.symbol = u16_at(operand, 0).zip(u16_at(operand, 2)),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_walked_over_operands_of_all_sizes() {
        let list = [
            0x16, 0x24, 1, 0x00, 0x46, 5, 0, 0x08, 0xD6, 8, 0, 1, 0, 0, 100, 0, 0x20, 0, 0x40,
            0x26, 2, 0x15,
        ];
        let mut paragraph = Paragraph::default();
        paragraph.apply(&list);
        assert_eq!(
            (paragraph.depth, paragraph.style, paragraph.outline),
            (1, 5, Some(2))
        );
        assert_eq!(
            paragraph.cells,
            [CellEdge {
                right: 100,
                continues_left: false,
                continues_above: true
            }]
        );
    }
}
