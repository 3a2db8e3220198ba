//! `tributary eval calibrate --set DIR…`: fits the weights of relevance, and says what they are
//! worth on questions that they were not fitted on.

use std::collections::HashSet;
use std::fmt::Write;

use anyhow::Result;
use tributary_eval::calibrate::{Figures, Fit, halved};
use tributary_eval::calibration::SIGNALS;
use tributary_eval::set::DEFAULT_SOURCE;
use tributary_eval::{Calibration, Collection, EvaluationSet};

use super::eval::{Bars, in_pipeline, own_config, tell_left_out};
use super::eval_folder::OwnFolder;
use crate::app;
use crate::args::{EvalCalibrate, Global};
use crate::config::Config;
use crate::print::{self, Outcome};

/// Questions of either kind below which weights are chance.
const FEW: usize = 100;

/// Runs each set in a folder of its own (below `--data-dir`, if that is given), then fits all.
pub fn run(global: &Global, config: &Config, calibrate: &EvalCalibrate) -> Result<Outcome> {
    let own_folder = OwnFolder::choose(global)?;
    let mut used = HashSet::new();
    let mut collection = Collection::default();
    for folder in &calibrate.sets {
        let set = EvaluationSet::read(folder, "queries.jsonl", "qrels.tsv", DEFAULT_SOURCE)?;
        tell_left_out(&set);
        let set = halved(set, calibrate.limit);
        let config = own_config(config, None, &own_folder.of_set(&set.name, &mut used));
        let added = in_pipeline(&set, &config, &[], async |pipeline, _| {
            collection.add(&set, &pipeline, &Bars::default()).await
        });
        app::block_on(added)?;
    }
    let calibration = collection.calibrate()?;
    print::result(calibrate.output, &calibration, || describe(&calibration))?;
    let fewest = calibration.answerable.min(calibration.unanswerable);
    if fewest < FEW {
        print::note(&format!(
            "only {fewest} questions with an answer, or without one: weights fitted on so few do not hold for others; take {FEW} of each or more"
        ));
    }
    Ok(Outcome::Done)
}

/// A section of the configuration, with the figures as comments.
fn describe(calibration: &Calibration) -> String {
    let mut text = format!(
        "# {}: {} questions with an answer, {} without\n[query_api.retrieval.relevance]\nmodel = \"{}\"\n",
        calibration.sets.join(", "),
        calibration.answerable,
        calibration.unanswerable,
        calibration.model
    );
    let configured = figures("the configured weights", &calibration.configured);
    text.insert_str(0, &configured);
    if let Some(reranker) = &calibration.reranker {
        writeln!(text, "reranker = \"{reranker}\"").ok();
    }
    for (name, fit) in [
        ("with_vectors", Some(&calibration.with_vectors)),
        ("across_scripts", calibration.across_scripts.as_ref()),
        ("keywords_alone", Some(&calibration.keywords_alone)),
        ("with_reranker", calibration.with_reranker.as_ref()),
    ] {
        if let Some(fit) = fit {
            describe_fit(name, fit, &calibration.sets, &mut text);
        }
    }
    text
}

fn describe_fit(name: &str, fit: &Fit, sets: &[String], text: &mut String) {
    writeln!(text, "\n[query_api.retrieval.relevance.{name}]").ok();
    writeln!(text, "intercept = {:.3}", fit.weights.intercept).ok();
    for (signal, weight) in SIGNALS.iter().zip(fit.weights.signals) {
        writeln!(text, "{signal} = {weight:.3}").ok();
    }
    let all = std::iter::once(("all", &fit.all));
    let each = sets.iter().map(String::as_str).zip(&fit.by_set);
    for (set, fit) in all.chain(each) {
        text.push_str(&figures(&format!("cross-fitted, {set}"), fit));
    }
    describe_bins(fit, text);
}

fn figures(of: &str, figures: &Figures) -> String {
    format!(
        "# {of}: calibration error {:.4}, of bins {:.4}, answerable or not AUROC {:.4}\n",
        figures.calibration_error, figures.calibration_error_of_bins, figures.answerable_auroc
    )
}

fn describe_bins(fit: &Fit, text: &mut String) {
    for bin in fit.all.bins.iter().filter(|bin| bin.hits > 0) {
        writeln!(
            text,
            "#   estimated {:.3}, relevant {:.3} of {} hits",
            bin.estimated, bin.relevant, bin.hits
        )
        .ok();
    }
}
