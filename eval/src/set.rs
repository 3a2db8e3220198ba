//! Evaluation sets on disk: BEIR layout (`corpus.jsonl`), or a folder of documents (`docs/`);
//! questions and judgements beside them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tributary_schemas::id::check_document_id;
use tributary_schemas::{DocumentEvent, files};

use crate::case::Case;

const SOURCE: &str = "eval";
/// Ids that a line about many questions names.
const NAMED: usize = 5;

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

#[derive(Deserialize)]
struct QuestionLine {
    #[serde(rename = "_id")]
    id: String,
    #[serde(alias = "question", alias = "query")]
    text: String,
    #[serde(default)]
    history: Vec<String>,
    #[serde(default)]
    answers: Vec<String>,
    #[serde(default)]
    unanswerable: bool,
    #[serde(flatten)]
    case: Case,
}

impl QuestionLine {
    /// Why it cannot be asked, where `known` are the documents of the set.
    fn problem(&self, relevant: &HashSet<String>, known: &HashSet<&str>) -> Option<String> {
        let id = &self.id;
        if self.text.trim().is_empty() {
            return Some(format!("question `{id}` is empty"));
        }
        if self.unanswerable && !relevant.is_empty() {
            return Some(format!("question `{id}` is unanswerable and has an answer"));
        }
        if relevant.is_empty() && !self.unanswerable {
            return Some(format!("no document of the set answers question `{id}`"));
        }
        let problem = self.case.problem(known)?;
        Some(format!("question `{id}`: {problem}"))
    }
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

    /// The same documents from this source: its profile then says how they are treated.
    #[must_use]
    pub fn of_source(mut self, source: &str) -> Self {
        for document in &mut self.documents {
            document.source = source.to_owned();
        }
        self
    }

    /// Reads and checks a set, so that nothing in it ends a run later; `queries` and `qrels` are
    /// file names in the folder. `questions.jsonl` stands in for a missing `queries.jsonl`.
    /// Questions that `qrels` does not name are left out, as are its rows on other questions.
    pub fn read(folder: &Path, queries: &str, qrels: &str) -> Result<Self> {
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
            read_corpus(&corpus, &mut left_out)?
        } else {
            read_folder(&folder.join("docs"))?
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
        let known: HashSet<&str> = documents
            .iter()
            .filter_map(|document| document.document_id.as_deref())
            .collect();
        let judged = folder.join(qrels);
        let mut judgements = read_judgements(&judged, &known, &mut left_out)?;
        let asked = read_questions(&file, &known, &mut judgements, &mut left_out)?;
        let (questions, unanswerable) = asked;
        left_out.extend(judgements.of_no_question(&file));
        let first = left_out
            .first()
            .map(|line| format!("; {line}"))
            .unwrap_or_default();
        ensure!(
            !questions.is_empty(),
            "{} has no question with a judgement in {qrels}{first}",
            file.display()
        );
        Ok(Self {
            name,
            documents,
            questions,
            unanswerable,
            left_out,
        })
    }
}

/// Where a line is, from its index.
fn place(file: &Path, index: usize) -> String {
    format!("{} line {}", file.display(), index + 1)
}

/// The text of a file without the mark that some editors put before it.
fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// The objects of a file with the places of their lines.
pub(crate) fn read_lines<T: DeserializeOwned>(
    file: &Path,
    left_out: &mut Vec<String>,
) -> Result<Vec<(String, T)>> {
    let bytes =
        files::read_data(file).with_context(|| format!("cannot read {}", file.display()))?;
    let bytes = without_mark(&bytes);
    let mut objects = Vec::new();
    for (index, line) in bytes
        .split(|byte| *byte == b'\n')
        .enumerate()
        .filter(|(_, line)| !line.trim_ascii().is_empty())
    {
        match serde_json::from_slice(line) {
            Ok(object) => objects.push((place(file, index), object)),
            Err(error) => left_out.push(format!("{}: {error}", place(file, index))),
        }
    }
    Ok(objects)
}

fn read_corpus(file: &Path, left_out: &mut Vec<String>) -> Result<Vec<DocumentEvent>> {
    let event = |line: CorpusLine| DocumentEvent {
        document_id: Some(line.id),
        source: SOURCE.to_owned(),
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
pub(crate) fn read_folder(folder: &Path) -> Result<Vec<DocumentEvent>> {
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
    let relative = relative
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/");
    let bytes =
        files::read_data(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(DocumentEvent {
        document_id: Some(relative.clone()),
        source: SOURCE.to_owned(),
        source_path: Some(relative),
        content_base64: Some(base64::engine::general_purpose::STANDARD.encode(bytes)),
        ..DocumentEvent::default()
    })
}

/// What a file of judgements says; questions are taken out of it as they are read.
struct Judgements<'a> {
    file: std::path::Display<'a>,
    /// Question id → relevant documents of the set, none for a question that has only others.
    relevant: HashMap<String, HashSet<String>>,
}

impl Judgements<'_> {
    /// Says which questions are left that no line of `questions` has; at most the first few by id.
    fn of_no_question(&self, questions: &Path) -> Option<String> {
        let mut ids: Vec<&str> = self.relevant.keys().map(String::as_str).collect();
        ids.sort_unstable();
        let first: Vec<String> = ids.iter().take(NAMED).map(|id| format!("`{id}`")).collect();
        let more = if ids.len() > NAMED { ", …" } else { "" };
        let said = format!(
            "{}: questions with rows here that {} does not have: {} ({}{more})",
            self.file,
            questions.display(),
            ids.len(),
            first.join(", ")
        );
        (!ids.is_empty()).then_some(said)
    }
}

/// The first line may be a header; a judgement counts if its score is above 0.
fn read_judgements<'a>(
    file: &'a Path,
    known: &HashSet<&str>,
    left_out: &mut Vec<String>,
) -> Result<Judgements<'a>> {
    let bytes =
        files::read_data(file).with_context(|| format!("cannot read {}", file.display()))?;
    let text = String::from_utf8_lossy(without_mark(&bytes));
    let mut judgements = HashMap::<String, HashSet<String>>::new();
    let mut judged = HashMap::<(&str, &str), bool>::new();
    let lines = text.lines().enumerate();
    for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let Some((question, document, score)) = judgement(line) else {
            let is_header = index == 0 && line.split('\t').count() == 3;
            if !is_header {
                left_out.push(format!(
                    "{}: a question, a document and a score, separated by tabs, expected",
                    place(file, index)
                ));
            }
            continue;
        };
        let relevant = judgements.entry(question.to_owned()).or_default();
        let is_relevant = score > 0.0;
        let before = *judged.entry((question, document)).or_insert(is_relevant);
        if before != is_relevant {
            left_out.push(format!(
                "{}: `{document}` is judged otherwise for `{question}` in a line above, which counts",
                place(file, index)
            ));
        } else if is_relevant && known.contains(document) {
            relevant.insert(document.to_owned());
        } else if is_relevant {
            left_out.push(format!(
                "{}: there is no document `{document}`",
                place(file, index)
            ));
        }
    }
    Ok(Judgements {
        file: file.display(),
        relevant: judgements,
    })
}

fn judgement(line: &str) -> Option<(&str, &str, f64)> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [question, document, score] = columns.as_slice() else {
        return None;
    };
    let score: f64 = score.trim().parse().ok()?;
    score.is_finite().then_some((question, document, score))
}

fn read_questions(
    file: &Path,
    known: &HashSet<&str>,
    judgements: &mut Judgements<'_>,
    left_out: &mut Vec<String>,
) -> Result<(Vec<Question>, Vec<Question>)> {
    let lines: Vec<(String, Value)> = read_lines(file, left_out)?;
    let (mut questions, mut unanswerable) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    for (place, line) in lines {
        let id = line.get("_id").and_then(Value::as_str).map(str::to_owned);
        let line: QuestionLine = match serde_json::from_value(line) {
            Ok(line) => line,
            Err(error) => {
                left_out.push(format!("{place}: {error}"));
                // It has said so of all of its rows.
                id.and_then(|id| judgements.relevant.remove(&id));
                continue;
            }
        };
        let id = &line.id;
        if !seen.insert(id.clone()) {
            left_out.push(format!("{place}: question `{id}` is there already"));
            continue;
        }
        let judged = judgements.relevant.remove(id);
        let is_unanswerable = line.unanswerable;
        let Some(relevant) = judged.or_else(|| is_unanswerable.then(HashSet::new)) else {
            let judgements = &judgements.file;
            left_out.push(format!(
                "{place}: question `{id}` has no row in {judgements}"
            ));
            continue;
        };
        if let Some(problem) = line.problem(&relevant, known) {
            left_out.push(format!("{place}: {problem}"));
            continue;
        }
        let kind = match is_unanswerable {
            true => &mut unanswerable,
            false => &mut questions,
        };
        kind.push(Question {
            id: line.id,
            text: line.text,
            relevant,
            answers: line.answers,
            history: line.history,
            case: line.case,
        });
    }
    Ok((questions, unanswerable))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_editors_and_hands_write_is_taken_or_named() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(
            "corpus.jsonl",
            "{\"_id\": \"a\", \"text\": \"a\"}\n{\"_id\": \"b\", \"text\": \"b\"}\n",
        );
        write(
            "queries.jsonl",
            "\u{feff}{\"_id\": \"q1\", \"text\": \"?\"}\n{\"_id\": \"q2\", \"text\": \"?\", \"level\": \"nope\"}\n",
        );
        // Without a header.
        write(
            "qrels.tsv",
            "\u{feff}q1\ta\t1\nq1\ta\t0\nq1\tb\tNaN\nq1\tb\tinf\nq1\tb\t-1\nq2\ta\t1\n",
        );
        let set = EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv").unwrap();
        let [question] = set.questions.as_slice() else {
            panic!("{:?}", set.questions)
        };
        assert_eq!(question.relevant, HashSet::from(["a".to_owned()]));
        let named = [
            "line 2: `a` is judged otherwise",
            "line 3: a question",
            "line 4: a question",
            "line 2: unknown variant",
        ];
        for (line, part) in set.left_out.iter().zip(named) {
            assert!(line.contains(part), "{part}: {:?}", set.left_out);
        }
        assert_eq!(set.left_out.len(), named.len(), "{:?}", set.left_out);
    }

    #[test]
    fn both_layouts_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(
            "queries.jsonl",
            "{\"_id\": \"q1\", \"text\": \"?\"}\n{\"_id\": \"q2\", \"text\": \"no judgement\"}\n",
        );
        write(
            "qrels.tsv",
            "query-id\tcorpus-id\tscore\nq1\ta/x.md\t1\nq1\tb\t0\n",
        );
        fs::create_dir_all(folder.path().join("docs/a")).unwrap();
        write("docs/a/x.md", "# X");
        let set = EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv").unwrap();
        assert_eq!(set.documents.len(), 1);
        assert_eq!(
            set.documents.first().unwrap().document_id.as_deref(),
            Some("a/x.md")
        );
        assert_eq!(set.questions.len(), 1);
        assert_eq!(
            set.questions.first().unwrap().relevant,
            HashSet::from(["a/x.md".to_owned()])
        );
        write(
            "corpus.jsonl",
            "{\"_id\": \"a/x.md\", \"title\": \"\", \"text\": \"body\"}",
        );
        let set = EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv").unwrap();
        assert_eq!(set.documents.first().unwrap().title, None);
        let set = set.of_source("wiki");
        assert_eq!(set.documents.first().unwrap().source, "wiki");
    }

    #[test]
    fn what_cannot_be_used_is_named_with_its_line_and_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write(
            "corpus.jsonl",
            "{\"_id\": \"b\", \"text\": \"x\"}\nnonsense\n{\"_id\": \"\", \"text\": \"x\"}\n{\"_id\": \"b\", \"text\": \"y\"}\n",
        );
        let question =
            |id: &str, text: &str| format!("{{\"_id\": \"{id}\", \"text\": \"{text}\"}}\n");
        let lines = [
            question("good", "?"),
            question("empty", "  "),
            question("other part", "?"),
            "{}\n".to_owned(),
            question("alone", "?"),
            question("good", "again"),
        ];
        write("queries.jsonl", &lines.concat());
        write(
            "qrels.tsv",
            "query-id\tcorpus-id\tscore\ngood\tb\t1\nempty\tb\t1\nalone\tnowhere\t1\ngood\tb\n无\tb\t1\ngone\tb\t1\n",
        );
        let set = EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv").unwrap();
        assert_eq!((set.documents.len(), set.questions.len()), (1, 1));
        let said = [
            "corpus.jsonl line 2: ",
            "corpus.jsonl line 3: `document_id` has 0 bytes",
            "corpus.jsonl line 4: document `b` is there already",
            "qrels.tsv line 4: there is no document `nowhere`",
            "qrels.tsv line 5: ",
        ];
        let said = said.into_iter().chain([
            "queries.jsonl line 2: question `empty` is empty",
            "queries.jsonl line 3: question `other part` has no row in ",
            "queries.jsonl line 4: ",
            "queries.jsonl line 5: ",
            "queries.jsonl line 6: question `good` is there already",
            "queries.jsonl does not have: 2 (`gone`, `无`)",
        ]);
        for (line, said) in set.left_out.iter().zip(said) {
            assert!(line.contains(said), "{said} is not in {line}");
        }
        assert_eq!(set.left_out.len(), 11, "{:?}", set.left_out);
    }

    #[test]
    fn what_nothing_answers_is_kept_apart_and_documents_are_held_back() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let document = |id: char| format!("{{\"_id\": \"{id}\", \"text\": \"x\"}}\n");
        write(
            "corpus.jsonl",
            &"abc".chars().map(document).collect::<String>(),
        );
        write(
            "queries.jsonl",
            "{\"_id\": \"1\", \"text\": \"?\", \"answers\": [\"so\"]}\n{\"_id\": \"2\", \"text\": \"?\"}\n\
             {\"_id\": \"3\", \"text\": \"?\"}\n{\"_id\": \"no\", \"text\": \"?\", \"unanswerable\": true}\n\
             {\"_id\": \"both\", \"text\": \"?\", \"unanswerable\": true}\n",
        );
        write(
            "qrels.tsv",
            "query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb\t1\n2\tb\t1\n3\tb\t1\n3\tc\t1\nboth\ta\t1\n",
        );
        let ids = |questions: &[Question]| -> Vec<String> {
            questions
                .iter()
                .map(|question| question.id.clone())
                .collect()
        };
        let set = EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv").unwrap();
        assert_eq!(ids(&set.questions), ["1", "2", "3"]);
        assert_eq!(set.questions[0].answers, ["so"]);
        assert_eq!(ids(&set.unanswerable), ["no"]);
        assert!(set.left_out[0].contains("`both` is unanswerable and has an answer"));
        let held = set.held_back(NonZeroUsize::new(2).unwrap());
        assert_eq!(held.documents.len(), 2, "b answers question 2");
        assert_eq!(ids(&held.questions), ["1", "3"]);
        assert_eq!(ids(&held.unanswerable), ["no", "2"]);
        assert!(held.unanswerable[1].relevant.is_empty());
    }

    #[test]
    fn a_set_without_a_question_that_can_be_asked_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("corpus.jsonl", "{\"_id\": \"b\", \"text\": \"x\"}\n");
        write("queries.jsonl", "{\"_id\": \"q\", \"text\": \"\"}\n");
        write("qrels.tsv", "query-id\tcorpus-id\tscore\nq\tb\t1\n");
        let error = EvaluationSet::read(folder.path(), "queries.jsonl", "qrels.tsv").unwrap_err();
        assert!(
            error.to_string().contains("question `q` is empty"),
            "{error}"
        );
    }
}
