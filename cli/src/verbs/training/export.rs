//! `tributary training export DIR --output OUT`.

use anyhow::Result;
use tributary_eval::training::export::{Export, ExportReport, ExportSettings, TEST_SET};
use tributary_eval::training::negatives::NegativeLimits;
use tributary_eval::training::split::Shares;
use tributary_eval::training::{Pair, TrainingPassage, files};
use tributary_schemas::{Error, ErrorKind};

use super::Index;
use crate::args::{ExportTraining, Global, Service};
use crate::client::Client;
use crate::config::Config;
use crate::print::{self, Outcome};
use crate::verbs::eval::Bars;

/// Writes the files.
pub fn run(global: &Global, config: &Config, wanted: &ExportTraining) -> Result<Outcome> {
    let settings = settings(wanted)?;
    let pairs = pairs(wanted)?;
    let passages: Vec<TrainingPassage> = files::read(&wanted.folder.join(files::PASSAGES))?;
    let index = Index {
        client: match settings.negatives {
            None => None,
            Some(_) => Some(Client::connect(global, config, &[Service::Query])?),
        },
    };
    let export = Export {
        pairs: &pairs,
        passages: &passages,
        settings,
        index: &index,
    };
    let report = export.write(&wanted.output_folder, &Bars::default())?;
    index.close()?;
    print::result(wanted.output, &report, || describe(&report, wanted))?;
    Ok(Outcome::Done)
}

/// The questions that were kept.
fn pairs(wanted: &ExportTraining) -> Result<Vec<Pair>> {
    let file = wanted.folder.join(files::CLEAN);
    if !file.is_file() {
        let folder = wanted.folder.display();
        let message = format!("{} is not there", file.display());
        let hint = format!("`tributary training clean {folder}` makes it");
        return Err(Error::new(ErrorKind::NotFound, message)
            .with_hint(hint)
            .into());
    }
    files::read(&file)
}

fn settings(wanted: &ExportTraining) -> Result<ExportSettings> {
    let shares = Shares {
        dev: wanted.dev,
        test: wanted.test,
    };
    let is_share = |share: f64| (0.0..1.0).contains(&share);
    if !is_share(shares.dev) || !is_share(shares.test) || !is_share(shares.dev + shares.test) {
        let message = "--dev and --test are shares, below 1 together";
        return Err(Error::new(ErrorKind::Invalid, message).into());
    }
    let limits = NegativeLimits {
        count: wanted.negatives,
        share_of_positive: wanted.share_of_positive,
    };
    Ok(ExportSettings {
        shares,
        seed: wanted.seed,
        negatives: (wanted.negatives > 0).then_some(limits),
        hits: wanted.hits,
    })
}

fn describe(report: &ExportReport, wanted: &ExportTraining) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (part, questions) in &report.questions {
        let documents = report.documents.get(part).copied().unwrap_or(0);
        lines.push(format!(
            "{:6} {questions:7} questions of {}",
            part.as_str(),
            print::count(documents, "document")
        ));
    }
    lines.push(format!(
        "{}; {} for training without one",
        print::count(report.negatives, "hard negative"),
        print::count(report.without_negatives, "question")
    ));
    lines.push(format!(
        "{}: for `tributary eval run --set`, over {}",
        wanted.output_folder.join(TEST_SET).display(),
        print::count(report.passages, "passage")
    ));
    lines.join("\n")
}
