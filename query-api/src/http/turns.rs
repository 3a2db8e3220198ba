//! How many pieces of work of one kind run and wait at the same time. Past that one is refused at
//! once: a queue without an end makes everybody wait until nobody is answered in time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::ServerConfig;
use crate::metrics::Metrics;
use crate::problem::{Code, Problem};

/// Places to run and places to wait.
pub struct Turns {
    running: Arc<Semaphore>,
    /// Of those that run and those that wait.
    places: Arc<Semaphore>,
    kind: Kind,
    metrics: Metrics,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Search,
    Rendering,
    Drawing,
}

impl Kind {
    /// In metrics.
    fn label(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Rendering => "rendering",
            Self::Drawing => "drawing",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Self::Search => "searches",
            Self::Rendering => "renderings",
            Self::Drawing => "drawings",
        }
    }
}

/// The right to work. It is held until the work has ended, also where nobody waits for it any more.
pub struct Turn {
    _running: OwnedSemaphorePermit,
    _place: OwnedSemaphorePermit,
}

impl Turns {
    /// Of searches: as many places as the settings say.
    pub fn of_searches(config: &ServerConfig, metrics: Metrics) -> Self {
        Self::new(Kind::Search, searches_at_once(config), config, metrics)
    }

    /// Of renderings: places of their own, and half as many, so that searches never wait for them.
    pub fn of_renderings(config: &ServerConfig, metrics: Metrics) -> Self {
        let running = searches_at_once(config).div_ceil(2);
        Self::new(Kind::Rendering, running, config, metrics)
    }

    /// Of pages that are drawn: places of their own, a quarter as many; each is a process.
    pub fn of_drawings(config: &ServerConfig, metrics: Metrics) -> Self {
        let running = searches_at_once(config).div_ceil(4);
        Self::new(Kind::Drawing, running, config, metrics)
    }

    fn new(kind: Kind, running: usize, config: &ServerConfig, metrics: Metrics) -> Self {
        let places = running
            .saturating_add(config.waiting_searches)
            .min(Semaphore::MAX_PERMITS);
        Self {
            running: Arc::new(Semaphore::new(running.min(places))),
            places: Arc::new(Semaphore::new(places)),
            kind,
            metrics,
        }
    }

    /// Waits for a turn, in the order of arrival; `overloaded` if too many wait already.
    pub async fn turn(&self) -> Result<Turn, Problem> {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            self.metrics.observe_shed(self.kind.label());
            let what = format!("too many {} are waiting already", self.kind.plural());
            return Err(Problem::new(Code::Overloaded, what)
                .with_hint("ask again after the time in Retry-After"));
        };
        let closed = |_| Problem::new(Code::Internal, "the queue of requests is closed");
        let running = Arc::clone(&self.running).acquire_owned();
        Ok(Turn {
            _running: running.await.map_err(closed)?,
            _place: place,
        })
    }
}

fn searches_at_once(config: &ServerConfig) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if config.concurrent_searches == 0 {
        cores
    } else {
        config.concurrent_searches
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::future::Future;
    use std::task::{Context, Poll, Waker};

    use tributary_store::metrics::MetricRegistry;

    use super::*;

    #[test]
    fn one_runs_one_waits_and_the_third_is_refused_until_there_is_a_place() {
        let config = ServerConfig {
            concurrent_searches: 1,
            waiting_searches: 1,
            ..crate::config::tests::server()
        };
        let turns = Turns::of_searches(
            &config,
            Metrics::register(&MetricRegistry::default()).unwrap(),
        );
        let mut context = Context::from_waker(Waker::noop());
        let (mut first, mut second, mut third) = (
            Box::pin(turns.turn()),
            Box::pin(turns.turn()),
            Box::pin(turns.turn()),
        );
        let Poll::Ready(Ok(turn)) = first.as_mut().poll(&mut context) else {
            panic!("there is a place to run")
        };
        assert!(second.as_mut().poll(&mut context).is_pending(), "it waits");
        let Poll::Ready(Err(problem)) = third.as_mut().poll(&mut context) else {
            panic!("there is no place")
        };
        assert_eq!(
            (problem.code(), problem.code().status()),
            (Code::Overloaded, 429)
        );
        drop(turn);
        assert!(
            matches!(second.as_mut().poll(&mut context), Poll::Ready(Ok(_))),
            "its turn"
        );
        drop(second);
        assert!(matches!(
            Box::pin(turns.turn()).as_mut().poll(&mut context),
            Poll::Ready(Ok(_))
        ));
    }
}
