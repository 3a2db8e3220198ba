//! `tributary lexicon build`: the terms that people accepted or that score high, as a lexicon file
//! that says of each term why it is there, and what it changes for questions.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::Serialize;
use tributary_taxonomy::discovery::files::{read_verdicts, verdicts_beside};
use tributary_taxonomy::discovery::{Candidate, Verdicts};
use tributary_taxonomy::{Analyzer, Lexicon};

use super::difference::{self, Change, Difference};
use super::files;
use super::review::said;
use crate::args::BuildLexicon;
use crate::config::Config;
use crate::print::{self, Outcome};
use crate::verbs::own_files;

/// Changed questions that are shown; JSON has all of them.
const SHOWN: usize = 20;
/// What the first line of a file says, before the hash of those below it.
const FIRST_LINE: &str = "# Terms that tributary lexicon build wrote. The weight is the score. ";
/// What helps with a file that somebody edited.
const EDITED: &str = "keep terms of your own in a file of their own (taxonomy.lexicon_files names several), write to another file, or replace it with --overwrite";
/// Characters of a question that are shown.
const QUESTION_CHARACTERS: usize = 60;

/// What was built.
#[derive(Debug, Serialize)]
struct Report {
    output: PathBuf,
    terms: usize,
    /// Terms that a person accepted.
    accepted: usize,
    /// Terms that are there by their score alone.
    by_score: usize,
    /// Candidates that the lexicon of the configuration has already, which are left out.
    known: usize,
    /// Candidates left out because reviewers disagree.
    disputed: usize,
    difference: Option<Difference>,
}

/// Writes the lexicon.
pub fn run(config: &Config, build: &BuildLexicon) -> Result<Outcome> {
    let file = files::candidates_file(config, build.candidates.as_ref());
    let verdict_files = verdict_files(build, &file);
    let inputs = verdict_files.iter().chain(&build.questions);
    files::refuse_input(&build.output, inputs.chain([&file]))?;
    if !build.overwrite {
        own_files::refuse_edited(&build.output, FIRST_LINE, EDITED)?;
    }
    let mut candidates = files::candidates(&file)?;
    let verdicts = read_verdicts(&verdict_files)?;
    let current = Lexicon::from_files(&config.taxonomy.lexicon_files)?;
    let others = Lexicon::from_files(&beside(&build.output, config))?;
    judge(&mut candidates, &verdicts, &others);
    let taken: Vec<&Candidate> = candidates
        .iter()
        .filter(|candidate| is_taken(candidate, build.minimum_score))
        .collect();
    if taken.is_empty() {
        let known = candidates.iter().filter(|candidate| candidate.is_known);
        let known = match known.count() {
            0 => String::new(),
            count => format!(
                " that is not in another lexicon already, as {} of them are",
                print::count(count, "candidate")
            ),
        };
        bail!(
            "no candidate is accepted or scores {} or more{known}\nhint: `tributary lexicon review {}` accepts some, --minimum-score takes more",
            build.minimum_score,
            file.display()
        );
    }
    let text = written(&taken);
    let new = Lexicon::from_text(&build.output.display().to_string(), &text)?;
    let difference = difference(config, build, current, others, new)?;
    files::write(&build.output, &text)?;
    let report = report(build, &candidates, &taken, difference);
    print::result(build.format, &report, || describe(&report))?;
    Ok(Outcome::Done)
}

/// The lexicons of the configuration but the one that is written: what an earlier build put there is
/// decided anew.
fn beside(output: &Path, config: &Config) -> Vec<PathBuf> {
    let place = output.canonicalize().ok();
    let is_other = |file: &&PathBuf| place.is_none() || file.canonicalize().ok() != place;
    let files = config.taxonomy.lexicon_files.iter();
    files.filter(is_other).cloned().collect()
}

fn verdict_files(build: &BuildLexicon, candidates: &Path) -> Vec<PathBuf> {
    let beside = verdicts_beside(candidates);
    match build.verdicts.is_empty() && beside.exists() {
        true => vec![beside],
        false => build.verdicts.clone(),
    }
}

fn judge(candidates: &mut [Candidate], verdicts: &Verdicts, current: &Lexicon) {
    for candidate in candidates {
        candidate.standing = verdicts.standing(&candidate.term);
        candidate.is_known = current.contains(&candidate.term);
    }
}

/// A verdict goes before a score; what is disputed waits.
fn is_taken(candidate: &Candidate, minimum_score: f64) -> bool {
    let by_score = !candidate.standing.is_disputed() && candidate.score >= minimum_score;
    !candidate.is_known && candidate.standing.is_term().unwrap_or(by_score)
}

/// The file: above each term a comment that says where it comes from. The weight is the score.
fn written(taken: &[&Candidate]) -> String {
    let mut text = String::new();
    for candidate in taken {
        let verdicts = said(&candidate.standing);
        let reason = match verdicts.is_empty() {
            true => "by its score".to_owned(),
            false => verdicts,
        };
        text.push_str(&format!(
            "# {} times in {}; {reason}\n{}\t{:.2}\n",
            candidate.count,
            print::count(candidate.documents as usize, "document"),
            candidate.term,
            candidate.score
        ));
    }
    own_files::signed(FIRST_LINE, &text)
}

fn difference(
    config: &Config,
    build: &BuildLexicon,
    current: Lexicon,
    others: Lexicon,
    new: Lexicon,
) -> Result<Option<Difference>> {
    let Some(file) = &build.questions else {
        return Ok(None);
    };
    let mut both = others;
    both.extend(new);
    let before = Analyzer::new(&config.taxonomy.analyzer, current)?;
    let after = Analyzer::new(&config.taxonomy.analyzer, both)?;
    difference::read(file, &before, &after).map(Some)
}

fn report(
    build: &BuildLexicon,
    candidates: &[Candidate],
    taken: &[&Candidate],
    difference: Option<Difference>,
) -> Report {
    let count = |is: &dyn Fn(&Candidate) -> bool| candidates.iter().filter(|one| is(one)).count();
    let accepted = taken.iter().filter(|one| !one.standing.is_empty()).count();
    Report {
        output: build.output.clone(),
        terms: taken.len(),
        accepted,
        by_score: taken.len() - accepted,
        known: count(&|one| one.is_known),
        disputed: count(&|one| one.standing.is_disputed() && one.standing.is_term().is_none()),
        difference,
    }
}

fn describe(report: &Report) -> String {
    let mut lines = Vec::new();
    if let Some(difference) = &report.difference {
        let changed = difference.changed.len();
        lines.push(format!(
            "{changed} of {} questions are cut in another way",
            difference.questions
        ));
        lines.extend(difference.changed.iter().take(SHOWN).map(change));
        if changed > SHOWN {
            lines.push(format!(
                "  … and {} more; --format json has all",
                changed - SHOWN
            ));
        }
    }
    lines.push(format!(
        "{} in {}: {} accepted, {} by score; left out: {} disputed, {} in the lexicon already",
        print::count(report.terms, "term"),
        report.output.display(),
        report.accepted,
        report.by_score,
        report.disputed,
        report.known
    ));
    lines.push(format!(
        "to take it: add \"{}\" to taxonomy.lexicon_files, then `tributary knowledge-sets reindex --all`; \
         unchanged chunks keep their vectors",
        report.output.display()
    ));
    lines.join("\n")
}

fn change(change: &Change) -> String {
    let question = print::shorten(&change.question, QUESTION_CHARACTERS);
    let signed = |sign: char, tokens: &[String]| -> Vec<String> {
        tokens
            .iter()
            .map(|token| format!("{sign}{token}"))
            .collect()
    };
    let tokens = [signed('-', &change.gone), signed('+', &change.new)].concat();
    format!("  {question}: {}", tokens.join(" "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use tributary_taxonomy::discovery::{Decision, Discovery, Verdict};

    fn verdict(term: &str, decision: Decision, reviewer: &str) -> Verdict {
        Verdict {
            term: term.to_owned(),
            decision,
            reviewer: reviewer.to_owned(),
            at_ms: 0,
        }
    }

    #[test]
    fn verdicts_go_before_scores_and_the_file_is_a_lexicon() {
        let mut discovery = Discovery::default();
        discovery.begin_document();
        discovery.add_passage("**地址转换** (Address Translation) 用页表。\n**物理页号** (PPN) 变了。\n地址转换很快。");
        let mut candidates = discovery.finish(1).candidates;
        let mut verdicts = Verdicts::default();
        for (term, decision, reviewer) in [
            ("地址转换", Decision::Yes, "ann"),
            ("物理页号", Decision::Yes, "ann"),
            ("物理页号", Decision::No, "bob"),
            ("PPN", Decision::No, "bob"),
        ] {
            verdicts.add(&verdict(term, decision, reviewer));
        }
        judge(&mut candidates, &verdicts, &Lexicon::empty());
        let taken = |minimum: f64| -> Vec<&Candidate> {
            candidates
                .iter()
                .filter(|one| is_taken(one, minimum))
                .collect()
        };
        let all = written(&taken(0.0));
        let lexicon = Lexicon::from_text("t", &all).unwrap();
        assert!(
            lexicon.contains("地址转换") && lexicon.contains("Address Translation"),
            "{all}"
        );
        assert!(
            !lexicon.contains("物理页号") && !lexicon.contains("PPN"),
            "{all}"
        );
        assert!(
            all.contains("# 2 times in 1 document; yes: ann\n地址转换\t"),
            "{all}"
        );
        let [only] = taken(2.0)[..] else { panic!() };
        assert_eq!(only.term, "地址转换");
    }
}
