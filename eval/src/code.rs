//! Evaluation of the search over source code: questions with the files and functions that answer
//! them, asked one after the other.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tributary_retrieval::Principal;
use tributary_schemas::code_search::{CodeSearchRequest, CodeSearchResponse};
use tributary_schemas::files;

use crate::metrics::{mean, percentile};
use crate::runner::{Ingest, Latency, Pipeline, Progress, ingest};
use crate::set::{EvaluationSet, read_folder, read_lines};

/// Places that count in rates of hits.
const FIRST: usize = 10;

/// Source code, and questions about it.
#[derive(Debug)]
pub struct CodeSet {
    /// Its name and documents; it has no questions of its own.
    pub files: EvaluationSet,
    /// What is asked, by the file that the questions are from.
    pub questions: Vec<(String, Vec<CodeQuestion>)>,
}

/// A question about source code.
#[derive(Clone, Debug, Deserialize)]
pub struct CodeQuestion {
    /// Identifier in the set.
    #[serde(rename = "_id")]
    pub id: String,
    /// Language of the question.
    #[serde(default)]
    pub lang: String,
    /// As asked.
    pub text: String,
    /// What answers it; any of these.
    pub gold: Vec<Gold>,
}

/// A function that answers a question.
#[derive(Clone, Debug, Deserialize)]
pub struct Gold {
    /// Path of its file.
    pub file: String,
    /// Its name.
    pub function: String,
}

/// What a run reports; `eval code --format json` prints it.
#[derive(Debug, Serialize)]
pub struct CodeReport {
    /// Name of the set.
    pub set: String,
    /// Files published.
    pub documents: usize,
    /// What could not be used or asked, each with its place and the reason; it is in no score.
    pub left_out: Vec<String>,
    /// By file of questions.
    pub questions: Vec<QuestionReport>,
    /// Milliseconds of a search.
    pub latency_ms: Latency,
    /// How the documents got in.
    pub ingest: Ingest,
    /// What it was run with.
    pub settings: Value,
}

/// Scores of one file of questions.
#[derive(Debug, Serialize)]
pub struct QuestionReport {
    /// The file.
    pub file: String,
    /// Over all.
    pub all: CodeScores,
    /// By language of the question.
    pub languages: BTreeMap<String, CodeScores>,
    /// Each question.
    pub answers: Vec<CodeAnswer>,
}

/// Means over questions.
#[derive(Debug, Serialize)]
pub struct CodeScores {
    /// Questions asked.
    pub questions: usize,
    /// Share with a gold file among the first 10 files.
    #[serde(rename = "file_hit@10")]
    pub file_hit_10: f64,
    /// Reciprocal rank of the first gold file, 0 beyond 10.
    #[serde(rename = "file_mrr@10")]
    pub file_mrr_10: f64,
    /// Share with a gold function among the first 10 definitions.
    #[serde(rename = "function_hit@10")]
    pub function_hit_10: f64,
    /// Share whose first definition is a gold function.
    #[serde(rename = "function_hit@1")]
    pub function_hit_1: f64,
    /// Reciprocal rank of the first gold function, 0 beyond 10.
    #[serde(rename = "function_mrr@10")]
    pub function_mrr_10: f64,
}

/// Where the answers to a question stand, from 1; none where they were not found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CodeAnswer {
    /// The question.
    pub id: String,
    /// Its language.
    pub language: String,
    /// Rank of the first gold file among the files.
    pub file_rank: Option<usize>,
    /// Rank of the first gold function among the definitions.
    pub function_rank: Option<usize>,
}

impl CodeSet {
    /// Reads the files below `code` as those of `source`, those alone that `files.tsv` of the set
    /// lists if it has one, and files of questions; `questions.jsonl` of the set for none.
    pub fn read(
        set: &Path,
        code: Option<&Path>,
        questions: &[PathBuf],
        source: &str,
    ) -> Result<Self> {
        ensure!(set.is_dir(), "{} is not a folder", set.display());
        let name = set.canonicalize()?;
        let name = name.file_name().unwrap_or_default().to_string_lossy();
        let code = code.map_or_else(|| set.join("docs"), Path::to_owned);
        let mut documents = read_folder(&code, source)?;
        if let Some(listed) = listed_files(&set.join("files.tsv"))? {
            documents.retain(|document| {
                let path = document.source_path.as_ref();
                path.is_some_and(|path| listed.contains(path))
            });
        }
        ensure!(
            !documents.is_empty(),
            "{} has no file of the set",
            code.display()
        );
        let mut left_out = Vec::new();
        let own = [set.join("questions.jsonl")];
        let files = if questions.is_empty() {
            &own
        } else {
            questions
        };
        let questions = files
            .iter()
            .map(|file| {
                let lines = read_lines::<CodeQuestion>(file, &mut left_out)?;
                let questions = lines.into_iter().map(|(_, question)| question).collect();
                Ok((file.display().to_string(), questions))
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            files: EvaluationSet {
                name: name.into_owned(),
                documents,
                questions: Vec::new(),
                unanswerable: Vec::new(),
                faulty: 0,
                left_out,
            },
            questions,
        })
    }
}

/// First column of a table with a header; none where there is no such file.
fn listed_files(file: &Path) -> Result<Option<HashSet<String>>> {
    if !file.is_file() {
        return Ok(None);
    }
    let table = files::read_data_to_string(file)
        .with_context(|| format!("cannot read {}", file.display()))?;
    let rows = table.lines().skip(1);
    let paths = rows.filter_map(|row| row.split('\t').next().map(str::to_owned));
    Ok(Some(paths.collect()))
}

/// Publishes the files, waits for all of them, asks all questions one after the other, and scores.
pub async fn run(
    set: &CodeSet,
    pipeline: &Pipeline<'_>,
    settings: Value,
    progress: &dyn Progress,
) -> Result<CodeReport> {
    let ingest = ingest(&set.files, pipeline, progress).await?;
    let mut left_out = set.files.left_out.clone();
    let mut milliseconds = Vec::new();
    let mut reports = Vec::new();
    let principal = Principal::unrestricted();
    for (file, questions) in &set.questions {
        let mut answers = Vec::new();
        for (number, question) in questions.iter().enumerate() {
            progress.at("ask", number, questions.len());
            let request = CodeSearchRequest {
                query: question.text.clone(),
                ..CodeSearchRequest::default()
            };
            let searching = pipeline.retriever.search_code(&request, &principal);
            match searching.await {
                Ok(response) => {
                    milliseconds.push(response.took_ms);
                    answers.push(answer(question, &response));
                }
                Err(problem) => {
                    left_out.push(format!(
                        "question `{}` cannot be asked: {problem}",
                        question.id
                    ));
                }
            }
        }
        progress.at("ask", questions.len(), questions.len());
        reports.push(report(file.clone(), answers));
    }
    Ok(CodeReport {
        set: set.files.name.clone(),
        documents: set.files.documents.len(),
        left_out,
        questions: reports,
        latency_ms: Latency {
            p50: percentile(&milliseconds, 0.5),
            p95: percentile(&milliseconds, 0.95),
        },
        ingest,
        settings,
    })
}

fn answer(question: &CodeQuestion, response: &CodeSearchResponse) -> CodeAnswer {
    let is_gold_file = |path: &str| question.gold.iter().any(|gold| gold.file == path);
    let is_gold = |path: &str, function: &str| {
        let mut gold = question.gold.iter();
        gold.any(|gold| gold.file == path && gold.function == function)
    };
    let mut files = response.files.iter();
    let mut hits = response.hits.iter();
    let first = |at: Option<usize>| at.map(|at| at + 1);
    CodeAnswer {
        id: question.id.clone(),
        language: question.lang.clone(),
        file_rank: first(files.position(|file| is_gold_file(&file.source_path))),
        function_rank: first(hits.position(|hit| is_gold(&hit.source_path, &hit.function))),
    }
}

fn report(file: String, answers: Vec<CodeAnswer>) -> QuestionReport {
    let mut by_language: BTreeMap<String, Vec<&CodeAnswer>> = BTreeMap::new();
    for answer in &answers {
        let of_language = by_language.entry(answer.language.clone()).or_default();
        of_language.push(answer);
    }
    let languages = by_language.into_iter();
    QuestionReport {
        file,
        all: scores(&answers.iter().collect::<Vec<_>>()),
        languages: languages
            .map(|(language, answers)| (language, scores(&answers)))
            .collect(),
        answers,
    }
}

fn scores(answers: &[&CodeAnswer]) -> CodeScores {
    let over = |score: &dyn Fn(&CodeAnswer) -> f64| {
        let each: Vec<f64> = answers.iter().map(|answer| score(answer)).collect();
        mean(&each)
    };
    CodeScores {
        questions: answers.len(),
        file_hit_10: over(&|answer| hit(answer.file_rank, FIRST)),
        file_mrr_10: over(&|answer| reciprocal(answer.file_rank)),
        function_hit_10: over(&|answer| hit(answer.function_rank, FIRST)),
        function_hit_1: over(&|answer| hit(answer.function_rank, 1)),
        function_mrr_10: over(&|answer| reciprocal(answer.function_rank)),
    }
}

fn hit(rank: Option<usize>, within: usize) -> f64 {
    f64::from(u8::from(rank.is_some_and(|rank| rank <= within)))
}

fn reciprocal(rank: Option<usize>) -> f64 {
    let rank = rank.filter(|rank| *rank <= FIRST);
    rank.map_or(0.0, |rank| 1.0 / rank as f64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn listed_files_and_their_questions_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        fs::create_dir_all(folder.path().join("docs/mm")).unwrap();
        write("docs/mm/a.c", "int a;");
        write("docs/mm/Makefile", "all:");
        write("files.tsv", "path\tbytes\nmm/a.c\t6\n");
        write(
            "questions.jsonl",
            "{\"_id\": \"q\", \"lang\": \"zh\", \"text\": \"?\", \
             \"gold\": [{\"file\": \"mm/a.c\", \"function\": \"a\", \"line\": 1}]}\nnonsense\n",
        );
        let set = CodeSet::read(folder.path(), None, &[], "eval").unwrap();
        assert_eq!(set.files.documents.len(), 1);
        let questions: Vec<usize> = set.questions.iter().map(|(_, asked)| asked.len()).collect();
        assert_eq!((questions, set.files.left_out.len()), (vec![1], 1));
    }

    #[test]
    fn ranks_beyond_ten_are_no_hits() {
        let answer = |file_rank, function_rank| CodeAnswer {
            id: "q".into(),
            language: "zh".into(),
            file_rank,
            function_rank,
        };
        let answers = [
            answer(Some(1), Some(2)),
            answer(Some(12), None),
            answer(Some(4), Some(1)),
            answer(None, None),
        ];
        let report = report("f".into(), answers.to_vec());
        assert!((report.all.file_hit_10 - 0.5).abs() < 1e-9);
        assert!((report.all.file_mrr_10 - 1.25 / 4.0).abs() < 1e-9);
        assert!((report.all.function_hit_1 - 0.25).abs() < 1e-9);
        assert!((report.all.function_mrr_10 - 1.5 / 4.0).abs() < 1e-9);
        assert_eq!(report.languages.len(), 1);
    }
}
