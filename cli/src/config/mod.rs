//! The configuration: one TOML file, its sections are the crates. `cli/default.toml` holds every
//! key with its comment.

mod check;
mod load;
pub(crate) mod merge;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind};

pub use check::nearest;
pub use load::{DEFAULTS, Loaded, load};

/// Everything that can be configured. No `Default`: the values are in `cli/default.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Log lines.
    pub telemetry: TelemetryConfig,
    /// Where things are kept.
    pub store: tributary_store::config::Config,
    /// Lexicon, knowledge sets, source profiles.
    pub taxonomy: tributary_taxonomy::Config,
    /// Conversion.
    pub convert: tributary_convert::Config,
    /// Cleaning.
    pub ingest: tributary_ingest::Config,
    /// Chunks and vectors.
    pub enrich: tributary_enrich::Config,
    /// The index stage.
    pub indexer: tributary_indexer::Config,
    /// Embedder and reranker.
    pub models: tributary_models::Config,
    /// Search and HTTP.
    pub query_api: tributary_query_api::Config,
    /// Where it was read, for reading it again; none for a configuration that was changed after
    /// reading.
    #[serde(skip)]
    pub origin: Option<Origin>,
}

/// What [`load`] was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    file: Option<PathBuf>,
    profile: Option<String>,
    data_folder: Option<PathBuf>,
}

impl Config {
    /// The configuration as its files say now; `Invalid` if they cannot be read any more.
    pub fn reloaded(&self) -> tributary_schemas::Result<Self> {
        let Some(Origin {
            file,
            profile,
            data_folder,
        }) = &self.origin
        else {
            return Ok(self.clone());
        };
        let loaded = load(file.as_deref(), profile.as_deref(), data_folder.as_deref());
        let loaded = loaded.map_err(|error| {
            let what = format!("the configuration cannot be read: {error:#}");
            Error::new(ErrorKind::Invalid, what)
        })?;
        Ok(loaded.config)
    }
}

/// The section `[telemetry]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelemetryConfig {
    /// What is logged, as `tracing` filters: `info`, `tributary_store=debug`, …
    pub filter: String,
    /// `text` or `json`.
    pub format: LogFormat,
    /// Address of health and metrics of a process without the service `query`; empty for none.
    pub listen: String,
}

/// Format of log lines on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One object per line.
    Json,
}
