//! Candidates with their features, and the order in which a classifier puts them.

use std::cmp::Ordering;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::classifier::{Classifier, Example};
use super::counts::{Counts, MAXIMUM_CONTEXTS, Sequence};
use super::features::{Features, Measured, N, PRIOR, general_count};
use super::verdicts::{Standing, Verdicts};
use crate::lexicon::{Lexicon, MAXIMUM_TERM_BYTES, term_key};

/// How many examples a weight of the classifier resists.
const STIFFNESS: f64 = 4.0;
/// What a term of the lexicon counts as an example, and a general word; a verdict counts 1. There
/// may be thousands of them, which must not outweigh what people say: all of a kind together count
/// at most as many verdicts as the second says.
const EXAMPLE_WEIGHT: f64 = 0.5;
const EXAMPLES_AT_MOST: f64 = 25.0;
/// A dictionary word that is more frequent than this in general texts is no term, unless something
/// says so.
const GENERAL_WORD: f64 = 3000.0;

/// What may be a term.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Candidate {
    /// As it is written most often.
    pub term: String,
    /// How likely it is a term, 0 to 1, by the classifier. What people said of it is in `standing`.
    pub score: f64,
    /// Occurrences in the corpus.
    pub count: u32,
    /// Documents that have it.
    pub documents: u32,
    /// Whether the lexicon has it already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_known: bool,
    /// What people said of it.
    #[serde(default, skip_serializing_if = "Standing::is_empty")]
    pub standing: Standing,
    /// Sentences that have it, shortened.
    pub contexts: Vec<String>,
    /// What the classifier looks at.
    pub features: Features,
}

impl Candidate {
    fn take(&mut self, other: Self) {
        self.count += other.count;
        self.documents = self.documents.max(other.documents);
        for context in other.contexts {
            if self.contexts.len() < MAXIMUM_CONTEXTS && !self.contexts.contains(&context) {
                self.contexts.push(context);
            }
        }
    }
}

/// What is known of terms.
pub struct Knowledge<'a> {
    /// Terms that are right: the lexicon of now, or seeds.
    pub lexicon: &'a Lexicon,
    /// What people said.
    pub verdicts: &'a Verdicts,
}

/// What the classifier learned from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ranking {
    /// Candidates that the lexicon has.
    pub known: usize,
    /// General words among the candidates.
    pub general: usize,
    /// Candidates that people said yes to.
    pub accepted: usize,
    /// Candidates that people said no to.
    pub rejected: usize,
    /// Candidates on which they disagree.
    pub disputed: usize,
}

/// The sequences that occur often enough, or that a definition names.
pub(super) fn collect(counts: &Counts, minimum_count: u32) -> Vec<Candidate> {
    let nested = counts.nested();
    let is_wanted = |sequence: &Sequence| sequence.count >= minimum_count || sequence.defined > 0;
    let wanted = counts.sequences().filter(|(_, one)| is_wanted(one));
    let mut candidates: Vec<Candidate> = wanted
        .filter_map(|(words, sequence)| {
            let term = written(sequence)?;
            let measured = Measured {
                words,
                sequence,
                nested: nested.get(words).copied().unwrap_or(0),
                term: &term,
            };
            let features = Features::of(&measured, counts);
            Some(Candidate {
                term,
                score: 0.0,
                count: sequence.count,
                documents: sequence.documents,
                is_known: false,
                standing: Standing::default(),
                contexts: sequence
                    .contexts
                    .iter()
                    .map(|one| one.to_string())
                    .collect(),
                features,
            })
        })
        .collect();
    candidates.sort_by(by_count);
    let mut merged = merged(candidates);
    merged.sort_by(by_count);
    merged
}

fn by_count(one: &Candidate, other: &Candidate) -> Ordering {
    let by_count = other.count.cmp(&one.count);
    by_count.then_with(|| one.term.cmp(&other.term))
}

/// One candidate a term: the same letters may be cut into words in several ways. The most frequent
/// way stands; occurrences are those of all, documents those of the way that has most.
fn merged(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut places: FxHashMap<String, usize> = FxHashMap::default();
    let mut merged: Vec<Candidate> = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let place = *places
            .entry(term_key(&candidate.term))
            .or_insert(merged.len());
        match merged.get_mut(place) {
            Some(first) => first.take(candidate),
            None => merged.push(candidate),
        }
    }
    merged
}

/// The first candidate of each term, in their order.
pub(super) fn first_of_each(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut seen = FxHashSet::default();
    candidates.retain(|one| seen.insert(term_key(&one.term)));
    candidates
}

/// The most frequent way of writing it, the first of equals; none if a lexicon could not hold it.
fn written(sequence: &Sequence) -> Option<String> {
    let most = sequence.forms.iter().map(|(_, count)| *count).max()?;
    let form = sequence.forms.iter().find(|(_, count)| *count == most)?;
    let term = form.0.split_whitespace().collect::<Vec<_>>().join(" ");
    (term.len() <= MAXIMUM_TERM_BYTES).then_some(term)
}

/// Scores candidates by what is known of terms in general.
pub(super) fn score_unlearned(candidates: &mut [Candidate]) {
    for candidate in candidates {
        candidate.score = PRIOR.score(&candidate.features.0);
    }
}

/// Learns from what is known, scores all candidates and puts them in order: accepted ones, open
/// ones by score, rejected ones.
pub fn rank(candidates: &mut [Candidate], knowledge: &Knowledge<'_>) -> Ranking {
    let mut ranking = Ranking::default();
    for candidate in &mut *candidates {
        candidate.is_known = knowledge.lexicon.contains(&candidate.term);
        candidate.standing = knowledge.verdicts.standing(&candidate.term);
        ranking.disputed += usize::from(candidate.standing.is_disputed());
    }
    let examples = examples(candidates, &mut ranking);
    let classifier: Classifier<N> = PRIOR.learned(&examples, STIFFNESS);
    for candidate in &mut *candidates {
        candidate.score = classifier.score(&candidate.features.0);
    }
    candidates.sort_by(|one, other| {
        let by_verdict = place(one).cmp(&place(other));
        let by_score = other.score.total_cmp(&one.score);
        let by_count = other.count.cmp(&one.count);
        by_verdict
            .then(by_score)
            .then(by_count)
            .then_with(|| one.term.cmp(&other.term))
    });
    ranking
}

fn place(candidate: &Candidate) -> u8 {
    match candidate.standing.is_term() {
        Some(true) => 0,
        None => 1,
        Some(false) => 2,
    }
}

/// Verdicts with full weight; terms of the lexicon and general words with less, all of a kind
/// together bounded.
fn examples(candidates: &[Candidate], ranking: &mut Ranking) -> Vec<Example<N>> {
    let mut examples = Vec::new();
    let mut guessed: Vec<(&Candidate, bool)> = Vec::new();
    for candidate in candidates {
        match candidate.standing.is_term() {
            Some(is_term) => {
                ranking.accepted += usize::from(is_term);
                ranking.rejected += usize::from(!is_term);
                examples.push(example(candidate, is_term, 1.0));
            }
            None if candidate.is_known => guessed.push((candidate, true)),
            None if is_general(candidate) => guessed.push((candidate, false)),
            None => {}
        }
    }
    let known = guessed.iter().filter(|(_, is_term)| *is_term).count();
    (ranking.known, ranking.general) = (known, guessed.len() - known);
    let weight = |of: usize| EXAMPLE_WEIGHT.min(EXAMPLES_AT_MOST / of.max(1) as f64);
    let (known, general) = (weight(ranking.known), weight(ranking.general));
    examples.extend(guessed.into_iter().map(|(candidate, is_term)| {
        example(candidate, is_term, if is_term { known } else { general })
    }));
    examples
}

fn example(candidate: &Candidate, is_term: bool, weight: f64) -> Example<N> {
    Example {
        features: candidate.features.0,
        is_term,
        weight,
    }
}

/// Whether it is a word of general texts that no definition names.
fn is_general(candidate: &Candidate) -> bool {
    candidate.features.general() > 0.0
        && candidate.features.defined() <= 0.0
        && general_count(&candidate.term) > GENERAL_WORD
}

#[cfg(test)]
mod tests {
    use super::super::counts::{Occurrence, Place};
    use super::*;

    fn candidate(term: &str, count: u32, context: &str) -> Candidate {
        Candidate {
            term: term.to_owned(),
            score: 0.0,
            count,
            documents: count,
            is_known: false,
            standing: Standing::default(),
            contexts: vec![context.to_owned()],
            features: Features::default(),
        }
    }

    #[test]
    fn a_term_that_is_cut_in_two_ways_is_one_candidate() {
        let found = merged(vec![
            candidate("字段", 5, "甲"),
            candidate("重发", 4, "乙"),
            candidate("字段", 3, "丙"),
            candidate("字段", 1, "甲"),
        ]);
        let shown: Vec<(&str, u32, u32, usize)> = found
            .iter()
            .map(|one| (&*one.term, one.count, one.documents, one.contexts.len()))
            .collect();
        assert_eq!(shown, [("字段", 9, 5, 2), ("重发", 4, 4, 1)]);
    }

    #[test]
    fn equal_terms_are_counted_as_one_from_the_text_on() {
        let mut counts = Counts::default();
        let context = "甲".into();
        for (words, form) in [
            (vec![1], "字段"),
            (vec![2, 3], "字段"),
            (vec![4], "Page"),
            (vec![5], "page"),
        ] {
            counts.add(
                &words,
                &Occurrence {
                    document: 1,
                    form,
                    context: &context,
                    before: None,
                    behind: None,
                    place: Place::default(),
                },
            );
        }
        let found = collect(&counts, 1);
        let counts: Vec<u32> = found.iter().map(|one| one.count).collect();
        assert_eq!(counts, [2, 2]);
    }
}
