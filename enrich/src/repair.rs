//! Makes up for what a model could not write: documents that are marked for it are cut again from
//! `documents.clean`, for every generation of the index that has summaries or descriptions by a model,
//! and go on as they did the first time. The version stays, so that a newer one wins wherever the
//! two meet, and vectors of unchanged chunks are not made again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::{StreamExt, stream};
use tokio::task::JoinError;
use tributary_schemas::repair::DegradedRepair;
use tributary_schemas::{Error, ErrorKind, Result, State, Topic};
use tributary_store::event_log::stage::Output;
use tributary_store::event_log::topics::Topics;
use tributary_store::event_log::{Position, StoredRecord, message};

use crate::chunk_stage::ChunkStage;
use crate::chunking::Chunking;
use crate::writing::WrittenKind;

/// Documents that wait for the model at the same time.
const AT_ONCE: usize = 32;

/// Repairs of this process.
pub struct Repair {
    chunking: Chunking,
    topics: Topics,
    report: Mutex<DegradedRepair>,
}

/// The newest version of a document in `documents.clean`.
#[derive(Clone, Copy)]
struct Newest {
    version: u64,
    /// None of a deleted document.
    place: Option<Position>,
}

impl Repair {
    /// None has run yet.
    pub fn new(chunking: Chunking, topics: Topics) -> Self {
        Self {
            chunking,
            topics,
            report: Mutex::default(),
        }
    }

    /// The one that runs, or the last one.
    pub fn report(&self) -> DegradedRepair {
        self.lock().clone()
    }

    /// Starts one, unless one runs. `Unsupported` where no model is configured for any of
    /// [`WrittenKind::ALL`].
    pub async fn start(self: &Arc<Self>) -> Result<DegradedRepair> {
        let writers = &self.chunking.writers;
        if writers.are_none() {
            let roles = WrittenKind::ALL.map(|kind| format!("`{}`", kind.role()));
            let message = format!(
                "no model is configured for the roles {}",
                roles.join(" and ")
            );
            return Err(Error::new(ErrorKind::Unsupported, message).with_hint(
                "name one in models.chat.endpoint, see docs/language-models.md, and start again",
            ));
        }
        self.chunking.table.catch_up(&self.topics).await?;
        let degraded = self.degraded();
        {
            let mut report = self.lock();
            if report.running {
                return Ok(report.clone());
            }
            *report = DegradedRepair {
                running: !degraded.is_empty(),
                documents: degraded.len() as u64,
                ..DegradedRepair::default()
            };
            if degraded.is_empty() {
                return Ok(report.clone());
            }
        }
        self.chunking.writers.expect_back();
        let repair = Arc::clone(self);
        tokio::spawn(async move {
            let running = Arc::clone(&repair);
            let work = tokio::spawn(async move { running.repair_all(&degraded).await });
            // Also after a panic it must not look as if it went on.
            repair.over(work.await.unwrap_or_else(|error| Err(stopped(&error))));
        });
        Ok(self.report())
    }

    /// Documents that can be found and lack what a model is to write, with their versions.
    fn degraded(&self) -> HashMap<String, u64> {
        let rows = self.chunking.table.page(None, usize::MAX).into_iter();
        rows.map(|row| row.latest)
            .filter(|latest| latest.state == State::Indexed)
            .filter(|latest| {
                let lineage = latest.lineage.iter();
                lineage
                    .flat_map(|lineage| &lineage.degraded)
                    .any(|what| WrittenKind::of_degraded(what).is_some())
            })
            .map(|latest| (latest.document_id, latest.version))
            .collect()
    }

    fn over(&self, ended: Result<()>) {
        let mut report = self.lock();
        if let Err(error) = ended {
            tracing::warn!(error = %error.full_message(), "the repair of degraded documents is broken off");
            report.reason.get_or_insert_with(|| error.full_message());
        }
        report.running = false;
        tracing::info!(
            documents = report.documents,
            repaired = report.repaired,
            "the repair of degraded documents is over"
        );
    }

    async fn repair_all(&self, degraded: &HashMap<String, u64>) -> Result<()> {
        let stages = self.stages().await?;
        let newest = self.newest(degraded).await?;
        let lost = degraded.len() - newest.len();
        if lost > 0 {
            self.note_lost(lost as u64);
        }
        let mut repairs = stream::iter(newest)
            .map(|(document_id, newest)| {
                let is_same = degraded.get(&document_id) == Some(&newest.version);
                self.repair(newest.place.filter(|_| is_same), &stages)
            })
            .buffer_unordered(AT_ONCE);
        while let Some(repaired) = repairs.next().await {
            let repaired = repaired?;
            let mut report = self.lock();
            report.done += 1;
            match repaired {
                None => report.repaired += 1,
                Some(reason) => {
                    report.reason.get_or_insert(reason);
                }
            }
        }
        Ok(())
    }

    fn note_lost(&self, lost: u64) {
        let mut report = self.lock();
        report.done += lost;
        report.reason = Some(format!(
            "of {lost} the log has no text any more: publish them again"
        ));
    }

    /// Where the newest versions of these documents are.
    async fn newest(&self, wanted: &HashMap<String, u64>) -> Result<HashMap<String, Newest>> {
        let mut newest: HashMap<String, Newest> = HashMap::new();
        let see = |stored: StoredRecord| {
            let Ok(document_id) = message::document_id(&stored.record) else {
                return;
            };
            if !wanted.contains_key(document_id) {
                return;
            }
            let Ok(version) = message::version(&stored.record) else {
                return;
            };
            let is_deletion = stored.record.value.is_none();
            let found = Newest {
                version,
                place: (!is_deletion).then_some(stored.position),
            };
            match newest.get_mut(document_id) {
                Some(known) if known.version <= version => *known = found,
                Some(_) => {}
                None => {
                    newest.insert(document_id.to_owned(), found);
                }
            }
        };
        self.topics.scan(Topic::DocumentsClean, see).await?;
        Ok(newest)
    }

    /// One for each generation that has texts by a model. `Conflict` if there is none.
    async fn stages(&self) -> Result<Vec<ChunkStage>> {
        let mut stages = Vec::new();
        for generation in self.chunking.pipelines.generations().current().iter() {
            let pipeline = self.chunking.pipelines.get(&generation.name).await?;
            let pipeline = pipeline.filter(|pipeline| pipeline.recipe.has_model_texts());
            stages.extend(pipeline.map(|pipeline| {
                let parts = self.chunking.parts(&pipeline);
                ChunkStage::new(parts, self.chunking.documents_in_flight)
            }));
        }
        if stages.is_empty() {
            let message = "no generation of the index has summaries or descriptions by a model";
            let hint = "`tributary knowledge-sets reindex --all` makes one";
            return Err(Error::new(ErrorKind::Conflict, message).with_hint(hint));
        }
        Ok(stages)
    }

    /// Cuts a document again; says why it is still degraded. One that is something else by now
    /// counts as repaired: whatever came goes through the stages itself.
    async fn repair(
        &self,
        place: Option<Position>,
        stages: &[ChunkStage],
    ) -> Result<Option<String>> {
        let found = match place {
            Some(place) => self.topics.read_at(Topic::DocumentsClean, place).await?,
            None => None,
        };
        let Some(found) = found else {
            return Ok(None);
        };
        let stored = StoredRecord {
            record: self.topics.redeem(found.record).await?,
            position: found.position,
        };
        for stage in stages {
            match stage.cut_whole(&stored).await? {
                Ok(outputs) => self.append(outputs).await?,
                Err(reason) => return Ok(Some(reason)),
            }
        }
        Ok(None)
    }

    async fn append(&self, outputs: Vec<Output>) -> Result<()> {
        for Output { topic, record } in outputs {
            self.topics.append(topic, vec![record]).await?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, DegradedRepair> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stopped(error: &JoinError) -> Error {
    let message = format!("the repair of degraded documents stopped: {error}");
    Error::new(ErrorKind::Internal, message)
}
