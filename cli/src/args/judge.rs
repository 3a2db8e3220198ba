//! Arguments of `judge`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{FilterArguments, Output};

/// Shown below the options.
pub const JUDGE_HELP: &str = "\
Each line of the file is a question with a student's answer:
  {\"kind\": \"single\", \"question\": \"…\", \"options\": [\"…\", \"…\"], \"student_answer\": \"B\", \"correct_answer\": \"A\"}
  {\"kind\": \"text\", \"question\": \"…\", \"student_answer\": \"…\"}
kind is single, multiple or text; id, correct_answer, knowledge_point and knowledge_sets may be left out. Each result names its
line; a line that cannot be judged says why and stops no other. With -o results are kept as they come: the same command goes on
after Ctrl-C with the lines that are missing, failed or changed.
  tributary judge questions.jsonl --format json -o judged.jsonl
  tributary judge questions.jsonl --set textbook
Exit code 3 where some lines could not be judged. docs/judging.md has the fields.";

/// `judge`.
#[derive(Debug, Args)]
pub struct Judge {
    /// Questions as JSON Lines; `-` reads them from stdin
    #[arg(value_hint = ValueHint::FilePath)]
    pub questions: PathBuf,
    /// Keep the results in this file, and go on with it if it is there
    #[arg(long = "output-file", short = 'o', value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Judge those lines of the results anew that no model judged
    #[arg(long, requires = "file")]
    pub degraded: bool,
    /// Questions that are judged at the same time
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub at_once: u8,
    /// Where it looks; a line that names sets of its own looks there.
    #[command(flatten)]
    pub filter: FilterArguments,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}
