//! One answer on its way: its events so far, and everybody who reads them. A reader that comes back
//! goes on where it stopped; an answer that nobody reads is given up.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::stream::unfold;
use futures::{Stream, StreamExt};
use tokio::sync::watch;
use tributary_retrieval::Principal;
use tributary_schemas::ask::AskEvent;

/// An answer on its way.
pub struct Run {
    /// Of the answer.
    pub id: String,
    /// Who asked: nobody else may read it.
    pub principal: Principal,
    events: Mutex<Vec<AskEvent>>,
    /// How many events there are.
    count: watch::Sender<usize>,
    readers: watch::Sender<usize>,
    stopped: watch::Sender<bool>,
    ended: Mutex<Option<Instant>>,
}

/// Somebody who reads; dropping it says that they are gone.
struct Reader {
    run: Arc<Run>,
    next: usize,
    count: watch::Receiver<usize>,
    is_over: bool,
}

impl Run {
    /// One without events and readers.
    pub fn new(id: String, principal: Principal) -> Arc<Self> {
        Arc::new(Self {
            id,
            principal,
            events: Mutex::default(),
            count: watch::Sender::new(0),
            readers: watch::Sender::new(0),
            stopped: watch::Sender::new(false),
            ended: Mutex::default(),
        })
    }

    /// Adds an event. Nothing comes after the last one.
    pub fn push(&self, event: AskEvent) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.last().is_some_and(AskEvent::is_last) {
            return;
        }
        if event.is_last() {
            let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            *ended = Some(Instant::now());
        }
        events.push(event);
        self.count.send_replace(events.len());
    }

    /// The events so far.
    pub fn so_far(&self) -> Vec<AskEvent> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.clone()
    }

    /// How many events there are so far.
    pub fn count(&self) -> usize {
        *self.count.borrow()
    }

    /// How long it has been over; `None` while it goes on.
    pub fn over_for(&self) -> Option<Duration> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.map(|ended| ended.elapsed())
    }

    /// Its events after the first `seen`, each with its number from 1. Ends after the last event.
    pub fn read(self: &Arc<Self>, seen: usize) -> impl Stream<Item = (usize, AskEvent)> + use<> {
        self.readers.send_modify(|readers| *readers += 1);
        let reader = Reader {
            run: Arc::clone(self),
            next: seen,
            count: self.count.subscribe(),
            is_over: false,
        };
        unfold(reader, |mut reader| async {
            let event = reader.next().await?;
            Some(((reader.next, event), reader))
        })
    }

    /// Asks for it to end, and comes back when it has.
    pub async fn stop(self: &Arc<Self>) {
        self.stopped.send_replace(true);
        let rest = self.read(usize::MAX);
        rest.for_each(|_| std::future::ready(())).await;
    }

    /// Ends when somebody asks for it to end.
    pub async fn stopped(&self) {
        let mut stopped = self.stopped.subscribe();
        // The sender is part of the run, so it is not gone.
        stopped.wait_for(|stopped| *stopped).await.ok();
    }

    /// Ends when nobody has read it for this long.
    pub async fn abandoned(&self, after: Duration) {
        let mut readers = self.readers.subscribe();
        loop {
            if readers.wait_for(|readers| *readers == 0).await.is_err() {
                return;
            }
            let comes_back = readers.wait_for(|readers| *readers > 0);
            if tokio::time::timeout(after, comes_back).await.is_err() {
                return;
            }
        }
    }

    fn event(&self, at: usize) -> Option<AskEvent> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.get(at).cloned()
    }
}

impl Reader {
    async fn next(&mut self) -> Option<AskEvent> {
        if self.is_over {
            return None;
        }
        loop {
            // Looked at before the events: what came before the end is there then.
            let is_over = self.run.over_for().is_some();
            if let Some(event) = self.run.event(self.next) {
                self.next += 1;
                self.is_over = event.is_last();
                return Some(event);
            }
            if is_over {
                return None;
            }
            self.count.changed().await.ok()?;
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.run
            .readers
            .send_modify(|readers| *readers = readers.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use tributary_schemas::ask::AskFailure;

    use super::*;

    fn chunk(text: &str) -> AskEvent {
        let text = text.to_owned();
        AskEvent::AnswerChunk { text }
    }

    fn last() -> AskEvent {
        AskEvent::Error(AskFailure {
            code: "internal".to_owned(),
            detail: String::new(),
            hint: None,
        })
    }

    #[tokio::test]
    async fn a_reader_goes_on_where_it_stopped_and_nothing_comes_after_the_last_event() {
        let run = Run::new("r".to_owned(), Principal::unrestricted());
        run.push(chunk("a"));
        let mut first = Box::pin(run.read(0));
        assert_eq!(first.next().await, Some((1, chunk("a"))));
        drop(first);
        run.push(chunk("b"));
        run.push(last());
        run.push(chunk("c"));
        let rest: Vec<_> = run.read(1).collect().await;
        assert_eq!(rest, [(2, chunk("b")), (3, last())]);
        assert_eq!(run.read(9).collect::<Vec<_>>().await, []);
        assert!(run.over_for().is_some());
    }

    #[tokio::test]
    async fn it_is_abandoned_when_the_last_reader_is_gone_for_long_enough() {
        let run = Run::new("r".to_owned(), Principal::unrestricted());
        let reader = Box::pin(run.read(0));
        let after = Duration::from_millis(50);
        let mut abandoned = Box::pin(run.abandoned(after));
        let pause = Duration::from_millis(80);
        assert!(tokio::time::timeout(pause, &mut abandoned).await.is_err());
        drop(reader);
        let again = Box::pin(run.read(0));
        assert!(tokio::time::timeout(pause, &mut abandoned).await.is_err());
        drop(again);
        abandoned.await;
    }

    #[tokio::test]
    async fn who_stops_it_waits_for_its_end() {
        let run = Run::new("r".to_owned(), Principal::unrestricted());
        run.push(chunk("a"));
        let mut stop = Box::pin(run.stop());
        assert!(futures::poll!(&mut stop).is_pending());
        run.stopped().await;
        run.push(last());
        stop.await;
        run.stop().await;
    }
}
