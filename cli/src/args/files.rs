//! Arguments of verbs on one local file or text.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::Output;

/// A verb on one local file.
#[derive(Debug, Args)]
pub struct FileArgument {
    /// The file
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `chunk`.
#[derive(Debug, Args)]
pub struct ChunkFile {
    /// The file, and how results are printed.
    #[command(flatten)]
    pub file: FileArgument,
    /// How it is cut: sections, whole, api, faq, headings, code [default: as the source's profile says]
    #[arg(long, value_name = "NAME")]
    pub chunker: Option<String>,
    /// Cut it as a file of this source is
    #[arg(long, value_name = "NAME", default_value = "files")]
    pub source: String,
    /// Its path within the source, which rules of the profile look at [default: the file's name]
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
}

/// `analyze`.
#[derive(Debug, Args)]
pub struct Analyze {
    /// The text
    pub text: String,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}
