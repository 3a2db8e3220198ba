//! What is asked: a file of questions.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;

use super::judgements::Judgements;
use super::{Known, Question, read_lines};
use crate::case::Case;

/// Fields of a question.
const FIELDS: [&str; 12] = [
    "_id",
    "text",
    "question",
    "query",
    "history",
    "answers",
    "unanswerable",
    "level",
    "style",
    "modality",
    "evidence",
    "request",
];
/// Fewest letters of a field that another one may be meant by.
const SHORTEST_MISSPELT: usize = 4;

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
    fn problem(&self, relevant: &HashSet<String>, known: &Known) -> Option<String> {
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
        let problem = self.case.problem(&known.ids)?;
        Some(format!("question `{id}`: {problem}"))
    }
}

/// The questions of a file.
#[derive(Default)]
pub(super) struct Asked {
    pub questions: Vec<Question>,
    /// Those that nothing in the set answers.
    pub unanswerable: Vec<Question>,
    /// Lines that cannot be asked for a fault in them or in their judgements.
    pub faulty: usize,
}

impl Asked {
    pub(super) fn read(
        file: &Path,
        known: &Known,
        judgements: &mut Judgements<'_>,
        left_out: &mut Vec<String>,
    ) -> Result<Self> {
        let before = left_out.len();
        let lines: Vec<(String, Value)> = read_lines(file, left_out)?;
        let mut asked = Self {
            faulty: left_out.len() - before,
            ..Self::default()
        };
        let mut seen = HashSet::new();
        let mut misspelt = BTreeMap::new();
        for (place, line) in lines {
            count_misspelt(&line, &mut misspelt);
            match asked.add(line, known, judgements, &mut seen) {
                Ok(()) => {}
                Err(Refused { why, is_fault }) => {
                    left_out.push(format!("{place}: {why}"));
                    asked.faulty += usize::from(is_fault);
                }
            }
        }
        left_out.extend(misspelt.into_iter().map(|((field, meant), count)| {
            let file = file.display();
            format!("{file}: `{field}` is no field of a question ({count}×); is `{meant}` meant?")
        }));
        Ok(asked)
    }

    fn add(
        &mut self,
        line: Value,
        known: &Known,
        judgements: &mut Judgements<'_>,
        seen: &mut HashSet<String>,
    ) -> Result<(), Refused> {
        let id = line.get("_id").and_then(Value::as_str).map(str::to_owned);
        let line: QuestionLine = serde_json::from_value(line).map_err(|error| {
            // It has said so of all of its rows.
            id.and_then(|id| judgements.relevant.remove(&id));
            Refused::fault(error.to_string())
        })?;
        let id = &line.id;
        if !seen.insert(id.clone()) {
            return Err(Refused::fault(format!("question `{id}` is there already")));
        }
        let judged = judgements.relevant.remove(id);
        let unanswered = || line.unanswerable.then(HashSet::new);
        // Sets often keep the judgements of one part of their questions.
        let relevant = judged.or_else(unanswered).ok_or_else(|| Refused {
            why: format!("question `{id}` has no row in {}", judgements.file),
            is_fault: false,
        })?;
        if let Some(problem) = line.problem(&relevant, known) {
            return Err(Refused::fault(problem));
        }
        let kind = match line.unanswerable {
            true => &mut self.unanswerable,
            false => &mut self.questions,
        };
        kind.push(Question {
            id: line.id,
            text: line.text,
            relevant,
            answers: line.answers,
            history: line.history,
            case: line.case,
        });
        Ok(())
    }
}

/// Why a line is no question that can be asked.
struct Refused {
    why: String,
    is_fault: bool,
}

impl Refused {
    fn fault(why: String) -> Self {
        let is_fault = true;
        Self { why, is_fault }
    }
}

/// Counts fields that are written nearly as one that means something, with it. Other fields are the
/// set's own.
fn count_misspelt(line: &Value, misspelt: &mut BTreeMap<(String, &'static str), usize>) {
    let names = line.as_object().into_iter().flat_map(|line| line.keys());
    for name in names.filter(|name| !FIELDS.contains(&name.as_str())) {
        let written = name
            .trim_start_matches('_')
            .to_lowercase()
            .replace('-', "_");
        let is_meant = |field: &&&str| {
            let letters = field.trim_start_matches('_');
            written == letters
                || letters.len() >= SHORTEST_MISSPELT
                    && strsim::damerau_levenshtein(&written, letters) == 1
        };
        if let Some(meant) = FIELDS.iter().find(is_meant) {
            *misspelt.entry((name.clone(), meant)).or_default() += 1;
        }
    }
}
