//! `tributary knowledge-sets list|apply`; `reindex` has a file of its own.

use anyhow::{Context, Result};
use serde_json::Value;

use super::reindex;
use crate::args::{Global, KnowledgeSets, Output, Service};
use crate::client::Client;
use crate::config::Config;
use crate::print::{self, Outcome};

/// Lists or defines knowledge sets.
pub fn run(global: &Global, config: &Config, verb: KnowledgeSets) -> Result<Outcome> {
    let (definition, output) = match verb {
        KnowledgeSets::Reindex(arguments) => return reindex::run(global, config, &arguments),
        KnowledgeSets::List(output) => (None, output),
        KnowledgeSets::Apply { file, output } => {
            let text = std::fs::read_to_string(&file)
                .with_context(|| format!("cannot read {}", file.display()))?;
            (Some(text), output)
        }
    };
    let client = Client::connect(global, config, &[Service::Query])?;
    let sets: Value = match definition {
        Some(text) => client.put_text("/v1/knowledge-sets", "application/toml", &text)?,
        None => client.get("/v1/knowledge-sets")?,
    };
    client.close()?;
    show(output, &sets)?;
    Ok(Outcome::Done)
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
        lines.push(format!("{} knowledge sets", list.len()));
        lines.join("\n")
    })
}
