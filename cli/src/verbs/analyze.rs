//! `tributary analyze TEXT`: the tokens that the configuration of now cuts a text into, and whether
//! the index that answers questions was built with the same analyzer.

use std::path::Path;

use anyhow::Result;
use serde_json::json;
use tributary_schemas::reindex::ReindexOverview;
use tributary_taxonomy::Taxonomy;

use crate::args::{Analyze, Global};
use crate::client::Client;
use crate::config::Config;
use crate::print::{self, Outcome};

/// What of a generation waits for a reindex when its analyzer is another one.
const ANALYZER: &str = "analyzer";

/// What questions are cut with now.
struct InForce {
    generation: String,
    /// Whether it was built with the analyzer of the configuration.
    is_same: bool,
}

/// Analyses without a server; one that runs is asked what it uses.
pub fn run(global: &Global, config: &Config, analyze: &Analyze) -> Result<Outcome> {
    let tokens = Taxonomy::load(&config.taxonomy, Path::new(""))?
        .analyzer
        .analyze(&analyze.text);
    let in_force = in_force(global, config)?;
    let object = json!({
        "tokens": tokens,
        "serving_generation": in_force.as_ref().map(|in_force| &in_force.generation),
        "is_in_force": in_force.as_ref().map(|in_force| in_force.is_same),
    });
    print::result(analyze.output, &object, || tokens.join(" "))?;
    print::note(&describe(in_force.as_ref()));
    Ok(Outcome::Done)
}

/// What the server that runs answers questions with; none without one.
fn in_force(global: &Global, config: &Config) -> Result<Option<InForce>> {
    let Some(client) = Client::of_running_server(global, config) else {
        return Ok(None);
    };
    let overview: ReindexOverview = client.get("/v1/reindex")?;
    let serving = overview
        .generations
        .into_iter()
        .find(|generation| generation.serving);
    Ok(serving.map(|serving| InForce {
        generation: serving.name,
        is_same: !overview.outdated.iter().any(|setting| setting == ANALYZER),
    }))
}

fn describe(in_force: Option<&InForce>) -> String {
    match in_force {
        Some(InForce {
            generation,
            is_same: true,
        }) => format!("as generation {generation} of the index, which answers questions, cuts it"),
        Some(InForce { generation, .. }) => format!(
            "as the configuration says now; generation {generation} of the index, which answers questions, was built with another lexicon or \
             analyzer and keeps it until a reindex (`tributary knowledge-sets reindex --status`)"
        ),
        None => "as the configuration says now; an index that was built before keeps its own lexicon and analyzer until a reindex".to_owned(),
    }
}
