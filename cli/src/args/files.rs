//! Arguments of verbs on one local file or text.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::Output;

/// A verb on one local file.
#[derive(Debug, Args)]
pub struct FileArgument {
    /// The file; `-` reads stdin
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Its path within the source, whose ending says what it may be [default: the file's name]
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// Its media type, a hint only, such as text/html
    #[arg(long, value_name = "TYPE")]
    pub media_type: Option<String>,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

impl FileArgument {
    /// Whether stdin is meant.
    pub fn is_stdin(&self) -> bool {
        self.file.as_os_str() == "-"
    }

    /// What it is called, where it has a name.
    pub fn name(&self) -> Option<String> {
        let of_file = || {
            let name = self.file.file_name().filter(|_| !self.is_stdin())?;
            Some(name.to_string_lossy().into_owned())
        };
        self.path.clone().or_else(of_file)
    }
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
