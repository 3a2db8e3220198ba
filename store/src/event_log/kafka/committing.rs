//! Commits with an end. The binding's own commit waits for as long as librdkafka takes, which is
//! for ever where the coordinator is lost and the rebalance after it waits, in
//! [`super::membership::Membership::revoke`], for that very commit.

use std::ffi::c_void;
use std::time::{Duration, Instant};

use rdkafka::bindings::{
    rd_kafka_commit_queue, rd_kafka_queue_destroy, rd_kafka_queue_new,
    rd_kafka_queue_poll_callback, rd_kafka_queue_t, rd_kafka_t, rd_kafka_topic_partition_list_t,
};
use rdkafka::consumer::Consumer as _;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode as Code};
use rdkafka::topic_partition_list::TopicPartitionList;
use rdkafka::types::RDKafkaRespErr;

use super::consumer::Consumer;

/// Longest single wait for the answer.
const LOOK: Duration = Duration::from_millis(100);

/// Where the answer to one commit arrives.
struct Answers(*mut rd_kafka_queue_t);

impl Drop for Answers {
    fn drop(&mut self) {
        // SAFETY: the queue was made for this commit and is used by nobody else; an answer that is
        // still to come is dropped by librdkafka.
        unsafe { rd_kafka_queue_destroy(self.0) };
    }
}

/// Commits and waits for the answer, at most for `timeout`: then the positions may or may not be
/// committed.
pub fn commit(
    consumer: &Consumer,
    positions: &TopicPartitionList,
    timeout: Duration,
) -> KafkaResult<()> {
    let client = consumer.client().native_ptr();
    // SAFETY: the client lives as long as the consumer, which outlives the queue.
    let answers = Answers(unsafe { rd_kafka_queue_new(client) });
    let mut answer: Option<RDKafkaRespErr> = None;
    // SAFETY: the positions are copied. `note` is called by the polls below alone, on this thread,
    // while `answer` lives.
    let asked = unsafe {
        rd_kafka_commit_queue(
            client,
            positions.ptr(),
            answers.0,
            Some(note),
            (&raw mut answer).cast(),
        )
    };
    succeeded(asked)?;
    let deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // SAFETY: the queue is open.
        unsafe {
            rd_kafka_queue_poll_callback(
                answers.0,
                i32::try_from(left.min(LOOK).as_millis()).unwrap_or(0),
            )
        };
        // SAFETY: written by `note`, on this thread, through the pointer that librdkafka was given.
        if let Some(answer) = unsafe { (&raw const answer).read_volatile() } {
            return succeeded(answer);
        }
        if left.is_zero() {
            return Err(KafkaError::ConsumerCommit(Code::OperationTimedOut));
        }
    }
}

/// Notes the answer where the commit waits for it.
unsafe extern "C" fn note(
    _: *mut rd_kafka_t,
    answer: RDKafkaRespErr,
    _: *mut rd_kafka_topic_partition_list_t,
    place: *mut c_void,
) {
    // SAFETY: `place` is the variable that `commit` handed over, and `commit` is what polls.
    unsafe { place.cast::<Option<RDKafkaRespErr>>().write(Some(answer)) };
}

fn succeeded(answer: RDKafkaRespErr) -> KafkaResult<()> {
    match answer {
        RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR => Ok(()),
        error => Err(KafkaError::ConsumerCommit(error.into())),
    }
}
