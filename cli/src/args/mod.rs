//! The command line: verbs, options and the help that teaches them.

mod ask;
mod audit;
mod ca_file;
mod conversations;
mod documents;
mod eval;
mod eval_runs;
mod files;
mod judge;
mod key;
mod keys;
mod lexicon;
mod maintenance;
mod publish;
mod report;
mod rights;
mod search;
mod sets;
mod tables;
mod training;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

pub use ask::{ASK_HELP, Ask};
pub use audit::{AUDIT_HELP, Audit, ListCalls};
pub use ca_file::CaFile;
pub use conversations::{ConversationIds, Conversations};
pub use documents::{
    DeadLetterIds, DeadLetters, Documents, LetterConditions, ListDeadLetters, ListDocuments,
    ReplayDeadLetters,
};
pub use eval::{
    EmbedderChoice, Eval, EvalCalibrate, EvalCode, EvalRewrite, EvalRun, EvalTune, Level,
    PartChoice,
};
pub use eval_runs::{EvalCandidates, EvalCompare, EvalGenerate, EvalRuns, Store, StyleChoice};
pub use files::{Analyze, ChunkFile, FileArgument};
pub use judge::{JUDGE_HELP, Judge};
pub use key::Key;
pub use keys::{KEYS_HELP, Keys, NewKey};
pub use lexicon::{BuildLexicon, Discover, LEXICON_HELP, LexiconVerb, Review};
pub use maintenance::{Backup, Blobs, ConfigVerb, Doctor, Models, Repair, Restore};
pub use publish::{OneDocument, Prune, Publish};
pub use report::{REPORT_HELP, ReportVerb};
pub use rights::{RIGHTS_HELP, Rights};
pub use search::{Code, CodeSearch, FilterArguments, Search, given};
pub use sets::{KnowledgeSets, LearnBoilerplate, Preview, Profiles, Reindex};
pub use tables::{ListTables, QueryTables, ShowTables, TABLES_HELP, Tables};
pub use training::{
    CleanTraining, ExportTraining, GenerateTraining, QuestionLanguageChoice, TRAINING_HELP,
    Training,
};

const AFTER_HELP: &str = "\
Start here:
  tributary run                          start everything on one machine; the web page's address is printed
  tributary publish docs/ --wait         publish a folder and see what became of each file
  tributary search \"how do I …\"          find passages; works with or without a running server
  tributary ask \"how do I …\"             get an answer that cites them

Verbs find a server that runs on the same data folder by themselves. Without one they open the data folder in process.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 partly failed, 130 ended by Ctrl-C.";

const MCP_HELP: &str = "\
For programs that start their tools themselves, such as Claude Desktop, editors and agents. Messages come on stdin and go to
stdout, log lines to stderr; a server must run already (`tributary run`), and every message goes to its /mcp. A program that
speaks Streamable HTTP needs no verb: give it http://127.0.0.1:7470/mcp.

In the program's list of servers, with the data folder that the server runs on:
  {\"mcpServers\": {\"tributary\": {\"command\": \"tributary\", \"args\": [\"mcp\", \"--data-dir\", \"/path/to/.tributary\"]}}}
or with its address:
  {\"mcpServers\": {\"tributary\": {\"command\": \"tributary\", \"args\": [\"mcp\", \"--server\", \"http://127.0.0.1:7470\"]}}}

Tools: search, ask, get_document, get_section, list_knowledge_sets, get_table,
query_table, search_code, judge_answer. More: docs/agents.md";

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
#[command(next_help_heading = "Global options")]
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
    /// API key for a server that wants one; a process list shows what is given here, TRIBUTARY_KEY and --key-file are hidden from it
    #[arg(
        long,
        global = true,
        value_name = "KEY",
        env = "TRIBUTARY_KEY",
        hide_env_values = true
    )]
    pub key: Option<Key>,
    /// File that holds the key, which counts before --key
    #[arg(long, global = true, value_name = "FILE", env = "TRIBUTARY_KEY_FILE", value_hint = ValueHint::FilePath)]
    pub key_file: Option<PathBuf>,
    /// PEM file of certificates that vouch for the server of --server, instead of those that this machine trusts
    #[arg(long, global = true, value_name = "FILE", env = "TRIBUTARY_CA_FILE", value_hint = ValueHint::FilePath)]
    pub ca_file: Option<CaFile>,
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
    /// Ask a question; the answer cites the documents that it is made from
    #[command(after_help = ASK_HELP)]
    Ask(Ask),
    /// Write a report of one, three or six sections, each from passages of its own
    #[command(after_help = REPORT_HELP, override_usage = "\
tributary report <QUESTION> [OPTIONS]
       tributary report --resume <ID> [OPTIONS]")]
    Report(ReportVerb),
    /// Judge answers of students to questions in a file of JSON Lines
    #[command(after_help = JUDGE_HELP)]
    Judge(Judge),
    /// Search source code
    #[command(subcommand)]
    Code(Code),
    /// List tables of documents, or ask them by SQL
    #[command(subcommand, after_help = TABLES_HELP)]
    Tables(Tables),
    /// Serve the running server's tools to a program that speaks the Model Context Protocol
    #[command(after_help = MCP_HELP)]
    Mcp,
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
    /// Look at conversations, rename, clear, delete or export them
    #[command(
        subcommand,
        after_help = "A conversation is a row of questions with their answers; a question may lean on the ones before it. The server keeps \
        each question before it is answered, so that a failure loses none. What is cleared or deleted cannot be brought back, except from \
        a backup."
    )]
    Conversations(Conversations),
    /// List or define knowledge sets, and build the index anew for them
    #[command(subcommand)]
    KnowledgeSets(KnowledgeSets),
    /// Make, list, rotate and revoke the API keys of the data folder
    #[command(subcommand, after_help = KEYS_HELP)]
    Keys(Keys),
    /// See which documents say who may see them
    #[command(subcommand, after_help = RIGHTS_HELP)]
    Rights(Rights),
    /// See who called the server and which documents they were given
    #[command(subcommand, after_help = AUDIT_HELP)]
    Audit(Audit),
    /// See what source profiles make of documents, and learn what repeats in a source
    #[command(subcommand)]
    Profiles(Profiles),
    /// Find the terms of a domain in its documents, review them, and build a lexicon
    #[command(subcommand, after_help = LEXICON_HELP)]
    Lexicon(LexiconVerb),
    /// Measure retrieval on an evaluation set
    #[command(subcommand)]
    Eval(Eval),
    /// Make training data for an embedding model from documents of the knowledge base
    #[command(subcommand, after_help = TRAINING_HELP)]
    Training(Training),
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

/// Refuses other values by naming those that there are.
fn one_of<const N: usize>(values: [&'static str; N]) -> PossibleValuesParser {
    PossibleValuesParser::new(values)
}
