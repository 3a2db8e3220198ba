//! What is said of documents beside their content: options of `publish` as fields of the event.

use anyhow::Result;
use serde_json::{Map, Value};
use tributary_schemas::{Access, Attributes, DocumentEvent, Error, ErrorKind};

use crate::args::Publish;

const TEXTS: [&str; 8] = [
    "author",
    "link",
    "product",
    "product_version",
    "department",
    "domain",
    "organization",
    "language",
];
const NUMBERS: [&str; 3] = ["security_level", "created_at", "updated_at"];
const CUSTOM: &str = "custom.";

/// The event of every document, without its path, title and content. `Invalid` for an attribute that does
/// not exist.
pub fn template(publish: &Publish, source: &str) -> Result<DocumentEvent> {
    let one = &publish.one;
    Ok(DocumentEvent {
        document_id: one.id.clone(),
        version: one.version,
        source: source.to_owned(),
        media_type: one.media_type.clone(),
        attributes: Attributes {
            access: match publish.access_everyone {
                true => Some(Access::default()),
                false => access(&publish.access_groups, &publish.access_users),
            },
            ..attributes(&publish.attributes)?
        },
        knowledge_sets: publish.sets.clone(),
        ..DocumentEvent::default()
    })
}

/// Who may see the documents; nothing where nobody is named, which leaves it to the profile.
fn access(groups: &[String], users: &[String]) -> Option<Access> {
    let named = |names: &[String]| (!names.is_empty()).then(|| names.to_vec());
    let access = Access {
        groups: named(groups),
        users: named(users),
    };
    (access != Access::default()).then_some(access)
}

/// `NAME=VALUE` of each; the last of a name counts.
fn attributes(pairs: &[String]) -> Result<Attributes> {
    let (mut known, mut custom) = (Map::new(), Map::new());
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(invalid(format!("--attribute {pair} has no `=`")).into());
        };
        let text = Value::String(value.to_owned());
        if TEXTS.contains(&name) {
            known.insert(name.to_owned(), text);
        } else if NUMBERS.contains(&name) {
            known.insert(name.to_owned(), number(name, value)?);
        } else if let Some(name) = name.strip_prefix(CUSTOM) {
            custom.insert(name.to_owned(), text);
        } else {
            return Err(unknown(name).into());
        }
    }
    known.insert("custom".to_owned(), Value::Object(custom));
    serde_json::from_value(Value::Object(known))
        .map_err(|error| invalid(format!("--attribute: {error}")).into())
}

fn number(name: &str, value: &str) -> Result<Value> {
    let number: i64 = value
        .parse()
        .map_err(|_| invalid(format!("--attribute {name}={value}: no whole number")))?;
    if name == "security_level" && u8::try_from(number).is_err() {
        let range = format!("--attribute {name}={value}: not between 0 and 255");
        return Err(invalid(range).into());
    }
    Ok(number.into())
}

fn unknown(name: &str) -> Error {
    if name == "access" || name.starts_with("access.") {
        let what = format!("--attribute {name}: who may see a document is no such attribute");
        return invalid(what)
            .with_hint("say it with --access-everyone, or name groups and users with --access-group and --access-user");
    }
    let all: Vec<&str> = TEXTS.into_iter().chain(NUMBERS).collect();
    let hint = format!(
        "one of your own is written {CUSTOM}{name}=…; known are {}",
        all.join(", ")
    );
    invalid(format!("--attribute {name}: there is no such attribute")).with_hint(hint)
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(pairs: &[&str]) -> Result<Attributes> {
        let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        attributes(&pairs)
    }

    #[test]
    fn attributes_are_named_and_a_typing_mistake_is_no_custom_one() {
        let read = of(&["product=RRU=1", "security_level=2", "custom.room=3"]).unwrap();
        assert_eq!(
            (
                read.product.as_deref(),
                read.security_level,
                read.custom.get("room").map(String::as_str)
            ),
            (Some("RRU=1"), Some(2), Some("3"))
        );
        for (wrong, said) in [
            ("prodct=x", "there is no such attribute"),
            ("access={}", "who may see a document"),
            ("product", "has no `=`"),
            ("security_level=high", "no whole number"),
            ("security_level=256", "not between 0 and 255"),
        ] {
            let error = of(&[wrong]).unwrap_err();
            assert!(error.to_string().contains(said), "{wrong}: {error}");
        }
    }

    #[test]
    fn every_attribute_of_an_event_can_be_given() {
        let all: Vec<String> = TEXTS
            .into_iter()
            .chain(NUMBERS)
            .map(|name| format!("{name}=1"))
            .collect();
        let given = serde_json::to_value(attributes(&all).unwrap()).unwrap();
        assert_eq!(given.as_object().unwrap().len(), all.len(), "{given}");
    }
}
