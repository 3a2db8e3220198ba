//! The embedded event log: segment files in the data folder, one writer thread with group commit,
//! readers on blocking threads. Opened by the command line for services that run in one process.
//! The files are described in `format.rs`.

mod compaction;
mod config;
mod counters;
mod damage;
pub(crate) mod folder;
mod format;
mod group;
mod image;
mod maintenance;
mod partition;
mod partitioner;
mod repair;
mod retention;
mod scanner;
mod segment;
mod subscription;
mod tail;
mod topic;
mod verify;
mod writer;

pub(crate) use topic::MAXIMUM_PARTITIONS;

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Semaphore, oneshot};
use tributary_schemas::{Error, ErrorKind, Result};

pub use config::Config;
pub use counters::{Counter, Counters};
pub use damage::Damage;
pub use partitioner::partition_of;
pub(crate) use repair::repair;
pub(crate) use verify::verify;

use self::folder::{create_folder, failed, finished_files, lock, read, sync_folder, write};
use self::group::Group;
use self::maintenance::{StopSign, compact_topic, expire_topic};
use self::partition::Partition;
use self::subscription::EmbeddedSubscription;
use self::tail::Part;
use self::topic::{Topic, check_name};
use self::writer::{Append, Command, Commit, Tools, Writer, sync_threads};
use super::{EventLog, PartitionLag, Position, Record, Subscription, TopicSettings};

/// Appends above this are encoded on a blocking thread.
const INLINE_ENCODE_BYTES: usize = 512 << 10;

/// The event log in a folder. One process at a time has it open; dropping it waits for what was
/// being written.
pub struct EmbeddedEventLog {
    shared: Arc<Shared>,
    commands: Commands,
    queue: Arc<Semaphore>,
    threads: Vec<JoinHandle<()>>,
    /// Locked for as long as the log is open, unlocked after the threads have ended.
    lock_file: File,
}

/// What the threads and the log share.
struct Shared {
    folder: PathBuf,
    config: Config,
    counters: Arc<Counters>,
    topics: RwLock<HashMap<String, Arc<Topic>>>,
    creation: Mutex<()>,
    stop: StopSign,
}

impl Shared {
    fn topics(&self) -> Vec<Arc<Topic>> {
        read(&self.topics).values().cloned().collect()
    }

    fn topic(&self, name: &str) -> Result<Arc<Topic>> {
        let topic = read(&self.topics).get(name).cloned();
        topic.ok_or_else(|| {
            let what = format!("the event log has no topic `{name}`");
            Error::new(ErrorKind::NotFound, what).of_environment()
        })
    }

    fn create_topic(&self, name: &str, settings: TopicSettings) -> Result<()> {
        check_name(name)?;
        let _creation = lock(&self.creation);
        if let Ok(topic) = self.topic(name) {
            return topic.change(settings);
        }
        let topic = Topic::create(&self.folder.join(name), name, settings)?;
        write(&self.topics).insert(name.to_owned(), Arc::new(topic));
        Ok(())
    }
}

/// The way to the writer.
#[derive(Clone)]
struct Commands(Sender<Command>);

impl Commands {
    fn send(&self, command: Command) -> Result<()> {
        self.0.send(command).map_err(|_| closed())
    }

    async fn commit(&self, group: Arc<Group>, positions: Vec<Position>) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Commit(Commit {
            group,
            positions,
            reply,
        }))?;
        answer.await.map_err(|_| closed())?
    }

    /// Not to be called on an async thread.
    fn roll(&self, partition: Arc<Partition>) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.send(Command::Roll { partition, reply })?;
        answer.blocking_recv().map_err(|_| closed())?
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Unavailable, "the event log is closed")
}

/// Runs blocking work beside the async threads.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("work on the event log was broken off: {error}"),
        )
    })?
}

impl EmbeddedEventLog {
    /// Opens the log in `folder`, or creates it, and recovers what a crash left. Blocks: reads the
    /// last segment of each partition.
    ///
    /// `Conflict` if another process has it open, `Denied` if the folder cannot be written,
    /// `Corrupt` for a segment that is missing.
    pub fn open(folder: &Path, config: Config) -> Result<Self> {
        config.check()?;
        if !folder.is_dir() {
            std::fs::create_dir_all(folder).map_err(failed("create folder", folder))?;
            folder
                .parent()
                .filter(|parent| parent.is_dir())
                .map_or(Ok(()), sync_folder)?;
        }
        let lock_file = lock_folder(folder)?;
        let topics_folder = folder.join("topics");
        create_folder(&topics_folder)?;
        let counters = Arc::new(Counters::default());
        let topics = open_topics(&topics_folder, &counters)?;
        let shared = Arc::new(Shared {
            folder: topics_folder,
            config,
            counters,
            topics: RwLock::new(topics),
            creation: Mutex::default(),
            stop: StopSign::default(),
        });
        let (sender, receiver) = channel();
        let commands = Commands(sender);
        let tools = Tools {
            counters: Arc::clone(&shared.counters),
            segment_bytes: shared.config.segment_bytes,
            syncing: sync_threads()?,
        };
        let writer = Writer {
            commands: receiver,
            linger: Duration::from_millis(shared.config.linger_ms),
            tools,
        };
        let mut threads = vec![spawn("log-writer", move || writer.run())?];
        if shared.config.maintenance_interval_seconds > 0 {
            let (shared, commands) = (Arc::clone(&shared), commands.clone());
            threads.push(spawn("log-maintenance", move || {
                maintenance::run(&shared, &commands)
            })?);
        }
        let queue = Arc::new(Semaphore::new(shared.config.queue_bytes));
        Ok(Self {
            shared,
            commands,
            queue,
            threads,
            lock_file,
        })
    }

    /// What it has done since it was opened.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.shared.counters)
    }

    /// What of it was found to have rotted since it was opened, by place. A record that rotted is
    /// passed over.
    pub fn damage(&self) -> Vec<Damage> {
        let of_topic = |topic: Arc<Topic>| {
            topic
                .partitions
                .iter()
                .flat_map(|partition| partition.damage.all())
                .collect::<Vec<_>>()
        };
        self.shared
            .topics()
            .into_iter()
            .flat_map(of_topic)
            .collect()
    }

    /// Compacts the closed segments of a compacted topic now. Returns the bytes that were freed.
    pub async fn compact(&self, topic: &str) -> Result<u64> {
        let (shared, topic) = (Arc::clone(&self.shared), self.shared.topic(topic)?);
        if !topic.settings().compacted {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!("topic `{}` is not compacted", topic.name),
            ));
        }
        blocking(move || compact_topic(&shared, &topic, -1.0)).await
    }

    /// Names of the groups of a topic that have committed; none for a topic that is not there.
    pub fn groups(&self, topic: &str) -> Vec<String> {
        self.shared
            .topic(topic)
            .ok()
            .map(|topic| topic.groups())
            .unwrap_or_default()
    }

    /// Applies the retention of a topic now; nothing happens on compacted ones.
    pub async fn expire(&self, topic: &str) -> Result<()> {
        let (shared, commands, topic) = (
            Arc::clone(&self.shared),
            self.commands.clone(),
            self.shared.topic(topic)?,
        );
        blocking(move || expire_topic(&shared, &commands, &topic)).await
    }

    fn check(&self, records: &[Record]) -> Result<usize> {
        let (limit, mut total) = (self.shared.config.max_record_bytes, 0);
        for record in records {
            let bytes = format::frame_bytes(record);
            if record.size() > limit || bytes > 1 << 30 {
                let key = String::from_utf8_lossy(&record.key);
                let what = format!(
                    "record `{key:.100}` has {} bytes, the limit is {limit}",
                    record.size()
                );
                return Err(Error::new(ErrorKind::Invalid, what)
                    .with_hint("raise max_record_bytes, or store the value as a blob"));
            }
            total += bytes;
        }
        if total > 1 << 30 {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!("one append of {total} bytes; the limit is 1 GiB"),
            ));
        }
        Ok(total)
    }
}

impl Drop for EmbeddedEventLog {
    fn drop(&mut self) {
        self.shared.stop.stop();
        // If the writer is gone already there is nobody left to stop.
        self.commands.send(Command::Stop).ok();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the event log had panicked");
            }
        }
        // Closing the file would not do while a process that was just forked off still has a copy
        // of it.
        if let Err(error) = self.lock_file.unlock() {
            tracing::warn!(%error, "cannot unlock the event log");
        }
    }
}

#[async_trait]
impl EventLog for EmbeddedEventLog {
    async fn create_topic(&self, topic: &str, settings: TopicSettings) -> Result<()> {
        let (shared, topic) = (Arc::clone(&self.shared), topic.to_owned());
        blocking(move || shared.create_topic(&topic, settings)).await
    }

    async fn append(&self, topic: &str, records: Vec<Record>) -> Result<Vec<Position>> {
        let topic = self.shared.topic(topic)?;
        let (count, bytes) = (records.len(), self.check(&records)?);
        if count == 0 {
            return Ok(Vec::new());
        }
        let permits = bytes.min(self.shared.config.queue_bytes) as u32;
        let room = Arc::clone(&self.queue)
            .acquire_many_owned(permits)
            .await
            .map_err(|_| closed())?;
        let parts = if bytes > INLINE_ENCODE_BYTES {
            let topic = Arc::clone(&topic);
            blocking(move || Ok(encode(&topic, &records))).await?
        } else {
            encode(&topic, &records)
        };
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Append(Append {
            topic,
            parts,
            count,
            room,
            reply,
        }))?;
        answer.await.map_err(|_| closed())?
    }

    async fn subscribe(&self, topic: &str, group: Option<&str>) -> Result<Box<dyn Subscription>> {
        let topic = self.shared.topic(topic)?;
        let subscription = EmbeddedSubscription::open(
            topic,
            group,
            self.commands.clone(),
            Arc::clone(&self.shared.counters),
        )?;
        Ok(Box::new(subscription))
    }

    async fn lag(&self, topic: &str, group: &str) -> Result<Vec<PartitionLag>> {
        let topic = self.shared.topic(topic)?;
        let group = topic.known_group(group);
        blocking(move || {
            topic
                .partitions
                .iter()
                .map(|partition| lag(partition, group.as_deref()))
                .collect()
        })
        .await
    }

    async fn forget_group(&self, topic: &str, group: &str) -> Result<()> {
        let (topic, group) = (self.shared.topic(topic)?, group.to_owned());
        blocking(move || topic.forget_group(&group)).await
    }

    async fn hold_for(&self, topic: &str, group: &str) -> Result<()> {
        let topic = self.shared.topic(topic)?;
        let known = topic
            .known_group(group)
            .filter(|group| group.has_committed());
        if known.is_some() {
            return Ok(());
        }
        let start = |partition: &Arc<Partition>| Position {
            partition: partition.number,
            offset: partition.start(),
        };
        let starts = topic.partitions.iter().map(start).collect();
        self.commands.commit(topic.group(group)?, starts).await
    }

    async fn subscribe_from(
        &self,
        topic: &str,
        from: &[Position],
    ) -> Result<Box<dyn Subscription>> {
        let topic = self.shared.topic(topic)?;
        let (commands, counters) = (self.commands.clone(), Arc::clone(&self.shared.counters));
        let mut subscription = EmbeddedSubscription::open(topic, None, commands, counters)?;
        subscription.seek(from);
        Ok(Box::new(subscription))
    }

    async fn probe(&self) -> Result<()> {
        let gone = |_| {
            Error::new(
                ErrorKind::Internal,
                "the writer of the event log has ended; nothing can be appended any more",
            )
        };
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Probe { reply }).map_err(gone)?;
        answer.await.map_err(|_| closed()).map_err(gone)?;
        let shared = Arc::clone(&self.shared);
        blocking(move || {
            let topics = shared.topics();
            let mut partitions = topics.iter().flat_map(|topic| &topic.partitions);
            partitions.try_for_each(|partition| lock(&partition.tail).check_name())
        })
        .await
    }
}

fn lag(partition: &Partition, group: Option<&Group>) -> Result<PartitionLag> {
    // In this order the committed position is never beyond the end.
    let committed = group
        .and_then(|group| group.committed(partition.number))
        .unwrap_or(0);
    let (start, end) = (partition.start(), partition.end());
    let committed = committed.max(start);
    let oldest_uncommitted_ms = if committed < end {
        partition.timestamp_at(committed)?
    } else {
        None
    };
    // What lies between may have rotted or been compacted away: then there is nothing left to read.
    let committed = if oldest_uncommitted_ms.is_none() {
        end
    } else {
        committed
    };
    Ok(PartitionLag {
        partition: partition.number,
        start,
        committed,
        end,
        oldest_uncommitted_ms,
    })
}

fn encode(topic: &Topic, records: &[Record]) -> Vec<Part> {
    let count = topic.partitions.len() as u32;
    let mut parts: Vec<Part> = Vec::new();
    let mut part_of: HashMap<u32, usize> = HashMap::new();
    for (place, record) in records.iter().enumerate() {
        let number = partition_of(&record.key, count);
        let index = *part_of.entry(number).or_insert_with(|| {
            parts.push(Part::new(Arc::clone(&topic.partitions[number as usize])));
            parts.len() - 1
        });
        parts[index].push(place, record);
    }
    parts
}

fn open_topics(folder: &Path, counters: &Counters) -> Result<HashMap<String, Arc<Topic>>> {
    let mut topics = HashMap::new();
    for path in finished_files(folder)? {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        if check_name(name).is_err() || !Topic::exists(&path) {
            continue;
        }
        let (topic, torn) = Topic::open(&path, name)?;
        counters.torn_bytes.add(torn);
        topics.insert(name.to_owned(), Arc::new(topic));
    }
    Ok(topics)
}

fn lock_folder(folder: &Path) -> Result<File> {
    let path = folder.join("lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(failed("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let what = format!(
                "the event log in `{}` is in use by another process",
                folder.display()
            );
            Err(Error::new(ErrorKind::Conflict, what)
                .with_hint("stop the other process, or use another data folder"))
        }
        Err(TryLockError::Error(error)) => Err(failed("lock", &path)(error)),
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let spawned = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work);
    spawned.map_err(|error| Error::io(format_args!("cannot start thread `{name}`"), &error))
}
