//! Descriptions of source code. The chunker makes them from comments, signatures and names; where a
//! model is configured for the role `describe_code`, it writes those of the longer definitions and
//! the summaries of files anew.

pub mod writer;

use tributary_schemas::code_entry::CodeEntry;

/// A description that a model may write.
#[derive(Clone, Debug)]
pub struct WantedDescription {
    /// Position of its chunk among those of the document.
    pub position: usize,
    /// Title of the document and names down to the definition's, joined by ` › `.
    pub path: String,
    /// What is known of it.
    pub entry: CodeEntry,
    /// Its code, with the comment above; the beginning of a long one.
    pub text: String,
}
