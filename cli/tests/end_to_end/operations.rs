//! What an operator sees: metrics that balance over crashes and are all documented, readiness that
//! names what is missing, processes that run only some services.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::harness::{Server, Workspace, list, text, wait_for};

const STAGES: [&str; 4] = ["ingest", "chunk", "embed", "index"];

/// Samples by name and labels, as they are written.
struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    fn of(server: &Server) -> Self {
        let (status, body) = server.get("/metrics");
        assert_eq!(status, 200, "{body}");
        let samples = body
            .as_str()
            .unwrap()
            .lines()
            .filter(|line| !line.starts_with('#'));
        Self(
            samples
                .filter_map(|line| line.rsplit_once(' '))
                .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
                .collect(),
        )
    }

    #[track_caller]
    fn get(&self, name: &str) -> u64 {
        let value = self
            .0
            .get(name)
            .unwrap_or_else(|| panic!("{name} is not in {:#?}", self.0.keys()));
        *value as u64
    }

    fn stage(&self, metric: &str, stage: &str) -> u64 {
        self.get(&format!("tributary_stage_{metric}{{stage=\"{stage}\"}}"))
    }

    fn documents(&self, state: &str) -> u64 {
        self.get(&format!("tributary_documents{{state=\"{state}\"}}"))
    }

    fn sum(&self, family: &str) -> f64 {
        self.0
            .iter()
            .filter(|(name, _)| name.starts_with(&format!("{family}{{")))
            .map(|(_, value)| value)
            .sum()
    }

    /// Names of families; the samples of a histogram stand for one.
    fn families(&self) -> BTreeSet<String> {
        let family = |name: &str| {
            let name = name.split('{').next().unwrap_or(name);
            let suffix = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|suffix| name.strip_suffix(suffix));
            suffix
                .filter(|base| {
                    self.0
                        .keys()
                        .any(|other| other.starts_with(&format!("{base}_bucket")))
                })
                .unwrap_or(name)
                .to_owned()
        };
        self.0.keys().map(|name| family(name)).collect()
    }

    /// Fails unless all of it adds up. While stages work their counters move between two of them
    /// being read, so at rest only.
    #[track_caller]
    fn balance(&self) {
        self.balance_of_documents();
        for stage in STAGES {
            let ends = ["out", "dropped", "dead", "returned"]
                .map(|end| self.stage(&format!("records_{end}_total"), stage));
            let in_progress = self.stage("records_in_progress", stage);
            assert_eq!(
                self.stage("records_in_total", stage),
                ends.iter().sum::<u64>() + in_progress,
                "{stage}: {ends:?}, {in_progress}"
            );
        }
    }

    /// Documents are counted at one moment.
    #[track_caller]
    fn balance_of_documents(&self) {
        let states = [
            "accepted",
            "chunking",
            "embedding",
            "indexing",
            "indexed",
            "skipped",
            "deleted",
            "dead",
        ];
        let by_state: u64 = states.iter().map(|state| self.documents(state)).sum();
        let in_flight = self.get("tributary_documents_in_flight");
        assert_eq!(self.get("tributary_documents_accepted"), by_state);
        assert_eq!(
            by_state,
            in_flight
                + ["indexed", "skipped", "deleted", "dead"]
                    .map(|state| self.documents(state))
                    .iter()
                    .sum::<u64>()
        );
    }
}

fn page(number: usize) -> Value {
    let content =
        format!("# Page {number}\n\nThe numbat{number} eats termites, {number} thousand a day.");
    json!({"source": "balance", "source_path": format!("{number}.md"), "content": content})
}

/// Waits until nothing is on its way, by the metrics alone.
fn at_rest(server: &Server) -> Metrics {
    wait_for("metrics at rest", || {
        let metrics = Metrics::of(server);
        let at_rest = metrics.get("tributary_documents_in_flight") == 0
            && metrics
                .0
                .keys()
                .any(|name| name.starts_with("tributary_lag_records"))
            && metrics.sum("tributary_lag_records") == 0.0
            && metrics.sum("tributary_stage_records_in_progress") == 0.0;
        at_rest.then_some(metrics)
    })
}

#[test]
fn documents_in_are_indexed_skipped_deleted_or_dead_also_after_crashes() {
    let workspace = Workspace::new();
    let mut server = workspace.start();
    let good: Vec<_> = (0..6).map(|number| server.publish(&page(number))).collect();
    let empty =
        server.publish(&json!({"source": "balance", "source_path": "empty.md", "content": "  \n"}));
    let dead = server.publish(&json!({"source": "balance", "source_path": "x.ps", "content_base64": "JSFQUy1BZG9iZS0zLjAK"}));
    good.iter()
        .chain([&empty, &dead])
        .for_each(|document| drop(server.settled(document)));
    let unchanged = server.publish(&page(0));
    assert_eq!(text(&server.settled(&unchanged), "/state"), "skipped");
    let (status, deleted) = server
        .try_delete(&format!("/v1/documents/{}", good[1].0))
        .unwrap();
    assert_eq!(status, 202, "{deleted}");
    server.settled(&(
        good[1].0.clone(),
        deleted.get("version").and_then(Value::as_u64).unwrap(),
    ));
    let metrics = at_rest(&server);
    metrics.balance();
    let states = ["indexed", "skipped", "deleted", "dead"].map(|state| metrics.documents(state));
    assert_eq!(
        (metrics.get("tributary_documents_accepted"), states),
        (8, [4, 2, 1, 1])
    );
    assert_eq!(metrics.stage("records_in_total", "ingest"), 10);
    assert_eq!(metrics.stage("records_dead_total", "ingest"), 1);
    assert_eq!(
        metrics.get("tributary_stage_attempts_failed_total{kind=\"unsupported\",stage=\"ingest\"}"),
        1
    );

    // In the middle of the work, twice.
    for round in 1..3 {
        (0..20).for_each(|number| drop(server.publish(&page(round * 100 + number))));
        server.kill();
        server = workspace.start();
        Metrics::of(&server).balance_of_documents();
    }
    let metrics = at_rest(&server);
    metrics.balance();
    let states = ["indexed", "skipped", "deleted", "dead"].map(|state| metrics.documents(state));
    assert_eq!(
        (metrics.get("tributary_documents_accepted"), states),
        (48, [44, 2, 1, 1])
    );
    server.stop();
}

#[test]
fn lag_and_age_are_those_of_what_waits() {
    let workspace = Workspace::new();
    let server = workspace.start_with(&["--services", "ingest,query"]);
    (0..3).for_each(|number| drop(server.publish(&page(number))));
    let chunk = |metrics: &Metrics, family: &str| {
        metrics
            .0
            .iter()
            .find(|(name, _)| name.starts_with(family) && name.contains("stage=\"chunk\""))
            .map(|(_, value)| *value)
    };
    let age = wait_for("a lag", || {
        let metrics = Metrics::of(&server);
        (chunk(&metrics, "tributary_lag_records") == Some(3.0))
            .then(|| chunk(&metrics, "tributary_oldest_uncommitted_seconds").unwrap())
    });
    let later = wait_for("age to grow", || {
        chunk(
            &Metrics::of(&server),
            "tributary_oldest_uncommitted_seconds",
        )
        .filter(|now| *now > age)
    });
    assert!(later < 60.0, "{age} {later}");
    assert_eq!(
        Metrics::of(&server).get("tributary_lag_records{group=\"ingest\",stage=\"ingest\"}"),
        0
    );
}

#[test]
fn the_documented_metrics_are_those_that_exist() {
    let workspace = Workspace::new();
    let server = workspace.start();
    let document = server.publish(&page(0));
    server.settled(&document);
    assert_eq!(
        server.post("/v1/search", &json!({"query": "numbat0"})).0,
        200
    );
    let question = json!({"question": "Where is numbat0?"});
    assert_eq!(server.post("/v1/ask", &question).0, 200);
    let found = at_rest(&server).families();
    let table = include_str!("../../../docs/operations.md")
        .lines()
        .filter_map(|line| line.strip_prefix("| `tributary_"));
    let documented: BTreeSet<String> = table
        .filter_map(|rest| Some(format!("tributary_{}", rest.split_once('`')?.0)))
        .collect();
    let missing: Vec<_> = found.difference(&documented).collect();
    let gone: Vec<_> = documented.difference(&found).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "not in docs/operations.md: {missing:?}; there, but not in /metrics: {gone:?}"
    );
}

#[test]
fn a_process_without_queries_has_health_and_says_what_it_is() {
    let workspace = Workspace::new();
    let server = workspace.start_with(&["--services", "chunk,embed"]);
    assert_eq!(server.get("/health/livez").0, 200);
    let (status, ready) = server.get("/health/readyz");
    assert_eq!(
        (status, ready.get("ready")),
        (200, Some(&Value::Bool(true))),
        "{ready}"
    );
    let names: Vec<&str> = list(&ready, "/checks")
        .iter()
        .map(|check| text(check, "/name"))
        .collect();
    assert_eq!(
        names,
        [
            "event_log",
            "search_index",
            "blobs",
            "data_folder",
            "stages",
            "models"
        ]
    );
    assert!(
        Metrics::of(&server)
            .0
            .contains_key("tributary_stage_records_in_total{stage=\"embed\"}")
    );
    workspace.write("a.md", "hello");
    let refused = workspace.run(["publish", "a.md"]);
    assert!(
        refused.code != 0
            && format!("{}{}", refused.stdout, refused.stderr)
                .contains("this process runs chunk, embed"),
        "{refused:?}"
    );
    server.stop();
}

#[test]
fn a_disk_without_room_is_not_ready() {
    let workspace = Workspace::new().with("store.minimum_free_bytes", "9000000000000000000");
    let server = workspace.start();
    assert_eq!(server.get("/health/livez").0, 200);
    let (status, ready) = server.get("/health/readyz");
    assert_eq!(status, 503, "{ready}");
    let check = list(&ready, "/checks")
        .iter()
        .find(|check| text(check, "/name") == "data_folder")
        .unwrap();
    assert!(
        text(check, "/detail").contains("MiB free") && text(check, "/hint").contains("make room"),
        "{check}"
    );
    std::fs::remove_file(workspace.data().join("tributary.json")).unwrap();
    let moved = wait_for("a moved folder to be told", || {
        let (_, ready) = server.get("/health/readyz");
        ready
            .to_string()
            .contains("no data folder any more")
            .then_some(ready)
    });
    assert_eq!(moved.get("ready"), Some(&Value::Bool(false)));
}

#[test]
fn waiting_ends_when_nothing_moves_and_names_the_stage() {
    let workspace = Workspace::new();
    let server = workspace.start_with(&["--services", "ingest,chunk,query"]);
    workspace.write("docs/a.md", "# A\n\nThe bilby waits.");
    let run = workspace.run(["publish", "docs", "--wait", "--timeout", "8"]);
    run.refused(1, &["nothing moved for 8 s", "embed (1)", "hint:"]);
    server.stop();
    let server = workspace.start();
    let found = wait_for("the rest to go on", || {
        Some(workspace.found("bilby")).filter(|found| !found.is_empty())
    });
    assert_eq!(found.len(), 1);
    server.stop();
}
