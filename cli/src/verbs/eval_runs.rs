//! `tributary eval runs` and `eval compare`: what earlier runs of `eval run` found.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use jiff::Timestamp;
use tributary_eval::Report;

use tributary_eval::diagnosis::{CaseRecord, Step};
use tributary_schemas::evaluation::{CaseChange, Comparison, FORMAT, MeasureDifference, StoredRun};
use tributary_store::data_folder;
use tributary_store::evaluations::{self, FOLDER, Listing, RunStore};

use crate::args::{EvalCompare, EvalRuns, Store};
use crate::config::Config;
use crate::print::{self, Outcome};
use crate::times;

/// Identifiers of cases that are named on one line.
const SHOWN_IDS: usize = 5;
const QUESTION_WIDTH: usize = 60;

/// The runs of a configuration.
pub struct Runs {
    store: RunStore,
    /// The data folder that must be there before a run is kept in it.
    data_folder: Option<String>,
}

/// Where runs are kept: where the command line says, or in the data folder.
pub fn store(config: &Config, named: &Store) -> Runs {
    let data_folder = &config.store.data_folder;
    match &named.store {
        Some(folder) => Runs {
            store: RunStore::new(folder.clone()),
            data_folder: None,
        },
        None => Runs {
            store: RunStore::new(Path::new(data_folder).join(FOLDER)),
            data_folder: Some(data_folder.clone()),
        },
    }
}

impl Runs {
    /// Makes the folder, so that one that cannot be made is known before the questions are asked.
    pub fn prepare(&self) -> Result<()> {
        if let Some(folder) = &self.data_folder {
            data_folder::create(Path::new(folder))?;
        }
        Ok(self.store.prepare()?)
    }

    /// Keeps a run; its report then says where it is.
    pub fn keep(&self, report: &mut Report, queries: &str) -> Result<()> {
        let now = Timestamp::now();
        let id = format!("{}-{}", now.strftime("%Y%m%d-%H%M%S"), report.set);
        let run = StoredRun {
            format: FORMAT,
            id,
            at_ms: now.as_millisecond(),
            queries: queries.to_owned(),
            cases: report.cases.clone(),
            report: Report {
                cases: Vec::new(),
                ..report.clone()
            },
        };
        let (run, _) = self.store.save(run)?;
        report.run = Some(run.id);
        Ok(())
    }
}

/// Opens the file of cases, so that one that cannot be written is known before the questions are
/// asked; what it holds stays until then.
pub fn prepare_cases(path: &Path) -> Result<()> {
    let opened = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path);
    opened
        .map(drop)
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Writes each case into a file, a line of JSON each.
pub fn write_cases(path: &Path, cases: &[CaseRecord]) -> Result<()> {
    let failed = || format!("cannot write {}", path.display());
    let file = std::fs::File::create(path).with_context(failed)?;
    let mut file = std::io::BufWriter::new(file);
    for case in cases {
        let line = serde_json::to_string(case)?;
        writeln!(file, "{line}").with_context(failed)?;
    }
    file.flush().with_context(failed)
}

/// Lists the runs.
pub fn list(config: &Config, wanted: &EvalRuns) -> Result<Outcome> {
    let listing = store(config, &wanted.store).store.list()?;
    print::result(wanted.output, &listing, || describe_list(&listing))?;
    Ok(Outcome::Done)
}

/// Compares two runs.
pub fn compare(config: &Config, wanted: &EvalCompare) -> Result<Outcome> {
    let store = store(config, &wanted.store).store;
    let (a, b) = (store.load(&wanted.a)?, store.load(&wanted.b)?);
    let comparison = evaluations::compare(&a, &b)?;
    print::result(wanted.output, &comparison, || {
        describe(&comparison, wanted.limit)
    })?;
    Ok(Outcome::Done)
}

fn describe_list(listing: &Listing) -> String {
    let mut lines: Vec<String> = listing
        .runs
        .iter()
        .map(|run| {
            let report = &run.report;
            let full = report.diagnosis.verdicts.get("full").copied().unwrap_or(0);
            let last = &report.tiers.last;
            format!(
                "{}  {}  {} questions of {}  full {full}  nDCG@10 {:.4}  recall@20 {:.4}",
                run.id,
                times::to_the_minute(run.at_ms),
                report.queries,
                run.queries,
                last.ndcg_10,
                last.recall_20
            )
        })
        .collect();
    if lines.is_empty() {
        lines.push("no runs are kept; `tributary eval run --set DIR` makes one".to_owned());
    }
    let left_out = listing.left_out.iter();
    lines.extend(left_out.map(|problem| format!("left out {problem}")));
    lines.join("\n")
}

fn describe(comparison: &Comparison, limit: usize) -> String {
    let mut lines = vec![
        format!("before  {}\nafter   {}", comparison.a, comparison.b),
        format!(
            "cases   {} in both, {} won, {} lost by nDCG@10; {} only before, {} only after",
            comparison.cases,
            comparison.won,
            comparison.lost,
            comparison.only_in_a.len(),
            comparison.only_in_b.len()
        ),
    ];
    lines.extend(unlike(comparison));
    lines.extend(comparison.measures.iter().map(measure));
    lines.extend(comparison.changes.iter().take(limit).map(change));
    let more = comparison.changes.len().saturating_sub(limit);
    if more > 0 {
        lines.push(format!("and {more} more (--limit)"));
    }
    lines.join("\n")
}

/// In what both did not ask the same.
fn unlike(comparison: &Comparison) -> Vec<String> {
    let mut lines = Vec::new();
    let named = |ids: &[String]| {
        let first = ids.iter().take(SHOWN_IDS).cloned().collect::<Vec<_>>();
        let more = if ids.len() > SHOWN_IDS { ", …" } else { "" };
        format!("{}{more}", first.join(", "))
    };
    let (asked, judged) = (&comparison.asked_otherwise, &comparison.judged_otherwise);
    if !asked.is_empty() {
        let count = print::count(asked.len(), "case");
        lines.push(format!(
            "unlike  {count} with another question: {}",
            named(asked)
        ));
    }
    if !judged.is_empty() {
        let count = print::count(judged.len(), "case");
        lines.push(format!(
            "unlike  {count} with other relevant documents or passages: {}",
            named(judged)
        ));
    }
    let [before, after] = comparison.top_k;
    if before != after {
        lines.push(format!(
            "unlike  the first {before} hits counted before, the first {after} after: compare runs of one --top-k"
        ));
    }
    lines
}

fn measure(measure: &MeasureDifference) -> String {
    let is_same = measure.difference == 0.0;
    let sure = match is_same || measure.is_certain() {
        true => "",
        false => "  may be chance",
    };
    format!(
        "{:<9} {:.4} → {:.4}  {:+.4} [{:+.4}, {:+.4}]{sure}",
        measure.measure, measure.a, measure.b, measure.difference, measure.low, measure.high
    )
}

fn change(change: &CaseChange) -> String {
    let [ndcg_before, ndcg_after] = change.ndcg_10;
    let [before, after] = change.verdict;
    let [lost_before, lost_after] = change.step;
    let lost =
        |step: Option<Step>| step.map_or(String::new(), |step| format!(" ({})", step.name()));
    format!(
        "  {}  {ndcg_before:.3} → {ndcg_after:.3}  {}{} → {}{}  {}",
        change.id,
        before.name(),
        lost(lost_before),
        after.name(),
        lost(lost_after),
        print::shorten(&change.question, QUESTION_WIDTH)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_did_not_ask_the_same_are_told() {
        let ids = |count: usize| (0..count).map(|id| format!("q{id}")).collect();
        let mut comparison = Comparison {
            a: "a".into(),
            b: "b".into(),
            cases: 9,
            asked_otherwise: ids(7),
            judged_otherwise: ids(1),
            top_k: [20, 60],
            only_in_a: Vec::new(),
            only_in_b: Vec::new(),
            measures: Vec::new(),
            won: 0,
            lost: 0,
            changes: Vec::new(),
        };
        let said = describe(&comparison, 9);
        for part in [
            "7 cases with another question: q0, q1, q2, q3, q4, …",
            "1 case with other relevant documents or passages: q0\n",
            "the first 20 hits counted before, the first 60 after",
        ] {
            assert!(said.contains(part), "{said}");
        }
        (comparison.asked_otherwise, comparison.judged_otherwise) = Default::default();
        comparison.top_k = [20, 20];
        assert!(!describe(&comparison, 9).contains("unlike"));
    }

    #[test]
    fn only_a_difference_may_be_chance() {
        let line = |difference: f64, low: f64| {
            measure(&MeasureDifference {
                measure: "ndcg@10".to_owned(),
                a: 0.5,
                b: 0.5 + difference,
                difference,
                low,
                high: difference,
            })
        };
        assert!(line(0.0, 0.0).ends_with("+0.0000 [+0.0000, +0.0000]"));
        assert!(line(0.1, 0.0).ends_with("  may be chance"));
        assert!(line(0.1, 0.05).ends_with("[+0.0500, +0.1000]"));
    }
}
