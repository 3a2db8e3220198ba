//! The audit record as a topic of the event log: written in batches, read from its beginning, or
//! followed from its end on. One partition, so that calls stand in the order in which they ended.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use tributary_schemas::audit::{AuditEntry, AuditPage, AuditQuery};
use tributary_schemas::{Error, ErrorKind, Topic, event};

use crate::Result;
use crate::event_log::topics::Topics;
use crate::event_log::{BatchLimit, Position, Record, Subscription, TopicSettings};

/// Calls that are read at once while the topic is followed.
const FOLLOWED: BatchLimit = BatchLimit {
    records: 500,
    bytes: 1 << 20,
};
/// The name of a group that never commits: only the ends matter here.
const GROUP: &str = "read-all";

/// The topic.
#[derive(Clone)]
pub struct AuditTopic(Topics);

impl AuditTopic {
    /// In this log; it may not be there yet.
    pub fn new(topics: Topics) -> Self {
        Self(topics)
    }

    /// Makes it, or gives it this retention; `None` keeps everything.
    pub async fn create(&self, retention_age: Option<Duration>) -> Result<()> {
        let settings = TopicSettings {
            partitions: 1,
            compacted: false,
            retention_age,
            retention_bytes: None,
        };
        self.0.create_one(Topic::Audit, settings).await
    }

    /// Appends calls durably.
    pub async fn append(&self, entries: &[AuditEntry]) -> Result<()> {
        let records: Result<Vec<Record>> = entries.iter().map(record).collect();
        self.0.append(Topic::Audit, records?).await.map(|_| ())
    }

    /// The newest calls that meet a query, at most `limit`. Reads the whole topic; none where there
    /// is no topic.
    pub async fn newest(&self, query: &AuditQuery, limit: usize) -> Result<AuditPage> {
        let mut found = VecDeque::new();
        let mut has_older = false;
        let see = |stored: crate::event_log::StoredRecord| {
            let Some(entry) = wanted(&stored.record, query) else {
                return;
            };
            if found.len() == limit {
                found.pop_front();
                has_older = true;
            }
            found.push_back(entry);
        };
        match self.0.scan(Topic::Audit, see).await {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            scanned => scanned?,
        }
        Ok(AuditPage {
            entries: found.into(),
            has_older,
        })
    }

    /// Those to come that meet a query. `NotFound` where there is no topic.
    pub async fn follow(&self, query: AuditQuery) -> Result<Following> {
        let ends = self.0.lag(Topic::Audit, GROUP).await?;
        let ends = ends.into_iter().map(|lag| Position {
            partition: lag.partition,
            offset: lag.end,
        });
        let from: Vec<Position> = ends.collect();
        let subscription = self.0.subscribe_from(Topic::Audit, &from).await?;
        Ok(Following {
            subscription,
            query,
        })
    }
}

/// Reads on as calls come.
pub struct Following {
    subscription: Box<dyn Subscription>,
    query: AuditQuery,
}

impl Following {
    /// Those that came within this time; may be none.
    pub async fn next(&mut self, wait: Duration) -> Result<Vec<AuditEntry>> {
        let batch = self.subscription.next_batch(FOLLOWED, wait).await?;
        let wanted = |stored: &crate::event_log::StoredRecord| wanted(&stored.record, &self.query);
        Ok(batch.iter().filter_map(wanted).collect())
    }
}

fn record(entry: &AuditEntry) -> Result<Record> {
    let json = serde_json::to_vec(entry).map_err(|error| {
        let what = format!("a call cannot be written to the audit record: {error}");
        Error::new(ErrorKind::Internal, what)
    })?;
    let schema = event::data_schema(event::TYPE_AUDIT_ENTRY).unwrap_or_default();
    let id = format!("{}/{}", entry.trace_id, entry.at_ms);
    let headers = [
        (event::CE_SPECVERSION, "1.0"),
        (event::CE_ID, id.as_str()),
        (event::CE_TYPE, event::TYPE_AUDIT_ENTRY),
        (event::CE_SOURCE, "tributary"),
        (event::CONTENT_TYPE, "application/json"),
        (event::CE_DATASCHEMA, schema),
    ];
    let header =
        |(name, value): (&str, &str)| (name.to_owned(), Bytes::copy_from_slice(value.as_bytes()));
    Ok(Record {
        key: Bytes::from(entry.key.clone().unwrap_or_default()),
        value: Some(json.into()),
        headers: headers.map(header).into(),
        timestamp_ms: entry.at_ms,
    })
}

/// The call of a record, if it meets a query. What is no call is passed over: on a broker anybody
/// may write.
fn wanted(record: &Record, query: &AuditQuery) -> Option<AuditEntry> {
    if !query.is_within(record.timestamp_ms) {
        return None;
    }
    let entry = serde_json::from_slice::<AuditEntry>(record.value.as_ref()?);
    entry.ok().filter(|entry| query.matches(entry))
}
