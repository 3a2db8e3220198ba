//! How long a step took.

use std::time::Instant;

/// Milliseconds since then.
pub fn elapsed_ms(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1000.0
}
