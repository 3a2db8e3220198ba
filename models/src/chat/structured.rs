//! Replies that programs read: a type becomes a flat schema, the reply's first JSON object becomes
//! the type. A reply that cannot be read is asked for once more, with what was wrong. Nothing is
//! guessed: a missing brace may be a cut answer.

mod examples;

use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::{ChatError, ChatResult, Reason};
use super::request::{
    ChatRequest, Completion, Ending, Finish, Format, Message, ReplySchema, Speaker,
};
use super::{ChatModel, ModelDescription};

/// Deepest nesting of an object that is read.
const MAXIMUM_DEPTH: usize = 32;
/// Characters of a reply that is shown to the model again.
const MAXIMUM_SHOWN_CHARACTERS: usize = 2000;
/// Keywords of a schema that servers refuse or that say nothing.
const LEFT_OUT: [&str; 4] = ["$schema", "title", "format", "default"];

/// A reply that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply<T> {
    /// It.
    pub value: T,
    /// How the reply that it stood in ended.
    pub ending: Ending,
    /// Whether the first reply could not be read.
    pub is_second_try: bool,
}

/// The schema of a type, as servers take it: no references, no fields but those named, all of them
/// required. `Refused` for a type that contains itself.
pub fn reply_schema<T: JsonSchema>() -> ChatResult<Arc<ReplySchema>> {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    let name = T::schema_name().into_owned();
    flatten(&mut schema);
    if schema.to_string().contains("\"$ref\"") {
        let message = format!("the reply type {name} contains itself");
        return Err(ChatError::new(Reason::Refused, message));
    }
    Ok(Arc::new(ReplySchema { name, schema }))
}

fn flatten(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            LEFT_OUT.iter().for_each(|key| {
                // A property of that name is an object of its own.
                if !object.get(*key).is_some_and(Value::is_object) {
                    object.remove(*key);
                }
            });
            close(object);
            object.values_mut().for_each(flatten);
        }
        Value::Array(items) => items.iter_mut().for_each(flatten),
        _ => {}
    }
}

/// An object has the properties that are named, and all of them. `required` keeps the order of their
/// declaration, which [`super::in_order`] goes by; the optional ones come last.
fn close(object: &mut Map<String, Value>) {
    let is_object = object.get("type").is_some_and(|kind| kind == "object");
    let Some(Value::Object(properties)) = object.get("properties").filter(|_| is_object) else {
        return;
    };
    let declared = object.get("required").and_then(Value::as_array);
    let mut names = declared.cloned().unwrap_or_default();
    let others = properties.keys().map(|name| Value::from(name.as_str()));
    let others: Vec<Value> = others.filter(|name| !names.contains(name)).collect();
    names.extend(others);
    object.insert("required".to_owned(), names.into());
    object.insert("additionalProperties".to_owned(), false.into());
}

/// Asks for a reply of a type.
pub async fn ask<T: JsonSchema + DeserializeOwned>(
    model: &dyn ChatModel,
    request: &ChatRequest,
) -> ChatResult<Reply<T>> {
    ask_checked(model, request, |_: &T| Ok(())).await
}

/// Asks for a reply of a type that a check accepts; what the check says goes to the model, and the
/// second reply must pass.
pub async fn ask_checked<T: JsonSchema + DeserializeOwned>(
    model: &dyn ChatModel,
    request: &ChatRequest,
    check: impl Fn(&T) -> Result<(), String> + Sync,
) -> ChatResult<Reply<T>> {
    let reply = |completion: &Completion, is_second_try| {
        let read = read(completion, &check).and_then(|value| {
            examples::copied(request, &completion.text)?;
            Ok(value)
        });
        read.map(|value| Reply {
            value,
            ending: completion.ending.clone(),
            is_second_try,
        })
    };
    let mut request = request.clone();
    request.format = Format::Json(reply_schema::<T>()?);
    let first = model.complete(&request).await?;
    let what_is_wrong = match reply(&first, false) {
        Ok(reply) => return Ok(reply),
        Err(what) => what,
    };
    let prompt = request.prompt.as_str();
    tracing::debug!(prompt, what_is_wrong, "the reply is asked for once more");
    let second = complete_once_more(model, &request, &first.text, &what_is_wrong).await?;
    reply(&second, true)
        .map_err(|what| unreadable(&second, &model.describe(), &request.prompt, &what))
}

fn unreadable(
    reply: &Completion,
    model: &ModelDescription,
    prompt: &str,
    what_is_wrong: &str,
) -> ChatError {
    let reason = match reply.ending.finish {
        Finish::Length => Reason::CutOff,
        _ => Reason::Malformed,
    };
    let message = format!(
        "the replies of `{}` to the prompt `{prompt}` cannot be used: {what_is_wrong}",
        model.model
    );
    ChatError::new(reason, message)
}

/// The second reply. Where there is no room for the first one in the prompt, the model is told only
/// what was wrong with it.
async fn complete_once_more(
    model: &dyn ChatModel,
    request: &ChatRequest,
    reply: &str,
    what_is_wrong: &str,
) -> ChatResult<Completion> {
    let shown: String = reply.chars().take(MAXIMUM_SHOWN_CHARACTERS).collect();
    let wish = format!(
        "That reply cannot be used: {what_is_wrong}. Reply again, with the JSON object alone."
    );
    let mut again = request.clone();
    again.messages.extend([
        Message::new(Speaker::Assistant, shown),
        Message::new(Speaker::User, wish),
    ]);
    match model.complete(&again).await {
        Err(failed) if failed.reason == Reason::TooLong => {}
        replied => return replied,
    }
    let mut again = request.clone();
    if let Some(last) = again.messages.last_mut() {
        last.text = format!(
            "{}\n\nA reply to this could not be used: {what_is_wrong}.",
            last.text
        );
    }
    model.complete(&again).await
}

fn read<T: DeserializeOwned>(
    reply: &Completion,
    check: &impl Fn(&T) -> Result<(), String>,
) -> Result<T, String> {
    if reply.ending.finish == Finish::Length {
        return Err("it is too long and was cut; be shorter".to_owned());
    }
    let object = first_object(&reply.text)?;
    let value: T = serde_json::from_str(object).map_err(|error| error.to_string())?;
    check(&value)?;
    Ok(value)
}

/// The first balanced JSON object of a text; fences and words around it are passed over.
pub fn first_object(text: &str) -> Result<&str, String> {
    let text = after_reasoning(text);
    let (_, from) = text
        .find('{')
        .and_then(|start| text.split_at_checked(start))
        .ok_or("it has no JSON object")?;
    let end = end_of_object(from)?;
    from.get(..end)
        .ok_or_else(|| "it has no JSON object".to_owned())
}

/// Some models' reasoning begins without a tag.
fn after_reasoning(text: &str) -> &str {
    match text.split_once("</think>") {
        Some((reasoning, rest)) if !reasoning.trim_start().starts_with('{') => rest,
        _ => text,
    }
}

/// Where the object that the text begins with ends, in bytes.
fn end_of_object(text: &str) -> Result<usize, String> {
    let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
    for (at, character) in text.char_indices() {
        if is_string {
            let closes = character == '"' && !is_escaped;
            is_escaped = character == '\\' && !is_escaped;
            is_string = !closes;
            continue;
        }
        match character {
            '"' => is_string = true,
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAXIMUM_DEPTH {
            return Err("its JSON is nested too deeply".to_owned());
        }
        if depth == 0 {
            return Ok(at + character.len_utf8());
        }
    }
    Err("its JSON object has no end".to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, dead_code)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Yes,
        No,
    }

    #[derive(Deserialize, JsonSchema)]
    struct Inner {
        kind: Kind,
    }

    /// A verdict.
    #[derive(Deserialize, JsonSchema)]
    struct Verdict {
        /// Why, in one sentence.
        #[schemars(length(max = 200))]
        why: String,
        #[serde(default)]
        title: Option<String>,
        inner: Inner,
        #[schemars(length(max = 3))]
        list: Vec<Inner>,
        score: f32,
    }

    #[derive(JsonSchema)]
    struct Recursive {
        below: Vec<Recursive>,
    }

    #[test]
    fn a_schema_is_flat_closed_and_complete() {
        let reply = reply_schema::<Verdict>().unwrap();
        let (name, schema) = (&reply.name, &reply.schema);
        assert_eq!(name, "Verdict");
        assert_eq!(schema["required"].as_array().unwrap().len(), 5, "{schema}");
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["properties"]["inner"]["additionalProperties"], false);
        let item = &schema["properties"]["list"]["items"];
        assert_eq!(item["required"][0], "kind");
        assert_eq!(schema["properties"]["why"]["maxLength"], 200);
        let title = &schema["properties"]["title"];
        assert!(title.is_object(), "a property may be named like a keyword");
        let text = schema.to_string();
        for word in ["$ref", "$defs", "\"format\"", "$schema", "\"default\""] {
            assert!(!text.contains(word), "{word} in {text}");
        }
    }

    #[test]
    fn a_type_that_contains_itself_is_refused() {
        let failed = reply_schema::<Recursive>().unwrap_err();
        assert_eq!(failed.reason, Reason::Refused);
    }

    #[test]
    fn the_first_object_is_found_in_whatever_is_around_it() {
        let object = r#"{"a": "} \" {", "b": [{"c": 1}]}"#;
        let around = [
            object.to_owned(),
            format!("Here it is:\n```json\n{object}\n```\nAnything else?"),
            format!("I think {{ hard.</think>\n{object} {{}}"),
            format!("{object}{object}"),
        ];
        for text in around {
            assert_eq!(first_object(&text), Ok(object), "{text}");
        }
        let quoted = r#"{"a": "</think>"}"#;
        assert_eq!(first_object(quoted), Ok(quoted));
    }

    #[test]
    fn what_is_cut_is_not_mended() {
        for text in [r#"{"a": "x"#, r#"{"a": [1, 2"#, "no object", "", "{"] {
            assert!(first_object(text).is_err(), "{text}");
        }
        let deep = "{\"a\":".repeat(100);
        assert!(first_object(&deep).unwrap_err().contains("deeply"));
    }
}
