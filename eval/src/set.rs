//! Evaluation sets on disk: BEIR layout (`corpus.jsonl`), or a folder of documents (`docs/`); questions and judgements beside them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tributary_schemas::DocumentEvent;

const SOURCE: &str = "eval";

/// Documents, questions, and which documents answer which question.
#[derive(Debug)]
pub struct EvaluationSet {
    /// Name of the folder.
    pub name: String,
    /// What is published.
    pub documents: Vec<DocumentEvent>,
    /// What is asked; each has at least one relevant document.
    pub questions: Vec<Question>,
}

/// A question and the documents that answer it.
#[derive(Debug)]
pub struct Question {
    /// Identifier in the set.
    pub id: String,
    /// As asked.
    pub text: String,
    /// Ids of relevant documents.
    pub relevant: HashSet<String>,
}

#[derive(Deserialize)]
struct CorpusLine {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct QuestionLine {
    #[serde(rename = "_id")]
    id: String,
    #[serde(alias = "question", alias = "query")]
    text: String,
}

impl EvaluationSet {
    /// Reads a set; `queries` and `qrels` are file names in the folder. `questions.jsonl` stands in for a missing `queries.jsonl`.
    pub fn read(folder: &Path, queries: &str, qrels: &str) -> Result<Self> {
        ensure!(folder.is_dir(), "{} is not a folder", folder.display());
        let name = folder.canonicalize()?.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let corpus = folder.join("corpus.jsonl");
        let documents = if corpus.is_file() { read_corpus(&corpus)? } else { read_folder(&folder.join("docs"))? };
        let mut file = folder.join(queries);
        if !file.is_file() && queries == "queries.jsonl" {
            file = folder.join("questions.jsonl");
        }
        let judgements = read_judgements(&folder.join(qrels))?;
        let questions = read_questions(&file, judgements)?;
        ensure!(!questions.is_empty(), "{} has no question with a judgement in {qrels}", file.display());
        Ok(Self { name, documents, questions })
    }
}

fn read_lines<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(index, line)| serde_json::from_str(line).with_context(|| format!("{} line {}", file.display(), index + 1))).collect()
}

fn read_corpus(file: &Path) -> Result<Vec<DocumentEvent>> {
    let event = |line: CorpusLine| DocumentEvent {
        document_id: Some(line.id),
        source: SOURCE.to_owned(),
        title: Some(line.title).filter(|title| !title.is_empty()),
        media_type: Some("text/plain".to_owned()),
        content: Some(line.text),
        ..DocumentEvent::default()
    };
    Ok(read_lines::<CorpusLine>(file)?.into_iter().map(event).collect())
}

fn read_folder(folder: &Path) -> Result<Vec<DocumentEvent>> {
    ensure!(folder.is_dir(), "neither corpus.jsonl nor docs/ is in {}", folder.parent().unwrap_or(folder).display());
    let mut documents = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(current) = open.pop() {
        for entry in fs::read_dir(&current).with_context(|| format!("cannot read {}", current.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else {
                documents.push(file_event(folder, &path)?);
            }
        }
    }
    documents.sort_by(|left, right| left.document_id.cmp(&right.document_id));
    Ok(documents)
}

fn file_event(folder: &Path, path: &Path) -> Result<DocumentEvent> {
    use base64::Engine;
    let relative = path.strip_prefix(folder)?.components();
    let relative = relative.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(DocumentEvent {
        document_id: Some(relative.clone()),
        source: SOURCE.to_owned(),
        source_path: Some(relative),
        content_base64: Some(base64::engine::general_purpose::STANDARD.encode(bytes)),
        ..DocumentEvent::default()
    })
}

/// Question id → relevant document ids. A header line is expected; a judgement counts if its score is above 0.
fn read_judgements(file: &Path) -> Result<HashMap<String, HashSet<String>>> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut judgements: HashMap<String, HashSet<String>> = HashMap::new();
    for (index, line) in text.lines().enumerate().skip(1).filter(|(_, line)| !line.is_empty()) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [question, document, score] = columns.as_slice() else {
            bail!("{} line {}: three columns separated by tabs expected", file.display(), index + 1);
        };
        let score: f64 = score.trim().parse().with_context(|| format!("{} line {}: no score", file.display(), index + 1))?;
        if score > 0.0 {
            judgements.entry((*question).to_owned()).or_default().insert((*document).to_owned());
        }
    }
    Ok(judgements)
}

fn read_questions(file: &Path, mut judgements: HashMap<String, HashSet<String>>) -> Result<Vec<Question>> {
    let lines: Vec<QuestionLine> = read_lines(file)?;
    let question = |line: QuestionLine| {
        let relevant = judgements.remove(&line.id)?;
        Some(Question { id: line.id, text: line.text, relevant })
    };
    Ok(lines.into_iter().filter_map(question).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("queries.jsonl", "{\"_id\": \"q1\", \"text\": \"?\"}\n{\"_id\": \"q2\", \"text\": \"no judgement\"}\n");
        write("qrels.tsv", "query-id\tcorpus-id\tscore\nq1\ta/x.md\t1\nq1\tb\t0\n");
        fs::create_dir_all(folder.path().join("docs/a")).unwrap();
        write("docs/a/x.md", "# X");
        let set = EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv").unwrap();
        assert_eq!(set.documents.len(), 1);
        assert_eq!(set.documents.first().unwrap().document_id.as_deref(), Some("a/x.md"));
        assert_eq!(set.questions.len(), 1);
        assert_eq!(set.questions.first().unwrap().relevant, HashSet::from(["a/x.md".to_owned()]));
        write("corpus.jsonl", "{\"_id\": \"b\", \"title\": \"\", \"text\": \"body\"}");
        let set = EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv").unwrap();
        assert_eq!(set.documents.first().unwrap().title, None);
    }

    #[test]
    fn a_bad_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("corpus.jsonl"), "{\"_id\": \"b\", \"text\": \"x\"}\nnonsense").unwrap();
        let error = EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv").unwrap_err();
        assert!(error.to_string().contains("corpus.jsonl line 2"), "{error}");
    }
}
