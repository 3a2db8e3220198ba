//! Counters of a stage. For every stage `in = out + dropped + dead + returned + in progress`,
//! counted when a record is done, that is durable.

use std::sync::Arc;

use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry,
};
use tributary_schemas::{Error, ErrorKind, Result};

use super::holds::{Holding, Holds};

/// The metric families that all stages share.
#[derive(Clone)]
pub struct WorkerMetrics {
    taken: IntCounterVec,
    finished: IntCounterVec,
    dropped: IntCounterVec,
    dead: IntCounterVec,
    returned: IntCounterVec,
    in_progress: IntGaugeVec,
    failed: IntCounterVec,
    seconds: HistogramVec,
    held: IntGaugeVec,
    breaker_open: IntGaugeVec,
    holds: Holds,
}

/// The metrics of one stage.
#[derive(Clone)]
pub struct StageMetrics {
    taken: IntCounter,
    finished: IntCounter,
    dropped: IntCounter,
    dead: IntCounter,
    returned: IntCounter,
    in_progress: IntGauge,
    /// Failed attempts by stage and error kind.
    pub failed: IntCounterVec,
    /// Seconds from the first attempt to the last, waits included.
    pub seconds: Histogram,
    /// 1 while the stage's breaker is open.
    pub breaker_open: IntGauge,
    held: IntGauge,
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
    pub fn register(registry: &Registry) -> Result<Self> {
        let counter = |name: &str, help: &str, labels: &[&str]| {
            let family = IntCounterVec::new(Opts::new(name, help), labels).map_err(failed)?;
            registry
                .register(Box::new(family.clone()))
                .map_err(failed)?;
            Ok::<_, Error>(family)
        };
        let options = HistogramOpts::new(
            "tributary_stage_seconds",
            "Seconds per record and stage, waits included.",
        )
        .buckets(vec![0.0005, 0.002, 0.01, 0.05, 0.2, 1.0, 5.0, 30.0]);
        let seconds = HistogramVec::new(options, &["stage"]).map_err(failed)?;
        registry
            .register(Box::new(seconds.clone()))
            .map_err(failed)?;
        let gauge = |name: &str, help: &str| {
            let family = IntGaugeVec::new(Opts::new(name, help), &["stage"]).map_err(failed)?;
            registry
                .register(Box::new(family.clone()))
                .map_err(failed)?;
            Ok::<_, Error>(family)
        };
        let stage = &["stage"];
        Ok(Self {
            taken: counter(
                "tributary_stage_records_in_total",
                "Records that a stage took.",
                stage,
            )?,
            finished: counter(
                "tributary_stage_records_out_total",
                "Records that a stage processed, durably.",
                stage,
            )?,
            dropped: counter(
                "tributary_stage_records_dropped_total",
                "Records dropped because something newer is there.",
                stage,
            )?,
            dead: counter(
                "tributary_stage_records_dead_total",
                "Records that went to the dead letters, durably.",
                stage,
            )?,
            returned: counter(
                "tributary_stage_records_returned_total",
                "Records broken off, which come again or elsewhere.",
                stage,
            )?,
            failed: counter(
                "tributary_stage_attempts_failed_total",
                "Failed attempts by error kind.",
                &["stage", "kind"],
            )?,
            in_progress: gauge(
                "tributary_stage_records_in_progress",
                "Records that a stage has taken and not yet made durable.",
            )?,
            held: gauge(
                "tributary_stage_held",
                "Records and steps of a stage that wait for a store or a dependency.",
            )?,
            breaker_open: gauge(
                "tributary_stage_breaker_open",
                "1 while many records in a row failed of one reason.",
            )?,
            seconds,
            holds: Holds::default(),
        })
    }

    /// What the stages of this process wait for.
    pub fn holds(&self) -> Holds {
        self.holds.clone()
    }

    /// The metrics of the named stage; all of them are there from now on, at 0.
    pub fn stage(&self, name: &str) -> StageMetrics {
        ErrorKind::ALL.iter().for_each(|kind| {
            self.failed
                .with_label_values(&[name, kind.as_str()])
                .inc_by(0)
        });
        StageMetrics {
            taken: self.taken.with_label_values(&[name]),
            finished: self.finished.with_label_values(&[name]),
            dropped: self.dropped.with_label_values(&[name]),
            dead: self.dead.with_label_values(&[name]),
            returned: self.returned.with_label_values(&[name]),
            in_progress: self.in_progress.with_label_values(&[name]),
            failed: self.failed.clone(),
            seconds: self.seconds.with_label_values(&[name]),
            breaker_open: self.breaker_open.with_label_values(&[name]),
            held: self.held.with_label_values(&[name]),
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
        match self.ending {
            Some(Ending::Finished) => metrics.finished.inc(),
            Some(Ending::Dropped) => metrics.dropped.inc(),
            Some(Ending::Dead) => metrics.dead.inc(),
            None => metrics.returned.inc(),
        }
        metrics.in_progress.dec();
    }
}

fn failed(error: prometheus::Error) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("cannot register metrics: {error}"),
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_let_go_without_an_end_counts_as_returned() {
        let metrics = Arc::new(
            WorkerMetrics::register(&Registry::new())
                .unwrap()
                .stage("s"),
        );
        let (finished, _underway) = (metrics.take(), metrics.take());
        finished.end(Ending::Finished);
        drop(metrics.take());
        let counts = [&metrics.taken, &metrics.finished, &metrics.returned].map(IntCounter::get);
        assert_eq!((counts, metrics.in_progress.get()), ([3, 1, 1], 1));
    }
}
