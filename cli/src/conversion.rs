//! How documents are converted: in processes of this program, started with the hidden verb `convert-worker`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tributary_ingest::Converted;
use tributary_ingest::isolation::{ConversionPool, Job, Launch};

use crate::config::Config;

/// The verb that a conversion process runs.
pub const WORKER_VERB: &str = "convert-worker";

/// Converters as the configuration wants them.
pub fn pool(config: &Config) -> ConversionPool {
    let launch = config.ingest.isolate_conversion.then(own_program).flatten().map(|program| Launch {
        program,
        arguments: vec![OsString::from(WORKER_VERB)],
        readable: Vec::new(),
    });
    ConversionPool::new(config.ingest.clone(), launch)
}

/// This very program, even if a newer one has taken its name meanwhile.
fn own_program() -> Option<PathBuf> {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { Some(running) } else { std::env::current_exe().ok() }
}

/// Converts one file for a verb.
pub fn convert(config: &Config, file: &Path, bytes: &[u8], name: Option<&str>) -> Result<Converted> {
    pool(config).convert(Job { bytes, name, media_type: None }).with_context(|| format!("cannot convert {}", file.display()))
}
