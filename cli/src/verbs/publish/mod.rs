//! `tributary publish PATH…`: files, folders, stdin and addresses into the log, each with its
//! outcome; and what left a folder out of it.

mod compare;
mod describe;
mod failures;
mod files;
mod follow;
mod mounts;
mod plan;
mod progress;
mod prune;
mod report;
mod roots;
mod same_file;
mod send;
mod urls;
mod walk;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;

pub use self::files::{Found, Rule};
use self::plan::Plan;
use self::progress::Progress;
pub use self::report::{Published, Report};
use self::report::{REFUSED, SEND_AGAIN, UNCONFIRMED};
pub use self::roots::Roots;
pub use self::same_file::source_of;
use self::send::{Item, Sender};
use self::urls::Fetcher;
use crate::args::{Global, Publish, Service};
use crate::client::{Client, is_unconfirmed};
use crate::config::Config;
use crate::print::Outcome;
use crate::verbs::other_profiles;

/// Publishes, waits if asked to (always without a server of its own accord, since nothing else
/// would do the work), and reports.
pub fn run(global: &Global, config: &Config, publish: &Publish) -> Result<Outcome> {
    let source = source_of(global, config, publish.source.as_deref(), &publish.paths)?;
    let mut roots = Roots::of(global, config, &source)?;
    let mut plan = Plan::make(config, publish, &roots)?;
    plan.explain(publish, &roots, &Roots::all(global, config));
    plan.comparison.explain();
    plan.take_title(&publish.one);
    if publish.dry_run {
        return plan.show(publish);
    }
    let client = Client::connect(global, config, &Service::ALL)?;
    plan.comparison.take_returned(&client)?;
    prune::confirm(&plan.comparison, &source, publish.prune)?;
    other_profiles::note(&client, config)?;
    let bytes = plan.items.iter().map(Item::bytes).sum();
    let progress = Progress::new(plan.items.len(), bytes);
    progress.explain_interrupts(&source, client.is_local())?;
    let started = Instant::now();
    let new_roots = plan.new_roots(&roots);
    // Before the first is sent: what was sent until Ctrl-C is known to come from here.
    plan.remember(&mut roots)?;
    let fetcher = Fetcher::new(config.convert.maximum_body_bytes);
    let sender = Sender {
        client: &client,
        template: &plan.template,
        fetcher: &fetcher,
    };
    let mut documents = sender.send_all(&plan.items, &progress);
    documents.extend(prune::delete(&client, &plan.comparison.gone));
    plan.forget(&mut roots, &documents)?;
    Plan::withdraw(&new_roots, &mut roots, &documents)?;
    plan.remember_titles(&mut roots, &documents)?;
    if publish.wait || client.is_local() {
        let patience = Duration::from_secs(publish.timeout);
        let waited = follow::follow(&client, &mut documents, patience, &progress);
        if waited.is_err() {
            progress.explain_failure(&source, client.is_local());
        }
        waited?;
    }
    progress.end();
    client.close()?;
    documents.append(&mut plan.refused);
    let report = Report {
        kept: plan.comparison.kept,
        ..Report::of(source, documents, started.elapsed())
    };
    report.show(publish.output)?;
    Ok(report.outcome())
}

/// State of what was sent, or read to be sent, in vain.
fn state_of_failure(error: &anyhow::Error) -> &'static str {
    match is_unconfirmed(error) {
        true => UNCONFIRMED,
        false => REFUSED,
    }
}

/// Publishes the paths to a server and waits for their outcomes.
pub fn publish_and_wait(
    client: &Client,
    config: &Config,
    paths: &[PathBuf],
    source: &str,
) -> Result<Report> {
    let started = Instant::now();
    let mut roots = Roots::of_own_server(config, source)?;
    let selection = Rule::new(None, &roots)?.select(paths)?;
    let plan = Plan::of_files(selection, &roots);
    plan.remember(&mut roots)?;
    let progress = Progress::new(plan.items.len(), plan.items.iter().map(Item::bytes).sum());
    let fetcher = Fetcher::new(config.convert.maximum_body_bytes);
    let sender = Sender {
        client,
        template: &plan.template,
        fetcher: &fetcher,
    };
    let mut documents = sender.send_all(&plan.items, &progress);
    let waited = follow::follow(client, &mut documents, Duration::ZERO, &progress);
    progress.end();
    waited?;
    Ok(Report::of(source.to_owned(), documents, started.elapsed()))
}
