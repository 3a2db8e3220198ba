//! Whether the cluster answers anybody at all. Where it hangs, each question would otherwise wait
//! for the whole time limit of a request, though the one before has just done so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What the last request that came to an end found.
pub struct Silence {
    lasts: AtomicBool,
    limit: Duration,
}

/// A request on its way; dropped without an answer after the limit, it tells of a silence.
pub struct Waiting<'a> {
    silence: &'a Silence,
    since: Instant,
    is_over: AtomicBool,
}

impl Silence {
    /// `limit` is how long a question waits while nobody is answered.
    pub fn new(limit: Duration) -> Self {
        Self {
            lasts: AtomicBool::new(false),
            limit,
        }
    }

    /// How long a question waits while nobody is answered.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Whether nothing was answered since a request waited in vain.
    pub fn lasts(&self) -> bool {
        self.lasts.load(Ordering::Acquire)
    }

    /// A request was given up without an answer.
    pub fn begins(&self) {
        self.lasts.store(true, Ordering::Release);
    }

    /// A request goes out.
    pub fn waiting(&self) -> Waiting<'_> {
        Waiting {
            silence: self,
            since: Instant::now(),
            is_over: AtomicBool::new(false),
        }
    }
}

impl Waiting<'_> {
    /// The cluster said something, whatever it was.
    pub fn answered(&self) {
        self.refused();
        self.silence.lasts.store(false, Ordering::Release);
    }

    /// There was nobody to say anything: the sender decides how often to try.
    pub fn refused(&self) {
        self.is_over.store(true, Ordering::Release);
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.is_over.load(Ordering::Acquire) && self.since.elapsed() >= self.silence.limit {
            self.silence.begins();
        }
    }
}
