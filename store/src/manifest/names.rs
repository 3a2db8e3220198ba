//! Finds a document by what people call it: `source/path`. Where there is none of that name, those
//! with names like it.

use std::cmp::Reverse;

use tributary_schemas::{Error, ErrorKind, State, limits};

use super::rows::Glance;
use super::standing::{Standing, Told};
use super::table::DocumentTable;

/// Names that are proposed for one that nothing has.
const PROPOSALS: usize = 3;
/// Share of a name that must be the same at both ends, in hundredths, for a proposal.
const ALIKE: usize = 70;

/// Longest name of a document, in bytes.
const LONGEST_NAME: usize = limits::SOURCE_BYTES + limits::SOURCE_PATH_BYTES + 1;

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// One document, by id.
    One(String),
    /// Several, by id.
    Several(Vec<String>),
    /// None; names like it, the most alike first.
    None(Vec<String>),
}

/// The document of this source and path, of those that may be seen. One that is deleted has
/// the name only where no other has.
pub(super) fn find(
    table: &DocumentTable,
    name: &str,
    told: impl Fn(Standing<'_>) -> Option<Told>,
) -> Named {
    let (mut present, mut deleted) = (Vec::new(), Vec::new());
    // Without a slash it cannot be one.
    if name.contains('/') {
        table.glance(|glance| {
            let told = told(glance.standing).map(|told| glance.told(told));
            if let Some(glance) = told.filter(|glance| is_name(name, glance)) {
                let found = match glance.state {
                    State::Deleted => &mut deleted,
                    _ => &mut present,
                };
                found.push(glance.document_id.to_owned());
            }
        });
    }
    let found = if present.is_empty() { deleted } else { present };
    match found.len() {
        0 => Named::None(alike(table, name, told)),
        1 => Named::One(found.into_iter().collect()),
        _ => Named::Several(found),
    }
}

fn is_name(name: &str, glance: &Glance<'_>) -> bool {
    let path = name
        .strip_prefix(glance.source)
        .and_then(|rest| rest.strip_prefix('/'));
    path == Some(glance.source_path)
}

fn alike(
    table: &DocumentTable,
    name: &str,
    told: impl Fn(Standing<'_>) -> Option<Told>,
) -> Vec<String> {
    if name.len() > LONGEST_NAME {
        return Vec::new();
    }
    let small = name.to_lowercase();
    let mut best: Vec<(Reverse<usize>, String)> = Vec::new();
    table.glance(|glance| {
        let told = told(glance.standing).map(|told| glance.told(told));
        let is_named =
            |glance: &Glance<'_>| !glance.source_path.is_empty() && glance.state != State::Deleted;
        let Some(glance) = told.filter(is_named) else {
            return;
        };
        let place = format!("{}/{}", glance.source, glance.source_path);
        let score = likeness(&small, &place.to_lowercase());
        if score > 0 {
            best.push((Reverse(score), place));
            best.sort();
            best.truncate(PROPOSALS);
        }
    });
    best.into_iter().map(|(_, place)| place).collect()
}

/// How much a place is like a name, both in small letters; 0 for not at all. A path without its
/// beginning counts most, then the same file elsewhere, then a few letters that differ.
fn likeness(name: &str, place: &str) -> usize {
    let file = |path: &str| path.rsplit('/').next().map(str::to_owned);
    if place.ends_with(&format!("/{name}")) {
        return 300;
    }
    let same = common_ends(name, place);
    if file(name) == file(place) {
        return 200 + same;
    }
    if same >= ALIKE { 100 + same } else { 0 }
}

/// Share of the longer text that is the same at both ends, in hundredths.
fn common_ends(left: &str, right: &str) -> usize {
    let count = |text: &str| text.chars().count();
    let (shorter, longer) = (
        count(left).min(count(right)),
        count(left).max(count(right)).max(1),
    );
    let start = left
        .chars()
        .zip(right.chars())
        .take_while(|(left, right)| left == right)
        .count();
    let end = left
        .chars()
        .rev()
        .zip(right.chars().rev())
        .take(shorter - start)
        .take_while(|(left, right)| left == right)
        .count();
    (start + end) * 100 / longer
}

impl Named {
    /// The id; `Invalid` where several have the name, `NotFound` where none has.
    pub fn id(self, name: &str) -> Result<String, Error> {
        let quoted = |names: &[String]| {
            let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            quoted.join(" or ")
        };
        match self {
            Self::One(document_id) => Ok(document_id),
            Self::Several(ids) => Err(Error::new(
                ErrorKind::Invalid,
                format!("{} documents are called `{name:.200}`", ids.len()),
            )
            .with_hint(format!("name one by its id: {}", quoted(&ids)))),
            Self::None(near) => {
                let unknown = Error::new(
                    ErrorKind::NotFound,
                    format!("no document has the id or the name `{name:.200}`"),
                );
                Err(if near.is_empty() {
                    unknown
                } else {
                    unknown.with_hint(format!("did you mean {}?", quoted(&near)))
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tributary_schemas::{DocumentHeader, DocumentState};

    use super::*;
    use crate::manifest::report;

    fn document(id: &str, source: &str, path: &str, state: State) -> DocumentState {
        let header = DocumentHeader {
            document_id: id.into(),
            version: 1,
            source: source.into(),
            source_path: path.into(),
            ..DocumentHeader::default()
        };
        report(&header, state, 0)
    }

    fn table() -> DocumentTable {
        DocumentTable::with_reports(&[
            document("1", "hb", "radio/tilt.md", State::Indexed),
            document("2", "hb", "tilt.md", State::Deleted),
            document("3", "hb", "tilt.md", State::Indexed),
            document("4", "a/b", "c.md", State::Indexed),
            document("5", "a", "b/c.md", State::Dead),
            document("6", "hb", "载波聚合.md", State::Indexed),
            document("7", "gone", "x.md", State::Deleted),
        ])
    }

    #[test]
    fn a_name_is_one_document_or_says_which() {
        let cases = [
            ("hb/radio/tilt.md", Named::One("1".into())),
            ("hb/tilt.md", Named::One("3".into())),
            ("a/b/c.md", Named::Several(vec!["4".into(), "5".into()])),
            ("hb/载波聚合.md", Named::One("6".into())),
            ("gone/x.md", Named::One("7".into())),
        ];
        for (name, expected) in cases {
            assert_eq!(
                find(&table(), name, |_| Some(Told::ALL)),
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn names_like_an_unknown_one_are_proposed() {
        let near = |name: &str| match find(&table(), name, |_| Some(Told::ALL)) {
            Named::None(near) => near,
            found => vec![format!("{found:?}")],
        };
        assert_eq!(near("radio/tilt.md"), ["hb/radio/tilt.md", "hb/tilt.md"]);
        assert_eq!(near("hb/radio/tild.md"), ["hb/radio/tilt.md"]);
        assert_eq!(near("Tilt.md"), ["hb/radio/tilt.md", "hb/tilt.md"]);
        assert_eq!(near("hb/载波聚和.md"), ["hb/载波聚合.md"]);
        assert!(near("nothing/like/it").is_empty() && near("").is_empty());
    }
}
