//! Documents that the index lacks as long as it is built again from the log: searches go on, and say
//! so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many documents should be found and are not in the index, as far as is known; shared by who
/// counts them and who searches.
#[derive(Clone, Debug, Default)]
pub struct MissingDocuments(Arc<AtomicU64>);

impl MissingDocuments {
    /// Notes what was counted.
    pub fn set(&self, count: u64) {
        self.0.store(count, Ordering::Relaxed);
    }

    /// 0 for an index that has all.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
