//! `tributary knowledge-sets show`: what a knowledge set is and what can be found in it.

use anyhow::Result;
use tributary_query_api::http::knowledge_sets::SetInformation;
use tributary_schemas::facets::FacetValue;

use crate::args::{Global, Output, Service};
use crate::client::{Client, segment};
use crate::config::Config;
use crate::print::{self, Outcome};

/// Shows one set.
pub fn run(global: &Global, config: &Config, id: &str, output: Output) -> Result<Outcome> {
    let client = Client::connect(global, config, &[Service::Query])?;
    let found: SetInformation = client.get(&format!("/v1/knowledge-sets/{}", segment(id)))?;
    client.close()?;
    print::result(output, &found, || described(&found))?;
    Ok(Outcome::Done)
}

fn described(found: &SetInformation) -> String {
    let (set, contents) = (&found.knowledge_set, &found.contents);
    let mut lines = vec![format!("{}: {}", set.id, set.name)];
    let texts = [("", &set.description), ("owner ", &set.owner)];
    let said = texts.iter().filter(|(_, text)| !text.is_empty());
    lines.extend(said.map(|(what, text)| format!("  {what}{text}")));
    lines.push(format!(
        "  documents {}, chunks {}",
        contents.documents, contents.chunks
    ));
    let lists = [
        ("sources", &contents.sources),
        ("languages", &contents.languages),
        ("types", &contents.media_types),
        ("tags", &contents.tags),
    ];
    let there = lists.iter().filter(|(_, values)| !values.is_empty());
    lines.extend(there.map(|(what, values)| format!("  {what}: {}", counted(values))));
    if let Some(newest) = &contents.newest {
        let path = &newest.source_path;
        lines.push(format!(
            "  newest: {} ({}/{path}, version {})",
            newest.title, newest.source, newest.version
        ));
    }
    lines.join("\n")
}

fn counted(values: &[FacetValue]) -> String {
    let values = values.iter();
    let values: Vec<String> = values
        .map(|value| format!("{} {}", value.value, value.documents))
        .collect();
    values.join(", ")
}
