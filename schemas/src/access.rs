//! Who may see a document: what its publisher or its source says, and the one predicate that
//! decides. Both stores, lists and the check of what leaves ask it here.
//!
//! A viewer sees a document where one of its groups or users is named, or none is, and its security
//! level is at most the viewer's clearance. Where nothing is said of a document at all, a setting
//! of the server decides, which is part of the viewer.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::newest_rights::{Newer, SharedNewestRights};
use crate::{Attributes, DocumentHeader, Error, ErrorKind, Result, SectionLevel, filter, limits};

/// The term of documents of which is said who may see them.
const STATED: &str = "access.stated";
/// The term of those for everybody who may read.
const EVERYBODY: &str = "access.everybody";

/// Who may see a document, as its producer or the profile of its source says. Where neither list is
/// there it is for everybody who may read; a list that is there and empty names nobody. The
/// security level counts beside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Whoever is in one of these groups, exactly as written. At most 256, of at most 256 bytes.
    /// Empty: no group.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "no_null"
    )]
    #[schemars(with = "Vec<String>", length(max = limits::ACCESS_NAMES))]
    pub groups: Option<Vec<String>>,
    /// These users: ids of API keys, `ISSUER#SUBJECT` of tokens, `proxy:USER`. At most 256, of at most
    /// 256 bytes. Empty: no user.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "no_null"
    )]
    #[schemars(with = "Vec<String>", length(max = limits::ACCESS_NAMES))]
    pub users: Option<Vec<String>>,
}

/// `null` may be a list that somebody lost, so it is no way to say "everybody".
fn no_null<'de, D: Deserializer<'de>>(
    names: D,
) -> std::result::Result<Option<Vec<String>>, D::Error> {
    Vec::deserialize(names).map(Some)
}

impl Access {
    /// `Invalid` for too many names, and for empty or long ones.
    pub fn check(&self) -> Result<()> {
        for (field, names) in [("groups", self.groups()), ("users", self.users())] {
            let field = format!("attributes.access.{field}");
            limits::number(&field, names.len(), limits::ACCESS_NAMES)?;
            for name in names {
                limits::bytes(&field, name, limits::ACCESS_NAME_BYTES)?;
                if name.trim().is_empty() {
                    let what = format!("`{field}` has an empty name");
                    return Err(Error::new(ErrorKind::Invalid, what)
                        .with_hint("leave the name out; an empty list names nobody"));
                }
            }
        }
        Ok(())
    }

    /// Only where nothing is said: who names nobody means administrators alone.
    fn is_for_everybody(&self) -> bool {
        self.groups.is_none() && self.users.is_none()
    }

    fn groups(&self) -> &[String] {
        self.groups.as_deref().unwrap_or_default()
    }

    fn users(&self) -> &[String] {
        self.users.as_deref().unwrap_or_default()
    }
}

/// What is said of a document's readers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct DocumentRights {
    /// Groups and users; nothing where nobody said anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Security level (密级); 0 where there is none.
    #[serde(default, skip_serializing_if = "is_public")]
    pub security_level: u8,
    /// Rules for levels of sections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub section_levels: Vec<SectionLevel>,
}

fn is_public(level: &u8) -> bool {
    *level == 0
}

impl DocumentRights {
    /// Of a document that ingest is done with; `None` before, as the profile of the source may yet
    /// say something.
    pub fn of(document: &DocumentHeader) -> Option<Self> {
        (!document.fingerprint.is_empty()).then(|| Self::stated(&document.attributes))
    }

    /// What attributes say.
    pub fn stated(attributes: &Attributes) -> Self {
        Self {
            access: attributes.access.clone(),
            security_level: attributes.security_level.unwrap_or(0),
            section_levels: attributes.section_rules().to_vec(),
        }
    }
}

/// Somebody who may not see everything. The default sees what is for everybody, of level 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Viewer {
    /// Groups that they are in.
    pub groups: Vec<String>,
    /// Who they are: the id of an API key, or a user of an identity provider or a proxy.
    pub user: Option<String>,
    /// The highest security level that they may see.
    pub clearance: u8,
    /// Whether they see documents of which nobody said who may see them.
    pub sees_unstated: bool,
    /// Sees nothing at all: who did not say who they are.
    pub is_nobody: bool,
    /// Rights that hold beside those that the index has: narrower ones hold at once.
    pub newest: SharedNewestRights,
    /// For one search: documents that they refuse and the index does not, so that no query finds
    /// them. What is not named here is withheld when it leaves.
    pub withheld: Arc<[String]>,
}

impl Viewer {
    /// Sees nothing.
    pub fn nobody() -> Self {
        Self {
            is_nobody: true,
            ..Self::default()
        }
    }

    /// Whether they may see a document of which this is said. The one place that decides.
    pub fn sees(&self, access: Option<&Access>, security_level: u8) -> bool {
        if self.is_nobody || security_level > self.clearance {
            return false;
        }
        let Some(access) = access else {
            return self.sees_unstated;
        };
        let is_user = |user: &String| access.users().contains(user);
        access.is_for_everybody()
            || self.user.as_ref().is_some_and(is_user)
            || self
                .groups
                .iter()
                .any(|group| access.groups().contains(group))
    }

    /// The same for a document by itself, as an index has it, and for its newest version. Exact
    /// duplicates have the same rights.
    pub fn sees_document(&self, document: &DocumentHeader) -> bool {
        let attributes = &document.attributes;
        self.sees(
            attributes.access.as_ref(),
            attributes.security_level.unwrap_or(0),
        ) && self.sees_newest(document)
    }

    /// Whoever they are, for one search, see [`SharedNewestRights::for_a_search`].
    #[must_use]
    pub fn for_a_search(mut self) -> Self {
        self.newest = self.newest.for_a_search();
        self.withheld = self.newest.withheld(&self).into();
        self
    }

    /// The terms of the chunks of [`Viewer::withheld`].
    pub fn withheld_terms(&self) -> Vec<String> {
        let withheld = self.withheld.iter();
        withheld.map(|id| filter::document_term(id)).collect()
    }

    /// Whether an index may find something for them that [`Self::sees_document`] then withholds:
    /// whatever is counted in the index would tell of it.
    pub fn may_be_withheld(&self) -> bool {
        self.newest.is_any_on_the_way()
    }

    /// Whether the newest version, which may be on its way to the index or have come there since
    /// this one was read, lets them see it as it was there. Which sections a rule closes that the
    /// index does not know cannot be told, so it closes them all.
    fn sees_newest(&self, document: &DocumentHeader) -> bool {
        let newer = self.newest.beside(&document.document_id, document.version);
        let newest = match newer {
            Newer::Nothing => return true,
            Newer::Deletion => return false,
            Newer::Rights(newest) => newest,
        };
        self.sees_newer(document.attributes.section_rules(), &newest)
    }

    /// Whether newer rights leave them what they may see of a version with these rules.
    fn sees_newer(&self, known: &[SectionLevel], newer: &DocumentRights) -> bool {
        let closes =
            |rule: &SectionLevel| rule.security_level > self.clearance && !known.contains(rule);
        self.sees(newer.access.as_ref(), newer.security_level)
            && !newer.section_levels.iter().any(closes)
    }

    /// Whether they may see what a version has of which this was decided, where a newer one says
    /// something of its readers.
    pub fn sees_before(
        &self,
        decided: Option<&DocumentRights>,
        newer: Option<&DocumentRights>,
    ) -> bool {
        decided.is_some_and(|rights| {
            let is_left = |newer| self.sees_newer(&rights.section_levels, newer);
            self.sees_rights(decided) && newer.is_none_or(is_left)
        })
    }

    /// The same for what a report says; not where nothing is decided yet.
    pub fn sees_rights(&self, rights: Option<&DocumentRights>) -> bool {
        rights.is_some_and(|rights| self.sees(rights.access.as_ref(), rights.security_level))
    }

    /// Terms of which the chunks that they see carry one; of those that carry none of them, only
    /// chunks without [`Viewer::stated_term`] are seen, and these only with `sees_unstated`.
    /// [`Viewer::clearance`] counts beside.
    pub fn terms(&self) -> Vec<String> {
        if self.is_nobody {
            return Vec::new();
        }
        let groups = self.groups.iter().map(|group| group_term(group));
        let user = self.user.iter().map(|user| user_term(user));
        std::iter::once(EVERYBODY.to_owned())
            .chain(groups)
            .chain(user)
            .collect()
    }

    /// The term whose absence makes a chunk visible; `None` where it does not.
    pub fn stated_term(&self) -> Option<&'static str> {
        (self.sees_unstated && !self.is_nobody).then_some(STATED)
    }
}

/// The terms by which [`Viewer::terms`] finds a document's chunks. Documents that were indexed
/// before there were any said nothing either, and carry none.
pub(crate) fn terms(access: Option<&Access>) -> Vec<String> {
    let Some(access) = access else {
        return Vec::new();
    };
    let mut terms = vec![STATED.to_owned()];
    if access.is_for_everybody() {
        terms.push(EVERYBODY.to_owned());
    }
    terms.extend(access.groups().iter().map(|group| group_term(group)));
    terms.extend(access.users().iter().map(|user| user_term(user)));
    terms
}

fn group_term(group: &str) -> String {
    format!("access.group={group}")
}

fn user_term(user: &str) -> String {
    format!("access.user={user}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::newest_rights::NewestRights;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn access(groups: &[&str], users: &[&str]) -> Access {
        Access {
            groups: (!groups.is_empty()).then(|| names(groups)),
            users: (!users.is_empty()).then(|| names(users)),
        }
    }

    /// What lists that are there and empty say.
    fn nobody() -> [Access; 3] {
        [(true, false), (false, true), (true, true)].map(|(groups, users)| Access {
            groups: groups.then(Vec::new),
            users: users.then(Vec::new),
        })
    }

    /// All that can be said of a document, times levels.
    fn all() -> Vec<(Option<Access>, u8)> {
        let said = [
            None,
            Some(access(&[], &[])),
            Some(access(&["a"], &[])),
            Some(access(&["b", "甲"], &[])),
            Some(access(&[], &["u"])),
            Some(access(&["a"], &["u"])),
            Some(Access {
                groups: Some(Vec::new()),
                users: Some(names(&["u"])),
            }),
        ];
        let said = said.into_iter().chain(nobody().map(Some));
        let with_levels = |said: &Option<Access>| [0, 1, 255].map(|level| (said.clone(), level));
        said.flat_map(|said| with_levels(&said)).collect()
    }

    fn viewers() -> Vec<Viewer> {
        let groups: [&[&str]; 4] = [&[], &["a"], &["甲", "c"], &["u"]];
        let mut viewers = vec![Viewer::nobody()];
        for groups in groups {
            for (user, clearance, sees_unstated) in [
                (None, 0, false),
                (Some("u"), 1, true),
                (Some("a"), 255, false),
            ] {
                viewers.push(Viewer {
                    groups: names(groups),
                    user: user.map(str::to_owned),
                    clearance,
                    sees_unstated,
                    ..Viewer::default()
                });
            }
        }
        viewers
    }

    #[test]
    fn a_group_or_user_that_is_named_and_the_level_decide() {
        let viewer = Viewer {
            groups: names(&["a"]),
            user: Some("u".into()),
            clearance: 1,
            ..Viewer::default()
        };
        let table = [
            (None, 0, false),
            (Some(access(&[], &[])), 0, true),
            (Some(access(&[], &[])), 2, false),
            (Some(access(&["a", "b"], &[])), 1, true),
            (Some(access(&["a", "b"], &[])), 2, false),
            (Some(access(&["b"], &[])), 0, false),
            (Some(access(&["A"], &[])), 0, false),
            (Some(access(&["b"], &["u"])), 0, true),
            (Some(access(&["u"], &["a"])), 0, false),
        ];
        for (access, level, expected) in table {
            assert_eq!(viewer.sees(access.as_ref(), level), expected, "{access:?}");
        }
        assert!(!viewer.sees_rights(None), "not decided yet");
        let lenient = Viewer {
            sees_unstated: true,
            ..viewer
        };
        assert!(lenient.sees(None, 1) && !lenient.sees(None, 2));
        assert!(!lenient.sees_rights(None));
    }

    #[test]
    fn an_empty_list_is_for_nobody_also_after_it_was_kept() {
        for viewer in viewers() {
            for access in nobody() {
                assert!(!viewer.sees(Some(&access), 0), "{viewer:?} {access:?}");
                let kept = serde_json::to_string(&access).unwrap();
                assert_eq!(access, serde_json::from_str(&kept).unwrap(), "{kept}");
            }
        }
        let everybody: Access = serde_json::from_str("{}").unwrap();
        assert!(everybody.is_for_everybody());
        assert!(serde_json::from_str::<Access>(r#"{"groups": null}"#).is_err());
    }

    #[test]
    fn terms_and_predicate_say_the_same() {
        for viewer in viewers() {
            for (access, level) in all() {
                let terms = terms(access.as_ref());
                let carries_one = viewer.terms().iter().any(|term| terms.contains(term));
                let is_unstated = viewer
                    .stated_term()
                    .is_some_and(|stated| !terms.iter().any(|term| term == stated));
                let found = (carries_one || is_unstated) && level <= viewer.clearance;
                assert_eq!(
                    found,
                    viewer.sees(access.as_ref(), level),
                    "{viewer:?} {access:?} {level}"
                );
            }
        }
    }

    struct OnTheWay(DocumentRights);

    impl NewestRights for OnTheWay {
        fn beside(&self, document_id: &str, _: u64) -> Newer {
            match document_id {
                "d" => Newer::Rights(Arc::new(self.0.clone())),
                "gone" => Newer::Deletion,
                _ => Newer::Nothing,
            }
        }

        fn withheld(&self, _: &Viewer) -> Vec<String> {
            Vec::new()
        }

        fn is_any_on_the_way(&self) -> bool {
            true
        }

        fn age(&self) -> std::time::Duration {
            std::time::Duration::ZERO
        }
    }

    fn rule(heading: &str, security_level: u8) -> SectionLevel {
        SectionLevel {
            heading: heading.to_owned(),
            security_level,
        }
    }

    /// Whether a viewer of group `a` and clearance 1 sees what the index has for everybody, with a
    /// rule for sections of level 2.
    fn sees_beside(newest: DocumentRights, document_id: &str) -> bool {
        let viewer = Viewer {
            groups: names(&["a"]),
            clearance: 1,
            newest: SharedNewestRights::new(Arc::new(OnTheWay(newest))),
            ..Viewer::default()
        };
        viewer.sees_document(&DocumentHeader {
            document_id: document_id.to_owned(),
            attributes: Attributes {
                access: Some(access(&[], &[])),
                section_levels: Some(vec![rule("known", 2)]),
                ..Attributes::default()
            },
            ..DocumentHeader::default()
        })
    }

    #[test]
    fn narrower_rights_on_their_way_hold_beside_those_of_the_index() {
        let rights = |access, security_level, section_levels: &[SectionLevel]| DocumentRights {
            access,
            security_level,
            section_levels: section_levels.to_vec(),
        };
        let (ours, theirs) = (Some(access(&["a"], &[])), Some(access(&["b"], &[])));
        let table = [
            (rights(ours.clone(), 1, &[]), true),
            (rights(theirs.clone(), 0, &[]), false),
            (rights(ours.clone(), 2, &[]), false),
            (rights(None, 0, &[]), false),
            (rights(ours.clone(), 0, &[rule("known", 2)]), true),
            (rights(ours.clone(), 0, &[rule("new", 1)]), true),
            (rights(ours.clone(), 0, &[rule("new", 2)]), false),
            (rights(ours, 0, &[rule("known", 3)]), false),
        ];
        for (newest, expected) in table {
            assert_eq!(sees_beside(newest.clone(), "d"), expected, "{newest:?}");
        }
        assert!(sees_beside(rights(theirs, 9, &[]), "another"));
        assert!(!sees_beside(DocumentRights::default(), "gone"));
    }

    #[test]
    fn wider_rights_on_their_way_open_nothing() {
        let open = DocumentRights::stated(&Attributes {
            access: Some(access(&[], &[])),
            ..Attributes::default()
        });
        let viewer = Viewer {
            newest: SharedNewestRights::new(Arc::new(OnTheWay(open))),
            ..Viewer::default()
        };
        let closed = DocumentHeader {
            document_id: "d".to_owned(),
            attributes: Attributes {
                access: Some(access(&["b"], &[])),
                ..Attributes::default()
            },
            ..DocumentHeader::default()
        };
        assert!(!viewer.sees_document(&closed));
    }

    #[test]
    fn names_have_limits() {
        assert!(access(&["a"], &["u"]).check().is_ok());
        assert!(access(&[" "], &[]).check().is_err());
        assert!(access(&[], &[&"x".repeat(257)]).check().is_err());
        assert!(access(&["a"; 257], &[]).check().is_err());
    }
}
