//! Topics and groups: creates topics with our settings, brings existing ones in line as far as that
//! is safe, forgets groups.

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::admin::{
    AdminClient, AdminOptions, AlterConfig, ConfigResource, ConfigSource, NewTopic,
    ResourceSpecifier, TopicReplication,
};
use rdkafka::config::FromClientConfigAndContext;
use rdkafka::error::RDKafkaErrorCode as Code;
use tributary_schemas::{Error, ErrorKind, Result};

use super::config::Config;
use super::context::Context;
use super::errors;
use crate::event_log::TopicSettings;

/// Accepts any time that a producer's clock says: brokers since 3.6 refuse what lies over an hour
/// ahead unless told so.
const AFTER_MAX: (&str, &str) = ("message.timestamp.after.max.ms", "9223372036854775807");

/// What becomes of old records of a topic.
const POLICY: &str = "cleanup.policy";

/// How long librdkafka keeps asking a group's coordinator, which is the most it allows. Where it gives
/// up first, it ends the process with an assertion (2.12: `rd_kafka_admin_coord_request` returns an
/// error for a request that was freed) once the coordinator is back; so we are the ones who give up.
const LONGEST_REQUEST: Duration = Duration::from_secs(3600);

/// The administrating client.
pub struct Admin {
    client: AdminClient<Context>,
    config: Config,
}

impl Admin {
    /// Starts it; connects on its own.
    pub fn start(config: &Config) -> Result<Self> {
        let created = AdminClient::from_config_and_context(
            &config.client("admin"),
            Context::new(&config.brokers),
        );
        let client = created
            .map_err(|error| errors::failed("cannot start the kafka admin client", &error))?;
        Ok(Self {
            client,
            config: config.clone(),
        })
    }

    /// For a request that comes next.
    fn options(&self) -> AdminOptions {
        let client = self.client.inner();
        client.context().brokers.name_if_lost(client);
        AdminOptions::new()
            .request_timeout(Some(self.config.request_timeout()))
            .operation_timeout(Some(self.config.request_timeout()))
    }

    /// Creates the topic; `false` if it is there already.
    pub async fn create(&self, topic: &str, settings: TopicSettings) -> Result<bool> {
        let mut wanted = self.wanted(settings);
        wanted.insert(AFTER_MAX.0, AFTER_MAX.1.to_owned());
        match self.create_with(topic, settings, &wanted).await {
            // Brokers before 3.6 do not know this setting.
            Err(Code::InvalidConfig) => {
                wanted.remove(AFTER_MAX.0);
                self.create_with(topic, settings, &wanted)
                    .await
                    .or_else(|code| exists(topic, code))
            }
            created => created.or_else(|code| exists(topic, code)),
        }
    }

    async fn create_with(
        &self,
        topic: &str,
        settings: TopicSettings,
        wanted: &BTreeMap<&str, String>,
    ) -> std::result::Result<bool, Code> {
        let copies = self.copies();
        let partitions = i32::try_from(settings.partitions).unwrap_or(i32::MAX);
        let named = NewTopic::new(topic, partitions, TopicReplication::Fixed(copies));
        let new = wanted
            .iter()
            .fold(named, |new, (name, value)| new.set(name, value));
        let answers = self.client.create_topics([&new], &self.options()).await;
        let answers = answers.map_err(|error| {
            error
                .rdkafka_error_code()
                .unwrap_or(Code::OperationTimedOut)
        })?;
        answers
            .into_iter()
            .find_map(|answer| answer.err().map(|(_, code)| code))
            .map_or(Ok(true), Err)
    }

    /// Copies of a partition; -1 leaves their number to the brokers.
    fn copies(&self) -> i32 {
        if self.config.replication_factor == 0 {
            -1
        } else {
            i32::from(self.config.replication_factor)
        }
    }

    /// Settings that the topic must have.
    fn wanted(&self, settings: TopicSettings) -> BTreeMap<&'static str, String> {
        let or_all = |value: Option<u128>| {
            value.map_or_else(
                || "-1".to_owned(),
                |value| value.min(i64::MAX as u128).to_string(),
            )
        };
        let policy = policy_of(settings.compacted);
        let mut wanted = BTreeMap::from([
            (POLICY, policy.to_owned()),
            (
                "retention.ms",
                or_all(
                    settings
                        .retention_age
                        .filter(|_| !settings.compacted)
                        .map(|age| age.as_millis()),
                ),
            ),
            (
                "retention.bytes",
                or_all(
                    settings
                        .retention_bytes
                        .filter(|_| !settings.compacted)
                        .map(u128::from),
                ),
            ),
            ("max.message.bytes", self.largest_message().to_string()),
            ("message.timestamp.type", "CreateTime".to_owned()),
        ]);
        if self.config.min_in_sync_replicas > 0 {
            wanted.insert(
                "min.insync.replicas",
                self.config.min_in_sync_replicas.to_string(),
            );
        }
        wanted
    }

    fn largest_message(&self) -> usize {
        self.config.max_record_bytes + (64 << 10)
    }

    /// Brings an existing topic in line: retention, size limit and kind of timestamps are altered.
    /// What could lose records (the clean-up policy) or weaken what an operator chose (in-sync
    /// copies, partitions) is only warned about.
    pub async fn align(&self, topic: &str, partitions: u32, settings: TopicSettings) -> Result<()> {
        if partitions != settings.partitions {
            tracing::info!(
                topic,
                partitions,
                configured = settings.partitions,
                "an existing topic keeps its partitions"
            );
        }
        let Some(found) = self.describe(topic).await else {
            return Ok(());
        };
        let changes = self.changes(topic, &found, settings);
        if !changes.is_empty() {
            self.alter(topic, &found, &changes).await;
        }
        Ok(())
    }

    /// What is to be altered of a topic, with the new values; warns about the rest.
    fn changes(
        &self,
        topic: &str,
        found: &ConfigResource,
        settings: TopicSettings,
    ) -> BTreeMap<&'static str, String> {
        let mut changes = BTreeMap::new();
        for (name, wanted) in self.wanted(settings) {
            let current = found
                .get(name)
                .and_then(|entry| entry.value.clone())
                .unwrap_or_default();
            let is_enough = name == "max.message.bytes"
                && current
                    .parse::<usize>()
                    .is_ok_and(|limit| limit >= self.largest_message());
            if current == wanted || is_enough {
                continue;
            }
            if matches!(name, POLICY | "min.insync.replicas") {
                tracing::warn!(
                    topic,
                    setting = name,
                    current,
                    wanted,
                    "topic is set otherwise than this program would create it; left as it is"
                );
            } else {
                changes.insert(name, wanted);
            }
        }
        changes
    }

    /// `Conflict` where the brokers drop other records of a topic than they should. Says nothing
    /// where they do not tell.
    pub async fn check_policy(&self, topic: &str, compacted: bool) -> Result<()> {
        let found = self.describe(topic).await;
        let current = found.and_then(|found| found.get(POLICY)?.value.clone());
        let wanted = policy_of(compacted);
        let Some(current) = current.filter(|current| current != wanted) else {
            return Ok(());
        };
        let consequence = if compacted {
            "its records are dropped by age or size, and what is read from its start later is without them"
        } else {
            "of records with one key all but the newest are dropped, also before they are read"
        };
        let what = format!("topic `{topic}` has {POLICY} `{current}`: {consequence}");
        let hint = format!(
            "set it back: `kafka-configs.sh --alter --entity-type topics --entity-name {topic} --add-config {POLICY}={wanted}`"
        );
        Err(Error::new(ErrorKind::Conflict, what).with_hint(hint))
    }

    /// `None` with a warning if the brokers do not tell: not every user may ask.
    async fn describe(&self, topic: &str) -> Option<ConfigResource> {
        let answers = self
            .client
            .describe_configs([&ResourceSpecifier::Topic(topic)], &self.options())
            .await;
        let answer = answers
            .map_err(|error| error.to_string())
            .map(|answers| answers.into_iter().next());
        match answer {
            Ok(Some(Ok(found))) => Some(found),
            Ok(Some(Err(code))) => {
                tracing::warn!(topic, %code, "cannot compare the settings of a topic");
                None
            }
            Ok(None) => None,
            Err(error) => {
                tracing::warn!(topic, error, "cannot compare the settings of a topic");
                None
            }
        }
    }

    /// This call of Kafka's replaces all settings of a topic, so those that somebody else made go
    /// along.
    async fn alter(&self, topic: &str, found: &ConfigResource, changes: &BTreeMap<&str, String>) {
        let kept = found
            .entries
            .iter()
            .filter(|entry| entry.source == ConfigSource::DynamicTopic && !entry.is_read_only);
        let mut all: BTreeMap<&str, &str> = kept
            .filter_map(|entry| Some((entry.name.as_str(), entry.value.as_deref()?)))
            .collect();
        all.extend(changes.iter().map(|(name, value)| (*name, value.as_str())));
        let altered = all.into_iter().fold(
            AlterConfig::new(ResourceSpecifier::Topic(topic)),
            |altered, (name, value)| altered.set(name, value),
        );
        let outcome = match self.client.alter_configs([&altered], &self.options()).await {
            Ok(answers) => answers
                .into_iter()
                .find_map(|answer| answer.err().map(|(_, code)| code.to_string())),
            Err(error) => Some(error.to_string()),
        };
        match outcome {
            None => tracing::info!(topic, ?changes, "changed the settings of a topic"),
            Some(error) => tracing::warn!(
                topic,
                ?changes,
                error,
                "cannot change the settings of a topic"
            ),
        }
    }

    /// Deletes the group with its positions; one that does not exist is fine.
    pub async fn forget_group(&self, id: &str) -> Result<()> {
        let what = || format!("cannot forget the kafka group `{id}`");
        let options = self.options().request_timeout(Some(LONGEST_REQUEST));
        let asked = self.client.delete_groups(&[id], &options);
        let answers = tokio::time::timeout(self.config.request_timeout(), asked)
            .await
            .map_err(|_| errors::from_code(what(), Code::RequestTimedOut))?
            .map_err(|error| errors::failed(what(), &error))?;
        match answers
            .into_iter()
            .find_map(|answer| answer.err().map(|(_, code)| code))
        {
            None | Some(Code::GroupIdNotFound) => Ok(()),
            Some(code) => {
                let error = errors::from_code(what(), code);
                Err(if error.kind() == ErrorKind::Conflict {
                    error.with_hint("it still has readers; stop them first")
                } else {
                    error
                })
            }
        }
    }
}

/// The clean-up policy that a topic must have.
fn policy_of(compacted: bool) -> &'static str {
    if compacted { "compact" } else { "delete" }
}

fn exists(topic: &str, code: Code) -> Result<bool> {
    if code == Code::TopicAlreadyExists {
        return Ok(false);
    }
    let error: Error = errors::from_code(format_args!("cannot create topic `{topic}`"), code);
    Err(match code {
        Code::InvalidReplicationFactor => error
            .with_hint("store.event_log.kafka.replication_factor is more than there are brokers"),
        _ => error,
    })
}
