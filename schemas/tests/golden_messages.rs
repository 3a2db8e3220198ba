//! Golden messages of every version, named `golden/v<version>/<message>.<example>.json`: the types
//! of today read them all and lose nothing, the JSON Schemas accept them, and what a producer
//! misspells is refused by name. Golden files are never edited or removed: they stand for records
//! that lie in somebody's log.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use serde_json::{Value, json};
use tributary_schemas::id::derive_document_id;
use tributary_schemas::json_schema::{MESSAGES, Message};
use tributary_schemas::{ChunkId, EmbeddedDocument, TaggedDocument};

struct Golden {
    /// Such as `v1/document-event.zh.json`.
    file: String,
    message: &'static Message,
    text: String,
}

fn read_folder(folder: &Path, version: &str, found: &mut Vec<Golden>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = format!(
            "{version}/{}",
            entry.as_ref().unwrap().file_name().to_str().unwrap()
        );
        let stem = file.split(['/', '.']).nth(1).unwrap();
        let message = Message::named(&format!("{stem}.{version}"))
            .unwrap_or_else(|| panic!("{file} is an example of no message"));
        found.push(Golden {
            message,
            text: std::fs::read_to_string(entry.unwrap().path()).unwrap(),
            file,
        });
    }
}

/// All golden files of all versions.
fn golden() -> Vec<Golden> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/golden")).unwrap() {
        let folder = entry.unwrap().path();
        let version = folder.file_name().unwrap().to_str().unwrap();
        assert!(
            version.starts_with('v') && folder.is_dir(),
            "{} is no folder of a version",
            folder.display()
        );
        read_folder(&folder, version, &mut found);
    }
    found.sort_by(|left, right| left.file.cmp(&right.file));
    found
}

fn golden_named(file: &str) -> Golden {
    golden()
        .into_iter()
        .find(|golden| golden.file == file)
        .unwrap_or_else(|| panic!("no golden file {file}"))
}

/// Whether all that `old` says is still said in `new`, which may say more. Numbers are equal if
/// they are as f32.
fn keeps(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            old.iter().all(|(name, old)| match new.get(name) {
                Some(new) => keeps(old, new),
                None => is_nothing(old),
            })
        }
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| keeps(old, new))
        }
        (Value::Number(old), Value::Number(new)) if old.is_f64() => {
            old.as_f64().map(|old| old as f32) == new.as_f64().map(|new| new as f32)
        }
        _ => old == new,
    }
}

/// Values that a writer may leave out.
fn is_nothing(value: &Value) -> bool {
    *value == Value::Null || *value == json!([]) || *value == json!({}) || *value == json!("")
}

#[test]
fn every_message_has_an_example() {
    let golden = golden();
    for message in MESSAGES {
        assert!(
            golden
                .iter()
                .any(|golden| golden.message.name == message.name),
            "no golden file of {}",
            message.name
        );
    }
}

#[test]
fn every_golden_message_is_read_and_nothing_of_it_is_lost() {
    for Golden {
        file,
        message,
        text,
    } in golden()
    {
        let written = message
            .read(&text)
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        let original: Value = serde_json::from_str(&text).unwrap();
        assert!(
            keeps(&original, &written),
            "{file}: something is lost in {written:#}"
        );
        let again = message.read(&written.to_string()).unwrap();
        assert_eq!(
            again, written,
            "{file}: reading what was written gives something else"
        );
    }
}

#[test]
fn every_golden_message_follows_its_schema() {
    for Golden {
        file,
        message,
        text,
    } in golden()
    {
        let validator = jsonschema::validator_for(&message.json_schema()).unwrap();
        let original: Value = serde_json::from_str(&text).unwrap();
        for (what, value) in [
            ("as stored", &original),
            ("as written today", &message.read(&text).unwrap()),
        ] {
            let errors: Vec<String> = validator
                .iter_errors(value)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{file} {what}: {errors:?}");
        }
    }
}

#[test]
fn what_a_caller_misspells_is_refused_by_name() {
    let places = [
        ("v1/document-event.zh.json", "/colour"),
        ("v1/document-event.zh.json", "/attributes/colour"),
        ("v1/search-request.zh.json", "/colour"),
        ("v1/search-request.zh.json", "/filter/colour"),
        ("v1/filter.full.json", "/colour"),
    ];
    for (file, place) in places {
        let golden = golden_named(file);
        let mut value: Value = serde_json::from_str(&golden.text).unwrap();
        let parent = place.strip_suffix("/colour").unwrap();
        value
            .pointer_mut(parent)
            .unwrap()
            .as_object_mut()
            .unwrap()
            .insert("colour".into(), json!("red"));
        let error = golden
            .message
            .read(&value.to_string())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("unknown field `colour`"),
            "{file} {place}: {error}"
        );
        let validator = jsonschema::validator_for(&golden.message.json_schema()).unwrap();
        let error = validator.validate(&value).unwrap_err().to_string();
        assert!(error.contains("colour"), "{file} {place}: {error}");
    }
}

/// Ids are kept in logs and indexes: a different derivation would make every stored chunk an
/// orphan.
#[test]
fn the_ids_in_golden_messages_are_those_derived_today() {
    let mut wrong = Vec::new();
    for Golden {
        file,
        message,
        text,
    } in golden()
    {
        if message.name != "tagged-document.v1" {
            continue;
        }
        let tagged: TaggedDocument = serde_json::from_str(&text).unwrap();
        let header = &tagged.document;
        let document_id = derive_document_id(&header.source, &header.source_path);
        if header.document_id != document_id {
            wrong.push(format!("{file}: {} {document_id}", header.document_id));
        }
        for chunk in &tagged.chunks {
            let chunk_id = ChunkId::derive(
                &header.document_id,
                chunk.kind.as_str(),
                &chunk.section_path,
                &chunk.text,
                0,
            );
            if chunk.chunk_id != chunk_id {
                wrong.push(format!("{file}: {} {chunk_id}", chunk.chunk_id));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "stored and derived ids differ:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn vectors_in_golden_messages_are_of_unit_length_and_one_per_chunk() {
    for file in [
        "v1/embedded-document.en.json",
        "v1/embedded-document.zh.json",
    ] {
        let embedded: EmbeddedDocument = serde_json::from_str(&golden_named(file).text).unwrap();
        assert_eq!(embedded.vectors.len(), embedded.chunks.len(), "{file}");
        for vector in embedded
            .vectors
            .iter()
            .flat_map(|vectors| [&vectors.coarse, &vectors.fine])
            .filter(|vector| !vector.is_empty())
        {
            let length: f32 = vector.iter().map(|value| value * value).sum();
            assert!((length - 1.0).abs() < 1e-6, "{file}: {vector:?}");
        }
    }
}
