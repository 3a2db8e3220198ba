//! `tributary publish PATH…`: files, folders, stdin and addresses into the log, each with its
//! outcome; and what left a folder out of it.

mod compare;
mod describe;
mod failures;
mod files;
mod follow;
mod mounts;
mod progress;
mod prune;
mod roots;
mod same_file;
mod send;
mod urls;
mod walk;

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::json;
use tributary_schemas::{DocumentEvent, id};

use self::compare::{Comparison, Kept};
pub use self::files::{Found, Rule, Selection};
use self::progress::Progress;
use self::roots::Documents;
pub use self::roots::Roots;
use self::same_file::Explanation;
pub use self::same_file::source_of;
use self::send::{Body, Item, Sender};
use self::urls::Fetcher;
use crate::args::{Global, OneDocument, Output, Publish, Service};
use crate::client::Client;
use crate::config::Config;
use crate::print::{self, Outcome};

/// State of what was never accepted.
const REFUSED: &str = "refused";

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
    /// Empty if it was refused.
    pub document_id: String,
    /// Path within the source.
    pub source_path: String,
    /// A document state, or `refused`.
    pub state: String,
    /// Why, where there is something to say.
    pub reason: Option<String>,
    /// What was done in a lesser way than configured, such as `summary`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
    #[serde(skip)]
    version: u64,
    #[serde(skip)]
    bytes: u64,
    #[serde(skip)]
    chunks: u32,
    /// Its file is gone.
    #[serde(skip)]
    is_deletion: bool,
}

/// What is to be done.
struct Plan {
    template: DocumentEvent,
    items: Vec<Item>,
    comparison: Comparison,
    /// Files among the items, in the order of these, with the roots that their paths are relative
    /// to.
    files: Vec<Found>,
    /// Roots of all folders that were named.
    roots: Vec<PathBuf>,
}

/// Publishes, waits if asked to (always without a server of its own accord, since nothing else
/// would do the work), and reports.
pub fn run(global: &Global, config: &Config, publish: &Publish) -> Result<Outcome> {
    let source = source_of(global, config, publish.source.as_deref(), &publish.paths)?;
    let mut roots = Roots::of(global, config, &source)?;
    let mut plan = Plan::make(publish, &roots)?;
    plan.explain(publish, &roots, &Roots::all(global, config));
    plan.comparison.explain();
    plan.take_title(&publish.one);
    if publish.dry_run {
        return plan.show(publish);
    }
    prune::confirm(&plan.comparison, &source, publish.prune)?;
    let client = Client::connect(global, config, &Service::ALL)?;
    let bytes = plan.items.iter().map(Item::bytes).sum();
    let progress = Progress::new(plan.items.len(), bytes);
    progress.explain_interrupts(&source, client.is_local())?;
    let started = Instant::now();
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
    let report = Report {
        kept: plan.comparison.kept,
        ..Report::of(source, documents, started.elapsed())
    };
    show(publish.output, &report)?;
    Ok(report.outcome())
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

impl Plan {
    fn of_files(selection: Selection, roots: &Roots) -> Self {
        let to_item =
            |found: &Found| Item::new(found.source_path.clone(), Body::File(found.file.clone()));
        let mut items: Vec<Item> = selection.files.iter().map(to_item).collect();
        same_file::keep_what_was_given(&mut items, &selection.files, roots);
        Self {
            template: DocumentEvent {
                source: roots.source().to_owned(),
                ..DocumentEvent::default()
            },
            items,
            comparison: Comparison::default(),
            roots: selection
                .folders
                .into_iter()
                .map(|folder| folder.root)
                .collect(),
            files: selection.files,
        }
    }

    fn make(publish: &Publish, roots: &Roots) -> Result<Self> {
        let (stdin, paths): (Vec<_>, Vec<_>) = publish
            .paths
            .iter()
            .cloned()
            .partition(|path| path == Path::new("-"));
        let rule = Rule::new(publish.root.as_deref(), roots)?;
        let rule = if publish.prune.prune {
            rule.with_missing()
        } else {
            rule
        };
        let selection = rule.select(&paths)?;
        let comparison = compare::compare(&selection, roots, publish.prune)?;
        let mut plan = Self {
            template: describe::template(publish, roots.source())?,
            comparison,
            ..Self::of_files(selection, roots)
        };
        if !stdin.is_empty() {
            plan.items.push(from_stdin(publish)?);
        }
        if let Some(list) = &publish.urls {
            let addresses = urls::read_list(list)?.into_iter();
            plan.items.extend(
                addresses.map(|address| Item::new(address.clone(), Body::Address(address))),
            );
        }
        plan.check(publish)?;
        if let (Some(path), [item]) = (&publish.one.path, plan.items.as_mut_slice()) {
            item.source_path.clone_from(path);
            // It is no longer where its path says.
            plan.files.clear();
        }
        same_file::keep_what_was_given(&mut plan.items, &plan.files, roots);
        Ok(plan)
    }

    fn check(&self, publish: &Publish) -> Result<()> {
        if self.items.is_empty() && self.comparison.gone.is_empty() && !publish.prune.allow_empty {
            bail!("there is no file to publish (hidden ones are left out)");
        }
        let one = &publish.one;
        let of_one = [
            ("--title", one.title.is_some()),
            ("--id", one.id.is_some()),
            ("--version", one.version.is_some()),
            ("--path", one.path.is_some()),
            ("--media-type", one.media_type.is_some()),
        ];
        let given = of_one.iter().find(|(_, is_given)| *is_given);
        match given {
            Some((option, _)) if self.items.len() != 1 => bail!(
                "{option} is said of one document, but {} are to be published",
                self.items.len()
            ),
            _ => Ok(()),
        }
    }

    /// Says what paths are relative to where that is not what was named.
    fn explain(&self, publish: &Publish, roots: &Roots, all: &[Roots]) {
        let source = roots.source();
        let mut said: Vec<&Path> = Vec::new();
        for found in &self.files {
            let is_plain = found.is_lone || publish.root.is_some();
            let is_new = roots.containing(&found.root).is_none();
            if !is_plain && !is_new && !said.contains(&found.root.as_path()) {
                said.push(&found.root);
            }
        }
        for root in said {
            print::note(&format!(
                "paths are relative to {}, from which source {source} was published before",
                root.display()
            ));
        }
        let lone = self.files.iter().filter(|found| found.is_lone);
        for found in lone.filter(|_| !roots.is_empty()) {
            print::note(&format!(
                "{} lies in no folder from which source {source} was published: its path is {} (--root sets another)",
                found.file.display(),
                found.source_path
            ));
        }
        let explanation = Explanation {
            roots,
            others: all,
            prunes: publish.prune.prune,
            gives_title: publish.one.title.is_some(),
        };
        let notes = explanation.notes(&self.files, &self.items);
        notes.iter().for_each(|note| print::note(note));
    }

    /// The title that the one document is given now.
    fn take_title(&mut self, one: &OneDocument) {
        if let (Some(title), [item]) = (&one.title, self.items.as_mut_slice()) {
            item.title = Some(title.clone());
        }
    }

    fn id_of(&self, item: &Item) -> String {
        let given = self.template.document_id.as_ref();
        let given = given.or(item.document_id.as_ref()).cloned();
        given.unwrap_or_else(|| id::derive_document_id(&self.template.source, &item.source_path))
    }

    fn remember(&self, roots: &mut Roots) -> Result<()> {
        let mut by_root: BTreeMap<&Path, Documents> = BTreeMap::new();
        for root in &self.roots {
            by_root.entry(root).or_default();
        }
        for (found, item) in self.files.iter().zip(&self.items) {
            if found.is_lone {
                roots.publish_lone(&found.root, &found.source_path, &self.id_of(item))?;
                continue;
            }
            by_root
                .entry(&found.root)
                .or_default()
                .insert(found.source_path.clone(), self.id_of(item));
        }
        for (root, documents) in by_root {
            roots.publish(root, &documents)?;
            let mounts = mounts::below(root);
            if !mounts.is_empty() {
                roots.note_mounts(root, mounts)?;
            }
        }
        Ok(())
    }

    /// Titles of what was accepted hold for later publications too.
    fn remember_titles(&self, roots: &mut Roots, documents: &[Published]) -> Result<()> {
        let accepted: HashSet<&str> = documents
            .iter()
            .filter(|document| document.state != REFUSED)
            .map(|document| document.source_path.as_str())
            .collect();
        for item in &self.items {
            if let Some(title) = &item.title
                && accepted.contains(item.source_path.as_str())
            {
                roots.give_title(&item.source_path, title)?;
            }
        }
        Ok(())
    }

    /// What could not be deleted stays known.
    fn forget(&self, roots: &mut Roots, documents: &[Published]) -> Result<()> {
        let deleted: Vec<String> = documents
            .iter()
            .filter(|document| document.is_deletion && document.state != REFUSED)
            .map(|document| document.source_path.clone())
            .collect();
        if deleted.is_empty() {
            return Ok(());
        }
        self.roots
            .iter()
            .try_for_each(|root| roots.forget(root, &deleted))
    }

    /// What would be done.
    fn show(&self, publish: &Publish) -> Result<Outcome> {
        let paths: Vec<&str> = self
            .items
            .iter()
            .map(|item| item.source_path.as_str())
            .collect();
        let gone: Vec<&str> = self
            .comparison
            .gone
            .iter()
            .map(|gone| gone.source_path.as_str())
            .collect();
        let kept = &self.comparison.kept;
        let source = &self.template.source;
        let object = json!({"source": source, "publish": paths, "delete": gone, "keep": kept});
        print::result(publish.output, &object, || {
            let mut lines: Vec<String> = paths
                .iter()
                .map(|path| format!("publish  {path}"))
                .collect();
            lines.extend(gone.iter().map(|path| format!("delete   {path}")));
            lines.push(format!(
                "{} to publish, {} to delete; nothing was done",
                paths.len(),
                gone.len()
            ));
            lines.join("\n")
        })?;
        Ok(Outcome::Done)
    }
}

fn from_stdin(publish: &Publish) -> Result<Item> {
    let one = &publish.one;
    if one.path.is_none() && one.id.is_none() {
        bail!("a document from stdin needs --path or --id, so that an update finds it");
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .context("cannot read stdin")?;
    Ok(Item::new(
        one.path.clone().unwrap_or_default(),
        Body::Bytes(bytes),
    ))
}

impl Report {
    fn of(source: String, documents: Vec<Published>, took: Duration) -> Self {
        let mut report = Self {
            source,
            seconds: took.as_secs_f64(),
            ..Self::default()
        };
        for document in &documents {
            report.degraded += usize::from(!document.degraded.is_empty());
            match document.state.as_str() {
                REFUSED => report.refused += 1,
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

    fn outcome(&self) -> Outcome {
        match self.dead + self.refused {
            0 => Outcome::Done,
            failed if failed == self.documents.len() && self.published == 0 => Outcome::Failed,
            _ => Outcome::PartlyFailed,
        }
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

fn show(output: Output, report: &Report) -> Result<()> {
    print::result(output, report, || {
        let mut lines: Vec<String> = Vec::new();
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        lines.extend(failures::lines(&report.documents));
        for document in &report.documents {
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
                ("skipped", Some(reason)) => {
                    *reasons
                        .entry(reason.split(" since ").next().unwrap_or(reason))
                        .or_default() += 1
                }
                _ => {}
            }
        }
        lines.extend(
            reasons
                .into_iter()
                .map(|(reason, count)| format!("skipped  {count}: {reason}")),
        );
        lines.extend(degraded(&report.documents));
        lines.push(report.summary());
        lines.join("\n")
    })
}

/// What was done in a lesser way, and how that is made up for.
fn degraded(documents: &[Published]) -> Vec<String> {
    let mut by_part: BTreeMap<&str, usize> = BTreeMap::new();
    for part in documents.iter().flat_map(|document| &document.degraded) {
        *by_part.entry(part).or_default() += 1;
    }
    let lines = by_part.into_iter().map(|(part, count)| {
        let repair = match part {
            "summary" | "description" => {
                " (made without the model; once it is there: tributary documents repair --degraded)"
            }
            _ => "",
        };
        format!("degraded {count}: {part}{repair}")
    });
    lines.collect()
}
