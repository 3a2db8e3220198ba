//! Stops a stage from giving record after record up for one and the same reason: what many records
//! in a row fail of is hardly the fault of each. While it is open, failed records go back into the
//! queue and one record at a time is tried, with growing pauses; the first success closes it. So
//! that records which are to blame after all do not stand before the others for ever, one is given
//! up every now and then.
//!
//! Kinds that say of the content that it is at fault do not count: a producer may send any number
//! of damaged documents.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tributary_schemas::{Error, ErrorKind};

use super::WorkerSettings;
use super::holds::Holding;
use super::metrics::StageMetrics;

/// Reasons that are counted side by side; with more of them records do not fail of one reason.
const MOST_REASONS: usize = 32;
/// Characters of a message that tell one reason from another.
const REASON_CHARACTERS: usize = 200;

/// The breaker of one worker.
pub(super) struct Breaker {
    /// Failures of one reason in a row that open it; 0 turns it off.
    records: u32,
    /// How long after the last record that was given up the next one may be, while it is open.
    release: Duration,
    state: Mutex<State>,
    /// Whether there is anything for a success to change.
    is_touched: AtomicBool,
    /// Whoever holds it may try a record while the breaker is open.
    turn: tokio::sync::Mutex<()>,
    closed: Notify,
}

#[derive(Default)]
struct State {
    /// Records given up since the last success, by reason.
    failures: HashMap<(ErrorKind, String), u32>,
    open: Option<Open>,
}

struct Open {
    trials: u32,
    given_up_at: Instant,
    holding: Holding,
}

/// The right to try a record.
pub(super) enum Turn<'a> {
    /// The breaker is closed: anybody may.
    Free,
    /// It is open, and this is the one record that is tried.
    Trial {
        _turn: tokio::sync::MutexGuard<'a, ()>,
    },
}

impl Breaker {
    /// Closed.
    pub fn new(settings: &WorkerSettings) -> Self {
        Self {
            records: settings.breaker_records,
            release: Duration::from_secs(settings.breaker_release_seconds),
            state: Mutex::default(),
            is_touched: AtomicBool::new(false),
            turn: tokio::sync::Mutex::new(()),
            closed: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the right to try a record: while the breaker is open, after `pause(trials)` and
    /// one at a time.
    pub async fn turn<F: Future<Output = ()>>(&self, pause: impl Fn(u32) -> F) -> Turn<'_> {
        if self.trials().is_none() {
            return Turn::Free;
        }
        let turn = self.turn.lock().await;
        let closed = self.closed.notified();
        tokio::pin!(closed);
        // Registered before the look, so that a success after it ends the pause.
        closed.as_mut().enable();
        let Some(trials) = self.trials() else {
            return Turn::Free;
        };
        tokio::select! {
            () = closed => Turn::Free,
            () = pause(trials) => Turn::Trial { _turn: turn },
        }
    }

    /// Trials since it opened; `None` while it is closed.
    fn trials(&self) -> Option<u32> {
        if !self.is_touched.load(Ordering::Acquire) {
            return None;
        }
        self.state().open.as_ref().map(|open| open.trials)
    }

    /// A record passed: nothing is wrong in general.
    pub fn passed(&self, stage: &str, metrics: &StageMetrics) {
        if !self.is_touched.load(Ordering::Acquire) {
            return;
        }
        let mut state = self.state();
        self.is_touched.store(false, Ordering::Release);
        state.failures.clear();
        if state.open.take().is_some() {
            metrics.breaker_open.set(0);
            tracing::info!(stage, "a record passed, the stage goes on");
            self.closed.notify_waiters();
        }
    }

    /// A record would be given up for this. Whether it is to be kept and tried again instead.
    pub fn keeps(&self, error: &Error, stage: &str, metrics: &StageMetrics) -> bool {
        let says_nothing = error.is_of_record_alone() || is_about_content(error.kind());
        if self.records == 0 || says_nothing {
            return false;
        }
        let mut state = self.state();
        self.is_touched.store(true, Ordering::Release);
        if let Some(open) = &mut state.open {
            return open.keeps(error, self.release);
        }
        if !state.count(error, self.records) {
            return false;
        }
        tracing::error!(
            stage,
            records = self.records,
            error = %error.full_message(),
            "so many records in a row failed of this: the stage makes no more dead letters of it and tries one record at a time"
        );
        metrics.breaker_open.set(1);
        let holding = metrics.hold(stage, error);
        state.open = Some(Open {
            trials: 1,
            given_up_at: Instant::now(),
            holding,
        });
        true
    }
}

impl State {
    /// Whether so many records have failed of this in a row by now.
    fn count(&mut self, error: &Error, limit: u32) -> bool {
        let reason = (error.kind(), normalised(&error.to_string()));
        if self.failures.len() >= MOST_REASONS && !self.failures.contains_key(&reason) {
            self.failures.clear();
        }
        let count = self.failures.entry(reason).or_default();
        *count += 1;
        *count >= limit
    }
}

impl Open {
    fn keeps(&mut self, error: &Error, release: Duration) -> bool {
        self.trials = self.trials.saturating_add(1);
        self.holding.because(error);
        let is_due = !release.is_zero() && self.given_up_at.elapsed() >= release;
        if is_due {
            self.given_up_at = Instant::now();
        }
        !is_due
    }
}

/// Whether the kind says of what came in, and of nothing else, that it is at fault.
fn is_about_content(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Invalid | ErrorKind::Unsupported | ErrorKind::Corrupt
    )
}

/// A message without what differs from record to record: quoted names, and words with digits in
/// them.
fn normalised(message: &str) -> String {
    let mut kept = String::new();
    for (place, part) in message.split('`').enumerate() {
        if place % 2 == 1 {
            kept.push('`');
            continue;
        }
        for piece in part.split_inclusive(|character: char| !character.is_alphanumeric()) {
            let is_number = piece.contains(|character: char| character.is_ascii_digit());
            kept.push_str(if is_number { "#" } else { piece });
        }
    }
    tributary_schemas::error::cut(&mut kept, REASON_CHARACTERS);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reason_is_known_by_different_names_and_numbers() {
        let of = |id: &str, number: u32| {
            format!("blob {number}f3: cannot open `{id}`: Too many open files (os error 24)")
        };
        assert_eq!(normalised(&of("a", 1)), normalised(&of("b c", 99)));
        assert_ne!(normalised("cannot open"), normalised("cannot write"));
    }

    #[test]
    fn content_that_is_at_fault_says_nothing_about_the_rest() {
        let counted: Vec<&str> = ErrorKind::ALL
            .iter()
            .filter(|kind| !is_about_content(**kind))
            .map(|kind| kind.as_str())
            .collect();
        assert_eq!(
            counted,
            [
                "not_found",
                "conflict",
                "denied",
                "exhausted",
                "unavailable",
                "timeout",
                "internal"
            ]
        );
    }
}
