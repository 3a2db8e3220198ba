//! How long is waited before a call is tried again.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// After so many attempts: as long as the server says and a little more, else `first`, doubled for
/// each further attempt; never the same for two callers.
pub fn pause(first: Duration, attempts: u32, retry_after: Option<Duration>) -> Duration {
    if let Some(pause) = retry_after {
        return pause.saturating_add(pause.mul_f64(random() / 10.0));
    }
    let doubled = first.saturating_mul(2_u32.saturating_pow(attempts.saturating_sub(1)));
    doubled.mul_f64(0.5 + random())
}

/// From 0 to 1.
fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish() >> 11;
    bits as f64 / (1_u64 << 53) as f64
}
