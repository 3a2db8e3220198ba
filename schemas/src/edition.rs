//! Documents that are versions of one work, of which only the newest is to be found: the versions
//! of a design document, the releases of a specification. Ingest says which edition a document is,
//! the indexer lets the newest one stand; both compare with [`Edition::order`].

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::DocumentHeader;

/// Words behind a number that say that it is not finished: `2.0-rc1` comes before `2.0`.
const UNFINISHED: [&str; 7] = ["alpha", "beta", "draft", "pre", "preview", "rc", "snapshot"];

/// Which version of which work a document is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edition {
    /// Hash of the source and of what all versions have in common; the same for all of them.
    pub work: String,
    /// The version as the document names it, such as `2.1`, `V15.4.0` or `2024-05-06`.
    pub version: String,
}

impl Edition {
    /// The edition of that version; `None` for a version without a digit, which nothing can be
    /// compared with.
    pub fn new(source: &str, common: &[&str], version: &str) -> Option<Self> {
        let version = version.trim();
        if !version.contains(|character: char| character.is_ascii_digit()) {
            return None;
        }
        let mut hasher = blake3::Hasher::new();
        for part in std::iter::once(&source).chain(common) {
            // Length first, so that moving a character from one part to the next changes the hash.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Some(Self {
            work: hasher.finalize().to_hex().chars().take(32).collect(),
            version: version.to_owned(),
        })
    }

    /// Which of two editions of one work is older: numbers by value, letters by the alphabet,
    /// numbers before letters (`940` before `f40`, as 3GPP counts), a missing part as 0,
    /// unfinished versions before finished ones.
    pub fn order(&self, other: &Self) -> Ordering {
        let (own, others) = (parts(&self.version), parts(&other.version));
        for place in 0..own.len().max(others.len()) {
            let nothing = Part::Number(0);
            let (left, right) = (
                own.get(place).unwrap_or(&nothing),
                others.get(place).unwrap_or(&nothing),
            );
            match left.cmp(right) {
                Ordering::Equal => {}
                different => return different,
            }
        }
        Ordering::Equal
    }
}

/// A run of digits or of letters. The order of the variants is their order in versions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Unfinished(String),
    Number(u128),
    Letters(String),
}

fn parts(version: &str) -> Vec<Part> {
    let lower = version.to_lowercase();
    // The `v` of `v2.1` says only that a number follows.
    let lower = lower
        .strip_prefix('v')
        .filter(|rest| rest.starts_with(|next: char| next.is_ascii_digit()))
        .unwrap_or(&lower);
    let mut parts = Vec::new();
    let mut rest = lower;
    while let Some(first) = rest.chars().next() {
        let is_same = |character: char| kind(character) == kind(first);
        let end = rest
            .find(|character| !is_same(character))
            .unwrap_or(rest.len());
        let Some((run, after)) = rest.split_at_checked(end) else {
            break;
        };
        rest = after;
        parts.extend(part(kind(first), run));
    }
    parts
}

/// A run of characters of one kind; `None` if it only stands between others.
fn part(kind: Kind, run: &str) -> Option<Part> {
    match kind {
        Kind::Digits => Some(Part::Number(run.parse().unwrap_or(u128::MAX))),
        Kind::Letters if UNFINISHED.contains(&run) => Some(Part::Unfinished(run.to_owned())),
        Kind::Letters => Some(Part::Letters(run.to_owned())),
        Kind::Between => None,
    }
}

#[derive(PartialEq)]
enum Kind {
    Digits,
    Letters,
    Between,
}

fn kind(character: char) -> Kind {
    match character {
        digit if digit.is_ascii_digit() => Kind::Digits,
        letter if letter.is_alphabetic() => Kind::Letters,
        _ => Kind::Between,
    }
}

impl DocumentHeader {
    /// Which of two editions of one work stands: `Less` comes first. The newest edition, then
    /// [`DocumentHeader::canonical_order`]; a total order, so that whoever decides, decides the
    /// same. A document without an edition comes last.
    pub fn edition_order(&self, other: &Self) -> Ordering {
        let newest_first = match (&self.edition, &other.edition) {
            (Some(own), Some(other)) => other.order(own),
            (own, other) => other.is_some().cmp(&own.is_some()),
        };
        newest_first.then_with(|| self.canonical_order(other))
    }

    /// Terms of the manifest by which the editions of a work find each other.
    pub(crate) fn edition_terms(&self) -> impl Iterator<Item = String> {
        let work = self
            .edition
            .as_ref()
            .map(|edition| work_term(&edition.work));
        let superseded_by = self.superseded_by.as_deref().map(superseded_term);
        work.into_iter().chain(superseded_by)
    }
}

/// Carried by all editions of a work.
pub fn work_term(work: &str) -> String {
    format!("work={work}")
}

/// Carried by documents that step aside for this one.
pub fn superseded_term(newest: &str) -> String {
    format!("superseded_by={newest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edition(version: &str) -> Edition {
        Edition::new("design", &["载波聚合"], version)
            .unwrap_or_else(|| panic!("{version} is no version"))
    }

    #[test]
    fn versions_are_ordered_as_people_count() {
        for (older, newer) in [
            ("1.9", "1.10"),
            ("2", "2.0.1"),
            ("V2.1", "v10"),
            ("R15", "R16"),
            ("f40", "g20"),
            ("940", "f40"),
            ("15.4.0", "15.10.0"),
            ("2.0-rc1", "2.0"),
            ("2.0-alpha", "2.0-rc1"),
            ("2023-12-31", "2024-01-01"),
            ("20240101", "20240102"),
        ] {
            assert_eq!(
                edition(older).order(&edition(newer)),
                Ordering::Less,
                "{older} {newer}"
            );
            assert_eq!(
                edition(newer).order(&edition(older)),
                Ordering::Greater,
                "{newer} {older}"
            );
        }
        for (left, right) in [("2", "2.0"), ("V2.1", "2.1"), ("1_2", "1.2")] {
            assert_eq!(
                edition(left).order(&edition(right)),
                Ordering::Equal,
                "{left} {right}"
            );
        }
    }

    #[test]
    fn a_work_is_its_source_and_what_its_versions_share() {
        assert_eq!(edition("1").work, edition("2").work);
        assert_ne!(
            edition("1").work,
            Edition::new("wiki", &["载波聚合"], "1")
                .unwrap_or_default()
                .work
        );
        assert_ne!(
            Edition::new("a", &["b", "c"], "1"),
            Edition::new("a", &["bc"], "1")
        );
        assert_eq!(Edition::new("design", &["x"], "final"), None);
    }

    #[test]
    fn of_equal_editions_the_newest_document_stands() {
        let document = |id: &str, version, edition: Option<Edition>| DocumentHeader {
            document_id: id.into(),
            version,
            edition,
            ..DocumentHeader::default()
        };
        let mut documents = [
            document("none", 9, None),
            document("old", 8, Some(edition("1"))),
            document("a", 1, Some(edition("2"))),
            document("b", 2, Some(edition("2.0"))),
        ];
        documents.sort_by(DocumentHeader::edition_order);
        assert_eq!(
            documents.map(|document| document.document_id),
            ["b", "a", "old", "none"]
        );
    }
}
