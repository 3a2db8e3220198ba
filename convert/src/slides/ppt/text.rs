//! Text of a shape or of the outline: a header, the characters, and the levels and bullets of their
//! paragraphs ([MS-PPT] 2.9).

use crate::office::bytes::{u16_at, u32_at, utf_16};
use crate::office::pieces::Piece;
use crate::office::records::{Record, kinds};
use crate::slides::pptx::model::{Bullet, LEVELS, Paragraph, TextBody};

/// What a text is for, by its header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    Title,
    /// Text whose paragraphs have bullets unless they say otherwise.
    Body,
    Notes,
    #[default]
    Other,
}

/// One text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    pub kind: Kind,
    pub body: TextBody,
}

/// Level, bullet and length in characters of paragraphs that follow each other.
#[derive(Clone, Copy, Debug)]
struct Run {
    length: usize,
    level: usize,
    bullet: Option<Bullet>,
}

/// The texts in a row of records, each beginning with its header.
pub(super) fn texts<'a>(records: impl Iterator<Item = Record<'a>>) -> Vec<Text> {
    let mut collected: Vec<Builder> = Vec::new();
    for record in records {
        if record.kind == kinds::TEXT_HEADER {
            collected.push(Builder {
                kind: kind(record.content),
                ..Builder::default()
            });
        } else if let Some(builder) = collected.last_mut() {
            builder.add(&record);
        }
    }
    collected.into_iter().map(Builder::finish).collect()
}

fn kind(header: &[u8]) -> Kind {
    match u32_at(header, 0) {
        Some(0 | 6) => Kind::Title,
        Some(1 | 7 | 8) => Kind::Body,
        Some(2) => Kind::Notes,
        _ => Kind::Other,
    }
}

#[derive(Default)]
struct Builder<'a> {
    kind: Kind,
    units: Vec<u16>,
    style: &'a [u8],
    /// Positions of characters that stand for the slide's number, a date or a footer.
    fields: Vec<usize>,
}

impl<'a> Builder<'a> {
    fn add(&mut self, record: &Record<'a>) {
        match record.kind {
            kinds::TEXT_UTF_16 => {
                let (pairs, _) = record.content.as_chunks::<2>();
                self.units = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
            }
            kinds::TEXT_BYTES => {
                self.units = record.content.iter().map(|byte| u16::from(*byte)).collect()
            }
            kinds::TEXT_STYLE => self.style = record.content,
            kinds::SLIDE_NUMBER | kinds::DATE..=kinds::FOOTER => {
                self.fields.extend(
                    u32_at(record.content, 0).and_then(|position| usize::try_from(position).ok()),
                );
            }
            _ => {}
        }
    }

    fn finish(mut self) -> Text {
        for position in &self.fields {
            if let Some(unit) = self.units.get_mut(*position) {
                *unit = 0;
            }
        }
        let usual = if self.kind == Kind::Body {
            Bullet::Mark
        } else {
            Bullet::None
        };
        let runs = paragraph_runs(self.style, self.units.len());
        let (mut paragraphs, mut position) = (Vec::new(), 0);
        for units in self.units.split(|unit| *unit == 0x0D) {
            let run = run_at(&runs, position);
            let level = run.map_or(0, |run| run.level).min(LEVELS - 1);
            let bullet = run.and_then(|run| run.bullet).unwrap_or(usual);
            let kept: Vec<u8> = units
                .iter()
                .filter(|unit| **unit != 0)
                .flat_map(|unit| unit.to_le_bytes())
                .collect();
            paragraphs.push(Paragraph {
                level,
                bullet: Some(bullet),
                pieces: vec![Piece::plain(utf_16(&kept))],
                has_field: false,
            });
            position += units.len() + 1;
        }
        paragraphs.retain(|paragraph| !matches!(paragraph.pieces.as_slice(), [Piece::Text(text, _)] if text.trim().is_empty()));
        Text {
            kind: self.kind,
            body: TextBody {
                paragraphs,
                ..TextBody::default()
            },
        }
    }
}

/// The run that a character lies in.
fn run_at(runs: &[(usize, Run)], position: usize) -> Option<Run> {
    let before = runs
        .partition_point(|(start, _)| *start <= position)
        .checked_sub(1)?;
    runs.get(before).map(|(_, run)| *run)
}

/// Paragraph properties with the position that each begins at. They cover the text and the mark at
/// its end.
fn paragraph_runs(style: &[u8], characters: usize) -> Vec<(usize, Run)> {
    let (mut runs, mut at, mut covered) = (Vec::new(), 0, 0_usize);
    while covered <= characters
        && let Some((run, size)) = paragraph_run(style, at)
    {
        runs.push((covered, run));
        covered = covered.saturating_add(run.length.max(1));
        at += size;
    }
    runs
}

/// One run and the bytes that it takes: fields stand there if their bit in the mask is set
/// ([MS-PPT] 2.9.20).
fn paragraph_run(style: &[u8], at: usize) -> Option<(Run, usize)> {
    let length = usize::try_from(u32_at(style, at)?).ok()?;
    let level = usize::from(u16_at(style, at + 4)?);
    let mask = u32_at(style, at + 6)?;
    let mut size = 10;
    let mut bullet = None;
    if mask & 0xF != 0 {
        let flags = u16_at(style, at + size)?;
        bullet = (mask & 1 != 0).then_some(if flags & 1 == 1 {
            Bullet::Mark
        } else {
            Bullet::None
        });
        size += 2;
    }
    // In the order in which they stand: bullet character, font, size, colour, alignment, spacings,
    // margins, tab width.
    let fields = [
        (7, 2),
        (4, 2),
        (6, 2),
        (5, 4),
        (11, 2),
        (12, 2),
        (13, 2),
        (14, 2),
        (8, 2),
        (10, 2),
        (15, 2),
    ];
    size += fields
        .iter()
        .filter(|(bit, _)| mask >> bit & 1 == 1)
        .map(|(_, bytes)| bytes)
        .sum::<usize>();
    if mask >> 20 & 1 == 1 {
        size += 2 + 4 * usize::from(u16_at(style, at + size)?);
    }
    size += 2
        * (usize::from(mask >> 16 & 1 == 1)
            + usize::from(mask >> 17 & 7 != 0)
            + usize::from(mask >> 21 & 1 == 1));
    Some((
        Run {
            length,
            level,
            bullet,
        },
        size,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_bullets_come_from_the_style() {
        let text: Vec<u8> = "a\rb*\rc"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let mut style = Vec::new();
        for (length, level, mask, rest) in [
            (2_u32, 0_u16, 1_u32, &[0_u8, 0][..]),
            (5, 1, 0x801, &[1, 0, 9, 9]),
        ] {
            style.extend(length.to_le_bytes());
            style.extend(level.to_le_bytes());
            style.extend(mask.to_le_bytes());
            style.extend(rest);
        }
        let record = |kind, content| Record {
            kind,
            instance: 0,
            content,
        };
        let position = 3_u32.to_le_bytes();
        let found = texts(
            [
                record(kinds::TEXT_HEADER, &[1, 0, 0, 0][..]),
                record(kinds::TEXT_UTF_16, &text),
                record(kinds::TEXT_STYLE, &style),
                record(kinds::SLIDE_NUMBER, &position),
            ]
            .into_iter(),
        );
        let paragraphs = &found[0].body.paragraphs;
        let seen: Vec<_> = paragraphs
            .iter()
            .map(|paragraph| (paragraph.level, paragraph.bullet, paragraph.pieces.clone()))
            .collect();
        assert_eq!(found[0].kind, Kind::Body);
        assert_eq!(
            seen,
            [
                (0, Some(Bullet::None), vec![Piece::plain("a")]),
                (1, Some(Bullet::Mark), vec![Piece::plain("b")]),
                (1, Some(Bullet::Mark), vec![Piece::plain("c")]),
            ]
        );
    }
}
