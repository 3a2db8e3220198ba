//! Documents whose work is gone: their record rotted or expired before a stage took it, or the last
//! report of what became of it did. No stage will say anything of them again, so it is said here: what
//! the index has of them, or that they are dead, and why. See `docs/decisions/0097-work-that-is-gone.md`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tributary_schemas::{DocumentState, Error, ErrorKind, Result, State, Topic};
use tributary_store::Clock;
use tributary_store::event_log::stage::Output;
use tributary_store::event_log::topics::Topics;
use tributary_store::manifest::documents::waiting_records;
use tributary_store::manifest::reconcile::on_the_way;
use tributary_store::manifest::restating;
use tributary_store::manifest::table::{DocumentRow, DocumentTable};
use tributary_store::search_index::{IndexedDocument, SharedSearchIndex};

use crate::reindex::what_is_found;

/// Between two looks: whatever is the same at both, with no work left for any stage, is stuck.
const PAUSE: Duration = Duration::from_secs(30);
/// Documents in one append.
const AT_ONCE: usize = 500;
/// Documents that the log of the program names.
const NAMED: usize = 10;

/// Looks for them.
pub struct Unfinished {
    /// The log.
    topics: Topics,
    /// What became of documents.
    table: Arc<DocumentTable>,
    /// The index.
    index: SharedSearchIndex,
    /// The time.
    clock: Clock,
    /// Those on their way at the last look, with their versions, when no stage had work left.
    before: HashMap<String, u64>,
}

impl Unfinished {
    /// Nothing was looked at yet.
    pub fn new(
        topics: Topics,
        table: Arc<DocumentTable>,
        index: SharedSearchIndex,
        clock: Clock,
    ) -> Self {
        Self {
            topics,
            table,
            index,
            clock,
            before: HashMap::new(),
        }
    }

    /// Looks again and again. For one process of a deployment; several do no harm.
    pub async fn keep(mut self) {
        loop {
            tokio::time::sleep(PAUSE).await;
            if let Err(error) = self.look().await {
                tracing::warn!(%error, "documents whose work is gone cannot be looked for, trying again");
            }
        }
    }

    /// One look; returns how many documents were found to be stuck, which is said of them.
    pub async fn look(&mut self) -> Result<usize> {
        let before = std::mem::take(&mut self.before);
        let Some(now) = self.idle_on_the_way().await? else {
            return Ok(0);
        };
        let is_stuck = |(id, version): &(&String, &u64)| before.get(*id) == Some(version);
        let stuck = now.iter().filter(is_stuck);
        let stuck: Vec<(String, u64)> = stuck.map(|(id, version)| (id.clone(), *version)).collect();
        for documents in stuck.chunks(AT_ONCE) {
            self.report(documents).await?;
        }
        self.before = now;
        Ok(stuck.len())
    }

    /// Documents on their way although no stage has anything left to do; `None` where one has. They
    /// are seen first: the work of one that comes later is not.
    async fn idle_on_the_way(&self) -> Result<Option<HashMap<String, u64>>> {
        let is_on_the_way =
            |(state, documents): (&State, &u64)| !state.is_final() && *documents > 0;
        let states = self.table.counts().states;
        if !State::ALL.iter().zip(&states).any(is_on_the_way) {
            return Ok(None);
        }
        self.table.catch_up(&self.topics).await?;
        let mut found = on_the_way(&self.table);
        if waiting_records(&self.topics, &self.index).await? > 0 {
            return Ok(None);
        }
        self.table.catch_up(&self.topics).await?;
        found.retain(|id, version| {
            let row = self.table.get(id);
            row.is_some_and(|row| is_at(&row, *version))
        });
        Ok(Some(found))
    }

    async fn report(&self, stuck: &[(String, u64)]) -> Result<()> {
        let statuses = self.index.status().await?;
        let serving = statuses.into_iter().find(|one| one.serving);
        let generation = serving.map(|one| one.name).unwrap_or_default();
        let ids: Vec<String> = stuck.iter().map(|(id, _)| id.clone()).collect();
        let stored = self.index.documents(None, &ids).await?;
        // Published again meanwhile, it has work.
        let rows = stuck.iter().map(|(id, version)| {
            let row = self.table.get(id);
            row.filter(|row| is_at(row, *version))
        });
        let reports = rows
            .zip(stored)
            .filter_map(|(row, stored)| Some(self.became(row?, stored, &generation)));
        let reports: Vec<DocumentState> = reports.collect();
        if reports.is_empty() {
            return Ok(());
        }
        let dead: Vec<&str> = reports
            .iter()
            .filter(|report| report.state == State::Dead)
            .map(|report| report.document_id.as_str())
            .collect();
        if !dead.is_empty() {
            let named = dead.iter().take(NAMED).copied().collect::<Vec<_>>();
            tracing::error!(
                documents = dead.len(),
                ids = named.join(", "),
                "accepted documents are nowhere in the log any more and dead for it: publish them again"
            );
        }
        let outputs: Result<Vec<Output>> = reports.iter().map(Output::report).collect();
        let records = outputs?.into_iter().map(|output| output.record).collect();
        self.topics.append(Topic::DocumentsStates, records).await?;
        self.table.catch_up(&self.topics).await
    }

    /// What became of a stuck document: what the index has in its version, else nothing.
    fn became(
        &self,
        mut row: DocumentRow,
        stored: Option<IndexedDocument>,
        generation: &str,
    ) -> DocumentState {
        let now_ms = (self.clock)();
        let is_newest = |stored: &IndexedDocument| stored.document.version == row.latest.version;
        if let Some(stored) = stored.filter(is_newest) {
            return what_is_found(stored, generation, now_ms);
        }
        let error = Error::new(
            ErrorKind::Corrupt,
            "its record is no longer in the log, which was damaged or dropped it unread: publish the \
             document again (or delete it again)",
        );
        row.latest.state = State::Dead;
        row.latest.reason = Some(format!("{}: {}", error.kind(), error.full_message()));
        row.latest.at_ms = now_ms;
        restating::report(&row)
    }
}

fn is_at(row: &DocumentRow, version: u64) -> bool {
    !row.latest.state.is_final() && row.latest.version == version
}
