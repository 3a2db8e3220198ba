//! Model folders on disk: what is there, and getting more. Behind `tributary models list` and
//! `models pull`.

mod download;
mod hub;
mod pull;
mod wheel;

pub use download::trusted as trusted_roots;
pub use pull::{Progress, Source, pull};

use crate::folder::{ModelFolder, ModelKind};
use crate::{Config, Error, Result};
use std::path::Path;

/// Where a model is looked for that no local folder is named for: the hub, or the package index for
/// the few that lie in a package.
pub fn source_of(name: &str, config: &Config) -> Source {
    match wheel::is_packaged(name) {
        true => Source::PackageIndex(config.package_index_url.clone()),
        false => Source::parse(&config.hub_url),
    }
}

/// One model folder.
#[derive(Clone, Debug)]
pub struct ModelEntry {
    /// Name of the folder.
    pub name: String,
    /// What the model is for; `None` if its settings cannot be read.
    pub kind: Option<ModelKind>,
    /// Length of its vectors; 0 for rerankers.
    pub dimensions: usize,
    /// Bytes on disk.
    pub size_bytes: u64,
    /// Files that its settings name and that are not there.
    pub missing: Vec<String>,
    /// Why it cannot be used, if so.
    pub problem: Option<String>,
}

/// All models of a folder, by name. A folder that does not exist has none. Checksums are not read;
/// see `ModelFolder::verify`.
pub fn list(models_folder: &Path) -> Result<Vec<ModelEntry>> {
    let entries = match std::fs::read_dir(models_folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(Error::io(
                format_args!("listing {}", models_folder.display()),
                &error,
            ));
        }
    };
    let mut models: Vec<ModelEntry> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.join("config.json").is_file())
        .map(|path| describe(&path))
        .collect();
    models.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(models)
}

fn describe(path: &Path) -> ModelEntry {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    match ModelFolder::read_settings(path) {
        Ok(model) => {
            let missing = model.missing_files();
            let problem = (!missing.is_empty()).then(|| format!("missing: {}", missing.join(", ")));
            let (kind, dimensions) = (Some(model.settings.kind), model.settings.hidden_size);
            let dimensions = if model.settings.kind == ModelKind::Embedding {
                dimensions
            } else {
                0
            };
            ModelEntry {
                name,
                kind,
                dimensions,
                size_bytes: model.size_bytes(),
                missing,
                problem,
            }
        }
        Err(error) => ModelEntry {
            name,
            kind: None,
            dimensions: 0,
            size_bytes: 0,
            missing: Vec::new(),
            problem: Some(error.full_message()),
        },
    }
}
