//! Sessions of the page, in memory: a random name each, kept as its hash.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tributary_schemas::Result;
use tributary_store::keys::{Holder, random_bytes};

/// Most of them; the one that ends first goes for one more.
const MAXIMUM_SESSIONS: usize = 10_000;

/// Who signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Session {
    /// Id of the key; `None` for the data folder's own token.
    pub key: Option<String>,
    /// Stands for the secret that was shown.
    pub mark: [u8; 32],
    until_ms: i64,
}

/// All sessions of this process, by the hash of their names.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<blake3::Hash, Session>>);

impl Sessions {
    /// Begins one that ends at a time, in milliseconds since 1970; its name, 64 hexadecimal digits.
    pub fn begin(&self, holder: &Holder, until_ms: i64, now_ms: i64) -> Result<String> {
        let name = blake3::Hash::from_bytes(random_bytes()?)
            .to_hex()
            .to_string();
        let session = Session {
            key: holder.id.clone(),
            mark: holder.mark,
            until_ms,
        };
        let mut sessions = self.lock();
        sessions.retain(|_, session| now_ms < session.until_ms);
        if sessions.len() >= MAXIMUM_SESSIONS {
            let first = sessions.iter().min_by_key(|(_, session)| session.until_ms);
            if let Some(first) = first.map(|(name, _)| *name) {
                sessions.remove(&first);
            }
        }
        sessions.insert(hashed(&name), session);
        Ok(name)
    }

    /// The one of this name, unless it is over.
    pub fn get(&self, name: &str, now_ms: i64) -> Option<Session> {
        let session = self.lock().get(&hashed(name)).cloned();
        session.filter(|session| now_ms < session.until_ms)
    }

    /// Ends one, if it is there.
    pub fn end(&self, name: &str) {
        self.lock().remove(&hashed(name));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<blake3::Hash, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hashed(name: &str) -> blake3::Hash {
    blake3::hash(name.as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_session_is_over_at_its_time_or_when_it_is_ended() {
        let holder = Holder {
            id: Some("k".to_owned()),
            name: None,
            groups: Vec::new(),
            clearance: 0,
            roles: Vec::new(),
            mark: [7; 32],
        };
        let sessions = Sessions::default();
        let first = sessions.begin(&holder, 10, 0).unwrap();
        let second = sessions.begin(&holder, 20, 0).unwrap();
        assert_ne!(first, second);
        assert_eq!(sessions.get(&first, 9).unwrap().mark, [7; 32]);
        assert!(sessions.get(&first, 10).is_none() && sessions.get("", 0).is_none());
        sessions.end(&second);
        assert!(sessions.get(&second, 0).is_none());
    }
}
