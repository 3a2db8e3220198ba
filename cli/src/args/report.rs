//! Arguments of `report`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use tributary_schemas::report::Depth;

use super::{FilterArguments, Output, one_of};

/// Shown below the options.
pub const REPORT_HELP: &str = "\
Sections are planned, passages for all of them found by one search, and the sections written at the same time; each cites its
passages by number, and the list of sources stands at the end. A section that no model writes is in the words of its passages
and says so.
  tributary report \"how does the scheduler work\" --depth deep --set kernel -o report.md
  tributary report \"能效特性与取舍\" --depth deeper -o report.html
A report that was broken off goes on with what is written of it:
  tributary report --resume 3f0c… -o report.md
Without a language model ([models.chat.roles.report]) the whole report is in the words of the documents.";

/// `report`.
#[derive(Debug, Args)]
pub struct ReportVerb {
    /// The question; `-` reads it from stdin
    #[arg(required_unless_present = "resume")]
    pub question: Option<String>,
    /// Go on with a report that was broken off: the id is the first line of stderr when a report begins
    #[arg(long, value_name = "ID", conflicts_with_all = ["question", "depth", "live", "sets", "tags", "sources", "attributes"])]
    pub resume: Option<String>,
    /// One section (general), three (deep) or six (deeper)
    #[arg(long, value_name = "DEPTH", default_value = "general", value_parser = one_of(Depth::ALL.map(Depth::as_str)))]
    pub depth: String,
    /// Search the web too, by the service of query_api.answer.live
    #[arg(long)]
    pub live: bool,
    /// Write the report into this file; its ending says as what: .md, .html or .docx
    #[arg(long = "output-file", short = 'o', value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Where it looks.
    #[command(flatten)]
    pub filter: FilterArguments,
    /// How the report is printed.
    #[command(flatten)]
    pub output: Output,
}
