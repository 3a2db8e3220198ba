//! The one thread that writes: it takes all appends and commits that wait, writes them, syncs each
//! file once, and then answers all. While it syncs, the next round gathers: that is the group
//! commit.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tributary_schemas::{Error, ErrorKind, Result};

use super::counters::Counters;
use super::folder::lock;
use super::group::Group;
use super::partition::Partition;
use super::tail::Part;
use super::topic::Topic;
use crate::event_log::Position;

/// Bytes after which a round takes no more appends.
const ROUND_BYTES: usize = 16 << 20;
/// Files that are synced at the same time.
const SYNC_THREADS: usize = 16;

/// What the writer is asked to do.
#[derive(Debug)]
pub enum Command {
    /// Append records.
    Append(Append),
    /// Make group positions durable.
    Commit(Commit),
    /// Close the active segment of a partition.
    Roll {
        partition: Arc<Partition>,
        reply: oneshot::Sender<Result<()>>,
    },
    /// Answer once what came before is done.
    Probe { reply: oneshot::Sender<()> },
    /// Say so, then do nothing until the other end is dropped: what is durable does not change
    /// meanwhile.
    Hold {
        held: mpsc::Sender<()>,
        released: mpsc::Receiver<()>,
    },
    /// Finish what came before, then end.
    Stop,
}

/// A commit on its way.
#[derive(Debug)]
pub struct Commit {
    /// The group.
    pub group: Arc<Group>,
    /// What it has done.
    pub positions: Vec<Position>,
    /// Told when that is durable.
    pub reply: oneshot::Sender<Result<()>>,
}

/// An append on its way.
#[derive(Debug)]
pub struct Append {
    /// The topic, to wake its readers.
    pub topic: Arc<Topic>,
    /// One part per partition that gets records.
    pub parts: Vec<Part>,
    /// Records in all.
    pub count: usize,
    /// Room in the queue, free again when this is dropped.
    pub room: OwnedSemaphorePermit,
    /// Takes the positions once they are durable.
    pub reply: oneshot::Sender<Result<Vec<Position>>>,
}

/// The writer thread.
pub struct Writer {
    /// Where commands come from.
    pub commands: Receiver<Command>,
    /// How long to wait for more before a sync.
    pub linger: Duration,
    /// What its rounds work with.
    pub tools: Tools,
}

/// What the rounds of the writer share.
pub struct Tools {
    /// What is counted.
    pub counters: Arc<Counters>,
    /// Size at which segments are closed.
    pub segment_bytes: u64,
    /// Threads that sync files. All of them are there from the start: one that could not be made
    /// later would end the writer.
    pub syncing: ThreadPool,
}

/// The threads that sync files; an error where the system does not give so many.
pub fn sync_threads() -> Result<ThreadPool> {
    let pool = ThreadPoolBuilder::new()
        .num_threads(SYNC_THREADS)
        .thread_name(|number| format!("log-sync-{number}"));
    pool.build().map_err(|error| {
        Error::new(ErrorKind::Exhausted, format!("cannot start {SYNC_THREADS} threads for the event log: {error}"))
            .with_hint("raise the limit of threads of this process (`ulimit -u`, TasksMax of systemd, pids of the container)")
    })
}

impl Writer {
    /// Works until it is told to stop or nobody can tell it anything more.
    pub fn run(self) {
        while let Ok(first) = self.commands.recv() {
            let mut round = Round::new(&self.tools);
            let deadline = Instant::now() + self.linger;
            round.take(first);
            while !round.is_full() {
                match self
                    .commands
                    .recv_timeout(deadline.saturating_duration_since(Instant::now()))
                {
                    Ok(command) => round.take(command),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
                }
            }
            let stop = round.stop;
            round.finish();
            if stop {
                return;
            }
        }
    }
}

struct Round<'a> {
    tools: &'a Tools,
    appends: Vec<Pending>,
    commits: Vec<Commit>,
    probes: Vec<oneshot::Sender<()>>,
    touched: Vec<Touched>,
    bytes: usize,
    stop: bool,
}

struct Pending {
    positions: Vec<Position>,
    error: Option<Error>,
    room: OwnedSemaphorePermit,
    reply: oneshot::Sender<Result<Vec<Position>>>,
}

/// A partition with staged frames, and the appends that they belong to.
struct Touched {
    topic: Arc<Topic>,
    partition: Arc<Partition>,
    appends: Vec<usize>,
}

impl<'a> Round<'a> {
    fn new(tools: &'a Tools) -> Self {
        let (appends, commits, probes, touched) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self {
            tools,
            appends,
            commits,
            probes,
            touched,
            bytes: 0,
            stop: false,
        }
    }

    fn is_full(&self) -> bool {
        self.stop || self.bytes >= ROUND_BYTES
    }

    fn take(&mut self, command: Command) {
        match command {
            Command::Append(append) => self.stage(append),
            Command::Commit(commit) => self.commits.push(commit),
            Command::Probe { reply } => self.probes.push(reply),
            Command::Roll { partition, reply } => {
                self.settle(|touched| Arc::ptr_eq(&touched.partition, &partition));
                let result = lock(&partition.tail).roll(&partition);
                drop(reply.send(result));
            }
            Command::Hold { held, released } => {
                // Whoever wants it held waits for exactly this, and lets go by dropping its end.
                if held.send(()).is_ok() {
                    released.recv().ok();
                }
            }
            Command::Stop => self.stop = true,
        }
    }

    fn stage(&mut self, append: Append) {
        let Append {
            topic,
            parts,
            count,
            room,
            reply,
        } = append;
        let index = self.appends.len();
        self.appends.push(Pending {
            positions: vec![
                Position {
                    partition: 0,
                    offset: 0
                };
                count
            ],
            error: None,
            room,
            reply,
        });
        for part in parts {
            self.bytes += part.frames.len();
            if let Err(error) = self.stage_part(&topic, &part, index) {
                self.fail(&[index], &error);
            }
        }
    }

    fn stage_part(&mut self, topic: &Arc<Topic>, part: &Part, index: usize) -> Result<()> {
        let partition = &part.partition;
        if lock(&partition.tail).is_full(part.frames.len(), self.tools.segment_bytes) {
            self.settle(|touched| Arc::ptr_eq(&touched.partition, partition));
            lock(&partition.tail).close(partition)?;
        }
        let first = lock(&partition.tail).stage(part);
        for (offset, place) in (first..).zip(&part.places) {
            self.appends[index].positions[*place] = Position {
                partition: partition.number,
                offset,
            };
        }
        self.touch(topic, partition, index);
        Ok(())
    }

    /// Notes that an append has a part in a partition.
    fn touch(&mut self, topic: &Arc<Topic>, partition: &Arc<Partition>, index: usize) {
        match self
            .touched
            .iter_mut()
            .find(|touched| Arc::ptr_eq(&touched.partition, partition))
        {
            Some(touched) => touched.appends.push(index),
            None => self.touched.push(Touched {
                topic: Arc::clone(topic),
                partition: Arc::clone(partition),
                appends: vec![index],
            }),
        }
    }

    /// Writes and syncs the partitions that `wanted` names.
    fn settle(&mut self, wanted: impl Fn(&Touched) -> bool) {
        let mut all: Vec<Touched> = self
            .touched
            .extract_if(.., |touched| wanted(touched))
            .collect();
        all.retain(|touched| {
            let written = lock(&touched.partition.tail).write(&touched.partition);
            self.check(touched, written)
        });
        let finish = |touched: &Touched| {
            let started = Instant::now();
            let finished = lock(&touched.partition.tail).finish(&touched.partition);
            (finished, started.elapsed())
        };
        for (touched, (finished, took)) in
            all.iter().zip(at_once(&self.tools.syncing, &all, finish))
        {
            let counters = &self.tools.counters;
            counters.syncs.add(1);
            counters.sync_us.add(took.as_micros() as u64);
            if let Ok((records, bytes)) = finished {
                counters.appended_records.add(records);
                counters.appended_bytes.add(bytes);
            }
            if self.check(touched, finished.map(drop)) {
                touched.topic.announce();
            }
        }
    }

    /// Whether it went well; if not, the partition goes back to what was durable and its appends
    /// fail.
    fn check(&mut self, touched: &Touched, result: Result<()>) -> bool {
        let Err(error) = result else { return true };
        lock(&touched.partition.tail).abandon(&touched.partition);
        tracing::warn!(topic = touched.topic.name, partition = touched.partition.number, %error, "appends failed");
        self.fail(&touched.appends, &error);
        false
    }

    fn fail(&mut self, appends: &[usize], error: &Error) {
        for index in appends {
            self.appends[*index].error = Some(error.clone());
        }
    }

    fn finish(mut self) {
        let commits = std::mem::take(&mut self.commits);
        let syncing = &self.tools.syncing;
        let commit_all = || {
            at_once(syncing, &commits, |commit: &Commit| {
                commit.group.commit(&commit.positions)
            })
        };
        let committed = if commits.is_empty() || self.touched.is_empty() {
            self.settle(|_| true);
            commit_all()
        } else {
            // Nobody commits in the round of an append that the commit depends on, so they need no
            // order.
            syncing.join(commit_all, || self.settle(|_| true)).0
        };
        let counters = &self.tools.counters;
        counters
            .rounds
            .add(u64::from(!self.appends.is_empty() || !commits.is_empty()));
        for (commit, result) in commits.into_iter().zip(committed) {
            counters.commits.add(u64::from(result.is_ok()));
            drop(commit.reply.send(result));
        }
        for pending in self.appends {
            counters
                .failed_appends
                .add(u64::from(pending.error.is_some()));
            drop(pending.room);
            // Whoever stopped waiting does not want the answer.
            drop(
                pending
                    .reply
                    .send(pending.error.map_or(Ok(pending.positions), Err)),
            );
        }
        for probe in self.probes {
            // Whoever stopped waiting does not want the answer.
            probe.send(()).ok();
        }
    }
}

/// Does the work for all items, at the same time if there are several: syncs that run together cost
/// the disk about as much as one.
fn at_once<I: Sync, T: Send>(
    threads: &ThreadPool,
    items: &[I],
    work: impl Fn(&I) -> T + Send + Sync,
) -> Vec<T> {
    match items {
        [] => Vec::new(),
        [only] => vec![work(only)],
        several => threads.install(|| several.par_iter().with_max_len(1).map(work).collect()),
    }
}
