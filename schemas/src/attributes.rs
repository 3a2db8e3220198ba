//! The attributes that a producer may give a document.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Access, SectionLevel, limits, strict};

/// What a producer says about a document beside its content. Unknown names are refused; free ones
/// go into `custom`. A value has at most 4096 bytes, names and values of all attributes together
/// 65536.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attributes {
    /// Who wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::ATTRIBUTE_BYTES))]
    pub author: Option<String>,
    /// Where a reader finds the original.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::ATTRIBUTE_BYTES))]
    pub link: Option<String>,
    /// Product that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::ATTRIBUTE_BYTES))]
    pub product: Option<String>,
    /// Version of that product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::ATTRIBUTE_BYTES))]
    pub product_version: Option<String>,
    /// Department that owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::ATTRIBUTE_BYTES))]
    pub department: Option<String>,
    /// Subject domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::ATTRIBUTE_BYTES))]
    pub domain: Option<String>,
    /// Organisation (1+X+Y: the Y side).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::ATTRIBUTE_BYTES))]
    pub organization: Option<String>,
    /// BCP 47 language tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::ATTRIBUTE_BYTES))]
    pub language: Option<String>,
    /// Security level (密级): 0 is public, higher is stricter. A document without one is not
    /// visible to a filter that names one. Where API keys are wanted, only those see it whose
    /// clearance is as high; without one it is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_level: Option<u8>,
    /// Who may see it, where API keys are wanted. With `{}` everybody who may read; where it is
    /// absent, whom the server's setting `documents_without_access` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Access>,
    /// Rules that give sections security levels above the document's, by their headings. At most
    /// 64. They hold where API keys are wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::SECTION_LEVELS))]
    pub section_levels: Option<Vec<SectionLevel>>,
    /// Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    /// Milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<i64>,
    /// Anything else, by name; tag rules can read it. At most 256 of them, names of at most 256
    /// bytes.
    #[serde(
        default,
        deserialize_with = "strict::distinct",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    #[schemars(extend("maxProperties" = limits::CUSTOM_ATTRIBUTES))]
    pub custom: BTreeMap<String, String>,
}

/// Names of the attributes that are no `custom` ones.
const OWN: [&str; 13] = [
    "author",
    "link",
    "product",
    "product_version",
    "department",
    "domain",
    "organization",
    "language",
    "security_level",
    "access",
    "section_levels",
    "created_at",
    "updated_at",
];

/// Whether a custom attribute of this name could pass for one of [`Attributes`]' own.
pub fn is_own_name(name: &str) -> bool {
    OWN.contains(&name)
}

impl Attributes {
    /// The rules that give sections security levels.
    pub fn section_rules(&self) -> &[SectionLevel] {
        self.section_levels.as_deref().unwrap_or_default()
    }

    /// Raises the security level to at least this one.
    pub fn raise_security_level(&mut self, least: u8) {
        self.security_level = self.security_level.max(Some(least));
    }

    /// The textual attributes that have a value, by name; `custom` ones are not among them.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let named = [
            ("author", &self.author),
            ("link", &self.link),
            ("product", &self.product),
            ("product_version", &self.product_version),
            ("department", &self.department),
            ("domain", &self.domain),
            ("organization", &self.organization),
            ("language", &self.language),
        ];
        named
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
    }

    /// What a filter's condition on attributes can ask for, by name. A link is one document's alone;
    /// what a custom attribute says must not pass for what the producer says by the same name.
    pub fn conditions(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self
            .texts()
            .map(|(name, value)| -> (&str, &str) { (name, value) });
        let own = own.filter(|(name, _)| *name != "link");
        let custom = self.custom.iter().filter(|(name, _)| !is_own_name(name));
        own.chain(custom.map(|(name, value)| (name.as_str(), value.as_str())))
    }

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
