//! What a scenario file may say. Within a step: restart, knowledge sets, publications, deletions,
//! then a wait until nothing is under way, then what must hold. Ids and words of a scenario are its
//! own, because all of them are run on the same server.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it shows.
    pub about: String,
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
}

/// Something done and what must then hold.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    pub about: String,
    /// The processes end in order and start again.
    pub restart: bool,
    /// Definitions that replace all knowledge sets.
    pub knowledge_sets: Option<String>,
    pub publish: Vec<Publication>,
    /// Ids.
    pub delete: Vec<String>,
    /// By id.
    pub documents: BTreeMap<String, ExpectedDocument>,
    pub search: Vec<Search>,
    pub dead_letters: Vec<ExpectedLetter>,
}

/// A document event.
#[derive(Debug, Deserialize)]
pub struct Publication {
    /// The content so many times; `{n}` in it is the number of the repetition, from 0.
    #[serde(default = "one")]
    repeat: usize,
    /// The event so many times as versions 1 up to this; `{v}` in the content is the version.
    versions: Option<u64>,
    #[serde(flatten)]
    event: Map<String, Value>,
}

/// A document's state, and what else is said of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedDocument {
    pub state: String,
    pub version: Option<u64>,
    /// A part of the reason.
    pub says: Option<String>,
    /// Chunks that can be read.
    pub chunks: Option<usize>,
    pub at_least_chunks: Option<usize>,
}

/// A search and its answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    #[serde(default)]
    pub about: String,
    pub query: String,
    /// Keywords alone unless it says otherwise, so that the hits are a certain set.
    #[serde(default = "full_text")]
    pub strategy: String,
    #[serde(default)]
    pub filter: Map<String, Value>,
    /// Ids of the documents found, in any order.
    pub hits: Option<Vec<String>>,
    /// Id of the best document.
    pub first: Option<String>,
    #[serde(default = "success")]
    pub status: u16,
    /// A part of the refusal.
    pub says: Option<String>,
}

/// A dead letter that must be there.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedLetter {
    pub document_id: String,
    pub kind: String,
    /// A part of the message.
    pub says: String,
}

fn one() -> usize {
    1
}

fn success() -> u16 {
    200
}

fn full_text() -> String {
    "full_text".to_owned()
}

impl Publication {
    /// The events that it stands for, in order.
    pub fn events(&self) -> Vec<Value> {
        let content = self.event.get("content").and_then(Value::as_str);
        let content = content.map(|content| {
            (0..self.repeat)
                .map(|number| content.replace("{n}", &number.to_string()))
                .collect::<String>()
        });
        let event = |version: Option<u64>| {
            let mut event = self.event.clone();
            if let Some(content) = &content {
                let content = version.map_or(content.clone(), |version| {
                    content.replace("{v}", &version.to_string())
                });
                event.insert("content".to_owned(), Value::String(content));
            }
            if let Some(version) = version {
                event.insert("version".to_owned(), Value::from(version));
            }
            Value::Object(event)
        };
        match self.versions {
            Some(versions) => (1..=versions).map(|version| event(Some(version))).collect(),
            None => vec![event(None)],
        }
    }
}

/// All files, by name.
pub fn all() -> Vec<(String, Scenario)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect();
    files.sort();
    let read = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).unwrap();
        let scenario =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (name, scenario)
    };
    let scenarios: Vec<_> = files.iter().map(read).collect();
    assert!(!scenarios.is_empty());
    scenarios
}
