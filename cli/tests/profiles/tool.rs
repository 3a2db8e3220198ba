//! Runs of the binary over folders of documents, and looks at what they print.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Previewed documents by path within the source.
pub struct Documents(BTreeMap<String, Value>);

/// A folder of the evaluation data; says loudly when it is not there.
pub fn shared(part: &str) -> Option<PathBuf> {
    let root = std::env::var_os("TRIBUTARY_SHARED")
        .map(PathBuf::from)
        .unwrap_or_else(|| repository().join("../shared"));
    let path = root.join("data").join(part);
    if !path.exists() {
        eprintln!(
            "SKIPPED: {} is not there (set TRIBUTARY_SHARED)",
            path.display()
        );
        return None;
    }
    Some(path)
}

/// Root of the repository: profiles are found by name from there.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs the binary from the root of the repository, with nothing of the caller's configuration.
pub fn run<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    let data = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tributary"));
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TRIBUTARY"))
    {
        command.env_remove(name);
    }
    command
        .current_dir(repository())
        .env("TRIBUTARY_DATA_DIR", data.path())
        .env("TRIBUTARY__MODELS__KIND", "hashing");
    command.args(arguments).output().unwrap()
}

/// Runs a verb that must succeed, and reads its one JSON object.
#[track_caller]
pub fn json<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Value {
    let output = run(arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What the profile of a source makes of files. All of them must be read.
#[track_caller]
pub fn preview(profile: &str, source: &str, paths: &[PathBuf]) -> Documents {
    let mut arguments: Vec<&OsStr> = [
        "--profile",
        profile,
        "profiles",
        "preview",
        "--source",
        source,
        "--format",
        "json",
    ]
    .map(OsStr::new)
    .to_vec();
    arguments.extend(paths.iter().map(|path| path.as_os_str()));
    let mut answer = json(arguments);
    assert_eq!(
        answer["failed"],
        serde_json::json!([]),
        "{}",
        answer["failed"]
    );
    let documents = answer["documents"].as_array_mut().unwrap();
    Documents(
        documents
            .drain(..)
            .map(|document| {
                (
                    document["source_path"].as_str().unwrap().to_owned(),
                    document,
                )
            })
            .collect(),
    )
}

/// Writes files into a folder of their own and previews it.
#[track_caller]
pub fn preview_texts(profile: &str, source: &str, files: &[(&str, &str)]) -> Documents {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    preview(profile, source, &[folder.path().to_owned()])
}

impl Documents {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The one at a path.
    #[track_caller]
    pub fn at(&self, path: &str) -> &Value {
        self.0.get(path).unwrap_or_else(|| {
            panic!(
                "no document {path}, but {:?}",
                self.0.keys().take(20).collect::<Vec<_>>()
            )
        })
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0
            .iter()
            .map(|(path, document)| (path.as_str(), document))
    }

    /// How many there are by value of an attribute; those without it under "".
    pub fn count_by(&self, name: &str) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for document in self.0.values() {
            *counts
                .entry(attribute(document, name).to_owned())
                .or_default() += 1;
        }
        counts
    }

    /// How many have the tag.
    pub fn tagged(&self, tag: &str) -> usize {
        self.0
            .values()
            .filter(|document| has_tag(document, tag))
            .count()
    }
}

/// An attribute, custom ones too; "" if there is none.
pub fn attribute<'a>(document: &'a Value, name: &str) -> &'a str {
    let attributes = &document["attributes"];
    attributes[name]
        .as_str()
        .or_else(|| attributes["custom"][name].as_str())
        .unwrap_or_default()
}

/// Whether the document has the tag.
pub fn has_tag(document: &Value, tag: &str) -> bool {
    document["tags"]
        .as_array()
        .unwrap()
        .iter()
        .any(|own| own == tag)
}

/// A text of the document itself.
#[track_caller]
pub fn field<'a>(document: &'a Value, name: &str) -> &'a str {
    document[name]
        .as_str()
        .unwrap_or_else(|| panic!("no text `{name}` in {document}"))
}

/// How many chunks it is cut into.
pub fn chunks(document: &Value) -> usize {
    document["chunks"].as_array().unwrap().len()
}
