//! Arguments of `publish`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::Output;

const PUBLISH_HELP: &str = "\
A document is known by source and path. The path is relative to a root: once `publish handbook --source hb` was run,
`publish handbook/radio/tilt.md --source hb` updates the document radio/tilt.md. Roots are remembered in the data folder.
Without --source a file goes to the source that it was published to before; a title or id that it was given is kept.
--prune deletes nothing but what was published from that folder for that source.
Ctrl-C ends the waiting and loses nothing: what was accepted goes on in the server, or at the next start.";

/// `publish`.
#[derive(Debug, Args)]
#[command(after_help = PUBLISH_HELP)]
pub struct Publish {
    /// Files and folders; folders are taken whole, hidden files left out; `-` reads one document
    /// from stdin
    #[arg(required_unless_present = "urls", value_hint = ValueHint::AnyPath)]
    pub paths: Vec<PathBuf>,
    /// Name of the source; documents are told apart by source and path [default: the one that
    /// the paths were published to before, else files]
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// Folder that paths are relative to [default: the one from which the source was published
    /// before, else the folder that is named]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub root: Option<PathBuf>,
    /// Fetch the documents at these http and https addresses, one a line; an address is the path
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub urls: Option<PathBuf>,
    /// Put the documents into this knowledge set (repeatable)
    #[arg(long = "set", value_name = "ID")]
    pub sets: Vec<String>,
    /// Give the documents an attribute, such as product=RRU5900 or custom.room=3 (repeatable)
    #[arg(long = "attribute", value_name = "NAME=VALUE")]
    pub attributes: Vec<String>,
    /// Only readers in this group may see the documents (repeatable: in any of them)
    #[arg(long = "access-group", value_name = "NAME")]
    pub access_groups: Vec<String>,
    /// Only this reader may see them, by the id of a key or as docs/rights.md names users (repeatable)
    #[arg(long = "access-user", value_name = "NAME")]
    pub access_users: Vec<String>,
    /// Every reader whose clearance is high enough may see the documents: `access` is `{}`
    #[arg(long, conflicts_with_all = ["access_groups", "access_users"])]
    pub access_everyone: bool,
    /// What one document is
    #[command(flatten)]
    pub one: OneDocument,
    /// Delete documents that were published from the folder before and are no longer in it
    #[command(flatten)]
    pub prune: Prune,
    /// Say what would be published and deleted, and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Wait until each document is indexed, skipped or dead
    #[arg(long)]
    pub wait: bool,
    /// Give up waiting after this many seconds in which nothing moved; 0 waits for ever
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub timeout: u64,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// What is said of a document that is published alone.
#[derive(Clone, Debug, Default, Args)]
pub struct OneDocument {
    /// Title of the one document; it is kept when the file is published again, until "" drops it
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Id of the one document [default: made of source and path]
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Version of the one document, a whole number that grows [default: the time]
    #[arg(long, value_name = "N")]
    pub version: Option<u64>,
    /// Path of the one document within the source
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// Media type of the one document, a hint only, such as text/html
    #[arg(long, value_name = "TYPE")]
    pub media_type: Option<String>,
}

/// What `publish` deletes.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Prune {
    /// Delete documents that were published from the folder before and are no longer in it
    #[arg(long)]
    pub prune: bool,
    /// Delete them without asking
    #[arg(long, requires = "prune")]
    pub yes: bool,
    /// Delete them all where the folder is empty or gone, or a folder in it is not mounted any more
    #[arg(long, requires = "prune")]
    pub allow_empty: bool,
    /// With --yes: delete them also where they are more than half of the source
    #[arg(long, requires = "prune")]
    pub allow_most: bool,
}
