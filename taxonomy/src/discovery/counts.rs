//! Counts of word sequences: how often, in how many documents, beside what, and how they are
//! written. Memory is bounded: when there are too many sequences, the rarest go (Manku & Motwani
//! 2002, "Approximate frequency counts over data streams"), so that only counts near the bottom of
//! a very large corpus are too low.

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// Sequences kept at once; about 300 bytes each.
const MAXIMUM_SEQUENCES: usize = 400_000;
/// Words with a number of their own.
const MAXIMUM_WORDS: usize = 2_000_000;
/// Neighbours of a sequence that are told apart on each side; further ones count as one.
const MAXIMUM_NEIGHBOURS: usize = 32;
/// Ways of writing a sequence that are told apart.
const MAXIMUM_FORMS: usize = 4;
/// Sentences kept with a sequence.
pub(super) const MAXIMUM_CONTEXTS: usize = 3;

/// Number of a word.
pub(super) type WordId = u32;

/// What is counted of one sequence of words.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    /// Occurrences.
    pub count: u32,
    /// Documents that have it.
    pub documents: u32,
    last_document: u32,
    /// Occurrences between marks, or at the ends of sentences, on both sides.
    pub alone: u32,
    /// Occurrences between marks of emphasis on both sides.
    pub emphasised: u32,
    /// Occurrences in headings.
    pub in_headings: u32,
    /// Occurrences that a name in parentheses follows.
    pub glossed: u32,
    /// Of those, the ones that also begin at a mark: the gloss is of exactly this.
    pub defined: u32,
    /// Occurrences within parentheses, on both sides.
    pub in_parentheses: u32,
    /// Whether all of its words may be in a term, by their parts of speech.
    pub fits: bool,
    /// Whether it is noun+noun or adjective+noun.
    pub is_nominal: bool,
    /// Occurrences with a Chinese character on at least one side.
    pub beside_chinese: u32,
    /// What stands before and behind it.
    pub before: Neighbours,
    pub behind: Neighbours,
    /// How it is written, with counts.
    pub forms: Vec<(Box<str>, u32)>,
    /// Sentences that have it.
    pub contexts: Vec<Arc<str>>,
}

/// Counts of the words on one side.
#[derive(Clone, Debug, Default)]
pub(super) struct Neighbours {
    words: Vec<(WordId, u32)>,
    /// Marks and words past the limit; each counts as different from all others.
    others: u32,
}

impl Neighbours {
    /// Counts one neighbour; none is a mark.
    pub(super) fn add(&mut self, word: Option<WordId>) {
        let Some(word) = word else {
            self.others += 1;
            return;
        };
        let has_room = self.words.len() < MAXIMUM_NEIGHBOURS;
        match self.words.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None if has_room => self.words.push((word, 1)),
            None => self.others += 1,
        }
    }

    /// Entropy of the neighbours as a share of its maximum, 0 to 1: 0 if it is always the same.
    pub(super) fn freedom(&self) -> f64 {
        let total: u32 = self.others + self.words.iter().map(|(_, count)| count).sum::<u32>();
        if total < 2 {
            return if self.others > 0 { 1.0 } else { 0.0 };
        }
        let total = f64::from(total);
        let known = self.words.iter().map(|(_, count)| {
            let share = f64::from(*count) / total;
            -share * share.ln()
        });
        let entropy: f64 = known.sum::<f64>() + f64::from(self.others) / total * total.ln();
        entropy / total.ln()
    }
}

/// One occurrence of a sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occurrence<'a> {
    pub document: u32,
    /// The words as the text writes them.
    pub form: &'a str,
    pub context: &'a Arc<str>,
    pub before: Option<WordId>,
    pub behind: Option<WordId>,
    pub place: Place,
}

/// Where it stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    pub alone: bool,
    pub emphasised: bool,
    pub in_heading: bool,
    pub glossed: bool,
    pub defined: bool,
    pub in_parentheses: bool,
    pub fits: bool,
    pub is_nominal: bool,
    pub beside_chinese: bool,
}

impl Sequence {
    fn add(&mut self, occurrence: &Occurrence<'_>) {
        self.count += 1;
        if self.last_document != occurrence.document {
            self.last_document = occurrence.document;
            self.documents += 1;
        }
        let place = occurrence.place;
        self.alone += u32::from(place.alone);
        self.emphasised += u32::from(place.emphasised);
        self.in_headings += u32::from(place.in_heading);
        self.glossed += u32::from(place.glossed);
        self.defined += u32::from(place.defined);
        self.in_parentheses += u32::from(place.in_parentheses);
        self.beside_chinese += u32::from(place.beside_chinese);
        self.fits |= place.fits;
        self.is_nominal |= place.is_nominal;
        self.before.add(occurrence.before);
        self.behind.add(occurrence.behind);
        self.add_form(occurrence.form);
        let is_known = self.contexts.iter().any(|one| one == occurrence.context);
        if self.contexts.len() < MAXIMUM_CONTEXTS && !is_known {
            self.contexts.push(Arc::clone(occurrence.context));
        }
    }

    fn add_form(&mut self, form: &str) {
        let has_room = self.forms.len() < MAXIMUM_FORMS;
        match self.forms.iter_mut().find(|(known, _)| **known == *form) {
            Some((_, count)) => *count += 1,
            None if has_room => self.forms.push((form.into(), 1)),
            None => {}
        }
    }
}

/// Counts of a corpus.
#[derive(Debug, Default)]
pub(super) struct Counts {
    words: FxHashMap<Box<str>, WordId>,
    word_counts: Vec<u32>,
    sequences: FxHashMap<Box<[WordId]>, Sequence>,
    /// Occurrences of words.
    pub total: u64,
    /// Sequences of at most this count were dropped at times.
    pub dropped_up_to: u32,
}

impl Counts {
    /// Counts a word, by its key, and gives its number; none when there are too many words.
    pub(super) fn word(&mut self, key: &str) -> Option<WordId> {
        self.total += 1;
        if let Some(id) = self.words.get(key) {
            if let Some(count) = self.word_counts.get_mut(*id as usize) {
                *count += 1;
            }
            return Some(*id);
        }
        if self.words.len() >= MAXIMUM_WORDS {
            return None;
        }
        let id = WordId::try_from(self.words.len()).ok()?;
        self.words.insert(key.into(), id);
        self.word_counts.push(1);
        Some(id)
    }

    /// Counts one occurrence of a sequence.
    pub(super) fn add(&mut self, words: &[WordId], occurrence: &Occurrence<'_>) {
        if let Some(sequence) = self.sequences.get_mut(words) {
            sequence.add(occurrence);
            return;
        }
        if self.sequences.len() >= MAXIMUM_SEQUENCES {
            self.drop_rare();
        }
        let mut sequence = Sequence::default();
        sequence.add(occurrence);
        self.sequences.insert(words.into(), sequence);
    }

    /// Drops the rarest sequences until a half is free.
    fn drop_rare(&mut self) {
        while self.sequences.len() > MAXIMUM_SEQUENCES / 2 {
            self.dropped_up_to += 1;
            let least = self.dropped_up_to;
            self.sequences
                .retain(|_, sequence| sequence.count > least || sequence.defined > 0);
            if least > 1000 {
                break;
            }
        }
    }

    /// Occurrences of a word.
    pub(super) fn of_word(&self, word: WordId) -> u32 {
        self.word_counts.get(word as usize).copied().unwrap_or(0)
    }

    /// All sequences.
    pub(super) fn sequences(&self) -> impl Iterator<Item = (&[WordId], &Sequence)> {
        self.sequences.iter().map(|(words, one)| (&**words, one))
    }

    /// For each sequence that is part of a longer one, the highest count of those.
    pub(super) fn nested(&self) -> FxHashMap<&[WordId], u32> {
        let mut nested: FxHashMap<&[WordId], u32> = FxHashMap::default();
        for (words, sequence) in self.sequences() {
            let parts = [words.split_last().map(|(_, rest)| rest), words.get(1..)];
            for part in parts.into_iter().flatten().filter(|part| !part.is_empty()) {
                let highest = nested.entry(part).or_default();
                *highest = (*highest).max(sequence.count);
            }
        }
        nested
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occurrence(context: &Arc<str>) -> Occurrence<'_> {
        Occurrence {
            document: 1,
            form: "甲",
            context,
            before: None,
            behind: None,
            place: Place::default(),
        }
    }

    #[test]
    fn memory_is_bounded_and_what_is_frequent_stays() {
        let context: Arc<str> = "甲".into();
        let mut counts = Counts::default();
        for number in 0..(MAXIMUM_SEQUENCES as u32 + 10) {
            counts.add(&[7, 7], &occurrence(&context));
            counts.add(&[number], &occurrence(&context));
        }
        assert!(counts.sequences().count() <= MAXIMUM_SEQUENCES);
        assert_eq!(counts.dropped_up_to, 1);
        let frequent = counts.sequences().find(|(words, _)| *words == [7, 7]);
        assert_eq!(
            frequent.map(|(_, one)| (one.count, one.documents)),
            Some((MAXIMUM_SEQUENCES as u32 + 10, 1))
        );
    }

    #[test]
    fn freedom_is_none_beside_one_word_and_full_beside_marks() {
        let mut same = Neighbours::default();
        let mut free = Neighbours::default();
        for _ in 0..8 {
            same.add(Some(1));
            free.add(None);
        }
        assert!(same.freedom() < 1e-9);
        assert!((free.freedom() - 1.0).abs() < 1e-9);
    }
}
