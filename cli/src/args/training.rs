//! Arguments of `training`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::Output;

pub const TRAINING_HELP: &str = "\
From documents to an embedding model that knows their words:
  tributary training generate --source wiki --output pairs/     questions that passages answer, by a language model
  tributary training clean pairs/                               drop those that are of no use, and say why
  tributary training export pairs/ --output data/               with hard negatives, split by document
  deploy/training/finetune data/ --base MODEL --output NAME     train, export, compare before and after
  tributary models add NAME                                     then models.folder = \"NAME\", and a reindex
  tributary eval run --set data/test-set                        what it is worth to searches

The language model is that of the role `generate` (models.chat.roles.generate). More: docs/training.md";

/// `training …`.
#[derive(Debug, Subcommand)]
pub enum Training {
    /// Make questions that passages of the knowledge base answer
    Generate(GenerateTraining),
    /// Drop questions that are of no use for training, and say why
    Clean(CleanTraining),
    /// Write files for training and for evaluation, split by document, with hard negatives
    Export(ExportTraining),
}

/// `training generate`.
#[derive(Debug, Args)]
pub struct GenerateTraining {
    /// Folder that the questions go to; one that holds some is gone on with
    #[arg(long = "output", short = 'o', value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output_folder: PathBuf,
    /// Only documents of this source
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// Only documents of this knowledge set
    #[arg(long, value_name = "ID")]
    pub set: Option<String>,
    /// Only documents with this tag
    #[arg(long, value_name = "TAG")]
    pub tag: Option<String>,
    /// Make questions without a language model: of titles, definitions and first sentences
    #[arg(long)]
    pub by_rules: bool,
    /// Questions of each passage
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=12))]
    pub per_passage: u8,
    /// Passages that have been asked about when this is done, earlier runs included; chosen by
    /// chance, a larger number later goes on [default: all]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Language of the questions
    #[arg(long, value_enum, default_value_t = QuestionLanguageChoice::Passage)]
    pub language: QuestionLanguageChoice,
    /// Passages of fewer letters and digits are left out; addresses of links do not count
    #[arg(long, value_name = "N", default_value_t = 80)]
    pub shortest: usize,
    /// Characters of a passage that the language model sees at most
    #[arg(long, value_name = "N", default_value_t = 6000)]
    pub longest: usize,
    /// Ask again about passages that the language model could not ask about
    #[arg(long)]
    pub again: bool,
    /// Seed of what is left to chance
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// Languages of questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QuestionLanguageChoice {
    /// That of the passage.
    Passage,
    /// Chinese to English passages, English to Chinese ones: for search across languages.
    Other,
    /// English.
    En,
    /// Chinese.
    Zh,
}

/// `training clean`.
#[derive(Debug, Args)]
pub struct CleanTraining {
    /// Folder of `training generate`
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// Shortest question: two for each word, one for each Chinese character
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub shortest: usize,
    /// Longest question, in the same unit
    #[arg(long, value_name = "N", default_value_t = 90)]
    pub longest: usize,
    /// Share of common shingles from which two questions are the same, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.8, value_parser = share)]
    pub similarity: f64,
    /// Without a reranker: the passage is among so many hits of its question. What the present
    /// model ranks low is worth learning, so this is a wide net
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub rank: usize,
    /// With a reranker: least score that it gives the passage, 0 to 1
    #[arg(long, value_name = "SCORE", default_value_t = 0.3)]
    pub rerank_score: f32,
    /// Keep questions without asking the index whether their passages answer them
    #[arg(long)]
    pub without_index: bool,
    /// Largest share of short, medium or long questions, 0.5 to 1 (1: any); at most half of one length
    /// is dropped for it
    #[arg(long, value_name = "SHARE", default_value_t = 0.6)]
    pub longest_share: f64,
    /// Seed of what is left to chance
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok();
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "it must be a number from 0 to 1".to_owned())
}

/// `training export`.
#[derive(Debug, Args)]
pub struct ExportTraining {
    /// Folder that was cleaned
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// Folder that the files go to
    #[arg(long = "output", short = 'o', value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub output_folder: PathBuf,
    /// Hard negatives of each question at most; 0: none, and the index is not asked
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub negatives: usize,
    /// A negative scores below this share of the right passage's score, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.95)]
    pub share_of_positive: f32,
    /// Hits of a question among which negatives are looked for
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub hits: usize,
    /// Share of the questions for choosing settings
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    pub dev: f64,
    /// Share of the questions for evaluation
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    pub test: f64,
    /// Seed of the split
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}
