//! Training data for an embedding model from one's own documents: questions with the passages that
//! answer them, cleaned, with hard negatives, split by document. Behind `tributary training`.
//!
//! A folder of training data holds JSON lines, which later steps read and never change:
//!
//! | file | what | written by |
//! |---|---|---|
//! | `passages.jsonl` | all passages that were read, one [`TrainingPassage`] each | `generate`, anew |
//! | `pairs.jsonl` | questions, one [`Pair`] each | `generate`, as they come |
//! | `failures.jsonl` | passages without questions, one [`Failure`] each | `generate`, as they come |
//! | `clean.jsonl` | the pairs that are kept | `clean`, anew |
//! | `dropped.jsonl` | the others, one [`Dropped`] each | `clean`, anew |

pub mod clean;
pub mod export;
pub mod files;
pub mod folder;
pub mod generate;
pub mod negatives;
mod rule_sentences;
mod rule_words;
pub mod rules;
pub mod split;

use serde::{Deserialize, Serialize};
use tributary_schemas::ChunkId;
use tributary_schemas::search::SearchResponse;

/// A passage that questions are made from: one chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainingPassage {
    /// Chunk.
    pub chunk_id: ChunkId,
    /// Its document.
    pub document_id: String,
    /// Near-duplicates of the document, and the document that it duplicates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub family: Vec<String>,
    /// Title of the document.
    pub title: String,
    /// Titles above the passage, without that of the document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub section_path: Vec<String>,
    /// The text as Markdown.
    pub text: String,
}

impl TrainingPassage {
    /// Titles from the document's down, joined by ` › `; each once.
    pub fn path(&self) -> String {
        let sections = self.section_path.iter();
        let sections = sections.filter(|section| **section != self.title);
        let titles: Vec<&str> = std::iter::once(&self.title)
            .chain(sections)
            .map(String::as_str)
            .filter(|title| !title.is_empty())
            .collect();
        titles.join(" › ")
    }
}

/// Language of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English; serves every language but Chinese, as prompts do.
    En,
    /// Chinese.
    Zh,
}

impl Language {
    /// The language of a text.
    pub fn of(text: &str) -> Self {
        match tributary_taxonomy::language::is_chinese(text) {
            true => Self::Zh,
            false => Self::En,
        }
    }

    /// BCP 47 tag.
    pub fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::En => Self::Zh,
            Self::Zh => Self::En,
        }
    }
}

/// What of a passage a question is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// A fact of the passage.
    Content,
    /// What the titles above it name.
    Title,
    /// A statement that sums it up: what a reader looks for.
    Summary,
}

/// How long a question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Length {
    /// At most 8 words, or 16 Chinese characters.
    Short,
    /// At most 18 words, or 36 Chinese characters.
    Medium,
    /// More.
    Long,
}

impl Length {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Short, Self::Medium, Self::Long];

    /// The length of a question.
    pub fn of(question: &str) -> Self {
        match half_words(question) {
            0..=16 => Self::Short,
            17..=36 => Self::Medium,
            _ => Self::Long,
        }
    }

    /// The name in files and prompts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Medium => "medium",
            Self::Long => "long",
        }
    }
}

/// Length of a text that is comparable in both languages: two for each word written with spaces,
/// one for each character written without.
pub fn half_words(text: &str) -> usize {
    let (mut half_words, mut in_word) = (0, false);
    for character in text.chars() {
        let is_ideograph = matches!(character, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}');
        let continues = character.is_alphanumeric() && !is_ideograph;
        half_words += usize::from(is_ideograph);
        half_words += if continues && !in_word { 2 } else { 0 };
        in_word = continues;
    }
    half_words
}

/// Letters and digits of a Markdown text that a reader sees: without addresses of links.
pub fn readable_characters(text: &str) -> usize {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default();
    let behind = parts.map(|part| part.split_once(')').map_or("", |(_, behind)| behind));
    let seen = std::iter::once(first).chain(behind);
    seen.map(|part| part.chars().filter(|sign| sign.is_alphanumeric()).count())
        .sum()
}

/// A question with the passage that answers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The question.
    pub question: String,
    /// Chunk that answers it.
    pub chunk_id: ChunkId,
    /// Its document.
    pub document_id: String,
    /// Near-duplicates of the document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub family: Vec<String>,
    /// Text of the chunk as Markdown.
    pub passage: String,
    /// Language of the question.
    pub language: Language,
    /// What the question was made from.
    pub style: Style,
    /// Version of the prompt or of the rules, such as `training_questions.zh@1:0a1b2c3d`.
    pub prompt: String,
    /// Model as its server names it; `rules` without one.
    pub model: String,
}

/// A passage that has no question, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Chunk.
    pub chunk_id: ChunkId,
    /// Its document.
    pub document_id: String,
    /// What would have made the question, as [`Pair::prompt`].
    pub prompt: String,
    /// As [`Pair::model`].
    pub model: String,
    /// Why there is none.
    pub reason: String,
    /// Whether asking again would fail again: it is not asked for again then.
    pub is_settled: bool,
}

/// A pair that is not used, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dropped {
    /// The step that dropped it.
    pub step: clean::Step,
    /// What it found.
    pub reason: String,
    /// The pair.
    pub pair: Pair,
}

/// Asks the index that the passages are in.
pub trait Search {
    /// At most `top_k` hits; near-duplicates as hits of their own if `unfold`.
    fn search(&self, question: &str, top_k: usize, unfold: bool) -> anyhow::Result<SearchResponse>;
}

/// Puts passages in an order by chance, so that the first ones are a sample of all.
pub fn shuffle(passages: &mut [TrainingPassage], seed: u64) {
    passages.sort_by_cached_key(|passage| chance(seed, &passage.chunk_id.to_string()));
}

/// An order by chance that is the same for the same seed.
pub(crate) fn chance(seed: u64, text: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes()).update(text.as_bytes());
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod samples {
    use super::*;
    use crate::Progress;

    /// Nobody looks on.
    pub struct Silent;

    impl Progress for Silent {
        fn at(&self, _: &str, _: usize, _: usize) {}
    }

    /// A pair whose chunk is named by a number.
    pub fn pair(question: &str, chunk: u8, document: &str) -> Pair {
        Pair {
            question: question.to_owned(),
            chunk_id: chunk_id(chunk),
            document_id: document.to_owned(),
            family: Vec::new(),
            passage: format!("passage {chunk}"),
            language: Language::of(question),
            style: Style::Content,
            prompt: "rules@2".to_owned(),
            model: "rules".to_owned(),
        }
    }

    /// An id of a chunk.
    pub fn chunk_id(number: u8) -> ChunkId {
        serde_json::from_value(format!("{number:032x}").into()).unwrap()
    }

    /// An answer with these hits: chunk, document, score of tier 2.
    pub fn response(hits: &[(u8, &str, f32)]) -> SearchResponse {
        let hit = |(rank, (chunk, document, score)): (usize, &(u8, &str, f32))| {
            serde_json::json!({"rank": rank + 1, "score": score, "chunk_id": chunk_id(*chunk),
                "document_id": document, "version": 1, "source": "s", "source_path": "p",
                "title": "t", "section_path": [], "text": format!("passage {chunk}"), "url": "",
                "pages": [], "kind": "section", "tags": [], "knowledge_sets": [], "images": [],
                "scores": {"fine": score}})
        };
        let hits: Vec<_> = hits.iter().enumerate().map(hit).collect();
        let answer = serde_json::json!({"query": "q", "took_ms": 1.0, "degraded": [], "tiers": {"rerank": {"candidates": 80, "ms": 0.0}},
            "hits": hits});
        serde_json::from_value(answer).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_comparable_in_both_languages() {
        let lengths = [
            ("carrier aggregation", 4, Length::Short),
            ("载波聚合最多支持几个载波", 12, Length::Short),
            ("mindspore.nn.Conv2d 的参数", 9, Length::Short),
            (
                "How many component carriers does carrier aggregation support at most?",
                20,
                Length::Medium,
            ),
        ];
        for (text, half, length) in lengths {
            assert_eq!(
                (half_words(text), Length::of(text)),
                (half, length),
                "{text}"
            );
        }
        assert_eq!(Length::of(&"字".repeat(37)), Length::Long);
    }

    #[test]
    fn addresses_of_links_are_not_read() {
        let text = "# Tilt\n\n[![logo](image:0)](https://example.org/long/path.md) 6 degrees";
        assert_eq!(readable_characters(text), 4 + 4 + 8);
        assert_eq!(readable_characters("载波 [聚合](a"), 4);
    }

    #[test]
    fn a_path_names_each_title_once() {
        let passage = TrainingPassage {
            chunk_id: samples::chunk_id(1),
            document_id: "d".to_owned(),
            family: Vec::new(),
            title: "Guide".to_owned(),
            section_path: vec!["Guide".to_owned(), "Setup".to_owned()],
            text: String::new(),
        };
        assert_eq!(passage.path(), "Guide › Setup");
    }
}
