//! Rights of documents that are newer than those that an index has: narrower ones hold at once. The
//! document table knows them, and [`crate::Viewer`] asks.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use crate::{DocumentRights, Error, ErrorKind, Result};

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
pub struct SharedNewestRights {
    rights: Option<Arc<dyn NewestRights>>,
    /// How old what they know may be.
    valid: Option<Duration>,
}

impl SharedNewestRights {
    /// Looks there.
    pub fn new(rights: Arc<dyn NewestRights>) -> Self {
        Self {
            rights: Some(rights),
            valid: None,
        }
    }

    /// The same, which may not be older than that; `None` for whatever age.
    pub fn valid_for(self, valid: Option<Duration>) -> Self {
        Self { valid, ..self }
    }

    /// `Unavailable` where what they know is too old to show documents by.
    pub fn check(&self) -> Result<()> {
        let age = self.rights.as_ref().map(|rights| rights.age());
        let (Some(age), Some(valid)) = (age, self.valid) else {
            return Ok(());
        };
        if age <= valid {
            return Ok(());
        }
        let seconds = age.as_secs();
        let message = format!(
            "the event log has not answered for {seconds} s: rights that were narrowed meanwhile are not known here"
        );
        Err(Error::new(ErrorKind::Unavailable, message)
            .with_hint("try again once it answers; query_api.server.rights_valid_seconds says how long readers are answered without it"))
    }

    pub(crate) fn on_the_way(&self, document_id: &str) -> Option<Arc<DocumentRights>> {
        self.rights.as_ref()?.on_the_way(document_id)
    }

    pub(crate) fn is_any_on_the_way(&self) -> bool {
        let rights = self.rights.as_ref();
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
