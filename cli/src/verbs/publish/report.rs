//! What became of everything that was published, and how that is printed.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use tributary_enrich::writing::WrittenKind;

use super::compare::Kept;
use super::failures;
use super::same_file::listed;
use crate::args::Output;
use crate::print::{self, Outcome};

/// State of what was never accepted.
pub(super) const REFUSED: &str = "refused";
/// State of what was sent and not answered: it may have arrived.
pub(super) const UNCONFIRMED: &str = "unconfirmed";
/// Said of these.
pub(super) const SEND_AGAIN: &str =
    "publish them again, which changes nothing for those that arrived";

/// What `publish --format json` prints.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// Source of all of them.
    pub source: String,
    /// Documents that the server accepted.
    pub published: usize,
    /// Searchable now.
    pub indexed: usize,
    /// Of these, made in a lesser way than configured.
    pub degraded: usize,
    /// Deliberately not indexed (unchanged, empty).
    pub skipped: usize,
    /// Given up after acceptance.
    pub dead: usize,
    /// Deleted, since they left the folder.
    pub deleted: usize,
    /// Never accepted: unreadable here, or refused by the server.
    pub refused: usize,
    /// Sent and not confirmed, since the server did not answer: they may have arrived.
    pub unconfirmed: usize,
    /// Documents that `--prune` left, since nobody could see whether their files are gone.
    pub kept: Vec<Kept>,
    /// From the first file to the last outcome.
    pub seconds: f64,
    /// One per file.
    pub documents: Vec<Published>,
}

/// What became of one file.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Published {
    /// Empty if it was refused, or not confirmed.
    pub document_id: String,
    /// Path within the source.
    pub source_path: String,
    /// A document state, `refused` or `unconfirmed`.
    pub state: String,
    /// Why, where there is something to say.
    pub reason: Option<String>,
    /// What was done in a lesser way than configured, such as `summary`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
    #[serde(skip)]
    pub(super) version: u64,
    #[serde(skip)]
    pub(super) bytes: u64,
    #[serde(skip)]
    pub(super) chunks: u32,
    /// Its file is gone.
    #[serde(skip)]
    pub(super) is_deletion: bool,
    /// It is skipped, and what was found of it before goes.
    #[serde(skip)]
    pub(super) leaves: bool,
}

impl Report {
    pub(super) fn of(source: String, documents: Vec<Published>, took: Duration) -> Self {
        let mut report = Self {
            source,
            seconds: took.as_secs_f64(),
            ..Self::default()
        };
        for document in &documents {
            report.degraded += usize::from(!document.degraded.is_empty());
            match document.state.as_str() {
                REFUSED => report.refused += 1,
                UNCONFIRMED => report.unconfirmed += 1,
                _ if document.is_deletion => report.deleted += 1,
                state => report.count(state),
            }
        }
        report.documents = documents;
        report
    }

    fn count(&mut self, state: &str) {
        self.published += 1;
        match state {
            "indexed" => self.indexed += 1,
            "skipped" => self.skipped += 1,
            "dead" => self.dead += 1,
            _ => {}
        }
    }

    pub(super) fn outcome(&self) -> Outcome {
        match self.dead + self.refused + self.unconfirmed {
            0 => Outcome::Done,
            failed if failed == self.documents.len() && self.published == 0 => Outcome::Failed,
            _ => Outcome::PartlyFailed,
        }
    }

    /// Prints it.
    pub(super) fn show(&self, output: Output) -> Result<()> {
        print::result(output, self, || {
            let mut lines: Vec<String> = Vec::new();
            let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            lines.extend(failures::lines(&self.documents));
            for document in &self.documents {
                match (document.state.as_str(), document.reason.as_deref()) {
                    _ if failures::is_failure(document) => {}
                    (state, _) if document.is_deletion => {
                        let state = if state == "deleted" {
                            state
                        } else {
                            "deleting"
                        };
                        lines.push(format!("{state:8} {}", document.source_path));
                    }
                    ("skipped", Some(reason)) => reasons
                        .entry(reason.split(" since ").next().unwrap_or(reason))
                        .or_default()
                        .push(&document.source_path),
                    _ => {}
                }
            }
            lines.extend(
                reasons
                    .into_iter()
                    .map(|(reason, paths)| skipped(reason, &paths)),
            );
            lines.extend(degraded(&self.documents));
            lines.push(self.summary());
            if self.unconfirmed > 0 {
                lines.push(format!(
                    "what was not confirmed may have arrived or not: {SEND_AGAIN}"
                ));
            }
            lines.join("\n")
        })
    }

    /// One line for people.
    pub fn summary(&self) -> String {
        let mut parts = vec![format!("{} published", self.published)];
        let counts = [
            ("indexed", self.indexed),
            ("of them degraded", self.degraded),
            ("skipped", self.skipped),
            ("dead", self.dead),
            ("deleted", self.deleted),
            ("refused", self.refused),
            ("unconfirmed", self.unconfirmed),
        ];
        parts.extend(
            counts
                .iter()
                .filter(|(_, count)| *count > 0)
                .map(|(name, count)| format!("{count} {name}")),
        );
        format!("{} in {:.1} s", parts.join(", "), self.seconds)
    }
}

/// Documents that were skipped for one reason. That one has not changed is usual, and names nothing.
fn skipped(reason: &str, paths: &[&str]) -> String {
    let count = paths.len();
    match reason.contains("unchanged") {
        true => format!("skipped  {count}: {reason}"),
        false => format!(
            "skipped  {count} ({}): {reason}",
            listed(paths.iter().copied())
        ),
    }
}

/// What was done in a lesser way, and how that is made up for.
fn degraded(documents: &[Published]) -> Vec<String> {
    let mut by_part: BTreeMap<&str, usize> = BTreeMap::new();
    for part in documents.iter().flat_map(|document| &document.degraded) {
        *by_part.entry(part).or_default() += 1;
    }
    let lines = by_part.into_iter().map(|(part, count)| {
        let repair = match WrittenKind::of_degraded(part) {
            Some(_) => {
                " (made without the model; once it is there: tributary documents repair --degraded)"
            }
            None => "",
        };
        format!("degraded {count}: {part}{repair}")
    });
    lines.collect()
}
