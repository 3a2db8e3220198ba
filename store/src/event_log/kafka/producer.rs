//! Appends: enqueues the records of one call in their order, waits until the brokers have all of
//! them, returns their positions.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::ClientContext;
use rdkafka::config::{FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::message::{DeliveryResult, Header, Message, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer};
use tokio::sync::oneshot;
use tributary_schemas::{Error, ErrorKind, Result};

use super::brokers::Brokers;
use super::config::Config;
use super::context::pass_on;
use super::{blocking, errors, lock};
use crate::event_log::{Position, Record};

/// Appends above this are copied into librdkafka's queue on a blocking thread.
const INLINE_BYTES: usize = 256 << 10;
/// Pause before the queue is tried again that was full.
const QUEUE_PAUSE: Duration = Duration::from_millis(5);

/// The idempotent producer. One that has failed beyond repair is replaced by the next append.
pub struct Producer {
    config: Config,
    current: Mutex<Arc<Client>>,
}

type Client = ThreadedProducer<Deliveries>;

/// Receives what became of each record.
struct Deliveries {
    health: Mutex<Health>,
    /// Told of errors.
    brokers: Brokers,
}

/// Whether anything still gets through. librdkafka recovers from records that time out by itself,
/// but not always: a producer that was waiting for its next epoch when the broker came back can
/// wait for ever.
#[derive(Debug, Default)]
struct Health {
    /// The first record that timed out since the last one that got through.
    timed_out: Option<Instant>,
}

impl Health {
    fn settled(&mut self, error: Option<Code>, now: Instant) {
        match error {
            None => self.timed_out = None,
            Some(Code::MessageTimedOut) => {
                self.timed_out.get_or_insert(now);
            }
            Some(_) => {}
        }
    }

    /// Records had time to time out once more, and none got through.
    fn is_stuck(&self, delivery_timeout: Duration, now: Instant) -> bool {
        self.timed_out
            .is_some_and(|first| now.saturating_duration_since(first) >= delivery_timeout)
    }
}

/// One append that waits for its records.
struct Pending {
    topic: String,
    state: Mutex<State>,
}

struct State {
    positions: Vec<Option<Position>>,
    open: usize,
    failure: Option<Error>,
    reply: Option<oneshot::Sender<Result<Vec<Position>>>>,
}

/// Where in its append a record stands.
struct Place {
    pending: Arc<Pending>,
    index: usize,
}

impl ClientContext for Deliveries {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        pass_on(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, reason, "kafka producer");
        self.brokers.notice(&error);
    }
}

impl ProducerContext for Deliveries {
    type DeliveryOpaque = Box<Place>;

    fn delivery(&self, result: &DeliveryResult<'_>, place: Box<Place>) {
        let code = result
            .as_ref()
            .err()
            .and_then(|(error, _)| error.rdkafka_error_code());
        lock(&self.health).settled(code, Instant::now());
        let outcome = match result {
            Ok(message) => match (
                u32::try_from(message.partition()),
                u64::try_from(message.offset()),
            ) {
                (Ok(partition), Ok(offset)) => Ok(Position { partition, offset }),
                _ => Err(Error::new(
                    ErrorKind::Internal,
                    "kafka acknowledged a record without its offset",
                )),
            },
            Err((error, _)) => Err(errors::failed(
                format_args!("cannot append to topic `{}`", place.pending.topic),
                error,
            )),
        };
        place.pending.settle(place.index, outcome);
    }
}

impl Pending {
    fn settle(&self, index: usize, outcome: Result<Position>) {
        let mut state = lock(&self.state);
        state.open = state.open.saturating_sub(1);
        match outcome {
            Ok(position) => {
                if let Some(place) = state.positions.get_mut(index) {
                    *place = Some(position);
                }
            }
            // The first error says what began it.
            Err(error) => state.failure = state.failure.take().or(Some(error)),
        }
        if state.open > 0 {
            return;
        }
        let result = match state.failure.take() {
            Some(error) => Err(error),
            None => Ok(state.positions.drain(..).flatten().collect()),
        };
        // Nobody waits when the caller was cancelled.
        if let Some(reply) = state.reply.take() {
            reply.send(result).ok();
        }
    }
}

impl Producer {
    /// Starts it; connects on its own.
    pub fn start(config: &Config) -> Result<Self> {
        Ok(Self {
            config: config.clone(),
            current: Mutex::new(Arc::new(create(config)?)),
        })
    }

    /// Appends all records, see [`crate::event_log::EventLog::append`].
    pub async fn append(&self, topic: &str, records: Vec<Record>) -> Result<Vec<Position>> {
        let bytes = self.check(&records)?;
        let client = self.client()?;
        let (reply, answer) = oneshot::channel();
        let count = records.len();
        let state = State {
            positions: vec![None; count],
            open: count,
            failure: None,
            reply: Some(reply),
        };
        let pending = Arc::new(Pending {
            topic: topic.to_owned(),
            state: Mutex::new(state),
        });
        let records = Arc::new(records);
        let mut next = 0;
        while next < count {
            let (client, records, pending) = (
                Arc::clone(&client),
                Arc::clone(&records),
                Arc::clone(&pending),
            );
            let enqueued = if bytes > INLINE_BYTES {
                blocking(move || enqueue(&client, &records, next, &pending)).await?
            } else {
                enqueue(&client, &records, next, &pending)?
            };
            next = enqueued;
            if next < count {
                tokio::time::sleep(QUEUE_PAUSE).await;
            }
        }
        answer.await.map_err(|_| {
            Error::new(
                ErrorKind::Unavailable,
                format!("append to topic `{topic}` was broken off"),
            )
        })?
    }

    fn check(&self, records: &[Record]) -> Result<usize> {
        let limit = self.config.max_record_bytes;
        let mut total = 0;
        for record in records {
            let bytes = record.size();
            total += bytes;
            if bytes > limit {
                let key = String::from_utf8_lossy(&record.key);
                let what = format!("record `{key:.100}` has {bytes} bytes, the limit is {limit}");
                return Err(Error::new(ErrorKind::Invalid, what)
                    .with_hint("raise max_record_bytes, or store the value as a blob"));
            }
        }
        Ok(total)
    }

    /// The running producer, or a new one if it does not recover. What the old one has in its queue
    /// times out there, and who waits for it is told.
    fn client(&self) -> Result<Arc<Client>> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let timeout = Duration::from_millis(self.config.delivery_timeout_ms);
        let failure = match current.client().fatal_error() {
            Some((code, reason)) => Some(format!("{code}: {reason}")),
            None if lock(&current.context().health).is_stuck(timeout, Instant::now()) => {
                Some("nothing gets through".to_owned())
            }
            None => None,
        };
        if let Some(reason) = failure {
            tracing::warn!(
                reason,
                "the kafka producer does not recover, starting another"
            );
            let broken = std::mem::replace(&mut *current, Arc::new(create(&self.config)?));
            retire(broken);
        }
        current.context().brokers.name_if_lost(current.client());
        Ok(Arc::clone(&current))
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        retire(Arc::clone(&current));
    }
}

/// Ends a producer beside the async threads: its end waits for its own thread.
fn retire(client: Arc<Client>) {
    let ended = std::thread::Builder::new()
        .name("kafka-producer-end".to_owned())
        .spawn(move || drop(client));
    if let Err(error) = ended {
        tracing::warn!(%error, "cannot end a kafka producer on a thread of its own");
    }
}

fn create(config: &Config) -> Result<Client> {
    let deliveries = Deliveries {
        health: Mutex::default(),
        brokers: Brokers::new(&config.brokers),
    };
    let created = Client::from_config_and_context(&config.producer(), deliveries);
    created.map_err(|error| errors::failed("cannot start the kafka producer", &error))
}

/// Puts records into librdkafka's queue from `next` on; returns the first that found no room. What
/// cannot be enqueued for another reason is settled as failed, and all behind it with it, so that
/// no later record overtakes an earlier one of its key.
fn enqueue(
    client: &Client,
    records: &[Record],
    mut next: usize,
    pending: &Arc<Pending>,
) -> Result<usize> {
    while let Some(record) = records.get(next) {
        let place = Box::new(Place {
            pending: Arc::clone(pending),
            index: next,
        });
        let mut base = BaseRecord::with_opaque_to(&pending.topic, place)
            .key(record.key.as_ref())
            .timestamp(record.timestamp_ms);
        if let Some(value) = &record.value {
            base = base.payload(value.as_ref());
        }
        if !record.headers.is_empty() {
            base = base.headers(headers(record));
        }
        match client.send(base) {
            Ok(()) => next += 1,
            Err((KafkaError::MessageProduction(Code::QueueFull), _)) => return Ok(next),
            Err((error, _)) => {
                let error = errors::failed(
                    format_args!("cannot append to topic `{}`", pending.topic),
                    &error,
                );
                for index in next..records.len() {
                    pending.settle(index, Err(error.clone()));
                }
                return Ok(records.len());
            }
        }
    }
    Ok(next)
}

fn headers(record: &Record) -> OwnedHeaders {
    let empty = OwnedHeaders::new_with_capacity(record.headers.len());
    record.headers.iter().fold(empty, |headers, (name, value)| {
        headers.insert(Header {
            key: name,
            value: Some(value.as_ref()),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_producer_is_stuck_when_records_time_out_again_and_none_gets_through() {
        let (timeout, begin) = (Duration::from_secs(30), Instant::now());
        let mut health = Health::default();
        assert!(!health.is_stuck(timeout, begin));
        health.settled(Some(Code::MessageTimedOut), begin);
        health.settled(Some(Code::MessageTimedOut), begin + timeout / 2);
        assert!(
            !health.is_stuck(timeout, begin + timeout / 2),
            "it may recover by itself"
        );
        assert!(health.is_stuck(timeout, begin + timeout));
        health.settled(None, begin + timeout);
        assert!(!health.is_stuck(timeout, begin + timeout * 9), "it did");
        health.settled(Some(Code::InvalidTopic), begin);
        assert!(
            !health.is_stuck(timeout, begin + timeout * 9),
            "a refusal is an answer"
        );
    }
}
