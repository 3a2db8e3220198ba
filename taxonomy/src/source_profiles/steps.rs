//! Cleaning steps as a source profile names them: their settings, the files that these name, and where
//! in the file they stand.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toml::de::DeTable;
use tributary_schemas::{Error, Result};

/// Setting of a cleaning step that names a file, relative to the file of source profiles.
const FILE_SETTING: &str = "file";

/// Setting of a cleaning step that names a file with a key, relative to the same place. Only that
/// it can be read is checked here.
const KEY_FILE_SETTING: &str = "key_file";

/// Setting of a cleaning step that names a file with a header, relative to the same place.
const HEADER_FILE_SETTING: &str = "header_file";

const HEADER_FILE_HINT: &str =
    "`header_file` is relative to the file of source profiles; it holds one line, `Name: value`";

const KEY_FILE_HINT: &str =
    "`key_file` is relative to the file of source profiles; it holds the key alone";

const FILE_HINT: &str = "`file` is relative to the file of source profiles; files of learned boilerplate are made by `tributary profiles learn-boilerplate`";

/// One cleaning step, in the order in which they run: `{ step = "drop_lines", pattern = "…" }`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CleanerStep {
    /// Name of the cleaner.
    pub step: String,
    /// Everything else in the table; the cleaner checks it.
    #[serde(flatten)]
    pub settings: Map<String, Value>,
    /// Text of the file that the setting `file` names, once [`SourceProfiles::read_files`] read
    /// it; part of the profile's fingerprint.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub file_text: Option<String>,
    /// Where the file is that the setting `key_file` names, from the same moment on.
    #[serde(skip)]
    pub key_path: Option<PathBuf>,
    /// Where the file is that the setting `header_file` names.
    #[serde(skip)]
    pub header_path: Option<PathBuf>,
    /// Where it stands in the file of source profiles.
    #[serde(skip)]
    pub line: Option<usize>,
}

impl CleanerStep {
    /// What messages begin with: where it stands, its profile and its name.
    pub fn place(&self, profile: &str) -> String {
        let line = self.line_prefix();
        format!(
            "{line}source profile {profile}: cleaning step {}",
            self.step
        )
    }

    /// `line 7: `, where it is known.
    pub fn line_prefix(&self) -> String {
        self.line
            .map_or_else(String::new, |line| format!("line {line}: "))
    }

    pub(super) fn read_files(&mut self, profile: &str, folder: &Path) -> Result<()> {
        if let Some(file) = self.named(FILE_SETTING) {
            self.file_text = Some(self.read(profile, &folder.join(file), FILE_HINT)?);
        }
        if let Some(file) = self.named(KEY_FILE_SETTING) {
            let path = folder.join(file);
            self.read(profile, &path, KEY_FILE_HINT)?;
            self.key_path = Some(path);
        }
        if let Some(file) = self.named(HEADER_FILE_SETTING) {
            let path = folder.join(file);
            self.read(profile, &path, HEADER_FILE_HINT)?;
            self.header_path = Some(path);
        }
        Ok(())
    }

    fn named(&self, setting: &str) -> Option<&str> {
        self.settings.get(setting).and_then(Value::as_str)
    }

    fn read(&self, profile: &str, path: &Path, hint: &str) -> Result<String> {
        let what = || format!("{}: cannot read {}", self.place(profile), path.display());
        tributary_schemas::files::read_to_string(path)
            .map_err(|error| Error::io(what(), &error).with_hint(hint))
    }
}

/// The lines of the cleaning steps of each profile, in the file's order.
pub(super) fn lines(text: &str) -> Vec<Vec<usize>> {
    let line = |at: usize| {
        let before = text.get(..at).unwrap_or_default();
        before.matches('\n').count() + 1
    };
    let Ok(file) = DeTable::parse(text) else {
        return Vec::new();
    };
    let profiles = file.get_ref().get("source_profile");
    let profiles = profiles.and_then(|profiles| profiles.get_ref().as_array());
    let of_profile = |profile: &toml::Spanned<toml::de::DeValue<'_>>| {
        let steps = profile.get_ref().get("cleaners");
        let steps = steps.and_then(|steps| steps.get_ref().as_array());
        let steps = steps.into_iter().flat_map(|steps| steps.iter());
        steps.map(|step| line(step.span().start)).collect()
    };
    let profiles = profiles.into_iter().flat_map(|profiles| profiles.iter());
    profiles.map(of_profile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_its_line() {
        let text = "[[source_profile]]\nname = \"a\"\n\n[[source_profile]]\nname = \"b\"\ncleaners = \
                    [\n    { step = \"x\" },\n    # a comment\n    { step = \"y\" },\n]\n";
        assert_eq!(lines(text), [vec![], vec![7, 9]]);
        assert!(lines("not a file").is_empty());
    }
}
