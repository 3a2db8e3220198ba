//! Arguments of `search` and `code search`.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use tributary_schemas::{ChunkKind, Filter};

use super::{Output, one_of};

/// What a search looks at.
#[derive(Debug, Args)]
pub struct FilterArguments {
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
}

impl FilterArguments {
    /// As the server takes it.
    pub fn filter(&self) -> Filter {
        Filter {
            knowledge_sets: given(&self.sets),
            tags: given(&self.tags),
            sources: given(&self.sources),
            attributes: self.by_name(),
            ..Filter::default()
        }
    }

    /// `NAME=VALUE` by name.
    fn by_name(&self) -> Option<BTreeMap<String, Vec<String>>> {
        let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in &self.attributes {
            by_name.entry(name.clone()).or_default().push(value.clone());
        }
        (!by_name.is_empty()).then_some(by_name)
    }
}

/// A condition on these values; none for none.
pub fn given(values: &[String]) -> Option<Vec<String>> {
    (!values.is_empty()).then(|| values.to_vec())
}

/// `search`.
#[derive(Debug, Args)]
pub struct Search {
    /// The question
    pub query: String,
    /// Hits wanted [default: from the configuration]
    #[arg(long, short = 'k', value_name = "N")]
    pub top_k: Option<usize>,
    /// Hits of one document while others have something for the places [default: any number]
    #[arg(long, value_name = "N")]
    pub per_document: Option<usize>,
    /// Where it looks.
    #[command(flatten)]
    pub filter: FilterArguments,
    /// Only in this document, by id or source/path (repeatable: in any of them)
    #[arg(long = "document", value_name = "NAME")]
    pub documents: Vec<String>,
    /// Only chunks of this kind, such as faq, api or code_function (repeatable: of any of them)
    #[arg(long = "kind", value_name = "KIND", hide_possible_values = true,
        value_parser = one_of(ChunkKind::ALL.map(ChunkKind::as_str)))]
    pub kinds: Vec<String>,
    /// The user whose profile (/v1/user-profiles) weighs what is found
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
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
    /// Where it looks.
    #[command(flatten)]
    pub filter: FilterArguments,
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
