//! Whose batch is embedded next. Documents take turns, a batch at a time: the one with the least
//! before it goes first, so that a long document holds up nobody, and every few turns the one that
//! has waited longest, so that a long document comes to its end however many small ones there are.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tributary_schemas::{Error, ErrorKind, Result};

/// Of so many turns one goes to whoever has waited longest: what small documents lose to a long one
/// is an eighth, and a long one has at least that.
const LONGEST_WAIT_EVERY: u64 = 8;

/// Turns that may be taken side by side, and who waits for one.
#[derive(Clone)]
pub(crate) struct Turns {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    free: usize,
    given: u64,
    next_ticket: u64,
    waiting: Vec<Waiting>,
}

struct Waiting {
    ticket: u64,
    /// Bytes that it has still to embed.
    rest: usize,
    give: oneshot::Sender<Turn>,
}

/// The right to embed a batch; the next one has it when this is dropped.
pub(crate) struct Turn {
    turns: Turns,
}

impl Turns {
    /// So many side by side.
    pub fn new(side_by_side: usize) -> Self {
        Self {
            inner: Arc::new(Mutex::new(Inner {
                free: side_by_side.max(1),
                given: 0,
                next_ticket: 0,
                waiting: Vec::new(),
            })),
        }
    }

    /// Waits for a turn; `rest` are the bytes that the document has still to embed. Being cancelled
    /// gives the turn to the next.
    pub async fn wait(&self, rest: usize) -> Result<Turn> {
        let receiver = {
            let mut inner = self.inner();
            if inner.free > 0 {
                inner.free -= 1;
                inner.given += 1;
                return Ok(Turn {
                    turns: self.clone(),
                });
            }
            let (give, receiver) = oneshot::channel();
            let ticket = inner.next_ticket;
            inner.next_ticket += 1;
            inner.waiting.push(Waiting { ticket, rest, give });
            receiver
        };
        let lost = |_| Error::new(ErrorKind::Internal, "a turn to embed was lost");
        receiver.await.map_err(lost)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Who is next; without anybody the turn is free.
    fn next(&mut self) -> Option<oneshot::Sender<Turn>> {
        let is_for_longest = self.given % LONGEST_WAIT_EVERY == LONGEST_WAIT_EVERY - 1;
        let order = |waiting: &Waiting| {
            let rest = if is_for_longest { 0 } else { waiting.rest };
            (rest, waiting.ticket)
        };
        let (position, _) = self
            .waiting
            .iter()
            .enumerate()
            .min_by_key(|(_, waiting)| order(waiting))?;
        self.given += 1;
        Some(self.waiting.swap_remove(position).give)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut inner = self.turns.inner();
            let next = inner.next();
            inner.free += usize::from(next.is_none());
            next
        };
        if let Some(give) = next {
            let turn = Self {
                turns: self.turns.clone(),
            };
            // Whoever does not wait any more lets go of it, which gives it to the next.
            drop(give.send(turn));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Documents with so many bytes each, all of which wait while the first turn is taken; the order
    /// in which they are served, a batch of one byte each time.
    async fn order(documents: &[(&'static str, usize)]) -> Vec<&'static str> {
        let turns = Turns::new(1);
        let first = turns.wait(0).await.unwrap();
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let mut running = Vec::new();
        for (name, bytes) in documents.iter().copied() {
            let (own, sender) = (turns.clone(), sender.clone());
            running.push(tokio::spawn(async move {
                for rest in (1..=bytes).rev() {
                    let _turn = own.wait(rest).await.unwrap();
                    sender.send(name).unwrap();
                }
            }));
            while turns.inner().waiting.len() < running.len() {
                tokio::task::yield_now().await;
            }
        }
        drop((first, sender));
        let mut served = Vec::new();
        while let Some(name) = receiver.recv().await {
            served.push(name);
        }
        served
    }

    #[tokio::test]
    async fn small_documents_do_not_wait_for_a_long_one_before_them() {
        let served = order(&[("long", 100), ("a", 1), ("b", 1), ("c", 2)]).await;
        let before_the_small = served.iter().rposition(|name| *name == "c").unwrap();
        assert!(before_the_small <= 4, "{:?}", &served[..10]);
        assert_eq!(served.len(), 104, "and the long one is done, too");
    }

    #[tokio::test]
    async fn a_long_document_gets_an_eighth_however_many_small_ones_there_are() {
        let small = (0..200).map(|_| ("small", 1));
        let documents: Vec<_> = std::iter::once(("long", 1000)).chain(small).collect();
        let served = order(&documents).await;
        let of_long = served[..200].iter().filter(|name| **name == "long").count();
        assert!(of_long >= 1, "{of_long}");
    }

    #[tokio::test]
    async fn a_turn_of_somebody_who_gave_up_goes_to_the_next() {
        let turns = Turns::new(1);
        let first = turns.wait(1).await.unwrap();
        let gave_up = tokio::time::timeout(std::time::Duration::from_millis(1), turns.wait(1));
        assert!(gave_up.await.is_err());
        let waits = tokio::spawn({
            let turns = turns.clone();
            async move { turns.wait(2).await.map(drop) }
        });
        while turns.inner().waiting.len() < 2 {
            tokio::task::yield_now().await;
        }
        drop(first);
        waits.await.unwrap().unwrap();
        drop(turns.wait(1).await.unwrap());
        assert_eq!(turns.inner().free, 1);
    }
}
