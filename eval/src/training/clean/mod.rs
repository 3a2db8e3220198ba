//! Which questions are kept: steps that each drop some and say why. Nothing is changed, and nothing
//! is dropped without a reason.

pub mod characters;
pub mod duplicates;
pub mod lengths;
pub mod referents;
pub mod relevance;

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use self::relevance::RelevanceLimits;
use super::{Dropped, Length, Pair, Search};
use crate::runner::Progress;

/// A step of cleaning, in their order: the cheap ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// Characters that do not belong into a question.
    Characters,
    /// Words that stand for something that the question does not name.
    Referents,
    /// Too short or too long.
    Length,
    /// Nearly the same question as one before.
    Duplicates,
    /// The passage does not seem to answer the question.
    Relevance,
    /// More questions of one length than of all others.
    Balance,
}

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub struct CleanSettings {
    /// Half words of a question, see [`super::half_words`]: at least, at most.
    pub half_words: (usize, usize),
    /// Share of common shingles from which two questions are duplicates, 0 to 1.
    pub duplicate_similarity: f64,
    /// What the index must say of a question; none = it is not asked.
    pub relevance: Option<RelevanceLimits>,
    /// Largest share of the questions that may have one length; 1 = any.
    pub longest_share: f64,
    /// What is left to chance.
    pub seed: u64,
}

/// What became of the questions.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// Kept, in their order.
    pub kept: Vec<Pair>,
    /// Dropped, by step and in their order.
    pub dropped: Vec<Dropped>,
    /// What judged relevance: `reranker` or `rank`; none if nothing did.
    pub judged_by: Option<&'static str>,
}

/// Figures of [`Cleaned`].
#[derive(Debug, Serialize)]
pub struct CleanReport {
    /// Questions before.
    pub questions: usize,
    /// Questions that are kept.
    pub kept: usize,
    /// Step → reason → questions.
    pub dropped: BTreeMap<Step, BTreeMap<String, usize>>,
    /// Length → questions that are kept.
    pub lengths: BTreeMap<Length, usize>,
    /// What judged relevance.
    pub judged_by: Option<&'static str>,
}

impl Cleaned {
    /// Its figures. Reasons are counted by what stands before a colon.
    pub fn report(&self) -> CleanReport {
        let mut dropped: BTreeMap<Step, BTreeMap<String, usize>> = BTreeMap::new();
        for one in &self.dropped {
            let reason = one.reason.split(": ").next().unwrap_or_default();
            let reasons = dropped.entry(one.step).or_default();
            *reasons.entry(reason.to_owned()).or_default() += 1;
        }
        let mut lengths = BTreeMap::new();
        for pair in &self.kept {
            *lengths.entry(Length::of(&pair.question)).or_default() += 1;
        }
        CleanReport {
            questions: self.kept.len() + self.dropped.len(),
            kept: self.kept.len(),
            dropped,
            lengths,
            judged_by: self.judged_by,
        }
    }

    /// Drops those of which `reason` has one.
    fn drop_where(&mut self, step: Step, mut reason: impl FnMut(&Pair) -> Option<String>) {
        for pair in std::mem::take(&mut self.kept) {
            match reason(&pair) {
                Some(reason) => self.dropped.push(Dropped { step, reason, pair }),
                None => self.kept.push(pair),
            }
        }
    }
}

/// Takes all steps. Fails where the index cannot be asked.
pub fn clean(
    pairs: Vec<Pair>,
    settings: &CleanSettings,
    index: &dyn Search,
    progress: &dyn Progress,
) -> Result<Cleaned> {
    let mut cleaned = Cleaned {
        kept: pairs,
        ..Cleaned::default()
    };
    cleaned.drop_where(Step::Characters, |pair| {
        characters::bad_character(&pair.question)
    });
    cleaned.drop_where(Step::Referents, |pair| {
        let found = referents::vague_referent(&pair.question)?;
        Some(format!("vague referent: {found}"))
    });
    cleaned.drop_where(Step::Length, |pair| {
        lengths::out_of_bounds(&pair.question, settings.half_words)
    });
    let mut seen = duplicates::Seen::new(settings.duplicate_similarity);
    cleaned.drop_where(Step::Duplicates, |pair| {
        let before = seen.add(&pair.question)?;
        Some(format!("duplicate: {before}"))
    });
    if let Some(limits) = settings.relevance {
        relevance::drop_irrelevant(&mut cleaned, limits, index, progress)?;
    }
    let surplus = lengths::surplus(&cleaned.kept, settings.longest_share, settings.seed);
    let mut at = 0..;
    cleaned.drop_where(Step::Balance, |pair| {
        let length = Length::of(&pair.question).as_str();
        let is_surplus = at.next().is_some_and(|at| surplus.contains(&at));
        is_surplus.then(|| format!("too many {length} questions"))
    });
    Ok(cleaned)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::search::SearchResponse;

    use super::super::samples::{Silent, pair, response};
    use super::*;

    /// Finds chunk 1 first and nothing else.
    struct First;

    impl Search for First {
        fn search(&self, _: &str, _: usize, _: bool) -> Result<SearchResponse> {
            Ok(response(&[(1, "d", 0.9)]))
        }
    }

    #[test]
    fn every_question_is_kept_or_dropped_with_a_reason() {
        let questions = [
            ("载波聚合最多支持几个载波？", 1),
            ("载波聚合最多支持几个载波", 1),
            ("本文介绍了什么内容", 1),
            ("How many carriers\u{fffd} are there?", 1),
            ("a", 1),
            ("How is the carrier of a cell switched off?", 2),
        ];
        let pairs: Vec<Pair> = questions
            .iter()
            .map(|(question, chunk)| pair(question, *chunk, "d"))
            .collect();
        let settings = CleanSettings {
            half_words: (3, 80),
            duplicate_similarity: 0.8,
            relevance: Some(RelevanceLimits {
                rank: 5,
                rerank_score: 0.5,
            }),
            longest_share: 1.0,
            seed: 1,
        };
        let cleaned = clean(pairs, &settings, &First, &Silent).unwrap();
        let steps: Vec<_> = cleaned
            .dropped
            .iter()
            .map(|one| (one.step, one.reason.as_str()))
            .collect();
        let expected = [
            (Step::Characters, "replacement character"),
            (Step::Referents, "vague referent: 本文"),
            (Step::Length, "too short"),
            (Step::Duplicates, "duplicate: 载波聚合最多支持几个载波？"),
            (Step::Relevance, "not found within 5"),
        ];
        assert_eq!(steps, expected);
        let report = cleaned.report();
        assert_eq!((report.questions, report.kept), (6, 1));
        assert_eq!(report.dropped[&Step::Duplicates]["duplicate"], 1);
        assert_eq!(
            report.judged_by,
            Some("rank"),
            "an answer names tier 3 also where none ran"
        );
    }
}
