//! Arguments of `lexicon`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::{Output, documents::at_least_one};

/// Shown below the options.
pub const LEXICON_HELP: &str = "\
A lexicon grows in rounds: candidates from the documents, verdicts of people on those in doubt, better candidates, a list.
  tributary lexicon discover
  tributary lexicon review
  tributary lexicon discover
  tributary lexicon build --output terms.txt --questions questions.jsonl
Candidates and verdicts lie in lexicon/ of the data folder, where the page shows them too, unless files are named.
More: docs/lexicon.md";

/// `lexicon …`.
#[derive(Debug, Subcommand)]
pub enum LexiconVerb {
    /// Find candidates for terms, and other names of things, in the documents that can be found
    Discover(Discover),
    /// Say of candidates whether they are terms, those in doubt first
    Review(Review),
    /// Write the lexicon that candidates and verdicts make, and show what it changes
    Build(BuildLexicon),
}

/// `lexicon discover`.
#[derive(Debug, Args)]
pub struct Discover {
    /// Only documents from this source
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// Only documents in this knowledge set
    #[arg(long, value_name = "ID")]
    pub set: Option<String>,
    /// File of candidates to write, a line of JSON each, the best first [default: lexicon/candidates.jsonl
    /// in the data folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Score the candidates of this file anew instead of reading documents
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["source", "set", "synonyms", "minimum_count"])]
    pub from: Option<PathBuf>,
    /// Write names that definitions in parentheses give, as "载波聚合 (CA)", into this file, in the
    /// form of a lexicon that only names synonyms
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub synonyms: Option<PathBuf>,
    /// File of verdicts to learn from (repeatable) [default: without --output, verdicts.jsonl in the same
    /// folder, if it is there]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub verdicts: Vec<PathBuf>,
    /// Lexicon file of terms that are right, to learn from (repeatable) [default: the lexicon of the
    /// configuration]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub seeds: Vec<PathBuf>,
    /// Occurrences that a candidate needs, unless a definition names it
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub minimum_count: u32,
    /// Candidates that are written at most
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = at_least_one)]
    pub limit: usize,
    /// How the summary is printed.
    #[command(flatten)]
    pub format: Output,
}

/// `lexicon review`.
#[derive(Debug, Args)]
pub struct Review {
    /// File of candidates [default: lexicon/candidates.jsonl in the data folder]
    #[arg(value_name = "CANDIDATES", value_hint = ValueHint::FilePath)]
    pub candidates: Option<PathBuf>,
    /// Your name; verdicts are kept with it
    #[arg(long, value_name = "NAME", env = "USER", default_value = "reviewer")]
    pub reviewer: String,
    /// File that verdicts are added to [default: verdicts.jsonl beside the candidates]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Take verdicts from this file instead of asking: a line each, {"term": …, "decision": "yes"
    /// or "no"}, with "reviewer" and "at_ms" if they are another's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub verdicts: Option<PathBuf>,
    /// Let the language model of the role `judge` decide instead, the highest scores first; people go
    /// before it wherever they said something
    #[arg(long, conflicts_with_all = ["reviewer", "verdicts"])]
    pub by_model: bool,
    /// Candidates that are asked at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = at_least_one)]
    pub limit: usize,
    /// Also ask for candidates that others have decided
    #[arg(long)]
    pub all: bool,
    /// How the summary is printed.
    #[command(flatten)]
    pub format: Output,
}

/// `lexicon build`.
#[derive(Debug, Args)]
pub struct BuildLexicon {
    /// File of candidates [default: lexicon/candidates.jsonl in the data folder]
    #[arg(value_name = "CANDIDATES", value_hint = ValueHint::FilePath)]
    pub candidates: Option<PathBuf>,
    /// File of verdicts (repeatable) [default: verdicts.jsonl beside the candidates, if it is there]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub verdicts: Vec<PathBuf>,
    /// Lexicon file to write; one that this verb wrote before is replaced
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
    /// Replace the file also where somebody wrote or changed it by hand
    #[arg(long)]
    pub overwrite: bool,
    /// Take candidates without a verdict from this score on, 0 to 1; over 1 takes none
    #[arg(long, value_name = "SCORE", default_value_t = 0.8, value_parser = number)]
    pub minimum_score: f64,
    /// Show how the lexicon changes the tokens of the first 1000 questions of this file: lines of
    /// JSON with "text" or "query", or plain lines
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub questions: Option<PathBuf>,
    /// How the summary is printed.
    #[command(flatten)]
    pub format: Output,
}

fn number(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "it is no number".to_owned())?;
    match number.is_finite() {
        true => Ok(number),
        false => Err("it is no number".to_owned()),
    }
}
