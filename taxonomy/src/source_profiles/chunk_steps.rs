//! Services of a team's own that see the chunks of a document before they are indexed. The chunk
//! stage calls them; this is what a source profile says of them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, Result};

use crate::problems::Problems;

/// The only kind of step there is.
const EXTERNAL: &str = "external";
const MAXIMUM_NAME_CHARACTERS: usize = 64;
const FILE_HINT: &str = "the file is relative to the file of source profiles";

/// One step, in the order in which they run: `{ step = "external", name = "…", url = "…", version = "1" }`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChunkStep {
    /// Its kind, always `external`.
    pub step: String,
    /// How reasons and metrics call it.
    #[serde(default = "external")]
    pub name: String,
    /// Where chunks are posted to.
    pub url: String,
    /// Raised when the service answers in another way.
    pub version: String,
    /// Only documents of one of these sets go there; all where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knowledge_sets: Vec<String>,
    /// File with a key, sent as `Authorization: Bearer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// File with a header of one line, `Name: value`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header_file: Option<String>,
    /// Longest time for one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// Calls at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<usize>,
    /// Attempts beside the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// How long a document waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience_seconds: Option<u64>,
    /// Documents that wait while it is away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<usize>,
    /// Largest answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum_reply_bytes: Option<usize>,
    /// Folder that the files are relative to, once [`super::SourceProfiles::read_files`] knows it.
    #[serde(skip)]
    pub folder: PathBuf,
}

fn external() -> String {
    EXTERNAL.to_owned()
}

impl ChunkStep {
    /// Text of the key file. An error names the profile and the file, never what is in it.
    pub fn key(&self, profile: &str) -> Result<Option<String>> {
        self.read(profile, self.key_file.as_deref())
    }

    /// Text of the header file, likewise.
    pub fn header(&self, profile: &str) -> Result<Option<String>> {
        self.read(profile, self.header_file.as_deref())
    }

    fn read(&self, profile: &str, file: Option<&str>) -> Result<Option<String>> {
        let Some(file) = file else {
            return Ok(None);
        };
        let path = self.folder.join(file);
        let what = || {
            let (name, path) = (&self.name, path.display());
            format!("source profile {profile}: chunk step {name}: cannot read {path}")
        };
        let text = tributary_schemas::files::read_to_string(&path);
        text.map(Some)
            .map_err(|error| Error::io(what(), &error).with_hint(FILE_HINT))
    }
}

/// Problems of all steps of a profile.
pub(super) fn check(steps: &[ChunkStep], place: &str, problems: &mut Problems) {
    for (at, step) in steps.iter().enumerate() {
        let place = format!("{place}: chunk step {}", at + 1);
        if step.step != EXTERNAL {
            problems.add(format!(
                "{place}: `step` is `{}`; there is only `{EXTERNAL}`",
                step.step
            ));
        }
        if step.version.trim().is_empty() {
            problems.add(format!(
                "{place}: `version` is empty; raise it when the service answers in another way"
            ));
        }
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        let (name, length) = (&step.name, step.name.len());
        if name.is_empty() || length > MAXIMUM_NAME_CHARACTERS || !name.chars().all(is_plain) {
            problems.add(format!(
                "{place}: `name` must be made of letters, digits, `-` and `_`"
            ));
        }
        if steps.iter().take(at).any(|other| other.name == *name) {
            problems.add(format!("{place}: another one is named `{name}`, too"));
        }
    }
}

/// Remembers where files are and finds those that cannot be read.
pub(super) fn read_files(steps: &mut [ChunkStep], profile: &str, folder: &Path) -> Result<()> {
    for step in steps {
        folder.clone_into(&mut step.folder);
        step.key(profile)?;
        step.header(profile)?;
    }
    Ok(())
}
