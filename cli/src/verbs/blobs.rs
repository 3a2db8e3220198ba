//! `tributary blobs collect`: counts the bodies that nobody names any more, and removes them with
//! `--apply`.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use tributary_schemas::{Error, ErrorKind};
use tributary_store::collect::{self, Names, Unnamed};
use tributary_store::config::EventLogKind;
use tributary_store::data_folder::DataFolder;

use crate::app;
use crate::args::Output;
use crate::config::Config;
use crate::print::{self, Outcome};
use crate::verbs::verify;

/// Looks, and removes if told so.
pub fn collect(config: &Config, apply: bool, output: Output) -> Result<Outcome> {
    check_alone(config)?;
    let folder = verify::hold(config)?;
    let unnamed = unnamed(config, &folder)?;
    if apply {
        collect::remove(&unnamed)?;
    }
    let bytes: u64 = unnamed.iter().map(|blob| blob.bytes).sum();
    let paths: Vec<&Path> = unnamed.iter().map(|blob| blob.path.as_path()).collect();
    print::result(
        output,
        &json!({"blobs": paths, "bytes": bytes, "removed": apply}),
        || {
            let done = if apply {
                "removed"
            } else {
                "nothing was removed: `tributary blobs collect --apply` does it"
            };
            format!(
                "{} blobs that nobody names, {:.1} MiB; {done}",
                unnamed.len(),
                bytes as f64 / f64::from(1 << 20)
            )
        },
    )?;
    Ok(Outcome::Done)
}

fn unnamed(config: &Config, folder: &DataFolder) -> Result<Vec<Unnamed>> {
    let blobs = Path::new(&config.store.data_folder).join("blobs");
    let grace = Duration::from_secs(config.store.blobs.grace_hours.saturating_mul(3600));
    app::block_on(async {
        let stores = tributary_store::config::open(&config.store, folder).await?;
        let names = Names {
            topics: &stores.topics,
            index: stores.index.as_ref(),
            damage: &stores.damage,
        };
        collect::unnamed(names, &blobs, grace).await
    })
}

/// Other processes may be about to name what nobody names yet.
fn check_alone(config: &Config) -> Result<()> {
    if config.store.event_log.kind == EventLogKind::Embedded && config.store.blobs.url.is_empty() {
        return Ok(());
    }
    let message = "blobs are only collected where one process writes them: with the embedded log, in the data folder";
    Err(Error::new(ErrorKind::Unsupported, message).into())
}
