//! What librdkafka is told of the settings.

use rdkafka::config::{ClientConfig, RDKafkaLogLevel};

use super::config::Config;
use super::errors;

/// Room for what Kafka puts around a record.
const FRAME_BYTES: usize = 64 << 10;

impl Config {
    /// What librdkafka itself refuses.
    pub(in crate::event_log) fn problems_of_clients(&self) -> Option<String> {
        let refused = self.client("").create_native_config().err()?;
        Some(format!(
            "store.event_log.kafka: {}",
            errors::setting(&refused)
        ))
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
pub(in crate::event_log) fn built_in() -> Vec<String> {
    let known = ClientConfig::new()
        .create_native_config()
        .and_then(|native| native.get("builtin.features"))
        .ok();
    known
        .map(|list| {
            list.split(',')
                .map(|feature| feature.trim().to_owned())
                .collect()
        })
        .unwrap_or_default()
}
