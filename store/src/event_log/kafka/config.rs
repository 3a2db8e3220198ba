//! Settings of the Kafka event log, and what librdkafka is told; values come from the configuration
//! file.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use serde::{Deserialize, Serialize, Serializer};
use tributary_schemas::{Error, ErrorKind, Result};

use crate::secrets::{HIDDEN, is_secret, without_credentials};

/// Room for what Kafka puts around a record.
const FRAME_BYTES: usize = 64 << 10;
/// Properties that are not free: the guarantees of the log rest on them, or a key of ours sets
/// them.
const OURS: [&str; 49] = [
    "acks",
    "allow.auto.create.topics",
    "auto.commit.enable",
    "auto.offset.reset",
    "bootstrap.servers",
    "client.id",
    "compression.codec",
    "compression.type",
    "delivery.timeout.ms",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.idempotence",
    "enable.partition.eof",
    "fetch.max.bytes",
    "fetch.message.max.bytes",
    "fetch.queue.backoff.ms",
    "fetch.wait.max.ms",
    "group.id",
    "group.instance.id",
    "group.protocol",
    "heartbeat.interval.ms",
    "isolation.level",
    "linger.ms",
    "max.in.flight",
    "max.in.flight.requests.per.connection",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "message.max.bytes",
    "message.timeout.ms",
    "metadata.broker.list",
    "partition.assignment.strategy",
    "partitioner",
    "queue.buffering.max.kbytes",
    "queue.buffering.max.ms",
    "queued.max.messages.kbytes",
    "receive.message.max.bytes",
    "request.required.acks",
    "request.timeout.ms",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.password",
    "sasl.username",
    "security.protocol",
    "session.timeout.ms",
    "socket.timeout.ms",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "transactional.id",
];

/// Settings of the Kafka event log.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// `host:port`, several with commas.
    pub brokers: String,
    /// Name of this program in the broker's logs and quotas.
    pub client_id: String,
    /// Copies of each partition of a topic that is created; 0 for the brokers' default.
    pub replication_factor: u16,
    /// Copies that must have a record before it counts as appended, of topics that are created; 0
    /// for the brokers' default.
    pub min_in_sync_replicas: u16,
    /// Largest record, in bytes of key, value and headers.
    pub max_record_bytes: usize,
    /// `none`, `gzip`, `snappy`, `lz4` (and `zstd` where it is built in).
    pub compression: String,
    /// How long an append waits for others that travel with it, milliseconds.
    pub linger_ms: u64,
    /// Bytes of appends that may wait to be sent; callers beyond that wait.
    pub queue_bytes: usize,
    /// Bytes that a reader holds for its worker; beyond that it pauses its partitions.
    pub read_ahead_bytes: usize,
    /// Bytes of one partition in one answer of a broker.
    pub fetch_bytes: usize,
    /// How long a broker may wait for records before it answers with none, milliseconds.
    pub fetch_wait_ms: u64,
    /// How long opening waits for a broker, milliseconds.
    pub connect_timeout_ms: u64,
    /// How long a broker may take for one request, milliseconds.
    pub request_timeout_ms: u64,
    /// How long an append tries to reach the brokers before it fails, milliseconds.
    pub delivery_timeout_ms: u64,
    /// Silence after which the group gives a reader's partitions to another, milliseconds.
    pub session_timeout_ms: u64,
    /// How long a reader may take to give partitions up in a rebalance, milliseconds; at least the
    /// session timeout. librdkafka waits that long for the answer to a join as well, so that
    /// one that was lost costs so much; the reading thread needs little of it.
    pub poll_timeout_ms: u64,
    /// `plaintext`, `ssl`, `sasl_plaintext` or `sasl_ssl`.
    pub security_protocol: String,
    /// `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`; empty without SASL.
    pub sasl_mechanism: String,
    /// User of SASL.
    pub username: String,
    /// Password of SASL; better by `password_file` or the environment.
    pub password: Secret,
    /// File with the password of SASL; wins over `password`.
    pub password_file: String,
    /// Certificates of the authorities to trust (PEM); empty for the system's.
    pub ssl_ca_file: String,
    /// Certificate of this client (PEM); empty for none.
    pub ssl_certificate_file: String,
    /// Its private key (PEM).
    pub ssl_key_file: String,
    /// Any other property of librdkafka, passed through.
    pub properties: Properties,
}

/// Text that is never printed.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.shown())
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.shown())
    }
}

impl Secret {
    fn shown(&self) -> &'static str {
        if self.0.is_empty() { "" } else { HIDDEN }
    }
}

/// Properties of librdkafka; those that are secrets are never printed.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Properties(BTreeMap<String, String>);

impl Properties {
    fn shown(&self) -> BTreeMap<&str, String> {
        let shown = |name: &str, value: &str| {
            if is_secret(name) {
                HIDDEN.to_owned()
            } else {
                without_credentials(value)
            }
        };
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), shown(name, value)))
            .collect()
    }
}

impl fmt::Debug for Properties {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown().fmt(formatter)
    }
}

impl Serialize for Properties {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.shown().serialize(serializer)
    }
}

impl Config {
    /// Everything that is wrong with the values, one line each; reads no file and asks no broker.
    pub fn problems(&self) -> Vec<String> {
        let key = |name: &str| format!("store.event_log.kafka.{name}");
        let mut problems = Vec::new();
        if self.brokers.split(',').any(|broker| {
            broker
                .trim()
                .rsplit_once(':')
                .is_none_or(|(host, port)| host.is_empty() || port.parse::<u16>().is_err())
        }) {
            problems.push(format!(
                "{} must be `host:port`, several with commas, not `{}`",
                key("brokers"),
                self.brokers
            ));
        }
        let ranges = [
            (
                "max_record_bytes",
                self.max_record_bytes as u64,
                1024,
                512 << 20,
            ),
            ("queue_bytes", self.queue_bytes as u64, 1 << 20, 1 << 40),
            ("read_ahead_bytes", self.read_ahead_bytes as u64, 1, 1 << 40),
            ("fetch_bytes", self.fetch_bytes as u64, 1, 512 << 20),
            ("fetch_wait_ms", self.fetch_wait_ms, 0, 60_000),
            ("linger_ms", self.linger_ms, 0, 60_000),
            ("connect_timeout_ms", self.connect_timeout_ms, 100, 600_000),
            (
                "request_timeout_ms",
                self.request_timeout_ms,
                1_000,
                600_000,
            ),
            (
                "delivery_timeout_ms",
                self.delivery_timeout_ms,
                1_000,
                86_400_000,
            ),
            (
                "session_timeout_ms",
                self.session_timeout_ms,
                1_000,
                3_600_000,
            ),
            (
                "poll_timeout_ms",
                self.poll_timeout_ms,
                self.session_timeout_ms,
                86_400_000,
            ),
        ];
        let outside = ranges
            .iter()
            .filter(|(_, value, least, most)| !(least..=most).contains(&value));
        problems.extend(outside.map(|(name, _, least, most)| {
            format!("{} must lie between {least} and {most}", key(name))
        }));
        problems.extend(self.security_problems());
        problems.extend(self.properties.0.keys().filter(|name| OURS.contains(&name.as_str())).map(|name| {
            format!("{} must not set `{name}`: the event log's guarantees rest on it, or a key of its own sets it", key("properties"))
        }));
        if problems.is_empty()
            && let Err(error) = self.client("").create_native_config()
        {
            problems.push(format!(
                "store.event_log.kafka: {}",
                super::errors::setting(&error)
            ));
        }
        problems
    }

    fn security_problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let (has_sasl, has_ssl) = match self.security_protocol.as_str() {
            "plaintext" => (false, false),
            "ssl" => (false, true),
            "sasl_plaintext" => (true, false),
            "sasl_ssl" => (true, true),
            other => {
                return vec![format!(
                    "store.event_log.kafka.security_protocol must be plaintext, ssl, sasl_plaintext or sasl_ssl, not `{other}`"
                )];
            }
        };
        let features = built_in();
        let mut need = |feature: &str, key: &str, value: &str| {
            if !features.iter().any(|known| known == feature) {
                problems.push(format!(
                    "store.event_log.kafka.{key} `{value}` needs a program built with `--features tls`, and this one is not"
                ));
            }
        };
        if has_ssl {
            need("ssl", "security_protocol", &self.security_protocol);
        }
        match (has_sasl, self.sasl_mechanism.as_str()) {
            (false, "") => {}
            (false, _) => {
                problems.push("store.event_log.kafka.sasl_mechanism needs security_protocol sasl_plaintext or sasl_ssl".to_owned())
            }
            (true, "PLAIN") => need("sasl_plain", "sasl_mechanism", "PLAIN"),
            (true, mechanism @ ("SCRAM-SHA-256" | "SCRAM-SHA-512")) => need("sasl_scram", "sasl_mechanism", mechanism),
            (true, other) => {
                problems.push(format!("store.event_log.kafka.sasl_mechanism must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, not `{other}`"))
            }
        }
        if has_sasl
            && (self.username.is_empty()
                || (self.password.0.is_empty() && self.password_file.is_empty()))
        {
            problems.push("store.event_log.kafka.username, and password_file or password, must be set for SASL".to_owned());
        }
        problems
    }

    /// Refuses what [`Config::problems`] finds, and reads the password file.
    pub fn check(mut self) -> Result<Self> {
        if let Some(problem) = self.problems().into_iter().next() {
            return Err(Error::new(ErrorKind::Invalid, problem));
        }
        if !self.password_file.is_empty() {
            let read = std::fs::read_to_string(&self.password_file);
            let text = read.map_err(|error| {
                Error::io(
                    format_args!(
                        "cannot read store.event_log.kafka.password_file `{}`",
                        self.password_file
                    ),
                    &error,
                )
            })?;
            self.password = Secret(text.trim_end_matches(['\r', '\n']).to_owned());
        }
        Ok(self)
    }

    /// How long a request may take.
    pub fn request_timeout(&self) -> Duration {
        Duration::from_millis(self.request_timeout_ms)
    }

    /// What every client shares; `role` is appended to the client id.
    pub fn client(&self, role: &str) -> ClientConfig {
        let mut client = ClientConfig::new();
        let id = if role.is_empty() {
            self.client_id.clone()
        } else {
            format!("{}-{role}", self.client_id)
        };
        client
            .set("bootstrap.servers", &self.brokers)
            .set("client.id", id);
        client.set(
            "message.max.bytes",
            (self.max_record_bytes + FRAME_BYTES).to_string(),
        );
        client.set(
            "socket.timeout.ms",
            (self.request_timeout_ms + self.fetch_wait_ms + 1_000).to_string(),
        );
        client
            .set("socket.keepalive.enable", "true")
            .set("topic.metadata.refresh.interval.ms", "60000");
        client
            .set("reconnect.backoff.ms", "100")
            .set("reconnect.backoff.max.ms", "2000");
        client.set("security.protocol", &self.security_protocol);
        let optional = [
            ("sasl.mechanism", &self.sasl_mechanism),
            ("sasl.username", &self.username),
            ("sasl.password", &self.password.0),
            ("ssl.ca.location", &self.ssl_ca_file),
            ("ssl.certificate.location", &self.ssl_certificate_file),
            ("ssl.key.location", &self.ssl_key_file),
        ];
        for (name, value) in optional.into_iter().filter(|(_, value)| !value.is_empty()) {
            client.set(name, value);
        }
        for (name, value) in &self.properties.0 {
            client.set(name, value);
        }
        client.set_log_level(RDKafkaLogLevel::Warning);
        client
    }

    /// Every record once, in order, on all in-sync copies; partitions as Java clients choose them.
    pub fn producer(&self) -> ClientConfig {
        let mut producer = self.client("producer");
        producer
            .set("enable.idempotence", "true")
            .set("acks", "all")
            .set("partitioner", "murmur2_random");
        producer
            .set("compression.type", &self.compression)
            .set("linger.ms", self.linger_ms.to_string());
        producer.set(
            "queue.buffering.max.kbytes",
            (self.queue_bytes >> 10).max(1).to_string(),
        );
        producer.set("request.timeout.ms", self.request_timeout_ms.to_string());
        producer.set(
            "message.timeout.ms",
            self.delivery_timeout_ms.max(self.linger_ms + 1).to_string(),
        );
        producer
    }

    /// A reader that commits nothing by itself and sees only what is committed.
    pub fn consumer(&self, group_id: &str) -> ClientConfig {
        let mut consumer = self.client("consumer");
        let (heartbeat_ms, fetch_all) = (
            (self.session_timeout_ms / 3).clamp(300, 3_000),
            self.max_record_bytes.max(self.fetch_bytes) + FRAME_BYTES,
        );
        consumer
            .set("group.id", group_id)
            .set("partition.assignment.strategy", "cooperative-sticky");
        consumer
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false");
        consumer
            .set("auto.offset.reset", "earliest")
            .set("isolation.level", "read_committed");
        consumer
            .set("session.timeout.ms", self.session_timeout_ms.to_string())
            .set("heartbeat.interval.ms", heartbeat_ms.to_string());
        consumer.set("max.poll.interval.ms", self.poll_timeout_ms.to_string());
        consumer
            .set("fetch.wait.max.ms", self.fetch_wait_ms.to_string())
            .set("fetch.message.max.bytes", self.fetch_bytes.to_string());
        consumer.set(
            "fetch.max.bytes",
            fetch_all
                .max(self.fetch_bytes.saturating_mul(4))
                .min(1 << 30)
                .to_string(),
        );
        // A queue that was full is filled on as soon as there is room; by default a second later.
        consumer.set("fetch.queue.backoff.ms", "5");
        consumer.set(
            "queued.max.messages.kbytes",
            (self.read_ahead_bytes >> 10)
                .clamp(1 << 10, 2_097_151)
                .to_string(),
        );
        consumer.set(
            "receive.message.max.bytes",
            (fetch_all
                .max(self.fetch_bytes.saturating_mul(4))
                .min(1 << 30)
                + FRAME_BYTES)
                .to_string(),
        );
        consumer
    }

    /// A reader that only looks: at positions of a group that it never joins, and at single
    /// records.
    pub fn observer(&self, group_id: &str) -> ClientConfig {
        let mut observer = self.consumer(group_id);
        observer
            .set("client.id", format!("{}-observer", self.client_id))
            .set("enable.partition.eof", "true");
        observer
            .set("fetch.wait.max.ms", "10")
            .set("queued.min.messages", "1")
            .set("queued.max.messages.kbytes", "1024");
        observer
    }
}

/// What librdkafka was built with.
fn built_in() -> Vec<String> {
    let known = ClientConfig::new()
        .create_native_config()
        .and_then(|native| native.get("builtin.features"));
    known
        .map(|list| {
            list.split(',')
                .map(|feature| feature.trim().to_owned())
                .collect()
        })
        .unwrap_or_default()
}
