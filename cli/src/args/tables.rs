//! Arguments of `tables`.

use clap::{Args, Subcommand};

use super::{FilterArguments, Output};

/// Shown below the options.
pub const TABLES_HELP: &str = "\
Tables of workbooks and delimited text are asked by SQL: a language model of the role `sql` writes a statement
([models.chat], docs/tables.md), or you do with --sql. It can only read, and only tables that the filter lets through.
  tributary tables list --source sales
  tributary tables show sales/2023.xlsx
  tributary tables query \"which region sold most in 2023\" --source sales
  tributary tables query --sql 'SELECT \"Region\", \"Units sold\" FROM \"Sales 2023\"'";

/// `tables`.
#[derive(Debug, Subcommand)]
pub enum Tables {
    /// List tables of documents
    List(ListTables),
    /// Show the tables of one document, with their columns and some values
    Show(ShowTables),
    /// Ask tables of documents, by a question or by SQL
    #[command(override_usage = "\
tributary tables query <QUESTION> [OPTIONS]
       tributary tables query --sql <SELECT> [OPTIONS]")]
    Query(QueryTables),
}

/// `tables list`.
#[derive(Debug, Args)]
pub struct ListTables {
    /// Only of documents from this source
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// Only of documents in this knowledge set
    #[arg(long, value_name = "ID")]
    pub set: Option<String>,
    /// How they are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `tables show`.
#[derive(Debug, Args)]
pub struct ShowTables {
    /// The document: its id, or source/path
    pub document: String,
    /// How they are printed.
    #[command(flatten)]
    pub output: Output,
}

/// `tables query`.
#[derive(Debug, Args)]
pub struct QueryTables {
    /// The question
    #[arg(required_unless_present = "sql")]
    pub question: Option<String>,
    /// Run this statement instead of one that a model writes
    #[arg(long, value_name = "SELECT")]
    pub sql: Option<String>,
    /// Where tables are looked for.
    #[command(flatten)]
    pub filter: FilterArguments,
    /// Rows at most [default: from the configuration]
    #[arg(long, value_name = "N")]
    pub rows: Option<usize>,
    /// How the answer is printed.
    #[command(flatten)]
    pub output: Output,
}
