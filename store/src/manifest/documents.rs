//! What users do with documents: publish, delete, look, list, reconcile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::{Mutex, Semaphore};
use tributary_schemas::id::check_document_id;
use tributary_schemas::{
    DocumentEvent, DocumentHeader, DocumentRights, DocumentState, Error, ErrorKind, Labels,
    Reconciliation, Result, SharedNewestRights, State, Topic, Viewer, event,
};

use super::changes::Changes;
use super::followed_rights::FollowedRights;
use super::given_time::GivenTime;
use super::list::{ListQuery, Listing, Selected, UNKNOWN_AT_ONCE};
use super::reconcile::{on_the_way, reconcile};
use super::standing::{Standing, Told};
use super::table::{DocumentRow, DocumentTable};
use super::tally::Tallies;
use super::versions::{Claim, VersionRule, Versions};
use super::{names, report};
use crate::Clock;
use crate::event_log::stage::Output;
use crate::event_log::topics::Topics;
use crate::event_log::{Record, message};
use crate::generations::chunk_group;
use crate::search_index::{GenerationStatus, IndexedDocument, SharedSearchIndex};
use crate::set_costs::SetCosts;

/// Each may take a second of a core where there are millions of documents.
const LISTINGS_AT_ONCE: usize = 2;
/// How long it is taken for true which generation of the index serves.
const SERVING_IS_KNOWN: Duration = Duration::from_secs(1);
/// Pause before it is asked again which one does, where none or another one was found.
const SERVING_PAUSE: Duration = Duration::from_millis(100);
/// How long a list waits for tags and knowledge sets that the index must be asked for.
const LABELS_WAIT: Duration = Duration::from_secs(10);

/// A reader whose lag counts as work to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageReader {
    /// Stage.
    pub stage: &'static str,
    /// Its input.
    pub topic: Topic,
    /// Its consumer group.
    pub group: String,
}

/// All readers along the route; the chunk stage reads once for each generation of the index.
pub fn stage_readers(generations: &[GenerationStatus]) -> Vec<StageReader> {
    let reader = |stage: &'static str, topic| StageReader {
        stage,
        topic,
        group: stage.to_owned(),
    };
    let chunk = |generation: &GenerationStatus| StageReader {
        group: chunk_group(&generation.name),
        ..reader("chunk", Topic::DocumentsClean)
    };
    let mut readers = vec![reader("ingest", Topic::DocumentsRaw)];
    readers.extend(generations.iter().map(chunk));
    readers.extend([
        reader("embed", Topic::ChunksTagged),
        reader("index", Topic::ChunksEmbedded),
    ]);
    readers
}

/// Records that stages have yet to take or to finish, all topics together: those of the first stages
/// first, so that none slips through on its way.
pub async fn waiting_records(topics: &Topics, index: &SharedSearchIndex) -> Result<u64> {
    let mut waiting = 0;
    for StageReader { topic, group, .. } in stage_readers(&index.status().await?) {
        let lag = topics.lag(topic, &group).await?;
        let records = lag.iter().map(crate::event_log::PartitionLag::records);
        waiting += records.sum::<u64>();
    }
    Ok(waiting)
}

/// Acceptance of a document event: it is durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Accepted {
    /// The document, given or derived.
    pub document_id: String,
    /// The version, given or the time.
    pub version: u64,
}

/// Documents from the users' side.
pub struct Documents {
    topics: Topics,
    table: Arc<DocumentTable>,
    index: SharedSearchIndex,
    clock: Clock,
    rule: VersionRule,
    versions: Versions,
    listings: Semaphore,
    /// Held while what was accepted is compared with the index: each comparison holds all that is
    /// stored.
    reconciling: Mutex<()>,
    /// Which generation served, and when that was seen.
    serving: Mutex<Option<(Instant, String)>>,
    costs: SetCosts,
    rights_of: RightsOf,
}

/// What an event says of who may see its document, with what the profile of its source adds.
pub type RightsOf = Arc<dyn Fn(&DocumentEvent) -> DocumentRights + Send + Sync>;

fn header_of(published: &DocumentEvent, document_id: &str, version: u64) -> DocumentHeader {
    DocumentHeader {
        document_id: document_id.to_owned(),
        version,
        source: published.source.clone(),
        source_path: published.source_path.clone().unwrap_or_default(),
        title: published.title.clone().unwrap_or_default(),
        ..DocumentHeader::default()
    }
}

impl Documents {
    /// Over the given log, table and index; versions are taken as `rule` says, and go on after the
    /// time that was given.
    pub fn new(
        topics: Topics,
        table: Arc<DocumentTable>,
        index: SharedSearchIndex,
        rule: VersionRule,
        given: Arc<GivenTime>,
        clock: Clock,
    ) -> Self {
        // Processes on other machines have their own time: their reports count too. Numbers of
        // producers do not.
        let newest_report = u64::try_from(table.newest_time()).unwrap_or(0);
        let versions = Versions::open(plausible(newest_report, rule, clock()), given);
        Self {
            costs: SetCosts::new(clock()),
            topics,
            table,
            index,
            clock,
            rule,
            versions,
            listings: Semaphore::new(LISTINGS_AT_ONCE),
            reconciling: Mutex::default(),
            serving: Mutex::default(),
            rights_of: Arc::new(|published| DocumentRights::stated(&published.attributes)),
        }
    }

    /// The same, where more than the event says who may see a document.
    pub fn with_rights_of(self, rights_of: RightsOf) -> Self {
        Self { rights_of, ..self }
    }

    /// What newest versions say of their readers, for who looks at the index. Asks the event log as
    /// long as what it returns lives; within a runtime.
    pub fn newest_rights(&self) -> SharedNewestRights {
        let (table, topics) = (Arc::clone(&self.table), self.topics.clone());
        SharedNewestRights::new(Arc::new(FollowedRights::of(table, topics)))
    }

    /// Accepts a document: on return it is durable and will end indexed, skipped, deleted or dead.
    /// `Conflict` for a version that is not newer than the newest one that is known of the
    /// document.
    pub async fn publish(&self, mut published: DocumentEvent) -> Result<Accepted> {
        published.check()?;
        let document_id = published.required_id()?;
        let claim = published
            .version
            .map(|version| self.claim(&document_id, version))
            .transpose()?;
        let version = match published.version {
            Some(version) => version,
            None => self.next_version(&document_id).await?,
        };
        published.document_id = Some(document_id.clone());
        published.version = Some(version);
        let header = header_of(&published, &document_id, version);
        let record = message::encode(
            event::TYPE_DOCUMENT_PUBLISHED,
            &document_id,
            version,
            &published,
            (self.clock)(),
        )?;
        let rights = (self.rights_of)(&published);
        let accepted = self.accept(header, record, Some(rights)).await?;
        claim.into_iter().for_each(Claim::keep);
        Ok(accepted)
    }

    /// Deletes a document, whether or not it was ever stored; older versions that come later stay
    /// away. `Conflict` as in [`Self::publish`].
    pub async fn delete(&self, document_id: &str, version: Option<u64>) -> Result<Accepted> {
        check_document_id(document_id)?;
        let claim = version
            .map(|version| self.claim(document_id, version))
            .transpose()?;
        let version = match version {
            Some(version) => version,
            None => self.next_version(document_id).await?,
        };
        let known = self.table.get(document_id).map(|row| row.latest);
        let header = DocumentHeader {
            document_id: document_id.to_owned(),
            version,
            source: known
                .as_ref()
                .map(|state| state.source.clone())
                .unwrap_or_default(),
            source_path: known
                .as_ref()
                .map(|state| state.source_path.clone())
                .unwrap_or_default(),
            title: known
                .as_ref()
                .map(|state| state.title.clone())
                .unwrap_or_default(),
            ..DocumentHeader::default()
        };
        let rights = known.and_then(|state| state.newest_rights().cloned());
        let record = message::tombstone(
            event::TYPE_DOCUMENT_PUBLISHED,
            document_id,
            version,
            (self.clock)(),
        );
        let accepted = self.accept(header, record, rights).await?;
        claim.into_iter().for_each(Claim::keep);
        Ok(accepted)
    }

    /// Reports about documents from now on, for those who show them.
    pub fn changes(&self) -> Changes {
        self.table.changes()
    }

    /// What is known of a document.
    pub async fn get(&self, document_id: &str) -> Result<Option<DocumentRow>> {
        self.table.catch_up(&self.topics).await?;
        Ok(self.table.get(document_id))
    }

    /// The id of the document that people call so: by its id, or by `source/path`. `NotFound` with
    /// names like it, `Invalid` where several documents are called so. To a viewer, what they may
    /// not see is not there, as if it never had been.
    pub async fn resolve(&self, name: &str, viewer: Option<&Viewer>) -> Result<String> {
        let viewer = viewer.cloned();
        let told = move |standing: Standing<'_>| {
            let viewer = viewer.as_ref();
            viewer.map_or(Some(Told::ALL), |viewer| standing.told(viewer))
        };
        self.resolve_told(name, told).await
    }

    /// The same for somebody who is told so much of each document.
    pub async fn resolve_told(
        &self,
        name: &str,
        told: impl Fn(Standing<'_>) -> Option<Told> + Send + 'static,
    ) -> Result<String> {
        self.table.catch_up(&self.topics).await?;
        let is_there = |standing: Standing<'_>| told(standing).is_some();
        if self.table.has_where(name, is_there) {
            return Ok(name.to_owned());
        }
        let wanted = name.to_owned();
        self.look_through(move |table| names::find(table, &wanted, told).id(&wanted))
            .await?
    }

    /// What the index holds of a document.
    pub async fn stored(&self, document_id: &str) -> Result<Option<IndexedDocument>> {
        let mut found = self
            .index
            .documents(None, &[document_id.to_owned()])
            .await?;
        Ok(found.pop().flatten().filter(|document| !document.deleted))
    }

    /// What the serving generation holds of each of these documents, in their order; what reports
    /// say is of the generation that was written last.
    pub async fn stored_many(
        &self,
        document_ids: &[String],
    ) -> Result<Vec<Option<IndexedDocument>>> {
        if document_ids.is_empty() {
            return Ok(Vec::new());
        }
        self.index.documents(None, document_ids).await
    }

    /// Whether a document is of this source, as far as this process has read.
    pub fn is_of_source(&self, document_id: &str, source: &str) -> bool {
        (self.table).has_where(document_id, |standing| standing.source == source)
    }

    /// What is known of several documents, in their order.
    pub fn get_many(&self, document_ids: &[String]) -> Vec<Option<DocumentRow>> {
        document_ids
            .iter()
            .map(|document_id| self.table.get(document_id))
            .collect()
    }

    /// The same of those of which this holds; others are looked at no further than what is not there.
    pub fn get_many_where(
        &self,
        document_ids: &[String],
        sees: impl Fn(Standing<'_>) -> bool,
    ) -> Vec<Option<DocumentRow>> {
        let ids = document_ids.iter();
        ids.map(|document_id| self.table.get_where(document_id, &sees))
            .collect()
    }

    /// All documents by id.
    pub async fn all(&self) -> Result<Vec<DocumentRow>> {
        self.table.catch_up(&self.topics).await?;
        self.look_through(|table| table.page(None, usize::MAX))
            .await
    }

    /// What language models wrote for the documents of each set.
    pub fn set_costs(&self) -> &SetCosts {
        &self.costs
    }

    /// Documents counted by knowledge set as the generation of the index that serves has them, see
    /// [`DocumentTable::tally`]. `Timeout` where one has just begun to serve and it takes long to ask
    /// it for the sets of all documents.
    pub async fn tally(
        &self,
        sets_of_source: impl Fn(&str) -> Vec<String> + Send + 'static,
    ) -> Result<Tallies> {
        self.table.catch_up(&self.topics).await?;
        self.learn_all_labels().await?;
        let at_ms = (self.clock)();
        let count = move |table: &DocumentTable| table.tally(sets_of_source);
        let tallies = self.look_through(count).await?;
        let costs = self.costs.clone();
        Ok(Tallies {
            at_ms,
            costs: Some(costs),
            ..tallies
        })
    }

    /// A page of a list. `Timeout` where tags or knowledge sets are asked for and a new generation
    /// of the index has just begun to serve: it is asked for them document by document.
    pub async fn list(&self, query: ListQuery) -> Result<Listing> {
        self.table.catch_up(&self.topics).await?;
        let query = Arc::new(query);
        let deadline = Instant::now() + LABELS_WAIT;
        loop {
            let generation = match query.filter.needs_labels() {
                true => self.serving().await?,
                false => String::new(),
            };
            let (wanted, of) = (Arc::clone(&query), generation.clone());
            match self
                .look_through(move |table| table.list(&wanted, &of))
                .await?
            {
                Selected::Page(listing) => return Ok(listing),
                Selected::Unknown(unknown) => self.learn_labels(&generation, &unknown).await?,
            }
            if Instant::now() >= deadline {
                return Err(labels_are_read(&generation));
            }
        }
    }

    /// Looks at rows, of which there may be millions: on a blocking thread, and not many at once.
    async fn look_through<T: Send + 'static>(
        &self,
        look: impl FnOnce(&DocumentTable) -> T + Send + 'static,
    ) -> Result<T> {
        let internal = |what: String| Error::new(ErrorKind::Internal, what);
        let _turn = self
            .listings
            .acquire()
            .await
            .map_err(|_| internal("listings are closed".to_owned()))?;
        let table = Arc::clone(&self.table);
        tokio::task::spawn_blocking(move || look(&table))
            .await
            .map_err(|error| internal(format!("the listing of documents stopped: {error}")))
    }

    /// The generation of the index that serves; empty where none does.
    async fn serving(&self) -> Result<String> {
        let mut serving = self.serving.lock().await;
        if let Some((seen, name)) = serving.as_ref()
            && seen.elapsed() < SERVING_IS_KNOWN
        {
            return Ok(name.clone());
        }
        self.look_who_serves(&mut serving).await
    }

    /// The same, as it is now.
    async fn look_who_serves(&self, serving: &mut Option<(Instant, String)>) -> Result<String> {
        let found = self.index.status().await?;
        let name = found
            .into_iter()
            .find(|generation| generation.serving)
            .map_or_else(String::new, |generation| generation.name);
        *serving = Some((Instant::now(), name.clone()));
        Ok(name)
    }

    /// Takes over tags and knowledge sets of all documents of which others are known, as after a
    /// reindex.
    async fn learn_all_labels(&self) -> Result<()> {
        let mut serving = self.serving.lock().await;
        let generation = self.look_who_serves(&mut serving).await?;
        drop(serving);
        if generation.is_empty() {
            return Ok(());
        }
        let of = generation.clone();
        let unknown = self
            .look_through(move |table| table.unlabelled(&of))
            .await?;
        let deadline = Instant::now() + LABELS_WAIT;
        for document_ids in unknown.chunks(UNKNOWN_AT_ONCE) {
            if Instant::now() >= deadline {
                return Err(labels_are_read(&generation));
            }
            self.learn_labels(&generation, document_ids).await?;
        }
        Ok(())
    }

    /// Takes over tags and knowledge sets as this generation of the index has them.
    async fn learn_labels(&self, generation: &str, document_ids: &[String]) -> Result<()> {
        let stored = match self.index.documents(Some(generation), document_ids).await {
            // Dropped since it was seen: the one that serves now is asked next.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                *self.serving.lock().await = None;
                tokio::time::sleep(SERVING_PAUSE).await;
                return Ok(());
            }
            stored => stored?,
        };
        let labels = document_ids.iter().zip(stored).map(|(id, stored)| {
            let document = stored.map(|stored| stored.document).unwrap_or_default();
            (id.as_str(), Labels::of(&document, generation))
        });
        self.table.set_labels(labels);
        Ok(())
    }

    /// Compares what was accepted with what can be found; one comparison at a time.
    pub async fn reconcile(&self) -> Result<Reconciliation> {
        let _turn = self.reconciling.lock().await;
        self.table.catch_up(&self.topics).await?;
        let earlier = on_the_way(&self.table);
        let waiting_records = self.waiting_records().await?;
        self.table.catch_up(&self.topics).await?;
        reconcile(&self.table, self.index.as_ref(), waiting_records, &earlier).await
    }

    /// Records that stages have yet to take or to finish, all topics together.
    pub async fn waiting_records(&self) -> Result<u64> {
        waiting_records(&self.topics, &self.index).await
    }

    /// Whether ingest has yet to read something: a document of which nothing is known may be in it.
    pub async fn are_unread(&self) -> Result<bool> {
        let lag = self.topics.lag(Topic::DocumentsRaw, "ingest").await?;
        Ok(lag.iter().any(|partition| partition.records() > 0))
    }

    /// The event first: should we crash between the two, ingest reports it.
    async fn accept(
        &self,
        header: DocumentHeader,
        record: Record,
        rights: Option<DocumentRights>,
    ) -> Result<Accepted> {
        self.topics
            .append(Topic::DocumentsRaw, vec![record])
            .await?;
        let are_new = self.are_new(&header.document_id, rights.as_ref());
        self.report_accepted(&header, rights).await?;
        if are_new {
            self.obey().await;
        }
        Ok(Accepted {
            document_id: header.document_id,
            version: header.version,
        })
    }

    /// Nothing where a newer version is known by now: ingest drops this one, and its report, the
    /// last one of the document, would take the place of what is known of the newer.
    async fn report_accepted(
        &self,
        header: &DocumentHeader,
        rights: Option<DocumentRights>,
    ) -> Result<()> {
        if self.table.newest_version(&header.document_id) > header.version {
            return Ok(());
        }
        let accepted = Output::report(&DocumentState {
            published_rights: rights,
            ..report(header, State::Accepted, (self.clock)())
        })?;
        self.topics
            .append(accepted.topic, vec![accepted.record])
            .await
            .map(drop)
    }

    /// Whether a document that is known has other rights from now on.
    fn are_new(&self, document_id: &str, rights: Option<&DocumentRights>) -> bool {
        let known = self.table.get(document_id);
        known.is_some_and(|row| row.latest.newest_rights() != rights)
    }

    /// Before the publisher is answered, so that narrower rights hold here from the answer on. They
    /// are durable: where this takes too long, they hold a little later.
    async fn obey(&self) {
        if let Err(error) = self.table.catch_up(&self.topics).await {
            tracing::warn!(%error, "changed rights of a document hold as soon as its report is read");
        }
    }

    /// A version that the producer gives: it must be newer than all that are known, also than those
    /// that are accepted at this moment.
    fn claim(&self, document_id: &str, version: u64) -> Result<Claim<'_>> {
        self.rule.check(version, (self.clock)())?;
        let known = self.table.get(document_id).map(|row| row.latest);
        let refused = |newest: u64| {
            let known = known.as_ref().filter(|known| known.version == newest);
            let state = known.map_or("being accepted", |known| known.state.as_str());
            let what = format!(
                "version {version} of `{document_id}` is not newer than version {newest}, which is {state}"
            );
            Error::new(ErrorKind::Conflict, what)
                .with_hint("give a higher version, or leave `version` out")
        };
        if let Some(known) = known.as_ref().filter(|known| known.version >= version) {
            return Err(refused(known.version));
        }
        self.versions
            .claim(document_id, version, |document_id| {
                self.table.newest_version(document_id)
            })
            .map_err(refused)
    }

    async fn next_version(&self, document_id: &str) -> Result<u64> {
        let now = (self.clock)();
        let known = |document_id: &str| self.table.newest_version(document_id);
        let version = self.versions.next(document_id, now, known);
        self.rule.check_given(document_id, version, now)?;
        self.versions.keep().await?;
        Ok(version)
    }
}

/// The time of the newest report, or 0 where the clock was wrong that it was written by: documents of
/// that time have their own versions in the table.
fn plausible(newest_report: u64, rule: VersionRule, now_ms: i64) -> u64 {
    if rule.is_plausible(newest_report, now_ms) {
        return newest_report;
    }
    tracing::warn!(
        newest_report,
        now_ms,
        "the newest report is from far ahead of the time: versions of documents that are new go by the clock, is it right?"
    );
    0
}

fn labels_are_read(generation: &str) -> Error {
    let what = format!(
        "tags and knowledge sets are still being read from generation `{generation}` of the index"
    );
    Error::new(ErrorKind::Timeout, what).with_hint("ask again: what was read is kept")
}
