//! Why nothing was found under a filter: no document meets it.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Says that no document which the caller may see meets the filter, whatever was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmetFilter {
    /// Values that no document has; empty where each value has some and no document has all.
    pub values: Vec<UnmetValue>,
}

/// A value of a condition that no document has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmetValue {
    /// The condition, as the filter calls it: `sources`, `tags`; `attributes.NAME` for a value of an
    /// attribute, and `attributes` where no document has the attribute.
    pub condition: String,
    /// The value.
    pub value: String,
    /// The most similar value that documents have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub did_you_mean: Option<String>,
}

impl UnmetFilter {
    /// Names documents that are not there.
    pub fn add_documents(&mut self, ids: Vec<String>) {
        self.values.extend(ids.into_iter().map(|value| UnmetValue {
            condition: "document_ids".to_owned(),
            value,
            did_you_mean: None,
        }));
    }

    /// As a sentence, with the nearest values.
    pub fn describe(&self) -> String {
        if self.values.is_empty() {
            return "no document meets all conditions of the filter".to_owned();
        }
        let values: Vec<String> = self.values.iter().map(UnmetValue::describe).collect();
        values.join("; ")
    }
}

impl UnmetValue {
    fn describe(&self) -> String {
        let condition: Cow<'_, str> = match self.condition.as_str() {
            "knowledge_sets" => "in the knowledge set".into(),
            "tags" => "with the tag".into(),
            "sources" => "of the source".into(),
            "products" => "about the product".into(),
            "product_versions" => "about the product version".into(),
            "languages" => "in the language".into(),
            "attributes" => "with the attribute".into(),
            other => match other.strip_prefix("attributes.") {
                Some(name) => format!("whose attribute `{name}` is").into(),
                None => "with the id or name".into(),
            },
        };
        let near = self.did_you_mean.as_ref();
        let near = near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
        format!("there is no document {condition} `{}`{near}", self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_nothing_meets_is_told_by_its_values() {
        let value = |condition: &str, value: &str, near: Option<&str>| UnmetValue {
            condition: condition.to_owned(),
            value: value.to_owned(),
            did_you_mean: near.map(str::to_owned),
        };
        let filter = UnmetFilter {
            values: vec![
                value("sources", "handbok", Some("handbook")),
                value("tags", "x", None),
            ],
        };
        assert_eq!(
            filter.describe(),
            "there is no document of the source `handbok` (did you mean `handbook`?); \
             there is no document with the tag `x`"
        );
        assert!(UnmetFilter::default().describe().contains("all conditions"));
    }
}
