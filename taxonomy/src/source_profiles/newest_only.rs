//! `newest_only`: documents of a source that are versions of each other, of which only the newest
//! is to be found (design documents).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tributary_schemas::{DocumentHeader, Edition};

/// What tells the versions of one document from other documents, and which version each is. Both
/// are names of attributes or metadata that the cleaning steps, rules or the producer gave; a
/// document that lacks one of them stands for itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewestOnly {
    /// What all versions of a document have in common, such as `["versionless_path"]` or
    /// `["specification"]`.
    pub same: Vec<String>,
    /// What their order is by, such as `document_version`.
    pub version: String,
}

impl NewestOnly {
    /// What is wrong with it, for messages.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let is_blank = |name: &String| name.trim().is_empty();
        if self.same.is_empty() || self.same.iter().any(is_blank) {
            return Some("`same` names nothing, so that all documents would be versions of one");
        }
        is_blank(&self.version).then_some("`version` names nothing")
    }

    /// The edition that a cleaned document is.
    pub fn edition(
        &self,
        document: &DocumentHeader,
        metadata: &BTreeMap<String, String>,
    ) -> Option<Edition> {
        let value = |name: &String| {
            let value = metadata
                .get(name)
                .map(String::as_str)
                .or_else(|| document.attributes.text(name));
            value.map(str::trim).filter(|value| !value.is_empty())
        };
        let common: Option<Vec<&str>> = self.same.iter().map(value).collect();
        Edition::new(&document.source, &common?, value(&self.version)?)
    }
}
