//! What a page of an API reference says of one class, function or method, by field.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An entry; fields that the page does not have are empty. Texts are Markdown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApiEntry {
    /// As written, such as `class mindspore.nn.ReLU` or `add_flags(**flags)`.
    pub signature: String,
    /// What it is and does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Parameters, keyword parameters included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<ApiField>,
    /// What an object of the class takes when it is called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<ApiField>,
    /// What an object of the class gives when it is called.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub outputs: String,
    /// What is returned.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub returns: String,
    /// Exceptions by name, and when they are raised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raises: Vec<ApiField>,
    /// Code, and where there is more of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<String>,
    /// Notes and warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Where it runs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub platforms: String,
    /// Literature and related entries.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub references: String,
}

/// A parameter, an input or an exception.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApiField {
    /// Its name, such as `kernel_size` or `TypeError`.
    pub name: String,
    /// Its type as written, such as `Union[int, tuple[int]]，可选`.
    #[serde(default, rename = "type", skip_serializing_if = "String::is_empty")]
    pub type_name: String,
    /// What it says.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}
