//! How much of request bodies may be in memory at the same time. Whoever is over it is refused at
//! once and told when to come again.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::metrics::Metrics;
use crate::problem::{Code, Problem};

/// Bodies up to this size are free: connections bound how many there are, and neither searches nor
/// deletions wait for uploads.
const FREE_BYTES: usize = 64 * 1024;
/// Copies of a JSON body while it is parsed: as it came, its text without escapes, and the event
/// (2.7 measured).
pub const JSON_COPIES: usize = 3;
/// Copies of a form while its parts are taken out: each piece is freed when it was read (1.1
/// measured).
pub const FORM_COPIES: usize = 2;
/// What is counted: the semaphore's numbers are too small for bytes.
const UNIT_BYTES: usize = 1024;

/// The memory for all bodies in flight.
pub struct BodyBudget {
    units: Arc<Semaphore>,
    all_units: u32,
    metrics: Metrics,
}

/// What one body holds of it; given back when dropped.
pub struct Share {
    budget: Arc<BodyBudget>,
    held: Option<OwnedSemaphorePermit>,
}

impl BodyBudget {
    /// Room for so many bytes.
    pub fn new(bytes: u64, metrics: Metrics) -> Self {
        let all_units = u32::try_from(bytes / UNIT_BYTES as u64)
            .unwrap_or(u32::MAX)
            .max(1);
        Self {
            units: Arc::new(Semaphore::new(all_units as usize)),
            all_units,
            metrics,
        }
    }

    /// A share that holds nothing yet.
    pub fn share(self: &Arc<Self>) -> Share {
        Share {
            budget: Arc::clone(self),
            held: None,
        }
    }

    /// Units of a body; one that is larger than everything is still taken alone.
    fn units_of(&self, body_bytes: usize, copies: usize) -> u32 {
        if body_bytes <= FREE_BYTES {
            return 0;
        }
        u32::try_from(body_bytes.saturating_mul(copies).div_ceil(UNIT_BYTES))
            .unwrap_or(u32::MAX)
            .min(self.all_units)
    }
}

impl Share {
    /// Holds enough for so many copies of a body of so many bytes, or says that there is no room.
    pub fn grow_to(&mut self, body_bytes: usize, copies: usize) -> Result<(), Problem> {
        let held_units = self
            .held
            .as_ref()
            .map_or(0, OwnedSemaphorePermit::num_permits);
        let missing =
            (self.budget.units_of(body_bytes, copies) as usize).saturating_sub(held_units);
        let Some(missing) = u32::try_from(missing).ok().filter(|missing| *missing > 0) else {
            return Ok(());
        };
        let Ok(more) = Arc::clone(&self.budget.units).try_acquire_many_owned(missing) else {
            self.budget.metrics.observe_shed("body");
            return Err(Problem::new(Code::Overloaded, "too many large bodies are being received at once")
                .with_hint("send it again after the time in Retry-After, or raise query_api.server.body_budget_bytes there"));
        };
        match &mut self.held {
            Some(held) => held.merge(more),
            none => *none = Some(more),
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_store::metrics::MetricRegistry;

    use super::*;

    fn budget(bytes: u64) -> Arc<BodyBudget> {
        Arc::new(BodyBudget::new(
            bytes,
            Metrics::register(&MetricRegistry::default()).unwrap(),
        ))
    }

    #[test]
    fn bodies_share_the_room_and_give_it_back() {
        let budget = budget(4 << 20);
        let (mut first, mut second) = (budget.share(), budget.share());
        first.grow_to(1 << 20, 2).unwrap();
        first.grow_to(1 << 20, 2).unwrap();
        second.grow_to(1 << 20, 2).unwrap();
        assert_eq!(
            second.grow_to((1 << 20) + 1, 2).unwrap_err().code(),
            Code::Overloaded
        );
        second.grow_to(FREE_BYTES, 2).unwrap();
        drop(first);
        second.grow_to(2 << 20, 2).unwrap();
    }

    #[test]
    fn a_small_body_needs_no_room_and_one_larger_than_all_is_taken_alone() {
        let budget = budget(1 << 20);
        let (mut large, mut small) = (budget.share(), budget.share());
        large.grow_to(64 << 20, 3).unwrap();
        small.grow_to(FREE_BYTES, 3).unwrap();
        assert!(small.grow_to(FREE_BYTES + 1, 3).is_err());
    }
}
