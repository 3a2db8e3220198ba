//! What a training program reads: `train.jsonl`, `dev.jsonl` and `test.jsonl` of [`Example`]s, split
//! by document, and `test-set/`, an evaluation set for `eval run` of the questions that nothing was
//! trained on, over all passages.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tributary_schemas::ChunkId;

use super::files;
use super::negatives::{NegativeLimits, negatives};
use super::split::{Part, Shares, split};
use super::{Pair, Search, TrainingPassage};
use crate::runner::Progress;

/// The folder of the evaluation set.
pub const TEST_SET: &str = "test-set";

/// A line of `train.jsonl`: sentence-transformers' names for a question and its passages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Example {
    /// The question.
    pub query: String,
    /// The passage that answers it, titles above it first.
    pub positive: String,
    /// Passages that do not, best first; there may be none.
    pub negatives: Vec<String>,
    /// The passage's chunk.
    pub chunk_id: ChunkId,
    /// Its document.
    pub document_id: String,
}

/// How it is exported.
#[derive(Clone, Copy, Debug)]
pub struct ExportSettings {
    /// Parts.
    pub shares: Shares,
    /// What is left to chance.
    pub seed: u64,
    /// Hard negatives; none = the index is not asked.
    pub negatives: Option<NegativeLimits>,
    /// Hits among which negatives are looked for.
    pub hits: usize,
}

/// What was exported.
#[derive(Debug, Default, Serialize)]
pub struct ExportReport {
    /// Part → questions.
    pub questions: BTreeMap<Part, usize>,
    /// Part → documents with questions.
    pub documents: BTreeMap<Part, usize>,
    /// Hard negatives of all questions together.
    pub negatives: usize,
    /// Questions for training that have no hard negative.
    pub without_negatives: usize,
    /// Passages of the evaluation set.
    pub passages: usize,
}

/// What is exported, and to where.
pub struct Export<'a> {
    /// The questions.
    pub pairs: &'a [Pair],
    /// All passages.
    pub passages: &'a [TrainingPassage],
    /// How.
    pub settings: ExportSettings,
    /// Where hard negatives are found.
    pub index: &'a dyn Search,
}

impl Export<'_> {
    /// Writes all files into a folder, each as a whole.
    pub fn write(&self, folder: &Path, progress: &dyn Progress) -> Result<ExportReport> {
        let parts = split(self.pairs, self.settings.shares, self.settings.seed);
        let by_chunk: HashMap<ChunkId, &TrainingPassage> = self
            .passages
            .iter()
            .map(|passage| (passage.chunk_id, passage))
            .collect();
        let mut report = ExportReport {
            passages: self.passages.len(),
            ..ExportReport::default()
        };
        let mut examples: BTreeMap<Part, Vec<Example>> = BTreeMap::new();
        for (done, pair) in self.pairs.iter().enumerate() {
            progress.at("negatives", done, self.pairs.len());
            let part = parts.get(&pair.document_id).copied().unwrap_or(Part::Train);
            let found = match part {
                Part::Train => self.negatives(pair, &parts, &by_chunk)?,
                Part::Dev | Part::Test => Vec::new(),
            };
            report.negatives += found.len();
            report.without_negatives += usize::from(part == Part::Train && found.is_empty());
            examples.entry(part).or_default().push(Example {
                query: pair.question.clone(),
                positive: shown(by_chunk.get(&pair.chunk_id).copied(), &pair.passage),
                negatives: found,
                chunk_id: pair.chunk_id,
                document_id: pair.document_id.clone(),
            });
        }
        progress.at("negatives", self.pairs.len(), self.pairs.len());
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        for part in Part::ALL {
            let examples = examples.remove(&part).unwrap_or_default();
            report.questions.insert(part, examples.len());
            report.documents.insert(part, documents(&examples));
            files::write(&folder.join(format!("{}.jsonl", part.as_str())), examples)?;
        }
        let is_test = |pair: &&Pair| parts.get(&pair.document_id) == Some(&Part::Test);
        let tests: Vec<&Pair> = self.pairs.iter().filter(is_test).collect();
        write_test_set(&folder.join(TEST_SET), &tests, self.passages)?;
        Ok(report)
    }

    /// Texts of the hard negatives: passages of documents that are for training, too, so that what
    /// is tested is not pushed away before.
    fn negatives(
        &self,
        pair: &Pair,
        parts: &HashMap<String, Part>,
        by_chunk: &HashMap<ChunkId, &TrainingPassage>,
    ) -> Result<Vec<String>> {
        let Some(limits) = self.settings.negatives else {
            return Ok(Vec::new());
        };
        let response = self
            .index
            .search(&pair.question, self.settings.hits, false)?;
        let is_for_training =
            |document: &str| parts.get(document).is_none_or(|part| *part == Part::Train);
        let found = negatives(&response, pair, limits, is_for_training).unwrap_or_default();
        let text = |hit: &&tributary_schemas::search::Hit| {
            shown(by_chunk.get(&hit.chunk_id).copied(), &hit.text)
        };
        Ok(found.iter().map(text).collect())
    }
}

fn documents(examples: &[Example]) -> usize {
    let ids: std::collections::HashSet<&str> = examples
        .iter()
        .map(|example| example.document_id.as_str())
        .collect();
    ids.len()
}

/// A passage with the titles above it, as it is embedded; its text alone where it is not known.
fn shown(passage: Option<&TrainingPassage>, text: &str) -> String {
    match passage.map(TrainingPassage::path) {
        Some(path) if !path.is_empty() => format!("{path}\n{text}"),
        _ => text.to_owned(),
    }
}

/// An evaluation set in BEIR layout: each passage a document, each question with its passage.
fn write_test_set(folder: &Path, tests: &[&Pair], passages: &[TrainingPassage]) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let corpus = passages.iter().map(
        |passage| json!({"_id": passage.chunk_id, "title": passage.path(), "text": passage.text}),
    );
    files::write(&folder.join("corpus.jsonl"), corpus)?;
    let questions = (1..).zip(tests);
    let queries = questions
        .clone()
        .map(|(number, pair)| json!({"_id": format!("q{number}"), "text": pair.question}));
    files::write(&folder.join("queries.jsonl"), queries)?;
    let path = folder.join("qrels.tsv");
    let failed = || format!("cannot write {}", path.display());
    let mut text = b"query-id\tcorpus-id\tscore\n".to_vec();
    for (number, pair) in questions {
        writeln!(text, "q{number}\t{}\t1", pair.chunk_id).with_context(failed)?;
    }
    std::fs::write(&path, text).with_context(failed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::search::SearchResponse;

    use super::super::samples::{Silent, chunk_id, pair, response};
    use super::*;
    use crate::EvaluationSet;

    /// Finds the passages 0 to 19 for every question, each below the one before.
    struct All;

    impl Search for All {
        fn search(&self, _: &str, _: usize, _: bool) -> Result<SearchResponse> {
            let names: Vec<String> = (0..20).map(|number| format!("d{number}")).collect();
            let hits: Vec<(u8, &str, f32)> = (0_u8..)
                .zip(&names)
                .map(|(number, name)| (number, name.as_str(), 1.0 - f32::from(number) * 0.04))
                .collect();
            Ok(response(&hits))
        }
    }

    fn passage(number: u8) -> TrainingPassage {
        TrainingPassage {
            chunk_id: chunk_id(number),
            document_id: format!("d{number}"),
            family: Vec::new(),
            title: format!("Title {number}"),
            section_path: Vec::new(),
            text: format!("passage {number}"),
        }
    }

    #[test]
    fn parts_share_no_document_and_the_test_set_can_be_evaluated() {
        let pairs: Vec<Pair> = (0..20)
            .map(|number| pair(&format!("question {number}"), number, &format!("d{number}")))
            .collect();
        let passages: Vec<TrainingPassage> = (0..25).map(passage).collect();
        let export = Export {
            pairs: &pairs,
            passages: &passages,
            settings: ExportSettings {
                shares: Shares {
                    dev: 0.1,
                    test: 0.2,
                },
                seed: 5,
                negatives: Some(NegativeLimits {
                    count: 3,
                    share_of_positive: 0.95,
                }),
                hits: 50,
            },
            index: &All,
        };
        let folder = tempfile::tempdir().unwrap();
        let report = export.write(folder.path(), &Silent).unwrap();
        let read = |part: Part| -> Vec<Example> {
            files::read(&folder.path().join(format!("{}.jsonl", part.as_str()))).unwrap()
        };
        let (train, test) = (read(Part::Train), read(Part::Test));
        assert_eq!((train.len(), read(Part::Dev).len(), test.len()), (14, 2, 4));
        assert_eq!(report.documents[&Part::Train], 14);
        assert!(train[0].positive.starts_with("Title "));
        assert!(report.negatives > 0);
        let of_test: Vec<&String> = test.iter().map(|example| &example.positive).collect();
        let mut negatives = train.iter().flat_map(|example| &example.negatives);
        assert!(negatives.all(|negative| !of_test.contains(&negative)));
        let set = EvaluationSet::read(
            &folder.path().join(TEST_SET),
            "queries.jsonl",
            "qrels.tsv",
            "eval",
        );
        let set = set.unwrap();
        assert_eq!((set.documents.len(), set.questions.len()), (25, 4));
        assert!(set.left_out.is_empty(), "{:?}", set.left_out);
    }
}
