//! Boilerplate that is learned across the documents of one source: blocks of text that repeat in
//! many of them. [`learn`] counts them over a sample, a person reviews the file that
//! [`Learned::to_toml`] writes, and the step `drop_learned_boilerplate` removes what stayed in it.
//!
//! The file is data of the source profile, so what becomes of a document follows from its content
//! and the profile alone, whichever process cleans it and whatever came before. Its format, version
//! 1:
//!
//! ```toml
//! format = 1
//! source = "wiki"           # what it was learned from; for readers
//! documents = 120
//! [[block]]
//! hash = "0123456789abcdef" # of the normalised text below
//! documents = 90            # in which the block stood
//! text = "was this page helpful"
//! ```

mod blocks;
pub mod learn;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, Result};

pub use blocks::without;
pub use learn::{LearnLimits, learn};

/// Version of the file's format.
const FORMAT: u32 = 1;

/// What stands at the top of a written file.
const EXPLANATION: &str = "\
# Blocks of text that repeat across the documents of a source. Review it: whatever you remove here stays in the documents.
# `text` is normalised: without link destinations, marks and case, every number as 0. `hash` belongs to it, so do not edit `text`.
";

/// A file of learned boilerplate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learned {
    /// Version of the format.
    pub format: u32,
    /// Source whose documents were looked at.
    pub source: String,
    /// How many they were.
    pub documents: usize,
    /// What repeats, most frequent first.
    #[serde(default, rename = "block")]
    pub blocks: Vec<LearnedBlock>,
}

/// A block that repeats.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedBlock {
    /// See [`blocks::hash`].
    pub hash: String,
    /// Documents in which it stood.
    pub documents: usize,
    /// The normalised text.
    pub text: String,
}

impl Learned {
    /// Reads a file. `Invalid` if it is none, or if the text of a block is not that of its hash.
    pub fn from_toml(text: &str) -> Result<Self> {
        let invalid =
            |what: String| Error::new(ErrorKind::Invalid, format!("learned boilerplate: {what}"));
        let learned: Self = toml::from_str(text).map_err(|error| {
            invalid(
                error
                    .to_string()
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        })?;
        if learned.format != FORMAT {
            return Err(invalid(format!(
                "format {} is not known, only {FORMAT}",
                learned.format
            ))
            .with_hint("learn the file again"));
        }
        let edited = learned
            .blocks
            .iter()
            .enumerate()
            .find(|(_, block)| blocks::hash(&block.text) != block.hash);
        if let Some((number, block)) = edited {
            let start: String = block.text.chars().take(40).collect();
            return Err(invalid(format!("the text of block {} (`{start}`) is not that of its hash", number + 1))
                .with_hint("remove a block that is to stay in the documents, or learn the file again; texts are not edited"));
        }
        Ok(learned)
    }

    /// The file.
    pub fn to_toml(&self) -> Result<String> {
        let written = toml::to_string(self).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("learned boilerplate cannot be written: {error}"),
            )
        })?;
        Ok(format!("{EXPLANATION}\n{written}"))
    }

    /// Hashes of all blocks.
    pub fn hashes(&self) -> HashSet<String> {
        self.blocks.iter().map(|block| block.hash.clone()).collect()
    }
}
