//! What the stages of this process wait for. Readiness shows it, a gauge counts it; whoever waits
//! has a [`Holding`] for as long.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tributary_schemas::Error;

use crate::metrics::Gauge;

/// All that is held in this process.
#[derive(Clone, Default)]
pub struct Holds {
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    next: u64,
    holds: BTreeMap<u64, Hold>,
}

struct Hold {
    stage: String,
    since: Instant,
    reason: String,
}

/// A stage that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its name.
    pub stage: String,
    /// Records and steps that wait.
    pub count: usize,
    /// How long the first of them has waited.
    pub waited: Duration,
    /// What the first of them waits for.
    pub reason: String,
}

/// One record or step that waits; it does no more when this is dropped.
pub struct Holding {
    holds: Holds,
    id: u64,
    gauge: Gauge,
}

impl Holds {
    /// The stages that wait, by name.
    pub fn held(&self) -> Vec<Held> {
        let mut stages: BTreeMap<String, Held> = BTreeMap::new();
        // In the order in which they began: the first of a stage gives the reason.
        for hold in self.open().holds.values() {
            let new = || Held {
                stage: hold.stage.clone(),
                count: 0,
                waited: hold.since.elapsed(),
                reason: hold.reason.clone(),
            };
            stages.entry(hold.stage.clone()).or_insert_with(new).count += 1;
        }
        stages.into_values().collect()
    }

    /// Something of the stage waits from now on.
    pub(super) fn begin(&self, stage: &str, gauge: &Gauge, reason: String) -> Holding {
        let mut open = self.open();
        let id = open.next;
        open.next += 1;
        open.holds.insert(
            id,
            Hold {
                stage: stage.to_owned(),
                since: Instant::now(),
                reason,
            },
        );
        gauge.inc();
        Holding {
            holds: self.clone(),
            id,
            gauge: gauge.clone(),
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Holding {
    /// It failed once more, for this reason.
    pub(super) fn because(&self, error: &Error) {
        if let Some(hold) = self.holds.open().holds.get_mut(&self.id) {
            hold.reason = error.full_message();
        }
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.holds.open().holds.remove(&self.id);
        self.gauge.dec();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::ErrorKind;

    use super::*;

    #[test]
    fn a_stage_is_held_while_something_of_it_waits() {
        let (holds, gauge) = (Holds::default(), Gauge::default());
        let first = holds.begin("index", &gauge, "away".to_owned());
        let second = holds.begin("index", &gauge, "full".to_owned());
        let said = |holds: &Holds| {
            holds
                .held()
                .into_iter()
                .map(|held| (held.stage, held.count, held.reason))
                .collect::<Vec<_>>()
        };
        assert_eq!(said(&holds), [("index".to_owned(), 2, "away".to_owned())]);
        first.because(&Error::new(ErrorKind::Unavailable, "still away").with_hint("look"));
        assert_eq!(said(&holds)[0].2, "still away (hint: look)");
        drop(first);
        assert_eq!(
            (said(&holds), gauge.get()),
            (vec![("index".to_owned(), 1, "full".to_owned())], 1)
        );
        drop(second);
        assert_eq!((said(&holds), gauge.get()), (Vec::new(), 0));
    }
}
