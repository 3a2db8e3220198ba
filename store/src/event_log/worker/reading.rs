//! The reading side of the loop: the subscription, what of it is in flight, and what of that may be
//! committed.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use tributary_schemas::Result;

use super::in_flight::{InFlight, Taken};
use super::low_water::LowWater;
use super::{Claimed, WorkerSettings};
use crate::event_log::{BatchLimit, Subscription};

/// Longest wait for records.
const WAIT: Duration = Duration::from_secs(1);
/// Between two looks whether partitions were taken away, while there is no room for records.
const LOOK: Duration = Duration::from_millis(200);
/// Commits are no closer than this, and no closer than so many times what the last one took, within
/// a limit: one covers all records that were done meanwhile, and nothing is read while it is made.
const COMMIT_INTERVAL: Duration = Duration::from_millis(20);
const COMMIT_SHARE: u32 = 20;
const LONGEST_COMMIT_INTERVAL: Duration = Duration::from_millis(100);
/// Pause after a commit that failed.
const COMMIT_AGAIN: Duration = Duration::from_secs(1);

/// A subscription with its records on their way.
pub(super) struct Reading {
    subscription: Box<dyn Subscription>,
    stage: &'static str,
    settings: WorkerSettings,
    in_flight: InFlight,
    low_water: LowWater,
    /// When to commit next, if anything is done that is not committed.
    commit_at: Option<Instant>,
    /// When the next commit may be made at the earliest.
    next_commit: Instant,
    /// When to look for lost partitions while there is no room.
    look_at: Instant,
}

impl Reading {
    /// Nothing read yet.
    pub fn new(
        subscription: Box<dyn Subscription>,
        stage: &'static str,
        settings: WorkerSettings,
    ) -> Self {
        let now = Instant::now();
        Self {
            subscription,
            stage,
            settings,
            in_flight: InFlight::default(),
            low_water: LowWater::default(),
            commit_at: None,
            next_commit: now,
            look_at: now,
        }
    }

    /// The next record that can be started.
    pub fn start(&mut self) -> Option<Taken> {
        self.in_flight.start()
    }

    /// A record of this key was processed: the next one may start.
    pub fn free(&mut self, key: &Bytes) {
        self.in_flight.free(key);
    }

    /// When [`Reading::commit`] wants to be called.
    pub fn commit_at(&self) -> Option<Instant> {
        self.commit_at
    }

    /// Takes records in as far as there is room, and lets go of partitions that were taken away.
    /// Cancelling it loses nothing.
    pub async fn next(&mut self) -> Result<()> {
        let limit = self.in_flight.room(&self.settings);
        let batch = if limit.records == 0 {
            // A moment and not a pause, so that being cancelled again and again does not put it
            // off.
            tokio::time::sleep_until(self.look_at).await;
            self.look_at = Instant::now() + LOOK;
            self.subscription
                .next_batch(
                    BatchLimit {
                        records: 0,
                        bytes: 0,
                    },
                    Duration::ZERO,
                )
                .await
        } else {
            self.subscription.next_batch(limit, WAIT).await
        };
        // Before the batch is looked at: its records came after these were taken away.
        for partition in self.subscription.revoked() {
            self.low_water.forget(partition);
            self.in_flight.drop_partition(partition);
        }
        for stored in batch? {
            let revocation = || self.subscription.revocation(stored.position.partition);
            let assignment = self.low_water.add(stored.position, revocation);
            self.in_flight.accept(Taken::new(stored, assignment));
        }
        Ok(())
    }

    /// These records are done.
    pub async fn done(&mut self, records: Vec<Claimed>) {
        self.settle(&records);
        if self.low_water.uncommitted().is_empty() {
            return;
        }
        let now = Instant::now();
        // With nothing on its way there is nothing to read meanwhile, and who asks how far we are
        // should learn it.
        let at = if self.in_flight.is_empty() {
            self.next_commit.min(now + COMMIT_INTERVAL)
        } else {
            self.next_commit
        };
        if at <= now {
            self.commit().await;
        } else {
            self.commit_at = Some(self.commit_at.map_or(at, |earlier| earlier.min(at)));
        }
    }

    fn settle(&mut self, records: &[Claimed]) {
        for record in records {
            self.low_water.done(record.position, &record.assignment);
            self.in_flight.release(record);
        }
    }

    /// Commits what is done. A failure loses nothing: it is tried again, and after a crash the
    /// records come again.
    pub async fn commit(&mut self) {
        self.commit_at = None;
        let positions = self.low_water.uncommitted();
        if positions.is_empty() {
            return;
        }
        let begun = Instant::now();
        match self.subscription.commit(&positions).await {
            Ok(()) => {
                self.low_water.committed(&positions);
                let now = Instant::now();
                self.next_commit = now + commit_interval(now - begun);
            }
            Err(error) => {
                tracing::warn!(stage = self.stage, %error, "cannot commit, trying again");
                self.next_commit = Instant::now() + COMMIT_AGAIN;
                self.commit_at = Some(self.next_commit);
            }
        }
    }

    /// Commits the last records that were done.
    pub async fn end(&mut self, records: Vec<Claimed>) {
        self.settle(&records);
        self.commit().await;
    }
}

/// Pause after a commit that took so long.
fn commit_interval(took: Duration) -> Duration {
    took.saturating_mul(COMMIT_SHARE)
        .clamp(COMMIT_INTERVAL, LONGEST_COMMIT_INTERVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_commit_puts_the_next_one_off_a_little_and_never_for_long() {
        let after_ms = |took| commit_interval(Duration::from_millis(took)).as_millis();
        assert_eq!([0, 1, 4, 6_000].map(after_ms), [20, 20, 80, 100]);
        assert_eq!(commit_interval(Duration::MAX), LONGEST_COMMIT_INTERVAL);
    }
}
