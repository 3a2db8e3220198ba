//! `Idempotency-Key`: the same key and publication within a run of the server give the same answer and
//! publish nothing twice; each owner has keys of their own. (Across a restart a repetition is a new version of the same document,
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
    entries: HashMap<OwnedKey, Entry>,
    oldest_first: VecDeque<OwnedKey>,
}

/// A key and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnedKey {
    owner: Option<String>,
    key: String,
}

impl OwnedKey {
    /// Of an owner; `None` for the owner of the data folder.
    pub fn new(owner: Option<&str>, key: String) -> Self {
        let owner = owner.map(str::to_owned);
        Self { owner, key }
    }
}

struct Entry {
    said: blake3::Hash,
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
    key: OwnedKey,
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

    /// Claims a key for a request of which what it says has this hash.
    pub fn claim(&self, owned: &OwnedKey, said: blake3::Hash) -> Result<Claim<'_>, Problem> {
        let key = &owned.key;
        if key.is_empty() || key.len() > MAXIMUM_KEY_BYTES {
            return Err(Problem::new(
                Code::Invalid,
                format!("Idempotency-Key must have 1 to {MAXIMUM_KEY_BYTES} bytes"),
            ));
        }
        let mut keys = self.lock();
        match keys.entries.get(owned) {
            Some(entry) if entry.said != said => Err(Problem::new(
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
                    .insert(owned.clone(), Entry { said, answer: None });
                keys.oldest_first.push_back(owned.clone());
                keys.forget_oldest(self.capacity);
                Ok(Claim::New(Reservation {
                    keys: self,
                    key: owned.clone(),
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

    fn key(key: &str) -> OwnedKey {
        OwnedKey::new(None, key.to_owned())
    }

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
        let Claim::New(reservation) = keys.claim(&key("a"), blake3::hash(b"1")).unwrap() else {
            panic!("key is new")
        };
        assert_eq!(
            keys.claim(&key("a"), blake3::hash(b"1"))
                .err()
                .map(|problem| problem.code()),
            Some(Code::IdempotencyInProgress)
        );
        reservation.answer(&accepted());
        assert!(
            matches!(keys.claim(&key("a"), blake3::hash(b"1")).unwrap(), Claim::Answered(answer) if answer == accepted())
        );
        assert_eq!(
            keys.claim(&key("a"), blake3::hash(b"2"))
                .err()
                .map(|problem| problem.code()),
            Some(Code::IdempotencyMismatch)
        );
        assert!(keys.claim(&key(""), blake3::hash(b"")).is_err());
    }

    #[test]
    fn owners_do_not_see_the_keys_of_others() {
        let keys = IdempotencyKeys::new(9);
        for owner in [None, Some("a"), Some("b")] {
            let key = OwnedKey::new(owner, "same".to_owned());
            let body = blake3::hash(owner.unwrap_or_default().as_bytes());
            let Claim::New(reservation) = keys.claim(&key, body).unwrap() else {
                panic!("the key is new to {owner:?}")
            };
            reservation.answer(&accepted());
        }
    }

    #[test]
    fn a_failed_request_frees_its_key_and_old_keys_are_forgotten() {
        let keys = IdempotencyKeys::new(2);
        drop(keys.claim(&key("a"), blake3::hash(b"1")).unwrap());
        for name in ["a", "b", "c"] {
            let Claim::New(reservation) = keys.claim(&key(name), blake3::hash(b"2")).unwrap()
            else {
                panic!("key is free")
            };
            reservation.answer(&accepted());
        }
        assert!(matches!(
            keys.claim(&key("c"), blake3::hash(b"2")).unwrap(),
            Claim::Answered(_)
        ));
        assert!(matches!(
            keys.claim(&key("a"), blake3::hash(b"other")).unwrap(),
            Claim::New(_)
        ));
    }
}
