//! Access rules: the caller's wishes and rights become one filter here and nowhere else; tier 1
//! applies it inside every query.
//!
//! It fails closed: wishes and rights are joined by AND, and where they exclude each other nothing
//! is found.

use tributary_schemas::{Filter, Viewer};
use tributary_taxonomy::KnowledgeSets;

use crate::error::SearchError;

/// Who asks, and what they may see. There is no default: whoever makes one says for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Whose conversations and reports are meant; `None` for whoever owns the data folder.
    pub owner: Option<String>,
    /// The only knowledge sets they may see; `None` for all.
    pub knowledge_sets: Option<Vec<String>>,
    /// The highest security level (密级) they may see; `None` for all, documents without a level
    /// included.
    pub max_security_level: Option<u8>,
    /// Whose rights by document hold; `None` for whoever may see every document.
    pub viewer: Option<Viewer>,
}

impl Principal {
    /// Sees everything: whoever reaches a server that listens on its own machine only.
    pub fn unrestricted() -> Self {
        Self {
            owner: None,
            knowledge_sets: None,
            max_security_level: None,
            viewer: None,
        }
    }

    /// Sees documents as the viewer may, and of conversations and reports their own.
    pub fn of(owner: String, viewer: Viewer) -> Self {
        Self {
            owner: Some(owner),
            viewer: Some(viewer),
            ..Self::unrestricted()
        }
    }

    /// Sees nothing: who did not say who they are.
    pub fn nobody() -> Self {
        Self {
            owner: Some(String::new()),
            knowledge_sets: Some(Vec::new()),
            max_security_level: Some(0),
            viewer: Some(Viewer::nobody()),
        }
    }
}

/// The filter of a search. A knowledge set that does not exist is an error that names it and the
/// nearest known one, never ignored.
pub(crate) fn filter(
    wishes: &Filter,
    principal: &Principal,
    knowledge_sets: &KnowledgeSets,
) -> Result<Filter, SearchError> {
    // A report or an answer searches long after it was asked for.
    if let Some(viewer) = &principal.viewer {
        viewer.newest.check()?;
    }
    let named = wishes.knowledge_sets.as_deref().unwrap_or_default();
    knowledge_sets
        .check(named)
        .map_err(SearchError::UnknownKnowledgeSet)?;
    Ok(Filter {
        knowledge_sets: both(
            wishes.knowledge_sets.as_ref(),
            principal.knowledge_sets.as_ref(),
        ),
        max_security_level: lower(wishes.max_security_level, principal.max_security_level),
        viewer: principal.viewer.clone().map(Viewer::for_a_search),
        ..wishes.clone()
    })
}

/// Values in both lists; a list that is not given does not restrict, an empty one matches nothing.
fn both(wished: Option<&Vec<String>>, allowed: Option<&Vec<String>>) -> Option<Vec<String>> {
    match (wished, allowed) {
        (Some(wished), Some(allowed)) => Some(
            wished
                .iter()
                .filter(|name| allowed.contains(name))
                .cloned()
                .collect(),
        ),
        (one, other) => one.or(other).cloned(),
    }
}

fn lower(wished: Option<u8>, allowed: Option<u8>) -> Option<u8> {
    match (wished, allowed) {
        (Some(wished), Some(allowed)) => Some(wished.min(allowed)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tributary_schemas::{ErrorKind, Newer, NewestRights, SharedNewestRights};

    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Has heard everything up to so many seconds ago.
    struct Heard(u64);

    impl NewestRights for Heard {
        fn beside(&self, _: &str, _: u64) -> Newer {
            Newer::Nothing
        }

        fn withheld(&self, _: &Viewer) -> Vec<String> {
            Vec::new()
        }

        fn is_any_on_the_way(&self) -> bool {
            false
        }

        fn age(&self) -> Duration {
            Duration::from_secs(self.0)
        }
    }

    #[test]
    fn nobody_searches_by_rights_that_are_too_old() {
        let kind = |age: u64, seconds: Option<u64>| {
            let newest = SharedNewestRights::new(Arc::new(Heard(age)));
            let viewer = Viewer {
                newest: newest.valid_for(seconds.map(Duration::from_secs)),
                ..Viewer::nobody()
            };
            let principal = Principal::of("k".to_owned(), viewer);
            let found = filter(&Filter::default(), &principal, &KnowledgeSets::default());
            found.err().map(|error| error.kind())
        };
        assert_eq!(kind(60, Some(60)), None);
        assert_eq!(kind(61, Some(60)), Some(ErrorKind::Unavailable));
        assert_eq!(kind(u64::from(u32::MAX), None), None);
    }

    #[test]
    fn wishes_never_widen_rights() {
        let allowed = names(&["a", "b"]);
        let table = [
            (None, None, None),
            (None, Some(&allowed), Some(names(&["a", "b"]))),
            (
                Some(names(&["b", "c"])),
                Some(&allowed),
                Some(names(&["b"])),
            ),
            (Some(names(&["c"])), Some(&allowed), Some(vec![])),
            (Some(vec![]), Some(&allowed), Some(vec![])),
            (Some(vec![]), None, Some(vec![])),
            (Some(names(&["c"])), None, Some(names(&["c"]))),
        ];
        for (wished, allowed, expected) in table {
            assert_eq!(
                both(wished.as_ref(), allowed),
                expected,
                "{wished:?} {allowed:?}"
            );
        }
        for (wished, allowed, expected) in [
            (None, None, None),
            (Some(5), Some(3), Some(3)),
            (Some(1), Some(3), Some(1)),
            (None, Some(3), Some(3)),
        ] {
            assert_eq!(lower(wished, allowed), expected);
        }
    }
}
