//! Settings of the Kafka event log, also in a program that was built without it; values come from
//! the configuration file. What librdkafka is told of them is in `kafka/clients.rs`.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use tributary_schemas::{Error, ErrorKind, Result};

use crate::secrets::{HIDDEN, is_secret, without_credentials};

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
pub struct Secret(pub(super) String);

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
pub struct Properties(pub(super) BTreeMap<String, String>);

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

fn key(name: &str) -> String {
    format!("store.event_log.kafka.{name}")
}

impl Config {
    /// Everything that is wrong with the values, one line each; reads no file and asks no broker.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if !self.brokers.split(',').all(is_address) {
            problems.push(format!(
                "{} must be `host:port`, several with commas, not `{}`",
                key("brokers"),
                self.brokers
            ));
        }
        problems.extend(self.range_problems());
        problems.extend(self.security_problems());
        problems.extend(self.properties.0.keys().filter(|name| OURS.contains(&name.as_str())).map(|name| {
            format!("{} must not set `{name}`: the event log's guarantees rest on it, or a key of its own sets it", key("properties"))
        }));
        #[cfg(feature = "kafka")]
        if problems.is_empty() {
            problems.extend(self.problems_of_clients());
        }
        problems
    }

    fn range_problems(&self) -> impl Iterator<Item = String> {
        let outside = self
            .ranges()
            .into_iter()
            .filter(|(_, value, minimum, maximum)| !(minimum..=maximum).contains(&value));
        outside.map(|(name, _, minimum, maximum)| {
            format!("{} must lie between {minimum} and {maximum}", key(name))
        })
    }

    /// Keys with their values, and between what these must lie.
    fn ranges(&self) -> [(&'static str, u64, u64, u64); 11] {
        [
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
        ]
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
        #[cfg(feature = "kafka")]
        let features = super::kafka::built_in();
        #[cfg(not(feature = "kafka"))]
        let features: Vec<String> = Vec::new();
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
            let read = tributary_schemas::files::read_to_string(&self.password_file);
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
}

/// Whether it is `host:port`.
fn is_address(broker: &str) -> bool {
    broker
        .trim()
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}
