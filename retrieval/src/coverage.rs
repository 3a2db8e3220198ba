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
use tributary_store::search_index::{KeywordQuery, SearchIndex, StoredChunk};
use tributary_taxonomy::fold;

use crate::fine::FineChunk;
use crate::function_words::is_function_word;
use crate::{exact_name, leaving, plan};

/// Tokens that are looked at: the rest of a question as long as a page says nothing new.
const MAXIMUM_TOKENS: usize = 48;

/// Best chunks of a token that are looked at while some may be withheld; where all of them are, the
/// token stands nowhere.
const LOOKED_AT: usize = 8;

/// Chunks that are looked at for characters that stand together.
const LOOKED_AT_FOR_SEQUENCES: usize = 50;

/// Relevance from which a hit is taken to answer the question.
const ANSWERED: f32 = 0.7;

/// Relevance from which a hit may well answer the question.
const LIKELY: f32 = 0.35;

/// Chinese words of one character that say where, how many, with what and whom: they join no name.
const ALONE: &str = "上中下里内外前后左右间旁和与或及跟同给把被对向往从自到在于用以为因由比按一二两三四五六七八九十百千万几多少每各某这那此该其之个只条张本台件次位名种类项段层级份不没未无非也都就才再又还很太更最且并而但则若如是有做让使叫请要想能会可应该来去出起过着了吗呢吧啊";

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

/// The words without those that a hit has all the same, where they are parts of other tokens: Chinese
/// ones within longer words, others as a part of a joined name. Who reads the hit sees them.
pub fn without_parts(mut words: Vec<String>, hits: &[Hit]) -> Vec<String> {
    words.retain(|word| {
        let mut texts = hits.iter().flat_map(|hit| [&hit.title, &hit.text]);
        match word.chars().any(is_ideograph) {
            true => !texts.any(|text| text.contains(word)),
            false => !texts.any(|text| stands_in(word, text)),
        }
    });
    words
}

/// Whether a text has the word between signs that are no part of words.
fn stands_in(word: &str, text: &str) -> bool {
    let (word, text) = (word.to_lowercase(), text.to_lowercase());
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_';
    text.match_indices(&word).any(|(start, _)| {
        let before = text.get(..start).unwrap_or_default().chars().next_back();
        let behind = text.get(start + word.len()..).unwrap_or_default();
        !before.is_some_and(is_part) && !behind.chars().next().is_some_and(is_part)
    })
}

/// Sequences of Chinese characters of a question that the dictionary knows no words for, such as the
/// name of a product that is new: each character stands somewhere, which says nothing. `tokens` are
/// those of the question, in their order. None where a hit of this relevance may answer it: words that
/// are alone in a sentence stand beside each other, too.
fn unknown_sequences(query: &str, tokens: &[String], relevance: f32) -> Vec<Vec<String>> {
    if relevance >= LIKELY {
        return Vec::new();
    }
    let is_lone = |token: &String| {
        let mut characters = token.chars();
        let first = characters.next().filter(|sign| is_ideograph(*sign));
        let first = first.filter(|sign| !ALONE.contains(*sign));
        first.is_some() && characters.next().is_none() && !is_function_word(token)
    };
    let runs = tokens.chunk_by(|left, right| is_lone(left) && is_lone(right));
    let query = fold(query);
    let is_written = |run: &&[String]| run.len() > 1 && query.contains(&run.concat());
    runs.filter(is_written).map(<[String]>::to_vec).collect()
}

/// Those sequences of a question that stand together in none of the chunks that have most of their
/// characters, as far as the caller may find them. `relevance` is that of the best hit.
pub async fn sequences_nowhere(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    query: &str,
    relevance: f32,
) -> Result<Vec<String>> {
    let mut nowhere = Vec::new();
    for tokens in unknown_sequences(query, &plan.tokens, relevance) {
        let query = KeywordQuery {
            generation: plan.generation.as_deref(),
            tokens: &tokens,
            filter: &plan.filter,
            candidates: None,
            limit: LOOKED_AT_FOR_SEQUENCES,
        };
        let found = index.keyword(query).await?;
        let ids: Vec<ChunkId> = found.iter().map(|chunk| chunk.chunk_id).collect();
        let stored = leaving::fetch(index, plan.generation.as_deref(), &ids, &plan.filter).await?;
        let sequence = tokens.concat();
        let has_it = |stored: &StoredChunk| {
            let texts = [&stored.chunk.text, &stored.document.title];
            texts.iter().any(|text| fold(text).contains(&sequence))
        };
        if !stored.iter().flatten().any(has_it) {
            nowhere.push(sequence);
        }
    }
    Ok(nowhere)
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

    #[test]
    fn a_word_stands_in_a_text_between_signs_of_no_word() {
        assert!(stands_in("get_Ckpt", "call mindspore.get_ckpt(x)"));
        assert!(stands_in("rru", "RRU 5900"));
        assert!(!stands_in("get_ckpt", "get_ckpt_path") && !stands_in("load", "unload, loader"));
    }

    #[test]
    fn characters_without_words_are_sequences() {
        let runs = |query: &str, tokens: &[&str]| {
            let tokens: Vec<String> = tokens.iter().map(|token| (*token).to_owned()).collect();
            let runs = unknown_sequences(query, &tokens, 0.3).into_iter();
            runs.map(|run| run.concat()).collect::<Vec<_>>()
        };
        let name = ["翠", "晶", "灵", "雀", "是", "什么"];
        assert_eq!(runs("翠晶靈雀是什么？", &name), ["翠晶灵雀"]);
        assert_eq!(runs("双、卡", &["双", "卡"]), [""; 0]);
        assert_eq!(runs("队中和威尔", &["队", "中", "和", "威尔"]), [""; 0]);
        assert_eq!(runs("给手机充电", &["给", "手机", "充电"]), [""; 0]);
        let tokens = name.map(str::to_owned);
        assert!(unknown_sequences("翠晶灵雀是什么", &tokens, 0.5).is_empty());
    }
}
