//! `tributary training clean DIR`.

use anyhow::{Result, ensure};
use serde::Serialize;
use tributary_eval::training::clean::relevance::RelevanceLimits;
use tributary_eval::training::clean::{CleanReport, CleanSettings, clean};
use tributary_eval::training::{Pair, files};

use super::Index;
use crate::args::{CleanTraining, Global, Service};
use crate::client::Client;
use crate::config::Config;
use crate::print::{self, Outcome};
use crate::verbs::eval::Bars;

/// The name of a value in JSON, such as that of a step.
fn name(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).ok();
    let text = value.as_ref().and_then(serde_json::Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// Writes those that are kept and those that are dropped, each to its file.
pub fn run(global: &Global, config: &Config, wanted: &CleanTraining) -> Result<Outcome> {
    ensure!(
        wanted.shortest <= wanted.longest,
        "--shortest {} is more than --longest {}: no question would be left",
        wanted.shortest,
        wanted.longest
    );
    let pairs: Vec<Pair> = files::read(&wanted.folder.join(files::PAIRS))?;
    let index = Index {
        client: match wanted.without_index {
            true => None,
            false => Some(Client::connect(global, config, &[Service::Query])?),
        },
    };
    let cleaned = clean(pairs, &settings(wanted), &index, &Bars::default())?;
    index.close()?;
    files::write(&wanted.folder.join(files::DROPPED), &cleaned.dropped)?;
    files::write(&wanted.folder.join(files::CLEAN), &cleaned.kept)?;
    let report = cleaned.report();
    print::result(wanted.output, &report, || describe(&report, wanted))?;
    Ok(Outcome::Done)
}

fn settings(wanted: &CleanTraining) -> CleanSettings {
    let limits = RelevanceLimits {
        rank: wanted.rank,
        rerank_score: wanted.rerank_score,
    };
    CleanSettings {
        half_words: (wanted.shortest, wanted.longest),
        duplicate_similarity: wanted.similarity,
        relevance: (!wanted.without_index).then_some(limits),
        longest_share: wanted.longest_share,
        seed: wanted.seed,
    }
}

fn describe(report: &CleanReport, wanted: &CleanTraining) -> String {
    let mut lines = Vec::new();
    for (step, reasons) in &report.dropped {
        for (reason, count) in reasons {
            lines.push(format!("dropped {count:6}  {:11} {reason}", name(step)));
        }
    }
    match report.judged_by {
        Some(judge) => lines.push(format!("relevance was judged by the {judge}")),
        None => lines.push("relevance was not judged".to_owned()),
    }
    let lengths = report.lengths.iter();
    let lengths: Vec<String> = lengths
        .map(|(length, count)| format!("{count} {}", length.as_str()))
        .collect();
    lines.push(format!(
        "kept {} of {} ({}): {}; the others with their reasons: {}",
        report.kept,
        print::count(report.questions, "question"),
        lengths.join(", "),
        wanted.folder.join(files::CLEAN).display(),
        wanted.folder.join(files::DROPPED).display()
    ));
    lines.join("\n")
}
