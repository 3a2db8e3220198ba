//! The audit record: who called the server, what they asked it to do, and which documents they were
//! given or changed. It never holds text of a question, an answer or a document, nor a secret.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What let a caller in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuditCaller {
    /// An API key; `key` is its id.
    Key,
    /// A user of an identity provider, or one that a proxy names; `key` is `ISSUER#SUBJECT` or
    /// `proxy:NAME`.
    User,
    /// The data folder's own token: a verb on the server's machine.
    DataFolder,
    /// The server asks for no key.
    Anyone,
    /// Nothing: the request was refused, or what it wanted is open to all.
    #[default]
    Nobody,
}

/// One call; the value of the topic `audit.v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    /// When the call came, milliseconds since 1970.
    pub at_ms: i64,
    /// Milliseconds until the last byte of the answer was handed over, or its reader left.
    pub took_ms: u64,
    /// What let the caller in.
    pub caller: AuditCaller,
    /// Id of the key; `null` without one.
    #[serde(default)]
    pub key: Option<String>,
    /// Name of the key when it was used, or what its token called the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Address that the connection came from: that of the proxy, where there is one.
    #[serde(default)]
    pub address: Option<String>,
    /// Method.
    pub method: String,
    /// Pattern of the route, such as `/v1/documents/{id:.+}`; empty where there is none.
    pub route: String,
    /// HTTP status of the answer.
    pub status: u16,
    /// Code of the problem that it was refused or failed with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Trace id, as log lines and problems have it.
    pub trace_id: String,
    /// Characters of the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_characters: Option<u64>,
    /// Conditions of the filter by name, each with how many values it has; never the values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub filter: BTreeMap<String, u64>,
    /// Ids of the documents that were returned or changed, at most as many as the server keeps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<String>,
    /// Mentions of further documents that are not kept here; one that is mentioned twice counts
    /// twice.
    #[serde(default, skip_serializing_if = "is_none")]
    pub documents_left_out: u64,
    /// Bytes of the answer's body that were handed over.
    pub answer_bytes: u64,
}

/// `GET /v1/audit`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditPage {
    /// The newest calls that meet the conditions, oldest first.
    pub entries: Vec<AuditEntry>,
    /// Whether older ones that meet them were left out: ask for those `until_ms` the first of
    /// these.
    pub has_older: bool,
}

/// Which calls are wanted: all conditions hold. Those that are not given set none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditQuery {
    /// Made with the key of this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Returned or changed the document of this id or `source/path`, among those that are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// Of routes that begin so, such as `/v1/documents`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// Answered with this status; 2 to 5 stand for all that begin with this digit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Refused or failed with the problem of this code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// At this time or later, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<i64>,
    /// Before this time, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<i64>,
    /// At most so many; the server's largest page when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Answer with those to come instead, one JSON object a line, until the caller leaves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follow: bool,
}

impl AuditQuery {
    /// Whether a moment is within the wanted time.
    pub fn is_within(&self, at_ms: i64) -> bool {
        self.since_ms.is_none_or(|since| since <= at_ms)
            && self.until_ms.is_none_or(|until| at_ms < until)
    }

    /// Whether a call meets all conditions.
    pub fn matches(&self, entry: &AuditEntry) -> bool {
        let is_named =
            |wanted: &Option<String>, is: &Option<String>| wanted.is_none() || wanted == is;
        let document = self.document.as_ref();
        let has_status = |wanted: u16| wanted == entry.status || wanted == entry.status / 100;
        is_named(&self.key, &entry.key)
            && is_named(&self.code, &entry.code)
            && document.is_none_or(|wanted| entry.documents.contains(wanted))
            && self
                .route
                .as_ref()
                .is_none_or(|wanted| entry.route.starts_with(wanted))
            && self.status.is_none_or(has_status)
            && self.is_within(entry.at_ms)
    }
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(query: &str) -> AuditQuery {
        serde_json::from_str(query).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn every_condition_must_hold_and_a_digit_stands_for_a_class() {
        let entry = AuditEntry {
            at_ms: 100,
            key: Some("k".to_owned()),
            route: "/v1/documents/{id}".to_owned(),
            status: 403,
            code: Some("denied".to_owned()),
            documents: vec!["文档".to_owned()],
            ..AuditEntry::default()
        };
        for met in [
            "{}",
            r#"{"key": "k", "status": 4, "code": "denied"}"#,
            r#"{"document": "文档", "route": "/v1/documents", "status": 403}"#,
            r#"{"since_ms": 100, "until_ms": 101}"#,
        ] {
            assert!(wanted(met).matches(&entry), "{met}");
        }
        for unmet in [
            r#"{"key": "other"}"#,
            r#"{"key": "k", "status": 2}"#,
            r#"{"document": "文"}"#,
            r#"{"route": "/v1/search"}"#,
            r#"{"code": "invalid"}"#,
            r#"{"until_ms": 100}"#,
        ] {
            assert!(!wanted(unmet).matches(&entry), "{unmet}");
        }
    }
}
