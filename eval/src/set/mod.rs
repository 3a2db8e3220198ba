//! Evaluation sets on disk: BEIR layout (`corpus.jsonl`), or a folder of documents (`docs/`);
//! questions and judgements beside them.

mod judgements;
mod lines;
mod questions;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use tributary_schemas::id::{check_document_id, derive_document_id};
use tributary_schemas::{DocumentEvent, files};

use crate::case::Case;
use judgements::Judgements;
pub(crate) use lines::read_lines;
use questions::Asked;

/// The source that documents of a set come from, unless another one is named.
pub const DEFAULT_SOURCE: &str = "eval";

/// Documents, questions, and which documents answer which question.
#[derive(Debug)]
pub struct EvaluationSet {
    /// Name of the folder.
    pub name: String,
    /// What is published.
    pub documents: Vec<DocumentEvent>,
    /// What is asked; each has words and at least one relevant document of the set.
    pub questions: Vec<Question>,
    /// What no document of the set answers; asked only where answers are scored.
    pub unanswerable: Vec<Question>,
    /// Lines of the file of questions that cannot be asked for a fault in them or in their judgements.
    pub faulty: usize,
    /// What cannot be used, each with file, line and reason.
    pub left_out: Vec<String>,
}

/// A question and the documents that answer it.
#[derive(Debug)]
pub struct Question {
    /// Identifier in the set.
    pub id: String,
    /// As asked.
    pub text: String,
    /// Ids of relevant documents; none for a question that nothing answers.
    pub relevant: HashSet<String>,
    /// What would be right, in words; none where the set does not say it.
    pub answers: Vec<String>,
    /// What was said before, in turns, the user's first; empty for a question of its own.
    pub history: Vec<String>,
    /// What else it says of itself.
    pub case: Case,
}

#[derive(Deserialize)]
struct CorpusLine {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

impl EvaluationSet {
    /// The same without the documents that answer every `every`th question: it has no answer then.
    /// Other questions that nothing answers any more are left out.
    #[must_use]
    pub fn held_back(mut self, every: NonZeroUsize) -> Self {
        let every = every.get();
        let is_chosen = |at: usize| (at + 1).is_multiple_of(every);
        let chosen = self.questions.iter().skip(every - 1).step_by(every);
        let held: HashSet<String> = chosen
            .flat_map(|one| one.relevant.iter().cloned())
            .collect();
        let is_held = |id: &Option<String>| id.as_ref().is_some_and(|id| held.contains(id));
        self.documents
            .retain(|document| !is_held(&document.document_id));
        for (at, mut question) in std::mem::take(&mut self.questions).into_iter().enumerate() {
            question
                .relevant
                .retain(|document| !held.contains(document));
            if is_chosen(at) {
                self.unanswerable.push(question);
            } else if !question.relevant.is_empty() {
                self.questions.push(question);
            }
        }
        self
    }

    /// Why figures of the set say nothing of it: more of its questions are faulty than can be asked.
    pub fn mostly_faulty(&self) -> Option<String> {
        let asked = self.questions.len() + self.unanswerable.len();
        (self.faulty > asked).then(|| {
            format!(
                "{} of {} questions cannot be asked",
                self.faulty,
                self.faulty + asked
            )
        })
    }

    /// Reads and checks a set, so that nothing in it ends a run later; `queries` and `qrels` are
    /// file names in the folder. `questions.jsonl` stands in for a missing `queries.jsonl`.
    /// Questions that `qrels` does not name are left out, as are its rows on other questions.
    ///
    /// The documents come from `source`, whose profile then says how they are treated. Judgements
    /// may name those in `docs/` by their path, or by the id that they have where they are published
    /// in that source.
    pub fn read(folder: &Path, queries: &str, qrels: &str, source: &str) -> Result<Self> {
        ensure!(folder.is_dir(), "{} is not a folder", folder.display());
        let name = folder
            .canonicalize()?
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let corpus = folder.join("corpus.jsonl");
        let mut left_out = Vec::new();
        // A pipe in its place is named by whoever reads it.
        let documents = if corpus.exists() {
            read_corpus(&corpus, source, &mut left_out)?
        } else {
            read_folder(&folder.join("docs"), source)?
        };
        ensure!(
            !documents.is_empty(),
            "{} has no document",
            folder.display()
        );
        let mut file = folder.join(queries);
        if !file.exists() && queries == "queries.jsonl" {
            file = folder.join("questions.jsonl");
        }
        let known = Known::of(&documents);
        let judged = folder.join(qrels);
        let mut judgements = Judgements::read(&judged, &known, &mut left_out)?;
        let asked = Asked::read(&file, &known, &mut judgements, &mut left_out)?;
        left_out.extend(judgements.of_no_question(&file));
        let first = left_out
            .first()
            .map(|line| format!("; {line}"))
            .unwrap_or_default();
        ensure!(
            !asked.questions.is_empty(),
            "{} has no question with a judgement in {qrels}{first}",
            file.display()
        );
        Ok(Self {
            name,
            documents,
            questions: asked.questions,
            unanswerable: asked.unanswerable,
            faulty: asked.faulty,
            left_out,
        })
    }
}

/// The documents of a set by what judgements may call them.
struct Known {
    ids: HashSet<String>,
    /// Id that is derived from source and path → id in the set.
    derived: HashMap<String, String>,
}

impl Known {
    fn of(documents: &[DocumentEvent]) -> Self {
        let (mut ids, mut derived) = (HashSet::new(), HashMap::new());
        for document in documents {
            let Some(id) = &document.document_id else {
                continue;
            };
            if let Some(path) = &document.source_path {
                let published = derive_document_id(&document.source, path);
                derived.insert(published, id.clone());
            }
            ids.insert(id.clone());
        }
        Self { ids, derived }
    }

    /// The document of this name.
    fn id(&self, name: &str) -> Option<&str> {
        let derived = || self.derived.get(name);
        self.ids.get(name).or_else(derived).map(String::as_str)
    }
}

fn read_corpus(
    file: &Path,
    source: &str,
    left_out: &mut Vec<String>,
) -> Result<Vec<DocumentEvent>> {
    let event = |line: CorpusLine| DocumentEvent {
        document_id: Some(line.id),
        source: source.to_owned(),
        title: Some(line.title).filter(|title| !title.is_empty()),
        media_type: Some("text/plain".to_owned()),
        content: Some(line.text),
        ..DocumentEvent::default()
    };
    let mut ids = HashSet::new();
    let mut documents = Vec::new();
    for (place, line) in read_lines::<CorpusLine>(file, left_out)? {
        if let Err(error) = check_document_id(&line.id) {
            left_out.push(format!("{place}: {error}"));
        } else if !ids.insert(line.id.clone()) {
            left_out.push(format!("{place}: document `{}` is there already", line.id));
        } else {
            documents.push(event(line));
        }
    }
    Ok(documents)
}

/// All files of a folder, each named by its path in it.
pub(crate) fn read_folder(folder: &Path, source: &str) -> Result<Vec<DocumentEvent>> {
    ensure!(
        folder.is_dir(),
        "neither corpus.jsonl nor docs/ is in {}",
        folder.parent().unwrap_or(folder).display()
    );
    let mut documents = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(current) = open.pop() {
        for entry in
            fs::read_dir(&current).with_context(|| format!("cannot read {}", current.display()))?
        {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else {
                documents.push(file_event(folder, &path, source)?);
            }
        }
    }
    documents.sort_by(|left, right| left.document_id.cmp(&right.document_id));
    Ok(documents)
}

fn file_event(folder: &Path, path: &Path, source: &str) -> Result<DocumentEvent> {
    use base64::Engine;
    let relative = path.strip_prefix(folder)?.components();
    let relative = relative
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/");
    let bytes =
        files::read_data(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(DocumentEvent {
        document_id: Some(relative.clone()),
        source: source.to_owned(),
        source_path: Some(relative),
        content_base64: Some(base64::engine::general_purpose::STANDARD.encode(bytes)),
        ..DocumentEvent::default()
    })
}

#[cfg(test)]
mod tests;
