//! Several readers of one group: nothing is lost, nobody commits what is another's, and a slow
//! worker stays a member.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use tokio_util::sync::CancellationToken;
use tributary_schemas::{Error, Topic};
use tributary_store::blobs::Blobs;
use tributary_store::event_log::stage::{Output, Stage};
use tributary_store::event_log::topics::Topics;
use tributary_store::event_log::worker::metrics::WorkerMetrics;
use tributary_store::event_log::worker::{Worker, WorkerSettings};
use tributary_store::metrics::MetricRegistry;

use super::*;

/// Counts how often each record was processed.
#[derive(Default)]
struct Counting {
    seen: Mutex<BTreeMap<Position, u32>>,
    total: AtomicU64,
    notes: Arc<Mutex<Notes>>,
}

/// What members of the group did.
#[derive(Default)]
struct Notes {
    /// By partition.
    committed: BTreeMap<u32, u64>,
    /// Records that were read although somebody had committed beyond them.
    read_again: Vec<Position>,
}

/// A log that takes notes.
struct Noting {
    log: KafkaEventLog,
    notes: Arc<Mutex<Notes>>,
}

struct NotingSubscription {
    subscription: Box<dyn Subscription>,
    notes: Arc<Mutex<Notes>>,
}

impl NotingSubscription {
    /// Positions in partitions that are this member's still: what is not, counts for nothing.
    fn held(&self, positions: impl Iterator<Item = Position>) -> Vec<Position> {
        positions
            .filter(|position| {
                !self
                    .subscription
                    .revocation(position.partition)
                    .is_cancelled()
            })
            .collect()
    }
}

#[async_trait]
impl EventLog for Noting {
    async fn create_topic(&self, topic: &str, settings: TopicSettings) -> Result<()> {
        self.log.create_topic(topic, settings).await
    }

    async fn append(&self, topic: &str, records: Vec<Record>) -> Result<Vec<Position>> {
        self.log.append(topic, records).await
    }

    async fn subscribe(&self, topic: &str, group: Option<&str>) -> Result<Box<dyn Subscription>> {
        let subscription = self.log.subscribe(topic, group).await?;
        Ok(Box::new(NotingSubscription {
            subscription,
            notes: Arc::clone(&self.notes),
        }))
    }

    async fn subscribe_from(
        &self,
        topic: &str,
        from: &[Position],
    ) -> Result<Box<dyn Subscription>> {
        self.log.subscribe_from(topic, from).await
    }

    async fn lag(&self, topic: &str, group: &str) -> Result<Vec<PartitionLag>> {
        self.log.lag(topic, group).await
    }

    async fn forget_group(&self, topic: &str, group: &str) -> Result<()> {
        self.log.forget_group(topic, group).await
    }
}

#[async_trait]
impl Subscription for NotingSubscription {
    async fn next_batch(&mut self, limit: BatchLimit, wait: Duration) -> Result<Vec<StoredRecord>> {
        let batch = self.subscription.next_batch(limit, wait).await?;
        let held = self.held(batch.iter().map(|stored| stored.position));
        let mut notes = self.notes.lock().unwrap();
        let is_behind = |position: &Position| {
            notes
                .committed
                .get(&position.partition)
                .is_some_and(|committed| position.offset < *committed)
        };
        let behind: Vec<Position> = held.into_iter().filter(is_behind).collect();
        notes.read_again.extend(behind);
        Ok(batch)
    }

    async fn commit(&mut self, positions: &[Position]) -> Result<()> {
        self.subscription.commit(positions).await?;
        let held = self.held(positions.iter().copied());
        let mut notes = self.notes.lock().unwrap();
        for position in held {
            let known = notes.committed.entry(position.partition).or_default();
            *known = position.offset.max(*known);
        }
        Ok(())
    }

    fn revoked(&mut self) -> Vec<u32> {
        self.subscription.revoked()
    }

    fn revocation(&self, partition: u32) -> CancellationToken {
        self.subscription.revocation(partition)
    }
}

#[async_trait]
impl Stage for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    async fn process(&self, input: &StoredRecord) -> std::result::Result<Vec<Output>, Error> {
        tokio::time::sleep(Duration::from_micros(500)).await;
        *self.seen.lock().unwrap().entry(input.position).or_default() += 1;
        self.total.fetch_add(1, Ordering::SeqCst);
        Ok(Vec::new())
    }

    fn abandoned(&self, _: &StoredRecord, _: &Error) -> Vec<Output> {
        Vec::new()
    }
}

pub(crate) fn settings() -> WorkerSettings {
    WorkerSettings {
        concurrency: 4,
        in_flight_records: 50,
        in_flight_bytes: 64 << 20,
        backoff_initial_ms: 10,
        backoff_maximum_ms: 100,
        internal_attempts: 2,
        timeout_attempts: 2,
        breaker_records: 0,
        breaker_release_seconds: 0,
        linger_ms: 0,
        drain_ms: 10_000,
    }
}

struct Member {
    stop: CancellationToken,
    running: tokio::task::JoinHandle<Result<()>>,
}

impl Member {
    /// A worker with a connection of its own, as another process has.
    async fn start(
        brokers: &str,
        prefix: &str,
        folder: &std::path::Path,
        stage: &Arc<Counting>,
    ) -> Self {
        let log = Noting {
            log: open(brokers).await,
            notes: Arc::clone(&stage.notes),
        };
        let topics = Topics::new(
            Arc::new(log),
            prefix.to_owned(),
            Blobs::local(folder).unwrap(),
            1 << 20,
        );
        let metrics = WorkerMetrics::register(&MetricRegistry::default())
            .unwrap()
            .stage("counting");
        let worker = Worker::new(
            topics,
            Topic::DocumentsRaw,
            Arc::clone(stage) as _,
            settings(),
            metrics,
            Arc::new(|| 7),
        );
        let stop = CancellationToken::new();
        let running = tokio::spawn({
            let stop = stop.clone();
            async move { worker.run(stop).await }
        });
        Self { stop, running }
    }

    async fn stop(self) {
        self.stop.cancel();
        self.running.await.unwrap().unwrap();
    }
}

async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds().await {
        assert!(Instant::now() < deadline, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn members_come_and_go_without_loss() {
    const RECORDS: u64 = 40_000;
    let Some(brokers) = brokers("members_come_and_go_without_loss") else {
        return;
    };
    let (prefix, folder) = (unique("members"), tempfile::tempdir().unwrap());
    let (log, topic) = (open(&brokers).await, Topic::DocumentsRaw.full_name(&prefix));
    log.create_topic(&topic, partitions(6)).await.unwrap();
    let mut all = BTreeSet::new();
    for batch in 0..RECORDS / 1_000 {
        let records = (0..1_000)
            .map(|n| record(&format!("{batch}/{n}"), "v"))
            .collect();
        all.extend(log.append(&topic, records).await.unwrap());
    }
    let notes: Arc<Mutex<Notes>> = Arc::default();
    let stages = [(); 3].map(|()| {
        Arc::new(Counting {
            notes: Arc::clone(&notes),
            ..Counting::default()
        })
    });
    let seen = |stage: usize| stages[stage].total.load(Ordering::SeqCst);
    let first = Member::start(&brokers, &prefix, folder.path(), &stages[0]).await;
    until("the first member works", async || seen(0) > 500).await;
    let second = Member::start(&brokers, &prefix, folder.path(), &stages[1]).await;
    until("the second member works", async || seen(1) > 500).await;
    let third = Member::start(&brokers, &prefix, folder.path(), &stages[2]).await;
    until("the third member works", async || seen(2) > 200).await;
    first.stop().await;
    let drained = async || {
        log.lag(&topic, "counting")
            .await
            .unwrap()
            .iter()
            .all(|lag| lag.records() == 0)
    };
    until("everything is committed", drained).await;
    second.stop().await;
    third.stop().await;

    let mut times: BTreeMap<Position, u32> = BTreeMap::new();
    for stage in &stages {
        for (position, count) in stage.seen.lock().unwrap().iter() {
            *times.entry(*position).or_default() += count;
        }
    }
    assert_eq!(
        times.keys().copied().collect::<BTreeSet<_>>(),
        all,
        "records were lost"
    );
    // A change of hands may repeat what was in flight, and what was done since the last commit. How
    // many that are follows from how fast the machine is; that they were not committed does
    // not.
    let notes = notes.lock().unwrap();
    assert_eq!(
        notes.read_again,
        [],
        "records were read again that were committed"
    );
    assert!(
        notes.committed.values().sum::<u64>() > RECORDS / 2,
        "commits were noted: {:?}",
        notes.committed
    );
}

/// A member of a group of its own that takes its share and then does not poll any more.
fn silent_member(brokers: &str, topic: &str, group: &str) -> BaseConsumer {
    let member = control(brokers, group);
    member.subscribe(&[topic]).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while member.assignment().unwrap().count() == 0 {
        assert!(Instant::now() < deadline, "the control got no partitions");
        member.poll(Duration::from_millis(50));
    }
    member
}

fn control(brokers: &str, group: &str) -> BaseConsumer {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", brokers)
        .set("group.id", group)
        .set("auto.offset.reset", "earliest");
    config
        .set("session.timeout.ms", "6000")
        .set("max.poll.interval.ms", "6000")
        .set("enable.auto.commit", "false");
    config.create().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_reads_nothing_stays_a_member_and_holds_little() {
    let Some(brokers) = brokers("a_worker_that_reads_nothing_stays_a_member_and_holds_little")
    else {
        return;
    };
    let (topic, value) = (unique("pressure"), "x".repeat(10_000));
    let narrow = Config {
        read_ahead_bytes: 100_000,
        fetch_bytes: 50_000,
        poll_timeout_ms: 6_000,
        ..config(&brokers)
    };
    let log = KafkaEventLog::open(narrow).await.unwrap();
    log.create_topic(&topic, partitions(2)).await.unwrap();
    for batch in 0..4 {
        log.append(
            &topic,
            (0..500)
                .map(|n| record(&format!("{batch}/{n}"), &value))
                .collect(),
        )
        .await
        .unwrap();
    }
    let mut subscription = log.subscribe(&topic, Some("g")).await.unwrap();
    let mut all = subscription
        .next_batch(
            BatchLimit {
                records: 1,
                bytes: 1,
            },
            SOON,
        )
        .await
        .unwrap();
    // Once a member that began later and does not poll has lost its share, this one would have lost
    // its own.
    let (brokers, control_topic, group) = (brokers.clone(), topic.clone(), unique("control"));
    let lost = tokio::task::spawn_blocking(move || {
        // Never closed: librdkafka may wait for ever where a revocation waits in the queue of a
        // client that leaves its group.
        let _silent = std::mem::ManuallyDrop::new(silent_member(&brokers, &control_topic, &group));
        let heir = std::mem::ManuallyDrop::new(control(&brokers, &group));
        heir.subscribe(&[&control_topic]).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while heir.assignment().unwrap().count() < 2 {
            assert!(
                Instant::now() < deadline,
                "the silent member kept its share"
            );
            heir.poll(Duration::from_millis(50));
        }
    });
    lost.await.unwrap();
    while all.len() < 2_000 {
        let batch = subscription.next_batch(ANY, SOON).await.unwrap();
        let bytes: usize = batch.iter().map(|stored| stored.record.size()).sum();
        assert!(
            !batch.is_empty() && bytes <= 100_000 + 11_000,
            "{} records of {bytes} bytes were read ahead",
            batch.len()
        );
        all.extend(batch);
    }
    assert!(
        subscription.revoked().is_empty(),
        "the slow reader lost its partitions"
    );
    let positions: BTreeSet<Position> = all.iter().map(|stored| stored.position).collect();
    assert_eq!(
        (positions.len(), all.len()),
        (2_000, 2_000),
        "a record came twice, and so another not at all"
    );
    subscription
        .commit(&all.iter().map(conformance::after).collect::<Vec<_>>())
        .await
        .unwrap();
    assert!(
        log.lag(&topic, "g")
            .await
            .unwrap()
            .iter()
            .all(|lag| lag.records() == 0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_reader_reads_on_after_others_came_and_went() {
    let Some(brokers) = brokers("a_paused_reader_reads_on_after_others_came_and_went") else {
        return;
    };
    let (topic, value) = (unique("paused"), "x".repeat(10_000));
    let log = KafkaEventLog::open(Config {
        read_ahead_bytes: 100_000,
        fetch_bytes: 50_000,
        ..config(&brokers)
    })
    .await
    .unwrap();
    log.create_topic(&topic, partitions(2)).await.unwrap();
    for batch in 0..2 {
        log.append(
            &topic,
            (0..200)
                .map(|n| record(&format!("{batch}/{n}"), &value))
                .collect(),
        )
        .await
        .unwrap();
    }
    let mut reader = log.subscribe(&topic, Some("g")).await.unwrap();
    let one = BatchLimit {
        records: 1,
        bytes: 1,
    };
    let mut all = reader.next_batch(one, SOON).await.unwrap();
    let other = log.subscribe(&topic, Some("g")).await.unwrap();
    // Few at a time, so that its read-ahead is between half and full, where paused reading stays
    // paused.
    until("the other takes a partition", async || {
        (0..2).any(|partition| !other.revocation(partition).is_cancelled())
    })
    .await;
    for _ in 0..3 {
        all.extend(reader.next_batch(one, SOON).await.unwrap());
    }
    drop(other);
    until("the partition comes back", async || {
        (0..2).all(|partition| !reader.revocation(partition).is_cancelled())
    })
    .await;
    let positions = |all: &[StoredRecord]| {
        all.iter()
            .map(|stored| stored.position)
            .collect::<BTreeSet<_>>()
    };
    while positions(&all).len() < 400 {
        let batch = reader.next_batch(ANY, SOON).await.unwrap();
        assert!(
            !batch.is_empty(),
            "a partition stayed paused: {} of 400 records",
            positions(&all).len()
        );
        all.extend(batch);
    }
}

const ZOMBIE: &str = "TRIBUTARY_TEST_ZOMBIE";

/// The process that is stopped: reads, waits for a word, commits what it read.
#[tokio::test(flavor = "multi_thread")]
async fn zombie_child() {
    let Ok(topic) = std::env::var(ZOMBIE) else {
        return;
    };
    let log = open(&brokers("zombie_child").unwrap()).await;
    let mut subscription = log.subscribe(&topic, Some("g")).await.unwrap();
    let read = conformance::take(subscription.as_mut(), 10).await;
    println!("\nread");
    std::io::stdin()
        .lock()
        .read_line(&mut String::new())
        .unwrap();
    let committed = subscription
        .commit(&[conformance::after(read.last().unwrap())])
        .await;
    println!("\ncommitted {committed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_was_stopped_beyond_its_session_commits_nothing() {
    let Some(brokers) = brokers("a_process_that_was_stopped_beyond_its_session_commits_nothing")
    else {
        return;
    };
    let (log, topic) = (open(&brokers).await, unique("zombie"));
    log.create_topic(&topic, partitions(1)).await.unwrap();
    log.append(
        &topic,
        (0..10).map(|n| record(&n.to_string(), "")).collect(),
    )
    .await
    .unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["groups::zombie_child", "--exact", "--nocapture"])
        .env(ZOMBIE, &topic)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .map_while(std::result::Result::ok);
    assert!(lines.any(|line| line == "read"), "the child did not read");
    let id = child.id().to_string();
    let signal = |name: &str| {
        assert!(
            Command::new("kill")
                .args([name, &id])
                .status()
                .unwrap()
                .success()
        )
    };
    signal("-STOP");
    let mut subscription = log.subscribe(&topic, Some("g")).await.unwrap();
    let read = conformance::take(subscription.as_mut(), 10).await;
    subscription
        .commit(&[conformance::after(&read[3])])
        .await
        .unwrap();
    child.stdin.take().unwrap().write_all(b"go on\n").unwrap();
    signal("-CONT");
    let said = lines.find(|line| line.starts_with("committed")).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(
        log.lag(&topic, "g").await.unwrap()[0].committed,
        4,
        "the zombie committed: it said {said}"
    );
    subscription
        .commit(&[conformance::after(&read[9])])
        .await
        .unwrap();
    assert_eq!(log.lag(&topic, "g").await.unwrap()[0].committed, 10);
}
