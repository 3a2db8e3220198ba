//! Which topics exist and how many partitions they have: asked once, kept for a minute. Also the
//! first contact with the brokers.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rdkafka::config::FromClientConfigAndContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use tributary_schemas::{Error, ErrorKind, Result};

use super::config::Config;
use super::context::Context;
use super::descriptions::{self, Identity};
use super::{check_name, errors, lock, no_topic};

/// How long a number of partitions is believed; partitions are added rarely, and topics vanish
/// rarely.
const KEPT: Duration = Duration::from_secs(60);

/// What is known of topics. Its calls block, except [`Metadata::known`] and [`Metadata::forget`].
pub struct Metadata {
    client: BaseConsumer<Context>,
    brokers: String,
    timeout: Duration,
    topics: Mutex<HashMap<String, (u32, Instant)>>,
}

impl Metadata {
    /// Connects within `connect_timeout_ms`.
    pub fn connect(config: &Config) -> Result<Self> {
        let created = BaseConsumer::from_config_and_context(
            &config.client("metadata"),
            Context::new(&config.brokers),
        );
        let client: BaseConsumer<Context> =
            created.map_err(|error| errors::failed("cannot start a kafka client", &error))?;
        let deadline = Instant::now() + Duration::from_millis(config.connect_timeout_ms);
        let mut reason = None;
        loop {
            let left = deadline
                .saturating_duration_since(Instant::now())
                .min(Duration::from_secs(1));
            let asked = client.fetch_metadata(Some("tributary-is-kafka-there"), left);
            // Errors of connections lie in the client's queue until someone looks.
            client.poll(Duration::ZERO);
            let newer = client.context().take_error();
            reason = newer
                .filter(|(code, _)| says_more(*code, &reason))
                .or(reason);
            match (asked, &reason) {
                (Ok(_), _) => break,
                (Err(_), Some((code, said))) if errors::kind(*code) == ErrorKind::Denied => {
                    return Err(refused(config, *code, said));
                }
                (Err(error), said) if Instant::now() >= deadline => {
                    return Err(away(config, &error, said.as_ref()));
                }
                (Err(_), _) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
        Ok(Self {
            client,
            brokers: config.brokers.clone(),
            timeout: config.request_timeout(),
            topics: Mutex::default(),
        })
    }

    /// Partitions of the topic, if asked for lately.
    pub fn known(&self, topic: &str) -> Option<u32> {
        let topics = lock(&self.topics);
        topics
            .get(topic)
            .filter(|(_, asked)| asked.elapsed() < KEPT)
            .map(|(partitions, _)| *partitions)
    }

    /// Asks again next time.
    pub fn forget(&self, topic: &str) {
        lock(&self.topics).remove(topic);
    }

    /// Partitions of the topic, or `NotFound`.
    pub fn partitions(&self, topic: &str) -> Result<u32> {
        check_name(topic).map_err(|_| no_topic(topic))?;
        let what = || format!("cannot ask kafka at `{}` for topic `{topic}`", self.brokers);
        let answer = self
            .client
            .fetch_metadata(Some(topic), self.timeout)
            .map_err(|error| self.failed(what(), &error))?;
        let found = answer
            .topics()
            .iter()
            .find(|found| found.name() == topic)
            .ok_or_else(|| no_topic(topic))?;
        match found.error().map(Code::from) {
            None => {}
            Some(Code::UnknownTopicOrPartition | Code::UnknownTopic | Code::InvalidTopic) => {
                return Err(no_topic(topic));
            }
            Some(code) => return Err(errors::from_code(what(), code)),
        }
        let partitions = u32::try_from(found.partitions().len()).unwrap_or(u32::MAX);
        lock(&self.topics).insert(topic.to_owned(), (partitions, Instant::now()));
        Ok(partitions)
    }

    /// Waits until a topic that was just created is known.
    pub fn await_topic(&self, topic: &str) -> Result<()> {
        let deadline = Instant::now() + self.timeout;
        loop {
            match self.partitions(topic) {
                Ok(partitions) if partitions > 0 => return Ok(()),
                Err(error) if error.kind() != ErrorKind::NotFound || Instant::now() >= deadline => {
                    return Err(error);
                }
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// What this user would need to do with an existing topic and may not. Blocks.
    pub fn denied(&self, topic: &str) -> Result<Vec<&'static str>> {
        descriptions::denied(self.client.client(), topic, self.timeout)
    }

    /// Which topics these names stand for now, without those that are not there. Blocks, at most
    /// for `patience`.
    pub fn identities(
        &self,
        topics: &[&str],
        patience: Duration,
    ) -> Result<HashMap<String, Identity>> {
        descriptions::identities(self.client.client(), topics, patience)
    }

    /// Offset after the last record of a partition.
    pub fn end(&self, topic: &str, partition: u32) -> Result<u64> {
        let number = i32::try_from(partition).unwrap_or(i32::MAX);
        let asked = self.client.fetch_watermarks(topic, number, self.timeout);
        let what = || format!("cannot ask for the end of partition {partition} of topic `{topic}`");
        let (_, end) = asked.map_err(|error| self.failed(what(), &error))?;
        Ok(u64::try_from(end).unwrap_or(0))
    }

    /// The brokers may be lost; the next question will tell.
    fn failed(&self, what: String, error: &KafkaError) -> Error {
        self.client.context().brokers.name(self.client.client());
        errors::failed(what, error)
    }
}

/// Whether an error is worth more than the one before: that all brokers are down follows what
/// happened to the last of them.
fn says_more(code: Code, before: &Option<(Code, String)>) -> bool {
    before.is_none() || code != Code::AllBrokersDown
}

/// The brokers answer and do not let this client in.
fn refused(config: &Config, code: Code, said: &str) -> Error {
    let what = format!("kafka at `{}` refuses this client: {said}", config.brokers);
    let error = errors::from_code(what, code);
    if said.contains("supported mechanisms") {
        return error.with_hint(
            "the broker knows no SASL at this port, or another mechanism: compare store.event_log.kafka.security_protocol and sasl_mechanism with its listener",
        );
    }
    if said.contains("Authentication failed") {
        return error.with_hint(
            "check store.event_log.kafka.username and password_file (or the variable TRIBUTARY__STORE__EVENT_LOG__KAFKA__PASSWORD); nothing was changed, and what was published waits in Kafka",
        );
    }
    error
}

/// No broker answers, or one hangs up before it says why.
fn away(config: &Config, error: &KafkaError, said: Option<&(Code, String)>) -> Error {
    let reason = said.map_or_else(|| error.to_string(), |(_, reason)| reason.clone());
    let hangs_up = reason.contains("Disconnected") || reason.contains("closed by peer");
    let hint = if hangs_up {
        "something listens there and hangs up: it may want TLS or SASL, see store.event_log.kafka.security_protocol"
    } else {
        "start one with `deploy/services/kafka start`, or set store.event_log.kafka.brokers to where it runs"
    };
    let what = format!("no kafka broker answers at `{}`: {reason}", config.brokers);
    Error::new(ErrorKind::Unavailable, what).with_hint(hint)
}
