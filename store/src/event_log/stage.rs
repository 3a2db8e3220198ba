//! What a stage is: a function from one record to records. The loop around it is in
//! [`super::worker`].

use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use tributary_schemas::{DocumentState, Error, PassedIngest, Topic, event};

use super::{Position, Record, StoredRecord, message};

/// What follows the document id in the key of a record that says what passed ingest. No id has a
/// control character.
const PASSED_KEY: &str = "\u{1}passed";

/// A record for a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where it goes.
    pub topic: Topic,
    /// What goes there.
    pub record: Record,
}

impl Output {
    /// The record that carries a report.
    pub fn report(state: &DocumentState) -> Result<Self, Error> {
        let record = message::encode(
            event::TYPE_DOCUMENT_STATE,
            &state.document_id,
            state.version,
            state,
            state.at_ms,
        )?;
        Ok(Self {
            topic: Topic::DocumentsStates,
            record,
        })
    }

    /// The record that says that a change of a document passed ingest.
    fn passed(document_id: &str, version: u64, now_ms: i64) -> Result<Self, Error> {
        let passed = PassedIngest {
            document_id: document_id.to_owned(),
            version,
        };
        let event_type = event::TYPE_PASSED_INGEST;
        let mut record = message::encode(event_type, document_id, version, &passed, now_ms)?;
        record.key = format!("{document_id}{PASSED_KEY}").into();
        Ok(Self {
            topic: Topic::DocumentsStates,
            record,
        })
    }

    /// Carries on the trace of the record that caused it.
    #[must_use]
    pub fn traced(self, cause: &Record) -> Self {
        Self {
            record: message::traced(self.record, cause),
            ..self
        }
    }
}

/// Where a stage passes documents on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// Read by the next stage.
    pub topic: Topic,
    /// What the messages are: one of the `TYPE_` constants of [`event`].
    pub event_type: &'static str,
}

/// What a record becomes, in the order in which it is appended. All of it carries on the trace of
/// that record.
pub struct Outputs<'a> {
    cause: &'a Record,
    next: Next,
    now_ms: i64,
    generation: Option<&'a str>,
    outputs: Vec<Output>,
}

impl<'a> Outputs<'a> {
    /// Nothing yet. `now_ms` is the time of what is passed on, milliseconds since 1970.
    pub fn of(cause: &'a Record, next: Next, now_ms: i64) -> Self {
        Self {
            cause,
            next,
            now_ms,
            generation: None,
            outputs: Vec::new(),
        }
    }

    /// What is passed on is for this generation of the index.
    #[must_use]
    pub fn for_generation(self, generation: &'a str) -> Self {
        Self {
            generation: Some(generation),
            ..self
        }
    }

    /// Reports what became of a document. Comes before what is passed on, so that the reports of a
    /// version are in their order.
    pub fn report(mut self, state: &DocumentState) -> Result<Self, Error> {
        self.outputs.push(Output::report(state)?.traced(self.cause));
        Ok(self)
    }

    /// Says for good that this change of a document passes ingest. Comes before what is passed on.
    pub fn passed(mut self, document_id: &str, version: u64) -> Result<Self, Error> {
        let passed = Output::passed(document_id, version, self.now_ms)?;
        self.outputs.push(passed.traced(self.cause));
        Ok(self)
    }

    /// Passes a version of a document on.
    pub fn pass_on<T: Serialize>(
        self,
        document_id: &str,
        version: u64,
        value: &T,
    ) -> Result<Self, Error> {
        let record = message::encode(
            self.next.event_type,
            document_id,
            version,
            value,
            self.now_ms,
        )?;
        Ok(self.push(record))
    }

    /// Passes on that the document goes with this version.
    #[must_use]
    pub fn remove(self, document_id: &str, version: u64) -> Self {
        let record = message::tombstone(self.next.event_type, document_id, version, self.now_ms);
        self.push(record)
    }

    /// All of it.
    pub fn done(self) -> Vec<Output> {
        self.outputs
    }

    fn push(mut self, record: Record) -> Self {
        let record = match self.generation {
            Some(generation) => message::for_generation(record, generation),
            None => record,
        };
        self.outputs.push(
            Output {
                topic: self.next.topic,
                record,
            }
            .traced(self.cause),
        );
        self
    }
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

    /// After which time a try that follows a failed one is at work, and waits no longer for what
    /// failed. `None` where it does until it ends: tries are short, and one that is long hangs.
    fn at_work_after(&self) -> Option<Duration> {
        None
    }

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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use bytes::Bytes;
    use tributary_schemas::{DocumentHeader, State};

    use super::*;
    use crate::manifest;

    const NEXT: Next = Next {
        topic: Topic::ChunksTagged,
        event_type: event::TYPE_CHUNKS_TAGGED,
    };
    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn everything_carries_the_trace_on_and_what_is_passed_on_its_generation() {
        let mut cause = message::tombstone(event::TYPE_DOCUMENT_CLEANED, "d", 3, 1);
        cause.headers.push((
            event::TRACEPARENT.to_owned(),
            Bytes::from_static(TRACE.as_bytes()),
        ));
        let document = DocumentHeader {
            document_id: "d".into(),
            version: 3,
            ..DocumentHeader::default()
        };
        let report = manifest::report(&document, State::Embedding, 2);
        let outputs = Outputs::of(&cause, NEXT, 2)
            .for_generation("g1")
            .report(&report)
            .unwrap();
        let outputs = outputs
            .pass_on("d", 3, &document)
            .unwrap()
            .remove("d", 3)
            .done();
        let topics: Vec<Topic> = outputs.iter().map(|output| output.topic).collect();
        assert_eq!(
            topics,
            [
                Topic::DocumentsStates,
                Topic::ChunksTagged,
                Topic::ChunksTagged
            ]
        );
        assert!(
            outputs
                .iter()
                .all(|output| output.record.header(event::TRACEPARENT) == Some(TRACE))
        );
        let generations: Vec<Option<&str>> = outputs
            .iter()
            .map(|output| output.record.header(event::GENERATION))
            .collect();
        assert_eq!(generations, [None, Some("g1"), Some("g1")]);
        assert_eq!(
            outputs
                .iter()
                .map(|output| output.record.value.is_some())
                .collect::<Vec<_>>(),
            [true, true, false]
        );
    }
}
