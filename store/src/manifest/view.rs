//! What a topic adds up to, in memory: read at the start, followed from then on. Any process can
//! have one.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tributary_schemas::{Error, ErrorKind, Result, Topic};

use crate::event_log::topics::Topics;
use crate::event_log::{BatchLimit, Position, StoredRecord, Subscription};

const READ_LIMIT: BatchLimit = BatchLimit {
    records: 10_000,
    bytes: 8 << 20,
};
const CATCH_UP: Duration = Duration::from_secs(30);
/// The group of views: brokers are asked for the ends of topics in its name, and it has read what
/// [`super::table`] says.
pub(super) const GROUP: &str = "document-table";
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Per partition the offset after the last record applied.
pub(super) type Applied = HashMap<u32, u64>;

/// Adds up records.
pub(super) trait Fold: Send + Sync + 'static {
    /// The topic whose records it takes.
    const TOPIC: Topic;
    /// Whether it looks at values; those that travelled as references are put back for it.
    const NEEDS_VALUES: bool;

    /// Takes one record in. May come again after a restart from a checkpoint, together with all
    /// that came after it.
    fn apply(&mut self, stored: &StoredRecord);
}

/// A fold of its topic, kept up to date.
#[derive(Debug)]
pub(super) struct View<F> {
    fold: Arc<RwLock<F>>,
    applied: watch::Receiver<Applied>,
    _follower: DropGuard,
}

impl<F: Fold> View<F> {
    /// Takes in all that is there after `applied`, which `fold` has already, and follows the topic
    /// until the view is dropped.
    pub async fn open(topics: &Topics, mut fold: F, mut applied: Applied) -> Result<Self> {
        let from: Vec<Position> = applied
            .iter()
            .map(|(partition, offset)| Position {
                partition: *partition,
                offset: *offset,
            })
            .collect();
        let mut subscription = topics.subscribe_from(F::TOPIC, &from).await?;
        let ends = ends::<F>(topics).await?;
        while !reached(&applied, &ends) {
            let batch = subscription.next_batch(READ_LIMIT, CATCH_UP).await?;
            let is_empty = batch.is_empty();
            let batch = redeemed::<F>(topics, batch).await?;
            apply_all(&mut fold, &mut applied, &batch);
            if !note_positions(&mut applied, &subscription.positions()) && is_empty {
                return Err(behind::<F>());
            }
        }
        let fold = Arc::new(RwLock::new(fold));
        let (sender, receiver) = watch::channel(applied);
        let stop = CancellationToken::new();
        let follower = Follower {
            subscription,
            topics: topics.clone(),
            fold: Arc::clone(&fold),
            applied: sender,
        };
        tokio::spawn(stop.clone().run_until_cancelled_owned(follower.follow()));
        Ok(Self {
            fold,
            applied: receiver,
            _follower: stop.drop_guard(),
        })
    }

    /// One that follows nothing.
    #[cfg(test)]
    pub fn of(fold: F) -> Self {
        let (_, applied) = watch::channel(Applied::new());
        Self {
            fold: Arc::new(RwLock::new(fold)),
            applied,
            _follower: CancellationToken::new().drop_guard(),
        }
    }

    /// Waits until everything is applied that was in the topic before this call.
    pub async fn catch_up(&self, topics: &Topics) -> Result<()> {
        let ends = ends::<F>(topics).await?;
        let mut applied = self.applied.clone();
        match tokio::time::timeout(
            CATCH_UP,
            applied.wait_for(|applied| reached(applied, &ends)),
        )
        .await
        {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(behind::<F>()),
        }
    }

    /// What is applied so far. Records of after this moment may be in the fold already when it is
    /// looked at next.
    pub fn applied(&self) -> Applied {
        self.applied.borrow().clone()
    }

    /// Changes with every record applied; an error once nothing is followed any more, which only a
    /// panic can cause.
    pub fn changes(&self) -> watch::Receiver<Applied> {
        self.applied.clone()
    }

    /// Looks at the fold, which stands still meanwhile.
    pub fn read<T>(&self, look: impl FnOnce(&F) -> T) -> T {
        look(&self.fold.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes what is in the fold beside what its topic says.
    pub fn write<T>(&self, change: impl FnOnce(&mut F) -> T) -> T {
        change(&mut self.fold.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Completes when the receiver's view follows nothing any more.
pub(super) async fn ended(mut changes: watch::Receiver<Applied>) {
    while changes.changed().await.is_ok() {}
}

async fn ends<F: Fold>(topics: &Topics) -> Result<Applied> {
    // Only the ends matter here.
    let lag = topics.lag(F::TOPIC, GROUP).await?;
    Ok(lag
        .into_iter()
        .filter(|partition| partition.end > partition.start)
        .map(|partition| (partition.partition, partition.end))
        .collect())
}

fn reached(applied: &Applied, ends: &Applied) -> bool {
    ends.iter()
        .all(|(partition, end)| applied.get(partition).is_some_and(|offset| offset >= end))
}

/// Takes over how far the topic was read, where records at the end are gone for good. Returns
/// whether that is news.
fn note_positions(applied: &mut Applied, positions: &[Position]) -> bool {
    let mut has_moved = false;
    for position in positions {
        let known = applied.entry(position.partition).or_insert(0);
        has_moved |= position.offset > *known;
        *known = position.offset.max(*known);
    }
    has_moved
}

fn behind<F: Fold>() -> Error {
    let what = format!(
        "the view of topic {} did not catch up with it within {} s",
        F::TOPIC.name(),
        CATCH_UP.as_secs()
    );
    Error::new(ErrorKind::Timeout, what)
}

/// Keeps a view up to date.
struct Follower<F> {
    subscription: Box<dyn Subscription>,
    topics: Topics,
    fold: Arc<RwLock<F>>,
    applied: watch::Sender<Applied>,
}

impl<F: Fold> Follower<F> {
    async fn follow(mut self) {
        loop {
            match self
                .subscription
                .next_batch(READ_LIMIT, Duration::from_secs(5))
                .await
            {
                Ok(batch) => self.apply(batch).await,
                Err(error) => again_soon::<F>(&error).await,
            }
        }
    }

    async fn apply(&mut self, batch: Vec<StoredRecord>) {
        let batch = loop {
            match redeemed::<F>(&self.topics, batch.clone()).await {
                Ok(batch) => break batch,
                Err(error) => again_soon::<F>(&error).await,
            }
        };
        let positions = self.subscription.positions();
        // Taken away and given back: the topic is another one of the same name.
        let begun_anew = self.subscription.revoked();
        self.applied.send_if_modified(|applied| {
            applied.retain(|partition, _| !begun_anew.contains(partition));
            if !batch.is_empty() {
                apply_all(
                    &mut *self.fold.write().unwrap_or_else(PoisonError::into_inner),
                    applied,
                    &batch,
                );
            }
            note_positions(applied, &positions) || !batch.is_empty() || !begun_anew.is_empty()
        });
    }
}

async fn again_soon<F: Fold>(error: &Error) {
    tracing::warn!(topic = F::TOPIC.name(), %error, "a topic that is followed cannot be read, trying again");
    tokio::time::sleep(RETRY_PAUSE).await;
}

/// Records with their values, where these travelled as references. Errors: those that pass, of a
/// store that is away.
async fn redeemed<F: Fold>(topics: &Topics, batch: Vec<StoredRecord>) -> Result<Vec<StoredRecord>> {
    if !F::NEEDS_VALUES {
        return Ok(batch);
    }
    let mut redeemed = Vec::with_capacity(batch.len());
    for stored in batch {
        redeemed.push(match topics.redeem(stored.record.clone()).await {
            Ok(record) => StoredRecord { record, ..stored },
            Err(error) if error.is_held() => return Err(error),
            // Gone: who decodes it says so.
            Err(_) => stored,
        });
    }
    Ok(redeemed)
}

fn apply_all<F: Fold>(fold: &mut F, applied: &mut Applied, batch: &[StoredRecord]) {
    for stored in batch {
        fold.apply(stored);
        applied.insert(stored.position.partition, stored.position.offset + 1);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;

    use super::*;
    use crate::blobs::Blobs;
    use crate::event_log::Record;
    use crate::event_log::embedded::{Config, EmbeddedEventLog};

    /// Offsets in the order in which they were applied.
    #[derive(Default)]
    struct Offsets(Vec<u64>);

    impl Fold for Offsets {
        const TOPIC: Topic = Topic::DocumentsStates;
        const NEEDS_VALUES: bool = false;

        fn apply(&mut self, stored: &StoredRecord) {
            self.0.push(stored.position.offset);
        }
    }

    /// Gives partitions back in the moment in which it takes them away.
    struct BegunAnew(Vec<u32>);

    #[async_trait]
    impl Subscription for BegunAnew {
        async fn next_batch(&mut self, _: BatchLimit, _: Duration) -> Result<Vec<StoredRecord>> {
            Ok(Vec::new())
        }

        async fn commit(&mut self, _: &[Position]) -> Result<()> {
            Ok(())
        }

        fn revoked(&mut self) -> Vec<u32> {
            std::mem::take(&mut self.0)
        }
    }

    fn stored(partition: u32, offset: u64) -> StoredRecord {
        StoredRecord {
            position: Position { partition, offset },
            record: Record::default(),
        }
    }

    #[tokio::test]
    async fn positions_in_a_topic_that_was_deleted_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let log = EmbeddedEventLog::open(folder.path(), Config::small()).unwrap();
        let blobs = Blobs::local(&folder.path().join("blobs")).unwrap();
        let (applied, seen) = watch::channel(Applied::from([(0, 900), (1, 700)]));
        let mut follower = Follower {
            subscription: Box::new(BegunAnew(vec![0])),
            topics: Topics::new(Arc::new(log), "t".into(), blobs, 1000),
            fold: Arc::new(RwLock::new(Offsets::default())),
            applied,
        };
        let ends_now = Applied::from([(0, 5), (1, 700)]);
        follower.apply(vec![stored(0, 0), stored(0, 1)]).await;
        assert_eq!(*seen.borrow(), Applied::from([(0, 2), (1, 700)]));
        assert!(!reached(&seen.borrow(), &ends_now), "three are to come");
        follower
            .apply((2..5).map(|offset| stored(0, offset)).collect())
            .await;
        assert!(reached(&seen.borrow(), &ends_now));
        assert_eq!(follower.fold.read().unwrap().0, [0, 1, 2, 3, 4]);
    }
}
