//! Records of one key: side by side with others, one after the other in the stage, together in a
//! flush, in their order in the log.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tributary_schemas::{Error, Result, Topic};

use super::metrics::WorkerMetrics;
use super::{Worker, WorkerSettings, tests};
use crate::blobs::Blobs;
use crate::event_log::embedded::{Config, EmbeddedEventLog};
use crate::event_log::stage::{Output, Stage};
use crate::event_log::topics::Topics;
use crate::event_log::{BatchLimit, Record, StoredRecord};
use crate::metrics::MetricRegistry;

/// Passes a record on and reports it, or, where its value says so, only reports it. A flush ends
/// once so many records were processed.
struct Waiting {
    processed: watch::Sender<usize>,
    wanted: usize,
    running: AtomicUsize,
    order: Mutex<Vec<String>>,
}

#[async_trait]
impl Stage for Waiting {
    fn name(&self) -> &'static str {
        "waiting"
    }

    async fn process(&self, input: &StoredRecord) -> Result<Vec<Output>> {
        assert_eq!(
            self.running.fetch_add(1, Ordering::SeqCst),
            0,
            "two records of a key are in the stage at once"
        );
        tokio::task::yield_now().await;
        self.order.lock().unwrap().push(text(&input.record));
        self.running.fetch_sub(1, Ordering::SeqCst);
        self.processed.send_modify(|processed| *processed += 1);
        let output = |topic| Output {
            topic,
            record: input.record.clone(),
        };
        Ok(match text(&input.record).starts_with("report") {
            true => vec![output(Topic::DocumentsStates)],
            false => vec![
                output(Topic::DocumentsClean),
                output(Topic::DocumentsStates),
            ],
        })
    }

    async fn flush(&self) -> Result<()> {
        self.processed
            .subscribe()
            .wait_for(|processed| *processed >= self.wanted)
            .await
            .map(drop)
            .unwrap();
        Ok(())
    }

    fn abandoned(&self, _: &StoredRecord, _: &Error) -> Vec<Output> {
        Vec::new()
    }
}

fn text(record: &Record) -> String {
    String::from_utf8_lossy(record.value.as_deref().unwrap_or_default()).into_owned()
}

/// So that some are acknowledged together.
fn worker_settings() -> WorkerSettings {
    WorkerSettings {
        concurrency: 4,
        in_flight_records: 64,
        linger_ms: 50,
        ..tests::worker_settings()
    }
}

/// What a worker makes of these values under one key, by topic; every flush waits until all were
/// processed.
async fn outputs(values: &[String]) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let log = EmbeddedEventLog::open(&folder.path().join("log"), Config::small()).unwrap();
    let topics = Topics::new(
        Arc::new(log),
        "t".into(),
        Blobs::local(&folder.path().join("blobs")).unwrap(),
        1 << 16,
    );
    topics.create(1, None, None).await.unwrap();
    let record = |value: &String| Record {
        key: Bytes::from_static(b"hot"),
        value: Some(value.clone().into()),
        ..Record::default()
    };
    topics
        .append(Topic::DocumentsRaw, values.iter().map(record).collect())
        .await
        .unwrap();
    let stage = Arc::new(Waiting {
        processed: watch::Sender::new(0),
        wanted: values.len(),
        running: AtomicUsize::new(0),
        order: Mutex::default(),
    });
    let metrics = WorkerMetrics::register(&MetricRegistry::default())
        .unwrap()
        .stage("waiting");
    let worker = Worker::new(
        topics.clone(),
        Topic::DocumentsRaw,
        stage.clone(),
        worker_settings(),
        metrics,
        Arc::new(|| 7),
    );
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await }
    });
    let reports = read(&topics, Topic::DocumentsStates, values.len()).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(
        *stage.order.lock().unwrap(),
        values,
        "processed in another order"
    );
    let passed_on = values
        .iter()
        .filter(|value| !value.starts_with("report"))
        .count();
    (
        read(&topics, Topic::DocumentsClean, passed_on).await,
        reports,
    )
}

async fn read(topics: &Topics, topic: Topic, wanted: usize) -> Vec<String> {
    let mut subscription = topics.subscribe(topic, None).await.unwrap();
    let mut found = Vec::new();
    let all = async {
        while found.len() < wanted {
            let limit = BatchLimit {
                records: 100,
                bytes: 1 << 20,
            };
            let batch = subscription
                .next_batch(limit, Duration::from_millis(100))
                .await
                .unwrap();
            found.extend(batch.iter().map(|stored| text(&stored.record)));
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(60), all).await;
    assert!(
        in_time.is_ok(),
        "records of one key wait for each other's flush: {found:?} of {wanted} in {topic:?}"
    );
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_of_a_key_do_not_wait_for_each_others_flush_and_keep_their_order() {
    // Every third is only reported, so that its report could overtake that of the record before it.
    let values: Vec<String> = (0..30)
        .map(|number| {
            format!(
                "{} {number}",
                if number % 3 == 2 { "report" } else { "pass" }
            )
        })
        .collect();
    let (passed_on, reports) = outputs(&values).await;
    assert_eq!(reports, values);
    assert_eq!(
        passed_on,
        values
            .into_iter()
            .filter(|value| value.starts_with("pass"))
            .collect::<Vec<_>>()
    );
}
