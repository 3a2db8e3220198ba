//! What one caller may ask of the server in a time: requests, bytes, streams at once, and wrong keys.
//! A caller is a key, or an address where no key is shown. What comes from this machine without a
//! key, or with the data folder's own token, has no limits: a proxy stands there, or who may stop
//! the server as well.

mod accounts;
mod bucket;
mod config;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tributary_schemas::audit::AuditCaller;

use crate::http::caller::Caller;
use crate::metrics::Metrics;
use crate::problem::{Code, Problem};
pub use accounts::StreamPlace;
use accounts::{Account, Accounts, Who};
use bucket::Rate;
pub use config::LimitsConfig;

/// Keeps count of callers.
pub struct Limits {
    accounts: Accounts,
    requests: Option<Rate>,
    bytes: Option<Rate>,
    wrong_keys: Option<Rate>,
    config: LimitsConfig,
    metrics: Metrics,
}

/// A refusal, and when to come again.
pub struct TooMuch {
    /// Which limit it is, and where it is set.
    pub problem: Problem,
    /// After which there is room again.
    pub wait: Duration,
}

/// One request that was let in, and whom it counts for.
#[derive(Clone, Default)]
pub struct Admission(Option<Counted>);

#[derive(Clone)]
struct Counted {
    limits: Arc<Limits>,
    account: Arc<Account>,
    who: String,
}

impl Limits {
    /// As the configuration wants them.
    pub fn new(config: &LimitsConfig, metrics: Metrics) -> Arc<Self> {
        Arc::new(Self {
            accounts: Accounts::new(config.remembered_callers),
            requests: Rate::per_minute(config.requests_per_minute, config.request_burst),
            bytes: Rate::per_minute(config.bytes_per_minute, config.bytes_per_minute),
            wrong_keys: Rate::per_minute(
                config.wrong_keys_per_minute,
                config.wrong_keys_per_minute,
            ),
            config: config.clone(),
            metrics,
        })
    }

    /// Counts a request of a caller who was let in, or says that it is one too many.
    pub fn admit(
        self: &Arc<Self>,
        caller: &Caller,
        address: Option<IpAddr>,
    ) -> Result<Admission, TooMuch> {
        match (caller.key(), address) {
            (Some(key), _) => self.count(Who::Key(key.to_owned())),
            (None, Some(address)) if !is_exempt(caller, address) => self.count(Who::at(address)),
            _ => Ok(Admission::default()),
        }
    }

    /// Counts a request without a key that is let in nowhere.
    pub fn strange(self: &Arc<Self>, address: Option<IpAddr>) -> Result<Admission, TooMuch> {
        match address {
            Some(address) if !is_loopback(address) => self.count(Who::at(address)),
            _ => Ok(Admission::default()),
        }
    }

    /// Counts a wrong key that came from an address. Right ones are not held up by wrong ones of
    /// the same address, which may be many people's.
    pub fn wrong_key(&self, address: Option<IpAddr>) -> Result<(), TooMuch> {
        let (Some(rate), Some(address)) = (&self.wrong_keys, address) else {
            return Ok(());
        };
        let who = Who::at(address);
        let now = Instant::now();
        let taken = self.accounts.get(&who, now).wrong_keys.take(rate, now);
        taken.map_err(|wait| {
            let limit = format!("{} wrong keys a minute", self.config.wrong_keys_per_minute);
            self.too_much("wrong_keys", &who.to_string(), &limit, wait)
        })
    }

    fn count(self: &Arc<Self>, who: Who) -> Result<Admission, TooMuch> {
        let now = Instant::now();
        let account = self.accounts.get(&who, now);
        let name = who.to_string();
        if let Some(rate) = &self.bytes {
            let solvent = account.bytes.is_solvent(rate, now);
            solvent.map_err(|wait| {
                let limit = format!("{} bytes a minute", self.config.bytes_per_minute);
                self.too_much("bytes", &name, &limit, wait)
            })?;
        }
        if let Some(rate) = &self.requests {
            let taken = account.requests.take(rate, now);
            taken.map_err(|wait| {
                let limit = format!("{} requests a minute", self.config.requests_per_minute);
                self.too_much("requests", &name, &limit, wait)
            })?;
        }
        Ok(Admission(Some(Counted {
            limits: Arc::clone(self),
            account,
            who: name,
        })))
    }

    fn too_much(&self, what: &'static str, who: &str, limit: &str, wait: Duration) -> TooMuch {
        self.metrics.observe_shed(what);
        let setting = match what {
            "streams" => "concurrent_streams".to_owned(),
            what => format!("{what}_per_minute"),
        };
        let problem = Problem::new(Code::RateLimited, format!("{who} may have {limit}"));
        TooMuch {
            problem: problem.with_hint(format!(
                "come again after the time in Retry-After; query_api.server.limits.{setting} sets it"
            )),
            wait,
        }
    }
}

impl Admission {
    /// Bytes of a body came, or went.
    pub fn spend(&self, bytes: usize) {
        if let Some(counted) = &self.0
            && let Some(rate) = &counted.limits.bytes
        {
            counted
                .account
                .bytes
                .spend(rate, bytes as u64, Instant::now());
        }
    }

    /// A place for a stream, or one too many. `None` where streams have no limit.
    pub fn stream(&self) -> Result<Option<StreamPlace>, TooMuch> {
        let Some(counted) = &self.0 else {
            return Ok(None);
        };
        let most = counted.limits.config.concurrent_streams;
        if most == 0 {
            return Ok(None);
        }
        let place = StreamPlace::of(&counted.account, most);
        place.map(Some).ok_or_else(|| {
            let limit = format!("{most} streams at once");
            let wait = Duration::from_secs(1);
            counted
                .limits
                .too_much("streams", &counted.who, &limit, wait)
        })
    }
}

/// Who calls from this machine without a key, or shows what lies in the data folder.
fn is_exempt(caller: &Caller, address: IpAddr) -> bool {
    caller.kind() == AuditCaller::DataFolder || is_loopback(address)
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_store::keys::{Grant, Holder};
    use tributary_store::metrics::MetricRegistry;

    use crate::http::caller::Reading;

    use super::*;

    fn config() -> LimitsConfig {
        LimitsConfig {
            requests_per_minute: 60,
            request_burst: 3,
            bytes_per_minute: 600,
            concurrent_streams: 2,
            wrong_keys_per_minute: 2,
            remembered_callers: 100,
        }
    }

    fn limits(config: &LimitsConfig) -> Arc<Limits> {
        Limits::new(
            config,
            Metrics::register(&MetricRegistry::default()).unwrap(),
        )
    }

    fn holder(id: Option<&str>) -> Caller {
        let holder = Holder {
            id: id.map(str::to_owned),
            name: None,
            roles: vec![Grant::Administrator],
            groups: Vec::new(),
            clearance: 0,
            mark: [0; 32],
        };
        Caller::of(holder, &Reading::default())
    }

    fn at(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn a_key_is_counted_wherever_it_comes_from_and_no_other_with_it() {
        let limits = limits(&config());
        for place in ["192.0.2.1", "127.0.0.1", "2001:db8::1"] {
            assert!(limits.admit(&holder(Some("a")), at(place)).is_ok());
        }
        let refused = limits
            .admit(&holder(Some("a")), at("192.0.2.9"))
            .err()
            .unwrap();
        assert_eq!(refused.problem.code(), Code::RateLimited);
        assert!(
            refused
                .problem
                .hint()
                .unwrap()
                .contains("requests_per_minute")
        );
        assert!(
            refused.problem.detail().contains("key a"),
            "{}",
            refused.problem
        );
        assert!(refused.wait <= Duration::from_secs(1) && !refused.wait.is_zero());
        assert!(limits.admit(&holder(Some("b")), at("192.0.2.1")).is_ok());
    }

    #[test]
    fn addresses_are_counted_by_network_and_this_machine_is_not() {
        let limits = limits(&config());
        for last in 1..=3 {
            assert!(limits.strange(at(&format!("2001:db8::{last}"))).is_ok());
        }
        assert!(limits.strange(at("2001:db8::9")).is_err());
        assert!(
            limits.strange(at("2001:db8:0:1::9")).is_ok(),
            "another network"
        );
        for _ in 0..20 {
            assert!(limits.strange(at("::1")).is_ok());
            assert!(limits.strange(at("::ffff:127.0.0.1")).is_ok());
            assert!(limits.admit(&Caller::local(), at("127.0.0.1")).is_ok());
            assert!(limits.admit(&holder(None), at("192.0.2.1")).is_ok());
        }
        let mapped = |_: i32| limits.admit(&Caller::local(), at("::ffff:192.0.2.7"));
        assert!((0..3).map(mapped).all(|admitted| admitted.is_ok()));
        assert!(limits.admit(&Caller::local(), at("192.0.2.7")).is_err());
    }

    #[test]
    fn bytes_are_a_debt_that_the_next_request_meets() {
        let limits = limits(&config());
        let admitted = limits.admit(&holder(Some("a")), None).ok().unwrap();
        admitted.spend(601 + 10);
        let refused = limits.admit(&holder(Some("a")), None).err().unwrap();
        assert!(refused.problem.hint().unwrap().contains("bytes_per_minute"));
        let wait = refused.wait.as_secs_f64();
        assert!((0.5..=1.2).contains(&wait), "{wait}");
    }

    #[test]
    fn streams_have_places_that_come_back() {
        let limits = limits(&config());
        let admitted = limits.admit(&holder(Some("a")), None).ok().unwrap();
        let first = admitted.stream().ok().unwrap();
        let _second = admitted.stream().ok().unwrap();
        let refused = admitted.stream().err().unwrap();
        assert!(
            refused
                .problem
                .hint()
                .unwrap()
                .contains("limits.concurrent_streams")
        );
        drop(first);
        assert!(admitted.stream().is_ok());
    }

    #[test]
    fn wrong_keys_are_slowed_and_right_ones_are_not() {
        let limits = limits(&config());
        assert!(
            limits.wrong_key(at("192.0.2.1")).is_ok() && limits.wrong_key(at("192.0.2.1")).is_ok()
        );
        let refused = limits.wrong_key(at("192.0.2.1")).err().unwrap();
        assert!(
            refused
                .problem
                .hint()
                .unwrap()
                .contains("wrong_keys_per_minute")
        );
        assert!(limits.wrong_key(at("192.0.2.2")).is_ok());
        // Behind a proxy on this machine everybody comes from here.
        assert!((0..2).all(|_| limits.wrong_key(at("127.0.0.1")).is_ok()));
        assert!(limits.wrong_key(at("127.0.0.1")).is_err());
        assert!(limits.admit(&holder(Some("a")), at("192.0.2.1")).is_ok());
    }

    #[test]
    fn zero_is_no_limit() {
        let limits = limits(&LimitsConfig {
            requests_per_minute: 0,
            bytes_per_minute: 0,
            concurrent_streams: 0,
            wrong_keys_per_minute: 0,
            ..config()
        });
        for _ in 0..50 {
            let admitted = limits
                .admit(&holder(Some("a")), at("192.0.2.1"))
                .ok()
                .unwrap();
            admitted.spend(1 << 30);
            assert!(admitted.stream().ok().unwrap().is_none());
            assert!(limits.wrong_key(at("192.0.2.1")).is_ok());
        }
    }
}
