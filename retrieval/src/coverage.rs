//! How much of the question a chunk covers, and which of its words stand nowhere.
//!
//! coverage(chunk) = BM25(chunk) / Σ best(t), where best(t) is the highest BM25 score that the token
//! t alone gives any chunk that the caller may find. A token that stands nowhere is taken to be as
//! rare as the rarest of the others. Unlike a score that is normalised within one answer, this
//! tells a question that is answered from one of whose words the best chunk has only the common
//! ones.

use std::collections::HashMap;

use futures::future::try_join_all;
use tributary_schemas::Result;
use tributary_schemas::search::QueryPlan;
use tributary_store::search_index::{KeywordQuery, SearchIndex};

use crate::function_words::is_function_word;
use crate::plan;

/// Tokens that are looked at: the rest of a question as long as a page says nothing new.
const MAXIMUM_TOKENS: usize = 48;

/// Relevance from which a hit is taken to answer the question.
const ANSWERED: f32 = 0.7;

/// The best score of each token of a question.
#[derive(Debug, Default)]
pub struct TokenScores {
    best: HashMap<String, f32>,
    /// Σ best(t) over all tokens of the question, repeated ones as often as they are there.
    highest: f32,
}

/// Asks the index for the best chunk of each token, under the plan's filter, so that nobody learns
/// which words stand in documents that they may not see.
pub async fn token_scores(index: &dyn SearchIndex, plan: &QueryPlan) -> Result<TokenScores> {
    if !plan::uses_keywords(plan) {
        return Ok(TokenScores::default());
    }
    let mut tokens: Vec<&String> = Vec::new();
    for token in &plan.tokens {
        if tokens.len() < MAXIMUM_TOKENS && !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    let asked = tokens.iter().map(|token| best(index, plan, token));
    let scores = try_join_all(asked).await?;
    let best = tokens.into_iter().cloned().zip(scores).collect();
    Ok(TokenScores::new(best, &plan.tokens))
}

/// 0 for a token that stands nowhere.
async fn best(index: &dyn SearchIndex, plan: &QueryPlan, token: &String) -> Result<f32> {
    let query = KeywordQuery {
        generation: plan.generation.as_deref(),
        tokens: std::slice::from_ref(token),
        filter: &plan.filter,
        candidates: None,
        limit: 1,
    };
    let found = index.keyword(query).await?;
    Ok(found.first().map_or(0.0, |chunk| chunk.score))
}

impl TokenScores {
    fn new(best: HashMap<String, f32>, tokens: &[String]) -> Self {
        let rarest = best.values().copied().fold(0.0, f32::max);
        let or_rarest = |score: f32| if score > 0.0 { score } else { rarest };
        let of = |token: &String| best.get(token).copied().map(or_rarest);
        let highest = tokens.iter().filter_map(of).sum();
        Self { best, highest }
    }

    /// Share of the question that a chunk with this BM25 score covers, 0 to 1.
    pub fn coverage(&self, keyword_score: f32) -> f32 {
        if self.highest > 0.0 {
            (keyword_score / self.highest).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    /// Whether the token was looked for and stands nowhere.
    pub fn is_unmatched(&self, token: &str) -> bool {
        self.best.get(token).is_some_and(|score| *score <= 0.0)
    }
}

/// A word of the question as written, and the tokens that stand for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As written.
    pub text: String,
    /// What the analyzer makes of it.
    pub tokens: Vec<String>,
    /// Whether it looks like a name: an answer that lacks a name is to be doubted, however well it
    /// fits; one that lacks another word may say the same in other words.
    pub is_name: bool,
}

impl Word {
    /// Whether it is of those whose absence says something about an answer of this relevance.
    fn is_missed(&self, relevance: f32) -> bool {
        let is_answered = relevance >= ANSWERED;
        (self.is_name || !is_answered) && !is_function_word(&self.text)
    }
}

/// Whether a question of these words asks for anything; `tokens` has those of scripts without spaces
/// too that are no words by themselves.
pub fn asks_for_something(words: &[Word], tokens: &[String]) -> bool {
    let written = words.iter().map(|word| &word.text);
    let others = tokens.iter().filter(|token| !token.is_ascii());
    written.chain(others).any(|word| !is_function_word(word))
}

/// Words that stand nowhere, each once; parts of a word that stands nowhere are not named again,
/// nor are words that say nothing. `relevance` is that of the best hit.
pub fn unmatched(words: &[Word], scores: &TokenScores, relevance: f32) -> Vec<String> {
    let stands_nowhere = |word: &&Word| {
        let tokens = &word.tokens;
        !tokens.is_empty() && tokens.iter().all(|token| scores.is_unmatched(token))
    };
    let words = words.iter().filter(|word| word.is_missed(relevance));
    let nowhere: Vec<&str> = words
        .filter(stands_nowhere)
        .map(|word| word.text.as_str())
        .collect();
    let is_part = |word: &str| {
        nowhere
            .iter()
            .any(|other| other.len() > word.len() && other.contains(word))
    };
    let mut named: Vec<String> = Vec::new();
    for word in &nowhere {
        if !is_part(word) && !named.iter().any(|known| known == word) {
            named.push((*word).to_owned());
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(best: &[(&str, f32)], tokens: &[&str]) -> TokenScores {
        let best = best
            .iter()
            .map(|(token, score)| ((*token).to_owned(), *score));
        let tokens: Vec<String> = tokens.iter().map(|token| (*token).to_owned()).collect();
        TokenScores::new(best.collect(), &tokens)
    }

    #[test]
    fn a_chunk_covers_the_share_of_the_best_that_there_is() {
        let known = scores(&[("tilt", 4.0), ("of", 1.0)], &["tilt", "of", "of"]);
        let rare = scores(&[("tilt", 4.0), ("x", 0.0)], &["tilt", "x"]);
        let none = scores(&[("x", 0.0)], &["x"]);
        let table = [
            (&known, 6.0, 1.0),
            (&known, 3.0, 0.5),
            (&known, 7.0, 1.0),
            (&rare, 4.0, 0.5),
            (&none, 0.0, 0.0),
        ];
        for (scores, keyword, expected) in table {
            assert_eq!(scores.coverage(keyword), expected, "{scores:?} {keyword}");
        }
    }

    #[test]
    fn a_question_of_function_words_asks_for_nothing() {
        let asks = |words: &[&str], tokens: &[&str]| {
            let word = |text: &&str| Word {
                text: (*text).to_owned(),
                tokens: Vec::new(),
                is_name: false,
            };
            let words: Vec<Word> = words.iter().map(word).collect();
            let tokens: Vec<String> = tokens.iter().map(|token| (*token).to_owned()).collect();
            asks_for_something(&words, &tokens)
        };
        assert!(!asks(&["How", "is", "this"], &["how", "is", "thi"]));
        assert!(!asks(&[], &["的"]) && !asks(&["x"], &["x"]));
        assert!(asks(&[], &["锁"]) && asks(&["is", "tilt"], &["is", "tilt"]));
    }

    #[test]
    fn words_that_stand_nowhere_are_named_as_written_and_without_their_parts() {
        let word = |text: &str, tokens: &[&str]| Word {
            text: text.into(),
            tokens: tokens.iter().map(|token| (*token).to_owned()).collect(),
            is_name: text.starts_with("0X"),
        };
        let scores = scores(
            &[
                ("tilt", 1.0),
                ("0x8", 0.0),
                ("紫杉", 0.0),
                ("紫杉醇", 0.0),
                ("how", 0.0),
                ("多少", 0.0),
            ],
            &[],
        );
        let words = [
            word("Tilt", &["tilt"]),
            word("0X8", &["0x8"]),
            word("紫杉", &["紫杉"]),
            word("紫杉醇", &["紫杉醇"]),
            word("0X8", &["0x8"]),
            word("not", &["looked", "for"]),
            word("How", &["how"]),
            word("多少", &["多少"]),
        ];
        assert_eq!(unmatched(&words, &scores, 0.2), ["0X8", "紫杉醇"]);
        assert_eq!(unmatched(&words, &scores, 0.9), ["0X8"], "it is answered");
    }
}
