//! `tributary analyze TEXT`: the tokens of a text as index and queries see them.

use std::path::Path;

use anyhow::Result;
use serde_json::json;
use tributary_taxonomy::Taxonomy;

use crate::args::Analyze;
use crate::config::Config;
use crate::print::{self, Outcome};

/// Analyses without a server.
pub fn run(config: &Config, analyze: &Analyze) -> Result<Outcome> {
    let tokens = Taxonomy::load(&config.taxonomy, Path::new(""))?
        .analyzer
        .analyze(&analyze.text);
    print::result(analyze.output, &json!({"tokens": tokens}), || {
        tokens.join(" ")
    })?;
    Ok(Outcome::Done)
}
