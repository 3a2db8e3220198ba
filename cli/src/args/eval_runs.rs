//! Arguments of the verbs of `eval` that look at runs, or make questions.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::Output;

/// Where runs are kept.
#[derive(Debug, Args)]
pub struct Store {
    /// Folder of kept runs [default: evaluations/ in the data folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub store: Option<PathBuf>,
}

/// `eval runs`.
#[derive(Debug, Args)]
pub struct EvalRuns {
    /// Where they are.
    #[command(flatten)]
    pub store: Store,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `eval compare`.
#[derive(Debug, Args)]
pub struct EvalCompare {
    /// The run before: its id, the beginning of it, or its file
    pub a: String,
    /// The run after
    pub b: String,
    /// Changed cases that are shown
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Where they are.
    #[command(flatten)]
    pub store: Store,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `eval generate`.
#[derive(Debug, Args)]
pub struct EvalGenerate {
    /// Folder of the set, as for `eval run`
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub set: PathBuf,
    /// How the questions are put
    #[arg(long, value_enum)]
    pub style: StyleChoice,
    /// Another one gives other questions
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Other file of questions in the folder
    #[arg(long, value_name = "FILE", default_value = "queries.jsonl")]
    pub queries: String,
    /// Other file of judgements in the folder
    #[arg(long, value_name = "FILE", default_value = "qrels.tsv")]
    pub qrels: String,
    /// Folder for queries.STYLE.jsonl and qrels.STYLE.tsv [default: that of the set]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Replace files that are there, which somebody may have looked through
    #[arg(long)]
    pub overwrite: bool,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `eval candidates`.
#[derive(Debug, Args)]
pub struct EvalCandidates {
    /// Folder for queries.candidates.jsonl and qrels.candidates.tsv
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// Styles that rules can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StyleChoice {
    /// As people type: typos, wrong characters of the same sound, fillers, mixed writing
    Noisy,
    /// By its gist: a summary of what is asked about
    Summary,
}
