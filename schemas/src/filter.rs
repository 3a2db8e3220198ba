//! The one filter that every keyword and vector query of tier 1 carries, and the index terms it is
//! made of.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{self, Viewer};
use crate::near_duplicate::Duplicate;
use crate::{Chunk, ChunkKind, DocumentHeader, names, strict};

/// Which chunks a query may see. Conditions are joined by AND, the values of one condition by OR.
///
/// It fails closed: `None` sets no condition, an empty list matches nothing, and a document without
/// the attribute does not match a condition on it. `null` is refused: a variable without a value
/// must not open everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// Member of any of these knowledge sets.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub knowledge_sets: Option<Vec<String>>,
    /// Has any of these tags.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub tags: Option<Vec<String>>,
    /// From any of these sources.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub sources: Option<Vec<String>>,
    /// About any of these products.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub products: Option<Vec<String>>,
    /// About any of these product versions.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub product_versions: Option<Vec<String>>,
    /// In any of these languages.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub languages: Option<Vec<String>>,
    /// For each of these attributes any of its values: `department`, `domain`, `organization`,
    /// `author` and those that producers and profiles give by names of their own, such as
    /// `{"category": ["api", "faq"]}`. Documents that were indexed before this condition existed meet it
    /// after a reindex.
    #[serde(
        default,
        deserialize_with = "strict::given_distinct",
        skip_serializing_if = "Option::is_none"
    )]
    pub attributes: Option<BTreeMap<String, Vec<String>>>,
    /// Any of these documents, each by its id or by `source/path`.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub document_ids: Option<Vec<String>>,
    /// Any of these kinds of chunks, such as `faq` or `code_function`. Documents that were indexed
    /// before this condition existed meet it after a reindex.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub kinds: Option<Vec<ChunkKind>>,
    /// Updated at this time or later, milliseconds since 1970.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub updated_from_ms: Option<i64>,
    /// Updated before this time, milliseconds since 1970.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub updated_before_ms: Option<i64>,
    /// Security level at most this.
    #[serde(
        default,
        deserialize_with = "strict::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_security_level: Option<u8>,
    /// Further conditions on documents that hold beside these: what a workflow of the server
    /// narrows a search to. They are never read from a request. Of each the conditions on sets,
    /// tags, sources, products, versions, languages, attributes and documents count.
    #[serde(skip)]
    #[schemars(skip)]
    pub within: Vec<Filter>,
    /// Shows one of these pictures, named as chunks name them. Never read from a request.
    #[serde(skip)]
    #[schemars(skip)]
    pub images: Option<Vec<String>>,
    /// Of documents with any of these names, as terms, see [`names::terms_of_name`]. Documents that
    /// were indexed before this condition existed meet it after a reindex. Never read from a request.
    #[serde(skip)]
    #[schemars(skip)]
    pub names: Option<Vec<String>>,
    /// Whose rights hold beside all conditions; nobody's for `None`. Never read from a request.
    #[serde(skip)]
    #[schemars(skip)]
    pub viewer: Option<Viewer>,
}

impl Filter {
    /// This filter, narrowed to what another one allows too.
    pub fn narrowed_to(mut self, other: Filter) -> Self {
        if !other.is_unrestricted() {
            self.within.push(other);
        }
        self
    }

    /// Whether it sets no condition at all.
    pub fn is_unrestricted(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a document by itself, whatever duplicates it, meets every condition on documents;
    /// that on kinds of chunks is none.
    pub fn allows(&self, document: &DocumentHeader) -> bool {
        let terms = document_terms(document);
        let attributes = &document.attributes;
        let updated = |holds: &dyn Fn(i64) -> bool| attributes.updated_at.is_some_and(holds);
        self.document_conditions()
            .iter()
            .all(|any| any.iter().any(|term| terms.contains(term)))
            && self
                .updated_from_ms
                .is_none_or(|from| updated(&|at| at >= from))
            && self
                .updated_before_ms
                .is_none_or(|before| updated(&|at| at < before))
            && self
                .viewer
                .as_ref()
                .is_none_or(|viewer| viewer.sees_document(document))
            && self.max_security_level.is_none_or(|maximum| {
                attributes
                    .security_level
                    .is_some_and(|level| level <= maximum)
            })
    }

    /// Whether an index may find something that may not leave: then what it counts is not told, and
    /// nothing that is not found is certain not to be there.
    pub fn may_be_withheld(&self) -> bool {
        self.viewer.as_ref().is_some_and(Viewer::may_be_withheld)
    }

    /// Whether a chunk of this security level may be seen, in a document that is allowed; one
    /// without a level of its own may.
    pub fn allows_level(&self, level: Option<u8>) -> bool {
        let Some(level) = level else {
            return true;
        };
        let clearance = self.viewer.as_ref().map(|viewer| viewer.clearance);
        let maximums = [clearance, self.max_security_level];
        maximums.into_iter().flatten().all(|most| level <= most)
    }

    /// Whether all of a document may be seen, every section included: for what is not divided by
    /// sections, such as its file.
    pub fn allows_whole(&self, document: &DocumentHeader) -> bool {
        self.allows(document) && self.allows_level(Some(document.highest_level()))
    }

    /// The conditions on terms of chunks, rights aside: each inner list is joined by OR, the outer by AND. An
    /// empty inner list matches nothing.
    pub fn term_conditions(&self) -> Vec<Vec<String>> {
        let kinds = self.kinds.as_ref();
        let kinds = kinds.map(|kinds| kinds.iter().map(|kind| kind_term(*kind)).collect());
        let images = self.images.as_ref();
        let images = images.map(|images| images.iter().map(|image| term("image", image)).collect());
        let documents = self.document_conditions();
        let of_chunks = kinds.into_iter().chain(images).chain(self.names.clone());
        documents.into_iter().chain(of_chunks).collect()
    }

    fn document_conditions(&self) -> Vec<Vec<String>> {
        let conditions = [
            ("set", &self.knowledge_sets),
            ("tag", &self.tags),
            ("source", &self.sources),
            ("product", &self.products),
            ("product_version", &self.product_versions),
            ("language", &self.languages),
            ("document", &self.document_ids),
        ];
        let named = conditions.into_iter().filter_map(|(name, values)| {
            values
                .as_ref()
                .map(|values| values.iter().map(|value| term(name, value)).collect())
        });
        let attributes = self.attributes.iter().flatten().map(|(name, values)| {
            let values = values.iter();
            values.map(|value| attribute_term(name, value)).collect()
        });
        let within = self.within.iter().flat_map(Self::document_conditions);
        named.chain(attributes).chain(within).collect()
    }
}

/// The term of the chunks of a document.
pub(crate) fn document_term(document_id: &str) -> String {
    term("document", document_id)
}

/// The terms under which a document's chunks are found by [`Filter::term_conditions`]: its own and
/// those of the exact duplicates that it stands for. Whether one of them alone meets all conditions
/// is for [`Filter::allows`] to say.
pub fn document_terms(document: &DocumentHeader) -> Vec<String> {
    let attributes = &document.attributes;
    let mut terms = vec![
        document_term(&document.document_id),
        term("source", &document.source),
    ];
    terms.extend(document.knowledge_sets.iter().map(|set| term("set", set)));
    terms.extend(document.tags.iter().map(|tag| term("tag", tag)));
    terms.extend(
        attributes
            .product
            .iter()
            .map(|product| term("product", product)),
    );
    terms.extend(
        attributes
            .product_version
            .iter()
            .map(|version| term("product_version", version)),
    );
    terms.extend(
        attributes
            .language
            .iter()
            .map(|language| term("language", language)),
    );
    // Exact duplicates have the same.
    let conditions = attributes.conditions();
    terms.extend(conditions.map(|(name, value)| attribute_term(name, value)));
    // Exact duplicates have the same rights: they are among what makes them duplicates.
    terms.extend(access::terms(attributes.access.as_ref()));
    terms.extend(document.duplicates.iter().flat_map(duplicate_terms));
    terms
}

/// The terms that an exact duplicate adds: its attributes are those of the document.
fn duplicate_terms(duplicate: &Duplicate) -> Vec<String> {
    let mut terms = vec![
        term("document", &duplicate.document_id),
        term("source", &duplicate.source),
    ];
    terms.extend(duplicate.knowledge_sets.iter().map(|set| term("set", set)));
    terms.extend(duplicate.tags.iter().map(|tag| term("tag", tag)));
    terms
}

/// Beside [`document_terms`] the terms of a document's names, and of those of its exact duplicates:
/// what an index keeps for each of its chunks.
pub fn indexed_terms(document: &DocumentHeader) -> Vec<String> {
    let mut terms = document_terms(document);
    terms.extend(names::terms(document));
    terms
}

/// The terms of a chunk that [`document_terms`] of its document do not have: of its kind and its
/// pictures.
pub fn chunk_terms(chunk: &Chunk) -> impl Iterator<Item = String> + '_ {
    let images = chunk.images.iter().map(|image| term("image", image));
    std::iter::once(kind_term(chunk.kind)).chain(images)
}

fn kind_term(kind: ChunkKind) -> String {
    term("kind", kind.as_str())
}

fn attribute_term(name: &str, value: &str) -> String {
    format!("attribute.{name}={value}")
}

fn term(name: &str, value: &str) -> String {
    format!("{name}={value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_without_values_stays_a_condition() {
        let filter = Filter {
            knowledge_sets: Some(vec![]),
            sources: Some(vec!["wiki".into()]),
            ..Filter::default()
        };
        assert_eq!(
            filter.term_conditions(),
            vec![vec![], vec!["source=wiki".to_owned()]]
        );
        assert!(!filter.is_unrestricted());
        assert!(Filter::default().is_unrestricted());
    }

    #[test]
    fn what_narrows_a_filter_holds_beside_its_own_conditions() {
        let sets = |names: &[&str]| Filter {
            knowledge_sets: Some(names.iter().map(|name| (*name).to_owned()).collect()),
            ..Filter::default()
        };
        let narrowed = sets(&["faults"]).narrowed_to(sets(&["api"]));
        let document = |names: &[&str]| DocumentHeader {
            knowledge_sets: names.iter().map(|name| (*name).to_owned()).collect(),
            ..DocumentHeader::default()
        };
        assert!(narrowed.allows(&document(&["faults", "api"])));
        assert!(!narrowed.allows(&document(&["faults"])) && !narrowed.allows(&document(&["api"])));
        assert_eq!(narrowed.term_conditions().len(), 2);
        assert!(!Filter::default().narrowed_to(sets(&[])).is_unrestricted());
        let sent = serde_json::json!(narrowed);
        assert_eq!(sent["knowledge_sets"], serde_json::json!(["faults"]));
        assert!(sent.get("within").is_none());
        let read = serde_json::from_str::<Filter>(r#"{"within": []}"#);
        assert!(read.is_err(), "it is never read from a request");
    }

    #[test]
    fn every_condition_finds_the_document_it_describes() {
        let document = DocumentHeader {
            document_id: "d".into(),
            source: "s".into(),
            tags: vec!["t".into()],
            ..DocumentHeader::default()
        };
        let filter = Filter {
            tags: Some(vec!["t".into()]),
            document_ids: Some(vec!["d".into()]),
            ..Filter::default()
        };
        let terms = document_terms(&document);
        assert!(
            filter
                .term_conditions()
                .iter()
                .all(|any| any.iter().any(|term| terms.contains(term)))
        );
        assert!(filter.allows(&document));
    }

    #[test]
    fn attributes_of_any_name_are_asked_for() {
        let mut document = DocumentHeader::default();
        document.attributes.department = Some("RAN".into());
        document.attributes.custom = BTreeMap::from([
            ("category".into(), "api".into()),
            ("department".into(), "Core".into()),
        ]);
        let allows = |name: &str, values: &[&str]| {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            let filter = Filter {
                attributes: Some(BTreeMap::from([(name.to_owned(), values)])),
                ..Filter::default()
            };
            assert!(!filter.is_unrestricted());
            filter.allows(&document)
        };
        assert!(allows("category", &["faq", "api"]) && allows("department", &["RAN"]));
        assert!(!allows("department", &["Core"]), "of its own name alone");
        assert!(!allows("category", &["faq"]) && !allows("category", &[]));
        assert!(!allows("room", &["3"]) && !allows("organization", &["RAN"]));
        let filter = Filter {
            attributes: Some(BTreeMap::new()),
            ..Filter::default()
        };
        assert!(filter.allows(&document), "no attribute is asked for");
    }

    #[test]
    fn a_document_must_meet_every_condition_by_itself() {
        let document = |id: &str, tag: &str, set: &str| DocumentHeader {
            document_id: id.into(),
            tags: vec![tag.into()],
            knowledge_sets: vec![set.into()],
            ..DocumentHeader::default()
        };
        let other = document("b", "y", "t").as_duplicate();
        let canonical = DocumentHeader {
            duplicates: vec![other],
            ..document("a", "x", "s")
        };
        let allowed = |tag: &str, set: &str| {
            let filter = Filter {
                tags: Some(vec![tag.into()]),
                knowledge_sets: Some(vec![set.into()]),
                ..Filter::default()
            };
            let members: Vec<String> = canonical
                .members()
                .into_iter()
                .filter(|member| filter.allows(member))
                .map(|member| member.document_id)
                .collect();
            (filter.allows(&canonical), members)
        };
        assert_eq!(allowed("x", "s"), (true, vec!["a".to_owned()]));
        assert_eq!(allowed("y", "t"), (true, vec!["b".to_owned()]));
        assert_eq!(
            allowed("x", "t"),
            (true, vec![]),
            "by the terms of two documents, by neither alone"
        );
    }

    #[test]
    fn a_document_without_the_attribute_is_not_allowed() {
        let mut document = DocumentHeader::default();
        let filters = [
            Filter {
                max_security_level: Some(3),
                ..Filter::default()
            },
            Filter {
                updated_from_ms: Some(5),
                ..Filter::default()
            },
            Filter {
                updated_before_ms: Some(6),
                ..Filter::default()
            },
        ];
        assert!(filters.iter().all(|filter| !filter.allows(&document)));
        (
            document.attributes.security_level,
            document.attributes.updated_at,
        ) = (Some(3), Some(5));
        assert!(filters.iter().all(|filter| filter.allows(&document)));
        (
            document.attributes.security_level,
            document.attributes.updated_at,
        ) = (Some(4), Some(6));
        assert!(
            filters
                .iter()
                .all(|filter| !filter.allows(&document) || *filter == filters[1])
        );
    }
}
