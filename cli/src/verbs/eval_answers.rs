//! `tributary eval run --level answer`: questions through the real pipeline and the workflows, in a
//! data folder of its own.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Context, Result, bail};
use tributary_eval::EvaluationSet;
use tributary_eval::answers::{self, AnswerRecord, AnswerReport, AnswerScores, Asking, Wanted};
use tributary_eval::diagnosis::CaseRecord;
use tributary_eval::runner::Pipeline;
use tributary_models::chat::Role;
use tributary_schemas::ask::Workflow;

use super::eval::{
    Bars, check_top_k, in_pipeline, left_out_since, own_config, settings, tell_left_out,
};
use super::eval_folder::OwnFolder;
use super::{eval_diagnosis, eval_runs};
use crate::app;
use crate::args::{EvalRun, Global};
use crate::config::Config;
use crate::print::{self, Outcome};

/// Runs and prints the report. A run in which questions ended without an answer is a failure in
/// part.
pub fn run(global: &Global, config: &Config, eval: &EvalRun) -> Result<Outcome> {
    let wanted = wanted(eval)?;
    let set = EvaluationSet::read(&eval.set, &eval.queries, &eval.qrels, &eval.source)?;
    tell_left_out(&set);
    let told = set.left_out.clone();
    if let Some(file) = &eval.cases {
        eval_runs::prepare_cases(file)?;
    }
    let set = limited(set, eval);
    check_top_k(eval, config)?;
    let keep = eval.answers.as_deref().map(Kept::create).transpose()?;
    let own_folder = OwnFolder::choose(global)?;
    let config = own_config(config, eval.embedder, &own_folder.path);
    let evaluating = in_pipeline(&set, &config, &[], async |pipeline, parts| {
        if wanted.judge && parts.chat.role(Role::Judge).is_none() {
            bail!("--judge needs a language model of the role `judge` (docs/language-models.md)");
        }
        let pipeline = Pipeline {
            evidence_within: eval.top_k.get(),
            fold: true,
            understander: Some(parts.asker.understander()),
            ..pipeline
        };
        let asking = Asking {
            pipeline: &pipeline,
            asker: &parts.asker,
            wanted: &wanted,
            keep: &|record| keep.as_ref().map_or(Ok(()), |keep| keep.write(record)),
        };
        let settings = settings(&config, parts);
        answers::run(&set, &asking, settings, &Bars::default()).await
    });
    let report = app::block_on(evaluating)?;
    print::result(eval.output, &report, || describe(&report, &told))?;
    if let Some(file) = &eval.cases {
        let cases: Vec<CaseRecord> = report
            .records
            .iter()
            .filter_map(|one| one.case.clone())
            .collect();
        eval_runs::write_cases(file, &cases)?;
    }
    Ok(match report.all.failed + report.ingest.dead {
        0 => Outcome::Done,
        _ => Outcome::PartlyFailed,
    })
}

/// Refuses what goes with answers alone where searches are scored.
pub fn check_level(eval: &EvalRun) -> Result<()> {
    let given = [
        ("--workflow", eval.workflow.is_some()),
        ("--hold-back", eval.hold_back.is_some()),
        ("--judge", eval.judge),
        ("--answers", eval.answers.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => bail!("{option} goes with --level answer"),
        None => Ok(()),
    }
}

fn wanted(eval: &EvalRun) -> Result<Wanted> {
    if eval.fold || eval.understand {
        bail!("--fold and --understand go with --level retrieval: answers always do both");
    }
    if !eval.fail_under.is_empty() {
        bail!("--fail-under goes with --level retrieval");
    }
    Ok(Wanted {
        // The command line has checked the name.
        workflow: eval.workflow.as_deref().and_then(Workflow::named),
        judge: eval.judge,
    })
}

fn limited(mut set: EvaluationSet, eval: &EvalRun) -> EvaluationSet {
    let most = eval.limit.map_or(usize::MAX, NonZeroUsize::get);
    set.questions.truncate(most);
    set.unanswerable.truncate(most);
    match eval.hold_back {
        Some(every) => set.held_back(every),
        None => set,
    }
}

/// The file of records. Each is there as soon as it is answered, so that a run that is stopped leaves
/// what it did.
struct Kept<'a> {
    file: File,
    path: &'a Path,
}

impl<'a> Kept<'a> {
    fn create(path: &'a Path) -> Result<Self> {
        let file = File::create(path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { file, path })
    }

    fn write(&self, record: &AnswerRecord) -> Result<()> {
        let line = format!("{}\n", serde_json::to_string(record)?);
        let written = (&self.file).write_all(line.as_bytes());
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }
}

fn describe(report: &AnswerReport, told: &[String]) -> String {
    let mut text = format!("{}: {} documents\n", report.set, report.documents);
    describe_scores("all", &report.all, &mut text);
    if report.languages.len() > 1 {
        for (language, scores) in &report.languages {
            describe_scores(language, scores, &mut text);
        }
    }
    writeln!(text, "verdicts {}", counts(&report.verdicts)).ok();
    if !report.degraded.is_empty() {
        writeln!(text, "degraded {}", counts(&report.degraded)).ok();
    }
    for line in eval_diagnosis::lines(&report.diagnosis) {
        writeln!(text, "{line}").ok();
    }
    describe_costs(report, &mut text);
    if let Some(lines) = left_out_since(&report.left_out, told) {
        writeln!(text, "{lines}").ok();
    }
    text
}

fn counts(counts: &BTreeMap<String, usize>) -> String {
    let counts = counts.iter().map(|(what, count)| format!("{what} {count}"));
    counts.collect::<Vec<_>>().join(", ")
}

fn describe_costs(report: &AnswerReport, text: &mut String) {
    let (latency, tokens, ingest) = (&report.latency_ms, &report.tokens, &report.ingest);
    writeln!(
        text,
        "latency  p50 {:.1} ms, p95 {:.1} ms\ntokens   {} in, {} out\ningest   {:.1} s, {:.1} documents/s",
        latency.p50,
        latency.p95,
        tokens.prompt,
        tokens.completion,
        ingest.seconds,
        ingest.documents_per_second
    )
    .ok();
}

fn describe_scores(name: &str, scores: &AnswerScores, text: &mut String) {
    let share = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    let refusals = &scores.refusals;
    writeln!(
        text,
        "{name}: {} questions, {} with an answer in the documents, {} failed\n  \
         refusals  {}, precision {}, recall {}, F1 {}\n  \
         citations valid {}, statements supported {}, language kept {}\n  \
         relevant source found {}, cited {}\n  \
         expected answer held {}, numbers right {}{}",
        scores.questions,
        scores.with_answer,
        scores.failed,
        refusals.refused,
        share(refusals.precision),
        share(refusals.recall),
        share(refusals.f1),
        share(scores.citations_valid),
        share(scores.supported),
        share(scores.language_kept),
        share(scores.source_found),
        share(scores.source_cited),
        share(scores.holds_expected),
        share(scores.numbers_right),
        match scores.read {
            0 => String::new(),
            read => format!(
                "\n  read as right by the judge {} of {read}",
                share(scores.read_as_right)
            ),
        }
    )
    .ok();
}
