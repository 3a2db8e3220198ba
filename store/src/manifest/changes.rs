//! Waits for something to happen to documents, for those who show them.

use tokio::sync::watch;

use super::view::Applied;

/// Waits for reports to be applied to the table.
#[derive(Debug)]
pub struct Changes(watch::Receiver<Applied>);

impl Changes {
    /// Those after what the receiver has seen.
    pub(super) fn of(applied: watch::Receiver<Applied>) -> Self {
        Self(applied)
    }

    /// Completes when some were since the last call; false when none will be any more.
    pub async fn next(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}
