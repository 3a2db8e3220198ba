//! How well follow-ups are completed: questions with what was said before, and how a person would
//! ask them alone. Exact match and ROUGE-L, beside those of not rewriting at all.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use tributary_retrieval::Understander;
use tributary_schemas::ask::Round;
use tributary_schemas::files;

use crate::metrics::{mean, percentile};
use crate::runner::Progress;

/// A follow-up.
#[derive(Clone, Debug, Deserialize)]
pub struct FollowUp {
    /// Identifier in the set.
    #[serde(rename = "_id")]
    pub id: String,
    /// What was said before, in turns, the user's first.
    pub history: Vec<String>,
    /// The question.
    pub query: String,
    /// The question as it would be asked alone.
    pub rewrite: String,
}

/// Which lines of a set are read: rules are made by looking at the first half alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All.
    All,
    /// The first half.
    First,
    /// The second half.
    Second,
}

/// Who completes the questions.
pub struct Way<'a> {
    /// `rules`, `model`.
    pub name: &'a str,
    /// Completes them.
    pub understander: &'a Understander,
}

/// How well one way does.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RewriteScores {
    /// Share of questions that are what the person wrote, signs and case apart.
    pub exact_match: f64,
    /// Longest common subsequence of words (Chinese: characters) as an F1, 0 to 1.
    pub rouge_l: f64,
    /// Share of questions that stay as they were.
    pub unchanged: f64,
    /// Share of questions at which the model did not do its part.
    pub degraded: f64,
    /// Median of the milliseconds of a question.
    pub p50_ms: f64,
}

/// A question as it was completed.
#[derive(Clone, Debug, Serialize)]
pub struct Rewritten {
    /// Identifier in the set.
    #[serde(rename = "_id")]
    pub id: String,
    /// The question.
    pub query: String,
    /// As a person would ask it alone.
    pub rewrite: String,
    /// As it was completed, by way.
    pub by: BTreeMap<String, String>,
}

/// The scores of a set.
#[derive(Clone, Debug, Serialize)]
pub struct RewriteReport {
    /// Name of the file.
    pub set: String,
    /// Questions.
    pub questions: usize,
    /// By way; `none` is not rewriting.
    pub ways: BTreeMap<String, RewriteScores>,
    /// Each question.
    #[serde(skip)]
    pub rewritten: Vec<Rewritten>,
}

impl Part {
    /// The lines that belong to it; of an odd number the first half has one more.
    fn of<'l, 'a>(self, lines: &'l [&'a str]) -> &'l [&'a str] {
        let half = lines.len().div_ceil(2);
        match self {
            Self::All => lines,
            Self::First => lines.get(..half).unwrap_or_default(),
            Self::Second => lines.get(half..).unwrap_or_default(),
        }
    }
}

/// Reads a file of JSON lines.
pub fn read(file: &Path, part: Part) -> Result<Vec<FollowUp>> {
    let text = files::read_data_to_string(file)
        .with_context(|| format!("cannot read {}", file.display()))?;
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let lines = part.of(&lines);
    ensure!(!lines.is_empty(), "{} holds no question", file.display());
    let parse = |(at, line): (usize, &&str)| {
        serde_json::from_str(line).with_context(|| format!("{} line {}", file.display(), at + 1))
    };
    lines.iter().enumerate().map(parse).collect()
}

/// Turns as rounds; a last turn without an answer has none.
pub fn rounds(turns: &[String]) -> Vec<Round> {
    let round = |pair: &[String]| Round {
        question: pair.first().cloned().unwrap_or_default(),
        answer: pair.get(1).cloned().unwrap_or_default(),
    };
    turns.chunks(2).map(round).collect()
}

/// Completes all questions in all ways, one after the other.
pub async fn run(
    set: &str,
    follow_ups: &[FollowUp],
    ways: &[Way<'_>],
    progress: &dyn Progress,
) -> RewriteReport {
    let mut rewritten: Vec<Rewritten> = follow_ups.iter().map(Rewritten::none).collect();
    let mut report = BTreeMap::new();
    let none: Vec<Answer> = follow_ups.iter().map(Answer::none).collect();
    report.insert("none".to_owned(), scores(follow_ups, &none));
    for way in ways {
        let mut answers = Vec::with_capacity(follow_ups.len());
        for (at, follow_up) in follow_ups.iter().enumerate() {
            progress.at(way.name, at, follow_ups.len());
            let history = rounds(&follow_up.history);
            let understander = way.understander;
            let understood = understander
                .understand(&follow_up.query, &history, true)
                .await;
            answers.push(Answer {
                question: understood.understanding.standalone_question,
                is_degraded: understood.degraded.is_some(),
                ms: understood.understanding.took_ms,
            });
        }
        progress.at(way.name, follow_ups.len(), follow_ups.len());
        for (rewritten, answer) in rewritten.iter_mut().zip(&answers) {
            let by = (way.name.to_owned(), answer.question.clone());
            rewritten.by.extend([by]);
        }
        report.insert(way.name.to_owned(), scores(follow_ups, &answers));
    }
    RewriteReport {
        set: set.to_owned(),
        questions: follow_ups.len(),
        ways: report,
        rewritten,
    }
}

struct Answer {
    question: String,
    is_degraded: bool,
    ms: f64,
}

impl Answer {
    fn none(follow_up: &FollowUp) -> Self {
        Self {
            question: follow_up.query.clone(),
            is_degraded: false,
            ms: 0.0,
        }
    }
}

impl Rewritten {
    fn none(follow_up: &FollowUp) -> Self {
        Self {
            id: follow_up.id.clone(),
            query: follow_up.query.clone(),
            rewrite: follow_up.rewrite.clone(),
            by: BTreeMap::new(),
        }
    }
}

fn scores(follow_ups: &[FollowUp], answers: &[Answer]) -> RewriteScores {
    let pairs = || follow_ups.iter().zip(answers);
    let share = |is: &dyn Fn(&FollowUp, &Answer) -> bool| {
        let values: Vec<f64> = pairs()
            .map(|(follow_up, answer)| f64::from(u8::from(is(follow_up, answer))))
            .collect();
        mean(&values)
    };
    let rouge: Vec<f64> = pairs()
        .map(|(follow_up, answer)| rouge_l(&answer.question, &follow_up.rewrite))
        .collect();
    let ms: Vec<f64> = answers.iter().map(|answer| answer.ms).collect();
    RewriteScores {
        exact_match: share(&|follow_up, answer| {
            units(&answer.question) == units(&follow_up.rewrite)
        }),
        rouge_l: mean(&rouge),
        unchanged: share(&|follow_up, answer| units(&answer.question) == units(&follow_up.query)),
        degraded: share(&|_, answer| answer.is_degraded),
        p50_ms: percentile(&ms, 0.5),
    }
}

/// Chinese characters one by one, other words whole and in small letters, no signs.
fn units(text: &str) -> Vec<String> {
    let is_han = |character: char| matches!(character, '\u{3400}'..='\u{9fff}');
    let mut units = Vec::new();
    let mut word = String::new();
    for character in text.chars() {
        let is_of_word = character.is_alphanumeric() && !is_han(character);
        if is_of_word {
            word.extend(character.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            units.push(std::mem::take(&mut word));
        }
        if is_han(character) {
            units.push(character.to_string());
        }
    }
    if !word.is_empty() {
        units.push(word);
    }
    units
}

/// ROUGE-L (Lin 2004) with equal weights of precision and recall.
fn rouge_l(found: &str, expected: &str) -> f64 {
    let (found, expected) = (units(found), units(expected));
    let common = longest_common_subsequence(&found, &expected) as f64;
    match found.len() + expected.len() {
        0 => 0.0,
        both => 2.0 * common / both as f64,
    }
}

fn longest_common_subsequence(left: &[String], right: &[String]) -> usize {
    let mut above = vec![0; right.len() + 1];
    for one in left {
        let mut row = vec![0];
        for (at, other) in right.iter().enumerate() {
            let diagonal = above.get(at).copied().unwrap_or(0);
            let up = above.get(at + 1).copied().unwrap_or(0);
            let before = row.last().copied().unwrap_or(0);
            row.push(if one == other {
                diagonal + 1
            } else {
                up.max(before)
            });
        }
        above = row;
    }
    above.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rouge_counts_characters_and_words_in_order() {
        let table = [
            ("北京今天怎么样", "北京今天怎么样？", 1.0),
            ("上海 Weather", "上海weather", 1.0),
            ("甲乙丙丁", "甲丁", 4.0 / 6.0),
            ("who is he", "who is jack white", 4.0 / 7.0),
            ("乙甲", "甲乙", 0.5),
            ("", "甲", 0.0),
            ("", "", 0.0),
        ];
        for (found, expected, score) in table {
            let rouge = rouge_l(found, expected);
            assert!((rouge - score).abs() < 1e-9, "{found} {expected}: {rouge}");
        }
    }

    #[test]
    fn turns_are_rounds() {
        let turns = ["甲".to_owned(), "乙".to_owned(), "丙".to_owned()];
        let rounds = rounds(&turns);
        assert_eq!(rounds.len(), 2);
        let last = rounds
            .last()
            .map(|round| (round.question.as_str(), round.answer.as_str()));
        assert_eq!(last, Some(("丙", "")));
    }
}
