//! How far a group is, seen from outside: committed positions, ends, and the age of the oldest
//! record to come. One client per group that was ever asked about; it never joins.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rdkafka::config::FromClientConfigAndContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::Message;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use tributary_schemas::{Error, ErrorKind, Result};

use super::config::Config;
use super::context::Context;
use super::subscription::list;
use super::{errors, lock};
use crate::event_log::PartitionLag;

/// Pause before a look that failed is repeated.
const AGAIN: Duration = Duration::from_millis(200);

/// Looks at one group.
pub struct Inspector {
    topic: String,
    timeout: Duration,
    client: Mutex<Client>,
}

struct Client {
    consumer: BaseConsumer<Context>,
    /// By partition: a committed position, and what the record there says.
    oldest: HashMap<u32, (u64, Oldest)>,
}

/// What lies at a committed position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Oldest {
    /// A record of this time.
    At(i64),
    /// No record up to this offset, only what transactions leave behind.
    NothingUntil(u64),
}

impl Inspector {
    /// A client that looks at the group named `id` in Kafka.
    pub fn start(config: &Config, topic: &str, id: &str) -> Result<Self> {
        let created = BaseConsumer::from_config_and_context(
            &config.observer(id),
            Context::new(&config.brokers),
        );
        let consumer = created.map_err(|error| {
            errors::failed(
                format_args!("cannot look at the kafka group `{id}`"),
                &error,
            )
        })?;
        let client = Mutex::new(Client {
            consumer,
            oldest: HashMap::new(),
        });
        Ok(Self {
            topic: topic.to_owned(),
            timeout: config.request_timeout(),
            client,
        })
    }

    /// See [`crate::event_log::EventLog::lag`]. Blocks.
    pub fn lag(&self, partitions: u32) -> Result<Vec<PartitionLag>> {
        let deadline = Instant::now() + self.timeout;
        loop {
            // A broker that has just started, or a group that nobody was in yet, has no coordinator
            // for a moment; a broker that is away may be back. Within the time that one
            // request may take.
            match self.lag_now(partitions) {
                Err(error) if error.kind() == ErrorKind::Unavailable => {
                    // They may be lost; the next look will tell.
                    let client = lock(&self.client);
                    client
                        .consumer
                        .context()
                        .brokers
                        .name(client.consumer.client());
                    if Instant::now() + AGAIN >= deadline {
                        return Err(error);
                    }
                    // Partitions may have been added: librdkafka asks once a minute.
                    let asked = client.consumer.fetch_metadata(Some(&self.topic), AGAIN);
                    if let Err(error) = asked {
                        tracing::debug!(topic = self.topic, %error, "cannot ask for partitions");
                    }
                    drop(client);
                    std::thread::sleep(AGAIN);
                }
                looked => return looked,
            }
        }
    }

    fn lag_now(&self, partitions: u32) -> Result<Vec<PartitionLag>> {
        let mut client = lock(&self.client);
        // In this order a committed position is never beyond the end.
        let committed = self.committed(&client.consumer, partitions)?;
        let start = self.ends(&client.consumer, partitions, Offset::Beginning)?;
        let end = self.ends(&client.consumer, partitions, Offset::End)?;
        let mut lag: Vec<PartitionLag> = (0..partitions)
            .map(|partition| {
                let of =
                    |offsets: &BTreeMap<u32, u64>| offsets.get(&partition).copied().unwrap_or(0);
                let (start, end) = (of(&start), of(&end).max(of(&start)));
                PartitionLag {
                    partition,
                    start,
                    committed: of(&committed).max(start),
                    end,
                    oldest_uncommitted_ms: None,
                }
            })
            .collect();
        self.look(&mut client, &lag)?;
        for partition in &mut lag {
            match client.oldest.get(&partition.partition) {
                Some((committed, oldest))
                    if *committed == partition.committed && partition.committed < partition.end =>
                {
                    match *oldest {
                        Oldest::At(timestamp_ms) => {
                            partition.oldest_uncommitted_ms = Some(timestamp_ms)
                        }
                        // Nobody can commit past these: no record of the group's lies there.
                        Oldest::NothingUntil(offset) if offset >= partition.end => {
                            partition.committed = partition.end
                        }
                        Oldest::NothingUntil(_) => {}
                    }
                }
                _ => {}
            }
        }
        Ok(lag)
    }

    fn failed(&self, error: &KafkaError) -> Error {
        errors::failed(
            format_args!("cannot see how far a group is with topic `{}`", self.topic),
            error,
        )
    }

    fn committed(
        &self,
        consumer: &BaseConsumer<Context>,
        partitions: u32,
    ) -> Result<BTreeMap<u32, u64>> {
        let asked = list(
            &self.topic,
            (0..partitions).map(|partition| (partition, Offset::Invalid)),
        );
        let known = asked
            .and_then(|list| consumer.committed_offsets(list, self.timeout))
            .map_err(|error| self.failed(&error))?;
        self.offsets(&known)
    }

    /// First or last offsets of all partitions at once.
    fn ends(
        &self,
        consumer: &BaseConsumer<Context>,
        partitions: u32,
        which: Offset,
    ) -> Result<BTreeMap<u32, u64>> {
        let asked = list(
            &self.topic,
            (0..partitions).map(|partition| (partition, which)),
        );
        let known = asked
            .and_then(|list| consumer.offsets_for_times(list, self.timeout))
            .map_err(|error| self.failed(&error))?;
        self.offsets(&known)
    }

    fn offsets(&self, list: &TopicPartitionList) -> Result<BTreeMap<u32, u64>> {
        let mut offsets = BTreeMap::new();
        for element in list.elements() {
            element.error().map_err(|error| self.failed(&error))?;
            if let (Ok(partition), Offset::Offset(offset)) =
                (u32::try_from(element.partition()), element.offset())
            {
                offsets.insert(partition, u64::try_from(offset).unwrap_or(0));
            }
        }
        Ok(offsets)
    }

    /// Reads the record at each committed position that has moved since the last look; one short
    /// read for all of them.
    fn look(&self, client: &mut Client, lag: &[PartitionLag]) -> Result<()> {
        let mut unknown = unknown(client, lag);
        if unknown.is_empty() {
            return Ok(());
        }
        let offsets = unknown.iter().map(|(partition, offset)| {
            (
                *partition,
                Offset::Offset(i64::try_from(*offset).unwrap_or(i64::MAX)),
            )
        });
        list(&self.topic, offsets)
            .and_then(|list| client.consumer.assign(&list))
            .map_err(|error| self.failed(&error))?;
        self.read_oldest(client, lag, &mut unknown);
        client
            .consumer
            .unassign()
            .map_err(|error| self.failed(&error))
    }

    /// Notes the first record of each of these partitions, as far as they arrive in time.
    fn read_oldest(
        &self,
        client: &mut Client,
        lag: &[PartitionLag],
        unknown: &mut BTreeMap<u32, u64>,
    ) {
        let deadline = Instant::now() + self.timeout;
        while !unknown.is_empty() && Instant::now() < deadline {
            let (number, oldest) = match client.consumer.poll(Duration::from_millis(100)) {
                Some(Ok(message)) => (
                    message.partition(),
                    Oldest::At(message.timestamp().to_millis().unwrap_or(0)),
                ),
                Some(Err(KafkaError::PartitionEOF(number))) => {
                    let end = lag
                        .iter()
                        .find(|partition| i32::try_from(partition.partition) == Ok(number))
                        .map_or(0, |partition| partition.end);
                    (number, Oldest::NothingUntil(end))
                }
                Some(Err(error)) => {
                    tracing::debug!(topic = self.topic, %error, "cannot read the oldest record of a group");
                    break;
                }
                None => continue,
            };
            if let Some((partition, committed)) = u32::try_from(number)
                .ok()
                .and_then(|number| unknown.remove_entry(&number))
            {
                client.oldest.insert(partition, (committed, oldest));
            }
        }
    }
}

/// The committed positions, by partition, whose records have not been looked at.
fn unknown(client: &Client, lag: &[PartitionLag]) -> BTreeMap<u32, u64> {
    lag.iter()
        .filter(|partition| {
            partition.committed < partition.end && !is_known(&client.oldest, partition)
        })
        .map(|partition| (partition.partition, partition.committed))
        .collect()
}

/// Whether the record at the committed position was looked at already.
fn is_known(oldest: &HashMap<u32, (u64, Oldest)>, partition: &PartitionLag) -> bool {
    match oldest.get(&partition.partition) {
        Some((committed, Oldest::At(_))) => *committed == partition.committed,
        Some((committed, Oldest::NothingUntil(end))) => {
            *committed == partition.committed && *end >= partition.end
        }
        None => false,
    }
}

/// Ends an inspector beside the async threads: its end waits for librdkafka's threads.
pub fn retire(inspector: Arc<Inspector>) {
    let ended = std::thread::Builder::new()
        .name("kafka-inspector-end".to_owned())
        .spawn(move || drop(inspector));
    if let Err(error) = ended {
        tracing::warn!(%error, "cannot end a kafka client on a thread of its own");
    }
}
