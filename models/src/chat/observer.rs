//! What is told of calls to whoever counts them: the process that has a registry of metrics.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::Reason;
use super::meter::Meter;
use super::request::{Finish, Usage};
use super::role::Role;

/// Counts calls. Called on async threads: nothing here may wait.
pub trait ChatObserver: Send + Sync {
    /// The first piece of a reply came.
    fn first_piece(&self, role: Role, endpoint: &str, took: Duration);

    /// A call is over.
    fn call(&self, call: &CallReport<'_>);

    /// An attempt failed before its first piece.
    fn attempt_failed(&self, endpoint: &str, reason: Reason);

    /// A server counted far fewer tokens than it was sent.
    fn prompt_cut(&self, endpoint: &str);

    /// An endpoint is left alone, or is not any more. Told at the start as well.
    fn circuit(&self, endpoint: &str, is_open: bool);
}

/// Whoever counts.
pub type SharedObserver = Arc<dyn ChatObserver>;

/// A call that is over.
#[derive(Clone, Copy, Debug)]
pub struct CallReport<'a> {
    /// Its role.
    pub role: Role,
    /// Its endpoint.
    pub endpoint: &'a str,
    /// `ok`, `cancelled`, or the name of a reason.
    pub outcome: &'static str,
    /// Its whole time, waiting for a turn included.
    pub took: Duration,
    /// Tokens, also of a call that was cancelled or failed in the middle.
    pub usage: Usage,
}

/// Nobody counts: a process that ends with its first calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl ChatObserver for Unobserved {
    fn first_piece(&self, _: Role, _: &str, _: Duration) {}
    fn call(&self, _: &CallReport<'_>) {}
    fn attempt_failed(&self, _: &str, _: Reason) {}
    fn prompt_cut(&self, _: &str) {}
    fn circuit(&self, _: &str, _: bool) {}
}

/// One call, reported when it is dropped. One that has no outcome by then was cancelled by its
/// caller.
pub(super) struct CallRecord {
    observer: SharedObserver,
    role: Role,
    endpoint: String,
    started: Instant,
    /// Of the work that the call belongs to.
    meter: Option<Meter>,
    over: Option<(&'static str, Duration)>,
    /// Tokens so far.
    pub usage: Usage,
}

impl CallRecord {
    /// A call begins.
    pub fn begin(observer: &SharedObserver, role: Role, endpoint: &str) -> Self {
        Self {
            observer: Arc::clone(observer),
            role,
            endpoint: endpoint.to_owned(),
            started: Instant::now(),
            meter: Meter::current(),
            over: None,
            usage: Usage::default(),
        }
    }

    /// The first piece came.
    pub fn first_piece(&self) {
        let took = self.started.elapsed();
        self.observer.first_piece(self.role, &self.endpoint, took);
    }

    /// The reply is over.
    pub fn ended(&mut self, finish: &Finish) {
        self.over = Some(match finish {
            Finish::Length => (Reason::CutOff.as_str(), self.started.elapsed()),
            _ => ("ok", self.started.elapsed()),
        });
    }

    /// The call failed.
    pub fn failed(&mut self, reason: Reason) {
        self.over = Some((reason.as_str(), self.started.elapsed()));
    }
}

impl Drop for CallRecord {
    fn drop(&mut self) {
        let cancelled = || ("cancelled", self.started.elapsed());
        if let Some(meter) = &self.meter {
            meter.add(self.role, self.usage);
        }
        let (outcome, took) = self.over.unwrap_or_else(cancelled);
        self.observer.call(&CallReport {
            role: self.role,
            endpoint: &self.endpoint,
            outcome,
            took,
            usage: self.usage,
        });
    }
}
