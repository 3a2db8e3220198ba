//! What answers which question: a file of judgements.

use std::collections::{HashMap, HashSet};
use std::path::{Display, Path};

use anyhow::{Context, Result};
use tributary_schemas::files;

use super::Known;
use super::lines::{place, text_lines};

/// Ids that a line about many questions names.
const NAMED: usize = 5;

/// What a file of judgements says; questions are taken out of it as they are read.
pub(super) struct Judgements<'a> {
    pub file: Display<'a>,
    /// Question id → relevant documents of the set, none for a question that has only others.
    pub relevant: HashMap<String, HashSet<String>>,
}

impl<'a> Judgements<'a> {
    /// The first line may be a header; a judgement counts if its score is above 0.
    pub(super) fn read(file: &'a Path, known: &Known, left_out: &mut Vec<String>) -> Result<Self> {
        let bytes =
            files::read_data(file).with_context(|| format!("cannot read {}", file.display()))?;
        let lines = text_lines(file, &bytes, left_out);
        let mut judgements = HashMap::<String, HashSet<String>>::new();
        let mut judged = HashMap::<(&str, &str), bool>::new();
        for (index, line) in lines {
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
            let known = known.id(document);
            let judged = judged.entry((question, known.unwrap_or(document)));
            let before = *judged.or_insert(is_relevant);
            if before != is_relevant {
                left_out.push(format!(
                    "{}: `{document}` is judged otherwise for `{question}` in a line above, which counts",
                    place(file, index)
                ));
            } else if let Some(known) = known.filter(|_| is_relevant) {
                relevant.insert(known.to_owned());
            } else if is_relevant {
                left_out.push(format!(
                    "{}: there is no document `{document}`",
                    place(file, index)
                ));
            }
        }
        Ok(Self {
            file: file.display(),
            relevant: judgements,
        })
    }
    /// Says which questions are left that no line of `questions` has; at most the first few by id.
    pub(super) fn of_no_question(&self, questions: &Path) -> Option<String> {
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

fn judgement(line: &str) -> Option<(&str, &str, f64)> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [question, document, score] = columns.as_slice() else {
        return None;
    };
    let score: f64 = score.trim().parse().ok()?;
    score.is_finite().then_some((question, document, score))
}
