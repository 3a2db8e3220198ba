//! How the converters of this process are confined: asked at the start, so that the log says it
//! before the first document does, and shown as gauges. Readiness asks too.

use std::sync::Arc;

use anyhow::{Context, Result};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntGaugeVec, Opts, Registry};
use tributary_convert::isolation::{Confinement, ConversionPool, Part};
use tributary_schemas::Error;

/// 1 for each part that holds; nothing before the first process said how it is confined.
struct ConfinementGauges {
    pool: Arc<ConversionPool>,
    parts: IntGaugeVec,
}

/// Registers the gauges and has the first process started.
pub fn watch(registry: &Registry, pool: &Arc<ConversionPool>) -> Result<()> {
    let options = Opts::new(
        "tributary_conversion_confined",
        "Whether a part of the confinement of converters is enforced.",
    );
    let parts = IntGaugeVec::new(options, &["part"]).context("cannot make metrics")?;
    let gauges = ConfinementGauges {
        pool: Arc::clone(pool),
        parts,
    };
    registry
        .register(Box::new(gauges))
        .context("cannot register metrics")?;
    let pool = Arc::clone(pool);
    tokio::task::spawn_blocking(move || {
        if let Err(error) = pool.confinement() {
            tracing::error!(
                error = error.full_message(),
                "documents cannot be converted yet"
            );
        }
    });
    Ok(())
}

/// How converters are confined, in words. Waits for a process to be started: on a blocking thread.
pub fn look(pool: &ConversionPool) -> Result<String, Error> {
    pool.confinement()
        .map(|confinement| describe(confinement.as_ref()))
}

fn describe(confinement: Option<&Confinement>) -> String {
    match confinement {
        None => {
            "converters run in this process, not confined (convert.isolate_conversion is false)"
                .to_owned()
        }
        Some(confinement) if confinement.is_complete() => {
            format!("converters are confined: {}", confinement.enforced())
        }
        Some(confinement) => {
            format!(
                "degraded: converters are not wholly confined (convert.require_confinement is false): {}",
                confinement.missing()
            )
        }
    }
}

impl Collector for ConfinementGauges {
    fn desc(&self) -> Vec<&Desc> {
        self.parts.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let known = self
            .pool
            .known_confinement()
            .or_else(|| (!self.pool.is_isolated()).then(Confinement::default));
        for part in known
            .iter()
            .flat_map(|known| Part::ALL.map(|part| (part, known.has(part))))
        {
            self.parts
                .with_label_values(&[part.0.as_str()])
                .set(part.1.into());
        }
        self.parts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_hold_is_named() {
        assert!(describe(None).contains("isolate_conversion"));
        let mut confinement = Confinement::default();
        Part::ALL
            .into_iter()
            .for_each(|part| confinement.enforce(part, part.as_str()));
        assert_eq!(
            describe(Some(&confinement)),
            "converters are confined: limits; files; calls"
        );
        confinement.miss(Part::Calls, "no seccomp");
        let words = describe(Some(&confinement));
        assert!(
            words.starts_with("degraded") && words.contains("no seccomp"),
            "{words}"
        );
    }
}
