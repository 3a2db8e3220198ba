//! The history of builds: requests and reports of the topic `reindex.requests`, added up.

use tributary_schemas::reindex::{ReindexReport, ReindexRequest, ReindexState};
use tributary_schemas::{Result, Topic, event};
use tributary_store::event_log::topics::Topics;
use tributary_store::event_log::{Record, message};

use super::KEY;

/// A request and its newest report.
#[derive(Clone, Debug, PartialEq)]
pub struct Build {
    pub request: ReindexRequest,
    pub report: ReindexReport,
    /// When the first report said that it was being built, milliseconds since 1970.
    pub building_since_ms: Option<i64>,
}

/// All builds, oldest first. The topic is short: it is read from its start.
pub async fn read(topics: &Topics) -> Result<Vec<Build>> {
    let records = topics.read_all(Topic::ReindexRequests).await?;
    let mut builds = Vec::new();
    for stored in records {
        add(&mut builds, &stored.record);
    }
    Ok(builds)
}

/// Makes a report durable.
pub async fn report(topics: &Topics, report: &ReindexReport) -> Result<()> {
    let version = report.at_ms.unsigned_abs();
    let record = message::encode(
        event::TYPE_REINDEX_STATE,
        KEY,
        version,
        report,
        report.at_ms,
    )?;
    topics
        .append(Topic::ReindexRequests, vec![record])
        .await
        .map(drop)
}

/// What cannot be read says nothing: the stage sends it to the dead letters.
fn add(builds: &mut Vec<Build>, record: &Record) {
    match record.header(event::CE_TYPE) {
        Some(event::TYPE_REINDEX_REQUESTED) => {
            let Ok(Some(request)) = message::decode::<ReindexRequest>(record) else {
                return;
            };
            if builds
                .iter()
                .any(|build| build.request.request_id == request.request_id)
            {
                return;
            }
            let report = ReindexReport {
                request_id: request.request_id.clone(),
                state: ReindexState::Waiting,
                generation: String::new(),
                previous: String::new(),
                reason: None,
                at_ms: request.requested_at_ms,
            };
            builds.push(Build {
                request,
                report,
                building_since_ms: None,
            });
        }
        Some(event::TYPE_REINDEX_STATE) => {
            let Ok(Some(report)) = message::decode::<ReindexReport>(record) else {
                return;
            };
            let Some(build) = builds
                .iter_mut()
                .find(|build| build.request.request_id == report.request_id)
            else {
                return;
            };
            // Ended is ended: a report of a builder that had not heard of a cancellation does not
            // count. Only a promotion can be taken back.
            let is_news =
                !build.report.state.is_final() || report.state == ReindexState::RolledBack;
            if is_news {
                let began = (report.state == ReindexState::Building).then_some(report.at_ms);
                build.building_since_ms = build.building_since_ms.or(began);
                build.report = report;
            }
        }
        _ => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn request(id: &str) -> Record {
        let request = ReindexRequest {
            request_id: id.to_owned(),
            knowledge_sets: Vec::new(),
            requested_at_ms: 1,
        };
        message::encode(event::TYPE_REINDEX_REQUESTED, KEY, 1, &request, 1).unwrap()
    }

    fn state(id: &str, state: ReindexState, at_ms: i64) -> Record {
        let (generation, previous) = ("g2".to_owned(), "g1".to_owned());
        let report = ReindexReport {
            request_id: id.to_owned(),
            state,
            generation,
            previous,
            reason: None,
            at_ms,
        };
        message::encode(event::TYPE_REINDEX_STATE, KEY, 1, &report, at_ms).unwrap()
    }

    fn added(records: &[Record]) -> Vec<(String, ReindexState, Option<i64>)> {
        let mut builds = Vec::new();
        records.iter().for_each(|record| add(&mut builds, record));
        builds
            .into_iter()
            .map(|build| {
                (
                    build.request.request_id,
                    build.report.state,
                    build.building_since_ms,
                )
            })
            .collect()
    }

    #[test]
    fn a_request_that_comes_twice_is_one_build_and_the_newest_report_counts() {
        let records = [
            request("a"),
            request("b"),
            request("a"),
            state("a", ReindexState::Building, 5),
            state("a", ReindexState::Blocked, 6),
            state("a", ReindexState::Building, 7),
        ];
        assert_eq!(
            added(&records),
            [
                ("a".to_owned(), ReindexState::Building, Some(5)),
                ("b".to_owned(), ReindexState::Waiting, None)
            ]
        );
    }

    #[test]
    fn a_cancelled_build_stays_cancelled_and_a_promotion_can_be_taken_back() {
        let cancelled = [
            request("a"),
            state("a", ReindexState::Cancelled, 5),
            state("a", ReindexState::Promoted, 6),
        ];
        assert_eq!(
            added(&cancelled),
            [("a".to_owned(), ReindexState::Cancelled, None)]
        );
        let back = [
            request("a"),
            state("a", ReindexState::Promoted, 5),
            state("a", ReindexState::RolledBack, 6),
        ];
        assert_eq!(
            added(&back),
            [("a".to_owned(), ReindexState::RolledBack, None)]
        );
    }

    #[test]
    fn what_cannot_be_read_and_reports_of_unknown_requests_say_nothing() {
        let mut damaged = request("a");
        damaged.value = Some("{".into());
        assert!(added(&[damaged, state("b", ReindexState::Promoted, 5)]).is_empty());
    }
}
