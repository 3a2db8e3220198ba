//! What a question of a set may say of itself beside its text: how hard it is, how it is put, where
//! exactly its answer stands, and with which limits it is asked. All of it is optional.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tributary_schemas::search::SearchRequest;

use crate::evidence;

pub use tributary_schemas::evaluation::{CaseLevel, Modality, Style};

/// A place that answers the question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// Document of the set.
    pub document: String,
    /// What stands there, word for word; white space, case and width of characters do not count.
    pub quote: String,
}

/// What a question says of itself.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Case {
    /// What must be brought together.
    #[serde(default)]
    pub level: Option<CaseLevel>,
    /// How it is put.
    #[serde(default)]
    pub style: Option<Style>,
    /// What the answer stands in.
    #[serde(default)]
    pub modality: Option<Modality>,
    /// Places of which all are needed; without any, the relevant documents count.
    #[serde(default)]
    pub evidence: Vec<Span>,
    /// Fields of a search request that it is asked with, such as `filter`; see
    /// [`SearchRequest`].
    #[serde(default)]
    pub request: Map<String, Value>,
}

impl Case {
    /// What is wrong with it, where `known` are the documents of the set.
    pub fn problem(&self, known: &HashSet<String>) -> Option<String> {
        let odd = |span: &&Span| {
            !known.contains(span.document.as_str()) || evidence::normalised(&span.quote).is_empty()
        };
        if let Some(span) = self.evidence.iter().find(odd) {
            return Some(match known.contains(span.document.as_str()) {
                true => format!("a quote from `{}` is empty", span.document),
                false => format!("evidence is in `{}`, which is no document", span.document),
            });
        }
        let refused = self.search_request("?").err()?;
        Some(format!("its `request` is not one: {refused}"))
    }

    /// The request that asks this text with the fields of the case.
    pub fn search_request(&self, text: &str) -> serde_json::Result<SearchRequest> {
        let mut fields = self.request.clone();
        fields.insert("query".to_owned(), Value::String(text.to_owned()));
        serde_json::from_value(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn case(value: Value) -> Case {
        serde_json::from_value(value).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_case_says_what_it_is_and_everything_is_optional() {
        assert!(
            case(json!({"_id": "q", "text": "?"}))
                .problem(&HashSet::new())
                .is_none()
        );
        let case = case(json!({
            "level": "multi_hop", "style": "noisy", "modality": "table",
            "evidence": [{"document": "a", "quote": "x"}],
            "request": {"filter": {"tags": ["5G"]}, "vector_weight": 0.0},
        }));
        assert_eq!(case.level, Some(CaseLevel::MultiHop));
        assert!(case.problem(&HashSet::from(["a".to_owned()])).is_none());
        let request = case
            .search_request("问题")
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(request.query, "问题");
        assert_eq!(request.filter.tags, Some(vec!["5G".to_owned()]));
    }

    #[test]
    fn an_odd_case_says_what_is_wrong() {
        let known = HashSet::from(["a".to_owned()]);
        let said = |value| case(value).problem(&known).unwrap_or_default();
        let elsewhere = json!({"evidence": [{"document": "b", "quote": "x"}]});
        assert!(said(elsewhere).contains("`b`, which is no document"));
        let empty = json!({"evidence": [{"document": "a", "quote": " \u{3000}"}]});
        assert!(said(empty).contains("is empty"));
        assert!(said(json!({"request": {"filters": {}}})).contains("filters"));
    }
}
