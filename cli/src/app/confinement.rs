//! How the converters of this process are confined: asked at the start, so that the log says it
//! before the first document does, and shown as gauges. Readiness asks too.

use std::sync::Arc;

use tributary_convert::isolation::{Confinement, ConversionPool, Part};
use tributary_schemas::Result;
use tributary_store::metrics::{Gauges, MetricRegistry};

/// Registers the gauges and has the first process started.
pub fn watch(registry: &MetricRegistry, pool: &Arc<ConversionPool>) -> Result<()> {
    let parts = registry.gauges(
        "tributary_conversion_confined",
        "Whether a part of the confinement of converters is enforced.",
        &["part"],
    )?;
    let looked_at = Arc::clone(pool);
    registry.before_each_text(move || show(&looked_at, &parts));
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
pub fn look(pool: &ConversionPool) -> Result<String> {
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

/// 1 for each part that holds; nothing before the first process said how it is confined.
fn show(pool: &ConversionPool, gauges: &Gauges) {
    let known = pool
        .known_confinement()
        .or_else(|| (!pool.is_isolated()).then(Confinement::default));
    let Some(known) = known else {
        return;
    };
    for part in Part::ALL {
        gauges.with(&[part.as_str()]).set(known.has(part).into());
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
