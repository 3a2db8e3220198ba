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
