//! What the stages of this process are at, for whoever waits for documents: [`Work`] is shared, each
//! stage begins and ends what it does there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tributary_schemas::work::WorkItem;

/// All of it.
#[derive(Clone, Default)]
pub struct Work {
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    next: u64,
    items: BTreeMap<u64, Item>,
}

struct Item {
    stage: &'static str,
    document_id: String,
    since: Instant,
    done: u64,
    all: u64,
}

/// A document that a stage is at; it is no more when this is dropped.
pub struct Working {
    work: Work,
    id: u64,
}

impl Work {
    /// A stage begins with a document.
    pub fn begin(&self, stage: &'static str, document_id: &str) -> Working {
        let mut open = self.open();
        let id = open.next;
        open.next += 1;
        open.items.insert(
            id,
            Item {
                stage,
                document_id: document_id.to_owned(),
                since: Instant::now(),
                done: 0,
                all: 0,
            },
        );
        drop(open);
        Working {
            work: self.clone(),
            id,
        }
    }

    /// What is under way, the longest first.
    pub fn items(&self) -> Vec<WorkItem> {
        let open = self.open();
        let items = open.items.values();
        items
            .map(|item| WorkItem {
                stage: item.stage.to_owned(),
                document_id: item.document_id.clone(),
                seconds: item.since.elapsed().as_secs_f64(),
                done: item.done,
                all: item.all,
            })
            .collect()
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Working {
    /// So many chunks of all are done.
    pub fn advance(&self, done: usize, all: usize) {
        if let Some(item) = self.work.open().items.get_mut(&self.id) {
            item.done = done as u64;
            item.all = all as u64;
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.work.open().items.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_under_way_is_told_until_it_ends() {
        let work = Work::default();
        let first = work.begin("ingest", "a");
        let second = work.begin("embed", "b");
        second.advance(3, 12);
        let told = |work: &Work| {
            work.items()
                .into_iter()
                .map(|item| (item.document_id, item.done, item.all))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            told(&work),
            [("a".to_owned(), 0, 0), ("b".to_owned(), 3, 12)]
        );
        drop(first);
        drop(second);
        assert!(told(&work).is_empty());
    }
}
