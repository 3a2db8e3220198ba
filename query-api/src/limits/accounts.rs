//! What is known of each caller, in bounded memory.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::bucket::Bucket;

/// The part of all callers that is forgotten at once: looking for the oldest takes time, and is done
/// for many callers together.
const FORGOTTEN_PART: usize = 4;

/// Whom requests count for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    /// A key, by its id.
    Key(String),
    /// An IPv4 address, or the 64 bits that a site has of an IPv6 address.
    Network(IpAddr),
}

impl Who {
    /// Whoever is at an address.
    pub fn at(address: IpAddr) -> Self {
        Self::Network(match address.to_canonical() {
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
            }
            address => address,
        })
    }
}

impl fmt::Display for Who {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(id) => write!(formatter, "key {id}"),
            Self::Network(IpAddr::V6(network)) => write!(formatter, "addresses in {network}/64"),
            Self::Network(address) => write!(formatter, "address {address}"),
        }
    }
}

/// What one caller has left.
#[derive(Debug, Default)]
pub struct Account {
    pub requests: Bucket,
    pub bytes: Bucket,
    pub wrong_keys: Bucket,
    streams: Arc<AtomicUsize>,
}

/// A place for a stream; given back when it is dropped.
#[derive(Debug)]
pub struct StreamPlace(Arc<AtomicUsize>);

impl StreamPlace {
    /// One of at most so many; `None` if they are taken.
    pub fn of(account: &Account, most: usize) -> Option<Self> {
        let taken = account
            .streams
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |streams| {
                (streams < most).then_some(streams + 1)
            });
        taken.ok().map(|_| Self(Arc::clone(&account.streams)))
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// All that are remembered.
pub struct Accounts {
    known: Mutex<HashMap<Who, (Arc<Account>, Instant)>>,
    most: usize,
}

impl Accounts {
    /// At most so many; those with open streams come on top, whose number connections bound.
    pub fn new(most: usize) -> Self {
        Self {
            known: Mutex::default(),
            most,
        }
    }

    /// That of a caller, who calls now.
    pub fn get(&self, who: &Who, now: Instant) -> Arc<Account> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((account, last)) = known.get_mut(who) {
            *last = now;
            return Arc::clone(account);
        }
        if known.len() >= self.most {
            forget(&mut known, self.most / FORGOTTEN_PART);
        }
        let account = Arc::new(Account::default());
        known.insert(who.clone(), (Arc::clone(&account), now));
        account
    }
}

/// Forgets so many that were silent longest and have no stream.
fn forget(known: &mut HashMap<Who, (Arc<Account>, Instant)>, number: usize) {
    let is_idle = |account: &Account| account.streams.load(Ordering::Relaxed) == 0;
    let idle = known.values().filter(|(account, _)| is_idle(account));
    let mut silent: Vec<Instant> = idle.map(|(_, last)| *last).collect();
    silent.sort_unstable();
    let Some(until) = silent
        .get(number.min(silent.len().saturating_sub(1)))
        .copied()
    else {
        return;
    };
    known.retain(|_, (account, last)| *last > until || !is_idle(account));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_memory_is_bounded_and_those_with_streams_stay() {
        let (accounts, start) = (Accounts::new(100), Instant::now());
        let key = |number: u64| Who::Key(number.to_string());
        let first = accounts.get(&key(0), start);
        let _place = StreamPlace::of(&first, 1).unwrap();
        for number in 1..10_000 {
            accounts.get(&key(number), start + Duration::from_millis(number));
        }
        assert!(accounts.known.lock().unwrap().len() <= 101);
        let again = accounts.get(&key(0), start + Duration::from_secs(60));
        assert!(
            StreamPlace::of(&again, 1).is_none(),
            "it is the same account"
        );
        assert!(Arc::ptr_eq(&first, &again));
        let last = accounts.get(&key(9_999), start + Duration::from_secs(60));
        assert!(
            Arc::ptr_eq(&last, &accounts.get(&key(9_999), start)),
            "the newest stays"
        );
    }

    #[test]
    fn callers_are_named() {
        let named = |text: &str| Who::at(text.parse().unwrap()).to_string();
        assert_eq!(named("::ffff:192.0.2.1"), "address 192.0.2.1");
        assert_eq!(named("2001:db8::7:1"), "addresses in 2001:db8::/64");
        assert_eq!(Who::Key("0a".to_owned()).to_string(), "key 0a");
    }
}
