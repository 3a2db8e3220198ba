//! Which generation queries go to, where the index has lost it: the reports of the builds say it,
//! too.

use tributary_schemas::reindex::ReindexState;
use tributary_schemas::{Error, ErrorKind, Result};
use tributary_store::event_log::topics::Topics;
use tributary_store::search_index::SharedSearchIndex;

use super::history::{self, Build};

/// Makes the generation serve that was promoted last, where generations are there and none serves;
/// where that one was lost, too, the one that it took over from, which has the same documents.
/// `Corrupt` where nothing says which of several it was: another one may be older, and must not
/// take its place unseen.
pub async fn restore_serving(topics: &Topics, index: &SharedSearchIndex) -> Result<()> {
    let generations = index.status().await?;
    if generations.is_empty() || generations.iter().any(|generation| generation.serving) {
        return Ok(());
    }
    let names: Vec<&str> = generations
        .iter()
        .map(|generation| generation.name.as_str())
        .collect();
    let reported = promoted_last(&history::read(topics).await?);
    let found = reported
        .iter()
        .find(|reported| names.contains(&reported.as_str()));
    let name = match (found, names.as_slice()) {
        (Some(name), _) => {
            tracing::error!(
                generation = name,
                promoted = ?reported.first(),
                "the index does not say which generation serves queries, the reports of the builds do"
            );
            name.as_str()
        }
        // The first one, of a start that was broken off.
        (None, [only]) => only,
        (None, names) => return Err(lost(names)),
    };
    index.promote(name).await
}

fn lost(names: &[&str]) -> Error {
    let message = format!(
        "which generation serves queries is lost, and no report of a build names one of those that are there: {}",
        names.join(", ")
    );
    Error::new(ErrorKind::Corrupt, message).with_hint(
        "restore a backup, or write the name of one into the file index/serving (Elasticsearch: give it the alias) and reindex",
    )
}

/// The generation that the newest promotion, or its taking back, made serve, and then the one that
/// it took over from; empty before there was any.
fn promoted_last(builds: &[Build]) -> Vec<String> {
    let changes = builds.iter().filter_map(|build| {
        let report = &build.report;
        let names = match report.state {
            ReindexState::Promoted => [&report.generation, &report.previous],
            ReindexState::RolledBack => [&report.previous, &report.generation],
            _ => return None,
        };
        Some((report.at_ms, names))
    });
    changes
        .max_by_key(|(at_ms, _)| *at_ms)
        .map(|(_, names)| names.map(String::clone).to_vec())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use tributary_schemas::reindex::{ReindexReport, ReindexRequest};

    use super::*;

    fn build(state: ReindexState, generation: &str, previous: &str, at_ms: i64) -> Build {
        let request = ReindexRequest {
            request_id: format!("{generation}-{at_ms}"),
            knowledge_sets: Vec::new(),
            requested_at_ms: 1,
        };
        let report = ReindexReport {
            request_id: request.request_id.clone(),
            state,
            generation: generation.to_owned(),
            previous: previous.to_owned(),
            reason: None,
            at_ms,
        };
        Build::new(request, report)
    }

    #[test]
    fn the_newest_promotion_counts_and_one_that_was_taken_back_does_not() {
        use ReindexState::{Building, Cancelled, Promoted, RolledBack};
        let none: [&str; 0] = [];
        assert_eq!(promoted_last(&[]), none);
        let mut builds = vec![build(Cancelled, "g2", "g1", 1)];
        assert_eq!(promoted_last(&builds), none);
        builds.push(build(Promoted, "g3", "g1", 2));
        builds.push(build(Building, "g4", "g3", 4));
        assert_eq!(promoted_last(&builds), ["g3", "g1"]);
        builds[1] = build(RolledBack, "g3", "g1", 3);
        assert_eq!(promoted_last(&builds), ["g1", "g3"]);
    }
}
