//! `tributary eval code --set DIR`: source code through the real pipeline, in a data folder of its
//! own, and questions about it.

use std::fmt::Write;

use anyhow::Result;
use tributary_eval::code::{self, CodeReport, CodeScores, CodeSet, QuestionReport};

use super::eval::{Bars, in_pipeline, own_config, settings};
use super::eval_folder::OwnFolder;
use crate::app;
use crate::args::{EvalCode, Global};
use crate::config::Config;
use crate::print::{self, Outcome};

/// Runs and prints the report. With `--data-dir` the folder is kept, and unchanged files are not
/// embedded again.
pub fn run(global: &Global, config: &Config, eval: &EvalCode) -> Result<Outcome> {
    let code = eval.code.as_deref();
    let set = CodeSet::read(&eval.set, code, &eval.questions, &eval.source)?;
    let own_folder = OwnFolder::choose(global)?;
    let config = own_config(config, eval.embedder, &own_folder.path);
    let evaluating = in_pipeline(&set.files, &config, &[], async |pipeline, parts| {
        code::run(&set, &pipeline, settings(&config, parts), &Bars::default()).await
    });
    let report = app::block_on(evaluating)?;
    print::result(eval.output, &report, || describe(&report))?;
    Ok(if report.ingest.dead > 0 {
        Outcome::PartlyFailed
    } else {
        Outcome::Done
    })
}

fn describe(report: &CodeReport) -> String {
    let mut text = format!("{}: {} files\n", report.set, report.documents);
    for questions in &report.questions {
        describe_questions(questions, &mut text);
    }
    let (latency, ingest) = (&report.latency_ms, &report.ingest);
    writeln!(
        text,
        "latency p50 {:.1} ms, p95 {:.1} ms\ningest  {:.1} s, {:.1} files/s",
        latency.p50, latency.p95, ingest.seconds, ingest.documents_per_second
    )
    .ok();
    if !report.left_out.is_empty() {
        let (count, lines) = (report.left_out.len(), report.left_out.join("\n         "));
        writeln!(text, "left out {count}: {lines}").ok();
    }
    text
}

fn describe_questions(report: &QuestionReport, text: &mut String) {
    writeln!(text, "{}", report.file).ok();
    describe_scores("all", &report.all, text);
    for (language, scores) in &report.languages {
        describe_scores(language, scores, text);
    }
    for answer in &report.answers {
        let rank = |rank: Option<usize>| rank.map_or("-".to_owned(), |rank| rank.to_string());
        let (file, function) = (rank(answer.file_rank), rank(answer.function_rank));
        writeln!(
            text,
            "  {:14} file {file:>3}  function {function:>3}",
            answer.id
        )
        .ok();
    }
}

fn describe_scores(name: &str, scores: &CodeScores, text: &mut String) {
    writeln!(
        text,
        "  {name:5} {:3} questions  file hit@10 {:.3}  MRR {:.3}  function hit@10 {:.3}  hit@1 {:.3}  MRR {:.3}",
        scores.questions,
        scores.file_hit_10,
        scores.file_mrr_10,
        scores.function_hit_10,
        scores.function_hit_1,
        scores.function_mrr_10
    )
    .ok();
}
