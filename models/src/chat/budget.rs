//! How many tokens a role may use in a minute and in a day. Counted in this process since its
//! start, in windows that begin with the first call after the one before is over.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The budget of one role.
#[derive(Debug)]
pub struct Budget {
    windows: Mutex<[Window; 2]>,
}

#[derive(Debug)]
struct Window {
    length: Duration,
    /// 0 = none.
    limit: u64,
    started: Option<Instant>,
    used: u64,
}

/// Tokens that a call may use; what it did not use goes back when the call is over, all of them if
/// it is dropped before it was settled.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<Budget>,
    tokens: u64,
    is_settled: bool,
}

impl Budget {
    /// An unused one.
    pub fn new(tokens_per_minute: u64, tokens_per_day: u64) -> Arc<Self> {
        let window = |length, limit| Window {
            length,
            limit,
            started: None,
            used: 0,
        };
        Arc::new(Self {
            windows: Mutex::new([
                window(MINUTE, tokens_per_minute),
                window(DAY, tokens_per_day),
            ]),
        })
    }

    /// How long until so many tokens may be used; zero if they may be now. More than the whole
    /// budget is let through when nothing else is used, since it would never be otherwise.
    pub fn room_in(&self, tokens: u64, now: Instant) -> Duration {
        let windows = self.lock();
        let waits = windows.iter().map(|window| window.room_in(tokens, now));
        waits.max().unwrap_or(Duration::ZERO)
    }

    /// Takes so many tokens, or says how long there is no room for them.
    pub fn reserve(self: &Arc<Self>, tokens: u64, now: Instant) -> Result<Reservation, Duration> {
        let mut windows = self.lock();
        let waits = windows.iter().map(|window| window.room_in(tokens, now));
        let wait = waits.max().unwrap_or(Duration::ZERO);
        if wait > Duration::ZERO {
            return Err(wait);
        }
        for window in windows.iter_mut() {
            window.take(tokens, now);
        }
        Ok(Reservation {
            budget: Arc::clone(self),
            tokens,
            is_settled: false,
        })
    }

    fn lock(&self) -> MutexGuard<'_, [Window; 2]> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Window {
    fn left(&self, now: Instant) -> Option<Duration> {
        let over = self.started? + self.length;
        over.checked_duration_since(now)
            .filter(|left| !left.is_zero())
    }

    fn room_in(&self, tokens: u64, now: Instant) -> Duration {
        let Some(left) = self.left(now) else {
            return Duration::ZERO;
        };
        let fits = self.used == 0 || self.used.saturating_add(tokens) <= self.limit;
        match self.limit == 0 || fits {
            true => Duration::ZERO,
            false => left,
        }
    }

    fn take(&mut self, tokens: u64, now: Instant) {
        if self.left(now).is_none() {
            self.started = Some(now);
            self.used = 0;
        }
        self.used = self.used.saturating_add(tokens);
    }
}

impl Reservation {
    /// The call is over and used so many.
    pub fn settle(&mut self, used: u64) {
        for window in self.budget.lock().iter_mut() {
            window.used = window.used.saturating_sub(self.tokens).saturating_add(used);
        }
        self.tokens = used;
        self.is_settled = true;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.is_settled {
            self.settle(0);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_room_again_when_it_is_over() {
        let (budget, start) = (Budget::new(1000, 0), Instant::now());
        let mut first = budget.reserve(600, start).unwrap();
        first.settle(600);
        let soon = start + Duration::from_secs(20);
        let wait = budget.reserve(600, soon).unwrap_err();
        assert_eq!(wait, Duration::from_secs(40));
        assert_eq!(budget.room_in(400, soon), Duration::ZERO);
        budget.reserve(600, start + MINUTE).unwrap();
    }

    #[test]
    fn what_is_not_used_goes_back() {
        let (budget, start) = (Budget::new(0, 1000), Instant::now());
        let mut reservation = budget.reserve(900, start).unwrap();
        assert_eq!(budget.room_in(500, start), DAY);
        reservation.settle(100);
        assert_eq!(budget.room_in(900, start), Duration::ZERO);
        assert_eq!(budget.room_in(901, start), DAY);
        drop(budget.reserve(900, start).unwrap());
        assert_eq!(budget.room_in(900, start), Duration::ZERO, "never used");
    }

    #[test]
    fn a_call_over_the_whole_budget_is_not_shut_out_for_ever() {
        let (budget, start) = (Budget::new(100, 0), Instant::now());
        let mut first = budget.reserve(500, start).unwrap();
        first.settle(500);
        assert_eq!(budget.reserve(1, start).unwrap_err(), MINUTE);
    }

    #[test]
    fn no_limit_is_no_limit() {
        let (budget, now) = (Budget::new(0, 0), Instant::now());
        assert!((0..1000).all(|_| budget.reserve(u64::MAX / 2, now).is_ok()));
    }
}
