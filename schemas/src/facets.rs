//! What documents can be told apart by, with counts: a part of the answer of `GET /v1/facets`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value and how many documents have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FacetValue {
    /// As a filter names it.
    pub value: String,
    /// Documents that have it.
    pub documents: u64,
}

/// Values by which documents can be found, the most frequent first; each list ends at a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Facets {
    /// Documents that the caller may see.
    pub documents: u64,
    /// By knowledge set.
    pub knowledge_sets: Vec<FacetValue>,
    /// By source.
    pub sources: Vec<FacetValue>,
    /// By tag.
    pub tags: Vec<FacetValue>,
    /// By product.
    pub products: Vec<FacetValue>,
    /// By version of the product.
    pub product_versions: Vec<FacetValue>,
    /// By language.
    pub languages: Vec<FacetValue>,
    /// By security level.
    pub security_levels: Vec<FacetValue>,
}
