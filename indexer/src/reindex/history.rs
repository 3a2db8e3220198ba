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
    /// How many requests there were when it began, before it read its settings: what it makes
    /// holds for all of them that ask for no more.
    known_at_start: Option<usize>,
}

impl Build {
    /// A build of which nothing is known but its request and how it ended.
    pub fn new(request: ReindexRequest, report: ReindexReport) -> Self {
        Self {
            request,
            report,
            building_since_ms: None,
            known_at_start: None,
        }
    }
}

/// The build whose generation does what `request` asks for: one that was asked for as much, began
/// after this request was there, and was promoted. What waits behind a build is built once.
pub fn built_with<'a>(builds: &'a [Build], request: &ReindexRequest) -> Option<&'a Build> {
    let asked = builds
        .iter()
        .position(|build| build.request.request_id == request.request_id)?;
    let does = |build: &&Build| {
        build.report.state == ReindexState::Promoted
            && build.known_at_start.is_some_and(|known| asked < known)
            && build.request.request_id != request.request_id
            && covers(&build.request.knowledge_sets, &request.knowledge_sets)
    };
    builds.iter().rev().find(does)
}

/// Whether a build of the sets `built` is one of the sets `asked`; none are all documents.
fn covers(built: &[String], asked: &[String]) -> bool {
    built.is_empty() || (!asked.is_empty() && asked.iter().all(|set| built.contains(set)))
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
    let record = record(report)?;
    topics
        .append(Topic::ReindexRequests, vec![record])
        .await
        .map(drop)
}

/// The record of a report.
pub fn record(report: &ReindexReport) -> Result<Record> {
    message::encode(
        event::TYPE_REINDEX_STATE,
        KEY,
        report.at_ms.unsigned_abs(),
        report,
        report.at_ms,
    )
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
            builds.push(Build::new(request, report));
        }
        Some(event::TYPE_REINDEX_STATE) => {
            let Ok(Some(report)) = message::decode::<ReindexReport>(record) else {
                return;
            };
            let known = builds.len();
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
                if report.state == ReindexState::Building {
                    build.building_since_ms.get_or_insert(report.at_ms);
                    build.known_at_start.get_or_insert(known);
                }
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

    fn request_of(id: &str, sets: &[&str]) -> Record {
        let request = ReindexRequest {
            request_id: id.to_owned(),
            knowledge_sets: sets.iter().map(|set| (*set).to_owned()).collect(),
            requested_at_ms: 1,
        };
        message::encode(event::TYPE_REINDEX_REQUESTED, KEY, 1, &request, 1).unwrap()
    }

    /// Requests of which one of those before does what the last one asks for.
    fn done_with(records: &[Record]) -> Option<String> {
        let mut builds = Vec::new();
        records.iter().for_each(|record| add(&mut builds, record));
        let last = builds.last().unwrap().request.clone();
        built_with(&builds, &last).map(|build| build.request.request_id.clone())
    }

    #[test]
    fn a_build_that_began_later_than_a_request_does_what_it_asks_for() {
        let (begun, ended) = (ReindexState::Building, ReindexState::Promoted);
        let built = |of: &[&str], asked: &[&str]| {
            done_with(&[
                request_of("a", of),
                request_of("b", asked),
                state("a", begun, 5),
                state("a", ended, 6),
            ])
        };
        assert_eq!(built(&[], &[]), Some("a".to_owned()));
        assert_eq!(built(&[], &["radio"]), Some("a".to_owned()));
        assert_eq!(built(&["radio", "core"], &["core"]), Some("a".to_owned()));
        assert_eq!(built(&["radio"], &["core"]), None);
        assert_eq!(built(&["radio"], &["radio", "core"]), None);
        assert_eq!(built(&["radio"], &[]), None);
    }

    #[test]
    fn a_build_that_began_before_a_request_or_did_not_end_well_does_not() {
        let (begun, ended) = (ReindexState::Building, ReindexState::Promoted);
        let before = [
            request("a"),
            state("a", begun, 5),
            request("b"),
            state("a", begun, 6),
            state("a", ended, 7),
        ];
        assert_eq!(done_with(&before), None);
        for end in [
            ReindexState::Failed,
            ReindexState::Cancelled,
            ReindexState::Blocked,
        ] {
            let other = [
                request("a"),
                request("b"),
                state("a", begun, 5),
                state("a", end, 6),
            ];
            assert_eq!(done_with(&other), None, "{end:?}");
        }
        let back = [
            request("a"),
            request("b"),
            state("a", begun, 5),
            state("a", ended, 6),
            state("a", ReindexState::RolledBack, 7),
        ];
        assert_eq!(done_with(&back), None);
    }

    #[test]
    fn what_cannot_be_read_and_reports_of_unknown_requests_say_nothing() {
        let mut damaged = request("a");
        damaged.value = Some("{".into());
        assert!(added(&[damaged, state("b", ReindexState::Promoted, 5)]).is_empty());
    }
}
