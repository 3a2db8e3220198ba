//! `tributary documents original`: the file that was published, as it was.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use super::path_of;
use crate::args::Output;
use crate::client::{Client, require};
use crate::print::{self, Outcome};

/// Writes it into a file, which must not be there yet, and leaves none where it is not wholly there.
pub fn run(client: &Client, name: &str, file: &Path, output: Output) -> Result<Outcome> {
    require(name, "the document id")?;
    let created = File::create_new(file);
    let written = created.with_context(|| format!("cannot create {}", file.display()))?;
    let bytes = match download(client, name, written, file) {
        Ok(bytes) => bytes,
        Err(error) => {
            std::fs::remove_file(file).with_context(|| {
                format!("cannot remove {}, which is incomplete", file.display())
            })?;
            return Err(error);
        }
    };
    let shown = json!({"document": name, "file": file, "bytes": bytes});
    print::result(output, &shown, || {
        format!("{bytes} bytes: {}", file.display())
    })?;
    Ok(Outcome::Done)
}

fn download(client: &Client, name: &str, mut written: File, file: &Path) -> Result<u64> {
    let bytes = client.download(&format!("{}/original", path_of(name)), &mut written)?;
    written
        .sync_all()
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(bytes)
}
