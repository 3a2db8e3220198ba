//! What the classifier looks at: statistics of a candidate, each brought to about 0 to 1.

use serde::{Deserialize, Serialize};

use super::classifier::Classifier;
use super::counts::{Counts, Sequence, WordId};
use super::pieces::is_han;
use crate::analyzer::DICTIONARY;

/// How many there are.
pub(super) const N: usize = 21;

/// Their names, in their order.
pub const FEATURES: [&str; N] = [
    "frequency",
    "spread",
    "cohesion",
    "freedom",
    "independence",
    "alone",
    "emphasised",
    "in_headings",
    "defined",
    "glossed",
    "in_parentheses",
    "general",
    "unusual",
    "nominal",
    "code_name",
    "more_words",
    "abbreviation",
    "mixed_name",
    "plain_latin",
    "beside_chinese",
    "set_apart_only",
];

/// Features of a candidate, in the order of [`FEATURES`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Features(pub [f64; N]);

/// What is known of terms before any of a domain: signs and sizes by reason, tried on one corpus
/// (see docs/lexicon.md).
pub(super) const PRIOR: Classifier<N> = Classifier::new(
    [
        4.0,  // frequency
        0.5,  // spread
        1.5,  // cohesion
        1.0,  // freedom
        2.0,  // independence
        0.5,  // alone
        1.0,  // emphasised
        1.0,  // in_headings
        3.0,  // defined
        1.0,  // glossed
        0.5,  // in_parentheses
        -3.0, // general
        2.0,  // unusual
        0.7,  // nominal
        -1.5, // code_name
        -0.7, // more_words
        3.0,  // abbreviation
        2.5,  // mixed_name
        0.0,  // plain_latin
        1.5,  // beside_chinese
        -1.0, // set_apart_only
    ],
    -6.5,
);

/// Occurrences of words in the corpus that jieba's dictionary was counted on, by the sum of its
/// frequencies.
const GENERAL_TOTAL: f64 = 60_101_967.0;

/// A sequence with what it is compared with.
pub(super) struct Measured<'a> {
    pub words: &'a [WordId],
    pub sequence: &'a Sequence,
    /// Highest count of a longer sequence with it.
    pub nested: u32,
    /// As it is written most often.
    pub term: &'a str,
}

impl Features {
    /// How common it is in general texts, 0 to 1.
    pub(super) fn general(&self) -> f64 {
        self.named("general")
    }

    /// 1 if a definition in parentheses names exactly this, else 0.
    pub(super) fn defined(&self) -> f64 {
        self.named("defined")
    }

    fn named(&self, name: &str) -> f64 {
        let mut named = FEATURES.iter().zip(self.0);
        named
            .find(|(known, _)| **known == name)
            .map_or(0.0, |(_, value)| value)
    }

    /// All of them.
    pub(super) fn of(measured: &Measured<'_>, counts: &Counts) -> Self {
        let Measured {
            words,
            sequence,
            nested,
            term,
        } = measured;
        let count = f64::from(sequence.count);
        let share = |part: u32| f64::from(part) / count;
        let any = |part: u32| f64::from(part) / (1.0 + f64::from(part));
        let is = |yes: bool| f64::from(u8::from(yes));
        // Two occurrences stand beside two different words as a rule.
        let certainty = count / (count + 4.0);
        let before = sequence.before.freedom();
        let general = generality(term);
        let shape = Shape::of(term);
        Self([
            (count.ln() / 8.0).min(1.0),
            (f64::from(sequence.documents).ln() / 6.0).min(1.0),
            cohesion(words, count, counts),
            before.min(sequence.behind.freedom()) * certainty,
            1.0 - (f64::from(*nested) / count).min(1.0),
            share(sequence.alone),
            any(sequence.emphasised),
            any(sequence.in_headings),
            is(sequence.defined > 0),
            share(sequence.glossed),
            any(sequence.in_parentheses),
            general,
            unusual(term, count, counts.total),
            is(sequence.is_nominal),
            is(shape == Shape::Code),
            is(words.len() > 2),
            is(shape == Shape::Abbreviation),
            is(shape == Shape::Mixed),
            is(shape == Shape::Plain),
            share(sequence.beside_chinese),
            is(!sequence.fits),
        ])
    }
}

/// Normalised pointwise mutual information of all words of a sequence (Bouma 2009, for more than
/// two words), -1 to 1; 0 for one word.
fn cohesion(words: &[WordId], count: f64, counts: &Counts) -> f64 {
    if words.len() < 2 {
        return 0.0;
    }
    let total = counts.total.max(2) as f64;
    let joint = (count / total).ln();
    let apart: f64 = words
        .iter()
        .map(|word| (f64::from(counts.of_word(*word).max(1)) / total).ln())
        .sum();
    let normal = -joint * (words.len() - 1) as f64;
    ((joint - apart) / normal.max(f64::MIN_POSITIVE)).clamp(-1.0, 1.0)
}

/// How common a Chinese word is in general texts, 0 to 1; 0 for what no dictionary has.
fn generality(term: &str) -> f64 {
    match DICTIONARY.has_word(term) {
        true => ((general_count(term)).ln() / 1e5_f64.ln()).clamp(0.0, 1.0),
        false => 0.0,
    }
}

/// How often jieba's dictionary has a word, or expects it of its parts; at least 1.
pub(super) fn general_count(term: &str) -> f64 {
    DICTIONARY.suggest_freq(term).max(1) as f64
}

/// How much more often Chinese is in this corpus than in general texts, by a logarithm, -1 to 1.
fn unusual(term: &str, count: f64, total: u64) -> f64 {
    if !term.chars().any(is_han) {
        return 0.0;
    }
    let here = count / total.max(1) as f64;
    let there = general_count(term) / GENERAL_TOTAL;
    ((here / there).ln() / 10.0).clamp(-1.0, 1.0)
}

/// What a term in Latin letters looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// It has Chinese characters, or several words.
    Other,
    /// `CA`, `QoS`, `APIs`: more capitals than small letters.
    Abbreviation,
    /// `Conv2d`, `MindIR`, `CIFAR-10`.
    Mixed,
    /// `rank_id`, `mindspore.nn`: the analyzer keeps it whole anyway.
    Code,
    /// `tensor`, `Tensor`.
    Plain,
}

impl Shape {
    fn of(term: &str) -> Self {
        if term.chars().any(is_han) || term.contains(' ') {
            return Self::Other;
        }
        let capitals = term.chars().filter(|one| one.is_uppercase()).count();
        let small = term.chars().filter(|one| one.is_lowercase()).count();
        let is_code = term.contains('_') || has_dot_between_letters(term);
        let has_signs = term.chars().any(|one| !one.is_alphabetic());
        let has_inner_capital = term.chars().skip(1).any(char::is_uppercase);
        match (capitals, small) {
            _ if is_code => Self::Code,
            _ if capitals > 1 && capitals > small && term.len() <= 8 => Self::Abbreviation,
            _ if has_signs || has_inner_capital => Self::Mixed,
            _ => Self::Plain,
        }
    }
}

/// `nn.Conv2d`, not `2.0`.
fn has_dot_between_letters(term: &str) -> bool {
    let mut parts = term.split('.');
    let mut before = parts.next().unwrap_or_default();
    parts.any(|part| {
        let ends = before.ends_with(char::is_alphabetic);
        before = part;
        ends && part.starts_with(char::is_alphabetic)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_latin_words() {
        let table = [
            ("CA", Shape::Abbreviation),
            ("QoS", Shape::Abbreviation),
            ("MindIR", Shape::Mixed),
            ("rank_id", Shape::Code),
            ("nn.Conv2d", Shape::Code),
            ("Wi-Fi2.0", Shape::Mixed),
            ("Tensor", Shape::Plain),
            ("Batch size", Shape::Other),
            ("QoS流", Shape::Other),
        ];
        for (term, shape) in table {
            assert_eq!(Shape::of(term), shape, "{term}");
        }
    }

    #[test]
    fn common_words_are_general_and_new_ones_are_not() {
        assert!(generality("我们") > 0.9);
        assert!(generality("编译器") < generality("问题"));
        assert!(generality("载波聚合") < 1e-9);
        assert!(unusual("编译器", 100.0, 100_000) > 0.3);
    }
}
