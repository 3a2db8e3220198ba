//! The section `[store]` of the configuration, and opening what it names.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tributary_schemas::Result;

use crate::backup;
use crate::blobs::Blobs;
#[cfg(feature = "elasticsearch")]
use crate::conversations::elasticsearch::ElasticsearchConversations;
use crate::conversations::embedded::{self as embedded_conversations, EmbeddedConversations};
use crate::conversations::{self, Settling, SharedConversations};
use crate::damage::{self, Embedded};
use crate::data_folder::{Access, DataFolder};
use crate::event_log::SharedEventLog;
use crate::event_log::embedded::{self as embedded_log, EmbeddedEventLog};
#[cfg(feature = "kafka")]
use crate::event_log::kafka::KafkaEventLog;
use crate::event_log::kafka_config;
use crate::event_log::topics::Topics;
use crate::event_log::worker::WorkerSettings;
use crate::manifest::versions::VersionRule;
use crate::parts;
use crate::search_index::SharedSearchIndex;
#[cfg(feature = "elasticsearch")]
use crate::search_index::elasticsearch::ElasticsearchIndex;
use crate::search_index::elasticsearch_config;
use crate::search_index::embedded::{self as embedded_index, EmbeddedIndex};

/// Where things are kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Folder of everything embedded.
    pub data_folder: String,
    /// First part of every topic's name.
    pub topic_prefix: String,
    /// Partitions of a topic that is created.
    pub partitions: u32,
    /// Values over this many bytes travel as a reference into the blob store.
    pub inline_limit_bytes: usize,
    /// Age at which records that are done may go, hours; 0 keeps them.
    pub retention_hours: u64,
    /// Bytes per partition at which records that are done may go; 0 keeps them.
    pub retention_bytes: u64,
    /// How far ahead of the time a version of a producer may be, hours; 0 takes any.
    pub maximum_version_ahead_hours: u64,
    /// Age at which dead letters are dropped, hours; 0 keeps them.
    pub dead_letter_retention_hours: u64,
    /// Room that the disk of the data folder must have for a process to be ready, bytes.
    pub minimum_free_bytes: u64,
    /// Bodies by reference.
    pub blobs: BlobsConfig,
    /// Limits and patience of every stage's worker.
    pub worker: WorkerSettings,
    /// The event log.
    pub event_log: EventLogConfig,
    /// The search index.
    pub search_index: SearchIndexConfig,
    /// Conversations, which are kept where the index is kept.
    pub conversations: conversations::Config,
}

/// The section `[store.blobs]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlobsConfig {
    /// `file:///…`, a folder that every process reaches; empty for the data folder's own `blobs/`.
    pub url: String,
    /// Hours for which `tributary blobs collect` leaves a blob alone that nobody names.
    pub grace_hours: u64,
}

/// The section `[store.event_log]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventLogConfig {
    /// Which one.
    pub kind: EventLogKind,
    /// The embedded one.
    pub embedded: embedded_log::Config,
    /// Brokers.
    pub kafka: kafka_config::Config,
}

/// Which event log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventLogKind {
    /// Files in the data folder.
    Embedded,
    /// Brokers that several processes share.
    Kafka,
}

/// The section `[store.search_index]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchIndexConfig {
    /// Which one.
    pub kind: SearchIndexKind,
    /// The embedded one.
    pub embedded: embedded_index::Config,
    /// A cluster.
    pub elasticsearch: elasticsearch_config::Config,
}

/// Which search index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchIndexKind {
    /// Files in the data folder.
    Embedded,
    /// A cluster that several processes share.
    Elasticsearch,
}

/// What is open.
#[derive(Clone)]
pub struct Stores {
    /// The log, by topics; all of them exist.
    pub topics: Topics,
    /// The index.
    pub index: SharedSearchIndex,
    /// Bodies by reference.
    pub blobs: Blobs,
    /// What was asked and answered.
    pub conversations: SharedConversations,
    /// What of it can be backed up.
    pub backup: backup::Source,
    /// What was found to have rotted so far.
    pub damage: damage::Known,
}

impl Config {
    /// Whether processes may share the data folder: nothing in it has one writer only, once log and
    /// index are servers.
    pub fn access(&self) -> Access {
        let is_embedded = self.event_log.kind == EventLogKind::Embedded
            || self.search_index.kind == SearchIndexKind::Embedded;
        if is_embedded {
            Access::Alone
        } else {
            Access::Shared
        }
    }

    /// Folders of the data folder that hold what is embedded.
    pub fn embedded_parts(&self) -> Vec<&'static str> {
        Embedded::from(self).folders()
    }

    /// Age at which records go, also those that a stage has yet to read: brokers do not ask; the
    /// embedded log does.
    pub fn forgets_after(&self) -> Option<Duration> {
        (self.event_log.kind == EventLogKind::Kafka)
            .then(|| self.retention_age())
            .flatten()
    }

    fn retention_age(&self) -> Option<Duration> {
        (self.retention_hours > 0)
            .then(|| Duration::from_secs(self.retention_hours.saturating_mul(3600)))
    }

    /// Which versions of documents are taken.
    pub fn version_rule(&self) -> VersionRule {
        VersionRule::new(self.maximum_version_ahead_hours)
    }

    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let worker = &self.worker;
        let positive = [
            ("store.partitions", u64::from(self.partitions)),
            ("store.inline_limit_bytes", self.inline_limit_bytes as u64),
            (
                "store.worker.in_flight_records",
                worker.in_flight_records as u64,
            ),
            (
                "store.worker.in_flight_bytes",
                worker.in_flight_bytes as u64,
            ),
            ("store.worker.backoff_initial_ms", worker.backoff_initial_ms),
            (
                "store.worker.internal_attempts",
                u64::from(worker.internal_attempts),
            ),
            (
                "store.worker.timeout_attempts",
                u64::from(worker.timeout_attempts),
            ),
        ];
        problems.extend(
            positive
                .iter()
                .filter(|(_, value)| *value == 0)
                .map(|(name, _)| format!("{name} must be at least 1")),
        );
        if self.topic_prefix.is_empty() {
            problems.push("store.topic_prefix must not be empty".to_owned());
        }
        let (largest, kind) = match self.event_log.kind {
            EventLogKind::Embedded => (self.event_log.embedded.max_record_bytes, "embedded"),
            EventLogKind::Kafka => (self.event_log.kafka.max_record_bytes, "kafka"),
        };
        let most = embedded_log::MAXIMUM_PARTITIONS;
        if self.event_log.kind == EventLogKind::Embedded && self.partitions > most {
            problems.push(format!("store.partitions must be at most {most}"));
        }
        if self.inline_limit_bytes >= largest {
            problems.push(format!("store.inline_limit_bytes must be below store.event_log.{kind}.max_record_bytes ({largest})"));
        }
        match self.event_log.kind {
            EventLogKind::Embedded => problems.extend(
                self.event_log
                    .embedded
                    .check()
                    .err()
                    .map(|error| error.to_string()),
            ),
            EventLogKind::Kafka => problems.extend(self.event_log.kafka.problems()),
        }
        if self.search_index.kind == SearchIndexKind::Elasticsearch {
            problems.extend(self.search_index.elasticsearch.problems());
        }
        problems.extend(self.conversations.problems());
        problems
    }
}

/// Opens what the configuration names, in the data folder.
pub async fn open(config: &Config, folder: &DataFolder) -> Result<Stores> {
    let (data_folder, made) = (folder.join(""), config.embedded_parts());
    parts::check(&data_folder, &made)?;
    let blobs = Blobs::open(&config.blobs.url, &data_folder)?;
    let (log, embedded_log) = open_log(&config.event_log, folder).await?;
    let topics = Topics::new(
        log,
        config.topic_prefix.clone(),
        blobs.clone(),
        config.inline_limit_bytes,
    );
    topics
        .create(
            config.partitions,
            config.retention_age(),
            (config.retention_bytes > 0).then_some(config.retention_bytes),
        )
        .await?;
    let (index, embedded_index) = open_index(&config.search_index, folder).await?;
    let (conversations, embedded_conversations) = open_conversations(config, folder).await?;
    parts::remember(&data_folder, &made)?;
    let damage = damage::Known::new(embedded_log.clone(), embedded_index.clone());
    let backup = backup::Source::new(backup::Parts {
        folder: data_folder,
        id: folder.id().to_owned(),
        log: embedded_log,
        index: embedded_index,
        blobs: config.blobs.url.is_empty().then(|| folder.join("blobs")),
        conversations: embedded_conversations,
    })?;
    Ok(Stores {
        topics,
        index,
        blobs,
        conversations,
        backup,
        damage,
    })
}

/// Opens the log that the configuration names; the embedded one once more as itself, for backups.
async fn open_log(
    config: &EventLogConfig,
    folder: &DataFolder,
) -> Result<(SharedEventLog, Option<Arc<EmbeddedEventLog>>)> {
    match config.kind {
        EventLogKind::Embedded => {
            let (log_folder, log_config) = (folder.join("log"), config.embedded.clone());
            let log =
                Arc::new(blocking(move || EmbeddedEventLog::open(&log_folder, log_config)).await?);
            Ok((Arc::clone(&log) as SharedEventLog, Some(log)))
        }
        #[cfg(feature = "kafka")]
        EventLogKind::Kafka => Ok((
            Arc::new(KafkaEventLog::open(config.kafka.clone()).await?),
            None,
        )),
        #[cfg(not(feature = "kafka"))]
        EventLogKind::Kafka => Err(not_built("kafka")),
    }
}

/// Opens the index that the configuration names; the embedded one once more as itself, for backups.
async fn open_index(
    config: &SearchIndexConfig,
    folder: &DataFolder,
) -> Result<(SharedSearchIndex, Option<Arc<EmbeddedIndex>>)> {
    match config.kind {
        SearchIndexKind::Embedded => {
            let (index_folder, index_config) = (folder.join("index"), config.embedded.clone());
            let index =
                Arc::new(blocking(move || EmbeddedIndex::open(&index_folder, index_config)).await?);
            Ok((Arc::clone(&index) as SharedSearchIndex, Some(index)))
        }
        #[cfg(feature = "elasticsearch")]
        SearchIndexKind::Elasticsearch => Ok((
            Arc::new(ElasticsearchIndex::open(config.elasticsearch.clone()).await?),
            None,
        )),
        #[cfg(not(feature = "elasticsearch"))]
        SearchIndexKind::Elasticsearch => Err(not_built("elasticsearch")),
    }
}

/// Opens the conversations where the index is; embedded ones once more as themselves, for backups.
async fn open_conversations(
    config: &Config,
    folder: &DataFolder,
) -> Result<(SharedConversations, Option<EmbeddedConversations>)> {
    let (settings, clock) = (config.conversations.clone(), crate::system_clock());
    match config.search_index.kind {
        SearchIndexKind::Embedded => {
            let place = folder.join(embedded_conversations::FOLDER);
            let aside = folder.join(damage::ASIDE);
            let open = move || EmbeddedConversations::open(&place, &aside, settings, clock);
            let conversations = blocking(open).await?;
            let shared = Settling::shared(Arc::new(conversations.clone()), crate::system_clock());
            Ok((shared, Some(conversations)))
        }
        #[cfg(feature = "elasticsearch")]
        SearchIndexKind::Elasticsearch => {
            let cluster = &config.search_index.elasticsearch;
            let conversations = ElasticsearchConversations::open(cluster, settings, clock).await?;
            let shared = Settling::shared(Arc::new(conversations), crate::system_clock());
            Ok((shared, None))
        }
        #[cfg(not(feature = "elasticsearch"))]
        SearchIndexKind::Elasticsearch => Err(not_built("elasticsearch")),
    }
}

#[cfg(not(all(feature = "kafka", feature = "elasticsearch")))]
fn not_built(feature: &str) -> tributary_schemas::Error {
    let message = format!("this program was built without {feature}");
    tributary_schemas::Error::new(tributary_schemas::ErrorKind::Unsupported, message)
        .with_hint(format!("build it with `--features {feature}`"))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let joined = tokio::task::spawn_blocking(work).await;
    joined.unwrap_or_else(|error| {
        Err(tributary_schemas::Error::new(
            tributary_schemas::ErrorKind::Internal,
            format!("opening the data folder failed: {error}"),
        ))
    })
}
