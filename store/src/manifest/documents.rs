//! What users do with documents: publish, delete, look, list, reconcile.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::Semaphore;
use tributary_schemas::id::check_document_id;
use tributary_schemas::{
    DocumentEvent, DocumentHeader, Error, ErrorKind, Reconciliation, Result, State, Topic, event,
};

use super::given_time::GivenTime;
use super::reconcile::{on_the_way, reconcile};
use super::report;
use super::table::{DocumentRow, DocumentTable, ListFilter};
use super::versions::{Claim, VersionRule, Versions};
use crate::Clock;
use crate::event_log::stage::Output;
use crate::event_log::topics::Topics;
use crate::event_log::{Record, message};
use crate::generations::chunk_group;
use crate::search_index::{GenerationStatus, IndexedDocument, SharedSearchIndex};

/// Each may take a second of a core where there are millions of documents.
const LISTINGS_AT_ONCE: usize = 2;

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
        let versions = Versions::open(u64::try_from(table.newest_time()).unwrap_or(0), given);
        Self {
            topics,
            table,
            index,
            clock,
            rule,
            versions,
            listings: Semaphore::new(LISTINGS_AT_ONCE),
        }
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
        let header = DocumentHeader {
            document_id: document_id.clone(),
            version,
            source: published.source.clone(),
            source_path: published.source_path.clone().unwrap_or_default(),
            title: published.title.clone().unwrap_or_default(),
            ..DocumentHeader::default()
        };
        let record = message::encode(
            event::TYPE_DOCUMENT_PUBLISHED,
            &document_id,
            version,
            &published,
            (self.clock)(),
        )?;
        let accepted = self.accept(header, record).await?;
        claim.into_iter().for_each(Claim::keep);
        Ok(accepted)
    }

    /// Deletes a document, whether or not it was ever stored; older versions that come later stay
    /// away.
    pub async fn delete(&self, document_id: &str, version: Option<u64>) -> Result<Accepted> {
        check_document_id(document_id)?;
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
            title: known.map(|state| state.title).unwrap_or_default(),
            ..DocumentHeader::default()
        };
        let record = message::tombstone(
            event::TYPE_DOCUMENT_PUBLISHED,
            document_id,
            version,
            (self.clock)(),
        );
        self.accept(header, record).await
    }

    /// What is known of a document.
    pub async fn get(&self, document_id: &str) -> Result<Option<DocumentRow>> {
        self.table.catch_up(&self.topics).await?;
        Ok(self.table.get(document_id))
    }

    /// What the index holds of a document.
    pub async fn stored(&self, document_id: &str) -> Result<Option<IndexedDocument>> {
        let mut found = self
            .index
            .documents(None, &[document_id.to_owned()])
            .await?;
        Ok(found.pop().flatten().filter(|document| !document.deleted))
    }

    /// How many chunks of each of these documents are searchable, as the serving generation has
    /// them; in their order. What reports say is of the generation that was written last.
    pub async fn searchable_chunks(&self, document_ids: &[String]) -> Result<Vec<usize>> {
        if document_ids.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.index.documents(None, document_ids).await?;
        Ok(found
            .iter()
            .map(|found| {
                found
                    .as_ref()
                    .map_or(0, |document| document.chunk_ids.len())
            })
            .collect())
    }

    /// What is known of several documents, in their order.
    pub fn get_many(&self, document_ids: &[String]) -> Vec<Option<DocumentRow>> {
        document_ids
            .iter()
            .map(|document_id| self.table.get(document_id))
            .collect()
    }

    /// Documents by id after `after`, at most `limit`.
    pub async fn list(
        &self,
        filter: &ListFilter,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<DocumentRow>> {
        self.table.catch_up(&self.topics).await?;
        let (table, filter, after) = (
            Arc::clone(&self.table),
            filter.clone(),
            after.map(str::to_owned),
        );
        let stopped = |error| {
            Error::new(
                ErrorKind::Internal,
                format!("the listing of documents stopped: {error}"),
            )
        };
        let _turn = self
            .listings
            .acquire()
            .await
            .map_err(|_| Error::new(ErrorKind::Internal, "listings are closed"))?;
        // A filter that few documents meet looks at all of them.
        tokio::task::spawn_blocking(move || table.page(&filter, after.as_deref(), limit))
            .await
            .map_err(stopped)
    }

    /// Compares what was accepted with what can be found.
    pub async fn reconcile(&self) -> Result<Reconciliation> {
        self.table.catch_up(&self.topics).await?;
        let earlier = on_the_way(&self.table);
        let waiting_records = self.waiting_records().await?;
        self.table.catch_up(&self.topics).await?;
        reconcile(&self.table, self.index.as_ref(), waiting_records, &earlier).await
    }

    /// Records that stages have yet to take or to finish, all topics together.
    pub async fn waiting_records(&self) -> Result<u64> {
        let mut waiting = 0;
        for StageReader { topic, group, .. } in stage_readers(&self.index.status().await?) {
            waiting += self
                .topics
                .lag(topic, &group)
                .await?
                .iter()
                .map(crate::event_log::PartitionLag::records)
                .sum::<u64>();
        }
        Ok(waiting)
    }

    /// The event first: should we crash between the two, ingest reports it.
    async fn accept(&self, header: DocumentHeader, record: Record) -> Result<Accepted> {
        self.topics
            .append(Topic::DocumentsRaw, vec![record])
            .await?;
        let accepted = Output::report(&report(&header, State::Accepted, (self.clock)()))?;
        self.topics
            .append(accepted.topic, vec![accepted.record])
            .await?;
        Ok(Accepted {
            document_id: header.document_id,
            version: header.version,
        })
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
                .with_hint("publish a higher version, or leave `version` out")
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
        let version = self
            .versions
            .next(document_id, (self.clock)(), |document_id| {
                self.table.newest_version(document_id)
            });
        self.versions.keep().await?;
        Ok(version)
    }
}
