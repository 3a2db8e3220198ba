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
    /// Of the last report of which they were decided, where the newest is none.
    pub(super) before: Option<&'a DocumentRights>,
    /// Of the version that can be found.
    pub(super) found: Option<&'a DocumentRights>,
}

/// What somebody is told of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its newest report, else the last one of which it was decided who may see it.
    pub is_newest: bool,
    /// And what questions find of it.
    pub is_found: bool,
}

impl Told {
    /// Whoever may see every version.
    pub const ALL: Self = Self {
        is_newest: true,
        is_found: true,
    };
}

impl Standing<'_> {
    /// What a viewer is told: of the newest version, once it is decided who may see it. Until then,
    /// and for good where it was given up before, they are told of the one before, as far as the
    /// newest leaves it to them. `None` where there is nothing for them.
    pub fn told(&self, viewer: &Viewer) -> Option<Told> {
        let is_newest = self.rights.is_some();
        let is_told = match self.rights {
            Some(_) => self.is_seen(viewer),
            None => viewer.sees_before(self.before, self.published),
        };
        is_told.then(|| Told {
            is_newest,
            is_found: viewer.sees_rights(self.found),
        })
    }

    /// Whether a viewer may see the newest version: by what is decided, and by what was published
    /// beside.
    fn is_seen(&self, viewer: &Viewer) -> bool {
        let published = self.published;
        viewer.sees_rights(self.rights)
            && published.is_none_or(|rights| viewer.sees_rights(Some(rights)))
    }
}
