//! Dead letters from the users' side: list, show, replay, drop. A resolution is a record of its own in the same topic, so the list
//! is what the topic adds up to.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use tributary_schemas::{DeadLetter, Error, ErrorKind, Result, Topic};

use crate::Clock;
use crate::event_log::topics::Topics;
use crate::event_log::{BatchLimit, Record, StoredRecord, dead_letter};

const RESOLVED: &str = "tributary_resolved_dead_letter";
const READ_LIMIT: BatchLimit = BatchLimit { records: 1000, bytes: 8 << 20 };

/// The open dead letters.
pub struct DeadLetters {
    topics: Topics,
    clock: Clock,
}

impl DeadLetters {
    /// Over the given log.
    pub fn new(topics: Topics, clock: Clock) -> Self {
        Self { topics, clock }
    }

    /// All that are neither replayed nor dropped, newest first.
    pub async fn list(&self) -> Result<Vec<DeadLetter>> {
        let mut letters: Vec<DeadLetter> = self.open().await?.into_values().map(|(letter, _)| letter).collect();
        letters.sort_by_key(|letter| std::cmp::Reverse(letter.at_ms));
        Ok(letters)
    }

    /// One of them, with the failed record's value (in full).
    pub async fn show(&self, id: &str) -> Result<(DeadLetter, Option<Bytes>)> {
        let (letter, record) = self.find(id).await?;
        let value = self.topics.redeem(record).await?.value;
        Ok((letter, value))
    }

    /// Sends the record through its topic again and closes the letter. Should it fail again, a new letter is written.
    pub async fn replay(&self, id: &str) -> Result<DeadLetter> {
        let (letter, record) = self.find(id).await?;
        let (topic, original) = dead_letter::original(&record)?;
        self.topics.append(topic, vec![original]).await?;
        self.resolve(&letter).await?;
        Ok(letter)
    }

    /// Closes the letter.
    pub async fn drop_letter(&self, id: &str) -> Result<DeadLetter> {
        let (letter, _) = self.find(id).await?;
        self.resolve(&letter).await?;
        Ok(letter)
    }

    async fn find(&self, id: &str) -> Result<(DeadLetter, Record)> {
        self.open().await?.remove(id).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("no open dead letter `{id}`")).with_hint("see `tributary dead-letters list`")
        })
    }

    async fn resolve(&self, letter: &DeadLetter) -> Result<()> {
        let record = Record {
            key: Bytes::copy_from_slice(letter.document_id.as_bytes()),
            value: None,
            headers: vec![(RESOLVED.to_owned(), Bytes::copy_from_slice(letter.id.as_bytes()))],
            timestamp_ms: (self.clock)(),
        };
        self.topics.append(Topic::DeadLetters, vec![record]).await.map(drop)
    }

    /// Reads the topic from its start: dead letters are few, and seldom asked for.
    async fn open(&self) -> Result<BTreeMap<String, (DeadLetter, Record)>> {
        let ends = self.topics.lag(Topic::DeadLetters, "dead-letter-list").await?;
        let mut to_read: BTreeMap<u32, u64> = ends.iter().filter(|lag| lag.end > lag.start).map(|lag| (lag.partition, lag.end)).collect();
        let mut subscription = self.topics.subscribe(Topic::DeadLetters, None).await?;
        let mut open = BTreeMap::new();
        while !to_read.is_empty() {
            let batch = subscription.next_batch(READ_LIMIT, Duration::from_secs(10)).await?;
            if batch.is_empty() {
                return Err(Error::new(ErrorKind::Timeout, "the dead letters could not be read within 10 s"));
            }
            for stored in batch {
                if to_read.get(&stored.position.partition).is_some_and(|end| stored.position.offset + 1 >= *end) {
                    to_read.remove(&stored.position.partition);
                }
                apply(&mut open, stored);
            }
        }
        Ok(open)
    }
}

fn apply(open: &mut BTreeMap<String, (DeadLetter, Record)>, stored: StoredRecord) {
    if let Some(id) = stored.record.header(RESOLVED) {
        open.remove(id);
        return;
    }
    match dead_letter::read(&stored.record) {
        Ok(letter) => {
            open.insert(letter.id.clone(), (letter, stored.record));
        }
        Err(error) => tracing::warn!(position = ?stored.position, %error, "a record among the dead letters cannot be read"),
    }
}
