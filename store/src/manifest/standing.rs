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
    /// Of the version that can be found.
    pub(super) indexed: Option<&'a DocumentRights>,
}

/// What of a document somebody is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Not even that it is there.
    Nothing,
    /// The version that can be found, and nothing of a newer one.
    Indexed,
    /// Its newest report.
    Newest,
}

impl Standing<'_> {
    /// What a viewer is told: of the newest version, once it is decided who may see it. Before that,
    /// and where it was given up before, what questions find for them too.
    pub fn told(&self, viewer: &Viewer) -> Told {
        match self.rights {
            None if viewer.sees_indexed(self.indexed, self.published) => Told::Indexed,
            Some(_) if self.is_seen(viewer) => Told::Newest,
            _ => Told::Nothing,
        }
    }

    /// Whether a viewer may see the newest version: by what is decided, and by what was published
    /// beside.
    fn is_seen(&self, viewer: &Viewer) -> bool {
        let published = self.published;
        viewer.sees_rights(self.rights)
            && published.is_none_or(|rights| viewer.sees_rights(Some(rights)))
    }
}
