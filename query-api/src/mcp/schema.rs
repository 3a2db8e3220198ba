//! JSON Schemas of tools: of the types themselves, in one piece and as simple as can be, since
//! models read them and not every client follows references.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// What a tool takes.
pub fn input<T: JsonSchema>() -> Arc<JsonObject> {
    of::<T>(SchemaSettings::draft2020_12())
}

/// What a tool answers.
pub fn output<T: JsonSchema>() -> Arc<JsonObject> {
    of::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn of<T: JsonSchema>(settings: SchemaSettings) -> Arc<JsonObject> {
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    simplify(&mut schema);
    let mut object = match schema {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    };
    object.remove("$schema");
    object.remove("title");
    object.remove("description");
    Arc::new(object)
}

/// Leaves out `null`, which no argument needs to be and some conditions may not be, and formats of
/// numbers that are none of JSON Schema.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.remove("format");
            without_null(object);
            object.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

fn without_null(object: &mut JsonObject) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    let is_null = |schema: &Value| schema.get("type").is_some_and(|name| name == "null");
    let Some(Value::Array(choices)) = object.get_mut("anyOf") else {
        return;
    };
    choices.retain(|choice| !is_null(choice));
    let [Value::Object(only)] = choices.as_slice() else {
        return;
    };
    let only = only.clone();
    object.remove("anyOf");
    for (key, value) in only {
        object.entry(key).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    /// A part.
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Part {
        /// How many.
        count: Option<u32>,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Whole {
        /// Its name.
        name: String,
        /// Its part.
        part: Option<Part>,
        /// By name.
        parts: Option<BTreeMap<String, Part>>,
    }

    #[test]
    fn a_schema_is_in_one_piece_and_without_null() {
        let part = json!({
            "type": "object", "properties": {"count": {"description": "How many.", "minimum": 0, "type": "integer"}}});
        let schema = Value::Object(input::<Whole>().as_ref().clone());
        assert_eq!(schema["properties"]["name"]["type"], "string");
        assert_eq!(
            schema["properties"]["part"]["properties"],
            part["properties"]
        );
        assert_eq!(schema["properties"]["part"]["description"], "Its part.");
        assert_eq!(schema["properties"]["parts"]["type"], "object");
        assert_eq!(schema["required"], json!(["name"]));
        let text = schema.to_string();
        for absent in ["$ref", "$defs", "null", "format"] {
            assert!(!text.contains(absent), "{absent} in {text}");
        }
    }
}
