//! Every record that a topic has, once.

use std::time::Duration;

use tributary_schemas::{Error, ErrorKind, Result};

use super::{BatchLimit, EventLog, PartitionLag, StoredRecord};

const LIMIT: BatchLimit = BatchLimit {
    records: 1000,
    bytes: 8 << 20,
};
const WAIT: Duration = Duration::from_secs(10);
/// A group that never commits: only the ends matter here.
const GROUP: &str = "every-record";

/// Calls `each` for all that the topic had when it was asked, those of a partition in their order;
/// values that travel as references stay references. `NotFound` where there is no such topic.
pub async fn each_record(
    log: &dyn EventLog,
    topic: &str,
    mut each: impl FnMut(&StoredRecord),
) -> Result<()> {
    let ends = log.lag(topic, GROUP).await?;
    let mut subscription = log.subscribe(topic, None).await?;
    loop {
        let positions = subscription.positions();
        let is_read = |end: &PartitionLag| {
            end.end == end.start
                || positions.iter().any(|position| {
                    position.partition == end.partition && position.offset >= end.end
                })
        };
        if ends.iter().all(is_read) {
            return Ok(());
        }
        let batch = subscription.next_batch(LIMIT, WAIT).await?;
        if batch.is_empty() && subscription.positions() == positions {
            let message = format!("topic {topic} could not be read to its end");
            return Err(Error::new(ErrorKind::Timeout, message));
        }
        batch.iter().for_each(&mut each);
    }
}
