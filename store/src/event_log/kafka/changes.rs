//! Notices topics that somebody deletes and makes again, or gives more partitions, while they are
//! read. A reader's positions are those of the topic that was: in the new one they lie beyond
//! records that nobody has read. librdkafka goes on at them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio_util::sync::{CancellationToken, DropGuard};

use super::descriptions::Identity;
use super::membership::Membership;
use super::metadata::Metadata;
use super::{blocking, lock};

/// How long nobody knows of it, about.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What became of a topic that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It was deleted, and there is a new one of its name with this many partitions.
    Anew { partitions: u32 },
    /// It has this many partitions now, more than before.
    Grown { partitions: u32 },
}

/// The topics that are read through one log.
#[derive(Default)]
pub struct Watched(Mutex<HashMap<String, Topic>>);

#[derive(Default)]
struct Topic {
    /// As it was seen last.
    known: Option<Identity>,
    readers: Vec<Weak<Membership>>,
}

impl Watched {
    /// A reader that is told from now on.
    pub fn add(&self, topic: &str, reader: &Arc<Membership>) {
        let mut topics = lock(&self.0);
        let topic = topics.entry(topic.to_owned()).or_default();
        topic.readers.push(Arc::downgrade(reader));
    }

    /// Asks the brokers again and again, until the guard is dropped.
    pub fn follow(self: &Arc<Self>, metadata: &Arc<Metadata>) -> DropGuard {
        let stop = CancellationToken::new();
        let (watched, metadata) = (Arc::clone(self), Arc::clone(metadata));
        let following = async move {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                let (watched, metadata) = (Arc::clone(&watched), Arc::clone(&metadata));
                let looked = blocking(move || watched.look(&metadata)).await;
                if let Err(error) = looked {
                    tracing::debug!(%error, "cannot ask which topics there are");
                }
            }
        };
        tokio::spawn(stop.clone().run_until_cancelled_owned(following));
        stop.drop_guard()
    }

    fn look(&self, metadata: &Metadata) -> tributary_schemas::Result<()> {
        let names = self.read_now();
        if names.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let found = metadata.identities(&names, LOOK_EVERY)?;
        for (name, identity) in found {
            if self.note(&name, identity) {
                metadata.forget(&name);
            }
        }
        Ok(())
    }

    /// Names of the topics that somebody reads; forgets the others.
    fn read_now(&self) -> Vec<String> {
        let mut topics = lock(&self.0);
        topics.retain(|_, topic| {
            topic.readers.retain(|reader| reader.strong_count() > 0);
            !topic.readers.is_empty()
        });
        topics.keys().cloned().collect()
    }

    /// Tells the readers of a topic what became of it, if anything did.
    fn note(&self, name: &str, found: Identity) -> bool {
        let mut topics = lock(&self.0);
        let Some(topic) = topics.get_mut(name) else {
            return false;
        };
        let change = topic
            .known
            .replace(found)
            .and_then(|known| change(known, found));
        let Some(change) = change else {
            return false;
        };
        tracing::warn!(
            topic = name,
            ?change,
            "a topic that is read was changed by somebody; what is new of it is read from its start"
        );
        for reader in topic.readers.iter().filter_map(Weak::upgrade) {
            reader.tell(change);
        }
        true
    }
}

fn change(known: Identity, found: Identity) -> Option<Change> {
    let partitions = found.partitions;
    if known.id != found.id {
        return Some(Change::Anew { partitions });
    }
    (partitions > known.partitions).then_some(Change::Grown { partitions })
}
