//! Answers to "is it there?" leave at whole steps of time, so that the time says nothing: a store
//! takes some hundredths of a millisecond longer to find what it then withholds than to find
//! nothing. Whoever sees everything does not wait.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tributary_retrieval::Principal;
use tributary_schemas::search::TierSummary;

/// Longer than almost every answer of this kind takes, so that nearly all leave at the first step.
const STEP: Duration = Duration::from_millis(50);

const NOT_FOUND: u16 = 404;

/// Waits before an answer with this status leaves, if it says that something is not there.
pub async fn before_leaving(principal: &Principal, status: u16, started: Instant) {
    if status == NOT_FOUND {
        until_the_next_step(principal, started).await;
    }
}

/// The same for a search in named documents that found nothing; the times that it says of itself
/// become those of the step. Whether anything was to be hidden.
pub async fn of_named(
    principal: &Principal,
    started: Instant,
    took_ms: &mut f64,
    stages: &mut BTreeMap<String, TierSummary>,
) -> bool {
    if principal.viewer.is_none() {
        return false;
    }
    until_the_next_step(principal, started).await;
    let elapsed = started.elapsed().as_nanos();
    *took_ms = (elapsed / STEP.as_nanos()) as f64 * STEP.as_secs_f64() * 1000.0;
    stages.values_mut().for_each(|stage| stage.ms = 0.0);
    true
}

/// Waits until a whole number of steps has passed since the question came.
pub async fn until_the_next_step(principal: &Principal, started: Instant) {
    if principal.viewer.is_some() {
        tokio::time::sleep(rest_of_step(started.elapsed())).await;
    }
}

/// What is left of a step after this time.
fn rest_of_step(elapsed: Duration) -> Duration {
    let steps = elapsed.as_nanos() / STEP.as_nanos() + 1;
    let end = STEP.saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX));
    end.saturating_sub(elapsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_leave_at_whole_steps() {
        let milliseconds = |value: u64| Duration::from_millis(value);
        let table = [(0, 50), (1, 49), (49, 1), (50, 50), (51, 49), (120, 30)];
        for (elapsed, rest) in table {
            assert_eq!(
                rest_of_step(milliseconds(elapsed)),
                milliseconds(rest),
                "{elapsed}"
            );
        }
    }
}
