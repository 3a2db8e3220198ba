//! Arguments of `conversations`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::Output;
use super::documents::at_least_one;

/// `conversations …`.
#[derive(Debug, Subcommand)]
pub enum Conversations {
    /// List conversations, the one with the newest change first
    List {
        /// Only with this text in the title, in any case
        #[arg(long, value_name = "TEXT")]
        title: Option<String>,
        /// At most this many [default: all]
        #[arg(long, value_parser = at_least_one)]
        limit: Option<usize>,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
    /// Show one with its questions and answers
    Show {
        /// Conversation id, as the list shows it
        id: String,
        /// The last so many turns; all of them without it
        #[arg(long, value_name = "N", value_parser = at_least_one)]
        last: Option<usize>,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
    /// Give one another title
    Rename {
        /// Conversation id
        id: String,
        /// Its title from now on, at most 200 characters
        title: String,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
    /// Remove the questions and answers of conversations for good; the conversations stay
    Clear(ConversationIds),
    /// Delete conversations for good, with their questions, answers and feedback
    Delete(ConversationIds),
    /// Write one as a file: Markdown to be read, or with --format json everything that is kept
    Export {
        /// Conversation id
        id: String,
        /// File to write, which must not be there yet [default: print it]
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
}

/// Which conversations.
#[derive(Debug, Args)]
pub struct ConversationIds {
    /// Conversation ids
    #[arg(required = true)]
    pub ids: Vec<String>,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}
