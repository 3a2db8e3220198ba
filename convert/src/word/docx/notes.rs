//! Footnotes, endnotes and, if asked for, comments: marks in the text, definitions after it.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use tributary_schemas::Result;

use super::body::Story;
use super::{Document, side_part};
use crate::office::blocks::{Block, render};
use crate::office::inline::Inline;
use crate::office::xml::{Element, XmlReader};

/// How deep notes of notes are followed.
const MAXIMUM_DEPTH: usize = 8;

/// What kind of note it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NoteKind {
    Footnote,
    Endnote,
    Comment,
}

impl NoteKind {
    const ALL: [Self; 3] = [Self::Footnote, Self::Endnote, Self::Comment];

    /// Kind of the relationship, name of the part and of its elements.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Footnote => ("footnotes", "footnote"),
            Self::Endnote => ("endnotes", "endnote"),
            Self::Comment => ("comments", "comment"),
        }
    }
}

impl Story<'_, '_> {
    /// Adds the mark of a note.
    pub(super) fn note(&mut self, kind: NoteKind, element: &Element, inline: &mut Inline) {
        let Some(id) = element.attribute("id").filter(|_| self.fields.shows_text()) else {
            return;
        };
        let number = self.document.note_number(kind, id.trim());
        inline.raw(format!("[^{number}]"));
    }
}

impl Document<'_> {
    /// Number of a note, from 1 in the order of the first references.
    fn note_number(&mut self, kind: NoteKind, id: &str) -> usize {
        let notes = &mut self.notes;
        *self
            .note_numbers
            .entry((kind, id.to_owned()))
            .or_insert_with_key(|key| {
                notes.push(key.clone());
                notes.len()
            })
    }

    /// The definitions of all notes that the text refers to, by number.
    pub(super) fn note_blocks(&mut self, main: &str) -> Result<Vec<Block>> {
        let mut texts: Vec<(usize, String)> = Vec::new();
        let mut read = 0;
        // Notes may refer to notes.
        for _ in 0..MAXIMUM_DEPTH {
            if read == self.notes.len() {
                break;
            }
            let unread = read + 1..=self.notes.len();
            read = self.notes.len();
            for kind in NoteKind::ALL {
                let wanted = self.wanted_notes(kind, &unread);
                if !wanted.is_empty() {
                    self.read_notes(kind, main, &wanted, &mut texts)?;
                }
            }
        }
        texts.sort_by_key(|(number, _)| *number);
        texts.dedup_by_key(|(number, _)| *number);
        Ok(texts
            .into_iter()
            .map(|(number, text)| Block::Note(format!("[^{number}]: {text}")))
            .collect())
    }

    /// Which of the numbered notes are of a kind, by their names.
    fn wanted_notes(
        &self,
        kind: NoteKind,
        numbers: &RangeInclusive<usize>,
    ) -> HashMap<String, usize> {
        let notes = self.note_numbers.iter();
        let wanted =
            notes.filter(|((known, _), number)| *known == kind && numbers.contains(number));
        wanted
            .map(|((_, id), number)| (id.clone(), *number))
            .collect()
    }

    fn read_notes(
        &mut self,
        kind: NoteKind,
        main: &str,
        wanted: &HashMap<String, usize>,
        texts: &mut Vec<(usize, String)>,
    ) -> Result<()> {
        let (part, element_name) = kind.names();
        let Some((name, text)) = side_part(&mut self.package, main, part)? else {
            return Ok(());
        };
        let limits = self.limits;
        let mut xml = XmlReader::new(&text, &name, limits);
        let mut story = Story::new(self, &name)?;
        story.counts_pages = false;
        xml.child()?;
        while let Some(element) = xml.child()? {
            let number = element
                .attribute("id")
                .filter(|_| element.name() == element_name)
                .and_then(|id| wanted.get(id.trim()));
            let Some(number) = number else {
                xml.skip()?;
                continue;
            };
            let author = element
                .attribute("author")
                .map(|author| author.into_owned())
                .filter(|author| !author.is_empty());
            let blocks = story.inner_blocks(&mut xml)?;
            let text = indented(&render(&story.settled(blocks)));
            if !text.is_empty() {
                texts.push((
                    *number,
                    author.map_or_else(|| text.clone(), |author| format!("{author}: {text}")),
                ));
            }
        }
        Ok(())
    }
}

/// Lines after the first stand four columns in, so that they belong to the note.
fn indented(text: &str) -> String {
    let lines: Vec<String> = text
        .trim()
        .lines()
        .enumerate()
        .map(|(index, line)| {
            if index == 0 || line.is_empty() {
                line.to_owned()
            } else {
                format!("    {line}")
            }
        })
        .collect();
    lines.join("\n")
}
