//! Questions that users asked, as candidates for cases: those with feedback, those that were
//! refused, those that failed, and searches that found nothing. Where an answer helped, the
//! documents that it cites count as relevant; all others wait for a judgement.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;
use tributary_schemas::ask::{Answer, Verdict};
use tributary_schemas::conversation::{Turn, TurnState};
use tributary_schemas::files;

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
    /// Those of them that the file of questions did not have.
    pub added: usize,
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

/// Adds candidates to `queries.candidates.jsonl` and `qrels.candidates.tsv` in a folder. What stands
/// there stays: somebody may have judged it.
pub fn write(candidates: &[Candidate], folder: &Path) -> Result<Written> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let file = |name: &str| {
        let path = folder.join(name);
        let known = known(&path);
        known.map(|known| (path, known))
    };
    let (queries, asked) = file("queries.candidates.jsonl")?;
    let (qrels, judged) = file("qrels.candidates.tsv")?;
    let asked: HashSet<String> = asked.lines().filter_map(id_of_question).collect();
    let judged: HashSet<&str> = judged
        .lines()
        .filter_map(|line| line.split('\t').next())
        .collect();
    let (mut questions, mut judgements) = (String::new(), String::new());
    if judged.is_empty() {
        judgements.push_str("query-id\tcorpus-id\tscore\n");
    }
    let mut counts: BTreeMap<Origin, usize> = BTreeMap::new();
    let mut added = 0;
    for candidate in candidates {
        if !asked.contains(&candidate.id) {
            questions.push_str(&format!("{}\n", serde_json::to_string(candidate)?));
            added += 1;
        }
        if !judged.contains(candidate.id.as_str()) {
            for document in &candidate.relevant {
                judgements.push_str(&format!("{}\t{document}\t1\n", candidate.id));
            }
        }
        *counts.entry(candidate.origin).or_default() += 1;
    }
    append(&queries, &questions)?;
    append(&qrels, &judgements)?;
    Ok(Written {
        queries,
        qrels,
        candidates: counts,
        added,
    })
}

/// The text of a file; none of one that is not there.
fn known(path: &Path) -> Result<String> {
    match files::read_data(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn id_of_question(line: &str) -> Option<String> {
    let line: Value = serde_json::from_str(line).ok()?;
    Some(line.get("_id")?.as_str()?.to_owned())
}

/// Writes lines behind those of a file, the last of which may have no end.
fn append(path: &Path, lines: &str) -> Result<()> {
    let failed = || format!("cannot write {}", path.display());
    let is_open = known(path)?.chars().last().is_some_and(|last| last != '\n');
    let text = format!(
        "{}{lines}",
        if is_open && !lines.is_empty() {
            "\n"
        } else {
            ""
        }
    );
    let file = OpenOptions::new().create(true).append(true).open(path);
    let mut file = file.with_context(failed)?;
    file.write_all(text.as_bytes()).with_context(failed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_judged_by_hand_stays() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let folder = folder.path();
        let candidate = |id: &str, relevant: &[&str]| Candidate {
            id: id.to_owned(),
            text: format!("what is {id}?"),
            history: Vec::new(),
            origin: Origin::Refused,
            reason: String::new(),
            shown: Vec::new(),
            relevant: relevant.iter().map(|one| (*one).to_owned()).collect(),
        };
        let write = |candidates: &[Candidate]| {
            write(candidates, folder).unwrap_or_else(|error| panic!("{error:#}"))
        };
        let read = |path: &Path| fs::read_to_string(path).ok().unwrap_or_default();
        let first = write(&[candidate("a", &["d1"]), candidate("b", &[])]);
        assert_eq!(first.added, 2);
        // By hand, without a last line end.
        let judged = format!("{}a\td9\t0\nb\td2\t1", read(&first.qrels));
        fs::write(&first.qrels, &judged).ok();
        let second = write(&[
            candidate("b", &["d3"]),
            candidate("c", &["d4"]),
            candidate("a", &["d1"]),
        ]);
        assert_eq!(second.added, 1);
        assert_eq!(read(&second.qrels), format!("{judged}\nc\td4\t1\n"));
        let questions = read(&second.queries);
        let ids: Vec<_> = questions.lines().filter_map(id_of_question).collect();
        assert_eq!(ids, ["a", "b", "c"]);
    }

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
