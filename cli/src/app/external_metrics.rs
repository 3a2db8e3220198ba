//! Metrics of cleaning steps that are services, in the registry that `/metrics` prints.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tributary_models::service::{ServiceObserver, SharedServiceObserver};
use tributary_schemas::Result;
use tributary_store::metrics::{Counters, Gauges, Histograms, MetricRegistry};

/// Upper bounds in seconds.
const SECONDS: [f64; 10] = [0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// Handles of all of them. A step is `PROFILE/NAME`.
struct ExternalMetrics {
    calls: Counters,
    seconds: Histograms,
    circuit_open: Gauges,
    known: KnownServices,
}

/// Services of this process by name, each with whether it is left alone because it failed.
#[derive(Clone, Debug, Default)]
pub struct KnownServices(Arc<Mutex<BTreeMap<String, bool>>>);

impl KnownServices {
    /// How many there are, and the names of those that are away.
    pub fn away(&self) -> (usize, Vec<String>) {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let away = known.iter().filter(|(_, is_away)| **is_away);
        (known.len(), away.map(|(name, _)| name.clone()).collect())
    }

    fn note(&self, name: &str, is_away: bool) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get_mut(name) {
            Some(noted) => *noted = is_away,
            None => {
                known.insert(name.to_owned(), is_away);
            }
        }
    }
}

/// Registers them; the second part is what readiness looks at. `Conflict` if they are registered
/// already.
pub fn register(registry: &MetricRegistry) -> Result<(SharedServiceObserver, KnownServices)> {
    let known = KnownServices::default();
    let observer: SharedServiceObserver = Arc::new(ExternalMetrics {
        known: known.clone(),
        calls: registry.counters(
            "tributary_external_step_calls_total",
            "Calls of cleaning steps that are services, each attempt by how it ended",
            &["step", "outcome"],
        )?,
        seconds: registry.histograms(
            "tributary_external_step_seconds",
            "Seconds of an attempt, without waiting for a turn",
            &["step"],
            &SECONDS,
        )?,
        circuit_open: registry.gauges(
            "tributary_external_step_circuit_open",
            "1 while a service is left alone because it failed",
            &["step"],
        )?,
    });
    Ok((observer, known))
}

impl ServiceObserver for ExternalMetrics {
    fn attempt(&self, service: &str, outcome: &'static str, took: Duration) {
        self.calls.with(&[service, outcome]).inc();
        self.seconds.with(&[service]).observe(took.as_secs_f64());
    }

    fn away(&self, service: &str, is_away: bool) {
        self.circuit_open.with(&[service]).set(i64::from(is_away));
        self.known.note(service, is_away);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_shown_by_step_and_outcome() {
        let registry = MetricRegistry::default();
        let (observer, known) = register(&registry).unwrap();
        observer.away("wiki/link", false);
        observer.away("wiki/mask", true);
        observer.attempt("wiki/mask", "deadline", Duration::from_secs(30));
        assert_eq!(known.away(), (2, vec!["wiki/mask".to_owned()]));
        let text = registry.text().unwrap();
        for part in [
            "tributary_external_step_calls_total{outcome=\"deadline\",step=\"wiki/mask\"} 1",
            "tributary_external_step_seconds_count{step=\"wiki/mask\"} 1",
            "tributary_external_step_circuit_open{step=\"wiki/mask\"} 1",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }
}
