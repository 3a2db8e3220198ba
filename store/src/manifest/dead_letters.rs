//! Dead letters from the users' side: list, show, replay, drop. A resolution is a record of its own in the same topic, so the list
//! is what the topic adds up to.

use std::collections::BTreeMap;

use bytes::Bytes;
use tributary_schemas::{DeadLetter, Error, ErrorKind, Result, Topic};

use crate::Clock;
use crate::event_log::topics::Topics;
use crate::event_log::{Record, StoredRecord, dead_letter};

const RESOLVED: &str = "tributary_resolved_dead_letter";

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
        let mut open = BTreeMap::new();
        for stored in self.topics.read_all(Topic::DeadLetters).await? {
            apply(&mut open, stored);
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
