//! How many searches run and wait at the same time. Past that a search is refused at once: a queue
//! without an end makes everybody wait until nobody is answered in time.

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::config::ServerConfig;
use crate::metrics::Metrics;
use crate::problem::{Code, Problem};

/// Places to run and places to wait.
pub struct SearchQueue {
    running: Semaphore,
    /// Of those that run and those that wait.
    places: Semaphore,
    metrics: Metrics,
}

/// The right to search.
pub struct Turn<'a> {
    _running: SemaphorePermit<'a>,
    _place: SemaphorePermit<'a>,
}

impl SearchQueue {
    /// As many places as the settings say.
    pub fn new(config: &ServerConfig, metrics: Metrics) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let running = if config.concurrent_searches == 0 {
            cores
        } else {
            config.concurrent_searches
        };
        let places = running
            .saturating_add(config.waiting_searches)
            .min(Semaphore::MAX_PERMITS);
        Self {
            running: Semaphore::new(running.min(places)),
            places: Semaphore::new(places),
            metrics,
        }
    }

    /// Waits for a turn, in the order of arrival; `overloaded` if too many wait already.
    pub async fn turn(&self) -> Result<Turn<'_>, Problem> {
        let Ok(place) = self.places.try_acquire() else {
            self.metrics.observe_shed("search");
            return Err(
                Problem::new(Code::Overloaded, "too many searches are waiting already")
                    .with_hint("search again after the time in Retry-After"),
            );
        };
        let closed = |_| Problem::new(Code::Internal, "the queue of searches is closed");
        Ok(Turn {
            _running: self.running.acquire().await.map_err(closed)?,
            _place: place,
        })
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
        let queue = SearchQueue::new(
            &config,
            Metrics::register(&MetricRegistry::default()).unwrap(),
        );
        let mut context = Context::from_waker(Waker::noop());
        let (mut first, mut second, mut third) = (
            Box::pin(queue.turn()),
            Box::pin(queue.turn()),
            Box::pin(queue.turn()),
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
            Box::pin(queue.turn()).as_mut().poll(&mut context),
            Poll::Ready(Ok(_))
        ));
    }
}
