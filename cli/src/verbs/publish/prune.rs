//! Deletes documents whose files left a folder, and not before somebody agreed.

use std::io::IsTerminal;

use anyhow::{Context, Result, bail};
use tributary_query_api::http::documents::Accepted;
use tributary_schemas::{Error, ErrorKind, State};

use super::Published;
use super::compare::{Comparison, Gone};
use crate::args::Prune;
use crate::client::{Client, segment};
use crate::print;

/// Documents that are listed before somebody is asked.
const SHOWN: usize = 20;

/// Asks, unless told not to; `--yes` alone does not agree to the loss of most of a source. An error
/// where nobody can be asked or somebody does not agree.
pub fn confirm(comparison: &Comparison, source: &str, prune: Prune) -> Result<()> {
    let gone = &comparison.gone;
    let is_most = comparison.is_most() && !prune.allow_most;
    if gone.is_empty() || (prune.yes && !is_most) {
        return Ok(());
    }
    let share = if is_most {
        format!(", more than half of the {} that it has", comparison.all)
    } else {
        String::new()
    };
    let documents = print::count(gone.len(), "document");
    let (list, documents) = (list(gone), format!("{documents} of source {source}{share}"));
    if !std::io::stdin().is_terminal() {
        let options = if is_most {
            "--yes --allow-most"
        } else {
            "--yes"
        };
        let what = format!("nobody can be asked here whether to delete {documents}\n{list}");
        let hint = format!("add {options}, or look first with --dry-run");
        return Err(Error::new(ErrorKind::Conflict, what).with_hint(hint).into());
    }
    ask(&format!("{list}\ndelete {documents}?"))
}

/// Asks on the terminal; an error unless the answer is yes.
fn ask(question: &str) -> Result<()> {
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

/// Deletes them; what became of each. One that the server knows nothing of is gone already. A file
/// that is there again by now keeps its document.
pub fn delete(client: &Client, gone: &[Gone]) -> Vec<Published> {
    let mut done = Vec::new();
    for gone in gone {
        if gone.is_back() {
            print::note(&format!(
                "kept {}: its file is there again",
                gone.source_path
            ));
            continue;
        }
        done.push(delete_one(client, gone));
    }
    done
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
            state: super::state_of_failure(&error).to_owned(),
            reason: Some(format!("cannot be deleted: {error:#}")),
            ..deleted
        },
    }
}
