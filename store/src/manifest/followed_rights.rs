//! The newest rights of documents as this process has heard of them, and how long ago it could still
//! ask whether there are newer ones.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tokio_util::sync::{CancellationToken, DropGuard};
use tributary_schemas::{Newer, NewestRights, Viewer};

use super::table::DocumentTable;
use crate::event_log::topics::Topics;

/// Pause between two questions whether there is more to hear.
const PAUSE: Duration = Duration::from_secs(2);

/// Asks the event log as long as it lives.
pub(super) struct FollowedRights {
    table: Arc<DocumentTable>,
    heard: Arc<RwLock<Instant>>,
    _asking: DropGuard,
}

impl FollowedRights {
    /// Of a table that has heard everything by now. Within a runtime.
    pub fn of(table: Arc<DocumentTable>, topics: Topics) -> Self {
        let heard = Arc::new(RwLock::new(Instant::now()));
        let stop = CancellationToken::new();
        let asking = ask(Arc::clone(&table), topics, Arc::clone(&heard));
        tokio::spawn(stop.clone().run_until_cancelled_owned(asking));
        Self {
            table,
            heard,
            _asking: stop.drop_guard(),
        }
    }
}

async fn ask(table: Arc<DocumentTable>, topics: Topics, heard: Arc<RwLock<Instant>>) {
    loop {
        let asked = Instant::now();
        if table.catch_up(&topics).await.is_ok() {
            *heard.write().unwrap_or_else(PoisonError::into_inner) = asked;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

impl NewestRights for FollowedRights {
    fn beside(&self, document_id: &str, version: u64) -> Newer {
        self.table.beside(document_id, version)
    }

    fn withheld(&self, viewer: &Viewer) -> Vec<String> {
        self.table.withheld(viewer)
    }

    fn is_any_on_the_way(&self) -> bool {
        self.table.has_rights_on_the_way()
    }

    fn age(&self) -> Duration {
        let heard = self.heard.read().unwrap_or_else(PoisonError::into_inner);
        heard.elapsed()
    }
}
