//! All documents in memory, built from `documents.states` at start and followed from then on. Any process can have one.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tributary_schemas::{Disposition, DocumentState, Error, ErrorKind, Result, State, Topic};

use super::rows::Rows;
use crate::event_log::topics::Topics;
use crate::event_log::{BatchLimit, Position, StoredRecord, Subscription, message};

const READ_LIMIT: BatchLimit = BatchLimit { records: 10_000, bytes: 8 << 20 };
const CATCH_UP_SECONDS: u64 = 30;

/// What is known of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentRow {
    /// The newest report of the newest version.
    pub latest: DocumentState,
    /// What is searchable, which may be an earlier version.
    pub indexed: Option<IndexedVersion>,
    /// The newest version that went past ingest; 0 if none did.
    pub passed: u64,
}

/// A version that is searchable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedVersion {
    /// Version.
    pub version: u64,
    /// Chunks in the index.
    pub chunks: u32,
    /// See [`tributary_schemas::DocumentHeader::fingerprint`].
    pub fingerprint: String,
}

/// Which documents a listing shows.
#[derive(Clone, Debug, Default)]
pub struct ListFilter {
    /// In this state.
    pub state: Option<State>,
    /// From this source.
    pub source: Option<String>,
}

/// The table of all documents.
#[derive(Debug)]
pub struct DocumentTable {
    rows: Arc<RwLock<Rows>>,
    /// Per partition the offset after the last report applied.
    applied: watch::Receiver<HashMap<u32, u64>>,
    _follower: DropGuard,
}

impl DocumentTable {
    /// Reads all reports that are there and follows the topic until the table is dropped.
    pub async fn open(topics: &Topics) -> Result<Self> {
        let mut subscription = topics.subscribe(Topic::DocumentsStates, None).await?;
        let ends = ends(topics).await?;
        let mut rows = Rows::default();
        let mut applied = HashMap::new();
        while !reached(&applied, &ends) {
            let batch = subscription.next_batch(READ_LIMIT, Duration::from_secs(CATCH_UP_SECONDS)).await?;
            apply_all(&mut rows, &mut applied, &redeemed(topics, &batch).await?);
            let has_moved = note_positions(&mut applied, &subscription.positions());
            if batch.is_empty() && !has_moved {
                return Err(behind());
            }
        }
        let rows = Arc::new(RwLock::new(rows));
        let (sender, receiver) = watch::channel(applied);
        let stop = CancellationToken::new();
        let follower = Follower { subscription, topics: topics.clone(), rows: Arc::clone(&rows), applied: sender };
        tokio::spawn(stop.clone().run_until_cancelled_owned(follower.follow()));
        Ok(Self { rows, applied: receiver, _follower: stop.drop_guard() })
    }

    /// A table that follows nothing.
    #[cfg(test)]
    pub(crate) fn with_reports(states: &[DocumentState]) -> Self {
        let mut rows = Rows::default();
        states.iter().for_each(|state| apply(&mut rows, state.clone()));
        let (_, applied) = watch::channel(HashMap::new());
        Self { rows: Arc::new(RwLock::new(rows)), applied, _follower: CancellationToken::new().drop_guard() }
    }

    /// Waits until everything is applied that was reported before this call.
    pub async fn catch_up(&self, topics: &Topics) -> Result<()> {
        let ends = ends(topics).await?;
        let mut applied = self.applied.clone();
        let reached = tokio::time::timeout(Duration::from_secs(CATCH_UP_SECONDS), applied.wait_for(|applied| reached(applied, &ends)));
        match reached.await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(behind()),
        }
    }

    /// What is known of a document.
    pub fn get(&self, document_id: &str) -> Option<DocumentRow> {
        self.read(|rows| rows.get(document_id))
    }

    /// Documents by id after `after`, at most `limit`.
    pub fn page(&self, filter: &ListFilter, after: Option<&str>, limit: usize) -> Vec<DocumentRow> {
        self.read(|rows| rows.after(after).filter(|row| filter.shows(row)).take(limit).collect())
    }

    /// How many documents there are, and how many in each state, in the order of [`State::ALL`].
    pub fn counts(&self) -> (u64, [u64; State::ALL.len()]) {
        self.read(Rows::counts)
    }

    /// Calls `visit` for every document; the table is held meanwhile.
    pub fn for_each(&self, mut visit: impl FnMut(&str, &DocumentRow)) {
        self.read(|rows| rows.after(None).for_each(|row| visit(&row.latest.document_id, &row)));
    }

    fn read<T>(&self, look: impl FnOnce(&Rows) -> T) -> T {
        look(&self.rows.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ListFilter {
    fn shows(&self, row: &DocumentRow) -> bool {
        self.state.is_none_or(|state| row.latest.state == state) && self.source.as_ref().is_none_or(|source| row.latest.source == *source)
    }
}

async fn ends(topics: &Topics) -> Result<HashMap<u32, u64>> {
    // The name of a group that never commits: only the ends matter here.
    let lag = topics.lag(Topic::DocumentsStates, "document-table").await?;
    Ok(lag.into_iter().filter(|partition| partition.end > partition.start).map(|partition| (partition.partition, partition.end)).collect())
}

fn reached(applied: &HashMap<u32, u64>, ends: &HashMap<u32, u64>) -> bool {
    ends.iter().all(|(partition, end)| applied.get(partition).is_some_and(|offset| offset >= end))
}

/// Takes over how far the topic was read, where records at the end are gone for good. Returns whether that is news.
fn note_positions(applied: &mut HashMap<u32, u64>, positions: &[Position]) -> bool {
    let mut has_moved = false;
    for position in positions {
        let known = applied.entry(position.partition).or_insert(0);
        has_moved |= position.offset > *known;
        *known = position.offset.max(*known);
    }
    has_moved
}

fn behind() -> Error {
    Error::new(ErrorKind::Timeout, format!("the document table did not catch up with its topic within {CATCH_UP_SECONDS} s"))
}

/// Keeps a table up to date.
struct Follower {
    subscription: Box<dyn Subscription>,
    topics: Topics,
    rows: Arc<RwLock<Rows>>,
    applied: watch::Sender<HashMap<u32, u64>>,
}

impl Follower {
    async fn follow(mut self) {
        loop {
            match self.subscription.next_batch(READ_LIMIT, Duration::from_secs(5)).await {
                Ok(batch) => self.apply(batch).await,
                Err(error) => again_soon(&error).await,
            }
        }
    }

    async fn apply(&mut self, batch: Vec<StoredRecord>) {
        let batch = loop {
            match redeemed(&self.topics, &batch).await {
                Ok(batch) => break batch,
                Err(error) => again_soon(&error).await,
            }
        };
        let positions = self.subscription.positions();
        self.applied.send_if_modified(|applied| {
            apply_all(&mut self.rows.write().unwrap_or_else(PoisonError::into_inner), applied, &batch);
            note_positions(applied, &positions) || !batch.is_empty()
        });
    }
}

async fn again_soon(error: &Error) {
    tracing::warn!(%error, "the document table cannot read its topic, trying again");
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Reports with their values, where these travelled as references. Errors: those that pass, of a store that is away.
async fn redeemed(topics: &Topics, batch: &[StoredRecord]) -> Result<Vec<StoredRecord>> {
    let mut redeemed = Vec::with_capacity(batch.len());
    for stored in batch {
        redeemed.push(match topics.redeem(stored.record.clone()).await {
            Ok(record) => StoredRecord { record, ..stored.clone() },
            Err(error) if error.kind().disposition() == Disposition::Hold => return Err(error),
            // Gone: who decodes it says so.
            Err(_) => stored.clone(),
        });
    }
    Ok(redeemed)
}

fn apply_all(rows: &mut Rows, applied: &mut HashMap<u32, u64>, batch: &[StoredRecord]) {
    for stored in batch {
        match message::decode::<DocumentState>(&stored.record) {
            Ok(Some(state)) => apply(rows, state),
            Ok(None) => {}
            Err(error) => tracing::warn!(position = ?stored.position, %error, "a report about a document cannot be read and is left out"),
        }
        applied.insert(stored.position.partition, stored.position.offset + 1);
    }
}

fn apply(rows: &mut Rows, state: DocumentState) {
    let row = match rows.get(&state.document_id) {
        None => DocumentRow { indexed: IndexedVersion::reported_by(&state), passed: passed_ingest(&state), latest: state },
        Some(row) => changed(row, state),
    };
    rows.set(row);
}

fn changed(mut row: DocumentRow, state: DocumentState) -> DocumentRow {
    row.passed = row.passed.max(passed_ingest(&state));
    match state.state {
        State::Indexed if row.indexed.as_ref().is_none_or(|indexed| indexed.version <= state.version) => {
            row.indexed = IndexedVersion::reported_by(&state);
        }
        State::Deleted if row.indexed.as_ref().is_some_and(|indexed| indexed.version <= state.version) => row.indexed = None,
        _ => {}
    }
    if supersedes(&state, &row.latest) {
        let previous = std::mem::replace(&mut row.latest, state);
        keep_what_a_deletion_cannot_say(&mut row.latest, previous);
    }
    row
}

/// A null value has no source, path and title: the document keeps those it had.
fn keep_what_a_deletion_cannot_say(latest: &mut DocumentState, previous: DocumentState) {
    if latest.source.is_empty() {
        latest.source = previous.source;
        latest.source_path = previous.source_path;
        latest.title = previous.title;
    }
}

/// The version of a report that tells of a stage after ingest, else 0.
fn passed_ingest(state: &DocumentState) -> u64 {
    match (state.state, state.indexed_version) {
        // Unchanged: it ended there.
        (State::Accepted, _) | (State::Skipped, Some(_)) => 0,
        // A skip of any other kind may have a removal on its way.
        _ => state.version,
    }
}

impl IndexedVersion {
    /// What a report says is searchable. An unchanged document's skip names the version that stays so, which matters once compaction has
    /// removed that version's own report.
    fn reported_by(state: &DocumentState) -> Option<Self> {
        let version = match state.state {
            State::Indexed => state.version,
            State::Skipped => state.indexed_version?,
            _ => return None,
        };
        Some(Self { version, chunks: state.chunks, fingerprint: state.fingerprint.clone() })
    }
}

/// Reports of one version come in the order of the route, but for two: the acceptance is reported beside the route and may come late,
/// and the removal of an older version's chunks must not hide why the newer one was skipped.
fn supersedes(new: &DocumentState, old: &DocumentState) -> bool {
    if new.version != old.version {
        return new.version > old.version;
    }
    !matches!((old.state, new.state), (_, State::Accepted) | (State::Skipped, State::Deleted))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::DocumentHeader;

    use super::*;
    use crate::blobs::Blobs;
    use crate::event_log::embedded::{self, EmbeddedEventLog};
    use crate::manifest::report;

    fn state(version: u64, state: State) -> DocumentState {
        let document = DocumentHeader { document_id: "d".into(), version, fingerprint: format!("f{version}"), ..DocumentHeader::default() };
        report(&document, state, 0)
    }

    fn row_after(states: &[DocumentState]) -> DocumentRow {
        let mut rows = Rows::default();
        states.iter().for_each(|state| apply(&mut rows, state.clone()));
        rows.get("d").unwrap()
    }

    #[test]
    fn a_late_acceptance_does_not_hide_progress() {
        let row = row_after(&[state(1, State::Chunking), state(1, State::Accepted)]);
        assert_eq!(row.latest.state, State::Chunking);
    }

    #[test]
    fn counts_follow_every_change() {
        let reports = [State::Accepted, State::Chunking, State::Indexed, State::Accepted, State::Dead];
        let mut rows = Rows::default();
        for (version, state_now) in [1, 1, 1, 2, 2].into_iter().zip(reports) {
            apply(&mut rows, state(version, state_now));
            let mut expected = [0; State::ALL.len()];
            expected[rows.get("d").unwrap().latest.state as usize] = 1;
            assert_eq!(rows.counts(), (1, expected));
        }
        assert_eq!(State::ALL.map(|state| state as usize), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn an_older_version_that_comes_late_changes_only_what_is_searchable() {
        let row = row_after(&[state(2, State::Chunking), state(1, State::Indexed)]);
        assert_eq!((row.latest.version, row.latest.state), (2, State::Chunking));
        assert_eq!(row.indexed.unwrap().version, 1);
    }

    #[test]
    fn a_deletion_keeps_where_the_document_came_from() {
        let indexed = DocumentState { source: "wiki".into(), source_path: "a.md".into(), ..state(1, State::Indexed) };
        let row = row_after(&[indexed, state(2, State::Deleted)]);
        assert_eq!((row.latest.source.as_str(), row.latest.source_path.as_str()), ("wiki", "a.md"));
    }

    #[test]
    fn a_skip_of_an_unchanged_document_leaves_it_searchable() {
        let skipped = DocumentState { indexed_version: Some(1), fingerprint: "f1".into(), chunks: 3, ..state(2, State::Skipped) };
        let row = row_after(&[state(1, State::Indexed), skipped.clone()]);
        assert_eq!(row.indexed.as_ref().unwrap().version, 1);
        let compacted = row_after(&[skipped]);
        assert_eq!(compacted.indexed.unwrap(), IndexedVersion { version: 1, chunks: 3, fingerprint: "f1".into() });
    }

    #[test]
    fn an_emptied_document_stays_skipped_and_is_no_longer_searchable() {
        let row = row_after(&[state(1, State::Indexed), state(2, State::Skipped), state(2, State::Deleted)]);
        assert_eq!(row.latest.state, State::Skipped);
        assert_eq!(row.indexed, None);
    }

    fn log_config() -> embedded::Config {
        embedded::Config {
            segment_bytes: 1 << 20,
            max_record_bytes: 1 << 20,
            linger_ms: 0,
            queue_bytes: 1 << 20,
            maintenance_interval_seconds: 0,
            compaction_dirty_ratio: 0.5,
            tombstone_retention_seconds: 0,
        }
    }

    #[tokio::test]
    async fn a_report_that_travels_as_a_reference_counts_like_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let log = EmbeddedEventLog::open(&folder.path().join("log"), log_config()).unwrap();
        let blobs = Blobs::local(&folder.path().join("blobs")).unwrap();
        let topics = Topics::new(Arc::new(log), "t".into(), blobs, 1000);
        topics.create(1, None, None).await.unwrap();
        let append = |version, now| {
            let long = DocumentState { reason: Some("x".repeat(2000)), ..state(version, now) };
            let record = crate::manifest::output(&long).unwrap().record;
            topics.append(Topic::DocumentsStates, vec![record])
        };
        append(1, State::Dead).await.unwrap();
        let table = DocumentTable::open(&topics).await.unwrap();
        assert_eq!(table.get("d").unwrap().latest.state, State::Dead);
        append(2, State::Skipped).await.unwrap();
        table.catch_up(&topics).await.unwrap();
        assert_eq!(table.get("d").unwrap().latest.state, State::Skipped, "while it follows, too");

        std::fs::remove_dir_all(folder.path().join("blobs")).unwrap();
        append(3, State::Dead).await.unwrap();
        std::fs::remove_dir_all(folder.path().join("blobs")).unwrap();
        assert!(DocumentTable::open(&topics).await.is_ok(), "what is gone is left out");
    }
}
