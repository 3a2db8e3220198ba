//! Arguments of `models`, `backup`, `restore`, `doctor`, `repair`, `blobs` and `config`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::Output;

/// `models …`.
#[derive(Debug, Subcommand)]
pub enum Models {
    /// List models in the data folder and the search folders
    List(Output),
    /// Fetch a model from a hub, or add one from a local folder
    #[command(visible_alias = "add")]
    Pull {
        /// Name, such as intfloat/multilingual-e5-small, or a local folder
        name: String,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
}

/// `backup`.
#[derive(Debug, Args)]
pub struct Backup {
    /// Where to: a name ending in .tar or .tar.zst for one file, else a folder; nothing may be
    /// there yet
    #[arg(value_hint = ValueHint::AnyPath)]
    pub destination: PathBuf,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `restore`.
#[derive(Debug, Args)]
pub struct Restore {
    /// A backup: file or folder
    #[arg(value_hint = ValueHint::AnyPath)]
    pub backup: PathBuf,
    /// Replace what the data folder holds
    #[arg(long)]
    pub force: bool,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `doctor`.
#[derive(Clone, Copy, Debug, Args)]
pub struct Doctor {
    /// Also read every byte of log, index and blobs against its checksum; no server may run on the
    /// data folder
    #[arg(long)]
    pub verify: bool,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `repair`.
#[derive(Clone, Copy, Debug, Args)]
pub struct Repair {
    /// Do it; without this only what would be done is printed
    #[arg(long)]
    pub apply: bool,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `blobs …`.
#[derive(Debug, Subcommand)]
pub enum Blobs {
    /// Read the whole log and index, and list the bodies that nothing there names; no server may
    /// run
    Collect {
        /// Remove them; without this they are only counted
        #[arg(long)]
        apply: bool,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
}

/// `config …`.
#[derive(Debug, Subcommand)]
pub enum ConfigVerb {
    /// Print the configuration in force
    Show(Output),
    /// Report all problems at once
    Check(Output),
    /// Print every key with what it means and its default, as a file to take from
    Defaults,
}
