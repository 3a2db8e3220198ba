//! Names the brokers again to a client that has lost all of them.
//!
//! librdkafka forgets brokers that an answer about the cluster does not list. A broker that is only just starting lists none, and then the
//! client forgets all, those that it was configured with too, and waits for ever (librdkafka 2.10 to 2.13 at least, its issue 5301).
//! Naming them again is all that it takes. Every client of the log has one of these.

use std::ffi::CString;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rdkafka::ClientContext;
use rdkafka::bindings::rd_kafka_brokers_add;
use rdkafka::client::Client;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};

use super::lock;

/// Pause before brokers are named for the first time after a loss; it doubles.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// How often they are named after a loss: over two minutes.
const TIMES: u32 = 8;

/// The brokers of the configuration.
pub struct Brokers {
    named: CString,
    lost: Mutex<Option<Lost>>,
}

/// Since all connections were lost.
#[derive(Clone, Copy)]
struct Lost {
    times: u32,
    next: Instant,
}

impl Brokers {
    /// `host:port`, several with commas; none is lost yet.
    pub fn new(brokers: &str) -> Self {
        Self { named: CString::new(brokers).unwrap_or_default(), lost: Mutex::default() }
    }

    /// Takes note of an error that says that no broker is left.
    pub fn notice(&self, error: &KafkaError) {
        if error.rdkafka_error_code() == Some(Code::AllBrokersDown) {
            *lock(&self.lost) = Some(Lost { times: 0, next: Instant::now() + FIRST_PAUSE });
        }
    }

    /// Names the brokers if they were lost and it is time. Costs nothing otherwise.
    pub fn name_if_lost<C: ClientContext>(&self, client: &Client<C>) {
        if self.is_due(Instant::now()) {
            self.name(client);
        }
    }

    /// Names the brokers. Those that the client knows stay as they are.
    pub fn name<C: ClientContext>(&self, client: &Client<C>) {
        // SAFETY: the client is alive, and the names end with a zero byte; they are copied.
        unsafe { rd_kafka_brokers_add(client.native_ptr(), self.named.as_ptr()) };
    }

    fn is_due(&self, now: Instant) -> bool {
        let mut lost = lock(&self.lost);
        let Some(Lost { times, next }) = *lost else { return false };
        if now < next {
            return false;
        }
        let (times, pause) = (times + 1, FIRST_PAUSE * 2_u32.pow(times));
        *lost = (times < TIMES).then(|| Lost { times, next: now + pause });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brokers_are_named_for_a_while_after_a_loss() {
        let (brokers, begin) = (Brokers::new("127.0.0.1:9"), Instant::now());
        assert!(!brokers.is_due(begin + Duration::from_secs(99)), "nothing is lost");
        brokers.notice(&KafkaError::Global(Code::BrokerTransportFailure));
        assert!(!brokers.is_due(begin + Duration::from_secs(99)), "one connection is not all");
        brokers.notice(&KafkaError::Global(Code::AllBrokersDown));
        assert!(!brokers.is_due(begin));
        let named: Vec<u64> = (0..1000).filter(|second| brokers.is_due(begin + Duration::from_secs(*second) + FIRST_PAUSE * 2)).collect();
        assert_eq!(named, [0, 1, 3, 7, 15, 31, 63, 127]);
    }
}
