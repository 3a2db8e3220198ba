//! What can be told of an answer without reading it.

use serde::Serialize;
use tributary_schemas::ask::{Answer, Verdict};
use tributary_taxonomy::language::is_chinese;

use crate::set::Question;

/// What can be told without reading. `None` where there is nothing to tell it by.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measures {
    /// Refused where nothing answers the question, and not where something does.
    pub decision_is_right: bool,
    /// It is in the language of the question.
    pub language_is_kept: bool,
    /// Every `[n]` outside code is the number of a source.
    pub citations_are_valid: bool,
    /// Share of its statements that its sources support.
    pub supported: Option<f64>,
    /// A relevant document is among its sources.
    pub source_is_found: Option<bool>,
    /// A relevant document is among those that it cites.
    pub source_is_cited: Option<bool>,
    /// An expected answer stands in it, but for case, spaces and punctuation.
    pub holds_expected: Option<bool>,
    /// Each number of an expected answer stands in it.
    pub numbers_are_right: Option<bool>,
}

/// What a language model makes of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Read {
    /// Whether it answers the question rightly.
    pub is_right: bool,
    /// Why, in a sentence.
    pub reason: String,
}

impl Measures {
    /// Of an answer to a question.
    pub fn of(question: &Question, answer: &Answer) -> Self {
        let has_answer = !question.relevant.is_empty();
        let is_refused = answer.verdict == Verdict::Refused;
        let judged = has_answer && !is_refused;
        let is_relevant = |document: &str| question.relevant.contains(document);
        let mut sources = answer.sources.iter().chain(&answer.related);
        let expected = question.answers.iter().map(String::as_str);
        let said = squeezed(&answer.answer);
        Self {
            decision_is_right: has_answer != is_refused,
            language_is_kept: is_chinese(&question.text) == is_chinese(&answer.answer),
            citations_are_valid: numbers_cited(&answer.answer)
                .iter()
                .all(|number| (1..=answer.sources.len() as u64).contains(number)),
            supported: supported(answer),
            source_is_found: has_answer
                .then(|| sources.any(|source| is_relevant(&source.document_id))),
            source_is_cited: judged.then(|| cited(answer).any(is_relevant)),
            holds_expected: (judged && !question.answers.is_empty())
                .then(|| expected.clone().any(|one| said.contains(&squeezed(one)))),
            numbers_are_right: judged
                .then(|| numbers_are_right(expected, &answer.answer))
                .flatten(),
        }
    }
}

/// Documents of the sources that an answer cites.
pub fn cited(answer: &Answer) -> impl Iterator<Item = &str> {
    let cited = answer.sources.iter().filter(|source| source.cited);
    cited.map(|source| source.document_id.as_str())
}

fn supported(answer: &Answer) -> Option<f64> {
    let statements = answer.support.len();
    let supported = answer
        .support
        .iter()
        .filter(|statement| statement.supported);
    (statements > 0).then(|| supported.count() as f64 / statements as f64)
}

/// The numbers of all `[n]` in Markdown, but for those in code.
fn numbers_cited(markdown: &str) -> Vec<u64> {
    let mut numbers = Vec::new();
    let mut in_fence = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
            continue;
        }
        if in_fence {
            continue;
        }
        // Every other part is code.
        for text in line.split('`').step_by(2) {
            let brackets = text
                .split('[')
                .skip(1)
                .filter_map(|rest| rest.split_once(']'));
            numbers.extend(brackets.filter_map(|(inside, _)| inside.parse::<u64>().ok()));
        }
    }
    numbers
}

/// Letters and digits alone, in lower case.
fn squeezed(text: &str) -> String {
    let kept = text.chars().filter(|character| character.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}

/// Whether all numbers of one of the expected answers stand in a text; none where none has any.
fn numbers_are_right<'a>(expected: impl Iterator<Item = &'a str>, text: &str) -> Option<bool> {
    let said = numbers(text);
    let wanted = expected.map(numbers).filter(|numbers| !numbers.is_empty());
    let right: Vec<bool> = wanted
        .map(|numbers| numbers.iter().all(|number| said.contains(number)))
        .collect();
    (!right.is_empty()).then(|| right.contains(&true))
}

/// Runs of digits with what belongs to a number inside them; separators of thousands left out.
fn numbers(text: &str) -> Vec<String> {
    let is_part = |character: char| character.is_ascii_digit() || ",.".contains(character);
    text.split(|character| !is_part(character))
        .map(|run| run.trim_matches([',', '.']).replace(',', ""))
        .filter(|number| !number.is_empty())
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn answer(text: &str, verdict: &str, more: &Value) -> Answer {
        let source = |number: u32, document: &str| {
            json!({"number": number, "cited": number == 1, "chunk_id": format!("{number:032x}"),
                "document_id": document, "version": 1, "source": "s", "source_path": "p",
                "title": "t", "section_path": [], "pages": [], "url": "", "kind": "leaf",
                "text": "It opens at 9.30 and has 1,200 seats."})
        };
        let mut whole = json!({"id": "0".repeat(32), "question": "?", "answer": text,
            "verdict": verdict, "workflow": "general", "language": "en",
            "sources": [source(1, "right"), source(2, "other")], "support": [], "degraded": [],
            "took_ms": 1.0, "steps": []});
        for (name, value) in more.as_object().unwrap() {
            whole[name] = value.clone();
        }
        serde_json::from_value(whole).unwrap()
    }

    fn question(text: &str, relevant: &[&str], answers: &[&str]) -> Question {
        let owned = |values: &[&str]| {
            values
                .iter()
                .map(|value| (*value).to_owned())
                .collect::<Vec<_>>()
        };
        Question {
            id: "q".to_owned(),
            text: text.to_owned(),
            relevant: owned(relevant).into_iter().collect(),
            answers: owned(answers),
            history: Vec::new(),
            case: crate::case::Case::default(),
        }
    }

    #[test]
    fn a_right_answer_is_right_in_all() {
        let support = json!({"support": [
            {"span": {"start": 0, "end": 3}, "citations": [1], "supported": true, "coverage": 1.0},
            {"span": {"start": 3, "end": 4}, "citations": [], "supported": false, "coverage": 0.0}]});
        let answer = answer(
            "It opens at 9.30 [1] and has 1200 seats.",
            "answered",
            &support,
        );
        let asked = question(
            "When?",
            &["right"],
            &["9.30, with 1,200 seats", "opens at 9.30"],
        );
        let measures = Measures::of(&asked, &answer);
        assert!(measures.decision_is_right && measures.language_is_kept);
        assert!(measures.citations_are_valid);
        assert_eq!(measures.supported, Some(0.5));
        assert_eq!(
            (measures.source_is_found, measures.source_is_cited),
            (Some(true), Some(true))
        );
        assert_eq!(
            (measures.holds_expected, measures.numbers_are_right),
            (Some(true), Some(true))
        );
    }

    #[test]
    fn a_wrong_answer_is_wrong_where_it_is() {
        let wrong = answer("开门时间是 8.15 [7]。", "answered", &json!({}));
        let measures = Measures::of(&question("When?", &["elsewhere"], &["9.30"]), &wrong);
        assert!(!measures.language_is_kept && !measures.citations_are_valid);
        assert_eq!(
            (measures.source_is_found, measures.source_is_cited),
            (Some(false), Some(false))
        );
        assert_eq!(
            (measures.holds_expected, measures.numbers_are_right),
            (Some(false), Some(false))
        );
        assert_eq!(measures.supported, None);
        let unanswerable = Measures::of(&question("When?", &[], &[]), &wrong);
        assert!(!unanswerable.decision_is_right);
        assert_eq!(unanswerable.source_is_found, None);
        let refused = answer("No.", "refused", &json!({}));
        assert!(Measures::of(&question("When?", &[], &[]), &refused).decision_is_right);
        let wrongly = Measures::of(&question("When?", &["right"], &["9.30"]), &refused);
        assert!(!wrongly.decision_is_right);
        assert_eq!(wrongly.holds_expected, None);
    }

    #[test]
    fn numbers_of_code_are_no_citations() {
        let markdown = "See [2] and `a[7]`.\n```\nb[8]\n```\n[3][x] [ 4 ]";
        assert_eq!(numbers_cited(markdown), [2, 3]);
        assert_eq!(numbers("1,200 of 3.5 %, in 2024."), ["1200", "3.5", "2024"]);
    }
}
