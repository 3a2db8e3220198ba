//! `Idempotency-Key`: the same key and body within a run of the server give the same answer and
//! publish nothing twice. (Across a restart a repetition is a new version of the same document,
//! which the pipeline skips as unchanged.)

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::documents::Accepted;
use crate::problem::{Code, Problem};

/// Longest key, in bytes.
const MAXIMUM_KEY_BYTES: usize = 255;

/// The newest keys and what they were answered with.
pub struct IdempotencyKeys {
    keys: Mutex<Keys>,
    capacity: usize,
}

#[derive(Default)]
struct Keys {
    entries: HashMap<String, Entry>,
    oldest_first: VecDeque<String>,
}

struct Entry {
    body: blake3::Hash,
    answer: Option<Accepted>,
}

/// What is known of a key.
pub enum Claim<'a> {
    /// Nothing: do the work, then call [`Reservation::answer`]. Dropped without it, the key is free
    /// again.
    New(Reservation<'a>),
    /// The answer to the same request before.
    Answered(Accepted),
}

/// The right to do the work of a key.
pub struct Reservation<'a> {
    keys: &'a IdempotencyKeys,
    key: String,
    done: bool,
}

impl IdempotencyKeys {
    /// Remembers at most `capacity` keys.
    pub fn new(capacity: usize) -> Self {
        Self {
            keys: Mutex::default(),
            capacity: capacity.max(1),
        }
    }

    /// Claims a key for a request whose body has this hash.
    pub fn claim(&self, key: &str, body: blake3::Hash) -> Result<Claim<'_>, Problem> {
        if key.is_empty() || key.len() > MAXIMUM_KEY_BYTES {
            return Err(Problem::new(
                Code::Invalid,
                format!("Idempotency-Key must have 1 to {MAXIMUM_KEY_BYTES} bytes"),
            ));
        }
        let mut keys = self.lock();
        match keys.entries.get(key) {
            Some(entry) if entry.body != body => Err(Problem::new(
                Code::IdempotencyMismatch,
                format!("Idempotency-Key `{key}` was used with another body"),
            )
            .with_hint("use a new key for each request")),
            Some(Entry {
                answer: Some(answer),
                ..
            }) => Ok(Claim::Answered(answer.clone())),
            Some(_) => Err(Problem::new(
                Code::IdempotencyInProgress,
                format!("a request with Idempotency-Key `{key}` is being worked on"),
            )),
            None => {
                keys.entries
                    .insert(key.to_owned(), Entry { body, answer: None });
                keys.oldest_first.push_back(key.to_owned());
                keys.forget_oldest(self.capacity);
                Ok(Claim::New(Reservation {
                    keys: self,
                    key: key.to_owned(),
                    done: false,
                }))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keys {
    fn forget_oldest(&mut self, capacity: usize) {
        while self.oldest_first.len() > capacity {
            if let Some(oldest) = self.oldest_first.pop_front() {
                self.entries.remove(&oldest);
            }
        }
    }
}

impl Reservation<'_> {
    /// Keeps the answer for repetitions.
    pub fn answer(mut self, accepted: &Accepted) {
        self.done = true;
        if let Some(entry) = self.keys.lock().entries.get_mut(&self.key) {
            entry.answer = Some(accepted.clone());
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if !self.done {
            let mut keys = self.keys.lock();
            keys.entries.remove(&self.key);
            keys.oldest_first.retain(|key| *key != self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tributary_schemas::State;

    use super::*;

    fn accepted() -> Accepted {
        Accepted {
            document_id: "d".into(),
            version: 1,
            state: State::Accepted,
        }
    }

    #[test]
    fn a_key_answers_the_same_request_and_refuses_another() {
        let keys = IdempotencyKeys::new(2);
        let Claim::New(reservation) = keys.claim("a", blake3::hash(b"1")).unwrap() else {
            panic!("key is new")
        };
        assert_eq!(
            keys.claim("a", blake3::hash(b"1"))
                .err()
                .map(|problem| problem.code()),
            Some(Code::IdempotencyInProgress)
        );
        reservation.answer(&accepted());
        assert!(
            matches!(keys.claim("a", blake3::hash(b"1")).unwrap(), Claim::Answered(answer) if answer == accepted())
        );
        assert_eq!(
            keys.claim("a", blake3::hash(b"2"))
                .err()
                .map(|problem| problem.code()),
            Some(Code::IdempotencyMismatch)
        );
        assert!(keys.claim("", blake3::hash(b"")).is_err());
    }

    #[test]
    fn a_failed_request_frees_its_key_and_old_keys_are_forgotten() {
        let keys = IdempotencyKeys::new(2);
        drop(keys.claim("a", blake3::hash(b"1")).unwrap());
        for key in ["a", "b", "c"] {
            let Claim::New(reservation) = keys.claim(key, blake3::hash(b"2")).unwrap() else {
                panic!("key is free")
            };
            reservation.answer(&accepted());
        }
        assert!(matches!(
            keys.claim("c", blake3::hash(b"2")).unwrap(),
            Claim::Answered(_)
        ));
        assert!(matches!(
            keys.claim("a", blake3::hash(b"other")).unwrap(),
            Claim::New(_)
        ));
    }
}
