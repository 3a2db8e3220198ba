//! What language models wrote for the documents of each knowledge set, counted since the start of
//! this process: whoever has texts written adds, the status of the sets reads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tributary_schemas::set_status::SetCost;

/// Sets that are counted apart at most; more are not counted, as documents name what they like.
const MAXIMUM_SETS: usize = 10_000;

/// The counts; copies share them.
#[derive(Clone, Debug)]
pub struct SetCosts {
    since_ms: i64,
    by_set: Arc<Mutex<BTreeMap<String, SetCost>>>,
}

impl SetCosts {
    /// Nothing yet, since a moment in milliseconds since 1970.
    pub fn new(since_ms: i64) -> Self {
        Self {
            since_ms,
            by_set: Arc::default(),
        }
    }

    /// Adds what a document cost to each of its sets.
    pub fn add(&self, sets: &[String], cost: &SetCost) {
        let mut by_set = self.lock();
        for set in sets {
            if by_set.len() < MAXIMUM_SETS || by_set.contains_key(set) {
                by_set.entry(set.clone()).or_default().add(cost);
            }
        }
    }

    /// What the documents of a set cost.
    pub fn of(&self, set: &str) -> SetCost {
        let counted = self.lock().get(set).copied().unwrap_or_default();
        SetCost {
            since_ms: self.since_ms,
            ..counted
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, SetCost>> {
        self.by_set.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_of_a_document_has_its_cost() {
        let costs = SetCosts::new(7);
        let cost = SetCost {
            calls: 1,
            tokens_in: 100,
            tokens_out: 10,
            since_ms: 0,
        };
        costs.add(&["a".to_owned(), "b".to_owned()], &cost);
        costs.clone().add(&["a".to_owned()], &cost);
        let of = |set| costs.of(set);
        assert_eq!(
            (of("a").calls, of("a").tokens_in, of("a").since_ms),
            (2, 200, 7)
        );
        assert_eq!((of("b").calls, of("c").calls), (1, 0));
    }
}
