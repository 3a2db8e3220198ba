//! Arguments of `knowledge-sets` and `profiles`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueHint};

use super::Output;

/// `knowledge-sets …`.
#[derive(Debug, Subcommand)]
pub enum KnowledgeSets {
    /// List knowledge sets
    List(Output),
    /// What one set is and holds: documents and chunks by source, language, type and tag
    Show {
        /// Id of the set
        id: String,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
    /// How each set is: documents by state, failures with reasons, what waits, alarms
    Status {
        /// Id of one set; all of them if left out
        id: Option<String>,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
    /// Build a new generation of the index while queries go on, and switch to it
    #[command(
        after_help = "Without --rollback, --cancel or --status a build is asked for: documents of the named knowledge sets (of all, with \
        --all) are cut as the configuration and the knowledge sets say today; a changed lexicon or model holds for all documents in any \
        case. Only what changed is computed again."
    )]
    Reindex(Reindex),
    /// Define all knowledge sets by a TOML file; documents published from now on follow it, the
    /// others after a reindex
    Apply {
        /// The file; `-` reads stdin
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
}

/// `knowledge-sets reindex`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").args(["sets", "all", "rollback", "cancel", "status"]).required(true).multiple(true))]
pub struct Reindex {
    /// Knowledge sets
    #[arg(value_name = "ID", conflicts_with = "all")]
    pub sets: Vec<String>,
    /// All documents
    #[arg(long)]
    pub all: bool,
    /// Wait until queries go to the new generation
    #[arg(long)]
    pub wait: bool,
    /// Go back to the generation before the last build
    #[arg(long, conflicts_with_all = ["sets", "all", "cancel", "status", "wait"])]
    pub rollback: bool,
    /// Give up the build that is under way
    #[arg(long, conflicts_with_all = ["sets", "all", "status", "wait"])]
    pub cancel: bool,
    /// Show builds, generations, and settings that wait for a reindex
    #[arg(long, conflicts_with_all = ["sets", "all", "wait"])]
    pub status: bool,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `profiles …`.
#[derive(Debug, Subcommand)]
pub enum Profiles {
    /// Show what the profile of a source makes of files: title, attributes, tags, text, chunks;
    /// nothing is published
    Preview(Preview),
    /// Find blocks of text that repeat across the documents of a source, and write them into a file
    /// to be reviewed
    #[command(
        after_help = "Documents are converted and cleaned as the profile of the source says, up to its step drop_learned_boilerplate. \
        Blocks that stand in many of them go into the file. Remove from it what is content, then name it in the profile: \
        { step = \"drop_learned_boilerplate\", file = \"…\" }. What is removed follows from that file alone."
    )]
    LearnBoilerplate(LearnBoilerplate),
}

/// `profiles preview`.
#[derive(Debug, Args)]
pub struct Preview {
    /// Files and folders; folders are taken whole, hidden files left out
    #[arg(required = true, value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
    /// Name of the source; it picks the profile [default: the one that the paths were published
    /// to before, else files]
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// Folder that paths are relative to [default: the one from which the source was published
    /// before, else the folder that is named]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub root: Option<PathBuf>,
    /// Take knowledge sets from this TOML file [default: those of the running server, else those of
    /// the configuration]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub sets: Option<PathBuf>,
    /// Print the summary alone, without the documents
    #[arg(long)]
    pub summary: bool,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `profiles learn-boilerplate`.
#[derive(Debug, Args)]
pub struct LearnBoilerplate {
    /// Files and folders with a sample of the source's documents
    #[arg(required = true, value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
    /// Name of the source; it picks the profile
    #[arg(long, value_name = "NAME")]
    pub source: String,
    /// Folder that paths are relative to [default: the one from which the source was published
    /// before, else the folder that is named]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub root: Option<PathBuf>,
    /// File to write; nothing may be there yet
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Documents in which a block must stand, at least 2
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub minimum_documents: usize,
    /// Share of the documents in which it must stand, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.05)]
    pub minimum_share: f64,
    /// Letters and digits that it must have, unless it is nothing but links
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub minimum_characters: usize,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}
