//! Waits until documents are done with, and learns what became of each.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Deserialize;
use serde_json::json;
use tributary_query_api::http::document_summary::DocumentSummary;
use tributary_schemas::work::{WorkItem, WorkOverview};
use tributary_schemas::{DocumentState, State};

use super::Published;
use super::progress::{Progress, Seen};
use crate::client::{Client, segment};
use crate::verbs::quiescence::Quiescence;

const POLL: Duration = Duration::from_millis(200);
const POLL_IDS: usize = 500;
/// How long removals are waited for at most, all together: usually a fraction of a second.
const REMOVALS: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
struct States {
    documents: Vec<Option<DocumentState>>,
}

/// Asks for states until all are final. A document that moved on to a newer version meanwhile is
/// superseded.
pub fn follow(
    client: &Client,
    documents: &mut [Published],
    patience: Duration,
    progress: &Progress,
) -> Result<()> {
    progress.waits(documents);
    let mut quiescence = Quiescence::new(patience);
    let mut is_told = true;
    loop {
        let open = open(documents);
        if open.is_empty() {
            await_removals(client, documents);
            return Ok(());
        }
        update(client, documents, &open)?;
        let work = work(client, &mut is_told);
        let seen = Seen {
            documents,
            work: &work,
        };
        progress.look(&seen);
        let names = seen.names();
        quiescence.look(client, &states(documents, &open), names)?;
        if documents.iter().any(Published::is_open) {
            std::thread::sleep(POLL);
        }
    }
}

/// Waits until nothing of documents is found any more of which nothing is left, as of those that
/// became empty: they are skipped before their older chunks go.
fn await_removals(client: &Client, documents: &[Published]) {
    let until = Instant::now() + REMOVALS;
    for document in documents.iter().filter(|document| document.leaves) {
        let path = format!("/v1/documents/{}", segment(&document.document_id));
        let is_found = || {
            let summary = client.get::<DocumentSummary>(&path).ok();
            summary.is_some_and(|summary| summary.searchable.is_some())
        };
        while Instant::now() < until && is_found() {
            std::thread::sleep(POLL);
        }
    }
}

/// The places of the documents that are on their way.
fn open(documents: &[Published]) -> Vec<usize> {
    (0..documents.len())
        .filter(|index| documents.get(*index).is_some_and(Published::is_open))
        .collect()
}

fn states<'d>(documents: &'d [Published], indices: &[usize]) -> Vec<&'d str> {
    indices
        .iter()
        .filter_map(|index| documents.get(*index))
        .map(|document| document.state.as_str())
        .collect()
}

/// What the stages of the server's process are at. Those of other processes do not show. A server
/// that does not tell, as publishers who are no administrators, is not asked again.
fn work(client: &Client, is_told: &mut bool) -> Vec<WorkItem> {
    if !*is_told {
        return Vec::new();
    }
    let overview = client.get::<WorkOverview>("/v1/work");
    *is_told = overview.is_ok();
    overview.map_or_else(|_| Vec::new(), |overview| overview.items)
}

/// The newest report of each of these documents; nothing of those that the server does not know.
pub(super) fn states_of(client: &Client, ids: &[&str]) -> Result<Vec<Option<DocumentState>>> {
    let mut all = Vec::with_capacity(ids.len());
    for ids in ids.chunks(POLL_IDS) {
        let asked = json!({"document_ids": ids});
        let states: States = client.post("/v1/documents/states", &asked)?;
        all.extend(states.documents);
    }
    Ok(all)
}

fn update(client: &Client, documents: &mut [Published], indices: &[usize]) -> Result<()> {
    let ids: Vec<&str> = indices
        .iter()
        .filter_map(|index| documents.get(*index))
        .map(|document| document.document_id.as_str())
        .collect();
    let states = states_of(client, &ids)?;
    for (index, state) in indices.iter().zip(states) {
        if let (Some(document), Some(state)) = (documents.get_mut(*index), state) {
            document.learn(state);
        }
    }
    Ok(())
}

/// Whether a document in this state is on its way.
pub(super) fn is_open(state: &str) -> bool {
    let is_it = |one: &&State| one.as_str() == state;
    let known = State::ALL.iter().find(is_it);
    !matches!(state, super::REFUSED | super::UNCONFIRMED)
        && !known.is_some_and(|one| one.is_final())
}

impl Published {
    /// Whether it is on its way.
    pub(super) fn is_open(&self) -> bool {
        is_open(&self.state)
    }

    fn learn(&mut self, state: DocumentState) {
        if state.version > self.version {
            self.state = State::Skipped.as_str().to_owned();
            self.reason = Some(format!("superseded by version {}", state.version));
        } else if state.version == self.version {
            self.chunks = state.chunks;
            self.leaves = state.state == State::Skipped && state.indexed_version.is_none();
            self.state = state.state.as_str().to_owned();
            self.reason = state.reason;
            let lineage = state.lineage.unwrap_or_default();
            self.degraded = lineage.degraded;
        }
    }
}
