//! Counters of a stage. For every stage `in = out + dropped + dead + returned + in progress`,
//! counted when a record is done, that is durable.

use std::sync::Arc;

use tributary_schemas::{Error, ErrorKind, Result};

use super::holds::{Holding, Holds};
use crate::metrics::{Counter, Counters, Gauge, Gauges, Histogram, Histograms, MetricRegistry};

/// Upper bounds in seconds of the time that a record takes in a stage.
const SECONDS: [f64; 8] = [0.0005, 0.002, 0.01, 0.05, 0.2, 1.0, 5.0, 30.0];

/// The metric families that all stages share.
#[derive(Clone)]
pub struct WorkerMetrics {
    taken: Counters,
    finished: Counters,
    dropped: Counters,
    dead: Counters,
    returned: Counters,
    in_progress: Gauges,
    failed: Counters,
    seconds: Histograms,
    held: Gauges,
    breaker_open: Gauges,
    holds: Holds,
}

/// The metrics of one stage.
#[derive(Clone)]
pub struct StageMetrics {
    taken: Counter,
    finished: Counter,
    dropped: Counter,
    dead: Counter,
    returned: Counter,
    in_progress: Gauge,
    /// Failed attempts by stage and error kind.
    pub failed: Counters,
    /// Seconds from the first attempt to the last, waits included.
    pub seconds: Histogram,
    /// 1 while the stage's breaker is open.
    pub breaker_open: Gauge,
    held: Gauge,
    holds: Holds,
}

/// How a record left a stage for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Processed.
    Finished,
    /// Dropped because something newer is there.
    Dropped,
    /// Given up.
    Dead,
}

/// A record that a stage has taken. Whoever holds it ends it; one that is let go without that was
/// broken off and comes again.
#[must_use]
pub struct Underway {
    metrics: Arc<StageMetrics>,
    ending: Option<Ending>,
}

impl WorkerMetrics {
    /// Registers the families.
    pub fn register(registry: &MetricRegistry) -> Result<Self> {
        let counters = |name, help| registry.counters(name, help, &["stage"]);
        let gauges = |name, help| registry.gauges(name, help, &["stage"]);
        Ok(Self {
            taken: counters(
                "tributary_stage_records_in_total",
                "Records that a stage took.",
            )?,
            finished: counters(
                "tributary_stage_records_out_total",
                "Records that a stage processed, durably.",
            )?,
            dropped: counters(
                "tributary_stage_records_dropped_total",
                "Records dropped because something newer is there.",
            )?,
            dead: counters(
                "tributary_stage_records_dead_total",
                "Records that went to the dead letters, durably.",
            )?,
            returned: counters(
                "tributary_stage_records_returned_total",
                "Records broken off, which come again or elsewhere.",
            )?,
            failed: registry.counters(
                "tributary_stage_attempts_failed_total",
                "Failed attempts by error kind.",
                &["stage", "kind"],
            )?,
            in_progress: gauges(
                "tributary_stage_records_in_progress",
                "Records that a stage has taken and not yet made durable.",
            )?,
            held: gauges(
                "tributary_stage_held",
                "Records and steps of a stage that wait for a store or a dependency.",
            )?,
            breaker_open: gauges(
                "tributary_stage_breaker_open",
                "1 while many records in a row failed of one reason.",
            )?,
            seconds: registry.histograms(
                "tributary_stage_seconds",
                "Seconds per record and stage, waits included.",
                &["stage"],
                &SECONDS,
            )?,
            holds: Holds::default(),
        })
    }

    /// What the stages of this process wait for.
    pub fn holds(&self) -> Holds {
        self.holds.clone()
    }

    /// The metrics of the named stage; all of them are there from now on, at 0.
    pub fn stage(&self, name: &str) -> StageMetrics {
        for kind in ErrorKind::ALL {
            self.failed.with(&[name, kind.as_str()]);
        }
        StageMetrics {
            taken: self.taken.with(&[name]),
            finished: self.finished.with(&[name]),
            dropped: self.dropped.with(&[name]),
            dead: self.dead.with(&[name]),
            returned: self.returned.with(&[name]),
            in_progress: self.in_progress.with(&[name]),
            failed: self.failed.clone(),
            seconds: self.seconds.with(&[name]),
            breaker_open: self.breaker_open.with(&[name]),
            held: self.held.with(&[name]),
            holds: self.holds.clone(),
        }
    }
}

impl StageMetrics {
    /// Counts a record as taken.
    pub fn take(self: &Arc<Self>) -> Underway {
        self.in_progress.inc();
        self.taken.inc();
        Underway {
            metrics: Arc::clone(self),
            ending: None,
        }
    }

    /// Something of the stage waits for this to pass, for as long as the result is kept.
    pub(super) fn hold(&self, stage: &str, error: &Error) -> Holding {
        self.holds.begin(stage, &self.held, error.full_message())
    }
}

impl Underway {
    /// Counts the record as done.
    pub fn end(mut self, ending: Ending) {
        self.ending = Some(ending);
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let metrics = &self.metrics;
        let counter = match self.ending {
            Some(Ending::Finished) => &metrics.finished,
            Some(Ending::Dropped) => &metrics.dropped,
            Some(Ending::Dead) => &metrics.dead,
            None => &metrics.returned,
        };
        counter.inc();
        metrics.in_progress.dec();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_let_go_without_an_end_counts_as_returned() {
        let metrics = Arc::new(
            WorkerMetrics::register(&MetricRegistry::default())
                .unwrap()
                .stage("s"),
        );
        let (finished, _underway) = (metrics.take(), metrics.take());
        finished.end(Ending::Finished);
        drop(metrics.take());
        let counts =
            [&metrics.taken, &metrics.finished, &metrics.returned].map(|count| count.get());
        assert_eq!((counts, metrics.in_progress.get()), ([3, 1, 1], 1));
    }
}
