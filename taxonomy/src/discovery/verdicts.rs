//! What people said of candidates. Every verdict is kept; of each reviewer the last one on a term
//! stands, and reviewers who disagree leave it open.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, Result};

use crate::lexicon::term_key;

/// What a reviewer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It is a term.
    Yes,
    /// It is none.
    No,
    /// Not decided; it is asked later.
    Skip,
    /// The reviewer's verdict before this one no longer holds.
    Undo,
}

/// One line of a file of verdicts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The candidate, as written.
    pub term: String,
    /// What was said.
    pub decision: Decision,
    /// Who said it; a person, or `model:NAME`.
    pub reviewer: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// All verdicts, in the order in which they were given.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    /// By term key, then by reviewer.
    standing: BTreeMap<String, BTreeMap<String, Decision>>,
    total: usize,
}

/// Who says what of a term now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Reviewers who say that it is a term.
    pub yes: Vec<String>,
    /// Reviewers who say that it is none.
    pub no: Vec<String>,
}

/// How the name of a reviewer begins that is a language model.
pub const MODEL: &str = "model:";

fn is_person(reviewer: &&String) -> bool {
    !reviewer.starts_with(MODEL)
}

impl Standing {
    /// What most of them say; nothing where as many say one as the other. Where a person said
    /// something, models do not count.
    pub fn is_term(&self) -> Option<bool> {
        let (yes, no) = self.counted();
        match yes.cmp(&no) {
            std::cmp::Ordering::Greater => Some(true),
            std::cmp::Ordering::Less => Some(false),
            std::cmp::Ordering::Equal => None,
        }
    }

    /// Whether reviewers disagree who count.
    pub fn is_disputed(&self) -> bool {
        let (yes, no) = self.counted();
        yes > 0 && no > 0
    }

    /// Whether a person said something.
    pub fn is_of_people(&self) -> bool {
        self.yes.iter().chain(&self.no).any(|one| is_person(&one))
    }

    fn counted(&self) -> (usize, usize) {
        let count = |reviewers: &[String]| match self.is_of_people() {
            true => reviewers.iter().filter(is_person).count(),
            false => reviewers.len(),
        };
        (count(&self.yes), count(&self.no))
    }

    /// Whether nobody said anything.
    pub fn is_empty(&self) -> bool {
        self.yes.is_empty() && self.no.is_empty()
    }
}

impl Verdicts {
    /// Adds those of a file of JSON Lines; `origin` names it in errors. `Invalid` names the first bad
    /// line.
    pub fn read(&mut self, origin: &str, text: &str) -> Result<()> {
        for (index, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let verdict: Verdict = serde_json::from_str(line).map_err(|error| {
                let message = format!("{origin} line {}: {error}", index + 1);
                Error::new(ErrorKind::Invalid, message).with_hint(
                    "one object a line: {\"term\": …, \"decision\": \"yes\" or \"no\", \"reviewer\": …, \"at_ms\": …}",
                )
            })?;
            self.add(&verdict);
        }
        Ok(())
    }

    /// Adds one that was given after all others.
    pub fn add(&mut self, verdict: &Verdict) {
        self.total += 1;
        let by_reviewer = self.standing.entry(term_key(&verdict.term)).or_default();
        match verdict.decision {
            Decision::Yes | Decision::No => {
                by_reviewer.insert(verdict.reviewer.clone(), verdict.decision);
            }
            Decision::Undo => {
                by_reviewer.remove(&verdict.reviewer);
            }
            Decision::Skip => {}
        }
    }

    /// Who says what of a term.
    pub fn standing(&self, term: &str) -> Standing {
        let mut standing = Standing::default();
        for (reviewer, decision) in self.standing.get(&term_key(term)).into_iter().flatten() {
            match decision {
                Decision::Yes => standing.yes.push(reviewer.clone()),
                _ => standing.no.push(reviewer.clone()),
            }
        }
        standing
    }

    /// What this reviewer says of a term now.
    pub fn of(&self, reviewer: &str, term: &str) -> Option<Decision> {
        let by_reviewer = self.standing.get(&term_key(term))?;
        by_reviewer.get(reviewer).copied()
    }

    /// Verdicts given, with those that no longer hold.
    pub fn total(&self) -> usize {
        self.total
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn verdict(term: &str, decision: Decision, reviewer: &str) -> Verdict {
        Verdict {
            term: term.to_owned(),
            decision,
            reviewer: reviewer.to_owned(),
            at_ms: 1,
        }
    }

    #[test]
    fn the_last_verdict_of_each_reviewer_stands_and_disagreement_is_open() {
        let mut verdicts = Verdicts::default();
        for (term, decision, reviewer) in [
            ("页表", Decision::No, "ann"),
            ("頁表", Decision::Yes, "ann"),
            ("页表", Decision::No, "bob"),
            ("页表", Decision::Skip, "bob"),
        ] {
            verdicts.add(&verdict(term, decision, reviewer));
        }
        let standing = verdicts.standing("页表");
        assert!(standing.is_disputed() && standing.is_term().is_none());
        verdicts.add(&verdict("页表", Decision::Undo, "bob"));
        assert_eq!(verdicts.standing("页表").is_term(), Some(true));
        assert_eq!(verdicts.of("bob", "页表"), None);
        assert_eq!(verdicts.total(), 5);
    }

    #[test]
    fn people_go_before_models() {
        let mut verdicts = Verdicts::default();
        for model in ["model:a", "model:b"] {
            verdicts.add(&verdict("页表", Decision::No, model));
        }
        let standing = verdicts.standing("页表");
        assert_eq!(
            (standing.is_term(), standing.is_of_people()),
            (Some(false), false)
        );
        verdicts.add(&verdict("页表", Decision::Yes, "ann"));
        let standing = verdicts.standing("页表");
        assert_eq!(
            (standing.is_term(), standing.is_disputed()),
            (Some(true), false)
        );
        assert!(standing.is_of_people());
    }

    #[test]
    fn a_bad_line_is_named() {
        let good = serde_json::to_string(&verdict("x", Decision::Yes, "ann")).unwrap();
        let mut verdicts = Verdicts::default();
        let error = verdicts
            .read("v.jsonl", &format!("{good}\n\n{{}}\n"))
            .unwrap_err();
        assert_eq!(verdicts.total(), 1);
        assert!(error.to_string().contains("v.jsonl line 3"), "{error}");
    }
}
