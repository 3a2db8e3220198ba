//! The id that a request is followed by, in its problems, log lines and events (W3C trace context).

use std::future::Future;
use std::hash::{BuildHasher, Hasher};

tokio::task_local! {
    static TRACE_ID: String;
}

/// Trace id of the request that is being worked on; zeros outside of one.
pub fn current() -> String {
    TRACE_ID
        .try_with(Clone::clone)
        .unwrap_or_else(|_| "0".repeat(32))
}

/// Does the work under this id.
pub async fn within<T>(trace_id: String, work: impl Future<Output = T>) -> T {
    TRACE_ID.scope(trace_id, work).await
}

/// 32 hexadecimal digits that nobody had before: two differently keyed hashes (the standard
/// library's random keys) of the time.
pub fn new_trace_id() -> String {
    let half = || {
        let mut hasher = std::hash::RandomState::new().build_hasher();
        hasher.write_i128(jiff::Timestamp::now().as_nanosecond());
        hasher.finish()
    };
    format!("{:016x}{:016x}", half(), half())
}
