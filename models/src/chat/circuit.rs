//! Leaves an endpoint alone that failed several times in a row: calls fail at once instead of
//! waiting each for its deadline. After a pause one call is let through; if it succeeds, all are.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The circuit of one endpoint.
#[derive(Debug)]
pub struct Circuit {
    /// Failures in a row that open it; 0 = never.
    limit: u32,
    pause: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    /// While it is open: when the next call is let through.
    next_trial: Option<Instant>,
}

impl Circuit {
    /// A closed one.
    pub fn new(limit: u32, pause: Duration) -> Self {
        Self {
            limit,
            pause,
            state: Mutex::default(),
        }
    }

    /// Lets a call through, or says how long none will be. A call that is let through while the
    /// circuit is open puts off the next one, so that nobody has to tell how it ended.
    pub fn admit(&self, now: Instant) -> Result<(), Duration> {
        let mut state = self.lock();
        match state.next_trial {
            Some(next) if now < next => Err(next - now),
            Some(_) => {
                state.next_trial = Some(now + self.pause);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The endpoint answered.
    pub fn succeeded(&self) {
        *self.lock() = State::default();
    }

    /// The endpoint is ill; `true` if that opened the circuit.
    pub fn failed(&self, now: Instant) -> bool {
        let mut state = self.lock();
        state.failures = state.failures.saturating_add(1);
        if self.limit == 0 || state.failures < self.limit {
            return false;
        }
        let opened = state.next_trial.is_none();
        state.next_trial = Some(now + self.pause);
        opened
    }

    /// Lets the next call through: somebody says that the endpoint is back, or the call that was let
    /// through told nothing.
    pub fn try_now(&self, now: Instant) {
        if let Some(next) = &mut self.lock().next_trial {
            *next = now;
        }
    }

    /// Whether calls fail at once.
    pub fn is_open(&self) -> bool {
        self.lock().next_trial.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(30);

    #[test]
    fn it_opens_after_failures_in_a_row_and_closes_by_itself() {
        let (circuit, start) = (Circuit::new(2, PAUSE), Instant::now());
        assert!(!circuit.failed(start));
        circuit.succeeded();
        assert!(!circuit.failed(start), "one in a row");
        assert!(circuit.failed(start), "two in a row");
        assert_eq!(circuit.admit(start), Err(PAUSE));
        assert!(circuit.is_open());

        let later = start + PAUSE;
        assert_eq!(circuit.admit(later), Ok(()), "one is let through");
        assert_eq!(circuit.admit(later), Err(PAUSE), "and no other");
        circuit.succeeded();
        assert_eq!(circuit.admit(later), Ok(()));
        assert!(!circuit.is_open());
    }

    #[test]
    fn a_trial_that_fails_keeps_it_open() {
        let (circuit, start) = (Circuit::new(1, PAUSE), Instant::now());
        assert!(circuit.failed(start));
        assert_eq!(circuit.admit(start + PAUSE), Ok(()));
        assert!(!circuit.failed(start + PAUSE), "it was open already");
        assert_eq!(circuit.admit(start + PAUSE), Err(PAUSE));
    }

    #[test]
    fn one_call_is_let_through_at_once_where_somebody_says_so() {
        let (circuit, start) = (Circuit::new(1, PAUSE), Instant::now());
        circuit.try_now(start);
        assert!(!circuit.is_open(), "a closed one stays closed");
        assert!(circuit.failed(start));
        circuit.try_now(start);
        assert_eq!(circuit.admit(start), Ok(()));
        assert_eq!(circuit.admit(start), Err(PAUSE), "and no other");
    }

    #[test]
    fn a_limit_of_zero_never_opens_it() {
        let circuit = Circuit::new(0, PAUSE);
        assert!((0..100).all(|_| !circuit.failed(Instant::now())));
        assert!(!circuit.is_open());
    }
}
