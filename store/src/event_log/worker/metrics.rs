//! Counters of a stage. For every stage `taken = finished + dropped + dead + in progress`.

use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry};
use tributary_schemas::{Error, ErrorKind, Result};

/// The metric families that all stages share.
#[derive(Clone)]
pub struct WorkerMetrics {
    taken: IntCounterVec,
    finished: IntCounterVec,
    failed: IntCounterVec,
    dropped: IntCounterVec,
    dead: IntCounterVec,
    seconds: HistogramVec,
}

/// The metrics of one stage.
#[derive(Clone)]
pub struct StageMetrics {
    /// Records taken from the input topic.
    pub taken: IntCounter,
    /// Records processed.
    pub finished: IntCounter,
    /// Failed attempts by stage and error kind.
    pub failed: IntCounterVec,
    /// Records dropped because something newer is there.
    pub dropped: IntCounter,
    /// Records given up.
    pub dead: IntCounter,
    /// Seconds from the first attempt to the last, waits included.
    pub seconds: Histogram,
}

impl WorkerMetrics {
    /// Registers the families.
    pub fn register(registry: &Registry) -> Result<Self> {
        let counter = |name: &str, help: &str, labels: &[&str]| {
            let family = IntCounterVec::new(Opts::new(name, help), labels).map_err(failed)?;
            registry.register(Box::new(family.clone())).map_err(failed)?;
            Ok::<_, Error>(family)
        };
        let options = HistogramOpts::new("tributary_stage_seconds", "Seconds per document and stage, waits included.")
            .buckets(vec![0.0005, 0.002, 0.01, 0.05, 0.2, 1.0, 5.0, 30.0]);
        let seconds = HistogramVec::new(options, &["stage"]).map_err(failed)?;
        registry.register(Box::new(seconds.clone())).map_err(failed)?;
        Ok(Self {
            taken: counter("tributary_documents_in_total", "Records that a stage took.", &["stage"])?,
            finished: counter("tributary_documents_out_total", "Records that a stage processed.", &["stage"])?,
            failed: counter("tributary_documents_failed_total", "Failed attempts by error kind.", &["stage", "kind"])?,
            dropped: counter("tributary_documents_dropped_total", "Records dropped because something newer is there.", &["stage"])?,
            dead: counter("tributary_documents_dead_total", "Records that went to the dead letters.", &["stage"])?,
            seconds,
        })
    }

    /// The metrics of the named stage.
    pub fn stage(&self, name: &str) -> StageMetrics {
        StageMetrics {
            taken: self.taken.with_label_values(&[name]),
            finished: self.finished.with_label_values(&[name]),
            failed: self.failed.clone(),
            dropped: self.dropped.with_label_values(&[name]),
            dead: self.dead.with_label_values(&[name]),
            seconds: self.seconds.with_label_values(&[name]),
        }
    }
}

fn failed(error: prometheus::Error) -> Error {
    Error::new(ErrorKind::Internal, format!("cannot register metrics: {error}"))
}
