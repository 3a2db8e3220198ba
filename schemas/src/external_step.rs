//! What is said between ingest and a cleaning step that is a service of a team's own: one request
//! for a document, and what the service changes of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::attributes::is_own_name;
use crate::document::TABLES_DATABASE;
use crate::{Attributes, Error, ErrorKind, Result, limits};

/// The body of the `POST`: a document as all cleaning steps before left it. Unknown fields are to
/// be passed over: later versions may say more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExternalRequest {
    /// Stable id; the answer repeats it.
    pub document_id: String,
    /// Version of the document; the answer repeats it.
    pub version: u64,
    /// Name of the source.
    pub source: String,
    /// Path or URL within the source; empty when the producer gave none.
    #[serde(default)]
    pub source_path: String,
    /// Detected media type of what was published.
    #[serde(default)]
    pub media_type: String,
    /// Title, never empty.
    pub title: String,
    /// The text. A form feed stands before each page but the first.
    pub markdown: String,
    /// What the producer, the profile and the document itself say.
    #[serde(default)]
    pub attributes: Attributes,
    /// Metadata found so far.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// Tags so far: those of services before. Tags from rules come later.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// The answer: what the service changes. What it leaves out stays as it is; an unknown field is
/// refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExternalReply {
    /// That of the request.
    pub document_id: String,
    /// That of the request.
    pub version: u64,
    /// Another title, not blank. At most 4096 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = limits::TITLE_BYTES))]
    pub title: Option<String>,
    /// Another text. Pages begin where it has form feeds; a blank one means that nothing is left of
    /// the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
    /// Other attributes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<ReplyAttributes>,
    /// Metadata by name: a new value, or null to remove it. `tables_database` stays as it is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Option<String>>,
    /// Tags that the document gets beside those that it has. At most 256 of at most 256 bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::KNOWLEDGE_SETS))]
    pub tags: Vec<String>,
}

/// Attributes that a service may change: those of the organisation's own. The others say who may see
/// a document and whose it is, which is the producer's to say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplyAttributes {
    /// Custom attributes by name: a new value, or null to remove it.
    #[serde(default)]
    pub custom: BTreeMap<String, Option<String>>,
}

impl ExternalReply {
    /// `Invalid` for an answer about another document or version, or with values that no document
    /// may have.
    pub fn check(&self, request: &ExternalRequest) -> Result<()> {
        if self.document_id != request.document_id {
            let other: String = self.document_id.chars().take(80).collect();
            return Err(invalid(format!("is about another document, `{other}`")));
        }
        if self.version != request.version {
            let (other, asked) = (self.version, request.version);
            return Err(invalid(format!(
                "is about version {other} instead of {asked}"
            )));
        }
        let title = self.title.as_deref();
        if title.is_some_and(|title| title.trim().is_empty()) {
            return Err(invalid("has a blank title".to_owned()));
        }
        if title.is_some_and(|title| title.len() > limits::TITLE_BYTES) {
            let limit = limits::TITLE_BYTES;
            return Err(invalid(format!("has a title of more than {limit} bytes")));
        }
        if self.metadata.contains_key(TABLES_DATABASE) {
            return Err(invalid(format!("changes the metadata `{TABLES_DATABASE}`")));
        }
        self.check_custom()?;
        self.check_tags()
    }

    fn check_custom(&self) -> Result<()> {
        let custom = self.attributes.iter().flat_map(|given| given.custom.keys());
        let is_wrong =
            |name: &&String| is_own_name(name) || name.trim() != *name || name.is_empty();
        match custom.into_iter().find(is_wrong) {
            Some(name) => Err(invalid(format!(
                "changes the attribute `{name}`, which is the producer's or no name"
            ))),
            None => Ok(()),
        }
    }

    fn check_tags(&self) -> Result<()> {
        let is_wrong =
            |tag: &String| tag.trim().is_empty() || tag.len() > limits::KNOWLEDGE_SET_BYTES;
        if self.tags.len() > limits::KNOWLEDGE_SETS || self.tags.iter().any(is_wrong) {
            let (count, bytes) = (limits::KNOWLEDGE_SETS, limits::KNOWLEDGE_SET_BYTES);
            let what = format!("has a blank tag, or more than {count} tags of {bytes} bytes");
            return Err(invalid(what));
        }
        Ok(())
    }
}

fn invalid(what: String) -> Error {
    Error::new(ErrorKind::Invalid, format!("its answer {what}"))
}
