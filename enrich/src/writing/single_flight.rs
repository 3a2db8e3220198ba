//! Single flight: one at a time for each key, so that a second one finds what the first put into the
//! cache. Two generations of the index want the same summary at the same time, and it is paid once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::OwnedMutexGuard;

type Turn = tokio::sync::Mutex<()>;

/// Whose turn it is, by key.
#[derive(Default)]
pub(super) struct SingleFlight {
    turns: Mutex<HashMap<String, Weak<Turn>>>,
}

impl SingleFlight {
    /// Waits until nobody else has this key; it is free again when the guard is dropped.
    pub async fn enter(&self, key: &str) -> OwnedMutexGuard<()> {
        let turn = self.turn(key);
        turn.lock_owned().await
    }

    fn turn(&self, key: &str) -> Arc<Turn> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = turns.get(key).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::new(Turn::default());
        turns.insert(key.to_owned(), Arc::downgrade(&turn));
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_at_a_time_for_a_key_and_nothing_stays() {
        let flight = SingleFlight::default();
        let first = flight.enter("a").await;
        let waiting = flight.enter("a");
        tokio::pin!(waiting);
        let other = flight.enter("b").await;
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        drop(first);
        drop(waiting.await);
        drop(other);
        drop(flight.enter("c").await);
        let left = flight.turns.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(left.len(), 1, "keys of before are forgotten");
    }
}
