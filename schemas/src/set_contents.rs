//! What a knowledge set holds: the answer of `GET /v1/knowledge-sets/{id}`, beside its definition.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facets::FacetValue;

/// What can be found in one knowledge set, as far as the caller may see it. Lists name the most
/// frequent values first and end at a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetContents {
    /// Documents that can be found.
    pub documents: u64,
    /// Their chunks. An exact duplicate has none of its own.
    pub chunks: u64,
    /// By source.
    pub sources: Vec<FacetValue>,
    /// By language, where a document says it.
    pub languages: Vec<FacetValue>,
    /// By media type.
    pub media_types: Vec<FacetValue>,
    /// By tag.
    pub tags: Vec<FacetValue>,
    /// The document with the highest version, the one published last where versions are times;
    /// none in an empty set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<NewestDocument>,
}

/// The document of a set that was published last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewestDocument {
    /// Its id.
    pub document_id: String,
    /// Its version: milliseconds since 1970 at its receipt where the producer gave none.
    pub version: u64,
    /// Its title.
    pub title: String,
    /// Its source.
    pub source: String,
    /// Its path in the source.
    pub source_path: String,
}
