//! The attributes that a producer may give a document (W12: base and management groups).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a producer says about a document beside its content. Unknown names are refused; free ones go into `custom`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attributes {
    /// Who wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Where a reader finds the original.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Product that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// Version of that product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product_version: Option<String>,
    /// Department that owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub department: Option<String>,
    /// Subject domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Organisation (1+X+Y: the Y side).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// BCP 47 language tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Security level (密级): 0 is public, higher is stricter. A document without one is not visible to a filter that names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_level: Option<u8>,
    /// Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    /// Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
    /// Anything else, by name; tag rules can read it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub custom: BTreeMap<String, String>,
}

impl Attributes {
    /// Value of a textual attribute by name, `custom` ones included; what tag rules read.
    pub fn text(&self, name: &str) -> Option<&str> {
        let known = match name {
            "author" => &self.author,
            "link" => &self.link,
            "product" => &self.product,
            "product_version" => &self.product_version,
            "department" => &self.department,
            "domain" => &self.domain,
            "organization" => &self.organization,
            "language" => &self.language,
            other => return self.custom.get(other).map(String::as_str),
        };
        known.as_deref()
    }
}
