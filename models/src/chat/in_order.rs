//! JSON whose schemas name their properties in the order in which they are declared. A server that
//! enforces a schema has the model write the fields in the order of `properties`, and what a model
//! writes first decides what it writes after: reasons before a verdict, a statement before its error
//! code. `serde_json` sorts keys by name, so the order is taken from `required`, which is a list.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// A value that is written so.
pub struct InOrder<'a>(pub &'a Value);

/// `properties` of a schema, and its `required`.
struct Properties<'a> {
    all: &'a Map<String, Value>,
    order: &'a [Value],
}

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(object) => {
                let order = object.get("required").and_then(Value::as_array);
                serializer.collect_map(object.iter().map(|(key, value)| {
                    let part = match (key.as_str(), value.as_object(), order) {
                        ("properties", Some(all), Some(order)) => {
                            Part::Properties(Properties { all, order })
                        }
                        _ => Part::Value(InOrder(value)),
                    };
                    (key, part)
                }))
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(InOrder)),
            plain => plain.serialize(serializer),
        }
    }
}

impl fmt::Display for InOrder<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        formatter.write_str(&text)
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    Properties(Properties<'a>),
    Value(InOrder<'a>),
}

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = self.order.iter().filter_map(Value::as_str);
        let first = names.filter_map(|name| self.all.get_key_value(name));
        let is_named = |name: &str| self.order.iter().any(|other| other == name);
        let rest = self.all.iter().filter(|(name, _)| !is_named(name));
        serializer.collect_map(
            first
                .chain(rest)
                .map(|(name, value)| (name, InOrder(value))),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn properties_stand_in_the_order_of_required() {
        let item =
            json!({"type": "object", "required": ["z", "a"], "properties": {"a": {}, "z": {}}});
        let value = json!({"b": [{"schema": {
            "properties": {"sql": {"items": item}, "code": {}, "extra": {}, "required": {}},
            "required": ["sql", "required", "code", "unknown"],
        }}], "required": "a word", "properties": 1});
        let text = InOrder(&value).to_string();
        let order = ["sql", "z", "a", "required", "code", "extra"].map(|name| {
            let key = format!("\"{name}\":{{");
            text.find(&key)
        });
        assert!(order.iter().all(Option::is_some), "{text}");
        assert!(order.is_sorted(), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(value));
    }
}
