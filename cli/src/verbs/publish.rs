//! `tributary publish PATH…`: files and folders into the log, each with its outcome.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tributary_query_api::http::documents::Accepted;
use tributary_schemas::{DocumentState, State};

use crate::args::{Global, Output, Publish, Service};
use crate::client::Client;
use crate::config::Config;
use crate::print::{self, Outcome};
use crate::verbs::quiescence::Quiescence;

/// Requests side by side: the server makes their records durable together.
const SENDERS: usize = 16;
const POLL: Duration = Duration::from_millis(200);
const POLL_IDS: usize = 500;

/// What `publish --format json` prints.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// Documents that the server accepted.
    pub published: usize,
    /// Searchable now.
    pub indexed: usize,
    /// Deliberately not indexed (unchanged, empty).
    pub skipped: usize,
    /// Given up after acceptance.
    pub dead: usize,
    /// Never accepted: unreadable here, or refused by the server.
    pub refused: usize,
    /// From the first file to the last outcome.
    pub seconds: f64,
    /// One per file.
    pub documents: Vec<Published>,
}

/// What became of one file.
#[derive(Clone, Debug, Serialize)]
pub struct Published {
    /// Empty if it was refused.
    pub document_id: String,
    /// Path within the source.
    pub source_path: String,
    /// A document state, or `refused`.
    pub state: String,
    /// Why, where there is something to say.
    pub reason: Option<String>,
    #[serde(skip)]
    version: u64,
}

/// A file to publish.
pub struct Found {
    /// Where it lies.
    pub file: PathBuf,
    /// Path within the source.
    pub source_path: String,
}

/// Publishes, waits if asked to (always without a server of its own accord, since nothing else
/// would do the work), and reports.
pub fn run(global: &Global, config: &Config, publish: &Publish) -> Result<Outcome> {
    let found = collect(&publish.paths)?;
    let client = Client::connect(global, config, &Service::ALL)?;
    let wait = publish.wait || client.is_local();
    let patience = Duration::from_secs(publish.timeout);
    let report = publish_files(
        &client,
        &found,
        &publish.source,
        &publish.sets,
        wait.then_some(patience),
    )?;
    client.close()?;
    show(publish.output, &report)?;
    Ok(report.outcome())
}

/// Publishes the paths to a server and waits for their outcomes.
pub fn publish_and_wait(client: &Client, paths: &[PathBuf], source: &str) -> Result<Report> {
    publish_files(client, &collect(paths)?, source, &[], Some(Duration::ZERO))
}

fn publish_files(
    client: &Client,
    found: &[Found],
    source: &str,
    sets: &[String],
    wait: Option<Duration>,
) -> Result<Report> {
    let started = Instant::now();
    let mut documents = send_all(client, found, source, sets);
    if let Some(patience) = wait {
        follow(client, &mut documents, patience)?;
    }
    let mut report = Report {
        seconds: started.elapsed().as_secs_f64(),
        ..Report::default()
    };
    for document in &documents {
        match document.state.as_str() {
            "refused" => report.refused += 1,
            "indexed" => report.indexed += 1,
            "skipped" => report.skipped += 1,
            "dead" => report.dead += 1,
            _ => {}
        }
    }
    report.published = documents.len() - report.refused;
    report.documents = documents;
    Ok(report)
}

impl Report {
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
            ("skipped", self.skipped),
            ("dead", self.dead),
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
        for document in &report.documents {
            match (document.state.as_str(), document.reason.as_deref()) {
                ("dead" | "refused", reason) => {
                    lines.push(format!(
                        "{:8} {}: {}",
                        document.state,
                        document.source_path,
                        reason.unwrap_or("no reason given")
                    ));
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
        lines.push(report.summary());
        lines.join("\n")
    })
}

/// All files below the paths, hidden ones left out, in a stable order.
pub fn collect(paths: &[PathBuf]) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for path in paths {
        if path.is_file() {
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            found.push(Found {
                file: path.clone(),
                source_path: name,
            });
        } else if path.is_dir() {
            walk(path, path, &mut found)?;
        } else {
            bail!("{} does not exist", path.display());
        }
    }
    if found.is_empty() {
        bail!("there is no file to publish (hidden ones are left out)");
    }
    found.sort_by(|left, right| {
        (&left.source_path, &left.file).cmp(&(&right.source_path, &right.file))
    });
    found.dedup_by(|left, right| left.file == right.file);
    refuse_collisions(&found)?;
    Ok(found)
}

/// Two files that would be one document: which of them won would be chance.
fn refuse_collisions(found: &[Found]) -> Result<()> {
    let collision = found
        .iter()
        .zip(found.iter().skip(1))
        .find(|(left, right)| left.source_path == right.source_path);
    let Some((left, right)) = collision else {
        return Ok(());
    };
    let (first, second) = (left.file.display(), right.file.display());
    let message = format!(
        "{first} and {second} would be the same document `{}`",
        left.source_path
    );
    let hint = "publish the folder that holds both, or each of them with a --source of its own";
    Err(
        tributary_schemas::Error::new(tributary_schemas::ErrorKind::Invalid, message)
            .with_hint(hint)
            .into(),
    )
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<Found>) -> Result<()> {
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        let kind = entry
            .file_type()
            .with_context(|| format!("cannot read {}", path.display()))?;
        if kind.is_dir() {
            walk(root, &path, found)?;
        } else if path.is_file() {
            let relative = path.strip_prefix(root).unwrap_or(&path).components();
            let parts: Vec<String> = relative
                .map(|part| part.as_os_str().to_string_lossy().into_owned())
                .collect();
            found.push(Found {
                file: path,
                source_path: parts.join("/"),
            });
        }
    }
    Ok(())
}

fn send_all(client: &Client, found: &[Found], source: &str, sets: &[String]) -> Vec<Published> {
    let bar = print::progress_bar(found.len() as u64, "publishing");
    let next = AtomicUsize::new(0);
    let sent = Mutex::new(Vec::with_capacity(found.len()));
    std::thread::scope(|scope| {
        for _ in 0..SENDERS.min(found.len()) {
            scope.spawn(|| {
                while let Some(file) = found.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let published = send(client, file, source, sets);
                    sent.lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .push(published);
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let mut sent = sent
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    sent.sort_by(|left, right| left.source_path.cmp(&right.source_path));
    sent
}

fn send(client: &Client, found: &Found, source: &str, sets: &[String]) -> Published {
    let accepted = event(found, source, sets)
        .and_then(|event| client.post::<Accepted>("/v1/documents", &event));
    let (document_id, version, state, reason) = match accepted {
        Ok(accepted) => (
            accepted.document_id,
            accepted.version,
            State::Accepted.as_str().to_owned(),
            None,
        ),
        Err(error) => (
            String::new(),
            0,
            "refused".to_owned(),
            Some(format!("{error:#}")),
        ),
    };
    Published {
        document_id,
        source_path: found.source_path.clone(),
        state,
        reason,
        version,
    }
}

fn event(found: &Found, source: &str, sets: &[String]) -> Result<serde_json::Value> {
    use base64::Engine;
    let bytes = std::fs::read(&found.file)
        .with_context(|| format!("cannot read {}", found.file.display()))?;
    let (field, content) = match String::from_utf8(bytes) {
        Ok(text) => ("content", text),
        Err(error) => (
            "content_base64",
            base64::engine::general_purpose::STANDARD.encode(error.as_bytes()),
        ),
    };
    Ok(
        json!({"source": source, "source_path": found.source_path, "knowledge_sets": sets, field: content}),
    )
}

/// Asks for states until all are final. A document that moved on to a newer version meanwhile is
/// superseded.
fn follow(client: &Client, documents: &mut [Published], patience: Duration) -> Result<()> {
    let bar = print::progress_bar(documents.len() as u64, "indexing");
    let mut quiescence = Quiescence::new(patience);
    loop {
        let open: Vec<usize> = (0..documents.len())
            .filter(|index| documents.get(*index).is_some_and(Published::is_open))
            .collect();
        bar.set_position((documents.len() - open.len()) as u64);
        if open.is_empty() {
            bar.finish_and_clear();
            return Ok(());
        }
        for indices in open.chunks(POLL_IDS) {
            update(client, documents, indices)?;
        }
        let states: Vec<&str> = open
            .iter()
            .filter_map(|index| documents.get(*index))
            .map(|document| document.state.as_str())
            .collect();
        quiescence.look(client, &states)?;
        if documents.iter().any(Published::is_open) {
            std::thread::sleep(POLL);
        }
    }
}

#[derive(Deserialize)]
struct States {
    documents: Vec<Option<DocumentState>>,
}

fn update(client: &Client, documents: &mut [Published], indices: &[usize]) -> Result<()> {
    let ids: Vec<&str> = indices
        .iter()
        .filter_map(|index| documents.get(*index))
        .map(|document| document.document_id.as_str())
        .collect();
    let states: States = client.post("/v1/documents/states", &json!({"document_ids": ids}))?;
    for (index, state) in indices.iter().zip(states.documents) {
        if let (Some(document), Some(state)) = (documents.get_mut(*index), state) {
            document.learn(state);
        }
    }
    Ok(())
}

impl Published {
    fn is_open(&self) -> bool {
        self.state != "refused"
            && !State::ALL
                .iter()
                .any(|state| state.is_final() && state.as_str() == self.state)
    }

    fn learn(&mut self, state: DocumentState) {
        if state.version > self.version {
            self.state = State::Skipped.as_str().to_owned();
            self.reason = Some(format!("superseded by version {}", state.version));
        } else if state.version == self.version {
            self.state = state.state.as_str().to_owned();
            self.reason = state.reason;
        }
    }
}
