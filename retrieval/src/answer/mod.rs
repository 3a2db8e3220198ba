//! From passages to an answer: what a model is shown, its citations checked while they come in, each
//! statement held against what it cites, the fixed sentence where nothing answers, and the lesser
//! way of an answer in the words of the passages.

mod citations;
mod code_reader;
mod code_spans;
mod config;
mod earlier;
pub(crate) mod extractive;
pub(crate) mod form;
pub(crate) mod generate;
mod lists;
mod markers;
pub(crate) mod passages;
pub(crate) mod quoting;
mod refusal;
mod rows;
pub(crate) mod statements;
mod subject;
pub(crate) mod support;
pub(crate) mod verbatim;
pub(crate) mod words;

pub use citations::{Checked, CitationFilter};
pub use config::{AnswerConfig, Sentences};
pub use earlier::{Earlier, MAXIMUM_EXTRACTED};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use tributary_schemas::ask::Source;
    use tributary_schemas::search::Hit;
    use tributary_schemas::{ChunkId, ChunkKind};
    use tributary_taxonomy::{Analyzer, AnalyzerConfig, Lexicon};

    use super::passages;

    pub fn analyzer() -> Analyzer {
        let config = AnalyzerConfig {
            guess_words: false,
            sub_words: true,
            term_words: true,
            english_stems: true,
        };
        Analyzer::new(&config, Lexicon::default()).unwrap()
    }

    pub fn hit(id: u128, section: &str, text: &str) -> Hit {
        let json = serde_json::json!({
            "rank": 1, "score": 1.0, "chunk_id": ChunkId(id), "document_id": "d", "version": 1,
            "source": "s", "source_path": "p", "title": "T", "section_path": [section],
            "text": text, "url": "", "pages": [], "kind": ChunkKind::Leaf, "tags": [],
            "knowledge_sets": [], "images": [], "scores": {},
        });
        serde_json::from_value(json).unwrap()
    }

    pub fn source(number: u32, text: &str) -> Source {
        passages::source(number, &hit(number.into(), "", text), text.to_owned())
    }
}
