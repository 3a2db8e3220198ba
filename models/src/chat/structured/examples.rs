//! Whether a reply repeats an example of its prompt. Small models do, and what an example is about
//! would then stand in an answer about something else.

use serde_json::Value;

use super::first_object;
use crate::chat::request::{ChatRequest, Speaker};

/// Shorter texts, such as names of kinds, stand in examples and replies alike: characters of a text
/// in a script without spaces, and words of any other.
const CHARACTERS: usize = 4;
const WORDS: usize = 3;
/// The field in which a model thinks before its verdict, and which nobody else reads.
const UNREAD: &str = "reason";

/// An error that names the text of a reply that was copied from an example: it stands there as it
/// is, and not in what the model was asked.
pub(super) fn copied(request: &ChatRequest, reply: &str) -> Result<(), String> {
    let of = |speaker: Speaker| {
        let messages = request.messages.iter();
        messages.filter(move |message| message.speaker == speaker)
    };
    let asked = of(Speaker::User).next_back();
    let asked = asked.map_or("", |message| message.text.as_str());
    // Who asks what an example asks gets what it says.
    let mut before = of(Speaker::User).rev().skip(1);
    if before.any(|message| message.text == asked) {
        return Ok(());
    }
    let mut examples = Vec::new();
    for message in of(Speaker::Assistant) {
        collect(&message.text, &mut examples);
    }
    let mut texts = Vec::new();
    collect(reply, &mut texts);
    let is_copied = |text: &&String| examples.contains(text) && !asked.contains(text.as_str());
    match texts.iter().find(is_copied) {
        Some(text) => Err(format!(
            "`{text}` is of an example and has nothing to do with what is asked"
        )),
        None => Ok(()),
    }
}

/// The texts of a JSON object that say something.
fn collect(text: &str, texts: &mut Vec<String>) {
    let object = first_object(text).ok();
    let value = object.and_then(|object| serde_json::from_str(object).ok());
    let mut open: Vec<Value> = value.into_iter().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if says_something(text.trim()) => {
                texts.push(text.trim().to_owned());
            }
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => {
                let others = fields.into_iter().filter(|(name, _)| name != UNREAD);
                open.extend(others.map(|(_, value)| value));
            }
            _ => {}
        }
    }
}

fn says_something(text: &str) -> bool {
    match text.is_ascii() {
        true => text.split_whitespace().count() >= WORDS,
        false => text.chars().count() >= CHARACTERS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::request::{Format, Message};

    #[test]
    fn texts_of_an_example_are_told_from_those_of_the_question() {
        let example = r#"{"title": "泵站维护", "kind": "definition", "sections": [{"title": "How pumps are kept"}]}"#;
        let request = |asked: &str| ChatRequest {
            messages: vec![
                Message::new(Speaker::User, "泵站怎么维护？"),
                Message::new(Speaker::Assistant, example),
                Message::new(Speaker::User, asked),
            ],
            prompt: "outline".to_owned(),
            tools: Vec::new(),
            maximum_tokens: 100,
            temperature: None,
            format: Format::Text,
            top_logprobs: 0,
            deadline: None,
        };
        let table = [
            (
                r#"{"title": "泵站维护"}"#,
                "load_checkpoint 怎么用？",
                false,
            ),
            (r#"{"title": "泵站维护"}"#, "泵站维护要多少钱？", true),
            (
                r#"{"title": "加载参数", "kind": "definition"}"#,
                "怎么加载？",
                true,
            ),
            (
                r#"{"a": [{"b": " How pumps are kept "}]}"#,
                "How do I load?",
                false,
            ),
            (
                r#"{"reason": "泵站维护", "right": true}"#,
                "怎么加载？",
                true,
            ),
            ("no object", "How do I load?", true),
            (r#"{"title": "泵站维护"}"#, "泵站怎么维护？", true),
        ];
        for (reply, asked, expected) in table {
            assert_eq!(copied(&request(asked), reply).is_ok(), expected, "{reply}");
        }
    }
}
