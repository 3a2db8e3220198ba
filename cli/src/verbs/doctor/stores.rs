//! What `doctor` says of the data folder and the index.

use std::path::Path;

use anyhow::Result;
use tributary_schemas::reindex::{ReindexOverview, ReindexProgress, ReindexState};
use tributary_store::blobs::Blobs;
use tributary_store::config::SearchIndexKind;
use tributary_store::damage::Part;
use tributary_store::data_folder::{Access, DataFolder, is_open_to_others, running_server};
use tributary_store::parts;
use tributary_store::search_index::elasticsearch::{self, Diagnosis};

use super::{Check, failed, passed};
use crate::app;
use crate::client::Client;
use crate::config::Config;
use crate::print;
use crate::verbs::verify;

/// A folder that a running server holds is fine; without one it must open for writing.
pub(super) fn data_folder(config: &Config) -> Check {
    let path = Path::new(&config.store.data_folder);
    if let Some(server) = running_server(path) {
        let detail = format!(
            "{} is in use by the server at {}",
            path.display(),
            server.url
        );
        return Check {
            hint: open_to_others(path),
            ..passed("data folder", detail)
        };
    }
    match DataFolder::open(path, config.store.access()) {
        Ok(folder) => {
            if let Err(error) = parts::check(path, &config.store.embedded_parts()) {
                return failed("data folder", &error);
            }
            let detail = format!("{} (id {})", path.display(), folder.id());
            Check {
                hint: open_to_others(path),
                ..passed("data folder", detail)
            }
        }
        Err(error) => failed("data folder", &error),
    }
}

/// A warning: there may be a reason.
fn open_to_others(path: &Path) -> Option<String> {
    let hint = || {
        format!(
            "other users of this machine may look into it, where every document is; `chmod 700 {}` ends that",
            path.display()
        )
    };
    is_open_to_others(path).then(hint)
}

/// Every byte of log, index and blobs against its checksum.
pub(super) fn data_at_rest(config: &Config) -> Vec<Check> {
    let found = match verify::hold(config).and_then(|folder| verify::look(config, &folder)) {
        Ok(found) => found,
        Err(error) => return vec![failed("data at rest", &error)],
    };
    let check = |part: Part| {
        let lines = found.lines(Path::new(&config.store.data_folder), part);
        let name = match part {
            Part::Log => "log at rest",
            Part::Index => "index at rest",
            Part::Blobs => "blobs at rest",
        };
        match lines.is_empty() {
            true => passed(name, "every checksum is right"),
            false => Check {
                name,
                ok: false,
                detail: lines.join("\n       "),
                hint: Some(verify::HINT.to_owned()),
            },
        }
    };
    Part::ALL.into_iter().map(check).collect()
}

/// The cluster, where the search index is one.
pub(super) fn search_index(config: &Config) -> Result<Vec<Check>> {
    if config.store.search_index.kind != SearchIndexKind::Elasticsearch {
        return Ok(Vec::new());
    }
    let runtime = app::runtime()?;
    let found = runtime.block_on(elasticsearch::diagnose(
        &config.store.search_index.elasticsearch,
    ));
    let is_there = found.first().is_some_and(|first| first.ok);
    let blobs = is_there.then(|| match runtime.block_on(look_at_blobs(config)) {
        Ok(folder) => passed("blobs", folder),
        Err(error) => failed("blobs", &error),
    });
    Ok(found
        .into_iter()
        .map(
            |Diagnosis {
                 name,
                 ok,
                 detail,
                 hint,
             }| Check {
                name,
                ok,
                detail,
                hint,
            },
        )
        .chain(blobs)
        .collect())
}

/// Whether the folder of bodies is there, and the one of the index where other processes share both.
async fn look_at_blobs(config: &Config) -> tributary_schemas::Result<String> {
    let store = &config.store;
    let blobs = Blobs::open(&store.blobs.url, Path::new(&store.data_folder))?;
    if store.access() == Access::Shared
        && let Some(origin) =
            elasticsearch::serving_origin(&store.search_index.elasticsearch).await?
        && let Some(id) = origin.blob_store
    {
        blobs.expect(&id);
    }
    blobs.check().await?;
    let id = blobs.id().unwrap_or_default();
    Ok(match store.blobs.url.as_str() {
        "" => format!("in the data folder (id {id})"),
        url => format!("{url} (id {id})"),
    })
}

/// Where a server runs: the build of an index that is under way or waits for somebody, and what the
/// index that answers was not built with.
pub(super) fn generations(client: &Client) -> Vec<Check> {
    // That it does not answer is told by a check of its own.
    let overview = client.get::<ReindexOverview>("/v1/reindex").ok();
    overview.map(|overview| told(&overview)).unwrap_or_default()
}

fn told(overview: &ReindexOverview) -> Vec<Check> {
    let mut checks: Vec<Check> = overview.builds.iter().filter_map(under_way).collect();
    let warning = |detail: String, hint: &str| Check {
        hint: Some(hint.to_owned()),
        ..passed("index", detail)
    };
    if !overview.outdated.is_empty() {
        checks.push(warning(
            format!(
                "changed since it was built: {}",
                overview.outdated.join(", ")
            ),
            "`tributary knowledge-sets reindex --all` makes them hold, or `reindex SET` what is of a set",
        ));
    }
    let documents = usize::try_from(overview.documents_under_old_rules).unwrap_or(usize::MAX);
    if documents > 0 {
        let documents = print::count(documents, "document");
        checks.push(warning(
            format!("{documents} tagged by the rules of before"),
            "`tributary knowledge-sets reindex --all` makes those of today hold",
        ));
    }
    checks
}

/// What is said of a build that has not ended.
fn under_way(build: &ReindexProgress) -> Option<Check> {
    let report = &build.report;
    let (detail, hint) = match report.state {
        ReindexState::Waiting => (
            "a reindex waits, for another one or for the service `index`".to_owned(),
            "`tributary knowledge-sets reindex --status` shows all of them",
        ),
        ReindexState::Building => (
            format!(
                "a new index is being built: {} of {} documents",
                build.documents_done, build.documents_total
            ),
            "until it is done queries go to the one before",
        ),
        ReindexState::Blocked => (
            format!(
                "a reindex is blocked: {}",
                report.reason.as_deref().unwrap_or("no reason was given")
            ),
            "`tributary knowledge-sets reindex --cancel` gives it up",
        ),
        ReindexState::Promoted
        | ReindexState::RolledBack
        | ReindexState::Cancelled
        | ReindexState::Failed => return None,
    };
    Some(Check {
        hint: Some(hint.to_owned()),
        ..passed("reindex", detail)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(overview: serde_json::Value) -> Vec<String> {
        let checks = told(&serde_json::from_value(overview).unwrap());
        let line = |check: Check| {
            assert!(check.ok);
            format!("{}: {} | {}", check.name, check.detail, check.hint.unwrap())
        };
        checks.into_iter().map(line).collect()
    }

    fn build(state: &str, reason: Option<&str>) -> serde_json::Value {
        json!({
            "request": {"request_id": "r", "knowledge_sets": [], "requested_at_ms": 1},
            "report": {"request_id": "r", "state": state, "reason": reason, "at_ms": 1},
            "documents_total": 40, "documents_done": 7,
        })
    }

    #[test]
    fn builds_that_have_not_ended_and_what_changed_are_told() {
        let ended = ["promoted", "rolled_back", "cancelled", "failed"];
        let ended: Vec<_> = ended.into_iter().map(|state| build(state, None)).collect();
        let quiet = json!({"builds": ended, "generations": [], "outdated": []});
        assert_eq!(said(quiet), Vec::<String>::new());

        let overview = json!({
            "builds": [build("building", None), build("blocked", Some("two are missing")), build("waiting", None)],
            "generations": [], "outdated": ["chunker", "models"], "documents_under_old_rules": 1,
        });
        let said = said(overview);
        let begins = [
            "reindex: a new index is being built: 7 of 40 documents | ",
            "reindex: a reindex is blocked: two are missing | `tributary knowledge-sets reindex --cancel`",
            "reindex: a reindex waits, ",
            "index: changed since it was built: chunker, models | ",
            "index: 1 document tagged by the rules of before | `tributary knowledge-sets reindex --all`",
        ];
        assert_eq!(said.len(), begins.len(), "{said:?}");
        for (line, begin) in said.iter().zip(begins) {
            assert!(line.starts_with(begin), "{line}");
        }
    }
}
