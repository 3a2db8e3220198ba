//! Says again what a document has come to, where its last report alone does not say it.
//!
//! Compaction keeps the last report of a document by its place in the topic. That may be one of an
//! older version, because a stage did its work again after a crash, or one that says less than was
//! known: a reader that begins later would take it for the truth. Here the row, which compared
//! versions, is appended behind it.

use std::sync::Arc;
use std::time::Duration;

use tributary_schemas::{DocumentState, Result, State, Topic};

use super::table::{DocumentRow, DocumentTable, IndexedVersion, is_settled};
use crate::event_log::stage::Output;
use crate::event_log::topics::Topics;

/// Documents in one append.
const AT_ONCE: usize = 500;
/// Reports come in bursts, and the next one often says it by itself.
const PAUSE: Duration = Duration::from_millis(200);
const RETRY_PAUSE: Duration = Duration::from_secs(2);

/// Keeps the last report of each document such that it stands for the document; goes on until the
/// table follows its topic no more. For one process of a deployment; several do no harm.
pub async fn keep(table: Arc<DocumentTable>, topics: Topics) {
    let mut changes = table.changes();
    loop {
        let pause = match restate(&table, &topics).await {
            Ok(0) if !changes.next().await => return,
            Ok(_) => PAUSE,
            Err(error) => {
                tracing::warn!(%error, "what documents have come to cannot be said again, trying again");
                RETRY_PAUSE
            }
        };
        tokio::time::sleep(pause).await;
    }
}

/// One round; returns how many documents were looked at.
pub async fn restate(table: &DocumentTable, topics: &Topics) -> Result<usize> {
    let documents = table.unsaid(AT_ONCE);
    let mut records = Vec::with_capacity(documents.len());
    for document_id in &documents {
        let Some(row) = table.get(document_id) else {
            continue;
        };
        let report = report(&row);
        if says_all(&report, &row) {
            records.push(Output::report(&report)?.record);
        } else {
            table.let_be(document_id);
        }
    }
    if !records.is_empty() {
        topics.append(Topic::DocumentsStates, records).await?;
        table.catch_up(topics).await?;
    }
    Ok(documents.len())
}

/// The report that says what the row says.
pub fn report(row: &DocumentRow) -> DocumentState {
    let latest = row.latest.clone();
    match searchable(row) {
        Some(indexed) if latest.state == State::Indexed => DocumentState {
            indexed_at_ms: indexed.at_ms,
            labels: indexed.labels.clone(),
            ..latest
        },
        Some(_) if latest.state == State::Skipped && latest.indexed_version.is_none() => latest,
        Some(indexed) => DocumentState {
            indexed_version: Some(indexed.version),
            indexed_at_ms: indexed.at_ms,
            chunks: indexed.chunks,
            fingerprint: indexed.fingerprint.clone(),
            labels: indexed.labels.clone(),
            indexed_rights: indexed
                .rights
                .clone()
                .filter(|_| latest.state == State::Dead),
            before: row.before.clone(),
            ..latest
        },
        None => DocumentState {
            indexed_version: None,
            before: row.before.clone(),
            ..latest
        },
    }
}

/// Whether a reader that sees this report of a document alone knows what the row knows. Of a
/// document on its way the next report says more.
pub(super) fn says_all(report: &DocumentState, row: &DocumentRow) -> bool {
    if !row.latest.state.is_final() {
        return true;
    }
    let is_the_latest = (report.version, report.state) == (row.latest.version, row.latest.state);
    let is_named = !report.source.is_empty() || row.latest.source.is_empty();
    if row.latest.state == State::Skipped && row.latest.indexed_version.is_none() {
        // What was found before is removed or steps aside, and that is reported.
        return is_the_latest && is_named;
    }
    let said = IndexedVersion::reported_by(report).map(|indexed| indexed.version);
    let has_rights = match report.state {
        State::Deleted => report.published_rights == row.latest.published_rights,
        state if is_settled(state, report.indexed_version) => true,
        _ => report.newest_rights() == row.latest.newest_rights(),
    };
    let rights = searchable(row).and_then(|indexed| indexed.rights.as_ref());
    let is_known = row.latest.state != State::Dead
        || (report.indexed_rights.as_ref() == rights && report.before == row.before);
    is_the_latest
        && is_named
        && has_rights
        && is_known
        && said == searchable(row).map(|indexed| indexed.version)
}

fn searchable(row: &DocumentRow) -> Option<&IndexedVersion> {
    row.indexed.as_ref().filter(|indexed| !indexed.is_aside)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::DocumentHeader;

    use super::*;
    use crate::blobs::Blobs;
    use crate::event_log::embedded::{self, EmbeddedEventLog};
    use crate::event_log::{BatchLimit, message};
    use crate::manifest;

    const ALL: BatchLimit = BatchLimit {
        records: 1000,
        bytes: 1 << 20,
    };

    fn said(version: u64, state: State) -> DocumentState {
        let document = DocumentHeader {
            document_id: "d".into(),
            version,
            fingerprint: format!("f{version}"),
            ..DocumentHeader::default()
        };
        manifest::report(&document, state, 0)
    }

    fn unchanged(version: u64, since: u64) -> DocumentState {
        DocumentState {
            indexed_version: Some(since),
            fingerprint: format!("f{since}"),
            reason: Some("unchanged".into()),
            ..said(version, State::Skipped)
        }
    }

    /// A log of its own with these reports, restated; the table, and all reports that are in the
    /// log then.
    async fn restated(reports: &[DocumentState]) -> (DocumentTable, Vec<DocumentState>) {
        let folder = tempfile::tempdir().unwrap();
        let log =
            EmbeddedEventLog::open(&folder.path().join("log"), embedded::Config::small()).unwrap();
        let blobs = Blobs::local(&folder.path().join("blobs")).unwrap();
        let topics = Topics::new(Arc::new(log), "t".into(), blobs, 100_000);
        topics.create(1, None, None).await.unwrap();
        let records = reports
            .iter()
            .map(|report| Output::report(report).unwrap().record)
            .collect();
        topics
            .append(Topic::DocumentsStates, records)
            .await
            .unwrap();
        let table = DocumentTable::open(&topics).await.unwrap();
        while restate(&table, &topics).await.unwrap() > 0 {}
        let mut subscription = topics
            .subscribe_from(Topic::DocumentsStates, &[])
            .await
            .unwrap();
        let stored = subscription
            .next_batch(ALL, Duration::from_secs(5))
            .await
            .unwrap();
        let all = stored
            .iter()
            .map(|stored| message::decode(&stored.record).unwrap().unwrap())
            .collect();
        (table, all)
    }

    #[tokio::test]
    async fn the_last_report_alone_says_what_all_of_them_say() {
        let cases = [
            (
                "work done again after a skip",
                vec![
                    said(1, State::Indexed),
                    unchanged(2, 1),
                    said(1, State::Indexed),
                ],
            ),
            (
                "an acceptance that came late",
                vec![said(1, State::Indexed), said(1, State::Accepted)],
            ),
            (
                "an update that was given up",
                vec![said(1, State::Indexed), said(2, State::Dead)],
            ),
            (
                "an update that was given up before the version before it arrived",
                vec![said(2, State::Dead), said(1, State::Indexed)],
            ),
            (
                "emptied",
                vec![
                    said(1, State::Indexed),
                    said(2, State::Skipped),
                    said(2, State::Deleted),
                ],
            ),
            (
                "deleted, and the version before it done again",
                vec![
                    said(1, State::Indexed),
                    said(2, State::Deleted),
                    DocumentState {
                        reason: Some("superseded by version 2".into()),
                        ..said(1, State::Skipped)
                    },
                ],
            ),
        ];
        let broken = DocumentState {
            source: "wiki".into(),
            source_path: "broken.pdf".into(),
            ..said(1, State::Dead)
        };
        let cases = cases.into_iter().chain([(
            "a deletion, which names nothing",
            vec![broken, said(2, State::Deleted)],
        )]);
        for (what, reports) in cases {
            let (table, all) = restated(&reports).await;
            assert!(all.len() > reports.len(), "{what}");
            let row = table.get("d").unwrap();
            let alone = DocumentTable::with_reports(&all[all.len() - 1..])
                .get("d")
                .unwrap();
            let told = |row: &DocumentRow| {
                let indexed = row.indexed.as_ref();
                (
                    (row.latest.version, row.latest.state),
                    row.latest.reason.clone(),
                    row.latest.source_path.clone(),
                    indexed.map(|indexed| (indexed.version, indexed.fingerprint.clone())),
                    (
                        indexed.map(|indexed| indexed.rights.clone()),
                        row.before.clone(),
                    ),
                )
            };
            assert_eq!(told(&alone), told(&row), "{what}");
            let before = DocumentTable::with_reports(&reports).get("d").unwrap();
            assert_eq!(
                told(&row),
                told(&before),
                "{what}: saying it again changes nothing"
            );
        }
    }

    /// Compaction takes reports out of what is closed; behind it all of them are there.
    #[test]
    fn what_a_report_says_of_an_older_one_counts_behind_others_too() {
        let dead = DocumentState {
            indexed_version: Some(1),
            ..said(2, State::Dead)
        };
        for last in [unchanged(2, 1), dead] {
            let table = DocumentTable::with_reports(&[said(2, State::Accepted), last]);
            let row = table.get("d").unwrap();
            assert_eq!(row.indexed.as_ref().map(|indexed| indexed.version), Some(1));
            assert!(table.unsaid(10).is_empty());
        }
    }

    #[tokio::test]
    async fn nothing_is_said_twice_where_the_last_report_says_it() {
        let cases = [
            vec![said(1, State::Accepted), said(1, State::Indexed)],
            vec![said(1, State::Indexed), unchanged(2, 1)],
            vec![said(1, State::Indexed), said(2, State::Deleted)],
            // On its way: the next report says more.
            vec![said(2, State::Chunking), said(1, State::Indexed)],
            // Aside for a newer edition.
            vec![said(1, State::Indexed), said(1, State::Skipped)],
        ];
        for reports in cases {
            let (_, all) = restated(&reports).await;
            assert_eq!(all, reports);
        }
    }
}
