//! What left a folder: documents that were published from it and whose files are gone. Only those
//! are deleted, and not before somebody agreed.

use std::collections::HashSet;
use std::io::IsTerminal;

use anyhow::{Context, Result, bail};
use tributary_query_api::http::documents::Accepted;
use tributary_schemas::{Error, ErrorKind, State};

use super::files::{NamedFolder, Selection};
use super::roots::Roots;
use super::{Published, REFUSED};
use crate::args::Prune;
use crate::client::{Client, segment};
use crate::print;

/// Documents that are listed before somebody is asked.
const SHOWN: usize = 20;

/// A document whose file is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    /// Path within the source.
    pub source_path: String,
    /// Its id.
    pub document_id: String,
}

/// Documents that were published from the folders and are not in them any more. An empty folder is
/// refused unless that is meant: a share that is not mounted looks the same.
pub fn gone(selection: &Selection, roots: &Roots, prune: Prune) -> Result<Vec<Gone>> {
    if !prune.prune {
        return Ok(Vec::new());
    }
    if selection.folders.is_empty() {
        bail!("--prune compares a folder with what was published from it: name the folder");
    }
    let here: HashSet<&str> = selection
        .files
        .iter()
        .map(|found| found.source_path.as_str())
        .collect();
    let mut gone = Vec::new();
    for named in &selection.folders {
        let left = left_folder(named, &here, roots);
        let is_empty = !selection
            .files
            .iter()
            .any(|found| found.root == named.root && within(named, &found.source_path));
        if is_empty && !left.is_empty() && !prune.allow_empty {
            return Err(refuse_empty(named, left.len()).into());
        }
        gone.extend(left);
    }
    gone.sort_by(|left, right| left.source_path.cmp(&right.source_path));
    gone.dedup();
    Ok(gone)
}

fn left_folder(named: &NamedFolder, here: &HashSet<&str>, roots: &Roots) -> Vec<Gone> {
    let known = roots.documents(&named.root).into_iter();
    known
        .filter(|(path, _)| within(named, path) && !here.contains(path.as_str()))
        .map(|(source_path, document_id)| Gone {
            source_path,
            document_id,
        })
        .collect()
}

/// Whether a path within the source belongs to the folder that was named.
fn within(named: &NamedFolder, path: &str) -> bool {
    let Ok(inner) = named.folder.strip_prefix(&named.root) else {
        return false;
    };
    inner.as_os_str().is_empty() || std::path::Path::new(path).starts_with(inner)
}

fn refuse_empty(named: &NamedFolder, documents: usize) -> Error {
    let folder = named.folder.display();
    let what = if named.folder.exists() {
        "has no files"
    } else {
        "is not there"
    };
    Error::new(
        ErrorKind::Conflict,
        format!("{folder} {what}: --prune would delete all {documents} documents that were published from it"),
    )
    .with_hint("is a disk or a share not mounted? if it is meant so, add --allow-empty")
}

/// Asks, unless told not to. An error where nobody can be asked or somebody does not agree.
pub fn confirm(gone: &[Gone], source: &str, prune: Prune) -> Result<()> {
    if gone.is_empty() || prune.yes {
        return Ok(());
    }
    let question = format!(
        "{}\ndelete these {} documents of source {source}?",
        list(gone),
        gone.len()
    );
    if !std::io::stdin().is_terminal() {
        return Err(Error::new(ErrorKind::Conflict, question)
            .with_hint("nobody can be asked here: add --yes, or look first with --dry-run")
            .into());
    }
    print::note(&format!("{question} [y/N]"));
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .context("cannot read the answer")?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => bail!("nothing was published or deleted"),
    }
}

fn list(gone: &[Gone]) -> String {
    let mut lines: Vec<String> = gone
        .iter()
        .take(SHOWN)
        .map(|gone| format!("gone     {}", gone.source_path))
        .collect();
    if gone.len() > SHOWN {
        lines.push(format!("… and {} more", gone.len() - SHOWN));
    }
    lines.join("\n")
}

/// Deletes them; what became of each. One that the server knows nothing of is gone already.
pub fn delete(client: &Client, gone: &[Gone]) -> Vec<Published> {
    gone.iter().map(|gone| delete_one(client, gone)).collect()
}

fn delete_one(client: &Client, gone: &Gone) -> Published {
    let deleted = Published {
        document_id: gone.document_id.clone(),
        source_path: gone.source_path.clone(),
        is_deletion: true,
        ..Published::default()
    };
    let path = format!("/v1/documents/{}", segment(&gone.document_id));
    match client.delete_if_there::<Accepted>(&path) {
        Ok(Some(accepted)) => Published {
            version: accepted.version,
            state: State::Accepted.as_str().to_owned(),
            ..deleted
        },
        Ok(None) => Published {
            state: State::Deleted.as_str().to_owned(),
            ..deleted
        },
        Err(error) => Published {
            state: REFUSED.to_owned(),
            reason: Some(format!("cannot be deleted: {error:#}")),
            ..deleted
        },
    }
}
