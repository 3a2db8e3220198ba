//! What an answer of the server means: one of our error kinds, and whether asking again can help.

use serde::Deserialize;
use tributary_schemas::{Error, ErrorKind};

/// What can be done about a cluster that is not there.
pub const UNREACHABLE_HINT: &str = "check store.search_index.elasticsearch.urls, and that the cluster runs (deploy/services/elasticsearch start)";
const DENIED_HINT: &str = "check username and password_file, or api_key_file, in [store.search_index.elasticsearch], and that they have the rights for the indexes of index_prefix";
const DISK_HINT: &str = "free disk space on the Elasticsearch nodes: above the flood-stage watermark they refuse writes; work goes on by itself once there is room";

/// The `error` of an answer or of an item of a bulk.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Cause {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    caused_by: Option<Box<Cause>>,
    #[serde(default)]
    root_cause: Vec<Cause>,
}

/// A failure as the server reports it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// HTTP status, of the answer or of the item.
    pub status: u16,
    cause: Cause,
}

#[derive(Deserialize)]
struct Body {
    error: Option<serde_json::Value>,
}

impl Failure {
    /// Of a whole answer; whatever is no JSON (a proxy's page) counts by its status alone.
    pub fn of_answer(status: u16, body: &[u8]) -> Self {
        let error = serde_json::from_slice::<Body>(body)
            .ok()
            .and_then(|body| body.error)
            .unwrap_or_default();
        let cause = match error {
            serde_json::Value::String(reason) => Cause {
                reason: Some(reason),
                ..Cause::default()
            },
            error => serde_json::from_value(error).ok().unwrap_or_default(),
        };
        Self { status, cause }
    }

    /// Of an item of a bulk.
    pub fn of_item(status: u16, cause: Option<Cause>) -> Self {
        Self {
            status,
            cause: cause.unwrap_or_default(),
        }
    }

    /// The same with the status that it would have had as an answer of its own.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// Whether the server named this type of error anywhere.
    pub fn is(&self, kind: &str) -> bool {
        self.causes().any(|cause| cause.kind == kind)
    }

    /// A limit of the disk: no wait of ours helps.
    pub fn is_disk_full(&self) -> bool {
        self.is("cluster_block_exception")
            && self.causes().any(|cause| {
                cause
                    .reason
                    .as_deref()
                    .is_some_and(|reason| reason.contains("/12/"))
            })
    }

    /// Whether the same request may succeed in a moment.
    pub fn may_pass(&self) -> bool {
        matches!(self.kind(), ErrorKind::Exhausted | ErrorKind::Unavailable) && !self.is_disk_full()
    }

    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        match self.status {
            _ if self.is("cluster_block_exception") => {
                if self.is_disk_full() {
                    ErrorKind::Exhausted
                } else {
                    ErrorKind::Unavailable
                }
            }
            401 | 403 => ErrorKind::Denied,
            404 => ErrorKind::NotFound,
            408 | 502..=504 => ErrorKind::Unavailable,
            409 => ErrorKind::Conflict,
            429 => ErrorKind::Exhausted,
            500 if self.is("process_cluster_event_timeout_exception") => ErrorKind::Unavailable,
            400..=499 => ErrorKind::Invalid,
            _ => ErrorKind::Internal,
        }
    }

    /// In our words. No record is to blame for a cluster that does not let us in, has lost an
    /// index, or fails.
    pub fn error(&self, what: &str) -> Error {
        let kind = self.kind();
        let error = Error::new(kind, format!("{what}: {}", self.describe()));
        let is_about_the_request = matches!(kind, ErrorKind::Invalid | ErrorKind::Conflict);
        let error = if is_about_the_request {
            error
        } else {
            error.of_environment()
        };
        match kind {
            ErrorKind::Exhausted if self.is_disk_full() => error.with_hint(DISK_HINT),
            ErrorKind::Exhausted => error.with_hint("the cluster has more work than it can queue; it is tried again by itself"),
            ErrorKind::Denied => error.with_hint(DENIED_HINT),
            ErrorKind::Unavailable if self.is("cluster_block_exception") => {
                error.with_hint("an index is blocked: look at index.blocks.* in its settings, or wait until the cluster has a master")
            }
            ErrorKind::Unavailable => error.with_hint(UNREACHABLE_HINT),
            _ => error,
        }
    }

    fn describe(&self) -> String {
        // The root says what is wrong; what stands above it is often only "all shards failed".
        let root = self.causes().filter(|cause| cause.reason.is_some()).last();
        match root.or(Some(&self.cause)) {
            Some(Cause {
                kind,
                reason: Some(reason),
                ..
            }) if kind.is_empty() => format!("{reason} (status {})", self.status),
            Some(Cause {
                kind,
                reason: Some(reason),
                ..
            }) => format!("{kind}: {reason} (status {})", self.status),
            _ => format!("Elasticsearch answered with status {}", self.status),
        }
    }

    fn causes(&self) -> impl Iterator<Item = &Cause> {
        let mut waiting = vec![&self.cause];
        std::iter::from_fn(move || {
            let cause = waiting.pop()?;
            waiting.extend(cause.caused_by.as_deref());
            waiting.extend(&cause.root_cause);
            Some(cause)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(status: u16, kind: &str, reason: &str) -> Failure {
        let body = serde_json::json!({"error": {"type": kind, "reason": reason, "root_cause": [{"type": kind, "reason": reason}]}});
        Failure::of_answer(status, body.to_string().as_bytes())
    }

    #[test]
    fn failures_are_sorted_into_kinds() {
        let flood = "index [t] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block];";
        let old_flood =
            "index [t] blocked by: [FORBIDDEN/12/index read-only / allow delete (api)];";
        let cases = [
            (
                failure(429, "es_rejected_execution_exception", "rejected execution"),
                ErrorKind::Exhausted,
                true,
            ),
            (
                failure(429, "circuit_breaking_exception", "Data too large"),
                ErrorKind::Exhausted,
                true,
            ),
            (
                failure(429, "cluster_block_exception", flood),
                ErrorKind::Exhausted,
                false,
            ),
            (
                failure(403, "cluster_block_exception", old_flood),
                ErrorKind::Exhausted,
                false,
            ),
            (
                failure(
                    403,
                    "cluster_block_exception",
                    "index [t] blocked by: [FORBIDDEN/8/index write (api)];",
                ),
                ErrorKind::Unavailable,
                true,
            ),
            (
                failure(
                    503,
                    "cluster_block_exception",
                    "blocked by: [SERVICE_UNAVAILABLE/2/no master];",
                ),
                ErrorKind::Unavailable,
                true,
            ),
            (
                failure(
                    503,
                    "unavailable_shards_exception",
                    "primary shard is not active",
                ),
                ErrorKind::Unavailable,
                true,
            ),
            (
                failure(403, "security_exception", "action is unauthorized"),
                ErrorKind::Denied,
                false,
            ),
            (
                failure(
                    401,
                    "security_exception",
                    "missing authentication credentials",
                ),
                ErrorKind::Denied,
                false,
            ),
            (
                failure(404, "index_not_found_exception", "no such index [t]"),
                ErrorKind::NotFound,
                false,
            ),
            (
                failure(400, "document_parsing_exception", "failed to parse"),
                ErrorKind::Invalid,
                false,
            ),
            (
                failure(409, "version_conflict_engine_exception", "conflict"),
                ErrorKind::Conflict,
                false,
            ),
            (
                Failure::of_answer(502, b"<html>bad gateway</html>"),
                ErrorKind::Unavailable,
                true,
            ),
            (Failure::of_answer(500, b""), ErrorKind::Internal, false),
        ];
        for (failure, kind, may_pass) in cases {
            assert_eq!(
                (failure.kind(), failure.may_pass()),
                (kind, may_pass),
                "{failure:?}"
            );
            let is_held = failure.error("cannot write").is_held();
            assert_eq!(
                is_held,
                !matches!(kind, ErrorKind::Invalid | ErrorKind::Conflict),
                "{failure:?}"
            );
        }
    }

    #[test]
    fn the_root_of_the_trouble_is_told() {
        let body = r#"{"error": {"type": "search_phase_execution_exception", "reason": "all shards failed",
            "root_cause": [{"type": "query_shard_exception", "reason": "failed to create query"}]}, "status": 400}"#;
        let error = Failure::of_answer(400, body.as_bytes()).error("cannot search");
        assert_eq!(
            error.to_string(),
            "cannot search: query_shard_exception: failed to create query (status 400)"
        );
    }
}
