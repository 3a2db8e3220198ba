//! The command line: verbs, options and the help that teaches them.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum, ValueHint};
use tributary_schemas::{ChunkKind, DocumentSort, State};

const AFTER_HELP: &str = "\
Start here:
  tributary run                          start everything on one machine; the web page's address is printed
  tributary publish docs/ --wait         publish a folder and see what became of each file
  tributary search \"how do I …\"          ask; works with or without a running server

Verbs find a server that runs on the same data folder by themselves. Without one they open the data folder in process.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 partly failed, 130 ended by Ctrl-C.";

const PUBLISH_HELP: &str = "\
A document is known by source and path. The path is relative to a root: once `publish handbook --source hb` was run,
`publish handbook/radio/tilt.md --source hb` updates the document radio/tilt.md. Roots are remembered in the data folder.
Without --source a file goes to the source that it was published to before; a title or id that it was given is kept.
--prune deletes nothing but what was published from that folder for that source.
Ctrl-C ends the waiting and loses nothing: what was accepted goes on in the server, or at the next start.";

/// A knowledge base: documents in through a log, questions answered in three tiers.
#[derive(Debug, Parser)]
#[command(name = "tributary", version, about, after_help = AFTER_HELP, max_term_width = 110)]
pub struct Arguments {
    /// Options of every verb.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// Options of every verb.
#[derive(Clone, Debug, Args)]
pub struct Global {
    /// Configuration file [default: ./tributary.toml if it is there]
    #[arg(long, global = true, value_name = "FILE", env = "TRIBUTARY_CONFIG", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Folder that holds log, index and models [default: ./.tributary]
    #[arg(long, global = true, value_name = "DIR", env = "TRIBUTARY_DATA_DIR", value_hint = ValueHint::DirPath)]
    pub data_dir: Option<PathBuf>,
    /// Talk to this server instead of the one on the data folder, such as http://127.0.0.1:7470
    #[arg(long, global = true, value_name = "URL", env = "TRIBUTARY_SERVER")]
    pub server: Option<String>,
    /// Domain profile: a path, or the name of a folder below deploy/profiles here, below profiles beside the
    /// program, or below deploy/profiles of the checkout that the program was built in
    #[arg(long, global = true, value_name = "NAME", env = "TRIBUTARY_PROFILE")]
    pub profile: Option<String>,
    /// More log lines on stderr (-v debug, -vv trace)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run the services until Ctrl-C
    Run(Run),
    /// Publish files and folders
    Publish(Publish),
    /// Search the knowledge base
    Search(Search),
    /// Search source code
    #[command(subcommand)]
    Code(Code),
    /// Convert a file to Markdown, as ingest would
    Convert(FileArgument),
    /// Convert documents for the process that started this one
    #[command(hide = true)]
    ConvertWorker,
    /// Become LibreOffice, confined, for the process that started this one
    #[command(hide = true)]
    DrawWorker,
    /// Cut a file into chunks, as enrich would
    Chunk(ChunkFile),
    /// Show the tokens that the configuration cuts a text into, and whether the index uses it
    Analyze(Analyze),
    /// Look at documents and what became of them
    #[command(subcommand)]
    Documents(Documents),
    /// Look at records that were given up, send them again or drop them
    #[command(subcommand)]
    DeadLetters(DeadLetters),
    /// List or define knowledge sets, and build the index anew for them
    #[command(subcommand)]
    KnowledgeSets(KnowledgeSets),
    /// See what source profiles make of documents, and learn what repeats in a source
    #[command(subcommand)]
    Profiles(Profiles),
    /// Measure retrieval on an evaluation set
    #[command(subcommand)]
    Eval(Eval),
    /// List or fetch models
    #[command(subcommand)]
    Models(Models),
    /// Copy log, index and bodies of one moment, while the server runs or not
    Backup(Backup),
    /// Make the data folder what a backup holds
    Restore(Restore),
    /// Remove bodies that nobody names any more
    #[command(subcommand)]
    Blobs(Blobs),
    /// Show or check the configuration
    #[command(subcommand)]
    Config(ConfigVerb),
    /// Check everything that a run needs, with a hint for what is missing
    Doctor(Doctor),
    /// Make right what rotted on the disk; says what it would do unless told --apply
    #[command(
        after_help = "Looks at the whole data folder first, as `doctor --verify` does; no server may run on it. Damaged records of the log are \
        left out, damaged generations of the index are built again from the log, damaged blobs are taken away. Nothing is lost that was not \
        lost before: what is taken away is kept in the folder `damaged` of the data folder until you remove it."
    )]
    Repair(Repair),
    /// Print a completion script for a shell
    Completions {
        /// Shell to print it for
        shell: clap_complete::Shell,
    },
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Args)]
pub struct Output {
    /// text is for people, json for scripts
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Format of results on stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// One object.
    Json,
}

/// `run`.
#[derive(Debug, Args)]
pub struct Run {
    /// Services to run, comma-separated
    #[arg(long, value_delimiter = ',', value_enum, default_values_t = Service::ALL)]
    pub services: Vec<Service>,
    /// Address to listen on; port 0 picks a free one [default: from the configuration]
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Option<SocketAddr>,
    /// Publish these paths once the services run, and show one answered search
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub sample: Vec<PathBuf>,
}

/// A part of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Service {
    /// Convert and clean.
    Ingest,
    /// Cut into chunks.
    Chunk,
    /// Make vectors.
    Embed,
    /// Write the index.
    Index,
    /// Answer over HTTP.
    Query,
}

impl Service {
    /// All of them: what runs on one machine.
    pub const ALL: [Self; 5] = [
        Self::Ingest,
        Self::Chunk,
        Self::Embed,
        Self::Index,
        Self::Query,
    ];
}

impl std::fmt::Display for Service {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self
            .to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default();
        formatter.write_str(&name)
    }
}

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

/// `search`.
#[derive(Debug, Args)]
pub struct Search {
    /// The question
    pub query: String,
    /// Hits wanted [default: from the configuration]
    #[arg(long, short = 'k', value_name = "N")]
    pub top_k: Option<usize>,
    /// Only in this knowledge set (repeatable: in any of them)
    #[arg(long = "set", value_name = "ID")]
    pub sets: Vec<String>,
    /// Only with this tag (repeatable: with any of them)
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Only from this source (repeatable: from any of them)
    #[arg(long = "source", value_name = "NAME")]
    pub sources: Vec<String>,
    /// Only where an attribute has this value, such as department=RAN or category=api (repeatable:
    /// one of the values of each name)
    #[arg(long = "attribute", value_name = "NAME=VALUE", value_parser = attribute)]
    pub attributes: Vec<(String, String)>,
    /// Only in this document, by id or source/path (repeatable: in any of them)
    #[arg(long = "document", value_name = "NAME")]
    pub documents: Vec<String>,
    /// Only chunks of this kind, such as faq, api or code_function (repeatable: of any of them)
    #[arg(long = "kind", value_name = "KIND", hide_possible_values = true,
        value_parser = one_of(ChunkKind::ALL.map(ChunkKind::as_str)))]
    pub kinds: Vec<String>,
    /// Leave out hits of a lower relevance, 0 to 1: the estimated probability that a hit answers the question
    #[arg(long, value_name = "SHARE")]
    pub minimum_relevance: Option<f32>,
    /// Return the plan and what each tier found (with --format json)
    #[arg(long)]
    pub explain: bool,
    /// Show near-duplicates as hits of their own, instead of one for all of them
    #[arg(long)]
    pub unfold: bool,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

const CODE_HELP: &str = "\
Files are found first, by what they do and by the best of their functions; then the functions, types and macros in
those files. Each hit begins with path:line, which editors and terminals open. Ask for what the code does, in Chinese
or English, or for a name:
  tributary code search \"where is the background page reclaim thread woken up\" --source kernel-code
  tributary code search balance_dirty_pages --attribute category=mm -k 3
Only code that was published from a source with a chunker for code is found; docs/code-search.md says how.";

/// `code …`.
#[derive(Debug, Subcommand)]
pub enum Code {
    /// Find functions, types and macros by what they do or by name, and the files that they are in
    #[command(after_help = CODE_HELP)]
    Search(CodeSearch),
}

/// `code search`.
#[derive(Debug, Args)]
pub struct CodeSearch {
    /// The question
    pub query: String,
    /// Functions, types and macros wanted [default: from the configuration]
    #[arg(long, short = 'k', value_name = "N")]
    pub top_k: Option<usize>,
    /// Files in which they are looked for [default: from the configuration]
    #[arg(long, value_name = "N")]
    pub files: Option<usize>,
    /// Only in this knowledge set (repeatable: in any of them)
    #[arg(long = "set", value_name = "ID")]
    pub sets: Vec<String>,
    /// Only with this tag (repeatable: with any of them)
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Only from this source (repeatable: from any of them)
    #[arg(long = "source", value_name = "NAME")]
    pub sources: Vec<String>,
    /// Only where an attribute has this value, such as category=mm (repeatable: one of the values of each name)
    #[arg(long = "attribute", value_name = "NAME=VALUE", value_parser = attribute)]
    pub attributes: Vec<(String, String)>,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// A verb on one local file.
#[derive(Debug, Args)]
pub struct FileArgument {
    /// The file
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// Reads `NAME=VALUE`; `custom.` before the name, as `publish` has it, may be left out.
fn attribute(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => {
            let name = name.strip_prefix("custom.").unwrap_or(name);
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("it is written NAME=VALUE, such as department=RAN".to_owned()),
    }
}

/// `chunk`.
#[derive(Debug, Args)]
pub struct ChunkFile {
    /// The file, and how results are printed.
    #[command(flatten)]
    pub file: FileArgument,
    /// How it is cut: sections, whole, api, faq, headings, code [default: as the source's profile says]
    #[arg(long, value_name = "NAME")]
    pub chunker: Option<String>,
    /// Cut it as a file of this source is
    #[arg(long, value_name = "NAME", default_value = "files")]
    pub source: String,
    /// Its path within the source, which rules of the profile look at [default: the file's name]
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
}

/// `analyze`.
#[derive(Debug, Args)]
pub struct Analyze {
    /// The text
    pub text: String,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

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
    /// Make up for what was done in a lesser way because a model was away
    Repair {
        /// Documents whose summaries the model should have written
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
        /// Wait until they are gone from the index
        #[arg(long)]
        wait: bool,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
}

/// Refuses other values by naming those that there are.
fn one_of<const N: usize>(values: [&'static str; N]) -> PossibleValuesParser {
    PossibleValuesParser::new(values)
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(error.to_string()),
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
    List {
        /// The newest so many; all of them without it
        #[arg(long, value_parser = at_least_one)]
        limit: Option<usize>,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
    /// Show one, with the beginning of the record
    Show {
        /// Dead letter id
        id: String,
        /// How results are printed.
        #[command(flatten)]
        output: Output,
    },
    /// Send records through the pipeline again
    Replay(DeadLetterIds),
    /// Forget records
    Drop(DeadLetterIds),
}

/// Which dead letters.
#[derive(Debug, Args)]
pub struct DeadLetterIds {
    /// Dead letter ids
    #[arg(required_unless_present = "all")]
    pub ids: Vec<String>,
    /// All open ones
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `knowledge-sets …`.
#[derive(Debug, Subcommand)]
pub enum KnowledgeSets {
    /// List knowledge sets
    List(Output),
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
        /// The file
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

/// `eval …`.
#[derive(Debug, Subcommand)]
pub enum Eval {
    /// Send a set through the real pipeline and score every tier
    Run(EvalRun),
    /// Send source code through the real pipeline and score what questions about it find
    Code(EvalCode),
    /// Fit the weights of relevance to sets of questions, and print them as a configuration
    Calibrate(EvalCalibrate),
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
    #[arg(long, value_name = "NAME", default_value = "eval")]
    pub source: String,
    /// Fold near-duplicates, as searches do; else each is a hit of its own
    #[arg(long)]
    pub fold: bool,
    /// Embedder instead of the configured one
    #[arg(long, value_enum)]
    pub embedder: Option<EmbedderChoice>,
    /// Ask only this many questions
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
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
    #[arg(long, value_name = "NAME", default_value = "eval")]
    pub source: String,
    /// Embedder instead of the configured one
    #[arg(long, value_enum)]
    pub embedder: Option<EmbedderChoice>,
    /// How results are printed.
    #[command(flatten)]
    pub output: Output,
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

/// Embedders that can be named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EmbedderChoice {
    /// A model folder.
    Onnx,
    /// Feature hashing.
    Hashing,
}

/// `models …`.
#[derive(Debug, Subcommand)]
pub enum Models {
    /// List models in the data folder and the search folders
    List(Output),
    /// Fetch a model from a local folder or a hub
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
}
