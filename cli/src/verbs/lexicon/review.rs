//! `tributary lexicon review`: a person says of candidates whether they are terms, those in doubt
//! first. Each verdict is on the disk before the next candidate is shown.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use anyhow::Result;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tributary_eval::terms::TermJudge;
use tributary_schemas::{Error, ErrorKind};
use tributary_taxonomy::discovery::files::{
    VerdictFile, read_text, read_verdicts, verdicts_beside,
};
use tributary_taxonomy::discovery::review::{Progress, Reviewer, borderline_first};
use tributary_taxonomy::discovery::{Candidate, Decision, Standing, Verdict, Verdicts};

use super::by_model;
use super::files;
use crate::app;
use crate::args::Review;
use crate::config::Config;
use crate::print::{self, Outcome};

/// What each answer means.
const KEYS: &str = "y yes, n no, s skip, u undo the last, q quit; Enter after each";
/// Terms of no candidate that are named.
const NAMED: usize = 5;

/// What a review came to.
#[derive(Debug, Default, Serialize)]
struct Report {
    file: PathBuf,
    reviewer: String,
    yes: usize,
    no: usize,
    skipped: usize,
    undone: usize,
    /// Candidates that nobody decided, or on which reviewers disagree.
    open: usize,
    /// Candidates on which they disagree.
    disputed: usize,
    /// Candidates on which the model gave no verdict.
    #[serde(skip_serializing_if = "is_zero")]
    without_verdict: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// A line of a file of verdicts that is taken in.
#[derive(Debug, Deserialize)]
struct Taken {
    term: String,
    decision: Decision,
    reviewer: Option<String>,
    at_ms: Option<i64>,
}

/// Asks a person or a model, or takes verdicts from a file.
pub fn run(config: &Config, review: &Review) -> Result<Outcome> {
    let judge = review
        .by_model
        .then(|| by_model::judge(config))
        .transpose()?;
    let reviewer = judge.as_ref().map(TermJudge::reviewer);
    let reviewer = reviewer.unwrap_or_else(|| review.reviewer.clone());
    let candidates_file = files::candidates_file(config, review.candidates.as_ref());
    let candidates = files::candidates(&candidates_file)?;
    let beside = || verdicts_beside(&candidates_file);
    let file = review.file.clone().unwrap_or_else(beside);
    let known: &[PathBuf] = match file.exists() {
        true => std::slice::from_ref(&file),
        false => &[],
    };
    let verdicts = read_verdicts(known)?;
    let taken = review.verdicts.as_deref();
    let taken = taken.map(|from| taken_from(from, &review.reviewer));
    let taken = taken.transpose()?;
    let mut session = Session {
        kept: VerdictFile::open(&file)?,
        verdicts,
        report: Report {
            file,
            reviewer,
            ..Report::default()
        },
        given: Vec::new(),
    };
    let mut queue = queue(&candidates, &session, review);
    match (taken, judge) {
        (_, Some(judge)) => {
            queue.sort_by(|one, other| other.score.total_cmp(&one.score));
            queue.truncate(review.limit);
            session.report.without_verdict = by_model::ask(&judge, &queue, &mut session)?;
        }
        (Some(taken), None) => {
            if let Some(said) = of_no_candidate(&taken, &candidates) {
                print::note(&said);
            }
            session.take(&taken)?;
        }
        (None, None) => {
            queue.truncate(review.limit);
            session.ask(&queue)?;
        }
    }
    let report = session.finish(&candidates);
    print::result(review.format, &report, || {
        describe(&report, review.candidates.as_deref())
    })?;
    let given = report.yes + report.no + report.skipped;
    Ok(Outcome::of(given, report.without_verdict))
}

/// Candidates that are open, the nearest to even odds first.
fn queue<'a>(
    candidates: &'a [Candidate],
    session: &Session,
    review: &Review,
) -> Vec<&'a Candidate> {
    let reviewer = Reviewer {
        name: &session.report.reviewer,
        heeds_models: review.by_model,
        sees_decided: review.all,
    };
    let is_asked = |one: &&Candidate| reviewer.is_asked(one, &session.verdicts);
    let mut open: Vec<&Candidate> = candidates.iter().filter(is_asked).collect();
    borderline_first(&mut open);
    open
}

fn taken_from(file: &Path, reviewer: &str) -> Result<Vec<Verdict>> {
    let name = file.display();
    let text = read_text(file)?;
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| -> Result<Verdict> {
            let taken: Taken = serde_json::from_str(line).map_err(|error| {
                Error::new(
                    ErrorKind::Invalid,
                    format!("{name} line {}: {error}", index + 1),
                )
                .with_hint("one object a line: {\"term\": …, \"decision\": \"yes\" or \"no\"}")
            })?;
            Ok(Verdict {
                term: taken.term,
                decision: taken.decision,
                reviewer: taken.reviewer.unwrap_or_else(|| reviewer.to_owned()),
                at_ms: taken.at_ms.unwrap_or_else(now_ms),
            })
        })
        .collect()
}

/// Says which verdicts are on terms that are no candidates: spelt in another way, or of an earlier
/// round.
fn of_no_candidate(taken: &[Verdict], candidates: &[Candidate]) -> Option<String> {
    let known = known_terms(candidates);
    let others = taken.iter().map(|verdict| verdict.term.as_str());
    let others: Vec<&str> = others
        .filter(|term| known.standing(term).is_empty())
        .collect();
    let first: Vec<&str> = others.iter().take(NAMED).copied().collect();
    let more = if others.len() > NAMED { ", …" } else { "" };
    let said = format!(
        "{} on terms that are no candidates, kept all the same: {}{more}",
        print::count(others.len(), "verdict"),
        first.join(", ")
    );
    (!others.is_empty()).then_some(said)
}

/// The candidates as verdicts, which know which spellings are one term.
fn known_terms(candidates: &[Candidate]) -> Verdicts {
    let mut known = Verdicts::default();
    for candidate in candidates {
        known.add(&Verdict {
            term: candidate.term.clone(),
            decision: Decision::Yes,
            reviewer: String::new(),
            at_ms: 0,
        });
    }
    known
}

/// Answers as they are typed: `None` at the end of the input, and after Ctrl-C, which then ends a
/// review as `q` does. The two threads end with the process.
struct Answers(mpsc::Receiver<Option<std::io::Result<String>>>);

impl Answers {
    fn open() -> Self {
        let (sender, receiver) = mpsc::channel();
        let interrupted = sender.clone();
        thread::spawn(move || {
            let heard = app::block_on(tokio::signal::ctrl_c());
            if heard.is_ok() {
                let _ended = interrupted.send(None);
            }
        });
        thread::spawn(move || {
            let lines = std::io::stdin().lock().lines().map(Some);
            for line in lines.chain([None]) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self(receiver)
    }

    fn next(&self) -> Result<Option<String>> {
        print::prompt("> ");
        let answer = self.0.recv().ok().flatten();
        if answer.is_none() {
            // What follows does not stand behind the prompt.
            print::note("");
        }
        Ok(answer.transpose()?)
    }
}

pub(super) fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

/// A reviewer at work.
pub(super) struct Session {
    kept: VerdictFile,
    verdicts: Verdicts,
    report: Report,
    /// Places in the queue of what was decided, the last one last.
    given: Vec<usize>,
}

impl Session {
    /// Keeps verdicts.
    pub(super) fn take(&mut self, taken: &[Verdict]) -> Result<()> {
        self.kept.add(taken)?;
        for verdict in taken {
            self.count(verdict.decision);
            self.verdicts.add(verdict);
        }
        Ok(())
    }

    /// Shows one candidate after the other until the last, or the end of the input.
    fn ask(&mut self, queue: &[&Candidate]) -> Result<()> {
        if !queue.is_empty() {
            print::note(KEYS);
        }
        let answers = Answers::open();
        let mut at = 0;
        while let Some(candidate) = queue.get(at) {
            print::note(&shown(candidate, &self.verdicts, (at + 1, queue.len())));
            let Some(answer) = answers.next()? else {
                break;
            };
            match answer.trim().to_lowercase().as_str() {
                "y" | "yes" => self.decide(candidate, Decision::Yes, &mut at)?,
                "n" | "no" => self.decide(candidate, Decision::No, &mut at)?,
                "s" | "skip" | "" => self.decide(candidate, Decision::Skip, &mut at)?,
                "u" | "undo" => self.undo(queue, &mut at)?,
                "q" | "quit" => break,
                other => print::note(&format!("`{other}` is none of: {KEYS}")),
            }
        }
        Ok(())
    }

    fn decide(&mut self, candidate: &Candidate, decision: Decision, at: &mut usize) -> Result<()> {
        self.keep(candidate, decision)?;
        self.given.push(*at);
        *at += 1;
        Ok(())
    }

    /// Goes back to what was decided last.
    fn undo(&mut self, queue: &[&Candidate], at: &mut usize) -> Result<()> {
        let Some(last) = self.given.pop() else {
            print::note("there is nothing to undo");
            return Ok(());
        };
        if let Some(candidate) = queue.get(last) {
            self.keep(candidate, Decision::Undo)?;
        }
        *at = last;
        Ok(())
    }

    fn keep(&mut self, candidate: &Candidate, decision: Decision) -> Result<()> {
        let verdict = Verdict {
            term: candidate.term.clone(),
            decision,
            reviewer: self.report.reviewer.clone(),
            at_ms: now_ms(),
        };
        self.take(std::slice::from_ref(&verdict))
    }

    fn count(&mut self, decision: Decision) {
        let counter = match decision {
            Decision::Yes => &mut self.report.yes,
            Decision::No => &mut self.report.no,
            Decision::Skip => &mut self.report.skipped,
            Decision::Undo => &mut self.report.undone,
        };
        *counter += 1;
    }

    fn finish(mut self, candidates: &[Candidate]) -> Report {
        let progress = Progress::of(candidates, &self.verdicts);
        self.report.open = progress.open;
        self.report.disputed = progress.disputed;
        self.report
    }
}

fn shown(candidate: &Candidate, verdicts: &Verdicts, (number, of): (usize, usize)) -> String {
    let mut lines = vec![format!(
        "\n{number}/{of}  {}   score {:.2}, {} times in {}",
        candidate.term,
        candidate.score,
        candidate.count,
        print::count(candidate.documents as usize, "document")
    )];
    let standing = verdicts.standing(&candidate.term);
    if !standing.is_empty() {
        lines.push(format!("    {}", said(&standing)));
    }
    let contexts = candidate.contexts.iter();
    lines.extend(contexts.map(|context| format!("    {context}")));
    lines.join("\n")
}

/// Who said what.
pub(super) fn said(standing: &Standing) -> String {
    let mut parts = Vec::new();
    if !standing.yes.is_empty() {
        parts.push(format!("yes: {}", standing.yes.join(", ")));
    }
    if !standing.no.is_empty() {
        parts.push(format!("no: {}", standing.no.join(", ")));
    }
    parts.join("; ")
}

fn describe(report: &Report, candidates: Option<&Path>) -> String {
    let verdicts = report.file.display();
    let next = match candidates.map(Path::display) {
        None => "tributary lexicon discover".to_owned(),
        Some(file) => format!(
            "tributary lexicon discover --from {file} --verdicts {verdicts} --output {file}"
        ),
    };
    format!(
        "{} yes, {} no, {} skipped, {} undone by {}; {} open, {} disputed\nnext: {next}",
        report.yes,
        report.no,
        report.skipped,
        report.undone,
        report.reviewer,
        report.open,
        report.disputed
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tributary_taxonomy::discovery::Discovery;

    #[test]
    fn verdicts_on_terms_of_no_candidate_are_named_with_their_count() {
        let mut discovery = Discovery::default();
        discovery.begin_document();
        discovery.add_passage("**地址转换** (Address Translation) 用页表。地址转换很快。");
        let candidates = discovery.finish(1).candidates;
        let verdict = |term: &str| Verdict {
            term: term.to_owned(),
            decision: Decision::No,
            reviewer: "ann".to_owned(),
            at_ms: 0,
        };
        let known = [verdict("地址转换"), verdict("address translation")];
        assert_eq!(of_no_candidate(&known, &candidates), None);
        let mixed = [verdict("地址转换"), verdict("别的"), verdict("other")];
        let said = of_no_candidate(&mixed, &candidates).unwrap_or_default();
        assert!(said.starts_with("2 verdicts on terms"), "{said}");
        assert!(said.ends_with(": 别的, other"), "{said}");
    }
}
