//! What a stage is: a function from one record to records. The loop around it is in
//! [`super::worker`].

use async_trait::async_trait;
use tributary_schemas::{Error, Topic};

use super::{Position, Record, StoredRecord};

/// A record for a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where it goes.
    pub topic: Topic,
    /// What goes there.
    pub record: Record,
}

/// A step of the pipeline. It knows nothing of offsets, retries or dead letters, and must be
/// idempotent: after a crash the same record comes again.
#[async_trait]
pub trait Stage: Send + Sync {
    /// Name in logs, metrics and dead letters; also the consumer group.
    fn name(&self) -> &'static str;

    /// What this record becomes. Outputs are appended in their order, once [`Stage::flush`] has
    /// returned; then the record counts as done.
    ///
    /// Records of one key come one after the other, and their outputs are appended in that order;
    /// but the next one may come before the flush of the one before, so what `process` leaves
    /// elsewhere must be seen by the next call at once. Records of other keys come at the
    /// same time.
    async fn process(&self, input: &StoredRecord) -> Result<Vec<Output>, Error>;

    /// Makes durable whatever `process` calls that have returned left elsewhere (the index). Called
    /// before their outputs are appended.
    async fn flush(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Puts in order what these records made visible with the flush before. Called before their
    /// outputs are appended; what it returns is appended behind them, so that the last word on
    /// a document is said here. After an error it is called again.
    async fn settle(&self, _done: &[Position]) -> Result<Vec<Output>, Error> {
        Ok(Vec::new())
    }

    /// These records are over, settled or taken away: what `process` kept of them for
    /// [`Stage::settle`] is needed no more.
    fn over(&self, _records: &[Position]) {}

    /// Said of a record that goes to the dead letters, beside the dead letter itself.
    fn abandoned(&self, input: &StoredRecord, error: &Error) -> Vec<Output>;
}
