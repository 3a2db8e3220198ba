//! `tributary models list|pull`.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use tributary_models::registry::{self, ModelEntry, Progress, Source};

use crate::args::{Models, Output};
use crate::config::Config;
use crate::print::{self, Outcome};

/// Lists or fetches models.
pub fn run(config: &Config, verb: Models) -> Result<Outcome> {
    let folder = Path::new(&config.store.data_folder).join("models");
    match verb {
        Models::List(output) => {
            let mut models = Vec::new();
            for folder in config.models.folders(&folder) {
                models.extend(registry::list(&folder)?);
            }
            let rows: Vec<Value> = models.iter().map(row).collect();
            print::result(output, &json!({"models": rows}), || {
                let mut lines: Vec<String> = models.iter().map(describe).collect();
                lines.push(format!("{} models", models.len()));
                lines.join("\n")
            })?;
        }
        Models::Pull { name, output } => pull(config, &folder, &name, output)?,
    }
    Ok(Outcome::Done)
}

fn pull(config: &Config, folder: &Path, name: &str, output: Output) -> Result<()> {
    let (from, name) = source_and_name(config, name);
    let bar = print::progress_bar(0, "fetching");
    let mut show = |progress: &Progress<'_>| {
        bar.set_message(progress.file.to_owned());
        bar.set_length(progress.total_bytes.unwrap_or(progress.done_bytes));
        bar.set_position(progress.done_bytes);
    };
    let model = registry::pull(&from, &name, folder, &mut show)?;
    bar.finish_and_clear();
    let place = model.path.display().to_string();
    print::result(
        output,
        &json!({"name": model.settings.name, "folder": place}),
        || format!("{} is in {place}", model.settings.name),
    )
}

/// Where a model comes from and what it is called here: a folder has the name of its last part.
fn source_and_name(config: &Config, name: &str) -> (Source, String) {
    let local = Path::new(name);
    if !local.is_dir() {
        return (registry::source_of(name, &config.models), name.to_owned());
    }
    let last = local
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    (Source::parse(name), last)
}

fn row(model: &ModelEntry) -> Value {
    json!({
        "name": model.name,
        "kind": model.kind.map(|kind| kind.as_str()),
        "dimensions": model.dimensions,
        "size_bytes": model.size_bytes,
        "missing": model.missing,
        "problem": model.problem,
    })
}

fn describe(model: &ModelEntry) -> String {
    let problem = model.problem.as_deref().unwrap_or("ok");
    let megabytes = model.size_bytes / 1_000_000;
    format!(
        "{:32} {:>5} dimensions {megabytes:>6} MB  {problem}",
        model.name, model.dimensions
    )
}
