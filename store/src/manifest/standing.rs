//! What decides who is told of a document, before anything else of its row is looked at: a row takes
//! its time to be put together, and who may not see it must not be able to tell that it is there.

use tributary_schemas::{DocumentRights, Viewer};

/// Where a document came from and who may see it, by its newest report.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// Its source.
    pub source: &'a str,
    pub(super) rights: Option<&'a DocumentRights>,
    /// What a version says that was published, and not yet read by ingest or removed before that.
    pub(super) published: Option<&'a DocumentRights>,
}

impl Standing<'_> {
    /// Whether a viewer may see it: by what is decided, and by what was published beside.
    pub fn is_seen(&self, viewer: &Viewer) -> bool {
        let published = self.published;
        viewer.sees_rights(self.rights)
            && published.is_none_or(|rights| viewer.sees_rights(Some(rights)))
    }
}
