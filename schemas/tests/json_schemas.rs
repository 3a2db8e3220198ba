//! The files in `schemas/json/` are what the types say. Run with `TRIBUTARY_UPDATE=1` to write them
//! anew; then look at the difference.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use tributary_schemas::json_schema::MESSAGES;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/json"))
}

fn generated() -> BTreeMap<String, String> {
    let text = |message: &tributary_schemas::json_schema::Message| {
        serde_json::to_string_pretty(&message.json_schema()).unwrap() + "\n"
    };
    MESSAGES
        .iter()
        .map(|message| (message.file_name(), text(message)))
        .collect()
}

fn committed() -> BTreeMap<String, String> {
    let files = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap());
    files
        .map(|file| {
            (
                file.file_name().into_string().unwrap(),
                std::fs::read_to_string(file.path()).unwrap(),
            )
        })
        .collect()
}

#[test]
fn the_committed_schemas_are_the_generated_ones() {
    let generated = generated();
    if std::env::var_os("TRIBUTARY_UPDATE").is_some() {
        for (name, text) in &generated {
            std::fs::write(folder().join(name), text).unwrap();
        }
    }
    let committed = committed();
    let differing: Vec<&String> = generated
        .iter()
        .filter(|(name, text)| committed.get(*name) != Some(*text))
        .map(|(name, _)| name)
        .collect();
    assert!(
        differing.is_empty(),
        "not as generated: {differing:?}; run again with TRIBUTARY_UPDATE=1 and look at the difference"
    );
    let unknown: Vec<&String> = committed
        .keys()
        .filter(|name| !generated.contains_key(*name))
        .collect();
    assert!(
        unknown.is_empty(),
        "no message is described by {unknown:?} in {}",
        folder().display()
    );
}

#[test]
fn every_schema_is_valid_and_says_what_it_is() {
    for message in MESSAGES {
        let schema = message.json_schema();
        jsonschema::meta::validate(&schema)
            .unwrap_or_else(|error| panic!("{}: {error}", message.name));
        assert_eq!(
            schema["$schema"], "https://json-schema.org/draft/2020-12/schema",
            "{}",
            message.name
        );
        assert_eq!(schema["$id"], message.id(), "{}", message.name);
        assert!(
            schema["title"].is_string() && schema["description"].is_string(),
            "{}",
            message.name
        );
    }
}
