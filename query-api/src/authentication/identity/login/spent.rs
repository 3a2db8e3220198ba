//! Sign-ins that succeeded: none succeeds twice, whoever repeats the address that led back.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// What belongs to sign-ins of the last minutes, until when it could be sent again. Only who the
/// provider vouches for adds to it, so strangers cannot fill it.
#[derive(Default)]
pub(super) struct Spent(Mutex<HashMap<blake3::Hash, i64>>);

impl Spent {
    /// Takes note of one that can be repeated until `until_ms`; `false` where it is known already.
    /// Times are milliseconds since 1970.
    pub fn spend(&self, state: blake3::Hash, until_ms: i64, now_ms: i64) -> bool {
        let mut spent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spent.retain(|_, until_ms| now_ms < *until_ms);
        spent.insert(state, until_ms).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_spent_once_until_its_time_is_over() {
        let spent = Spent::default();
        let (one, other) = (blake3::hash(b"1"), blake3::hash(b"2"));
        assert!(spent.spend(one, 10, 0) && spent.spend(other, 10, 0));
        assert!(!spent.spend(one, 15, 5));
        assert!(spent.spend(other, 30, 20));
    }
}
