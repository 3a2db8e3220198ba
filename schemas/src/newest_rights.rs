//! Rights of documents that are newer than those that an index has: narrower ones hold at once. The
//! document table knows them, and [`crate::Viewer`] asks.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use crate::DocumentRights;

/// Knows what the newest version of a document says of its readers, while an index may still have
/// an earlier one.
pub trait NewestRights: Send + Sync {
    /// Of this document; `None` where the index has the newest version, and of what is unknown.
    fn on_the_way(&self, document_id: &str) -> Option<Arc<DocumentRights>>;

    /// Whether there is any document of which it would say something.
    fn is_any_on_the_way(&self) -> bool;

    /// How long ago everything was known that others had said of documents by then. It grows while
    /// whoever would know cannot be asked.
    fn age(&self) -> Duration;
}

/// Where a viewer looks for [`NewestRights`]; by default nowhere. It is no part of who they are, so
/// any two are equal.
#[derive(Clone, Default)]
pub struct SharedNewestRights(Option<Arc<dyn NewestRights>>);

impl SharedNewestRights {
    /// Looks there.
    pub fn new(rights: Arc<dyn NewestRights>) -> Self {
        Self(Some(rights))
    }

    /// See [`NewestRights::age`]; zero where nobody says anything.
    pub fn age(&self) -> Duration {
        self.0
            .as_ref()
            .map_or(Duration::ZERO, |rights| rights.age())
    }

    pub(crate) fn on_the_way(&self, document_id: &str) -> Option<Arc<DocumentRights>> {
        self.0.as_ref()?.on_the_way(document_id)
    }

    pub(crate) fn is_any_on_the_way(&self) -> bool {
        let rights = self.0.as_ref();
        rights.is_some_and(|rights| rights.is_any_on_the_way())
    }
}

impl fmt::Debug for SharedNewestRights {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedNewestRights")
    }
}

impl PartialEq for SharedNewestRights {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for SharedNewestRights {}

impl Hash for SharedNewestRights {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
