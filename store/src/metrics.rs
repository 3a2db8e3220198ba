//! The metrics of a process: families of counters, gauges and histograms with labels, and the
//! OpenMetrics text that `/metrics` prints. A thin layer over the official client of Prometheus.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter as CounterOf;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge as GaugeOf;
use prometheus_client::registry::{self, Metric};
use tributary_schemas::{Error, ErrorKind, Result};

pub use prometheus_client::metrics::histogram::Histogram;

/// A number that only grows.
pub type Counter = CounterOf;
/// A whole number that goes up and down.
pub type Gauge = GaugeOf;
/// Any number that goes up and down.
pub type FloatGauge = GaugeOf<f64, std::sync::atomic::AtomicU64>;

/// Counters that differ in their labels.
pub type Counters = LabelledFamily<Counter>;
/// Gauges that differ in their labels.
pub type Gauges = LabelledFamily<Gauge>;
/// Gauges of any number that differ in their labels.
pub type FloatGauges = LabelledFamily<FloatGauge>;
/// Histograms that differ in their labels.
pub type Histograms = LabelledFamily<Histogram, Buckets>;

/// The media type of [`MetricRegistry::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels = Vec<(&'static str, String)>;
type Refresh = Box<dyn Fn() + Send + Sync>;

/// All metrics of a process. Clones share them.
#[derive(Clone, Default)]
pub struct MetricRegistry {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    registry: registry::Registry,
    names: BTreeSet<String>,
    refreshes: Vec<Arc<Refresh>>,
}

/// Metrics of one name, one for each combination of the labels' values.
#[derive(Clone, Debug)]
pub struct LabelledFamily<M, C = fn() -> M> {
    family: Family<Labels, M, C>,
    labels: &'static [&'static str],
}

/// Makes histograms with these upper bounds.
#[derive(Clone, Debug)]
pub struct Buckets(&'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

impl MetricRegistry {
    /// Registers counters. The name ends in `_total`. `Conflict` if the name is taken.
    pub fn counters(
        &self,
        name: &str,
        help: &str,
        labels: &'static [&'static str],
    ) -> Result<Counters> {
        let family = LabelledFamily::of(Family::default(), labels);
        // The encoder appends the ending.
        self.register(name.trim_end_matches("_total"), help, &family.family)?;
        Ok(family)
    }

    /// Registers gauges of whole numbers. `Conflict` if the name is taken.
    pub fn gauges(
        &self,
        name: &str,
        help: &str,
        labels: &'static [&'static str],
    ) -> Result<Gauges> {
        let family = LabelledFamily::of(Family::default(), labels);
        self.register(name, help, &family.family)?;
        Ok(family)
    }

    /// Registers gauges of any number. `Conflict` if the name is taken.
    pub fn float_gauges(
        &self,
        name: &str,
        help: &str,
        labels: &'static [&'static str],
    ) -> Result<FloatGauges> {
        let family = LabelledFamily::of(Family::default(), labels);
        self.register(name, help, &family.family)?;
        Ok(family)
    }

    /// Registers one gauge without labels. `Conflict` if the name is taken.
    pub fn gauge(&self, name: &str, help: &str) -> Result<Gauge> {
        let gauge = Gauge::default();
        self.register(name, help, &gauge)?;
        Ok(gauge)
    }

    /// Registers histograms with these upper bounds. `Conflict` if the name is taken.
    pub fn histograms(
        &self,
        name: &str,
        help: &str,
        labels: &'static [&'static str],
        upper_bounds: &'static [f64],
    ) -> Result<Histograms> {
        let family = Family::new_with_constructor(Buckets(upper_bounds));
        let family = LabelledFamily::of(family, labels);
        self.register(name, help, &family.family)?;
        Ok(family)
    }

    /// Has this called before each text: it sets gauges that are read at the moment of a scrape.
    pub fn before_each_text(&self, refresh: impl Fn() + Send + Sync + 'static) {
        self.shared()
            .refreshes
            .push(Arc::new(Box::new(refresh) as Refresh));
    }

    /// All metrics as OpenMetrics text.
    pub fn text(&self) -> Result<String> {
        // Not while locked: a refresh may take its time.
        let refreshes = self.shared().refreshes.clone();
        refreshes.iter().for_each(|refresh| refresh());
        let mut text = String::new();
        encode(&mut text, &self.shared().registry)
            .map_err(|error| Error::new(ErrorKind::Internal, format!("metrics: {error}")))?;
        Ok(text)
    }

    fn register(&self, name: &str, help: &str, metric: &(impl Metric + Clone)) -> Result<()> {
        let mut shared = self.shared();
        if !shared.names.insert(name.to_owned()) {
            let message = format!("a metric `{name}` is registered already");
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        // The encoder ends the sentence.
        let help = help.trim_end_matches('.');
        shared.registry.register(name, help, metric.clone());
        Ok(())
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M, C> LabelledFamily<M, C> {
    fn of(family: Family<Labels, M, C>, labels: &'static [&'static str]) -> Self {
        Self { family, labels }
    }
}

impl<M: Clone, C: MetricConstructor<M>> LabelledFamily<M, C> {
    /// The metric with these values of the labels, in their order; it is printed from now on.
    pub fn with(&self, values: &[&str]) -> M {
        debug_assert_eq!(values.len(), self.labels.len(), "a value for each label");
        let values = values.iter().map(|value| (*value).to_owned());
        let mut labels: Labels = self.labels.iter().copied().zip(values).collect();
        // Printed in this order.
        labels.sort_unstable_by_key(|(name, _)| *name);
        self.family.get_or_create_owned(&labels)
    }

    /// Forgets all of them.
    pub fn clear(&self) {
        self.family.clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_printed_and_gauges_are_read_at_that_moment() {
        let metrics = MetricRegistry::default();
        let records = metrics
            .counters("records_total", "Records seen.", &["stage"])
            .unwrap();
        let depth = metrics.gauge("depth", "How deep.").unwrap();
        let seconds = metrics
            .histograms("seconds", "How long.", &["stage"], &[0.5, 1.0])
            .unwrap();
        metrics.before_each_text(move || _ = depth.set(7));
        records.with(&["index"]).inc_by(3);
        seconds.with(&["index"]).observe(0.7);
        let text = metrics.text().unwrap();
        for line in [
            "# HELP records Records seen.",
            "# TYPE records counter",
            "records_total{stage=\"index\"} 3",
            "depth 7",
            "seconds_bucket{le=\"0.5\",stage=\"index\"} 0",
            "seconds_bucket{le=\"1.0\",stage=\"index\"} 1",
            "seconds_count{stage=\"index\"} 1",
            "# EOF",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn a_name_is_registered_once() {
        let metrics = MetricRegistry::default();
        metrics.gauges("a", "A.", &["x"]).unwrap();
        let error = metrics.gauges("a", "A.", &["x"]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }

    #[test]
    fn what_is_cleared_is_printed_no_more() {
        let metrics = MetricRegistry::default();
        let lag = metrics.gauges("lag", "Lag.", &["stage"]).unwrap();
        lag.with(&["gone"]).set(1);
        lag.clear();
        lag.with(&["here"]).set(2);
        let text = metrics.text().unwrap();
        assert!(
            !text.contains("gone") && text.contains("lag{stage=\"here\"} 2"),
            "{text}"
        );
    }
}
