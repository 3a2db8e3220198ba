//! Names the brokers again to a client that has lost all of them.
//!
//! librdkafka forgets brokers that an answer about the cluster does not list. A broker that is only
//! just starting lists none, and then the client forgets all, those that it was configured with
//! too, and waits for ever (librdkafka 2.10 to 2.13 at least, its issue 5301). Naming them again is
//! all that it takes. Every client of the log has one of these.

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
        Self {
            named: CString::new(brokers).ok().unwrap_or_default(),
            lost: Mutex::default(),
        }
    }

    /// Takes note of an error that says that no broker is left.
    pub fn notice(&self, error: &KafkaError) {
        if error.rdkafka_error_code() == Some(Code::AllBrokersDown) {
            // Every failed attempt to connect says so: the pause goes on.
            let (mut lost, soon) = (lock(&self.lost), Instant::now() + FIRST_PAUSE);
            *lost = Some(Lost {
                times: 0,
                next: lost.map_or(soon, |lost| lost.next.min(soon)),
            });
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
        let Some(Lost { times, next }) = *lost else {
            return false;
        };
        if now < next {
            return false;
        }
        let (times, pause) = (times + 1, FIRST_PAUSE * 2_u32.pow(times));
        *lost = (times < TIMES).then(|| Lost {
            times,
            next: now + pause,
        });
        true
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use rdkafka::config::{ClientConfig, FromClientConfigAndContext};
    use rdkafka::consumer::{BaseConsumer, Consumer};

    use super::*;
    use crate::event_log::kafka::context::Context;

    #[test]
    fn brokers_are_named_for_a_while_after_a_loss() {
        let (brokers, begin) = (Brokers::new("127.0.0.1:9"), Instant::now());
        assert!(
            !brokers.is_due(begin + Duration::from_secs(99)),
            "nothing is lost"
        );
        brokers.notice(&KafkaError::Global(Code::BrokerTransportFailure));
        assert!(
            !brokers.is_due(begin + Duration::from_secs(99)),
            "one connection is not all"
        );
        brokers.notice(&KafkaError::Global(Code::AllBrokersDown));
        assert!(!brokers.is_due(begin));
        let named: Vec<u64> = (0..1000)
            .filter(|second| brokers.is_due(begin + Duration::from_secs(*second) + FIRST_PAUSE * 2))
            .collect();
        assert_eq!(named, [0, 1, 3, 7, 15, 31, 63, 127]);
    }

    /// A broker that answers what a client asks first: which requests it knows, and which brokers
    /// and topics there are.
    fn answer(mut connection: &TcpStream, port: u16) -> Option<()> {
        let mut length = [0; 4];
        connection.read_exact(&mut length).ok()?;
        let mut request = vec![0; u32::from_be_bytes(length) as usize];
        connection.read_exact(&mut request).ok()?;
        let number = |at: usize| {
            Some(i16::from_be_bytes([
                *request.get(at)?,
                *request.get(at + 1)?,
            ]))
        };
        // The correlation id comes back.
        let mut body = request.get(4..8)?.to_vec();
        match (number(0)?, number(2)?) {
            // ApiVersions: Metadata 0 and itself 0; a newer question is refused.
            (18, version) => {
                body.extend(if version == 0 { 0_i16 } else { 35 }.to_be_bytes());
                body.extend(2_i32.to_be_bytes());
                [3_i16, 0, 0, 18, 0, 0]
                    .iter()
                    .for_each(|part| body.extend(part.to_be_bytes()));
            }
            // Metadata 0: one broker, no topic.
            (3, _) => {
                body.extend(
                    [
                        1_i32.to_be_bytes().as_slice(),
                        &1_i32.to_be_bytes(),
                        &9_i16.to_be_bytes(),
                        b"127.0.0.1",
                    ]
                    .concat(),
                );
                body.extend([i32::from(port), 0].map(i32::to_be_bytes).concat());
            }
            _ => return None,
        }
        connection
            .write_all(&u32::try_from(body.len()).ok()?.to_be_bytes())
            .ok()?;
        connection.write_all(&body).ok()
    }

    #[test]
    fn a_client_without_any_broker_finds_those_that_it_is_told() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                std::thread::spawn(move || while answer(&connection, port).is_some() {});
            }
        });
        // It knows of a broker that is away for good.
        let away = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let mut settings = ClientConfig::new();
        settings
            .set("bootstrap.servers", away.to_string())
            .set("group.id", "a")
            .set("reconnect.backoff.max.ms", "100");
        let context = Context::new(&format!("127.0.0.1:{port}"));
        let client: BaseConsumer<Context> =
            BaseConsumer::from_config_and_context(&settings, context).unwrap();
        let end = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(Err(error)) = client.poll(Duration::from_millis(100)) {
                client.context().brokers.notice(&error);
            }
            if client.fetch_metadata(None, Duration::from_secs(1)).is_ok() {
                return;
            }
            assert!(Instant::now() < end, "it was not told in time");
            client.context().brokers.name_if_lost(client.client());
        }
    }
}
