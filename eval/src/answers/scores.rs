//! Means over answers.

use serde::Serialize;
use tributary_schemas::ask::Verdict;

use super::{AnswerRecord, GivenAnswer};
use crate::metrics::mean;

/// Shares over questions; `None` where there is no question to tell them by.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnswerScores {
    /// Questions asked.
    pub questions: usize,
    /// Of them, those that the documents answer.
    pub with_answer: usize,
    /// Questions that ended without an answer or a refusal.
    pub failed: usize,
    /// How well it is told what the documents answer.
    pub refusals: Refusals,
    /// Answers in the language of their question.
    pub language_kept: Option<f64>,
    /// Answers that cite only sources that there are.
    pub citations_valid: Option<f64>,
    /// Mean share of the statements of an answer that its sources support.
    pub supported: Option<f64>,
    /// Questions with an answer for which a relevant document was found.
    pub source_found: Option<f64>,
    /// Answers that cite a relevant document.
    pub source_cited: Option<f64>,
    /// Answers that hold an expected answer.
    pub holds_expected: Option<f64>,
    /// Answers with all numbers of an expected answer.
    pub numbers_right: Option<f64>,
    /// Answers that a language model finds right.
    pub read_as_right: Option<f64>,
    /// Answers that it read.
    pub read: usize,
}

/// Refusing as a classifier of questions without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Refusals {
    /// Refused questions.
    pub refused: usize,
    /// Share of the refused ones that have no answer.
    pub precision: Option<f64>,
    /// Share of those without an answer that are refused.
    pub recall: Option<f64>,
    /// Harmonic mean of both.
    pub f1: Option<f64>,
}

impl AnswerScores {
    /// Of some questions.
    pub fn of<'a>(records: impl Iterator<Item = &'a AnswerRecord>) -> Self {
        let records: Vec<&AnswerRecord> = records.collect();
        let given: Vec<&GivenAnswer> = records
            .iter()
            .filter_map(|one| one.answer.as_ref())
            .collect();
        let share = |measure: fn(&GivenAnswer) -> Option<bool>| {
            share(given.iter().filter_map(|answer| measure(answer)))
        };
        let supported: Vec<f64> = given
            .iter()
            .filter_map(|one| one.measures.supported)
            .collect();
        let read = |answer: &GivenAnswer| answer.read.as_ref().map(|read| read.is_right);
        Self {
            questions: records.len(),
            with_answer: records.iter().filter(|record| record.has_answer).count(),
            failed: records.len() - given.len(),
            refusals: Refusals::of(&records),
            language_kept: share(|answer| Some(answer.measures.language_is_kept)),
            citations_valid: share(|answer| Some(answer.measures.citations_are_valid)),
            supported: (!supported.is_empty()).then(|| mean(&supported)),
            source_found: share(|answer| answer.measures.source_is_found),
            source_cited: share(|answer| answer.measures.source_is_cited),
            holds_expected: share(|answer| answer.measures.holds_expected),
            numbers_right: share(|answer| answer.measures.numbers_are_right),
            read_as_right: share(read),
            read: given.iter().filter(|answer| answer.read.is_some()).count(),
        }
    }
}

impl Refusals {
    fn of(records: &[&AnswerRecord]) -> Self {
        let is_refused = |record: &AnswerRecord| {
            let answer = record.answer.as_ref();
            answer.is_some_and(|answer| answer.verdict == Verdict::Refused)
        };
        let refused: Vec<&&AnswerRecord> = records.iter().filter(|one| is_refused(one)).collect();
        let without = records.iter().filter(|record| !record.has_answer);
        let precision = share(refused.iter().map(|record| !record.has_answer));
        let recall = share(without.map(|record| is_refused(record)));
        let f1 = precision.zip(recall).map(|(precision, recall)| {
            let sum = precision + recall;
            if sum > 0.0 {
                2.0 * precision * recall / sum
            } else {
                0.0
            }
        });
        Self {
            refused: refused.len(),
            precision,
            recall,
            f1,
        }
    }
}

fn share(values: impl Iterator<Item = bool>) -> Option<f64> {
    let values: Vec<f64> = values.map(|yes| f64::from(u8::from(yes))).collect();
    (!values.is_empty()).then(|| mean(&values))
}
