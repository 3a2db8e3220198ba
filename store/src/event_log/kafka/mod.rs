//! The event log on Apache Kafka (or anything that speaks its protocol), by librdkafka. Opened by
//! `store::config`; services of several processes share it, and members of one group share the
//! partitions of a topic.
//!
//! ```text
//! append ─► producer.rs (idempotent, acks=all, murmur2) ─► broker ─► consumer.rs: one thread a subscription polls, holds a bounded
//! read-ahead, pauses when it is full ─► subscription.rs: next_batch, commit (only what is owned, never backwards)
//! ```
//! The group of a reader is `<topic>/<group>` in Kafka: Kafka knows groups by name alone, ours
//! belong to one topic.

mod admin;
mod brokers;
mod changes;
mod clients;
mod committing;
mod consumer;
mod context;
mod descriptions;
mod errors;
mod inspector;
mod membership;
mod metadata;
mod producer;
mod subscription;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio_util::sync::DropGuard;
use tributary_schemas::{Error, ErrorKind, Result};

use super::kafka_config as config;
pub use config::{Config, Properties, Secret};

use self::admin::Admin;
use self::changes::Watched;
pub(super) use self::clients::built_in;
use self::inspector::Inspector;
use self::metadata::Metadata;
use self::producer::Producer;
use self::subscription::{KafkaSubscription, Start};
use super::{EventLog, PartitionLag, Position, Record, Subscription, TopicSettings};

/// The event log on Kafka.
pub struct KafkaEventLog {
    config: Config,
    metadata: Arc<Metadata>,
    producer: Producer,
    admin: Admin,
    /// By name of the group in Kafka.
    inspectors: Mutex<HashMap<String, Arc<Inspector>>>,
    watched: Arc<Watched>,
    _watcher: DropGuard,
}

impl KafkaEventLog {
    /// Connects. `Unavailable` if no broker answers within `connect_timeout_ms`, `Denied` if it
    /// refuses the credentials, `Invalid` for settings that cannot work.
    pub async fn open(config: Config) -> Result<Self> {
        let (config, metadata) = blocking(move || {
            let config = config.check()?;
            let metadata = Metadata::connect(&config)?;
            Ok((config, Arc::new(metadata)))
        })
        .await?;
        let (producer, admin) = (Producer::start(&config)?, Admin::start(&config)?);
        let watched = Arc::new(Watched::default());
        Ok(Self {
            _watcher: watched.follow(&metadata),
            watched,
            config,
            metadata,
            producer,
            admin,
            inspectors: Mutex::default(),
        })
    }

    /// What this user would need to do with an existing topic and may not: `read`, `write`.
    pub async fn denied(&self, topic: &str) -> Result<Vec<&'static str>> {
        let (metadata, topic) = (Arc::clone(&self.metadata), topic.to_owned());
        blocking(move || metadata.denied(&topic)).await
    }

    /// `Conflict` where the brokers drop other records of an existing topic than they should.
    pub async fn check_policy(&self, topic: &str, compacted: bool) -> Result<()> {
        self.admin.check_policy(topic, compacted).await
    }

    async fn partitions(&self, topic: &str) -> Result<u32> {
        if let Some(partitions) = self.metadata.known(topic) {
            return Ok(partitions);
        }
        let (metadata, topic) = (Arc::clone(&self.metadata), topic.to_owned());
        blocking(move || metadata.partitions(&topic)).await
    }

    async fn open_reader(&self, topic: &str, start: Start) -> Result<Box<dyn Subscription>> {
        self.metadata.forget(topic);
        let partitions = self.partitions(topic).await?;
        let (config, metadata, topic, name) = (
            self.config.clone(),
            Arc::clone(&self.metadata),
            topic.to_owned(),
            topic.to_owned(),
        );
        let subscription =
            blocking(move || KafkaSubscription::open(config, metadata, topic, partitions, start))
                .await?;
        self.watched.add(&name, subscription.membership());
        Ok(Box::new(subscription))
    }

    fn inspector(&self, topic: &str, group: &str) -> Result<Arc<Inspector>> {
        let id = group_id(topic, Some(group));
        let mut inspectors = lock(&self.inspectors);
        if let Some(inspector) = inspectors.get(&id) {
            return Ok(Arc::clone(inspector));
        }
        let inspector = Arc::new(Inspector::start(&self.config, topic, &id)?);
        inspectors.insert(id, Arc::clone(&inspector));
        Ok(inspector)
    }
}

fn check_partitions(topic: &str, partitions: u32) -> Result<()> {
    if partitions > 0 && i32::try_from(partitions).is_ok() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Invalid,
        format!("topic `{topic}` cannot have {partitions} partitions"),
    ))
}

#[async_trait]
impl EventLog for KafkaEventLog {
    async fn create_topic(&self, topic: &str, settings: TopicSettings) -> Result<()> {
        check_name(topic)?;
        check_partitions(topic, settings.partitions)?;
        match self.partitions(topic).await {
            Ok(partitions) => return self.admin.align(topic, partitions, settings).await,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let is_new = self.admin.create(topic, settings).await?;
        let (metadata, name) = (Arc::clone(&self.metadata), topic.to_owned());
        blocking(move || metadata.await_topic(&name)).await?;
        if is_new {
            return Ok(());
        }
        // Another process was faster, perhaps with other settings.
        self.admin
            .align(topic, self.partitions(topic).await?, settings)
            .await
    }

    async fn append(&self, topic: &str, records: Vec<Record>) -> Result<Vec<Position>> {
        self.partitions(topic).await?;
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let appended = self.producer.append(topic, records).await;
        if appended
            .as_ref()
            .is_err_and(|error| error.kind() == ErrorKind::NotFound)
        {
            self.metadata.forget(topic);
        }
        appended
    }

    async fn subscribe(&self, topic: &str, group: Option<&str>) -> Result<Box<dyn Subscription>> {
        if let Some(group) = group {
            check_group(group)?;
        }
        self.open_reader(
            topic,
            group.map_or_else(
                || Start::At(BTreeMap::new()),
                |group| Start::Group(group.to_owned()),
            ),
        )
        .await
    }

    async fn subscribe_from(
        &self,
        topic: &str,
        from: &[Position],
    ) -> Result<Box<dyn Subscription>> {
        let positions = from
            .iter()
            .map(|position| (position.partition, position.offset))
            .collect();
        self.open_reader(topic, Start::At(positions)).await
    }

    async fn lag(&self, topic: &str, group: &str) -> Result<Vec<PartitionLag>> {
        check_group(group)?;
        let partitions = self.partitions(topic).await?;
        let inspector = self.inspector(topic, group)?;
        let lag = blocking(move || inspector.lag(partitions)).await;
        if lag
            .as_ref()
            .is_err_and(|error| error.kind() == ErrorKind::NotFound)
        {
            self.metadata.forget(topic);
        }
        lag
    }

    async fn forget_group(&self, topic: &str, group: &str) -> Result<()> {
        check_group(group)?;
        // Not from memory: while the brokers are away, nothing is sent. See `Admin::forget_group`.
        self.metadata.forget(topic);
        self.partitions(topic).await?;
        let id = group_id(topic, Some(group));
        self.admin.forget_group(&id).await?;
        if let Some(inspector) = lock(&self.inspectors).remove(&id) {
            inspector::retire(inspector);
        }
        Ok(())
    }
}

impl Drop for KafkaEventLog {
    fn drop(&mut self) {
        for (_, inspector) in lock(&self.inspectors).drain() {
            inspector::retire(inspector);
        }
    }
}

/// Name of a group in Kafka; readers without a group get one that never commits. `/` cannot be part
/// of a topic's name.
fn group_id(topic: &str, group: Option<&str>) -> String {
    format!("{topic}/{}", group.unwrap_or("(no group)"))
}

fn check_group(group: &str) -> Result<()> {
    if group.is_empty() || group.len() > 240 || group.contains('\0') {
        let what = format!(
            "group name `{group:.100}` is empty, longer than 240 bytes, or holds a zero byte"
        );
        return Err(Error::new(ErrorKind::Invalid, what));
    }
    Ok(())
}

fn check_name(name: &str) -> Result<()> {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if name.is_empty()
        || name.len() > 249
        || name == "."
        || name == ".."
        || !name.bytes().all(is_legal)
    {
        let what = format!(
            "topic name `{name:.300}` is not 1 to 249 ASCII letters, digits, `.`, `_` and `-`"
        );
        return Err(Error::new(ErrorKind::Invalid, what));
    }
    Ok(())
}

/// Whoever deleted it is to blame, not what was to be written or read.
fn no_topic(topic: &str) -> Error {
    let what = format!("kafka has no topic `{topic:.300}`");
    Error::new(ErrorKind::NotFound, what)
        .of_environment()
        .with_hint(
            "a start makes topics that are missing; what was in this one has to be published again",
        )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs blocking calls of librdkafka beside the async threads.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("work on kafka was broken off: {error}"),
        )
    })?
}
