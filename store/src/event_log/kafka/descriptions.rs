//! What the brokers say of topics: what this user may do with one (KIP-430; `doctor` asks: without
//! it, a missing right is noticed by the first record), and which topic a name stands for now.
//! librdkafka has the question, its Rust client has not.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::bindings as native;
use rdkafka::bindings::rd_kafka_AclOperation_t as Operation;
use rdkafka::client::Client;
use rdkafka::error::RDKafkaErrorCode as Code;
use tributary_schemas::{Error, ErrorKind, Result};

use super::{errors, no_topic};

/// What the program does with every topic of its own, and how `doctor` calls it.
const NEEDED: [(Operation, &str); 2] = [
    (Operation::RD_KAFKA_ACL_OPERATION_READ, "read"),
    (Operation::RD_KAFKA_ACL_OPERATION_WRITE, "write"),
];

/// An object of librdkafka, destroyed with this.
struct Owned<T>(*mut T, unsafe extern "C" fn(*mut T));

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: it was made for this and is used nowhere else.
            unsafe { (self.1)(self.0) };
        }
    }
}

/// What the user of the client would need to do with an existing topic and may not: `read`, `write`.
/// Nothing where brokers do not tell. Blocks.
pub fn denied<C: ClientContext>(
    client: &Client<C>,
    topic: &str,
    timeout: Duration,
) -> Result<Vec<&'static str>> {
    let event = described(client, &[topic], timeout)?;
    let allowed = allowed(&event, topic)?;
    let is_denied = |operation: Operation| {
        let known = allowed.as_ref();
        known.is_some_and(|known| !known.contains(&(operation as u32)))
    };
    let denied = NEEDED.iter().filter(|(needed, _)| is_denied(*needed));
    Ok(denied.map(|(_, name)| *name).collect())
}

/// Which topic a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Another one for every topic that was ever made (KIP-516).
    pub id: (i64, i64),
    /// Partitions that it has now.
    pub partitions: u32,
}

/// Which topics these names stand for; without those that are not there now. Blocks.
pub fn identities<C: ClientContext>(
    client: &Client<C>,
    topics: &[&str],
    timeout: Duration,
) -> Result<HashMap<String, Identity>> {
    let event = described(client, topics, timeout)?;
    let mut count = 0;
    // SAFETY: what is read belongs to the event, which outlives this function, and is as long as
    // librdkafka says.
    let found = unsafe {
        let result = native::rd_kafka_event_DescribeTopics_result(event.0);
        let first = native::rd_kafka_DescribeTopics_result_topics(result, &raw mut count);
        if count == 0 {
            return Ok(HashMap::new());
        }
        std::slice::from_raw_parts(first, count)
    };
    Ok(found.iter().filter_map(|topic| identity(*topic)).collect())
}

/// One topic of an answer, unless it is not there.
fn identity(topic: *const native::rd_kafka_TopicDescription_t) -> Option<(String, Identity)> {
    let mut partitions = 0;
    // SAFETY: the caller's answer is alive, and all of this belongs to it.
    unsafe {
        let error = native::rd_kafka_TopicDescription_error(topic);
        if Code::from(native::rd_kafka_error_code(error)) != Code::NoError {
            return None;
        }
        let name = CStr::from_ptr(native::rd_kafka_TopicDescription_name(topic));
        let id = native::rd_kafka_TopicDescription_topic_id(topic);
        native::rd_kafka_TopicDescription_partitions(topic, &raw mut partitions);
        let identity = Identity {
            id: (
                native::rd_kafka_Uuid_most_significant_bits(id),
                native::rd_kafka_Uuid_least_significant_bits(id),
            ),
            partitions: u32::try_from(partitions).unwrap_or(u32::MAX),
        };
        Some((name.to_str().ok()?.to_owned(), identity))
    }
}

/// The brokers' answer about topics.
fn described<C: ClientContext>(
    client: &Client<C>,
    topics: &[&str],
    timeout: Duration,
) -> Result<Owned<native::rd_kafka_event_t>> {
    let named = |topic: &&str| CString::new(*topic).map_err(|_| no_topic(topic));
    let owned = topics.iter().map(named).collect::<Result<Vec<CString>>>()?;
    let milliseconds = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    let handle = client.native_ptr();
    let mut names: Vec<_> = owned.iter().map(|name| name.as_ptr()).collect();
    // SAFETY: the client is alive throughout, the names outlive the request that copies them, and
    // each object is destroyed once, by its guard.
    let event = unsafe {
        let for_topics = native::rd_kafka_admin_op_t::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS;
        let options = Owned(
            native::rd_kafka_AdminOptions_new(handle, for_topics),
            native::rd_kafka_AdminOptions_destroy,
        );
        // Refused only with options of another request.
        let _refusal = Owned(
            native::rd_kafka_AdminOptions_set_include_authorized_operations(options.0, 1),
            native::rd_kafka_error_destroy,
        );
        let queue = Owned(
            native::rd_kafka_queue_new(handle),
            native::rd_kafka_queue_destroy,
        );
        let topics = Owned(
            native::rd_kafka_TopicCollection_of_topic_names(names.as_mut_ptr(), names.len()),
            native::rd_kafka_TopicCollection_destroy,
        );
        native::rd_kafka_DescribeTopics(handle, topics.0, options.0, queue.0);
        Owned(
            native::rd_kafka_queue_poll(queue.0, milliseconds),
            native::rd_kafka_event_destroy,
        )
    };
    let what = || {
        format!(
            "cannot ask kafka what it knows of topic `{}`",
            topics.join("`, `")
        )
    };
    if event.0.is_null() {
        return Err(Error::new(ErrorKind::Unavailable, what()));
    }
    // SAFETY: the event is alive.
    let code = Code::from(unsafe { native::rd_kafka_event_error(event.0) });
    match code {
        Code::NoError => Ok(event),
        code => Err(errors::from_code(what(), code)),
    }
}

/// The operations that the answer allows; `None` where it says nothing of them.
fn allowed(event: &Owned<native::rd_kafka_event_t>, topic: &str) -> Result<Option<Vec<u32>>> {
    let (mut topics, mut operations) = (0, 0);
    // SAFETY: what is read belongs to the event, which outlives this function, and is as long as
    // librdkafka says. Operations are read as numbers: brokers may know more of them than the type.
    let first = unsafe {
        let result = native::rd_kafka_event_DescribeTopics_result(event.0);
        let described = native::rd_kafka_DescribeTopics_result_topics(result, &raw mut topics);
        if topics == 0 {
            return Err(no_topic(topic));
        }
        let counted = &raw mut operations;
        native::rd_kafka_TopicDescription_authorized_operations(*described, counted).cast::<u32>()
    };
    if first.is_null() {
        return Ok(None);
    }
    // SAFETY: as above.
    let known = unsafe { std::slice::from_raw_parts(first, operations) };
    Ok(Some(known.to_vec()))
}
