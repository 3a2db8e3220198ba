//! A stage that does not run ahead of the ones behind it. The replay of a whole log would put all
//! of its documents before the next one that somebody publishes; paced, at most a handful stand in
//! the way.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tributary_schemas::{Error, ErrorKind, Result, Topic};

use crate::event_log::stage::{Output, Stage};
use crate::event_log::topics::Topics;
use crate::event_log::{PartitionLag, Position, StoredRecord};

/// Pause between two looks at how far the others are.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// `stage`, held while more than `limit` records wait for the stages behind it.
pub struct PacedStage {
    stage: Arc<dyn Stage>,
    topics: Topics,
    /// Stages behind it, with their input topics.
    behind: Vec<(&'static str, Topic)>,
    limit: u64,
    /// Whether it is held at all now.
    is_held: Arc<dyn Fn() -> bool + Send + Sync>,
    /// How many more records may pass before the next look.
    allowance: Mutex<Allowance>,
    shutdown: CancellationToken,
}

#[derive(Default)]
struct Allowance {
    records: u64,
    looked: Option<Instant>,
}

impl PacedStage {
    /// Holds `stage` while `is_held` says so, until `shutdown`, after which records wait for the
    /// next start.
    pub fn new(
        stage: Arc<dyn Stage>,
        topics: Topics,
        behind: Vec<(&'static str, Topic)>,
        limit: u64,
        is_held: Arc<dyn Fn() -> bool + Send + Sync>,
        shutdown: CancellationToken,
    ) -> Self {
        Self {
            stage,
            topics,
            behind,
            limit: limit.max(1),
            is_held,
            allowance: Mutex::default(),
            shutdown,
        }
    }

    /// Waits for a place.
    async fn place(&self) -> Result<()> {
        let mut allowance = self.allowance.lock().await;
        while allowance.records == 0 && (self.is_held)() {
            if let Some(pause) = allowance
                .looked
                .and_then(|looked| LOOK_PAUSE.checked_sub(looked.elapsed()))
            {
                tokio::select! {
                    () = self.shutdown.cancelled() => return Err(Error::new(ErrorKind::Unavailable, "stopping; the replay goes on later")),
                    () = tokio::time::sleep(pause) => {}
                }
            }
            allowance.looked = Some(Instant::now());
            allowance.records = self.limit.saturating_sub(self.waiting().await?);
        }
        allowance.records = allowance.records.saturating_sub(1);
        Ok(())
    }

    async fn waiting(&self) -> Result<u64> {
        let mut waiting = 0;
        for (group, topic) in &self.behind {
            waiting += self
                .topics
                .lag(*topic, group)
                .await?
                .iter()
                .map(PartitionLag::records)
                .sum::<u64>();
        }
        Ok(waiting)
    }
}

#[async_trait]
impl Stage for PacedStage {
    fn name(&self) -> &'static str {
        self.stage.name()
    }

    async fn process(&self, input: &StoredRecord) -> Result<Vec<Output>> {
        self.place().await?;
        self.stage.process(input).await
    }

    async fn flush(&self) -> Result<()> {
        self.stage.flush().await
    }

    async fn settle(&self, done: &[Position]) -> Result<Vec<Output>> {
        self.stage.settle(done).await
    }

    fn over(&self, records: &[Position]) {
        self.stage.over(records);
    }

    fn abandoned(&self, input: &StoredRecord, error: &Error) -> Vec<Output> {
        self.stage.abandoned(input, error)
    }
}
