//! `tributary documents tables`: a document's tables as an SQLite database.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::json;
use tributary_query_api::http::documents::DocumentDetail;

use super::path_of;
use crate::args::Output;
use crate::client::{Client, require};
use crate::names;
use crate::print::{self, Outcome};

/// Writes the database into a file, which must not be there yet.
pub fn run(client: &Client, name: &str, file: &Path, output: Output) -> Result<Outcome> {
    require(name, "the document id")?;
    let detail: DocumentDetail = client.get(&path_of(name))?;
    let state = &detail.summary.last_attempt;
    let Some(tables) = &detail.tables else {
        bail!(
            "`{}` has no tables beside its text\nhint: spreadsheets and delimited text have them, once they are searchable",
            names::of_state(state)
        )
    };
    let bytes = write(client, tables, file)?;
    let shown = json!({"document_id": state.document_id, "file": file, "bytes": bytes});
    print::result(output, &shown, || {
        format!("{} bytes, an SQLite database: {}", bytes, file.display())
    })?;
    Ok(Outcome::Done)
}

/// Writes what is at an address of the server into a new file; its bytes.
fn write(client: &Client, tables: &str, file: &Path) -> Result<u64> {
    let created = std::fs::File::create_new(file);
    let mut written = created.with_context(|| format!("cannot create {}", file.display()))?;
    let bytes = client.download(tables, &mut written)?;
    written
        .sync_all()
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(bytes)
}
