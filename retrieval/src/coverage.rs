//! How much of the question a chunk covers, and which of its words stand nowhere.
//!
//! coverage(chunk) = BM25(chunk) / Σ best(t), both over the tokens of the question that are more than
//! function words, where best(t) is the highest BM25 score that the token t alone gives any chunk
//! that the caller may find. A token that stands nowhere is taken to be as
//! rare as the rarest of the others. Unlike a score that is normalised within one answer, this
//! tells a question that is answered from one of whose words the best chunk has only the common
//! ones.

use std::collections::{HashMap, HashSet};

use futures::future::try_join_all;
use tributary_models::terms::is_ideograph;
use tributary_schemas::search::{Hit, QueryPlan, ScoredChunk};
use tributary_schemas::{ChunkId, Result};
use tributary_store::search_index::{KeywordQuery, SearchIndex};

use crate::fine::FineChunk;
use crate::function_words::is_function_word;
use crate::{exact_name, leaving, plan};

/// Tokens that are looked at: the rest of a question as long as a page says nothing new.
const MAXIMUM_TOKENS: usize = 48;

/// Best chunks of a token that are looked at while some may be withheld; where all of them are, the
/// token stands nowhere.
const LOOKED_AT: usize = 8;

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
/// which words stand in documents that they may not see. `content` is of [`content_tokens`].
pub async fn token_scores(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    content: &[String],
) -> Result<TokenScores> {
    if !plan::uses_keywords(plan) {
        return Ok(TokenScores::default());
    }
    let mut tokens: Vec<&String> = Vec::new();
    for token in content {
        if tokens.len() < MAXIMUM_TOKENS && !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    let may_be_withheld = plan.filter.may_be_withheld();
    let limit = if may_be_withheld { LOOKED_AT } else { 1 };
    let asked = tokens.iter().map(|token| best(index, plan, token, limit));
    let mut found: Vec<Vec<ScoredChunk>> = try_join_all(asked).await?;
    if may_be_withheld {
        found = seen(index, plan, found).await?;
    }
    let scores = found
        .iter()
        .map(|found| found.first().map_or(0.0, |chunk| chunk.score));
    let best = tokens.into_iter().cloned().zip(scores).collect();
    Ok(TokenScores::new(best, content))
}

/// Those of the chunks that may leave: while a document waits with narrower rights the filter still
/// finds it.
async fn seen(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    mut found: Vec<Vec<ScoredChunk>>,
) -> Result<Vec<Vec<ScoredChunk>>> {
    let ids: HashSet<ChunkId> = found.iter().flatten().map(|chunk| chunk.chunk_id).collect();
    let ids: Vec<ChunkId> = ids.into_iter().collect();
    let stored = leaving::fetch(index, plan.generation.as_deref(), &ids, &plan.filter).await?;
    let seen: HashSet<ChunkId> = stored
        .iter()
        .flatten()
        .map(|stored| stored.chunk.chunk_id)
        .collect();
    for of_token in &mut found {
        of_token.retain(|chunk| seen.contains(&chunk.chunk_id));
    }
    Ok(found)
}

/// Puts the BM25 score by these tokens alone in the place of that by all tokens of the question,
/// unless they are all.
pub async fn score_by_content(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    content: &[String],
    chunks: &mut [FineChunk],
) -> Result<()> {
    let is_all = content.len() == plan.tokens.len();
    if is_all || !plan::uses_keywords(plan) {
        return Ok(());
    }
    let ids: Vec<ChunkId> = chunks.iter().map(|chunk| chunk.chunk_id).collect();
    let query = KeywordQuery {
        generation: plan.generation.as_deref(),
        tokens: content,
        filter: &plan.filter,
        candidates: Some(&ids),
        limit: ids.len(),
    };
    let found = match content.is_empty() || ids.is_empty() {
        true => Vec::new(),
        false => index.keyword(query).await?,
    };
    let scores: HashMap<ChunkId, f32> = found
        .into_iter()
        .map(|chunk| (chunk.chunk_id, chunk.score))
        .collect();
    for chunk in chunks {
        chunk.keyword_raw = scores.get(&chunk.chunk_id).copied().unwrap_or(0.0);
    }
    Ok(())
}

/// The best chunks of a token; none for one that stands nowhere.
async fn best(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    token: &String,
    limit: usize,
) -> Result<Vec<ScoredChunk>> {
    let query = KeywordQuery {
        generation: plan.generation.as_deref(),
        tokens: std::slice::from_ref(token),
        filter: &plan.filter,
        candidates: None,
        limit,
    };
    index.keyword(query).await
}

impl TokenScores {
    fn new(best: HashMap<String, f32>, tokens: &[String]) -> Self {
        let scores = Self { best, highest: 0.0 };
        let highest = tokens.iter().filter_map(|token| scores.best(token)).sum();
        scores.with_highest(highest)
    }

    /// What a chunk that covers all scores, in the place of the sum over the tokens.
    pub fn with_highest(self, highest: f32) -> Self {
        Self { highest, ..self }
    }

    /// The best score of a token; that of the rarest where it stands nowhere, none where it was not
    /// looked for.
    pub fn best(&self, token: &str) -> Option<f32> {
        let best = self.best.get(token).copied()?;
        Some(if best > 0.0 { best } else { self.rarest() })
    }

    fn rarest(&self) -> f32 {
        self.best.values().copied().fold(0.0, f32::max)
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

/// The tokens of a question that are more than function words, as often as they are there. Stems of
/// function words are none either, and a letter or digit alone asks for nothing.
pub fn content_tokens(words: &[Word], tokens: &[String]) -> Vec<String> {
    let of_words = |is_wanted: bool| {
        let wanted = move |word: &&Word| is_function_word(&word.text) == is_wanted;
        let words = words.iter().filter(wanted);
        words.flat_map(|word| &word.tokens).collect::<HashSet<_>>()
    };
    let (empty, content) = (of_words(true), of_words(false));
    let says_something = |token: &&String| {
        let is_empty = is_function_word(token) || empty.contains(token);
        !is_empty || content.contains(token)
    };
    let content: Vec<String> = tokens.iter().filter(says_something).cloned().collect();
    let is_lone = |token: &String| token.len() == 1;
    match content.iter().all(is_lone) {
        true => Vec::new(),
        false => content,
    }
}

/// Words that stand nowhere, each once; parts of a word that stands nowhere are not named again,
/// nor are words that say nothing. `relevance` is that of the best hit.
pub fn unmatched(words: &[Word], scores: &TokenScores, relevance: f32) -> Vec<String> {
    let stands_nowhere = |word: &&Word| match word.tokens.as_slice() {
        [] => false,
        // An identifier is cut into its words behind it: these may stand anywhere.
        [whole, ..] if exact_name::is_identifier(&word.text) => scores.is_unmatched(whole),
        tokens => tokens.iter().all(|token| scores.is_unmatched(token)),
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

/// The words without Chinese ones that a hit has within longer words, which are other tokens: who
/// reads the hit sees them.
pub fn without_parts(mut words: Vec<String>, hits: &[Hit]) -> Vec<String> {
    let has = |hit: &Hit, word: &str| hit.text.contains(word) || hit.title.contains(word);
    words.retain(|word| !word.chars().any(is_ideograph) || !hits.iter().any(|hit| has(hit, word)));
    words
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
    fn function_words_and_their_stems_are_no_content() {
        let content = |words: &[(&str, &[&str])], tokens: &[&str]| {
            let owned = |tokens: &[&str]| tokens.iter().map(|token| (*token).to_owned()).collect();
            let word = |(text, tokens): &(&str, &[&str])| Word {
                text: (*text).to_owned(),
                tokens: owned(tokens),
                is_name: false,
            };
            let words: Vec<Word> = words.iter().map(word).collect();
            let tokens: Vec<String> = owned(tokens);
            content_tokens(&words, &tokens)
        };
        let english = [
            ("How", &["how"][..]),
            ("this", &["this", "thi"]),
            ("tilt", &["tilt"]),
        ];
        assert_eq!(content(&english, &["how", "this", "thi", "tilt"]), ["tilt"]);
        assert_eq!(
            content(&[("怎么", &["怎么"])], &["怎么", "的", "锁"]),
            ["锁"]
        );
        assert_eq!(content(&[], &["扇区", "3"]), ["扇区", "3"]);
        assert!(content(&[], &["的"]).is_empty() && content(&[], &["x"]).is_empty());
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
                ("load_checkpoint", 3.0),
                ("load_chekpoint", 0.0),
                ("load", 1.0),
                ("chekpoint", 0.0),
                ("checkpoint", 1.0),
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
            word("load_chekpoint", &["load_chekpoint", "load", "chekpoint"]),
            word(
                "load_checkpoint",
                &["load_checkpoint", "load", "checkpoint"],
            ),
        ];
        assert_eq!(
            unmatched(&words, &scores, 0.2),
            ["0X8", "紫杉醇", "load_chekpoint"]
        );
        assert_eq!(unmatched(&words, &scores, 0.9), ["0X8"], "it is answered");
    }
}
