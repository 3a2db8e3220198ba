//! Settings of the two stages; the values live in `cli/default.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, Result};
use tributary_store::search_index::Bm25;
use tributary_taxonomy::SummaryMode;

/// Section `enrich` of the configuration.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How documents are cut.
    pub chunker: ChunkerConfig,
    /// The chunk stage.
    pub chunk: ChunkStageConfig,
    /// Summaries by a language model.
    pub summaries: SummariesConfig,
    /// Descriptions of code by a language model.
    pub descriptions: DescriptionsConfig,
    /// The embed stage.
    pub embed: EmbedConfig,
    /// How keywords are weighed.
    pub bm25: Bm25,
}

/// How documents are cut. Every figure shapes the result and is part of
/// [`crate::chunkers::fingerprint`].
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ChunkerConfig {
    /// A section with sections below it is one chunk up to this many tokens; above it, a summary
    /// stands for it.
    pub section_limit_tokens: usize,
    /// A leaf is at least this long, unless it is the last one of its text or an unbreakable block
    /// ends it.
    pub leaf_minimum_tokens: usize,
    /// A leaf is never longer, unless it is one unbreakable block.
    pub leaf_maximum_tokens: usize,
    /// Least share of a leaf that the next one repeats.
    pub overlap_minimum: f64,
    /// Largest share of a leaf that the next one repeats.
    pub overlap_maximum: f64,
    /// Length of a summary.
    pub summary_limit_tokens: usize,
    /// Code, formulas and tables are never cut up to this many tokens; above it, at line ends. A
    /// safety net for absurd documents.
    pub block_limit_tokens: usize,
}

/// How the documents of one generation of the index are cut: all alike, but for knowledge sets that
/// have settings of their own.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Chunkers {
    /// For documents of no set below.
    pub default: ChunkerConfig,
    /// By knowledge set; of several, the first in alphabetical order that a document belongs to
    /// counts.
    pub by_set: BTreeMap<String, ChunkerConfig>,
    /// What stands for long sections in documents of some sets; of several the first in
    /// alphabetical order counts, and where none says it, the profile of the source.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub summaries_by_set: BTreeMap<String, SummaryMode>,
    /// By which prompts a model writes for documents of some sets; of several the first in
    /// alphabetical order counts, and where none says it, the profile of the source.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prompts_by_set: BTreeMap<String, PromptVariant>,
}

/// Prompts that a knowledge set names for itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PromptVariant {
    /// Name of the variant.
    pub name: String,
    /// Which texts exactly they were, see [`tributary_models::prompts::Prompt::id`].
    pub prompts: Vec<String>,
}

impl Chunkers {
    /// The settings for a document that belongs to these knowledge sets.
    pub fn of(&self, knowledge_sets: &[String]) -> &ChunkerConfig {
        let own = self
            .by_set
            .iter()
            .find(|(set, _)| knowledge_sets.contains(set));
        own.map_or(&self.default, |(_, chunker)| chunker)
    }

    /// The variant of prompts for a document of these knowledge sets, if one of them names one.
    pub fn prompts_of(&self, knowledge_sets: &[String]) -> Option<&str> {
        let mut own = self.prompts_by_set.iter();
        let (_, variant) = own.find(|(set, _)| knowledge_sets.contains(set))?;
        Some(&variant.name)
    }

    /// What these knowledge sets say of summaries.
    pub fn summaries_of(&self, knowledge_sets: &[String]) -> Option<SummaryMode> {
        let mut own = self.summaries_by_set.iter();
        let (_, mode) = own.find(|(set, _)| knowledge_sets.contains(set))?;
        Some(*mode)
    }
}

/// Settings of the chunk stage.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ChunkStageConfig {
    /// Documents that are cut at the same time; bounds memory.
    pub documents_in_flight: usize,
    /// Documents that are cut or wait for a model, at most.
    pub documents_waiting: usize,
}

/// Settings of summaries by a language model: that of the role `summarize`, if it has one.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SummariesConfig {
    /// Tokens of a section that the model is shown whole; of a longer one it sees the beginning
    /// and what stands for the sections below.
    pub input_tokens: usize,
    /// How long a document waits for a model that is away, seconds; then its extractive summaries
    /// are taken.
    pub patience_seconds: u64,
}

/// Settings of descriptions of source code by a language model: that of the role `describe_code`,
/// if it has one.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DescriptionsConfig {
    /// `en` or `zh`; empty for that of the comments.
    pub language: String,
    /// Definitions of fewer lines keep the description that is made without a model.
    pub shortest_lines: usize,
    /// Tokens of code that the model is shown; of longer code it sees the beginning.
    pub input_tokens: usize,
    /// Tokens of the description of a definition at most.
    pub limit_tokens: usize,
    /// Tokens of the summary of a file at most.
    pub file_limit_tokens: usize,
    /// How long a document waits for a model that is away, seconds; then the descriptions that are
    /// made without one are taken.
    pub patience_seconds: u64,
}

/// Settings of the embed stage.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EmbedConfig {
    /// Longer embedding texts are cut into windows of at most this many tokens, whose vectors are
    /// averaged.
    pub window_tokens: usize,
    /// Windows per chunk at most; the rest of a longer chunk has no part in its vector.
    pub window_limit: usize,
    /// Of a chunk with several windows, how many keep a vector of their own beside it, the first
    /// ones; 0 for none.
    pub kept_windows: usize,
    /// Fold traditional Chinese characters to simplified ones before embedding.
    pub fold_traditional: bool,
    /// Keep the stored vectors of chunks whose text did not change.
    pub reuse_vectors: bool,
    /// Bytes of embedding text that go to the models in one call: a document's turn.
    pub batch_bytes: usize,
    /// Batches that are embedded side by side.
    pub batches_in_flight: usize,
    /// Documents that take turns, at most.
    pub documents_in_flight: usize,
    /// Bytes of records that are read and not yet done, at most; bounds memory.
    pub in_flight_bytes: usize,
}

impl Config {
    /// Everything that is wrong with the values, one line each; empty when all is well.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.chunker.problems();
        let positive = [
            (
                "enrich.chunk.documents_in_flight",
                self.chunk.documents_in_flight,
            ),
            (
                "enrich.chunk.documents_waiting",
                self.chunk.documents_waiting,
            ),
            ("enrich.embed.window_limit", self.embed.window_limit),
            ("enrich.embed.batch_bytes", self.embed.batch_bytes),
            (
                "enrich.embed.batches_in_flight",
                self.embed.batches_in_flight,
            ),
            (
                "enrich.embed.documents_in_flight",
                self.embed.documents_in_flight,
            ),
            ("enrich.embed.in_flight_bytes", self.embed.in_flight_bytes),
        ];
        problems.extend(
            positive
                .iter()
                .filter(|(_, value)| *value == 0)
                .map(|(name, _)| format!("{name} must be at least 1")),
        );
        if self.summaries.input_tokens < 256 {
            problems.push("enrich.summaries.input_tokens must be at least 256".to_owned());
        }
        problems.extend(self.descriptions.problems());
        if self.embed.window_tokens < 32 {
            problems.push("enrich.embed.window_tokens must be at least 32".to_owned());
        }
        if !self.bm25.is_valid() {
            problems.push(format!(
                "enrich.bm25: k1 must be 0 to {}, b 0 to 1",
                Bm25::MAXIMUM_K1
            ));
        }
        problems
    }

    /// `Invalid` with all problems in one message.
    pub fn check(&self) -> Result<()> {
        let problems = self.problems();
        if problems.is_empty() {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::Invalid, problems.join("; ")))
        }
    }
}

impl DescriptionsConfig {
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if !["", "en", "zh"].contains(&self.language.as_str()) {
            problems.push(format!(
                "enrich.descriptions.language is \"{}\"; there are \"en\", \"zh\" and \"\" (that of the comments)",
                self.language
            ));
        }
        let least = [
            ("input_tokens", self.input_tokens, 256),
            ("limit_tokens", self.limit_tokens, 32),
            ("file_limit_tokens", self.file_limit_tokens, 32),
        ];
        let short = least.iter().filter(|(_, value, least)| value < least);
        problems.extend(short.map(|(name, _, least)| {
            format!("enrich.descriptions.{name} must be at least {least}")
        }));
        problems
    }
}

impl ChunkerConfig {
    /// These settings with some of them replaced, by key. `Invalid` for an unknown key, a wrong
    /// type, or figures that contradict each other.
    pub fn with(&self, replaced: &BTreeMap<String, serde_json::Value>) -> Result<Self> {
        let invalid =
            |what: String| Error::new(ErrorKind::Invalid, format!("chunker settings: {what}"));
        let mut settings =
            serde_json::to_value(self).map_err(|error| invalid(error.to_string()))?;
        if let Some(table) = settings.as_object_mut() {
            table.extend(
                replaced
                    .iter()
                    .map(|(key, value)| (key.clone(), value.clone())),
            );
        }
        let merged: Self =
            serde_json::from_value(settings).map_err(|error| invalid(error.to_string()))?;
        match merged.problems() {
            problems if problems.is_empty() => Ok(merged),
            problems => Err(invalid(problems.join("; "))),
        }
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut require = |holds: bool, problem: &str| {
            if !holds {
                problems.push(format!("enrich.chunker.{problem}"));
            }
        };
        require(
            self.leaf_maximum_tokens >= 32,
            "leaf_maximum_tokens must be at least 32",
        );
        require(
            self.leaf_minimum_tokens < self.leaf_maximum_tokens,
            "leaf_minimum_tokens must be below leaf_maximum_tokens",
        );
        require(
            self.section_limit_tokens >= self.leaf_maximum_tokens,
            "section_limit_tokens must not be below leaf_maximum_tokens",
        );
        require(
            self.block_limit_tokens >= self.leaf_maximum_tokens,
            "block_limit_tokens must not be below leaf_maximum_tokens",
        );
        require(
            self.summary_limit_tokens >= 16,
            "summary_limit_tokens must be at least 16",
        );
        require(
            (0.0..=0.5).contains(&self.overlap_maximum),
            "overlap_maximum must be between 0 and 0.5",
        );
        require(
            (0.0..=self.overlap_maximum).contains(&self.overlap_minimum),
            "overlap_minimum must be between 0 and overlap_maximum",
        );
        problems
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn config() -> Config {
        let chunker = ChunkerConfig {
            section_limit_tokens: 2000,
            leaf_minimum_tokens: 512,
            leaf_maximum_tokens: 800,
            overlap_minimum: 0.1,
            overlap_maximum: 0.15,
            summary_limit_tokens: 256,
            block_limit_tokens: 32768,
        };
        let embed = EmbedConfig {
            window_tokens: 500,
            window_limit: 16,
            kept_windows: 16,
            fold_traditional: true,
            reuse_vectors: true,
            batch_bytes: 1 << 15,
            batches_in_flight: 2,
            documents_in_flight: 2,
            in_flight_bytes: 1 << 26,
        };
        Config {
            bm25: Bm25::DEFAULT,
            chunker,
            chunk: ChunkStageConfig {
                documents_in_flight: 2,
                documents_waiting: 8,
            },
            summaries: SummariesConfig {
                input_tokens: 6000,
                patience_seconds: 60,
            },
            descriptions: DescriptionsConfig {
                language: String::new(),
                shortest_lines: 4,
                input_tokens: 2000,
                limit_tokens: 128,
                file_limit_tokens: 256,
                patience_seconds: 60,
            },
            embed,
        }
    }

    #[test]
    fn a_set_replaces_single_figures_and_the_first_set_of_a_document_counts() {
        let base = config().chunker;
        let replaced =
            |key: &str, value: u64| base.with(&BTreeMap::from([(key.to_owned(), value.into())]));
        let small = replaced("leaf_maximum_tokens", 600).unwrap();
        assert_eq!(
            (small.leaf_maximum_tokens, small.leaf_minimum_tokens),
            (600, 512)
        );
        assert!(
            replaced("leaf_maximum", 600)
                .unwrap_err()
                .to_string()
                .contains("leaf_maximum")
        );
        assert_eq!(
            replaced("leaf_maximum_tokens", 100).unwrap_err().kind(),
            ErrorKind::Invalid
        );
        let large = replaced("leaf_maximum_tokens", 900).unwrap();
        let by_set = BTreeMap::from([
            ("b".to_owned(), small.clone()),
            ("a".to_owned(), large.clone()),
        ]);
        let chunkers = Chunkers {
            default: base.clone(),
            by_set,
            summaries_by_set: BTreeMap::from([("b".to_owned(), SummaryMode::None)]),
            prompts_by_set: BTreeMap::new(),
        };
        let of_sets = chunkers.summaries_of(&["a".into(), "b".into()]);
        assert_eq!(of_sets, Some(SummaryMode::None), "`a` says nothing of them");
        assert_eq!(chunkers.of(&[]), &base);
        assert_eq!(chunkers.of(&["z".into(), "b".into()]), &small);
        assert_eq!(chunkers.of(&["b".into(), "a".into()]), &large);
    }

    #[test]
    fn all_problems_are_told_at_once_and_by_name() {
        config().check().unwrap();
        let mut wrong = config();
        wrong.chunker.leaf_minimum_tokens = 900;
        wrong.chunker.overlap_minimum = f64::NAN;
        wrong.embed.window_limit = 0;
        let error = wrong.check().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        for name in [
            "enrich.chunker.leaf_minimum_tokens",
            "enrich.chunker.overlap_minimum",
            "enrich.embed.window_limit",
        ] {
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
