//! What librdkafka tells its clients beside records: log lines and errors of connections. Every
//! client of the log has one.

use std::sync::{Mutex, PoisonError};

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel as Level;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};

use super::brokers::Brokers;

/// Passes log lines on and keeps the newest error with its reason.
pub struct Context {
    /// Told of errors.
    pub brokers: Brokers,
    newest: Mutex<Option<(Code, String)>>,
}

impl Context {
    /// A client of these brokers (`host:port`, several with commas) without an error yet.
    pub fn new(brokers: &str) -> Self {
        Self {
            brokers: Brokers::new(brokers),
            newest: Mutex::default(),
        }
    }

    /// That all brokers are down follows what happened to the last of them, which says more.
    fn keep(&self, code: Code, reason: &str) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.is_none() || code != Code::AllBrokersDown {
            *newest = Some((code, reason.to_owned()));
        }
    }

    /// The newest error since the last call.
    pub fn take_error(&self) -> Option<(Code, String)> {
        self.newest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl ClientContext for Context {
    fn log(&self, level: Level, facility: &str, message: &str) {
        pass_on(level, facility, message);
        // Of a broker that hangs up, librdkafka tells its log alone.
        if message.contains("Disconnected") {
            self.keep(Code::BrokerTransportFailure, message);
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, reason, "kafka connection");
        self.brokers.notice(&error);
        if let Some(code) = error.rdkafka_error_code() {
            self.keep(code, reason);
        }
    }
}

impl ConsumerContext for Context {}

/// A log line of librdkafka as one of ours.
pub fn pass_on(level: Level, facility: &str, message: &str) {
    match level {
        Level::Emerg | Level::Alert | Level::Critical | Level::Error | Level::Warning => {
            tracing::warn!(target: "librdkafka", facility, "{message}");
        }
        Level::Notice | Level::Info => tracing::info!(target: "librdkafka", facility, "{message}"),
        Level::Debug => tracing::debug!(target: "librdkafka", facility, "{message}"),
    }
}
