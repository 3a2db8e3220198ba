//! `tributary backup FILE|FOLDER`: log, index and blobs of one moment. Asks the server that has the
//! data folder open, or opens it in process when none runs, and writes where this user may write.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use serde_json::json;
use tributary_query_api::http::backup::TOKEN_HEADER;
use tributary_store::backup::{Destination, Manifest, Pipe, Source};
use tributary_store::data_folder::{DataFolder, read_backup_token};

use crate::app;
use crate::args::{Backup, Global};
use crate::client::Client;
use crate::config::Config;
use crate::print::{self, Outcome};

/// Takes a backup and says what is in it and what is not.
pub fn run(global: &Global, config: &Config, backup: &Backup) -> Result<Outcome> {
    let started = Instant::now();
    let destination = Destination::of(&backup.destination)?;
    destination.check_absent()?;
    let manifest = take(global, config, &destination)?;
    let bytes = manifest.bytes();
    let value = json!({
        "path": destination.path(), "files": manifest.files.len(), "bytes": bytes, "taken_at_ms": manifest.taken_at_ms,
        "seconds": started.elapsed().as_secs_f64(), "not_covered": manifest.not_covered,
    });
    print::result(backup.output, &value, || {
        describe(destination.path(), &manifest, started.elapsed())
    })?;
    Ok(Outcome::Done)
}

/// From the server if one runs, which goes on meanwhile, else from the data folder.
fn take(global: &Global, config: &Config, destination: &Destination) -> Result<Manifest> {
    let folder = Path::new(&config.store.data_folder);
    match Client::of_running_server(global, config) {
        Some(client) => from_server(&client, folder, destination),
        None => from_folder(config, destination),
    }
}

fn describe(path: &Path, manifest: &Manifest, taken: Duration) -> String {
    let mut lines = vec![format!(
        "{}: {} files, {:.1} MiB in {:.1} s",
        path.display(),
        manifest.files.len(),
        manifest.bytes() as f64 / f64::from(1 << 20),
        taken.as_secs_f64()
    )];
    lines.extend(
        manifest
            .not_covered
            .iter()
            .map(|line| format!("not in it: {line}")),
    );
    lines.join("\n")
}

/// The server wants to be shown that this user may read its data folder.
fn from_server(client: &Client, folder: &Path, destination: &Destination) -> Result<Manifest> {
    let token = read_backup_token(folder)?.unwrap_or_default();
    let (total, archive) = client.post_for_stream("/v1/backup", (TOKEN_HEADER, &token))?;
    receive(destination, archive, total)
}

/// The folder is opened as a start after a crash opens it; no stage runs.
fn from_folder(config: &Config, destination: &Destination) -> Result<Manifest> {
    let path = Path::new(&config.store.data_folder);
    if !path.join("tributary.json").exists() {
        return Err(anyhow!("there is no data folder {}", path.display()));
    }
    app::block_on(async {
        let folder = DataFolder::open(path, config.store.access())?;
        let stores = tributary_store::config::open(&config.store, &folder).await?;
        let copied = copy(stores.backup.clone(), destination.clone()).await;
        drop(stores);
        copied
    })
}

async fn copy(source: Source, destination: Destination) -> Result<Manifest> {
    let image = source.take().await?;
    let (total, (pipe, receiver)) = (image.bytes(), Pipe::new());
    let writing = tokio::task::spawn_blocking(move || {
        image.write(&pipe).inspect_err(|error| pipe.fail(error))
    });
    let received =
        tokio::task::spawn_blocking(move || receive(&destination, Pipe::read_end(receiver), total));
    let received = received
        .await
        .context("writing the backup was broken off")?;
    writing
        .await
        .context("reading the data folder was broken off")?
        .map_err(anyhow::Error::from)
        .and(received)
}

fn receive(destination: &Destination, archive: impl Read, total: u64) -> Result<Manifest> {
    let bar = print::bytes_bar(total, "backing up");
    let received = destination.receive(archive, total, &|bytes| bar.set_position(bytes.min(total)));
    bar.finish_and_clear();
    Ok(received?)
}
