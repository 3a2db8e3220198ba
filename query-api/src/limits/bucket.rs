//! A token bucket: it fills at a steady rate up to a burst, and what is done takes from it. It may go
//! below zero, where the amount is known only afterwards.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How fast a bucket fills, and how much it holds.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    per_second: f64,
    burst: f64,
}

impl Rate {
    /// So much a minute, and at most so much at once; `None` for no limit, which is 0.
    #[expect(clippy::cast_precision_loss, reason = "nobody notices a part in 2^52")]
    pub fn per_minute(amount: u64, burst: u64) -> Option<Self> {
        (amount > 0).then(|| Self {
            per_second: amount as f64 / 60.0,
            burst: burst as f64,
        })
    }

    fn time_for(&self, amount: f64) -> Duration {
        Duration::try_from_secs_f64(amount / self.per_second).unwrap_or(Duration::MAX)
    }
}

/// What is left, and since when.
#[derive(Debug, Default)]
pub struct Bucket(Mutex<Option<(f64, Instant)>>);

impl Bucket {
    /// Takes one, or says after which time there is one.
    pub fn take(&self, rate: &Rate, now: Instant) -> Result<(), Duration> {
        self.change(rate, now, |level| {
            if *level < 1.0 {
                return Err(rate.time_for(1.0 - *level));
            }
            *level -= 1.0;
            Ok(())
        })
    }

    /// Takes an amount, whatever is left.
    #[expect(clippy::cast_precision_loss, reason = "nobody notices a part in 2^52")]
    pub fn spend(&self, rate: &Rate, amount: u64, now: Instant) {
        self.change(rate, now, |level| *level -= amount as f64);
    }

    /// Whether something is left; else after which time.
    pub fn is_solvent(&self, rate: &Rate, now: Instant) -> Result<(), Duration> {
        self.change(rate, now, |level| match *level > 0.0 {
            true => Ok(()),
            false => Err(rate.time_for(-*level)),
        })
    }

    fn change<T>(&self, rate: &Rate, now: Instant, change: impl FnOnce(&mut f64) -> T) -> T {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (level, since) = state.unwrap_or((rate.burst, now));
        let filled = now.saturating_duration_since(since).as_secs_f64() * rate.per_second;
        let mut level = (level + filled).min(rate.burst);
        let changed = change(&mut level);
        *state = Some((level, now.max(since)));
        changed
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_through_and_then_the_rate_holds() {
        let rate = Rate::per_minute(120, 5).unwrap();
        let (bucket, start) = (Bucket::default(), Instant::now());
        let at = |ms: u64| start + Duration::from_millis(ms);
        let taken = (0..10).filter(|_| bucket.take(&rate, start).is_ok());
        assert_eq!(taken.count(), 5);
        assert_eq!(bucket.take(&rate, start), Err(Duration::from_millis(500)));
        assert!(bucket.take(&rate, at(499)).is_err() && bucket.take(&rate, at(500)).is_ok());
        let minute = (500..60_500)
            .step_by(100)
            .filter(|ms| bucket.take(&rate, at(*ms)).is_ok());
        assert_eq!(minute.count(), 119);
        assert!(
            (0..9)
                .filter(|_| bucket.take(&rate, at(900_000)).is_ok())
                .count()
                == 5
        );
    }

    #[test]
    fn what_was_spent_is_paid_back_in_time() {
        let rate = Rate::per_minute(60_000, 60_000).unwrap();
        let (bucket, start) = (Bucket::default(), Instant::now());
        bucket.spend(&rate, 62_000, start);
        assert_eq!(bucket.is_solvent(&rate, start), Err(Duration::from_secs(2)));
        assert!(
            bucket
                .is_solvent(&rate, start + Duration::from_millis(2001))
                .is_ok()
        );
        assert!(Rate::per_minute(0, 5).is_none());
    }
}
