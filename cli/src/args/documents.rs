//! Arguments of `documents` and `dead-letters`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use tributary_schemas::{DeadLetter, DocumentSort, ErrorKind, State};

use super::{Output, one_of};

/// `documents …`.
#[derive(Debug, Subcommand)]
pub enum Documents {
    /// List documents, filtered and sorted, with totals
    List(Box<ListDocuments>),
    /// Show one document: what is searchable and what the last attempt did, attributes, tags, sets,
    /// metadata, tables, pictures, near-duplicates, passages
    Show {
        /// Document id, or source/path such as handbook/radio/tilt.md
        id: String,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
    /// Write the tables of a spreadsheet or CSV file as an SQLite database
    Tables {
        /// Document id, or source/path
        id: String,
        /// File to write; nothing may be there yet
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
    /// Write the file that was published, as it was
    Original {
        /// Document id, or source/path
        id: String,
        /// File to write; nothing may be there yet
        #[arg(short = 'o', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
    /// Make up for what was done in a lesser way because a model was away
    Repair {
        /// Documents whose summaries or descriptions a model should have written
        #[arg(long, required = true)]
        degraded: bool,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
    /// Prove that nothing was lost: compare what was accepted with what can be found
    Reconcile {
        /// Wait this many seconds at most for documents that are on the way
        #[arg(long, default_value_t = 30)]
        wait_seconds: u64,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
    /// Delete documents
    Delete {
        /// Document ids, or source/path
        #[arg(required = true)]
        ids: Vec<String>,
        /// Version of the deletion, where you give versions of your own (one document at a time); what is
        /// published later needs a higher one [default: the time in milliseconds]
        #[arg(long, value_name = "NUMBER")]
        version: Option<u64>,
        /// Wait until they are gone from the index
        #[arg(long)]
        wait: bool,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
}

pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(error.to_string()),
    }
}

/// A condition that is empty by mistake, such as an unset variable of a shell, would be none.
fn not_empty(text: &str) -> Result<String, String> {
    match text.trim().is_empty() {
        true => Err("it is empty".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// `documents list`.
#[derive(Debug, Args)]
pub struct ListDocuments {
    /// Only those whose last attempt came to this state: accepted, chunking, embedding, indexing,
    /// indexed, skipped, deleted, dead
    #[arg(long, hide_possible_values = true, value_parser = one_of(State::ALL.map(State::as_str)))]
    pub state: Option<String>,
    /// Only those that can be found; with `--searchable false` those that cannot
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub searchable: Option<bool>,
    /// Only those made in a lesser way than configured, such as without the model for summaries
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub degraded: Option<bool>,
    /// Only from this source
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// Only in this knowledge set
    #[arg(long, value_name = "ID")]
    pub set: Option<String>,
    /// Only with this tag
    #[arg(long)]
    pub tag: Option<String>,
    /// Only with this text in the title
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Only with this text in the path
    #[arg(long, value_name = "TEXT")]
    pub path: Option<String>,
    /// Only with a path that begins with exactly this
    #[arg(long, value_name = "PREFIX")]
    pub path_prefix: Option<String>,
    /// Only with this text in title, source/path or id
    #[arg(long)]
    pub text: Option<String>,
    /// Only if the last attempt is of this time or later: 2026-11-24, 2026-11-24T08:00:00Z, 12h
    #[arg(long, value_name = "TIME")]
    pub changed_since: Option<String>,
    /// Only if the last attempt is older
    #[arg(long, value_name = "TIME")]
    pub changed_before: Option<String>,
    /// Sort by source, path, title, time, state or id [default: source, then path]
    #[arg(long, hide_possible_values = true, value_parser = one_of(DocumentSort::ALL.map(DocumentSort::as_str)))]
    pub sort: Option<String>,
    /// The last first
    #[arg(long)]
    pub reverse: bool,
    /// Go on where a list before ended, as it said
    #[arg(long)]
    pub after: Option<String>,
    /// At most this many [default: all]
    #[arg(long, value_parser = at_least_one)]
    pub limit: Option<usize>,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `dead-letters …`.
#[derive(Debug, Subcommand)]
pub enum DeadLetters {
    /// List open dead letters, newest first
    List(ListDeadLetters),
    /// Show one, with the beginning of the record
    Show {
        /// Dead letter id
        id: String,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
    /// Send records through the pipeline again
    #[command(override_usage = "\
tributary dead-letters replay <IDS>... [OPTIONS]
       tributary dead-letters replay --all [OPTIONS]
       tributary dead-letters replay --source <NAME> [--stage …] [--kind …] [--reason …]")]
    Replay(ReplayDeadLetters),
    /// Forget records
    #[command(override_usage = "\
tributary dead-letters drop <IDS>... [OPTIONS]
       tributary dead-letters drop --all [OPTIONS]
       tributary dead-letters drop --source <NAME> [--stage …] [--kind …] [--reason …]")]
    Drop(DeadLetterIds),
}

/// Which records are sent again, and whether to wait for their documents.
#[derive(Debug, Args)]
pub struct ReplayDeadLetters {
    /// Which.
    #[command(flatten)]
    pub which: DeadLetterIds,
    /// Wait until each document is indexed, skipped or dead again
    #[arg(long)]
    pub wait: bool,
    /// Give up waiting after this many seconds in which nothing moved; 0 waits for ever
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub timeout: u64,
}

/// Conditions on dead letters.
#[derive(Debug, Default, Args)]
pub struct LetterConditions {
    /// Only those whose document is of this source
    #[arg(long, value_name = "NAME", value_parser = not_empty)]
    pub source: Option<String>,
    /// Only those that this stage gave up: ingest, chunk, embed, index, reindex
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = one_of(DeadLetter::STAGES))]
    pub stage: Option<String>,
    /// Only those of this kind: invalid, unsupported, corrupt, not_found, denied, timeout, internal
    #[arg(long, hide_possible_values = true, value_parser = one_of(ErrorKind::ALL.map(ErrorKind::as_str)))]
    pub kind: Option<String>,
    /// Only those with this text in the reason
    #[arg(long, value_name = "TEXT", value_parser = not_empty)]
    pub reason: Option<String>,
}

/// `dead-letters list`.
#[derive(Debug, Args)]
pub struct ListDeadLetters {
    /// Which.
    #[command(flatten)]
    pub conditions: LetterConditions,
    /// The newest so many; all of them without it
    #[arg(long, value_parser = at_least_one)]
    pub limit: Option<usize>,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// Which dead letters.
#[derive(Debug, Args)]
pub struct DeadLetterIds {
    /// Dead letter ids
    #[arg(
        value_parser = not_empty,
        required_unless_present_any = ["all", "source", "stage", "kind", "reason"],
        conflicts_with_all = ["all", "source", "stage", "kind", "reason"]
    )]
    pub ids: Vec<String>,
    /// All open ones, or all that meet the conditions
    #[arg(long)]
    pub all: bool,
    /// Which, instead of ids.
    #[command(flatten)]
    pub conditions: LetterConditions,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}
