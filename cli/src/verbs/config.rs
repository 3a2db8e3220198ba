//! `tributary config show|check|defaults`.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use serde_json::json;
use toml::{Table, Value};
use tributary_enrich::ChunkServices;
use tributary_enrich::catalog::check_prompts;
use tributary_ingest::SourceCleaning;
use tributary_models::prompts::Prompts;
use tributary_models::service::{SharedServiceObserver, Uncounted};
use tributary_schemas::Error;
use tributary_store::secrets::{HIDDEN, is_secret, without_credentials};
use tributary_taxonomy::Taxonomy;

use crate::app::{PROMPT_SETS, check_profile_prompts};
use crate::args::{ConfigVerb, Global, Output};
use crate::config::{self, Config, Loaded};
use crate::print::{self, Outcome};

/// Shows or checks the configuration in force, or prints the defaults, which need none.
pub fn run(global: &Global, verb: ConfigVerb) -> Result<Outcome> {
    match verb {
        ConfigVerb::Show(output) => show(loaded(global)?, output)?,
        ConfigVerb::Check(output) => check(&loaded(global)?, output)?,
        ConfigVerb::Defaults => print::line(config::DEFAULTS.trim_end())?,
    }
    Ok(Outcome::Done)
}

fn loaded(global: &Global) -> Result<Loaded> {
    config::load(
        global.config.as_deref(),
        global.profile.as_deref(),
        global.data_dir.as_deref(),
    )
}

fn show(loaded: Loaded, output: Output) -> Result<()> {
    let files = files(&loaded);
    let mut table = loaded.table;
    hide_secrets(&mut table);
    print::result(output, &json!({"config": table, "files": files}), || {
        table.to_string()
    })
}

fn check(loaded: &Loaded, output: Output) -> Result<()> {
    check_listen(&loaded.config)?;
    check_domain(&loaded.config)?;
    print::result(
        output,
        &json!({"ok": true, "files": files(loaded), "problems": []}),
        || "the configuration is fine".to_owned(),
    )
}

fn files(loaded: &Loaded) -> Vec<String> {
    let files = loaded.files.iter();
    files.map(|file| file.display().to_string()).collect()
}

/// `run` refuses an address that other machines reach where nobody is asked for a key.
fn check_listen(config: &Config) -> tributary_schemas::Result<()> {
    let server = &config.query_api.server;
    match server.listen.parse() {
        Ok(address) => tributary_query_api::server::check_listen(address, server.network_access),
        // A name, or nothing to listen on.
        Err(_) => Ok(()),
    }
}

/// Reads everything that the domain's profile names, and makes its cleaning steps: lexicon,
/// knowledge sets, source profiles, prompts.
pub fn check_domain(config: &Config) -> tributary_schemas::Result<Taxonomy> {
    let mut taxonomy = Taxonomy::load(&config.taxonomy, Path::new(""))?;
    let profiles = Arc::new(std::mem::take(&mut taxonomy.source_profiles));
    SourceCleaning::new(
        Arc::clone(&profiles),
        &config.ingest,
        config.convert.maximum_title_characters,
    )
    .map_err(|error| in_file(&config.taxonomy.source_profiles_file, &error))?;
    taxonomy.source_profiles = Arc::unwrap_or_clone(profiles);
    let prompts = Prompts::load(&PROMPT_SETS, config.models.chat.prompts_folder())?;
    check_profile_prompts(config, &taxonomy.source_profiles, &prompts)?;
    check_prompts(&taxonomy.knowledge_sets, &prompts)
        .map_err(|error| in_file(&config.taxonomy.knowledge_sets_file, &error))?;
    config.query_api.retrieval.code.check_files()?;
    chunk_services(config, &taxonomy)
        .map_err(|error| in_file(&config.taxonomy.source_profiles_file, &error))?;
    Ok(taxonomy)
}

/// Makes the steps on chunks; they are for knowledge sets that there are.
fn chunk_services(config: &Config, taxonomy: &Taxonomy) -> tributary_schemas::Result<()> {
    let observer: SharedServiceObserver = Arc::new(Uncounted);
    ChunkServices::new(
        &taxonomy.source_profiles,
        &config.ingest.external.defaults(),
        &observer,
        None,
    )?;
    for profile in taxonomy.source_profiles.iter() {
        for step in &profile.chunk_steps {
            taxonomy
                .knowledge_sets
                .check(&step.knowledge_sets)
                .map_err(|error| {
                    let place =
                        format!("source profile {}: chunk step {}", profile.name, step.name);
                    Error::new(error.kind(), format!("{place}: {error}"))
                })?;
        }
    }
    Ok(())
}

/// The error with the file that it is about.
fn in_file(file: &Path, error: &Error) -> Error {
    let located = Error::new(error.kind(), format!("{}: {error}", file.display()));
    match error.hint() {
        Some(hint) => located.with_hint(hint),
        None => located,
    }
}

fn hide_secrets(table: &mut Table) {
    for (key, value) in table.iter_mut() {
        hide_secret(is_secret(key), value);
    }
}

fn hide_secret(is_named_so: bool, value: &mut Value) {
    match value {
        Value::Table(inner) => hide_secrets(inner),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| hide_secret(is_named_so, item)),
        Value::String(text) if text.is_empty() => {}
        Value::String(text) if is_named_so => *text = HIDDEN.to_owned(),
        Value::String(text) => *text = without_credentials(text),
        _ => {}
    }
}
