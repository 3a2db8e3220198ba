//! Log lines on stderr: one subscriber for the whole process.

use std::io::IsTerminal;

use anyhow::{Context, Result, anyhow};
use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, TelemetryConfig};

/// Starts logging. Verbs other than `run` only show warnings, unless asked for more.
pub fn start(config: &TelemetryConfig, verbose: u8, is_server: bool) -> Result<()> {
    let filter = match (verbose, is_server) {
        (0, true) => config.filter.as_str(),
        (0, false) => "warn",
        (1, _) => {
            "info,tributary=debug,tributary_store=debug,tributary_retrieval=debug,tributary_query_api=debug"
        }
        _ => "debug",
    };
    let filter = EnvFilter::try_new(filter)
        .with_context(|| format!("telemetry.filter `{filter}` is no filter"))?;
    // A line that cannot be written is left out: saying so on stderr as well would panic where
    // nobody reads that any more.
    let builder = tracing_subscriber::fmt()
        .log_internal_errors(false)
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let builder = builder
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match config.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    started.map_err(|error| anyhow!("cannot start logging: {error}"))
}
