//! Cutting clean documents into chunks: one file per strategy, and one for presentations, each with a version of its own code,
//! so that a change of one leaves the chunks of the others. `leaves` cuts text by tokens and
//! `assemble` gives chunks their ids and neighbours, for any strategy.

mod api;
mod assemble;
mod code;
mod faq;
mod headings;
mod leaves;
mod levels;
mod parts;
mod sections;
mod slides;
mod whole;

use tributary_models::TokenCounter;
use tributary_schemas::{Chunk, CleanDocument};
/// How a document is cut; the source profile names one.
pub use tributary_taxonomy::ChunkStrategy as Strategy;

pub(crate) use self::assemble::renewed;
pub use self::assemble::{Cut, ModelTexts};
pub(crate) use self::levels::summary_for;
use crate::config::ChunkerConfig;
use crate::summaries::extractive;

/// Cuts a document, with extractive summaries. Deterministic: the same input gives the same chunks
/// with the same ids. Never fails: a blank document gives one chunk of its title, or none without
/// a title.
pub fn chunk(
    clean: &CleanDocument,
    strategy: Strategy,
    config: &ChunkerConfig,
    tokens: &dyn TokenCounter,
) -> Vec<Chunk> {
    cut(clean, strategy, config, tokens).finish(ModelTexts::default(), tokens)
}

/// [`chunk`] up to the point where summaries are needed.
pub fn cut(
    clean: &CleanDocument,
    strategy: Strategy,
    config: &ChunkerConfig,
    tokens: &dyn TokenCounter,
) -> Cut {
    let (found, what) = match strategy {
        _ if clean.markdown.trim().is_empty() => return whole::chunk_title(clean, tokens),
        Strategy::Sections => return by_sections(clean, config, tokens),
        Strategy::Whole => return whole::chunk(clean, tokens),
        Strategy::Api => (
            api::chunk(clean, config, tokens).map(Cut::at_highest_level),
            "api entry",
        ),
        Strategy::Faq => (faq::chunk(clean, config, tokens), "questions"),
        Strategy::Code => (
            code::chunk(clean, config, tokens).map(Cut::at_highest_level),
            "definition",
        ),
        Strategy::Headings => (
            headings::chunk(clean, config, tokens),
            "heading of level 2 or 3",
        ),
    };
    found.unwrap_or_else(|| {
        let mut cut = by_sections(clean, config, tokens);
        cut.fallback = Some(format!("sections: no {what} found"));
        cut
    })
}

fn by_sections(clean: &CleanDocument, config: &ChunkerConfig, tokens: &dyn TokenCounter) -> Cut {
    match slides::is_deck(clean) {
        true => slides::chunk(clean, config, tokens),
        false => sections::chunk(clean, config, tokens),
    }
}

/// [`fingerprint`] of all strategies: what changes for any document when it changes.
pub fn fingerprint_of_all(config: &ChunkerConfig, writers: &WriterNames) -> String {
    let each = Strategy::ALL.map(|strategy| fingerprint(strategy, config, writers));
    each.join("/")
}

/// Who writes texts beside those of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterNames {
    /// Summaries of sections.
    pub summaries: String,
    /// Descriptions of code; empty where the chunker makes them.
    pub descriptions: String,
}

impl Default for WriterNames {
    /// No model.
    fn default() -> Self {
        Self {
            summaries: extractive::NAME.to_owned(),
            descriptions: String::new(),
        }
    }
}

/// Hash over strategy, settings, who writes summaries and descriptions, and the strategy's code
/// version; `lineage.chunker`. 16 hexadecimal digits.
pub fn fingerprint(strategy: Strategy, config: &ChunkerConfig, writers: &WriterNames) -> String {
    let by_sections = sections::CODE_VERSION + slides::CODE_VERSION;
    let version = match strategy {
        Strategy::Sections => by_sections.to_string(),
        Strategy::Whole => whole::CODE_VERSION.to_string(),
        Strategy::Api => format!("{}/{by_sections}", api::CODE_VERSION),
        Strategy::Faq => format!("{}/{by_sections}", faq::CODE_VERSION),
        Strategy::Code => format!(
            "{}/{by_sections}/{}",
            code::CODE_VERSION,
            writers.descriptions
        ),
        Strategy::Headings => format!("{}/{by_sections}", headings::CODE_VERSION),
    };
    let settings = format!(
        "{version}/{}/{config:?}/{}",
        strategy.as_str(),
        writers.summaries
    );
    blake3::hash(settings.as_bytes())
        .to_hex()
        .chars()
        .take(16)
        .collect()
}

/// Tokens of a text of any length: long ones are counted in runs, so that no tokenizer sees
/// megabytes at once.
pub(crate) fn count(tokens: &dyn TokenCounter, text: &str) -> usize {
    const RUN_BYTES: usize = 8192;
    if text.len() <= RUN_BYTES {
        return tokens.count(text);
    }
    let mut start = 0;
    let runs = tributary_taxonomy::sentences::run_ends(text, RUN_BYTES, &[]);
    runs.into_iter()
        .map(|(end, _)| {
            let run = text.get(start..end).unwrap_or_default();
            start = end;
            tokens.count(run)
        })
        .sum()
}
