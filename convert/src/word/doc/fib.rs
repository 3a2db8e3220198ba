//! The file information block at the start of the stream `WordDocument`: where everything else lies
//! ([MS-DOC] 2.5).

use tributary_schemas::{Error, ErrorKind, Result};

use crate::office::bytes::{size_at, u16_at};
use crate::office::ole::encrypted;

/// Places in the table stream, as indexes into the block's array of offset and length ([MS-DOC]
/// 2.5.6).
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    StyleSheet = 1,
    FootnoteReferences = 2,
    FootnoteTexts = 3,
    CommentReferences = 4,
    CommentTexts = 5,
    CharacterRuns = 12,
    ParagraphRuns = 13,
    Fonts = 15,
    PieceTable = 33,
    ShapeAnchors = 40,
    EndnoteReferences = 46,
    EndnoteTexts = 47,
    Drawings = 50,
    TextBoxes = 56,
    Lists = 73,
    ListOverrides = 74,
}

/// Characters of each part of the text, in the order in which they follow each other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lengths {
    pub main: usize,
    pub footnotes: usize,
    pub headers: usize,
    pub macros: usize,
    pub comments: usize,
    pub endnotes: usize,
    pub text_boxes: usize,
}

impl Lengths {
    /// Where the comments start.
    pub(super) fn comments_start(&self) -> usize {
        [self.footnotes, self.headers, self.macros]
            .iter()
            .fold(self.main, |sum, length| sum.saturating_add(*length))
    }

    /// Where the endnotes start.
    pub(super) fn endnotes_start(&self) -> usize {
        self.comments_start().saturating_add(self.comments)
    }

    /// Where the text boxes start.
    pub(super) fn text_boxes_start(&self) -> usize {
        self.endnotes_start().saturating_add(self.endnotes)
    }
}

/// What the block says.
#[derive(Debug)]
pub(super) struct Fib {
    /// Name of the table stream.
    pub table_stream: &'static str,
    /// Language of the installed Word, a Windows language identifier.
    pub language: u16,
    pub lengths: Lengths,
    /// Offset and length of each [`Place`].
    places: Vec<(usize, usize)>,
}

/// `wIdent` of Word 97 and later, and of Word 6 and 95 in a compound file.
const WORD_97: u16 = 0xA5EC;
const WORD_6: u16 = 0xA5DC;
/// `nFib` of the first Word 97.
const FIRST_WORD_97: u16 = 0x00C1;
/// Numbers of the variable part that Word 97 has at least.
const MINIMUM_LONGS: usize = 11;

impl Fib {
    /// Reads it. Errors: `Unsupported` if encrypted or older than Word 97, `Corrupt` if it is no
    /// such block.
    pub(super) fn read(word: &[u8]) -> Result<Self> {
        let identifier = u16_at(word, 0).ok_or_else(|| damaged("ends early"))?;
        let version = u16_at(word, 2).ok_or_else(|| damaged("ends early"))?;
        if identifier == WORD_6 || (identifier == WORD_97 && version < FIRST_WORD_97) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the document was written by Word 6 or 95, older than Word 97",
            )
            .with_hint("open it in Word or LibreOffice and save it as .docx"));
        }
        if identifier != WORD_97 {
            return Err(damaged("does not begin as one of Word 97 does"));
        }
        let flags = u16_at(word, 0x0A).ok_or_else(|| damaged("ends early"))?;
        if flags & 0x0100 != 0 {
            return Err(encrypted());
        }
        let table_stream = if flags & 0x0200 == 0 {
            "0Table"
        } else {
            "1Table"
        };
        Self::read_variable(word, table_stream).ok_or_else(|| damaged("ends early"))
    }

    fn read_variable(word: &[u8], table_stream: &'static str) -> Option<Self> {
        let shorts = usize::from(u16_at(word, 32)?);
        let longs_at = 34 + 2 * shorts + 2;
        let longs = usize::from(u16_at(word, longs_at - 2)?);
        let places_at = longs_at + 4 * longs + 2;
        let count = usize::from(u16_at(word, places_at - 2)?);
        if longs < MINIMUM_LONGS {
            return None;
        }
        let long = |index: usize| size_at(word, longs_at + 4 * index);
        let lengths = Lengths {
            main: long(3)?,
            footnotes: long(4)?,
            headers: long(5)?,
            macros: long(6)?,
            comments: long(7)?,
            endnotes: long(8)?,
            text_boxes: long(9)?,
        };
        let places = (0..count).map_while(|index| {
            let at = places_at + 8 * index;
            Some((size_at(word, at)?, size_at(word, at + 4)?))
        });
        let language = u16_at(word, 34 + 2 * 13)
            .filter(|language| *language != 0)
            .or_else(|| u16_at(word, 6))?;
        Some(Self {
            table_stream,
            language,
            lengths,
            places: places.collect(),
        })
    }

    /// Offset of a place in the table stream.
    pub(super) fn offset(&self, place: Place) -> usize {
        self.places
            .get(place as usize)
            .map_or(0, |(offset, _)| *offset)
    }

    /// The bytes of a place in the table stream; empty where there are none.
    pub(super) fn place<'a>(&self, table: &'a [u8], place: Place) -> &'a [u8] {
        let (offset, length) = self.places.get(place as usize).copied().unwrap_or_default();
        table
            .get(offset..offset.saturating_add(length))
            .unwrap_or_default()
    }
}

/// A damaged block.
fn damaged(how: &str) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("the file information block of the stream `WordDocument` {how}"),
    )
    .with_hint("the file is damaged; open it in Word or LibreOffice and save it again")
}
