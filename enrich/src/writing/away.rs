//! A model that is away.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Since when no call has come through.
pub(super) struct Away {
    /// What the model writes, for messages.
    what: &'static str,
    since: Mutex<Option<Instant>>,
}

impl Away {
    pub fn new(what: &'static str) -> Self {
        Self {
            what,
            since: Mutex::default(),
        }
    }

    /// A call came through.
    pub fn over(&self) {
        if let Some(since) = self.lock().take() {
            let (seconds, what) = (since.elapsed().as_secs(), self.what);
            tracing::info!(seconds, "the model for {what} is back");
        }
    }

    /// It is to be waited for anew.
    pub fn forget(&self) {
        self.lock().take();
    }

    /// Whether no call has come through for so long; said once when it begins.
    pub fn for_longer_than(&self, patience: Duration, why: &str) -> bool {
        let mut since = self.lock();
        if since.is_none() {
            let what = self.what;
            tracing::warn!(
                why,
                "the model for {what} is away: documents that need one wait"
            );
        }
        since.get_or_insert_with(Instant::now).elapsed() >= patience
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
