//! Rights of documents that are newer than those that an index has: narrower ones hold at once. The
//! document table knows them, and [`crate::Viewer`] asks.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use crate::{DocumentRights, Error, ErrorKind, Result, Viewer};

/// What is known of a document that was read from an index, beside what the index said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Newer {
    /// The index has the newest version, or nothing is known.
    Nothing,
    /// A newer version says this of its readers.
    Rights(Arc<DocumentRights>),
    /// It was deleted meanwhile.
    Deletion,
}

/// Knows what the newest version of a document says of its readers, while an index may still have
/// an earlier one.
pub trait NewestRights: Send + Sync {
    /// Of this document, of which this version was read. What has reached the index since then
    /// counts, too: else a version that was read before a narrower one was indexed would leave after
    /// it.
    fn beside(&self, document_id: &str, version: u64) -> Newer;

    /// Documents that an index finds for a viewer although the newest version refuses them, by id; not
    /// all where they are very many, nor those whose chunks may be seen for another document.
    fn withheld(&self, viewer: &Viewer) -> Vec<String>;

    /// Whether there is any document of which the index does not have the newest rights.
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
    /// Whether something was on its way when a search began.
    was_any_on_the_way: bool,
}

impl SharedNewestRights {
    /// Looks there.
    pub fn new(rights: Arc<dyn NewestRights>) -> Self {
        Self {
            rights: Some(rights),
            ..Self::default()
        }
    }

    /// The same for one search: what is on its way now counts as such until the search is over, as
    /// it reads the index in between.
    pub fn for_a_search(self) -> Self {
        Self {
            was_any_on_the_way: self.is_any_on_the_way(),
            ..self
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

    pub(crate) fn withheld(&self, viewer: &Viewer) -> Vec<String> {
        let rights = self.rights.as_ref();
        rights.map_or_else(Vec::new, |rights| rights.withheld(viewer))
    }

    pub(crate) fn beside(&self, document_id: &str, version: u64) -> Newer {
        let rights = self.rights.as_ref();
        rights.map_or(Newer::Nothing, |rights| rights.beside(document_id, version))
    }

    pub(crate) fn is_any_on_the_way(&self) -> bool {
        let rights = self.rights.as_ref();
        self.was_any_on_the_way || rights.is_some_and(|rights| rights.is_any_on_the_way())
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
