//! One sentence: which sequences of its words may be terms, and how each stands there.

use std::sync::Arc;

use super::counts::{Counts, Occurrence, Place, WordId};
use super::pieces::{Mark, Piece, Tag, is_han, pieces};
use super::sentences::plain;
use crate::fold::fold;

/// Words of a term.
const MAXIMUM_WORDS: usize = 5;
/// Words of a term that the text itself sets apart, whatever their parts of speech.
const MAXIMUM_WORDS_SET_APART: usize = 8;
/// Characters of a sentence that are shown.
const CONTEXT_CHARACTERS: usize = 160;

/// A sentence as pieces.
pub(super) struct Sentence<'a> {
    text: &'a str,
    pub pieces: Vec<Piece<'a>>,
    pub context: Arc<str>,
    is_heading: bool,
    document: u32,
}

impl<'a> Sentence<'a> {
    pub(super) fn new(text: &'a str, is_heading: bool, document: u32) -> Self {
        let context: String = plain(text).chars().take(CONTEXT_CHARACTERS).collect();
        Self {
            text,
            pieces: pieces(text),
            context: context.into(),
            is_heading,
            document,
        }
    }

    /// Counts its words and all sequences that may be terms.
    pub(super) fn count(&self, counts: &mut Counts) {
        let words: Vec<Option<WordId>> =
            self.pieces.iter().map(|piece| id(piece, counts)).collect();
        for start in 0..self.pieces.len() {
            let mut ids = Vec::with_capacity(MAXIMUM_WORDS_SET_APART);
            for end in start + 1..=self.pieces.len().min(start + MAXIMUM_WORDS_SET_APART) {
                let Some(word) = words.get(end - 1).copied().flatten() else {
                    break;
                };
                ids.push(word);
                let place = self.place(start, end);
                if !may_be_a_term(place, ids.len()) {
                    continue;
                }
                let occurrence = Occurrence {
                    document: self.document,
                    form: self.written(start, end),
                    context: &self.context,
                    before: start.checked_sub(1).and_then(|at| words.get(at).copied()?),
                    behind: words.get(end).copied().flatten(),
                    place,
                };
                counts.add(&ids, &occurrence);
            }
        }
    }

    /// The text of some of its pieces, which are words.
    pub(super) fn written(&self, start: usize, end: usize) -> &'a str {
        let address = |at: usize| match self.pieces.get(at) {
            Some(Piece::Word { text, .. }) => {
                let offset = text.as_ptr() as usize - self.text.as_ptr() as usize;
                Some(offset..offset + text.len())
            }
            _ => None,
        };
        let range = address(start).zip(end.checked_sub(1).and_then(address));
        let text = range.and_then(|(first, last)| self.text.get(first.start..last.end));
        text.unwrap_or_default()
    }

    /// How the words from `start` to before `end` stand.
    fn place(&self, start: usize, end: usize) -> Place {
        let words = self.pieces.get(start..end).unwrap_or_default();
        let before = self.mark_before(start);
        let behind = self.mark_behind(end);
        let glossed = self.gloss_behind(end).is_some();
        let alone = before.is_some() && behind.is_some();
        let is = |mark: Option<Mark>, wanted| mark == Some(wanted);
        Place {
            alone,
            emphasised: is(before, Mark::Opening) && is(behind, Mark::Closing),
            in_heading: self.is_heading,
            glossed,
            defined: glossed && alone,
            in_parentheses: is(before, Mark::Open) && alone,
            fits: fits(words),
            is_nominal: is_nominal(words),
            beside_chinese: self.has_chinese_beside(start, end),
        }
    }

    /// The mark right before a place; the beginning of the sentence is one.
    pub(super) fn mark_before(&self, start: usize) -> Option<Mark> {
        match start.checked_sub(1).and_then(|at| self.pieces.get(at)) {
            None => Some(Mark::Break),
            Some(Piece::Mark(mark)) => Some(*mark),
            Some(Piece::Word { .. }) => None,
        }
    }

    /// The mark right behind the words before `end`; the end of the sentence is one.
    pub(super) fn mark_behind(&self, end: usize) -> Option<Mark> {
        match self.pieces.get(end) {
            None => Some(Mark::Break),
            Some(Piece::Mark(mark)) => Some(*mark),
            Some(Piece::Word { .. }) => None,
        }
    }

    /// Where the text in parentheses begins that follows the words before `end`, if a word of
    /// another kind begins it: another name, perhaps.
    pub(super) fn gloss_behind(&self, end: usize) -> Option<usize> {
        let mut at = end;
        while let Some(Piece::Mark(Mark::Closing)) = self.pieces.get(at) {
            at += 1;
        }
        if self.pieces.get(at) != Some(&Piece::Mark(Mark::Open)) {
            return None;
        }
        while let Some(Piece::Mark(Mark::Opening | Mark::Open)) = self.pieces.get(at) {
            at += 1;
        }
        let last = end.checked_sub(1).and_then(|last| self.pieces.get(last))?;
        match (last, self.pieces.get(at)?) {
            (Piece::Word { tag: last, .. }, Piece::Word { tag: first, .. }) => {
                let is_latin = *first == Tag::Latin;
                let differs = is_latin != (*last == Tag::Latin) && *first != Tag::Number;
                (differs || is_latin).then_some(at)
            }
            _ => None,
        }
    }

    fn has_chinese_beside(&self, start: usize, end: usize) -> bool {
        let is_chinese = |at: Option<usize>| {
            let piece = at.and_then(|at| self.pieces.get(at));
            matches!(piece, Some(Piece::Word { text, .. }) if text.chars().any(is_han))
        };
        is_chinese(start.checked_sub(1)) || is_chinese(Some(end))
    }
}

fn id(piece: &Piece<'_>, counts: &mut Counts) -> Option<WordId> {
    match piece {
        Piece::Word { text, .. } => counts.word(&fold(text)),
        Piece::Mark(_) => None,
    }
}

/// By its parts of speech, or because the text sets it apart and gives it another name.
fn may_be_a_term(place: Place, words: usize) -> bool {
    let is_set_apart = place.in_parentheses || (place.defined && place.emphasised);
    (place.fits && words <= MAXIMUM_WORDS) || is_set_apart
}

/// Whether words make a term by their parts of speech.
pub(super) fn fits(words: &[Piece<'_>]) -> bool {
    let tags = tags(words);
    if tags.len() != words.len() || tags.contains(&Tag::Stop) {
        return false;
    }
    let (Some(first), Some(last)) = (tags.first(), tags.last()) else {
        return false;
    };
    if let [Piece::Word { text, tag }] = words {
        let is_long = text.chars().nth(1).is_some();
        return is_long && !matches!(tag, Tag::Number | Tag::Affix);
    }
    let after_latin = tags.iter().rev().nth(1) == Some(&Tag::Latin);
    *first != Tag::Number && *last != Tag::Adjective && (*last != Tag::Number || after_latin)
}

/// Whether words are noun+noun or adjective+noun; Latin words count as nouns.
fn is_nominal(words: &[Piece<'_>]) -> bool {
    let tags = tags(words);
    let Some((last, before)) = tags.split_last() else {
        return false;
    };
    let is_noun = |tag: &Tag| matches!(tag, Tag::Noun | Tag::Latin);
    let may_precede = |tag: &Tag| is_noun(tag) || matches!(tag, Tag::Adjective | Tag::Affix);
    !before.is_empty() && is_noun(last) && before.iter().all(may_precede)
}

fn tags(words: &[Piece<'_>]) -> Vec<Tag> {
    let tags = words.iter().filter_map(|piece| match piece {
        Piece::Word { tag, .. } => Some(*tag),
        Piece::Mark(_) => None,
    });
    tags.collect()
}
