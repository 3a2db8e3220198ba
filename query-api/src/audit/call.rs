//! One call, from the door to the last byte of its answer.

use std::time::Instant;

use actix_web::dev::ServiceRequest;
use actix_web::http::{Method, StatusCode};
use jiff::Timestamp;
use tributary_schemas::audit::AuditEntry;

use super::{AuditLog, Trail};
use crate::http::caller::Caller;
use crate::trace_id;

/// What a call is recorded with that ends before there is an answer: the caller left, or it took
/// too long.
const NO_ANSWER: u16 = 499;

/// Is recorded when it is dropped; nothing happens where calls are not recorded.
pub struct Call(Option<Box<Open>>);

struct Open {
    /// See [`Call::forget`].
    is_forgotten: bool,
    entry: AuditEntry,
    started: Instant,
    trail: Trail,
    log: AuditLog,
}

impl Call {
    /// One that is not recorded.
    pub fn unrecorded() -> Self {
        Self(None)
    }

    /// One that begins now.
    pub fn begin(log: &AuditLog, request: &ServiceRequest) -> Self {
        let address = request
            .peer_addr()
            .map(|address| address.ip().to_canonical());
        let entry = AuditEntry {
            at_ms: Timestamp::now().as_millisecond(),
            address: address.map(|address| address.to_string()),
            method: known(request.method()).to_owned(),
            route: plain(&request.match_pattern().unwrap_or_default()),
            status: NO_ANSWER,
            trace_id: trace_id::current(),
            ..AuditEntry::default()
        };
        Self(Some(Box::new(Open {
            is_forgotten: false,
            entry,
            started: Instant::now(),
            trail: Trail::keeping(log.documents_per_call()),
            log: log.clone(),
        })))
    }

    /// Who makes it.
    pub fn made_by(&mut self, caller: &Caller) {
        if let Some(open) = &mut self.0 {
            open.entry.caller = caller.kind();
            open.entry.key = caller.key().map(str::to_owned);
            open.entry.name = caller.name().map(str::to_owned);
        }
    }

    /// Leaves no record after all.
    pub fn forget(&mut self) {
        if let Some(open) = &mut self.0 {
            open.is_forgotten = true;
        }
    }

    /// Where whoever answers notes what about.
    pub fn trail(&self) -> Trail {
        let open = self.0.as_ref();
        open.map(|open| open.trail.clone()).unwrap_or_default()
    }

    /// The head of the answer is there.
    pub fn answered(&mut self, status: StatusCode) {
        if let Some(open) = &mut self.0 {
            open.entry.status = status.as_u16();
        }
    }

    /// Bytes of the answer were handed over.
    pub fn sent(&mut self, bytes: usize) {
        if let Some(open) = &mut self.0 {
            open.entry.answer_bytes += bytes as u64;
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.is_forgotten {
            return;
        }
        let mut entry = std::mem::take(&mut self.entry);
        let took_ms = self.started.elapsed().as_millis();
        entry.took_ms = u64::try_from(took_ms).unwrap_or(u64::MAX);
        self.trail.tell(&mut entry);
        self.log.record(entry);
    }
}

/// A caller can make up methods, which are text.
fn known(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let found = KNOWN.into_iter().find(|known| *known == method.as_str());
    found.unwrap_or("other")
}

/// A pattern as the API description has it: `{id:.+}` is `{id}`.
fn plain(pattern: &str) -> String {
    let mut plain = String::with_capacity(pattern.len());
    let (mut depth, mut is_expression) = (0_u32, false);
    for character in pattern.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ':' if depth == 1 => is_expression = true,
            _ => {}
        }
        is_expression &= depth > 0;
        if !is_expression {
            plain.push(character);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_lose_their_expressions() {
        for (pattern, expected) in [
            ("/v1/documents/{id:.+}", "/v1/documents/{id}"),
            (
                "/v1/documents/{id:.+}/pages/{number:[0-9]{1,9}}",
                "/v1/documents/{id}/pages/{number}",
            ),
            ("/v1/images/{id}", "/v1/images/{id}"),
            ("", ""),
        ] {
            assert_eq!(plain(pattern), expected);
        }
    }
}
