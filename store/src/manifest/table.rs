//! All documents in memory, built from `documents.states` at start and followed from then on. Any
//! process can have one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::JoinHandle;
use tributary_schemas::{
    DocumentRights, DocumentState, Error, ErrorKind, Labels, Newer, PassedIngest, Result, State,
    Topic, Viewer, event,
};

use super::changes::Changes;
use super::list::{ListQuery, Selected, Selection};
use super::restating::says_all;
use super::rows::{Glance, ROWS_AT_ONCE, Rows};
use super::standing::Standing;
use super::view::{Applied, Fold, GROUP, View, ended};
use crate::event_log::topics::Topics;
use crate::event_log::{Position, Record, StoredRecord, message};

pub use super::rows::{CheckpointFile, Counts};

fn degraded(report: &DocumentState) -> &[String] {
    let lineage = report.lineage.as_ref();
    lineage.map_or(&[], |lineage| &lineage.degraded)
}

/// What is known of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentRow {
    /// The newest report of the newest version.
    pub latest: DocumentState,
    /// The last report of which it was decided who may see it, while that is not decided of the
    /// newest.
    pub before: Option<Box<DocumentState>>,
    /// What is searchable, which may be an earlier version.
    pub indexed: Option<IndexedVersion>,
    /// The newest version that went past ingest; 0 if none did.
    pub passed: u64,
    /// The newest version that ingest is done with, also by finding it unchanged; 0 if there is
    /// none. What is older and comes later is dropped there.
    pub taken: u64,
}

impl DocumentRow {
    /// Whether a version of it can be found, whatever became of the newest one.
    pub fn is_searchable(&self) -> bool {
        self.indexed
            .as_ref()
            .is_some_and(|indexed| !indexed.is_aside)
    }

    /// A new report with the times since when it is so, where that is known already. A version that
    /// is made again, for another generation of the index or after a crash, is searchable as long as
    /// it was, and has not changed unless more or less is degraded.
    #[must_use]
    pub fn dated(&self, report: DocumentState) -> DocumentState {
        let is_it = |indexed: &&IndexedVersion| indexed.version == report.version;
        let indexed = self.indexed.as_ref().filter(is_it);
        let indexed = indexed.filter(|indexed| !indexed.is_aside && report.state == State::Indexed);
        let latest = &self.latest;
        let is_the_latest = (latest.version, latest.state) == (report.version, report.state);
        let is_as_it_was = is_the_latest && degraded(latest) == degraded(&report);
        DocumentState {
            at_ms: if is_as_it_was {
                latest.at_ms
            } else {
                report.at_ms
            },
            indexed_at_ms: indexed.map_or(report.indexed_at_ms, |indexed| indexed.at_ms),
            ..report
        }
    }

    /// What a viewer is told of it; `None` where that is nothing, not even that it is there.
    pub fn told(mut self, viewer: &Viewer) -> Option<Self> {
        let told = self.standing().told(viewer)?;
        if !told.is_newest {
            self.latest = *self.before.take()?;
        }
        self.before = None;
        self.indexed = self.indexed.filter(|_| told.is_found);
        Some(self)
    }

    /// What decides who sees it.
    fn standing(&self) -> Standing<'_> {
        let found = self.indexed.as_ref().filter(|indexed| !indexed.is_aside);
        let before = self.before.as_ref();
        Standing {
            source: &self.latest.source,
            rights: self.latest.rights.as_ref(),
            published: self.latest.published_rights.as_ref(),
            before: before.and_then(|before| before.rights.as_ref()),
            found: found.and_then(|indexed| indexed.rights.as_ref()),
        }
    }
}

/// A version that is indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedVersion {
    /// Version.
    pub version: u64,
    /// Since when, milliseconds since 1970, where reports say it.
    pub at_ms: Option<i64>,
    /// Chunks in the index.
    pub chunks: u32,
    /// Whether it steps aside for a newer edition of its work and cannot be found.
    pub is_aside: bool,
    /// See [`tributary_schemas::DocumentHeader::fingerprint`].
    pub fingerprint: String,
    /// Its tags and knowledge sets, as far as they are known.
    pub labels: Option<Labels>,
    /// Who may see it; nothing in reports of before.
    pub rights: Option<DocumentRights>,
}

/// A checkpoint that is being read on a thread of its own: with many documents that takes as long
/// as opening the index, so both are done at once.
#[derive(Debug)]
pub struct CheckpointReading {
    file: CheckpointFile,
    read: JoinHandle<Option<(Rows, Applied)>>,
}

impl CheckpointReading {
    /// Begins to read; not outside a runtime.
    pub fn begin(file: CheckpointFile) -> Self {
        let its_own = file.clone();
        Self {
            file,
            read: tokio::task::spawn_blocking(move || its_own.read()),
        }
    }
}

/// The table of all documents.
#[derive(Debug)]
pub struct DocumentTable {
    view: Arc<View<Rows>>,
    file: Option<CheckpointFile>,
    /// Reports that the last checkpoint has.
    kept: AtomicU64,
}

impl DocumentTable {
    /// Reads all reports that are there and follows the topic until the table is dropped.
    pub async fn open(topics: &Topics) -> Result<Self> {
        Self::go_on(topics, None, Rows::default(), Applied::new()).await
    }

    /// The same, from a checkpoint on if there is one that fits the topic. Only for a log that goes
    /// with the data folder: brokers may have been exchanged since.
    pub async fn open_from(topics: &Topics, reading: CheckpointReading) -> Result<Self> {
        let CheckpointReading { file, read } = reading;
        let (rows, applied) = match read.await.ok().flatten() {
            Some((rows, applied)) if fits(topics, &applied).await? => (rows, applied),
            _ => (Rows::default(), Applied::new()),
        };
        Self::go_on(topics, Some(file), rows, applied).await
    }

    async fn go_on(
        topics: &Topics,
        file: Option<CheckpointFile>,
        rows: Rows,
        applied: Applied,
    ) -> Result<Self> {
        let kept = AtomicU64::new(reports(&applied));
        Ok(Self {
            view: Arc::new(View::open(topics, rows, applied).await?),
            file,
            kept,
        })
    }

    /// How many reports were applied since the last checkpoint.
    pub fn reports_since_checkpoint(&self) -> u64 {
        reports(&self.view.applied()).saturating_sub(self.kept.load(Ordering::Acquire))
    }

    /// Writes a checkpoint, where there is a place for one.
    pub async fn checkpoint(&self) -> Result<()> {
        let Some(file) = self.file.clone() else {
            return Ok(());
        };
        let (view, applied) = (Arc::clone(&self.view), self.view.applied());
        let count = reports(&applied);
        let written = tokio::task::spawn_blocking(move || {
            file.write(&applied, |look| view.read(|rows| look(rows)))
        })
        .await;
        written.unwrap_or_else(|error| {
            Err(Error::new(
                ErrorKind::Internal,
                format!("a checkpoint was broken off: {error}"),
            ))
        })?;
        self.kept.store(count, Ordering::Release);
        Ok(())
    }

    /// Commits how far the reports were read, so that a log that ends before that is known to have
    /// lost some. Only where there is a place for checkpoints: brokers look after their records
    /// themselves.
    pub async fn commit(&self, topics: &Topics) -> Result<()> {
        if self.file.is_none() {
            return Ok(());
        }
        let applied = self.view.applied();
        let positions: Vec<Position> = applied
            .iter()
            .map(|(partition, offset)| Position {
                partition: *partition,
                offset: *offset,
            })
            .collect();
        topics
            .subscribe(Topic::DocumentsStates, Some(GROUP))
            .await?
            .commit(&positions)
            .await
    }

    /// A table that follows nothing.
    #[cfg(test)]
    pub(crate) fn with_reports(states: &[DocumentState]) -> Self {
        let mut rows = Rows::default();
        states
            .iter()
            .for_each(|state| apply(&mut rows, state.clone()));
        Self {
            view: Arc::new(View::of(rows)),
            file: None,
            kept: AtomicU64::new(0),
        }
    }

    /// Waits until everything is applied that was reported before this call.
    pub async fn catch_up(&self, topics: &Topics) -> Result<()> {
        self.view.catch_up(topics).await
    }

    /// What is known of a document beside the version that was read from the index.
    pub(super) fn beside(&self, document_id: &str, version: u64) -> Newer {
        self.read(|rows| rows.beside(document_id, version))
    }

    /// Whether there is any document whose newest rights are on their way to the index.
    pub(super) fn has_rights_on_the_way(&self) -> bool {
        self.read(Rows::has_rights_on_the_way)
    }

    /// Completes when reports are followed no more, which only a panic can cause.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        ended(self.view.changes())
    }

    /// Reports that are applied from now on.
    pub fn changes(&self) -> Changes {
        Changes::of(self.view.changes())
    }

    /// What is known of a document.
    pub fn get(&self, document_id: &str) -> Option<DocumentRow> {
        self.read(|rows| rows.get(document_id))
    }

    /// The same, if this holds of where it stands; takes as long where it does not as where there
    /// is no such document.
    pub fn get_where(
        &self,
        document_id: &str,
        sees: impl FnOnce(Standing<'_>) -> bool,
    ) -> Option<DocumentRow> {
        self.read(|rows| rows.get_where(document_id, sees))
    }

    /// Whether there is a document of this id of which this holds.
    pub fn has_where(&self, document_id: &str, sees: impl FnOnce(Standing<'_>) -> bool) -> bool {
        self.read(|rows| rows.has_where(document_id, sees))
    }

    /// Whether a document of this id was ever accepted.
    pub fn has(&self, document_id: &str) -> bool {
        self.read(|rows| rows.has(document_id))
    }

    /// Documents by id after `after`, at most `limit`.
    pub fn page(&self, after: Option<&str>, limit: usize) -> Vec<DocumentRow> {
        self.read(|rows| rows.after(after).take(limit).collect())
    }

    /// A page of a list. With conditions on tags or knowledge sets those of this generation of the
    /// index count; where some are not known, it says of which documents.
    pub(super) fn list(&self, query: &ListQuery, generation: &str) -> Selected {
        Selection::new(query, generation).run(|look| self.read(|rows| look(rows)))
    }

    /// Takes over tags and knowledge sets as the index has them, where no report says them.
    pub(super) fn set_labels<'a>(&self, found: impl Iterator<Item = (&'a str, Labels)>) {
        self.view.write(|rows| {
            found.for_each(|(document_id, labels)| rows.set_labels(document_id, &labels));
        });
    }

    /// Looks at every document; reports are applied in between.
    pub(super) fn glance(&self, mut look: impl FnMut(Glance<'_>)) {
        let mut last: Option<Box<str>> = None;
        loop {
            last = self.read(|rows| rows.glance(last.as_deref(), ROWS_AT_ONCE, &mut look));
            if last.is_none() {
                return;
            }
        }
    }

    /// Documents whose tags and knowledge sets are known of another generation of the index only, or
    /// not at all.
    pub(super) fn unlabelled(&self, generation: &str) -> Vec<String> {
        let mut documents = Vec::new();
        self.glance(|glance| {
            let is_known = glance.labels.map(|labels| labels.generation == generation);
            if !is_known.unwrap_or(!glance.is_searchable) {
                documents.push(glance.document_id.to_owned());
            }
        });
        documents
    }

    /// How many documents can be found in a version that was indexed before this time, milliseconds
    /// since 1970, or nobody knows when.
    pub fn indexed_before(&self, time_ms: i64) -> u64 {
        let mut documents = 0;
        self.glance(|glance| {
            let is_before = glance.indexed_at_ms.is_none_or(|at_ms| at_ms < time_ms);
            documents += u64::from(glance.is_searchable && is_before);
        });
        documents
    }

    /// How many documents there are.
    pub fn counts(&self) -> Counts {
        self.read(Rows::counts)
    }

    /// Calls `visit` for every document; the table is held meanwhile.
    pub fn for_each(&self, mut visit: impl FnMut(&str, &DocumentRow)) {
        self.read(|rows| {
            rows.after(None)
                .for_each(|row| visit(&row.latest.document_id, &row))
        });
    }

    /// The version that the newest report is about; 0 for an unknown document.
    pub fn newest_version(&self, document_id: &str) -> u64 {
        self.read(|rows| rows.versions(document_id).0)
    }

    /// Documents that the index finds for a viewer although a newer version refuses them, at most so
    /// many.
    pub(super) fn withheld(&self, viewer: &Viewer) -> Vec<String> {
        self.read(|rows| rows.withheld(viewer))
    }

    /// The newest version that ingest is done with; 0 if there is none.
    pub fn newest_taken(&self, document_id: &str) -> u64 {
        self.read(|rows| rows.versions(document_id).1)
    }

    /// Documents whose last report alone does not say what is known of them, at most `limit`; see
    /// [`super::restating`].
    pub(super) fn unsaid(&self, limit: usize) -> Vec<String> {
        self.read(|rows| rows.unsaid(limit))
    }

    /// Leaves the document out of [`Self::unsaid`] until something is reported of it.
    pub(super) fn let_be(&self, document_id: &str) {
        self.view.write(|rows| rows.note_said(document_id, true));
    }

    /// The newest time of a report, milliseconds since 1970; 0 if there is none.
    pub fn newest_time(&self) -> i64 {
        self.read(Rows::newest_time)
    }

    /// The newest version that went past ingest; 0 if there is none.
    pub fn newest_passed(&self, document_id: &str) -> u64 {
        self.read(|rows| rows.versions(document_id).2)
    }

    /// Whether a deletion that went past ingest waits behind this version: all that is made of the
    /// version goes again. Until the index has let the document go, the report of its deletion is that
    /// of a document on its way without content.
    pub fn is_deletion_behind(&self, document_id: &str, version: u64) -> bool {
        self.get(document_id).is_some_and(|row| {
            let latest = &row.latest;
            let has_no_content = latest.state == State::Chunking && latest.fingerprint.is_empty();
            let is_deletion = latest.state == State::Deleted || has_no_content;
            is_deletion && latest.version > version && row.passed >= latest.version
        })
    }

    fn read<T>(&self, look: impl FnOnce(&Rows) -> T) -> T {
        self.view.read(look)
    }
}

/// Whether all that a checkpoint has is in the topic: a log that was put back from a copy may end
/// before it.
async fn fits(topics: &Topics, applied: &Applied) -> Result<bool> {
    let ends: Applied = topics
        .lag(Topic::DocumentsStates, GROUP)
        .await?
        .iter()
        .map(|lag| (lag.partition, lag.end))
        .collect();
    Ok(applied
        .iter()
        .all(|(partition, offset)| ends.get(partition).is_some_and(|end| offset <= end)))
}

/// Records up to these positions, all partitions together.
fn reports(applied: &Applied) -> u64 {
    applied.values().sum()
}

impl Fold for Rows {
    const TOPIC: Topic = Topic::DocumentsStates;
    const NEEDS_VALUES: bool = true;

    fn apply(&mut self, stored: &StoredRecord) {
        if let Err(error) = take(self, &stored.record) {
            tracing::warn!(position = ?stored.position, %error, "a report about a document cannot be read and is left out");
        }
    }
}

fn take(rows: &mut Rows, record: &Record) -> Result<()> {
    if record.header(event::CE_TYPE) == Some(event::TYPE_PASSED_INGEST) {
        if let Some(passed) = message::decode::<PassedIngest>(record)? {
            rows.note_passed(&passed.document_id, passed.version);
        }
    } else if let Some(state) = message::decode::<DocumentState>(record)? {
        apply(rows, state);
    }
    Ok(())
}

fn apply(rows: &mut Rows, state: DocumentState) {
    let row = match rows.get(&state.document_id) {
        None => {
            let early = rows.passed_early(&state.document_id);
            DocumentRow {
                indexed: IndexedVersion::reported_by(&state),
                passed: passed_ingest(&state).max(early),
                taken: taken_by_ingest(&state).max(early),
                before: state.before.clone(),
                latest: by_itself(state.clone()),
            }
        }
        Some(row) => changed(row, state.clone()),
    };
    rows.note_said(&state.document_id, says_all(&state, &row));
    rows.set(row);
}

/// A report without what it says of others.
fn by_itself(state: DocumentState) -> DocumentState {
    DocumentState {
        indexed_rights: None,
        before: None,
        ..state
    }
}

/// What readers are told of while nothing is decided of the newest version; `state` has become a
/// part of the row, and may be of an older version.
fn keep_decided(row: &mut DocumentRow, previous: Option<DocumentState>, state: &DocumentState) {
    let is_decided = |state: &DocumentState| state.rights.is_some();
    if is_decided(&row.latest) || row.latest.state == State::Deleted {
        row.before = None;
        return;
    }
    // Of what was deleted readers are told by more than its own rights: nobody is, once it is on its
    // way again.
    let is_kept =
        |previous: &DocumentState| is_decided(previous) && previous.state != State::Deleted;
    let previous = previous.filter(is_kept).map(Box::new);
    row.before = previous
        .or_else(|| row.before.take())
        .or(state.before.clone());
    let supersedes = |before: &DocumentState| supersedes(state, before);
    let is_newer = row.before.as_deref().is_none_or(supersedes);
    match state.state {
        _ if !is_newer || row.latest.version == state.version => {}
        State::Deleted => row.before = None,
        _ if is_decided(state) => row.before = Some(Box::new(by_itself(state.clone()))),
        _ => {}
    }
}

fn changed(mut row: DocumentRow, state: DocumentState) -> DocumentRow {
    row.passed = row.passed.max(passed_ingest(&state));
    row.taken = row.taken.max(taken_by_ingest(&state));
    match state.state {
        State::Indexed
            if row
                .indexed
                .as_ref()
                .is_none_or(|indexed| indexed.version <= state.version) =>
        {
            row.indexed = IndexedVersion::reported_by(&state);
        }
        State::Deleted
            if row
                .indexed
                .as_ref()
                .is_some_and(|indexed| indexed.version <= state.version) =>
        {
            row.indexed = None
        }
        // Its chunks are gone until it is the newest edition again, which is reported.
        State::Skipped if state.indexed_version.is_none() => {
            if let Some(indexed) = row.indexed.as_mut()
                && indexed.version == state.version
            {
                indexed.is_aside = true;
            }
        }
        // It cannot be found again as it was: the same content, published again, is to pass.
        State::Dead
            if row
                .indexed
                .as_ref()
                .is_some_and(|indexed| indexed.version == state.version) =>
        {
            row.indexed = None
        }
        _ => {}
    }
    if supersedes(&state, &row.latest) {
        // Compaction may have removed that version's own report, and not others of before.
        if row.indexed.is_none() && state.state != State::Indexed {
            row.indexed = IndexedVersion::reported_by(&state);
        }
        let previous = std::mem::replace(&mut row.latest, by_itself(state.clone()));
        keep_rights(&mut row.latest, &previous);
        keep_what_it_cannot_say(&mut row.latest, &previous);
        keep_decided(&mut row, Some(previous), &state);
    } else {
        keep_decided(&mut row, None, &state);
    }
    row
}

/// Whether the index has the version that a report of this state tells of, or nothing of the document
/// any more. A skip leaves the version that it names in the index; one that names none, such as that
/// of an empty document, has a removal on its way.
pub(super) fn is_settled(state: State, stays: Option<u64>) -> bool {
    match state {
        State::Indexed | State::Deleted => true,
        State::Skipped => stays.is_some(),
        _ => false,
    }
}

/// A report that says nothing of rights, or less than an earlier one of the same version, as of what
/// could not be read, takes none back. That of a
/// deletion has those of the version that was in the index: whoever a newer one refused is not told
/// of that one, either.
fn keep_rights(latest: &mut DocumentState, previous: &DocumentState) {
    let is_deleted = latest.state == State::Deleted;
    let is_settled = is_settled(latest.state, latest.indexed_version);
    let is_given_up = latest.state == State::Dead && latest.rights.is_none();
    if is_given_up && previous.version == latest.version && previous.newest_rights().is_some() {
        // The record alone does not say what the profile of its source adds.
        latest.published_rights = previous.newest_rights().cloned();
    } else if is_deleted && latest.published_rights.is_none() {
        latest.published_rights = refused_before(previous).cloned();
    } else if !is_settled && latest.newest_rights().is_none() {
        latest.published_rights = previous.newest_rights().cloned();
    }
}

/// Rights of a version that the index did not have yet, or that were kept with a deletion.
fn refused_before(previous: &DocumentState) -> Option<&DocumentRights> {
    match is_settled(previous.state, previous.indexed_version) {
        false => previous.newest_rights(),
        true if previous.state == State::Deleted => previous.published_rights.as_ref(),
        true => None,
    }
}

/// A null value has no source, path and title, and what was not read yet, or could not be, may have
/// no title: the document keeps those it had.
fn keep_what_it_cannot_say(latest: &mut DocumentState, previous: &DocumentState) {
    if latest.rights.is_none() && latest.title.is_empty() {
        latest.title.clone_from(&previous.title);
    }
    if latest.source.is_empty() {
        latest.source.clone_from(&previous.source);
        latest.source_path.clone_from(&previous.source_path);
        latest.title.clone_from(&previous.title);
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

/// The version of a report that tells of the end of ingest or of what came after it, else 0.
fn taken_by_ingest(state: &DocumentState) -> u64 {
    if state.state == State::Accepted {
        0
    } else {
        state.version
    }
}

impl IndexedVersion {
    /// What a report says is searchable. A skip of an unchanged document, and what was given up,
    /// name the version that stays so, which matters once compaction has removed that version's
    /// own report.
    pub(super) fn reported_by(state: &DocumentState) -> Option<Self> {
        let (version, at_ms) = match state.state {
            State::Indexed => (state.version, state.indexed_at_ms.or(Some(state.at_ms))),
            State::Skipped | State::Dead => (state.indexed_version?, state.indexed_at_ms),
            _ => return None,
        };
        Some(Self {
            version,
            at_ms,
            chunks: state.chunks,
            is_aside: false,
            fingerprint: state.fingerprint.clone(),
            labels: state.labels.clone(),
            rights: match state.state {
                // Its own are those of what was given up.
                State::Dead => state.indexed_rights.clone(),
                _ => state.rights.clone(),
            },
        })
    }
}

/// Reports of one version come in the order of the route, but for two: the acceptance is reported
/// beside the route and may come late, and the removal of an older version's chunks must not hide
/// why the newer one was skipped.
fn supersedes(new: &DocumentState, old: &DocumentState) -> bool {
    if new.version != old.version {
        return new.version > old.version;
    }
    !matches!(
        (old.state, new.state),
        (_, State::Accepted) | (State::Skipped, State::Deleted)
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::{Access, DocumentHeader, Lineage, SectionLevel};

    use super::*;
    use crate::blobs::Blobs;
    use crate::event_log::embedded::{self, EmbeddedEventLog};
    use crate::event_log::stage::{Next, Output, Outputs};
    use crate::manifest::report;

    fn state(version: u64, state: State) -> DocumentState {
        let document = DocumentHeader {
            document_id: "d".into(),
            version,
            fingerprint: format!("f{version}"),
            ..DocumentHeader::default()
        };
        report(&document, state, 0)
    }

    fn row_after(states: &[DocumentState]) -> DocumentRow {
        let mut rows = Rows::default();
        states
            .iter()
            .for_each(|state| apply(&mut rows, state.clone()));
        rows.get("d").unwrap()
    }

    fn records(states: &[DocumentState]) -> Vec<Record> {
        let reports = states.iter().map(Output::report);
        reports.map(|report| report.unwrap().record).collect()
    }

    fn passed(version: u64) -> Record {
        let cause = message::tombstone("t", "d", version, 0);
        let next = Next {
            topic: Topic::DocumentsClean,
            event_type: event::TYPE_DOCUMENT_CLEANED,
        };
        let outputs = Outputs::of(&cause, next, 0).passed("d", version).unwrap();
        outputs.done().remove(0).record
    }

    /// The report of the deletion went with the compaction when the acceptance came behind it.
    #[test]
    fn what_passed_ingest_is_known_without_its_report_wherever_it_is_read() {
        let mut all = records(&[state(1, State::Indexed), state(3, State::Accepted)]);
        all.push(passed(2));
        for turn in 0..all.len() {
            let mut rows = Rows::default();
            for record in all[turn..].iter().chain(&all[..turn]) {
                take(&mut rows, record).unwrap();
            }
            let row = rows.get("d").unwrap();
            assert_eq!((row.passed, row.taken), (2, 2), "from {turn}");
            assert_eq!((row.latest.version, row.latest.state), (3, State::Accepted));
            assert_eq!(row.indexed.unwrap().version, 1);
        }
    }

    #[test]
    fn a_deletion_is_behind_a_version_until_something_is_published_again() {
        let on_its_way = |version| DocumentState {
            fingerprint: String::new(),
            ..state(version, State::Chunking)
        };
        let behind = |reports: &[DocumentState]| {
            let table = DocumentTable::with_reports(reports);
            [1, 2].map(|version| table.is_deletion_behind("d", version))
        };
        let first = || state(1, State::Chunking);
        assert_eq!(behind(&[first()]), [false, false]);
        assert_eq!(
            behind(&[first(), state(2, State::Chunking)]),
            [false, false]
        );
        assert_eq!(
            behind(&[first(), state(2, State::Accepted)]),
            [false, false]
        );
        assert_eq!(behind(&[first(), on_its_way(2)]), [true, false]);
        assert_eq!(behind(&[first(), state(2, State::Deleted)]), [true, false]);
        let again = [first(), on_its_way(2), state(3, State::Chunking)];
        assert_eq!(behind(&again), [false, false]);
    }

    #[test]
    fn what_is_made_again_keeps_the_times_since_when_it_is_so() {
        let at = |report: DocumentState, at_ms| DocumentState { at_ms, ..report };
        let times = |reports: &[DocumentState]| {
            let mut rows = Rows::default();
            for report in reports {
                let row = rows.get("d");
                let report = row.map_or(report.clone(), |row| row.dated(report.clone()));
                apply(&mut rows, report);
            }
            let row = rows.get("d").unwrap();
            let since_ms = row.indexed.as_ref().and_then(|indexed| indexed.at_ms);
            assert!(says_all(&reports[reports.len() - 1], &row));
            (row.latest.at_ms, since_ms)
        };
        let first = at(state(1, State::Indexed), 5);
        let again = at(state(1, State::Indexed), 9);
        assert_eq!(times(&[first.clone(), again.clone()]), (5, Some(5)));
        let degraded = DocumentState {
            lineage: Some(Lineage {
                degraded: vec!["summary".into()],
                ..Lineage::default()
            }),
            ..first.clone()
        };
        assert_eq!(times(&[degraded, again.clone()]), (9, Some(5)));
        let on_its_way = at(state(1, State::Embedding), 7);
        let repaired = [first.clone(), on_its_way, again];
        assert_eq!(times(&repaired), (9, Some(5)));
        let next = at(state(2, State::Indexed), 9);
        assert_eq!(times(&[first, next]), (9, Some(9)));
        let deleted = [
            at(state(1, State::Deleted), 5),
            at(state(1, State::Deleted), 9),
        ];
        assert_eq!(times(&deleted), (5, None));
    }

    #[test]
    fn a_late_acceptance_does_not_hide_progress() {
        let row = row_after(&[state(1, State::Chunking), state(1, State::Accepted)]);
        assert_eq!(row.latest.state, State::Chunking);
    }

    #[test]
    fn counts_follow_every_change() {
        let reports = [
            State::Accepted,
            State::Chunking,
            State::Indexed,
            State::Accepted,
            State::Dead,
        ];
        let mut rows = Rows::default();
        for (version, state_now) in [1, 1, 1, 2, 2].into_iter().zip(reports) {
            apply(&mut rows, state(version, state_now));
            let row = rows.get("d").unwrap();
            let mut expected = Counts {
                documents: 1,
                searchable: u64::from(row.indexed.is_some()),
                with_rights_on_the_way: u64::from(!is_settled(state_now, None)),
                ..Counts::default()
            };
            expected.states[row.latest.state as usize] = 1;
            assert_eq!(rows.counts(), expected);
        }
        assert_eq!(
            State::ALL.map(|state| state as usize),
            [0, 1, 2, 3, 4, 5, 6, 7]
        );
    }

    #[test]
    fn an_older_version_that_comes_late_changes_only_what_is_searchable() {
        let row = row_after(&[state(2, State::Chunking), state(1, State::Indexed)]);
        assert_eq!((row.latest.version, row.latest.state), (2, State::Chunking));
        assert_eq!(row.indexed.unwrap().version, 1);
    }

    #[test]
    fn a_version_that_is_lost_later_is_not_searchable_and_one_before_it_is() {
        let row = row_after(&[state(1, State::Indexed), state(2, State::Dead)]);
        assert_eq!(row.indexed.map(|indexed| indexed.version), Some(1));
        let row = row_after(&[
            state(2, State::Indexed),
            state(2, State::Skipped),
            state(2, State::Dead),
        ]);
        assert!(
            row.indexed.is_none(),
            "the same content would be taken for unchanged"
        );
    }

    fn level(security_level: u8) -> DocumentRights {
        DocumentRights {
            security_level,
            ..DocumentRights::default()
        }
    }

    fn accepted(version: u64, security_level: u8) -> DocumentState {
        DocumentState {
            fingerprint: String::new(),
            rights: None,
            published_rights: Some(level(security_level)),
            ..state(version, State::Accepted)
        }
    }

    #[test]
    fn rights_are_on_their_way_until_the_index_has_them() {
        let decided = |version, state_now, security_level| DocumentState {
            rights: Some(level(security_level)),
            ..state(version, state_now)
        };
        let unreadable = DocumentState {
            rights: None,
            ..state(2, State::Dead)
        };
        let as_published = DocumentState {
            published_rights: Some(level(0)),
            ..unreadable.clone()
        };
        let deletion = DocumentState {
            published_rights: None,
            ..accepted(3, 0)
        };
        let indexed = decided(1, State::Indexed, 1);
        let table: [(&[DocumentState], Option<u8>); 8] = [
            (&[], None),
            (&[accepted(2, 5)], Some(5)),
            (&[accepted(2, 5), decided(2, State::Chunking, 6)], Some(6)),
            (&[accepted(2, 5), decided(2, State::Indexed, 6)], None),
            (&[accepted(2, 5), unreadable], Some(5)),
            (&[accepted(2, 5), as_published], Some(5)),
            (&[accepted(2, 5), deletion], Some(5)),
            (&[accepted(2, 5), accepted(3, 4)], Some(4)),
        ];
        for (later, expected) in table {
            let reports = [std::slice::from_ref(&indexed), later].concat();
            let table = DocumentTable::with_reports(&reports);
            let has_any = table.has_rights_on_the_way();
            let of_newest = |version| match table.beside("d", version) {
                Newer::Rights(rights) => Some(rights.security_level),
                _ => None,
            };
            let newest = reports.last().map_or(0, |report| report.version);
            assert_eq!(of_newest(newest), expected, "{reports:?}");
            assert_eq!(has_any, expected.is_some(), "{reports:?}");
        }
        // Of what was given up before anything of it was found the index has nothing to withhold.
        let given_up = decided(1, State::Dead, 5);
        let nowhere = DocumentTable::with_reports(&[accepted(1, 5), given_up]);
        assert!(!nowhere.has_rights_on_the_way());
        let rights = nowhere.beside("d", 1);
        assert!(matches!(rights, Newer::Rights(rights) if rights.security_level == 5));
    }

    #[test]
    fn what_was_read_before_the_index_had_newer_rights_is_held_to_them() {
        let decided = |version, security_level| DocumentState {
            rights: Some(level(security_level)),
            ..state(version, State::Indexed)
        };
        let beside = |reports: &[DocumentState], version| {
            DocumentTable::with_reports(reports).beside("d", version)
        };
        let narrowed = [decided(1, 1), accepted(2, 5), decided(2, 5)];
        assert_eq!(beside(&narrowed, 1), Newer::Rights(Arc::new(level(5))));
        assert_eq!(beside(&narrowed, 2), Newer::Nothing);
        let deleted = [decided(1, 1), state(3, State::Deleted)];
        assert_eq!(beside(&deleted, 1), Newer::Deletion);
        assert_eq!(beside(&deleted, 3), Newer::Nothing);
        let again = [decided(1, 1), state(3, State::Deleted), accepted(4, 2)];
        assert_eq!(beside(&again, 1), Newer::Rights(Arc::new(level(2))));
        let unchanged = DocumentState {
            indexed_version: Some(1),
            rights: Some(level(1)),
            ..state(2, State::Skipped)
        };
        let skipped = [decided(1, 1), unchanged];
        assert_eq!(beside(&skipped, 1), Newer::Rights(Arc::new(level(1))));
        assert_eq!(beside(&[], 1), Newer::Nothing);
    }

    #[test]
    fn a_deletion_is_told_to_nobody_whom_a_newer_version_refused() {
        let with_level = |version, state_now, security_level| {
            let access = Some(Access::default());
            DocumentState {
                rights: Some(DocumentRights {
                    access,
                    ..level(security_level)
                }),
                ..state(version, state_now)
            }
        };
        let accepted = |version, security_level| DocumentState {
            fingerprint: String::new(),
            published_rights: with_level(version, State::Accepted, security_level).rights,
            rights: None,
            ..state(version, State::Accepted)
        };
        let deletion = DocumentState {
            fingerprint: String::new(),
            rights: None,
            ..state(3, State::Accepted)
        };
        let indexed = with_level(1, State::Indexed, 0);
        let deleted = with_level(3, State::Deleted, 0);
        let ways = [
            (vec![indexed.clone()], true),
            (vec![indexed.clone(), deletion.clone()], true),
            (
                vec![indexed.clone(), accepted(2, 5), deletion.clone()],
                false,
            ),
            (vec![with_level(2, State::Indexed, 5)], true),
            // It comes again, after a crash.
            (
                vec![indexed, accepted(2, 5), deletion, deleted.clone()],
                false,
            ),
        ];
        for (mut reports, is_seen) in ways {
            reports.push(deleted.clone());
            let again = [reports.as_slice(), &[accepted(4, 0)]].concat();
            let told = row_after(&again).told(&Viewer::default());
            assert_eq!(told, None, "on its way again: {again:?}");
            let row = row_after(&reports);
            assert_eq!(row.latest.state, State::Deleted);
            let told = row.told(&Viewer::default());
            assert_eq!(told.is_some(), is_seen, "{reports:?}");
        }
    }

    #[test]
    fn readers_are_told_of_what_they_find_until_it_is_decided_who_may_see_a_newer_version() {
        let access = Some(Access::default());
        let of_level = |security_level| DocumentRights {
            access: access.clone(),
            ..level(security_level)
        };
        let decided = |version, state_now, title: &str, security_level| DocumentState {
            source: "wiki".into(),
            title: title.into(),
            rights: Some(of_level(security_level)),
            ..state(version, state_now)
        };
        let undecided = |version, state_now, title: &str, security_level| DocumentState {
            source: "wiki".into(),
            title: title.into(),
            fingerprint: String::new(),
            rights: None,
            published_rights: Some(of_level(security_level)),
            ..state(version, state_now)
        };
        let closed = DocumentRights {
            section_levels: vec![SectionLevel {
                heading: "Costs".into(),
                security_level: 3,
            }],
            ..of_level(1)
        };
        let with_closed_section = DocumentState {
            published_rights: Some(closed),
            ..undecided(2, State::Accepted, "New", 0)
        };
        let indexed = decided(1, State::Indexed, "Old", 1);
        let unknown = DocumentState {
            rights: None,
            ..indexed.clone()
        };
        let aside = decided(1, State::Skipped, "Old", 1);
        let middle = decided(2, State::Indexed, "Middle", 1);
        // To a viewer of level 1.
        let old = Some((1, "Old"));
        type Expected<'a> = Option<(u64, &'a str)>;
        let table: [(&[DocumentState], Expected<'_>); 13] = [
            (std::slice::from_ref(&indexed), old),
            (
                &[indexed.clone(), undecided(2, State::Accepted, "New", 1)],
                old,
            ),
            (&[indexed.clone(), undecided(2, State::Dead, "New", 0)], old),
            (
                &[indexed.clone(), undecided(2, State::Accepted, "New", 2)],
                None,
            ),
            (&[indexed.clone(), with_closed_section], None),
            (
                &[indexed.clone(), decided(2, State::Chunking, "New", 1)],
                Some((2, "New")),
            ),
            (&[indexed.clone(), decided(2, State::Dead, "New", 2)], None),
            (&[undecided(2, State::Accepted, "New", 0)], None),
            (
                &[
                    decided(1, State::Indexed, "Old", 2),
                    undecided(2, State::Accepted, "New", 0),
                ],
                None,
            ),
            (&[unknown, undecided(2, State::Dead, "New", 0)], None),
            (
                &[
                    indexed.clone(),
                    aside,
                    undecided(2, State::Accepted, "New", 0),
                ],
                old,
            ),
            (
                &[
                    indexed.clone(),
                    undecided(3, State::Accepted, "New", 0),
                    middle.clone(),
                ],
                Some((2, "Middle")),
            ),
            (
                &[
                    indexed.clone(),
                    middle,
                    state(3, State::Deleted),
                    undecided(4, State::Accepted, "New", 0),
                ],
                None,
            ),
        ];
        let viewer = Viewer {
            clearance: 1,
            ..Viewer::default()
        };
        for (reports, expected) in table {
            let told = row_after(reports).told(&viewer).map(|row| row.latest);
            let told = told.as_ref();
            let told = told.map(|latest| (latest.version, latest.title.as_str()));
            assert_eq!(told, expected, "{reports:?}");
        }
        let hidden = [
            decided(1, State::Indexed, "Old", 2),
            decided(2, State::Chunking, "New", 1),
        ];
        let told = row_after(&hidden).told(&viewer).unwrap();
        assert_eq!((told.latest.version, told.indexed), (2, None));
        let told = row_after(&[indexed.clone(), undecided(2, State::Dead, "New", 0)]);
        assert_eq!(told.told(&viewer).unwrap().latest, indexed, "word for word");
    }

    #[test]
    fn what_a_newer_version_refuses_is_named_to_the_index_unless_it_stands_for_others() {
        let access = Some(Access::default());
        let of = |document_id: &str, version, state_now, security_level| DocumentState {
            document_id: document_id.into(),
            rights: (state_now == State::Indexed).then(|| DocumentRights {
                access: access.clone(),
                ..level(security_level)
            }),
            published_rights: (state_now != State::Indexed).then(|| DocumentRights {
                access: access.clone(),
                ..level(security_level)
            }),
            ..state(version, state_now)
        };
        let duplicate = DocumentState {
            reason: Some(format!("{}{}", DocumentState::STORED_ONCE, "owner")),
            ..of("duplicate", 1, State::Indexed, 0)
        };
        let table = DocumentTable::with_reports(&[
            of("narrowed", 1, State::Indexed, 0),
            of("narrowed", 2, State::Dead, 2),
            of("the same", 1, State::Indexed, 0),
            of("the same", 2, State::Accepted, 0),
            of("hidden before", 1, State::Indexed, 2),
            of("hidden before", 2, State::Accepted, 3),
            of("owner", 1, State::Indexed, 0),
            duplicate.clone(),
            of("owner", 2, State::Accepted, 2),
        ]);
        let viewer = |clearance| Viewer {
            clearance,
            ..Viewer::default()
        };
        assert_eq!(table.withheld(&viewer(1)), ["narrowed"]);
        assert_eq!(table.withheld(&viewer(2)), ["hidden before"]);
        assert!(table.withheld(&viewer(3)).is_empty());
        let alone = DocumentState {
            reason: None,
            ..duplicate
        };
        table.view.write(|rows| {
            apply(
                rows,
                DocumentState {
                    version: 2,
                    ..alone
                },
            )
        });
        assert_eq!(table.withheld(&viewer(1)), ["narrowed", "owner"]);
    }

    #[test]
    fn a_deletion_keeps_where_the_document_came_from() {
        let indexed = DocumentState {
            source: "wiki".into(),
            source_path: "a.md".into(),
            ..state(1, State::Indexed)
        };
        let row = row_after(&[indexed.clone(), state(2, State::Deleted)]);
        assert_eq!(
            (row.latest.source.as_str(), row.latest.source_path.as_str()),
            ("wiki", "a.md")
        );
        let titled = DocumentState {
            title: "Tilt".into(),
            ..indexed
        };
        let unread = |state_now| DocumentState {
            fingerprint: String::new(),
            rights: None,
            ..state(2, state_now)
        };
        let row = row_after(&[titled, unread(State::Accepted), unread(State::Dead)]);
        assert_eq!(row.latest.title, "Tilt", "of what could not be read");
    }

    #[test]
    fn a_skip_of_an_unchanged_document_leaves_it_searchable() {
        let skipped = DocumentState {
            indexed_version: Some(1),
            indexed_at_ms: Some(77),
            fingerprint: "f1".into(),
            chunks: 3,
            ..state(2, State::Skipped)
        };
        let row = row_after(&[state(1, State::Indexed), skipped.clone()]);
        assert_eq!(row.indexed.as_ref().unwrap().version, 1);
        let compacted = row_after(&[skipped]);
        assert_eq!(
            compacted.indexed.unwrap(),
            IndexedVersion {
                version: 1,
                at_ms: Some(77),
                chunks: 3,
                is_aside: false,
                fingerprint: "f1".into(),
                labels: None,
                rights: Some(DocumentRights::default()),
            }
        );
    }

    #[test]
    fn an_edition_that_steps_aside_is_not_searchable_until_it_is_the_newest_again() {
        let reports = [
            state(1, State::Indexed),
            state(1, State::Skipped),
            state(1, State::Indexed),
        ];
        let is_searchable = |count: usize| {
            let table = DocumentTable::with_reports(&reports[..count]);
            table.counts().searchable == 1
        };
        assert_eq!([1, 2, 3].map(is_searchable), [true, false, true]);
    }

    #[test]
    fn an_emptied_document_stays_skipped_and_is_no_longer_searchable() {
        let row = row_after(&[
            state(1, State::Indexed),
            state(2, State::Skipped),
            state(2, State::Deleted),
        ]);
        assert_eq!(row.latest.state, State::Skipped);
        assert_eq!(row.indexed, None);
    }

    fn topics_blobs(folder: &std::path::Path) -> Blobs {
        Blobs::local(&folder.join("blobs")).unwrap()
    }

    #[tokio::test]
    async fn a_report_that_travels_as_a_reference_counts_like_any_other() {
        let folder = tempfile::tempdir().unwrap();
        let log =
            EmbeddedEventLog::open(&folder.path().join("log"), embedded::Config::small()).unwrap();
        let topics = Topics::new(Arc::new(log), "t".into(), topics_blobs(folder.path()), 1000);
        topics.create(1, None, None).await.unwrap();
        let append = |version, now| {
            let long = DocumentState {
                reason: Some("x".repeat(2000)),
                ..state(version, now)
            };
            let record = Output::report(&long).unwrap().record;
            topics.append(Topic::DocumentsStates, vec![record])
        };
        append(1, State::Dead).await.unwrap();
        let table = DocumentTable::open(&topics).await.unwrap();
        assert_eq!(table.get("d").unwrap().latest.state, State::Dead);
        append(2, State::Skipped).await.unwrap();
        table.catch_up(&topics).await.unwrap();
        assert_eq!(
            table.get("d").unwrap().latest.state,
            State::Skipped,
            "while it follows, too"
        );

        let checkpoint =
            || CheckpointFile::in_folder(&folder.path().join("manifest"), "id").unwrap();
        let table = DocumentTable::open_from(&topics, CheckpointReading::begin(checkpoint()))
            .await
            .unwrap();
        assert_eq!(table.reports_since_checkpoint(), 2);
        table.checkpoint().await.unwrap();
        assert_eq!(table.reports_since_checkpoint(), 0);
        append(7, State::Chunking).await.unwrap();
        let continued = DocumentTable::open_from(&topics, CheckpointReading::begin(checkpoint()))
            .await
            .unwrap();
        assert_eq!(
            (
                continued.get("d").unwrap().latest.version,
                continued.reports_since_checkpoint()
            ),
            (7, 1)
        );
        let other = Topics::new(
            Arc::new(
                EmbeddedEventLog::open(&folder.path().join("other"), embedded::Config::small())
                    .unwrap(),
            ),
            "t".into(),
            topics_blobs(folder.path()),
            1000,
        );
        other.create(1, None, None).await.unwrap();
        assert!(
            DocumentTable::open_from(&other, CheckpointReading::begin(checkpoint()))
                .await
                .unwrap()
                .get("d")
                .is_none(),
            "a log that ends before it"
        );

        append(3, State::Dead).await.unwrap();
        let shelves = std::fs::read_dir(folder.path().join("blobs"))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        shelves
            .filter(|path| path.is_dir())
            .for_each(|shelf| std::fs::remove_dir_all(shelf).unwrap());
        assert!(
            DocumentTable::open(&topics).await.is_ok(),
            "what is gone is left out"
        );
    }
}
