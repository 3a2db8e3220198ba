//! The Kafka event log against a real broker: the conformance suite, and what only a log that
//! several processes share can break.
//!
//! `TRIBUTARY_TEST_KAFKA=host:port` names the broker (`deploy/services/kafka start` starts one);
//! without it everything here is skipped. Tests that stop a broker start one of their own.

#![allow(
    clippy::unwrap_used,
    clippy::explicit_write,
    clippy::print_stderr,
    clippy::print_stdout
)]

#[path = "conformance/audit.rs"]
mod audit;
#[path = "kafka/broker.rs"]
mod broker;
#[path = "conformance/event_log/mod.rs"]
mod conformance;
#[path = "kafka/groups.rs"]
mod groups;
#[path = "kafka/topics.rs"]
mod topics;

use std::io::Write;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tributary_schemas::{ErrorKind, Result};
use tributary_store::event_log::kafka::{Config, KafkaEventLog};
use tributary_store::event_log::{
    BatchLimit, EventLog, PartitionLag, Position, Record, StoredRecord, Subscription, TopicSettings,
};

const ANY: BatchLimit = BatchLimit {
    records: 100_000,
    bytes: 256 << 20,
};
const SOON: Duration = Duration::from_secs(60);

/// The broker to test with, or a loud word that there is none.
fn brokers(test: &str) -> Option<String> {
    let brokers = std::env::var("TRIBUTARY_TEST_KAFKA")
        .ok()
        .filter(|brokers| !brokers.is_empty());
    if brokers.is_none() {
        // Past the test harness, which keeps the output of tests that pass.
        writeln!(
            std::io::stderr(),
            "SKIPPED: {test}: TRIBUTARY_TEST_KAFKA names no broker (deploy/services/kafka start)"
        )
        .unwrap();
    }
    brokers
}

fn config(brokers: &str) -> Config {
    Config {
        brokers: brokers.to_owned(),
        client_id: "tributary-test".to_owned(),
        replication_factor: 0,
        min_in_sync_replicas: 0,
        max_record_bytes: 16 << 20,
        compression: "lz4".to_owned(),
        linger_ms: 1,
        queue_bytes: 64 << 20,
        read_ahead_bytes: 16 << 20,
        fetch_bytes: 1 << 20,
        fetch_wait_ms: 500,
        connect_timeout_ms: 10_000,
        request_timeout_ms: 10_000,
        delivery_timeout_ms: 30_000,
        session_timeout_ms: 6_000,
        poll_timeout_ms: 30_000,
        security_protocol: "plaintext".to_owned(),
        sasl_mechanism: String::new(),
        username: String::new(),
        password: Default::default(),
        password_file: String::new(),
        ssl_ca_file: String::new(),
        ssl_certificate_file: String::new(),
        ssl_key_file: String::new(),
        properties: Default::default(),
    }
}

async fn open(brokers: &str) -> KafkaEventLog {
    KafkaEventLog::open(config(brokers)).await.unwrap()
}

/// A name that no other run uses.
fn unique(name: &str) -> String {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    format!("k-test.{}.{}.{name}", now.as_micros(), std::process::id())
}

fn partitions(partitions: u32) -> TopicSettings {
    TopicSettings {
        partitions,
        compacted: false,
        retention_age: None,
        retention_bytes: None,
    }
}

fn record(key: &str, value: &str) -> Record {
    let value = Some(Bytes::copy_from_slice(value.as_bytes()));
    Record {
        key: Bytes::copy_from_slice(key.as_bytes()),
        value,
        headers: Vec::new(),
        timestamp_ms: 1_000,
    }
}

/// The log with names of its own for this run: the broker keeps the topics of earlier ones.
struct Prefixed {
    log: KafkaEventLog,
    prefix: String,
}

impl Prefixed {
    /// Names that no topic can have stay as they are.
    fn name(&self, topic: &str) -> String {
        let is_legal =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let keep = topic.is_empty()
            || topic == "."
            || topic == ".."
            || topic.len() > 200
            || !topic.bytes().all(is_legal);
        if keep {
            topic.to_owned()
        } else {
            format!("{}.{topic}", self.prefix)
        }
    }
}

#[async_trait]
impl EventLog for Prefixed {
    async fn create_topic(&self, topic: &str, settings: TopicSettings) -> Result<()> {
        self.log.create_topic(&self.name(topic), settings).await
    }

    async fn append(&self, topic: &str, records: Vec<Record>) -> Result<Vec<Position>> {
        self.log.append(&self.name(topic), records).await
    }

    async fn subscribe(&self, topic: &str, group: Option<&str>) -> Result<Box<dyn Subscription>> {
        self.log.subscribe(&self.name(topic), group).await
    }

    async fn subscribe_from(
        &self,
        topic: &str,
        from: &[Position],
    ) -> Result<Box<dyn Subscription>> {
        self.log.subscribe_from(&self.name(topic), from).await
    }

    async fn lag(&self, topic: &str, group: &str) -> Result<Vec<PartitionLag>> {
        self.log.lag(&self.name(topic), group).await
    }

    async fn forget_group(&self, topic: &str, group: &str) -> Result<()> {
        self.log.forget_group(&self.name(topic), group).await
    }
}

impl Prefixed {
    async fn start(promise: &str) -> Option<Self> {
        let brokers = brokers(promise)?;
        Some(Self {
            log: open(&brokers).await,
            prefix: unique(promise),
        })
    }

    fn log(&self) -> &dyn EventLog {
        self
    }
}

mod promises {
    crate::conformance::every_promise!(crate::Prefixed, "multi_thread");
    crate::conformance::tests_of! { crate::Prefixed, "multi_thread",
        records: the_timestamp_0_is_the_time_of_the_append;
        groups: readers_of_a_group_share_its_partitions;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_broker_is_said_in_time_and_with_a_hint() {
    let started = std::time::Instant::now();
    let config = Config {
        connect_timeout_ms: 1_500,
        ..config("127.0.0.1:1")
    };
    let error = KafkaEventLog::open(config).await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let said = error.full_message();
    assert!(
        said.contains("127.0.0.1:1") && said.contains("deploy/services/kafka start"),
        "{said}"
    );
    assert!(said.contains("store.event_log.kafka.brokers"), "{said}");
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "{:?}",
        started.elapsed()
    );
}
