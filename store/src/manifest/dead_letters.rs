//! Dead letters from the users' side: list, show, replay, drop. What is listed is in memory, by the
//! headers of the letters alone; a record is read where it lies when it is wanted. A letter that is
//! resolved gets a tombstone, and compaction takes both.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tributary_schemas::{DeadLetter, Error, ErrorKind, Result, Topic};

pub use super::letters::LetterFilter;
use super::letters::{LetterId, Letters};
use super::view::{Applied, View, ended};
use crate::Clock;
use crate::event_log::topics::Topics;
use crate::event_log::{BatchLimit, Position, Record, dead_letter};

/// Header of a resolution among the dead letters of before: the id of the letter.
const RESOLVED_OLD: &str = "tributary_resolved_dead_letter";
/// Tombstones in one append.
const RESOLVED_AT_ONCE: usize = 10_000;
const READ_LIMIT: BatchLimit = BatchLimit {
    records: 1000,
    bytes: 8 << 20,
};
const READ_WAIT: Duration = Duration::from_secs(30);

/// One page of the list.
pub struct LetterPage {
    /// Newest first.
    pub letters: Vec<DeadLetter>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<String>,
}

/// The open dead letters.
pub struct DeadLetters {
    topics: Topics,
    view: Arc<View<Letters>>,
    clock: Clock,
}

impl DeadLetters {
    /// Reads the headers of all letters and follows the topic from then on.
    pub async fn open(topics: Topics, clock: Clock) -> Result<Self> {
        move_old_letters(&topics).await?;
        let view = View::open(&topics, Letters::default(), Applied::new()).await?;
        Ok(Self {
            topics,
            view: Arc::new(view),
            clock,
        })
    }

    /// Those that are neither replayed nor dropped and meet the filter, newest first, at most
    /// `limit`, after the place that the page before named. Looks at each letter until it has so
    /// many, which may take a tenth of a second where there are many thousands.
    pub async fn page(
        &self,
        after: Option<&str>,
        limit: usize,
        filter: LetterFilter,
    ) -> Result<LetterPage> {
        let after = after.map(str::parse).transpose()?;
        self.view.catch_up(&self.topics).await?;
        let (view, filter) = (Arc::clone(&self.view), filter.prepared());
        let look = move || view.read(|letters| letters.page(after, limit, &filter));
        let looked = tokio::task::spawn_blocking(look).await;
        let (letters, next) = looked.map_err(|error| {
            let what = format!("the list of dead letters stopped: {error}");
            Error::new(ErrorKind::Internal, what)
        })?;
        Ok(LetterPage {
            letters,
            next: next.map(|place| place.to_string()),
        })
    }

    /// One of them, with the failed record's value (in full).
    pub async fn show(&self, id: &str) -> Result<(DeadLetter, Option<Bytes>)> {
        let (letter, record) = self.find(id).await?;
        let value = self.topics.redeem(record).await?.value;
        Ok((letter, value))
    }

    /// Sends the record through its topic again and closes the letter. Should it fail again, a new
    /// letter is written.
    pub async fn replay(&self, id: &str) -> Result<DeadLetter> {
        let (letter, record) = self.find(id).await?;
        let (topic, original) = dead_letter::original(&record)?;
        self.topics.append(topic, vec![original]).await?;
        self.resolve_with_superseded(id.parse()?).await?;
        Ok(letter)
    }

    /// Closes the letter.
    pub async fn drop_letter(&self, id: &str) -> Result<()> {
        let id = self.known(id).await?.0;
        self.resolve_with_superseded(id).await
    }

    /// Closes all letters that are there now; says how many.
    pub async fn drop_all(&self) -> Result<u64> {
        self.view.catch_up(&self.topics).await?;
        self.drop_until(None).await
    }

    /// Closes the letters that are older than that; says how many.
    pub async fn drop_older_than(&self, age: Duration) -> Result<u64> {
        let age_ms = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        self.drop_until(Some((self.clock)().saturating_sub(age_ms)))
            .await
    }

    /// How many are open, as far as this process has read.
    pub fn count(&self) -> usize {
        self.view.read(Letters::len)
    }

    /// Completes when the letters are followed no more, which only a panic can cause.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        ended(self.view.changes())
    }

    async fn drop_until(&self, until_ms: Option<i64>) -> Result<u64> {
        let ids = self.view.read(|letters| letters.ids(until_ms));
        for ids in ids.chunks(RESOLVED_AT_ONCE) {
            self.resolve(ids).await?;
        }
        Ok(ids.len() as u64)
    }

    async fn known(&self, id: &str) -> Result<(LetterId, DeadLetter, Position)> {
        let unknown = || {
            Error::new(
                ErrorKind::NotFound,
                format!("no open dead letter `{id:.200}`"),
            )
            .with_hint("see `tributary dead-letters list`")
        };
        let parsed: LetterId = id.parse().map_err(|_| unknown())?;
        self.view.catch_up(&self.topics).await?;
        let (letter, lies_at) = self
            .view
            .read(|letters| letters.get(parsed))
            .ok_or_else(unknown)?;
        Ok((parsed, letter, lies_at))
    }

    async fn find(&self, id: &str) -> Result<(DeadLetter, Record)> {
        let (_, letter, lies_at) = self.known(id).await?;
        match self.topics.read_at(Topic::DeadLetters, lies_at).await? {
            Some(stored) => Ok((letter, stored.record)),
            None => Err(Error::new(
                ErrorKind::NotFound,
                format!("dead letter `{id}` was resolved a moment ago"),
            )),
        }
    }

    async fn resolve_with_superseded(&self, id: LetterId) -> Result<()> {
        let ids = self.view.read(|letters| letters.with_superseded(id));
        self.resolve(&ids).await
    }

    async fn resolve(&self, ids: &[LetterId]) -> Result<()> {
        let timestamp_ms = (self.clock)();
        let tombstone = |id: &LetterId| Record {
            key: id.to_string().into(),
            timestamp_ms,
            ..Record::default()
        };
        self.topics
            .append(Topic::DeadLetters, ids.iter().map(tombstone).collect())
            .await
            .map(drop)
    }
}

/// Moves what is open among the dead letters of before they were compacted, once. A crash in
/// between moves some of them twice, to the same place.
async fn move_old_letters(topics: &Topics) -> Result<()> {
    let open = open_old_letters(topics).await?;
    for (id, position) in &open {
        let Some(stored) = topics.read_at(Topic::OldDeadLetters, *position).await? else {
            continue;
        };
        let resolved = Record {
            key: stored.record.key.clone(),
            headers: vec![(
                RESOLVED_OLD.to_owned(),
                Bytes::copy_from_slice(id.as_bytes()),
            )],
            timestamp_ms: stored.record.timestamp_ms,
            value: None,
        };
        topics
            .append(
                Topic::DeadLetters,
                vec![dead_letter::upgraded(stored.record)?],
            )
            .await?;
        topics.append(Topic::OldDeadLetters, vec![resolved]).await?;
    }
    if !open.is_empty() {
        tracing::info!(
            letters = open.len(),
            "dead letters of an earlier version were moved to their new topic"
        );
    }
    Ok(())
}

async fn open_old_letters(topics: &Topics) -> Result<BTreeMap<String, Position>> {
    let ends = match topics.lag(Topic::OldDeadLetters, "read-all").await {
        Ok(ends) => ends,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    };
    let mut left: BTreeMap<u32, u64> = ends
        .iter()
        .filter(|lag| lag.end > lag.start)
        .map(|lag| (lag.partition, lag.end))
        .collect();
    let mut subscription = topics.subscribe_from(Topic::OldDeadLetters, &[]).await?;
    let mut open = BTreeMap::new();
    while !left.is_empty() {
        let batch = subscription.next_batch(READ_LIMIT, READ_WAIT).await?;
        if batch.is_empty() {
            tracing::error!(
                "some dead letters of an earlier version cannot be read; they stay where they are"
            );
            break;
        }
        for stored in batch {
            let position = stored.position;
            if let Some(id) = stored.record.header(RESOLVED_OLD) {
                open.remove(id);
            } else if let Ok(id) = LetterId::of(&stored.record) {
                open.insert(id.to_string(), position);
            }
            left.retain(|partition, end| {
                *partition != position.partition || position.offset + 1 < *end
            });
        }
    }
    Ok(open)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::blobs::Blobs;
    use crate::event_log::embedded::{self, EmbeddedEventLog};
    use crate::event_log::{EventLog, StoredRecord, TopicSettings};

    fn log_config() -> embedded::Config {
        embedded::Config {
            segment_bytes: 4096,
            max_record_bytes: 4 << 20,
            linger_ms: 0,
            queue_bytes: 8 << 20,
            maintenance_interval_seconds: 0,
            compaction_dirty_ratio: 0.0,
            tombstone_retention_seconds: 0,
        }
    }

    fn letter(offset: u64, bytes: usize) -> Record {
        let record = Record {
            key: Bytes::from(format!("d{offset}")),
            value: Some(vec![b'x'; bytes].into()),
            ..Record::default()
        };
        let failed = StoredRecord {
            position: Position {
                partition: 0,
                offset,
            },
            record,
        };
        let error = Error::new(ErrorKind::Invalid, "strange");
        let failure = dead_letter::Failure {
            topic: Topic::DocumentsRaw,
            stage: "ingest",
            attempts: 1,
            error: &error,
            at_ms: offset as i64,
        };
        dead_letter::record(&failed, &failure)
    }

    async fn opened(folder: &std::path::Path) -> (Arc<EmbeddedEventLog>, Topics) {
        let log = Arc::new(EmbeddedEventLog::open(&folder.join("log"), log_config()).unwrap());
        let topics = Topics::new(
            Arc::clone(&log) as _,
            "t".into(),
            Blobs::local(&folder.join("blobs")).unwrap(),
            1 << 20,
        );
        topics.create(2, None, None).await.unwrap();
        (log, topics)
    }

    #[tokio::test]
    async fn letters_are_replayed_and_dropped_and_compaction_takes_what_is_resolved() {
        let folder = tempfile::tempdir().unwrap();
        let (log, topics) = opened(folder.path()).await;
        let letters = DeadLetters::open(topics.clone(), Arc::new(|| 100))
            .await
            .unwrap();
        topics
            .append(
                Topic::DeadLetters,
                (0..50).map(|offset| letter(offset, 900_000)).collect(),
            )
            .await
            .unwrap();
        let page = letters
            .page(None, 3, LetterFilter::default())
            .await
            .unwrap();
        assert_eq!(
            page.letters
                .iter()
                .map(|letter| (letter.offset, letter.bytes))
                .collect::<Vec<_>>(),
            [(49, 900_000), (48, 900_000), (47, 900_000)]
        );
        let id = page.letters[1].id.clone();
        assert_eq!(letters.show(&id).await.unwrap().1.unwrap().len(), 900_000);
        letters.replay(&id).await.unwrap();
        let replayed = topics
            .read_all(Topic::DocumentsRaw)
            .await
            .unwrap()
            .pop()
            .unwrap();
        assert_eq!(
            (replayed.record.key.as_ref(), replayed.record.headers.len()),
            (b"d48".as_slice(), 1),
            "only the claim check"
        );
        assert_eq!(
            letters.show(&id).await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
        assert_eq!(
            letters
                .drop_older_than(Duration::from_millis(90))
                .await
                .unwrap(),
            11
        );
        assert_eq!(letters.drop_all().await.unwrap(), 38);
        assert_eq!(
            (
                letters
                    .page(None, 9, LetterFilter::default())
                    .await
                    .unwrap()
                    .letters
                    .len(),
                letters.count()
            ),
            (0, 0)
        );

        // Whatever stands in the last segment, which is never compacted, is not one of the resolved
        // letters.
        topics
            .append(
                Topic::DeadLetters,
                (100..200).map(|offset| letter(offset, 100)).collect(),
            )
            .await
            .unwrap();
        log.compact("t.dead-letters.v2").await.unwrap();
        let kept = topics.read_all(Topic::DeadLetters).await.unwrap();
        let resolved: Vec<_> = kept
            .iter()
            .filter(|stored| {
                dead_letter::read(&stored.record).is_ok_and(|letter| letter.offset < 50)
            })
            .collect();
        assert!(resolved.is_empty(), "{resolved:?}");
        assert_eq!(
            letters
                .page(None, 200, LetterFilter::default())
                .await
                .unwrap()
                .letters
                .len(),
            100
        );
    }

    #[tokio::test]
    async fn letters_of_before_are_moved_once() {
        let folder = tempfile::tempdir().unwrap();
        let (log, topics) = opened(folder.path()).await;
        let settings = TopicSettings {
            partitions: 2,
            compacted: false,
            retention_age: None,
            retention_bytes: None,
        };
        log.create_topic("t.dead-letters.v1", settings)
            .await
            .unwrap();
        let old = |offset| {
            let mut old = letter(offset, 10);
            old.key = Bytes::from(format!("d{offset}"));
            old.headers
                .retain(|(name, _)| name != tributary_schemas::event::dead_letter::KEY);
            old
        };
        let resolved = Record {
            headers: vec![(RESOLVED_OLD.to_owned(), Bytes::from("documents.raw.v1-0-1"))],
            value: None,
            ..old(1)
        };
        topics
            .append(
                Topic::OldDeadLetters,
                vec![old(0), old(1), resolved, old(2)],
            )
            .await
            .unwrap();
        for _ in 0..2 {
            let letters = DeadLetters::open(topics.clone(), Arc::new(|| 100))
                .await
                .unwrap();
            let page = letters
                .page(None, 9, LetterFilter::default())
                .await
                .unwrap();
            let shown: Vec<_> = page
                .letters
                .iter()
                .map(|letter| (letter.offset, letter.document_id.as_str()))
                .collect();
            assert_eq!(shown, [(2, "d2"), (0, "d0")]);
        }
        assert_eq!(
            topics.read_all(Topic::DeadLetters).await.unwrap().len(),
            2,
            "moved once"
        );
    }
}
