//! An HTTP service of a team's own: JSON goes there, JSON comes back. [`Service::call`] looks after
//! a turn, the deadline, attempts with growing pauses, and the circuit; what the JSON says is left to
//! the caller. It calls the one address of its settings and follows no redirect.
//!
//! A call waits for its turn for as long as it takes: a service that is slow holds back its own
//! callers. The patience of a call begins with its first attempt, or when it finds the service away:
//! a service that does not answer is given up, document by document, and blocks nobody.

mod exchange;
mod settings;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

pub use settings::ServiceSettings;

use self::exchange::Exchange;
use crate::chat::backoff;
use crate::chat::circuit::Circuit;
use crate::chat::{ChatError, ChatResult, Reason};
use crate::{Error, Result};

/// Share of the patience after which a service that wants to be left alone for longer is asked.
const LAST_LOOK: f64 = 0.9;
/// Longest pause between two looks whether a service is back.
const LOOK_PAUSE: Duration = Duration::from_millis(500);

/// Counts calls. Called on async threads: nothing here may wait.
pub trait ServiceObserver: Send + Sync {
    /// An attempt is over: `ok`, `unchanged`, or the name of a reason.
    fn attempt(&self, service: &str, outcome: &'static str, took: Duration);

    /// A service is left alone because it failed, or is not any more. Told at the start as well.
    fn away(&self, service: &str, is_away: bool);
}

/// Whoever counts.
pub type SharedServiceObserver = Arc<dyn ServiceObserver>;

/// Nobody counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uncounted;

impl ServiceObserver for Uncounted {
    fn attempt(&self, _: &str, _: &'static str, _: Duration) {}
    fn away(&self, _: &str, _: bool) {}
}

/// What a service answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The body, never empty; none where the service says that there is none (204).
    pub body: Option<Vec<u8>>,
    /// From the request to the end of the body.
    pub took: Duration,
}

/// The client of one service.
pub struct Service {
    name: String,
    exchange: Exchange,
    settings: ServiceSettings,
    turns: Semaphore,
    circuit: Circuit,
    /// Calls that wait for the service to come back.
    waiting: AtomicUsize,
    /// Attempts so far that found it ill.
    ill_attempts: AtomicU64,
    observer: SharedServiceObserver,
}

/// Why attempts ended without an answer.
enum Ended {
    /// There is no point in another one.
    Failed(ChatError),
    /// The service is left alone for a while.
    Away,
}

/// A place among those that wait for a service that is away.
struct Place<'a>(&'a AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Service {
    /// Prepares connections; makes none yet. `Invalid` for settings that cannot be used; the
    /// message names the setting.
    pub fn new(
        name: &str,
        settings: ServiceSettings,
        observer: SharedServiceObserver,
    ) -> Result<Self> {
        settings.check()?;
        let exchange = Exchange::new(&settings)?;
        observer.away(name, false);
        Ok(Self {
            name: name.to_owned(),
            exchange,
            turns: Semaphore::new(settings.parallel),
            circuit: Circuit::new(settings.circuit_failures, settings.circuit_pause),
            waiting: AtomicUsize::new(0),
            ill_attempts: AtomicU64::new(0),
            settings,
            observer,
        })
    }

    /// Name in metrics.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is; not for messages about documents.
    pub fn address(&self) -> &str {
        &self.settings.url
    }

    /// Reports an attempt that was answered, once it is known what the answer is worth.
    pub fn judged(&self, outcome: &'static str, took: Duration) {
        self.observer.attempt(&self.name, outcome, took);
    }

    /// Whether it is left alone because it failed.
    pub fn is_away(&self) -> bool {
        self.circuit.is_open()
    }

    /// Sends a body until there is an answer, the attempts are used up or the patience ends. An
    /// answer is to be reported with [`Service::judged`].
    pub async fn call(&self, body: &bytes::Bytes) -> ChatResult<Answer> {
        let mut patience = Patience::new(self.settings.patience);
        let mut attempts = 0;
        loop {
            let turn = self.turns.acquire().await.map_err(|_| closed())?;
            if self.circuit.admit(Instant::now()).is_err() {
                drop(turn);
                self.wait_while_away(&mut patience).await?;
                continue;
            }
            // The turn is kept between attempts: who waits behind has not begun to be patient.
            match self.attempts(body, &mut attempts, &mut patience).await {
                Ok(answer) => return Ok(answer),
                Err(Ended::Failed(failed)) => return Err(failed),
                Err(Ended::Away) => {}
            }
        }
    }

    /// The same with one attempt, for somebody who looks on.
    pub async fn call_once(&self, body: &bytes::Bytes) -> ChatResult<Answer> {
        let mut patience = Patience::new(self.settings.patience);
        self.attempt(body, &mut patience).await
    }

    /// Attempts until the service is known to be away. Those that look whether it is back do not
    /// count.
    async fn attempts(
        &self,
        body: &bytes::Bytes,
        attempts: &mut u32,
        patience: &mut Patience,
    ) -> std::result::Result<Answer, Ended> {
        loop {
            *attempts += u32::from(!self.is_away());
            let failed = match self.attempt(body, patience).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            let pause = backoff::pause(self.settings.retry_pause, *attempts, failed.retry_after);
            let pause = match failed.retry_after {
                Some(_) => patience.or_last_look(pause),
                None => pause,
            };
            let is_last = *attempts > self.settings.retries || !patience.has(pause);
            if is_last || !may_pass(failed.reason) {
                return Err(Ended::Failed(failed));
            }
            if self.is_away() {
                return Err(Ended::Away);
            }
            tracing::debug!(service = self.name, error = %failed, "the call is tried again");
            tokio::time::sleep(pause).await;
        }
    }

    async fn attempt(&self, body: &bytes::Bytes, patience: &mut Patience) -> ChatResult<Answer> {
        let started = Instant::now();
        let longest = self.settings.timeout.min(patience.rest());
        let exchanged = tokio::time::timeout(longest, self.exchange.send(body.clone())).await;
        let took = started.elapsed();
        let failed = match exchanged {
            Ok(Ok(body)) => {
                self.answered();
                return Ok(Answer { body, took });
            }
            Ok(Err(failed)) => failed,
            Err(_) => {
                let seconds = longest.as_secs_f64();
                let message = format!("did not answer within {seconds:.0} s");
                ChatError::new(Reason::Deadline, message)
            }
        };
        self.observer
            .attempt(&self.name, failed.reason.as_str(), took);
        self.failed(failed.reason);
        Err(failed)
    }

    fn answered(&self) {
        self.circuit.succeeded();
        self.observer.away(&self.name, false);
    }

    fn failed(&self, reason: Reason) {
        if !reason.is_illness() {
            self.answered();
            return;
        }
        self.ill_attempts.fetch_add(1, Ordering::AcqRel);
        if self.circuit.failed(Instant::now()) {
            let reason = reason.as_str();
            tracing::warn!(
                service = self.name,
                reason,
                "the service fails and is left alone for a while"
            );
            self.observer.away(&self.name, true);
        }
    }

    /// Until the service may be tried again. Ends with an error when the patience does; where enough
    /// others wait, with the first attempt that fails meanwhile, as the service may be back by now.
    async fn wait_while_away(&self, patience: &mut Patience) -> ChatResult<()> {
        let before = self.waiting.fetch_add(1, Ordering::AcqRel);
        let _place = Place(&self.waiting);
        let at_first = patience.ill_attempts(self);
        let is_ill = self.ill_attempts.load(Ordering::Acquire) > at_first;
        if is_ill && before >= self.settings.waiting {
            let maximum = self.settings.waiting;
            let message = format!("is away, and as many documents wait for it as may ({maximum})");
            return Err(ChatError::new(Reason::CircuitOpen, message));
        }
        let pause = LOOK_PAUSE.min(self.settings.circuit_pause);
        if !patience.has(pause) {
            let seconds = self.settings.patience.as_secs_f64();
            let message = format!("was away for {seconds:.0} s");
            return Err(ChatError::new(Reason::CircuitOpen, message));
        }
        tokio::time::sleep(pause).await;
        if !self.is_away() {
            // It answers again: what is waited for from now on is a turn.
            patience.begin_anew();
        }
        Ok(())
    }
}

/// How long a call waits for a service that does not answer.
struct Patience {
    whole: Duration,
    until: Option<Instant>,
    /// Whether the service was asked once more because it wants to be left alone for longer.
    has_last_look: bool,
    /// How many attempts had found the service ill when it was first found away.
    ill_attempts: Option<u64>,
}

impl Patience {
    fn new(whole: Duration) -> Self {
        Self {
            whole,
            until: None,
            has_last_look: false,
            ill_attempts: None,
        }
    }

    fn ill_attempts(&mut self, service: &Service) -> u64 {
        let now = service.ill_attempts.load(Ordering::Acquire);
        *self.ill_attempts.get_or_insert(now)
    }

    /// What is left of it; it begins with the first time that somebody asks.
    fn rest(&mut self) -> Duration {
        let now = Instant::now();
        let until = *self.until.get_or_insert(now + self.whole);
        until.saturating_duration_since(now)
    }

    fn has(&mut self, pause: Duration) -> bool {
        pause < self.rest()
    }

    /// The pause, or where it is longer than the patience, once, one that ends shortly before it.
    fn or_last_look(&mut self, pause: Duration) -> Duration {
        let rest = self.rest();
        if pause < rest || std::mem::replace(&mut self.has_last_look, true) {
            return pause;
        }
        rest.mul_f64(LAST_LOOK)
    }

    fn begin_anew(&mut self) {
        self.has_last_look = false;
        self.until = None;
        self.ill_attempts = None;
    }
}

/// Whether the same call may succeed in a moment.
fn may_pass(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Unreachable
            | Reason::RateLimited
            | Reason::Overloaded
            | Reason::BrokenOff
            | Reason::Deadline
    )
}

fn closed() -> ChatError {
    ChatError::new(Reason::Unreachable, "is not called any more: stopping")
}

/// An `Invalid` error about a setting.
fn invalid(setting: &str, what: impl std::fmt::Display) -> Error {
    Error::new(
        tributary_schemas::ErrorKind::Invalid,
        format!("`{setting}` {what}"),
    )
}
