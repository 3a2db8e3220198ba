//! `tributary knowledge-sets list|apply`; `reindex`, `show` and `status` have files of their own.

use anyhow::{Context, Result};
use serde_json::Value;
use tributary_query_api::http::knowledge_sets::KnowledgeSetList;
use tributary_schemas::reindex::ReindexOverview;
use tributary_schemas::{Error, ErrorKind, files};
use tributary_taxonomy::KnowledgeSets;

use super::{reindex, set_information, set_status};

use crate::args::{self, Global, Output, Service};
use crate::client::Client;
use crate::config::Config;
use crate::print::{self, Outcome};

/// Lists or defines knowledge sets.
pub fn run(global: &Global, config: &Config, verb: args::KnowledgeSets) -> Result<Outcome> {
    let (definition, output) = match verb {
        args::KnowledgeSets::Reindex(arguments) => return reindex::run(global, config, &arguments),
        args::KnowledgeSets::Status { id, output } => {
            return set_status::run(global, config, id.as_deref(), output);
        }
        args::KnowledgeSets::Show { id, output } => {
            return set_information::run(global, config, &id, output);
        }
        args::KnowledgeSets::List(output) => (None, output),
        args::KnowledgeSets::Apply { file, output } => {
            let text = match file.as_os_str() == "-" {
                true => files::read_stream_to_string(std::io::stdin()),
                false => files::read_to_string(&file),
            };
            let text = text.with_context(|| format!("cannot read {}", file.display()))?;
            if text.trim().is_empty() {
                // Whatever was to write it has failed: it would take away every set.
                let message = format!("{} holds nothing", file.display());
                let hint = "a file with nothing but a comment deletes all knowledge sets";
                return Err(Error::new(ErrorKind::Invalid, message)
                    .with_hint(hint)
                    .into());
            }
            (Some(text), output)
        }
    };
    let client = Client::connect(global, config, &[Service::Query])?;
    let is_applied = definition.is_some();
    let mut sets: Value = match definition {
        Some(text) => client.put_text("/v1/knowledge-sets", "application/toml", &text)?,
        None => client.get("/v1/knowledge-sets")?,
    };
    if is_applied {
        let overview: ReindexOverview = client.get("/v1/reindex")?;
        let documents = overview.documents_under_old_rules;
        if let Some(sets) = sets.as_object_mut() {
            sets.insert("documents_under_old_rules".to_owned(), documents.into());
        }
    }
    client.close()?;
    show(output, &sets)?;
    Ok(Outcome::Done)
}

/// The knowledge sets of a server that runs already: those that were applied to it, or those of its
/// configuration. None without one.
pub fn of_running_server(global: &Global, config: &Config) -> Result<Option<KnowledgeSets>> {
    let Some(client) = Client::of_running_server(global, config) else {
        return Ok(None);
    };
    let list: KnowledgeSetList = client.get("/v1/knowledge-sets")?;
    Ok(Some(list.knowledge_sets))
}

fn show(output: Output, sets: &Value) -> Result<()> {
    print::result(output, sets, || {
        let list = sets
            .get("knowledge_sets")
            .or_else(|| sets.get("sets"))
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let text = |set: &Value, name: &str| {
            set.get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let mut lines: Vec<String> = list
            .iter()
            .map(|set| {
                format!(
                    "{:24} {:14} {}",
                    text(set, "id"),
                    text(set, "view"),
                    text(set, "name")
                )
            })
            .collect();
        lines.push(print::count(list.len(), "knowledge set"));
        let documents = sets.get("documents_under_old_rules");
        lines.extend(
            documents
                .and_then(Value::as_u64)
                .and_then(reindex::old_rules),
        );
        lines.join("\n")
    })
}
