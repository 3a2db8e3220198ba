//! Arguments of `eval`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use tributary_eval::gate::Threshold;
use tributary_eval::set::DEFAULT_SOURCE;
use tributary_schemas::ask::Workflow;

use super::eval_runs::{EvalCandidates, EvalCompare, EvalGenerate, EvalRuns, Store};
use super::{Output, one_of};

/// `eval …`.
#[derive(Debug, Subcommand)]
pub enum Eval {
    /// Send a set through the real pipeline and score every tier
    Run(EvalRun),
    /// List the runs that were kept, newest first
    Runs(EvalRuns),
    /// Compare two runs case by case, with confidence intervals of the differences
    Compare(EvalCompare),
    /// Put the questions of a set in another style, by rules and without a model
    Generate(EvalGenerate),
    /// Write questions that may become cases: of conversations with feedback, refused or failed, and
    /// of missed searches
    Candidates(EvalCandidates),
    /// Send source code through the real pipeline and score what questions about it find
    Code(EvalCode),
    /// Score how well questions that lean on what was said before are completed
    Rewrite(EvalRewrite),
    /// Fit the weights of relevance to sets of questions, and print them as a configuration
    Calibrate(EvalCalibrate),
    /// Fit the weight of the vector side to sets of questions, and print it as a configuration
    Tune(EvalTune),
}

/// `eval run`.
#[derive(Debug, Args)]
pub struct EvalRun {
    /// Folder: corpus.jsonl, queries.jsonl, qrels.tsv (BEIR), or docs/, queries.jsonl or
    /// questions.jsonl, qrels.tsv
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub set: PathBuf,
    /// Other file of questions in the folder
    #[arg(long, value_name = "FILE", default_value = "queries.jsonl")]
    pub queries: String,
    /// Other file of judgements in the folder
    #[arg(long, value_name = "FILE", default_value = "qrels.tsv")]
    pub qrels: String,
    /// Source that the documents come from, whose profile then says how they are treated
    #[arg(long, value_name = "NAME", default_value = DEFAULT_SOURCE)]
    pub source: String,
    /// Fold near-duplicates, as searches do; else each is a hit of its own
    #[arg(long)]
    pub fold: bool,
    /// Understand each question before it is searched for, as `ask` does: completed from its
    /// `history` (turns, the user's first) if it has one, and with other names of what it names
    #[arg(long)]
    pub understand: bool,
    /// Embedder instead of the configured one
    #[arg(long, value_enum)]
    pub embedder: Option<EmbedderChoice>,
    /// Ask only this many questions
    #[arg(long, value_name = "N")]
    pub limit: Option<NonZeroUsize>,
    /// What is scored: what a search finds, or what is answered. Questions may say `answers` (a list
    /// of right ones), and `unanswerable: true` needs no judgement
    #[arg(long, value_enum, default_value_t = Level::Retrieval)]
    pub level: Level,
    /// Hits among which the evidence of a question must be for the verdict `full`, at most
    /// query_api.retrieval.maximum_top_k
    #[arg(long, value_name = "N", default_value = "20")]
    pub top_k: NonZeroUsize,
    /// Write each question with its verdict, the step that lost it, ranks and hits into this file, a
    /// line of JSON each
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub cases: Option<PathBuf>,
    /// Exit with 1 where a measure is below a value, such as nDCG@10=0.8 (repeatable)
    #[arg(long, value_name = "MEASURE=VALUE")]
    pub fail_under: Vec<Threshold>,
    /// Where the run is kept.
    #[command(flatten)]
    pub store: Store,
    /// With --level answer: the workflow that answers [default: the configured one]
    #[arg(long, value_name = "NAME", value_parser = one_of(Workflow::ALL.map(Workflow::as_str)))]
    pub workflow: Option<String>,
    /// With --level answer: leave out the documents that answer every Nth question, so that it is to
    /// be refused
    #[arg(long, value_name = "N")]
    pub hold_back: Option<NonZeroUsize>,
    /// With --level answer: have the model of the role `judge` read the answers too
    #[arg(long)]
    pub judge: bool,
    /// With --level answer: write each question with its answer and its measures into this file, a
    /// line of JSON each
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub answers: Option<PathBuf>,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// What `eval run` scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// What a search finds, by tier
    Retrieval,
    /// What is answered
    Answer,
}

/// `eval code`.
#[derive(Debug, Args)]
pub struct EvalCode {
    /// Folder: questions.jsonl, each with its gold files and functions; files.tsv where only some
    /// files are published
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub set: PathBuf,
    /// Other file of questions (repeatable: each is scored by itself) [default: questions.jsonl of the set]
    #[arg(long = "questions", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub questions: Vec<PathBuf>,
    /// Folder of the source code [default: docs/ of the set]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub code: Option<PathBuf>,
    /// Source that the files come from, whose profile then says how they are treated
    #[arg(long, value_name = "NAME", default_value = DEFAULT_SOURCE)]
    pub source: String,
    /// Embedder instead of the configured one
    #[arg(long, value_enum)]
    pub embedder: Option<EmbedderChoice>,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `eval rewrite`.
#[derive(Debug, Args)]
pub struct EvalRewrite {
    /// File of JSON lines: _id, history (turns, the user's first), query, rewrite
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub set: PathBuf,
    /// Ask the model of the role `understand` too
    #[arg(long)]
    pub model: bool,
    /// Part of the file: rules are made by looking at the first half alone
    #[arg(long, value_enum, default_value_t = PartChoice::All)]
    pub part: PartChoice,
    /// Write each question with what became of it to a file, as JSON lines
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub rewritten: Option<PathBuf>,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// Parts of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PartChoice {
    /// All lines.
    All,
    /// The first half.
    First,
    /// The second half.
    Second,
}

/// `eval calibrate`.
#[derive(Debug, Args)]
pub struct EvalCalibrate {
    /// Folder of an evaluation set, as for `eval run` (repeatable)
    #[arg(long = "set", value_name = "DIR", value_hint = ValueHint::DirPath, required = true)]
    pub sets: Vec<PathBuf>,
    /// Questions of each set with an answer, and as many without
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub limit: usize,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `eval tune`.
#[derive(Debug, Args)]
pub struct EvalTune {
    /// Folder of an evaluation set, as for `eval run` (repeatable)
    #[arg(long = "set", value_name = "DIR", value_hint = ValueHint::DirPath, required = true)]
    pub sets: Vec<PathBuf>,
    /// Other file of questions in each folder
    #[arg(long, value_name = "FILE", default_value = "queries.jsonl")]
    pub queries: String,
    /// Other file of judgements in each folder
    #[arg(long, value_name = "FILE", default_value = "qrels.tsv")]
    pub qrels: String,
    /// Embedder instead of the configured one
    #[arg(long, value_enum)]
    pub embedder: Option<EmbedderChoice>,
    /// Write the configuration to this file too, to be reviewed and put into tributary.toml
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub write: Option<PathBuf>,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// Embedders that can be named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EmbedderChoice {
    /// A model folder.
    Onnx,
    /// Feature hashing.
    Hashing,
}
