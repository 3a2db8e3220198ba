//! What is known of a piece of source code: a file, or a definition in it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A file or a definition. Lines are those of the file, from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeEntry {
    /// Programming language, such as `c` or `typescript`.
    pub language: String,
    /// What it is.
    pub definition: Definition,
    /// Name, with the types or modules that it belongs to, such as `Lock::acquire`; the file's name
    /// for a file.
    pub name: String,
    /// Its first lines up to the body, in one line; empty for a file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub signature: String,
    /// First line, that of the comment above it included.
    pub start_line: u32,
    /// Last line.
    pub end_line: u32,
    /// What it does, in words: what is searched by meaning. Without a model from its comment, its
    /// signature and its names.
    pub description: String,
    /// Who wrote the description.
    pub described_by: DescribedBy,
    /// Names that it calls, in order, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// Names of the definitions in the same file that call it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<String>,
}

/// What a description begins with that a program wrote in the place of one.
const ERROR_MARKS: [&str; 3] = ["[error", "<error", "error:"];

impl CodeEntry {
    /// Whether the description says something: it is neither empty, nor only the name, nor the
    /// message of a failure. What is not described is not searched.
    pub fn is_described(&self) -> bool {
        let description = self.description.trim().to_lowercase();
        let said = description.trim_matches(|character: char| !character.is_alphanumeric());
        let name = self.name.to_lowercase();
        let last_part = name.rsplit([':', '.']).next().unwrap_or_default();
        let is_only_name = [name.as_str(), last_part]
            .iter()
            .any(|name| said == name.trim_matches(|character: char| !character.is_alphanumeric()));
        let is_error = ERROR_MARKS.iter().any(|mark| description.starts_with(mark));
        !said.is_empty() && !is_only_name && !is_error
    }
}

/// What a piece of source code is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Definition {
    /// A whole file.
    File,
    /// A function or a method.
    Function,
    /// A structure, class, enumeration, interface, trait or a name for a type.
    Type,
    /// A macro.
    Macro,
}

/// Where a description comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DescribedBy {
    /// A language model.
    Model,
    /// The comment in the code, with signature and names.
    Comment,
    /// Signature and names alone: there is no comment.
    Names,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_must_say_more_than_the_name() {
        let described = |name: &str, description: &str| {
            let json = serde_json::json!({"language": "c", "definition": "function", "name": name,
                "start_line": 1, "end_line": 2, "description": description,
                "described_by": "comment"});
            let entry: CodeEntry =
                serde_json::from_value(json).unwrap_or_else(|error| panic!("{error}"));
            entry.is_described()
        };
        let table = [
            ("wake_up", "Wakes the thread.", true),
            ("wake_up", "唤醒线程", true),
            ("wake_up", "wake_up() in sched", true),
            ("wake_up", "", false),
            ("wake_up", " \n", false),
            ("wake_up", "...", false),
            ("wake_up", "wake_up()", false),
            ("Lock::acquire", "`acquire`", false),
            ("__free", "__free()", false),
            ("wake_up", "[ERROR: 429] too many requests", false),
            ("wake_up", "Error: no answer", false),
            ("wake_up", "Error path of the wake-up", true),
        ];
        for (name, description, expected) in table {
            assert_eq!(described(name, description), expected, "{description}");
        }
    }
}
