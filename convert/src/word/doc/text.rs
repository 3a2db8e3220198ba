//! The piece table: which bytes of the stream `WordDocument` are which characters ([MS-DOC] 2.9.38,
//! 2.9.177).

use encoding_rs::{Encoding, WINDOWS_1252};
use tributary_schemas::{Error, ErrorKind, Result};

use crate::code_pages::of_language;
use crate::office::bytes::{size_at, slice_at, u16_at, u32_at};

/// A run of characters that lie together in the stream.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// First character, and the one after the last.
    start: usize,
    end: usize,
    /// Offset in the stream.
    offset: usize,
    /// 1 for 8-bit text, 2 for UTF-16.
    width: usize,
    /// Properties that were changed since the last full save.
    modifier: u16,
}

/// The text of all parts of a document, addressed by character position.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// UTF-16 code units; 0 where an 8-bit character of two bytes has its second one.
    pub units: Vec<u16>,
    pieces: Vec<Piece>,
    /// Property lists that modifiers of pieces name.
    modifiers: Vec<Vec<u8>>,
    /// Whether bytes that the piece table names are missing.
    pub is_damaged: bool,
}

impl Text {
    /// Reads the piece table of `clx` and the text that it names. `Corrupt` if there is no usable
    /// table.
    pub(super) fn read(clx: &[u8], word: &[u8], language: u16) -> Result<Self> {
        let (modifiers, table) = split(clx).ok_or_else(|| corrupt("the piece table ends early"))?;
        let count = table.len().saturating_sub(4) / 12;
        let mut text = Self {
            modifiers,
            ..Self::default()
        };
        for index in 0..count {
            let piece =
                piece(table, count, index).ok_or_else(|| corrupt("the piece table ends early"))?;
            if piece.start != text.units.len() || piece.end < piece.start {
                return Err(corrupt("the piece table is out of order"));
            }
            // Every character has a byte of its own, unless pieces were made to overlap.
            if piece.end > word.len() {
                return Err(corrupt(
                    "the piece table names more text than the document holds",
                ));
            }
            text.push(piece, word, language);
        }
        Ok(text)
    }

    fn push(&mut self, piece: Piece, word: &[u8], language: u16) {
        let length = piece.end - piece.start;
        let wanted = length * piece.width;
        let bytes = slice_at(word, piece.offset, wanted)
            .or_else(|| word.get(piece.offset..))
            .unwrap_or_default();
        self.is_damaged |= bytes.len() < wanted;
        if piece.width == 2 {
            let (pairs, _) = bytes.as_chunks::<2>();
            self.units
                .extend(pairs.iter().map(|pair| u16::from_le_bytes(*pair)));
        } else {
            decode_bytes(bytes, language, &mut self.units);
        }
        self.units.resize(piece.end, 0);
        self.pieces.push(piece);
    }

    /// Number of the piece that a character lies in.
    pub(super) fn piece_of(&self, position: usize) -> usize {
        self.pieces.partition_point(|piece| piece.end <= position)
    }

    /// Offset of a character in the stream, and its piece's number.
    pub(super) fn offset_of(&self, position: usize) -> Option<usize> {
        let piece = self.pieces.get(self.piece_of(position))?;
        piece.offset.checked_add(
            position
                .checked_sub(piece.start)?
                .checked_mul(piece.width)?,
        )
    }

    /// Properties changed in the piece of a character since the last full save, as a list of
    /// property modifiers.
    pub(super) fn modifier_of(&self, position: usize) -> Vec<u8> {
        let modifier = self
            .pieces
            .get(self.piece_of(position))
            .map_or(0, |piece| piece.modifier);
        if modifier & 1 == 1 {
            return self
                .modifiers
                .get(usize::from(modifier >> 1))
                .cloned()
                .unwrap_or_default();
        }
        let [low, value] = modifier.to_le_bytes();
        let code: u16 = match low >> 1 {
            0x18 => 0x2416,
            0x19 => 0x2417,
            0x41 => 0x0800,
            0x55 => 0x0835,
            0x56 => 0x0836,
            _ => return Vec::new(),
        };
        let [first, second] = code.to_le_bytes();
        vec![first, second, value]
    }
}

fn corrupt(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, what.to_owned())
        .with_hint("the file is damaged; open it in Word or LibreOffice and save it again")
}

/// The property lists before the piece table, and the table.
fn split(clx: &[u8]) -> Option<(Vec<Vec<u8>>, &[u8])> {
    let (mut at, mut modifiers) = (0, Vec::new());
    loop {
        match clx.get(at)? {
            1 => {
                let length = usize::from(u16_at(clx, at + 1)?);
                modifiers.push(slice_at(clx, at + 3, length)?.to_vec());
                at += 3 + length;
            }
            2 => {
                let length = size_at(clx, at + 1)?;
                return Some((modifiers, slice_at(clx, at + 5, length)?));
            }
            _ => return None,
        }
    }
}

fn piece(table: &[u8], count: usize, index: usize) -> Option<Piece> {
    let start = size_at(table, 4 * index)?;
    let end = size_at(table, 4 * index + 4)?;
    let descriptor = 4 * (count + 1) + 8 * index;
    let place = u32_at(table, descriptor + 2)?;
    let modifier = u16_at(table, descriptor + 6)?;
    let offset = usize::try_from(place & 0x3FFF_FFFF).ok()?;
    let (offset, width) = if place & 0x4000_0000 == 0 {
        (offset, 2)
    } else {
        (offset / 2, 1)
    };
    Some(Piece {
        start,
        end,
        offset,
        width,
        modifier,
    })
}

/// 8-bit text: windows-1252, or the East Asian code page of the language where all high bytes stand
/// in pairs of that code page.
fn decode_bytes(bytes: &[u8], language: u16, units: &mut Vec<u16>) {
    let Some(encoding) = double_byte_encoding(bytes, language) else {
        let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
        units.extend(text.encode_utf16());
        return;
    };
    let mut rest = bytes;
    while let Some((first, _)) = rest.split_first() {
        let length = if *first < 0x80 { 1 } else { 2 };
        let (character, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
        let (text, _) = encoding.decode_without_bom_handling(character);
        let mut decoded = text.encode_utf16();
        units.extend((0..length).map(|_| decoded.next().unwrap_or(0)));
        rest = after;
    }
}

fn double_byte_encoding(bytes: &[u8], language: u16) -> Option<&'static Encoding> {
    of_language(u32::from(language))
        .filter(|encoding| !encoding.is_single_byte())
        .filter(|encoding| is_double_byte(bytes, encoding))
}

/// Word writes East Asian text as UTF-16; other programs do not. Accents and quotes of windows-1252
/// stand alone, so pairs tell.
fn is_double_byte(bytes: &[u8], encoding: &'static Encoding) -> bool {
    let mut runs = bytes
        .split(|byte| *byte < 0x80)
        .filter(|run| !run.is_empty())
        .peekable();
    runs.peek().is_some()
        && runs.all(|run| run.len() % 2 == 0)
        && encoding
            .decode_without_bom_handling_and_without_replacement(bytes)
            .is_some()
}
