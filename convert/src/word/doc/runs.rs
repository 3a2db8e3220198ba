//! Formatted pages: which properties hold for which bytes of the stream `WordDocument` ([MS-DOC]
//! 2.9.33, 2.9.174).

use crate::office::bytes::{size_at, slice_at, u8_at, u16_at};

/// Bytes of a page.
const PAGE: usize = 512;

/// A run of bytes with the same properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run<'a> {
    /// Offsets of the first byte, and of the one after the last.
    pub start: usize,
    pub end: usize,
    /// Style of a paragraph.
    pub style: u16,
    /// Property modifiers.
    pub list: &'a [u8],
}

/// Reads style and modifiers at an offset of a page.
type ReadRun<'a> = fn(&'a [u8], usize) -> Option<(u16, &'a [u8])>;

/// Runs in the order of their offsets.
#[derive(Debug, Default)]
pub(super) struct Runs<'a>(Vec<Run<'a>>);

impl<'a> Runs<'a> {
    /// Runs of paragraphs (`places` is the table of their pages).
    pub(super) fn of_paragraphs(places: &[u8], word: &'a [u8]) -> Self {
        Self::read(places, word, paragraph_run, 13)
    }

    /// Runs of characters.
    pub(super) fn of_characters(places: &[u8], word: &'a [u8]) -> Self {
        Self::read(places, word, character_run, 1)
    }

    fn read(places: &[u8], word: &'a [u8], run: ReadRun<'a>, entry: usize) -> Self {
        // There are not more pages than fit into the stream.
        let count = (places.len().saturating_sub(4) / 8).min(word.len() / PAGE);
        let first_number = 4 * (places.len().saturating_sub(4) / 8 + 1);
        let mut runs = Vec::new();
        for index in 0..count {
            let number =
                size_at(places, first_number + 4 * index).unwrap_or(usize::MAX) & 0x3F_FFFF;
            let Some(page) = slice_at(word, number * PAGE, PAGE) else {
                continue;
            };
            let in_page = usize::from(u8_at(page, PAGE - 1).unwrap_or(0));
            for place in 0..in_page {
                let (Some(start), Some(end)) =
                    (size_at(page, 4 * place), size_at(page, 4 * place + 4))
                else {
                    break;
                };
                let offset = u8_at(page, 4 * (in_page + 1) + entry * place)
                    .map_or(0, |half| 2 * usize::from(half));
                let (style, list) = if offset == 0 {
                    (0, &[][..])
                } else {
                    run(page, offset).unwrap_or_default()
                };
                if start < end {
                    runs.push(Run {
                        start,
                        end,
                        style,
                        list,
                    });
                }
            }
        }
        runs.sort_by_key(|run| run.start);
        Self(runs)
    }

    /// The run that a byte lies in.
    pub(super) fn at(&self, offset: usize) -> Option<Run<'a>> {
        let before = self
            .0
            .partition_point(|run| run.start <= offset)
            .checked_sub(1)?;
        self.0.get(before).copied().filter(|run| offset < run.end)
    }
}

fn paragraph_run(page: &[u8], offset: usize) -> Option<(u16, &[u8])> {
    let (at, length) = match u8_at(page, offset)? {
        0 => (offset + 2, 2 * usize::from(u8_at(page, offset + 1)?)),
        halves => (offset + 1, 2 * usize::from(halves) - 1),
    };
    let content = slice_at(page, at, length)?;
    Some((u16_at(content, 0)?, content.get(2..)?))
}

fn character_run(page: &[u8], offset: usize) -> Option<(u16, &[u8])> {
    Some((
        0,
        slice_at(page, offset + 1, usize::from(u8_at(page, offset)?))?,
    ))
}
