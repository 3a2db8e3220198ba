//! Questions that users asked, as candidates for cases: those with feedback, those that were
//! refused, those that failed, and searches that found nothing. Where an answer helped, the
//! documents that it cites count as relevant; all others wait for a judgement.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use tributary_schemas::ask::{Answer, Verdict};
use tributary_schemas::conversation::{Turn, TurnState};

/// Why a question is a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The answer helped.
    Helpful,
    /// The answer did not help.
    Unhelpful,
    /// Nothing was found that answers it.
    Refused,
    /// There was no answer.
    Failed,
    /// A search found nothing, or nothing that seems to answer it.
    Missed,
}

/// A search that was not answered, as the server keeps it.
#[derive(Clone, Copy, Debug)]
pub struct MissedQuestion<'a> {
    /// Its id.
    pub id: &'a str,
    /// As asked.
    pub query: &'a str,
}

/// A line of the file of questions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The turn.
    #[serde(rename = "_id")]
    pub id: String,
    /// As asked.
    pub text: String,
    /// What was said before, in turns, the user's first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<String>,
    /// Why it is one.
    pub origin: Origin,
    /// What the user says of the answer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Documents that the answer was made from, best first.
    pub shown: Vec<String>,
    /// Those of them that count as relevant; none where that is to be judged.
    #[serde(skip)]
    pub relevant: Vec<String>,
}

/// What was written.
#[derive(Debug, Serialize)]
pub struct Written {
    /// The questions.
    pub queries: PathBuf,
    /// Judgements of those that helped.
    pub qrels: PathBuf,
    /// Candidates by origin.
    pub candidates: BTreeMap<Origin, usize>,
}

/// Candidates among the turns of one conversation, in their order.
pub fn of_conversation(turns: &[Turn]) -> Vec<Candidate> {
    let mut history = Vec::new();
    let mut candidates = Vec::new();
    for turn in turns {
        candidates.extend(candidate(turn, &history));
        if let Some(answer) = &turn.answer {
            history.extend([turn.question.clone(), answer.answer.clone()]);
        }
    }
    candidates
}

/// Searches as candidates, but those whose question is among `known` already.
pub fn of_searches<'a>(
    missed: impl IntoIterator<Item = MissedQuestion<'a>>,
    known: &[Candidate],
) -> Vec<Candidate> {
    let is_new = |one: &MissedQuestion| known.iter().all(|known| known.text != one.query);
    let new = missed.into_iter().filter(is_new);
    new.map(|one| Candidate {
        id: format!("search-{}", one.id),
        text: one.query.to_owned(),
        history: Vec::new(),
        origin: Origin::Missed,
        reason: String::new(),
        shown: Vec::new(),
        relevant: Vec::new(),
    })
    .collect()
}

fn candidate(turn: &Turn, history: &[String]) -> Option<Candidate> {
    let answer = turn.answer.as_deref();
    let origin = origin(turn, answer)?;
    let documents = |cited_alone: bool| {
        let sources = answer.iter().flat_map(|answer| &answer.sources);
        let wanted = sources.filter(|source| source.cited || !cited_alone);
        distinct(wanted.map(|source| source.document_id.clone()))
    };
    Some(Candidate {
        id: turn.id.clone(),
        text: turn.question.clone(),
        history: history.to_vec(),
        origin,
        reason: turn
            .feedback
            .as_ref()
            .map(|said| said.reason.clone())
            .unwrap_or_default(),
        shown: documents(false),
        relevant: match origin {
            Origin::Helpful => documents(true),
            _ => Vec::new(),
        },
    })
}

fn origin(turn: &Turn, answer: Option<&Answer>) -> Option<Origin> {
    match (&turn.feedback, answer) {
        (Some(said), _) if said.helpful => Some(Origin::Helpful),
        (Some(_), _) => Some(Origin::Unhelpful),
        (None, Some(answer)) if answer.verdict == Verdict::Refused => Some(Origin::Refused),
        (None, _) if turn.state == TurnState::Failed => Some(Origin::Failed),
        (None, _) => None,
    }
}

fn distinct(documents: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for document in documents {
        if !found.contains(&document) {
            found.push(document);
        }
    }
    found
}

/// Writes `queries.candidates.jsonl` and `qrels.candidates.tsv` into a folder.
pub fn write(candidates: &[Candidate], folder: &Path) -> Result<Written> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut queries = String::new();
    let mut qrels = "query-id\tcorpus-id\tscore\n".to_owned();
    let mut counts: BTreeMap<Origin, usize> = BTreeMap::new();
    for candidate in candidates {
        queries.push_str(&format!("{}\n", serde_json::to_string(candidate)?));
        for document in &candidate.relevant {
            qrels.push_str(&format!("{}\t{document}\t1\n", candidate.id));
        }
        *counts.entry(candidate.origin).or_default() += 1;
    }
    let save = |name: &str, text: &str| {
        let path = folder.join(name);
        let done = fs::write(&path, text);
        done.with_context(|| format!("cannot write {}", path.display()))
            .map(|()| path)
    };
    Ok(Written {
        queries: save("queries.candidates.jsonl", &queries)?,
        qrels: save("qrels.candidates.tsv", &qrels)?,
        candidates: counts,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn turn(id: &str, verdict: &str, feedback: Value) -> Turn {
        let source = |number: u32, document: &str, cited: bool| {
            json!({"number": number, "cited": cited, "chunk_id": "0".repeat(32), "version": 1,
                "document_id": document, "source": "s", "source_path": "", "title": "",
                "section_path": [], "pages": [], "url": "", "kind": "leaf", "text": ""})
        };
        let sources = json!([
            source(1, "a", true),
            source(2, "b", false),
            source(3, "a", true)
        ]);
        let answer = json!({"id": id, "question": "q", "answer": "said", "verdict": verdict,
            "workflow": "general", "language": "en", "sources": sources, "support": [],
            "degraded": [], "took_ms": 1.0, "steps": []});
        let turn = json!({"id": id, "conversation_id": "c", "number": 1, "question": id,
            "state": "answered", "asked_at_ms": 1, "answer": answer, "feedback": feedback});
        serde_json::from_value(turn).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn what_helped_is_judged_by_what_it_cites_and_the_rest_waits() {
        let turns = [
            turn("plain", "answered", Value::Null),
            turn("good", "answered", json!({"helpful": true})),
            turn(
                "bad",
                "answered",
                json!({"helpful": false, "reason": "old"}),
            ),
            turn("refused", "refused", Value::Null),
        ];
        let found = of_conversation(&turns);
        let origins: Vec<(&str, Origin)> = found
            .iter()
            .map(|one| (one.id.as_str(), one.origin))
            .collect();
        let expected = [
            ("good", Origin::Helpful),
            ("bad", Origin::Unhelpful),
            ("refused", Origin::Refused),
        ];
        assert_eq!(origins, expected);
        let relevant: Vec<&[String]> = found.iter().map(|one| one.relevant.as_slice()).collect();
        assert_eq!(relevant, [&["a".to_owned()] as &[String], &[], &[]]);
        let bad = found.get(1).cloned();
        assert_eq!(bad.as_ref().map(|one| one.reason.as_str()), Some("old"));
        assert_eq!(
            bad.map(|one| one.history),
            Some(
                ["plain", "said", "good", "said"]
                    .map(str::to_owned)
                    .to_vec()
            )
        );
    }

    #[test]
    fn searches_that_were_missed_wait_for_a_judgement_and_are_not_asked_twice() {
        let known = of_conversation(&[turn("refused", "refused", Value::Null)]);
        let missed = [("1", "refused"), ("2", "载波聚合的功率")]
            .map(|(id, query)| MissedQuestion { id, query });
        let found = of_searches(missed, &known);
        let [one] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(
            (one.id.as_str(), one.text.as_str()),
            ("search-2", "载波聚合的功率")
        );
        assert!(one.origin == Origin::Missed && one.relevant.is_empty());
    }
}
