//! Waits until documents are done with, and learns what became of each.

use std::time::Duration;

use anyhow::Result;
use serde::Deserialize;
use serde_json::json;
use tributary_schemas::work::{WorkItem, WorkOverview};
use tributary_schemas::{DocumentState, State};

use super::Published;
use super::progress::{Progress, Seen};
use crate::client::Client;
use crate::verbs::quiescence::Quiescence;

const POLL: Duration = Duration::from_millis(200);
const POLL_IDS: usize = 500;

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
    loop {
        let open = open(documents);
        if open.is_empty() {
            return Ok(());
        }
        for indices in open.chunks(POLL_IDS) {
            update(client, documents, indices)?;
        }
        let work = work(client);
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

/// What the stages of the server's process are at. Those of other processes do not show, and an
/// older server does not know the path: then nothing is named.
fn work(client: &Client) -> Vec<WorkItem> {
    let overview = client.get::<WorkOverview>("/v1/work");
    overview.map_or_else(|_| Vec::new(), |overview| overview.items)
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
            self.state = state.state.as_str().to_owned();
            self.reason = state.reason;
            let lineage = state.lineage.unwrap_or_default();
            self.degraded = lineage.degraded;
        }
    }
}
