//! A topic: its durable settings, its partitions and groups, and the wake-up of its readers.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tributary_schemas::{Error, ErrorKind, Result};

use super::damage::Damage;
use super::folder::{corrupt, create_folder, failed, finished_files, lock, read, replace, write};
use super::format::VERSION;
use super::group::Group;
use super::partition::Partition;
use super::segment::SegmentView;
use crate::backup::draft::Draft;
use crate::event_log::TopicSettings;

/// The file with its settings.
pub const SETTINGS_FILE: &str = "topic.json";
/// The folder of its groups.
pub const GROUPS_FOLDER: &str = "groups";
/// Far more than one process can use; keeps a typing error from creating a million folders.
pub const MAXIMUM_PARTITIONS: u32 = 10_000;

/// A topic.
#[derive(Debug)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// Its partitions, by number.
    pub partitions: Vec<Arc<Partition>>,
    folder: PathBuf,
    settings: RwLock<TopicSettings>,
    groups: RwLock<BTreeMap<String, Arc<Group>>>,
    subscribed: Mutex<HashSet<String>>,
    appended: watch::Sender<u64>,
}

/// The content of `topic.json`.
#[derive(Deserialize, Serialize)]
struct StoredSettings {
    format: u32,
    partitions: u32,
    compacted: bool,
    retention_age_ms: Option<u64>,
    retention_bytes: Option<u64>,
    /// CRC-32 of the other values as JSON; none in a file of before.
    #[serde(default)]
    crc: Option<u32>,
}

impl StoredSettings {
    /// What a file says, `None` if it is damaged.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let stored: Self = serde_json::from_slice(bytes).ok()?;
        stored
            .crc
            .is_none_or(|crc| crc == stored.checksum())
            .then_some(stored)
    }

    fn checksum(&self) -> u32 {
        let values = (
            self.format,
            self.partitions,
            self.compacted,
            self.retention_age_ms,
            self.retention_bytes,
        );
        crc32fast::hash(format!("{values:?}").as_bytes())
    }
}

/// Whether the file with the settings of a topic is sound.
pub fn settings_are_sound(bytes: &[u8]) -> bool {
    StoredSettings::parse(bytes).is_some()
}

/// The settings of a topic whose file is damaged: as many partitions as there are folders, and
/// everything is kept until the topic is created again, which every start does.
fn settings_of_folders(folder: &Path) -> Result<TopicSettings> {
    let is_partition = |number: &u32| folder.join(number.to_string()).is_dir();
    let partitions = (0..MAXIMUM_PARTITIONS).take_while(is_partition).count() as u32;
    if partitions == 0 {
        return Err(corrupt(
            &folder.join(SETTINGS_FILE),
            0,
            "the settings of a topic are damaged, and it has no partitions",
        ));
    }
    tracing::error!(folder = %folder.display(), partitions, "the settings of a topic are damaged; its partitions were counted");
    let settings = TopicSettings {
        partitions,
        compacted: false,
        retention_age: None,
        retention_bytes: None,
    };
    store(folder, settings)?;
    Ok(settings)
}

impl From<TopicSettings> for StoredSettings {
    fn from(settings: TopicSettings) -> Self {
        let age_ms = |age: Duration| u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let mut stored = Self {
            format: VERSION,
            partitions: settings.partitions,
            compacted: settings.compacted,
            retention_age_ms: settings.retention_age.map(age_ms),
            retention_bytes: settings.retention_bytes,
            crc: None,
        };
        stored.crc = Some(stored.checksum());
        stored
    }
}

impl From<StoredSettings> for TopicSettings {
    fn from(stored: StoredSettings) -> Self {
        Self {
            partitions: stored.partitions,
            compacted: stored.compacted,
            retention_age: stored.retention_age_ms.map(Duration::from_millis),
            retention_bytes: stored.retention_bytes,
        }
    }
}

/// Refuses names that Kafka would refuse, too: all others are safe as folder names.
pub fn check_name(name: &str) -> Result<()> {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if name.is_empty()
        || name.len() > 249
        || name == "."
        || name == ".."
        || !name.bytes().all(is_legal)
    {
        let what =
            format!("topic name `{name}` is not 1 to 249 ASCII letters, digits, `.`, `_` and `-`");
        return Err(Error::new(ErrorKind::Invalid, what));
    }
    Ok(())
}

impl Topic {
    /// Creates the folders, and last the file that makes it a topic.
    pub fn create(folder: &Path, name: &str, settings: TopicSettings) -> Result<Self> {
        if !(1..=MAXIMUM_PARTITIONS).contains(&settings.partitions) {
            let what = format!(
                "topic `{name}` cannot have {} partitions: 1 to {MAXIMUM_PARTITIONS}",
                settings.partitions
            );
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        create_folder(folder)?;
        for number in 0..settings.partitions {
            create_folder(&folder.join(number.to_string()))?;
        }
        create_folder(&folder.join(GROUPS_FOLDER))?;
        store(folder, settings)?;
        Ok(Self::open(folder, name)?.0)
    }

    /// Whether the folder is that of a topic, and not of an unfinished creation.
    pub fn exists(folder: &Path) -> bool {
        folder.join(SETTINGS_FILE).exists()
    }

    /// Opens a topic. Returns also how many bytes of torn tails were cut off.
    pub fn open(folder: &Path, name: &str) -> Result<(Self, u64)> {
        let path = folder.join(SETTINGS_FILE);
        let bytes = std::fs::read(&path).map_err(failed("read", &path))?;
        let settings = match StoredSettings::parse(&bytes) {
            Some(stored) if stored.format != VERSION => {
                return Err(corrupt(
                    &path,
                    0,
                    &format!("format version {} is not known", stored.format),
                ));
            }
            Some(stored) => TopicSettings::from(stored),
            None => settings_of_folders(folder)?,
        };
        // Before the partitions: what a group has read is known to have been durable.
        let groups = open_groups(&folder.join(GROUPS_FOLDER))?;
        let mut partitions = Vec::new();
        let mut torn = 0;
        for number in 0..settings.partitions {
            let read_to = groups
                .values()
                .filter_map(|group| group.committed(number))
                .max()
                .unwrap_or(0);
            let (partition, bytes) =
                Partition::open(folder.join(number.to_string()), number, read_to)?;
            partitions.push(Arc::new(partition));
            torn += bytes;
        }
        let topic = Self {
            name: name.to_owned(),
            partitions,
            folder: folder.to_owned(),
            settings: RwLock::new(settings),
            groups: RwLock::new(groups),
            subscribed: Mutex::default(),
            appended: watch::Sender::new(0),
        };
        topic.compare_with_groups()?;
        Ok((topic, torn))
    }

    /// A group that has read beyond the end of a partition proves that records are gone.
    fn compare_with_groups(&self) -> Result<()> {
        for (name, group) in read(&self.groups).iter() {
            for partition in &self.partitions {
                let (committed, end) = (
                    group.committed(partition.number).unwrap_or(0),
                    partition.end(),
                );
                if committed > end {
                    let what = format!(
                        "it ends at offset {end}, but group `{name}` has read up to {committed}: records are lost"
                    );
                    // Behind a footer nothing can be lost but a whole file.
                    let ends_whole = partition.segments().last().is_none_or(|last| last.closed);
                    if ends_whole && partition.damage.all().is_empty() {
                        return Err(corrupt(&partition.folder, 0, &what));
                    }
                    partition
                        .damage
                        .note(Damage::new(&partition.folder, 0, 0, what));
                    partition.raise_end(committed);
                }
            }
        }
        Ok(())
    }

    /// Keeps its durable state in a draft below `path`. The writer is held meanwhile.
    pub fn image(&self, draft: &mut Draft, path: &str) -> Result<()> {
        draft.keep(
            &self.folder.join(SETTINGS_FILE),
            &format!("{path}/{SETTINGS_FILE}"),
            None,
        )?;
        draft.add_folder(&format!("{path}/{GROUPS_FOLDER}"));
        for (name, content) in read(&self.groups)
            .values()
            .filter_map(|group| group.image())
        {
            draft.keep_content(&content, &format!("{path}/{GROUPS_FOLDER}/{name}"))?;
        }
        for partition in &self.partitions {
            let path = format!("{path}/{}", partition.number);
            draft.add_folder(&path);
            partition.with_segments(|segments| {
                segments
                    .iter()
                    .try_for_each(|view| keep_segment(draft, view, &path))
            })?;
        }
        Ok(())
    }

    /// Its settings.
    pub fn settings(&self) -> TopicSettings {
        *read(&self.settings)
    }

    /// Takes over compaction and retention; partitions stay as they are.
    pub fn change(&self, settings: TopicSettings) -> Result<()> {
        let known = self.settings();
        let wanted = TopicSettings {
            partitions: known.partitions,
            ..settings
        };
        let tuple = |settings: TopicSettings| {
            (
                settings.compacted,
                settings.retention_age,
                settings.retention_bytes,
            )
        };
        if tuple(known) != tuple(wanted) {
            store(&self.folder, wanted)?;
            *write(&self.settings) = wanted;
        }
        Ok(())
    }

    /// The partition, or `Invalid`.
    pub fn partition(&self, number: u32) -> Result<&Arc<Partition>> {
        self.partitions.get(number as usize).ok_or_else(|| {
            let what = format!(
                "topic `{}` has no partition {number}, but {}",
                self.name,
                self.partitions.len()
            );
            Error::new(ErrorKind::Invalid, what)
        })
    }

    /// The group, if it has committed or is subscribed.
    pub fn known_group(&self, name: &str) -> Option<Arc<Group>> {
        read(&self.groups).get(name).cloned()
    }

    /// The group, a new one if need be.
    pub fn group(&self, name: &str) -> Result<Arc<Group>> {
        if let Some(group) = self.known_group(name) {
            return Ok(group);
        }
        let group = Arc::new(Group::new(&self.folder.join(GROUPS_FOLDER), name)?);
        Ok(Arc::clone(
            write(&self.groups).entry(name.to_owned()).or_insert(group),
        ))
    }

    /// Names of the groups that have committed.
    pub fn groups(&self) -> Vec<String> {
        read(&self.groups)
            .iter()
            .filter(|(_, group)| group.has_committed())
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Removes a group and its durable positions. `Conflict` while it is subscribed.
    pub fn forget_group(&self, name: &str) -> Result<()> {
        let subscribed = lock(&self.subscribed);
        if subscribed.contains(name) {
            let what = format!("group `{name}` has a subscription to topic `{}`", self.name);
            return Err(Error::new(ErrorKind::Conflict, what).with_hint("stop its reader first"));
        }
        match write(&self.groups).remove(name) {
            Some(group) => group.remove(),
            None => Ok(()),
        }
    }

    /// The lowest offset that a group may still want to read, among groups that have committed, or
    /// also those that are subscribed. `None` if there are no such groups.
    pub fn lowest_position(&self, partition: u32, with_subscribed: bool) -> Option<u64> {
        let subscribed = lock(&self.subscribed);
        let counts = |name: &str, group: &Group| {
            group.has_committed() || with_subscribed && subscribed.contains(name)
        };
        let groups = read(&self.groups);
        let counted = groups.iter().filter(|(name, group)| counts(name, group));
        counted
            .map(|(_, group)| group.committed(partition).unwrap_or(0))
            .min()
    }

    /// Takes the one place of a group's subscription.
    pub fn occupy(self: &Arc<Self>, group: &str) -> Result<Occupied> {
        if !lock(&self.subscribed).insert(group.to_owned()) {
            let what = format!(
                "group `{group}` has a subscription to topic `{}` already",
                self.name
            );
            return Err(Error::new(ErrorKind::Conflict, what));
        }
        Ok(Occupied {
            topic: Arc::clone(self),
            group: group.to_owned(),
        })
    }

    /// Wakes the readers.
    pub fn announce(&self) {
        self.appended
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Changes whenever records were appended.
    pub fn appended(&self) -> watch::Receiver<u64> {
        self.appended.subscribe()
    }
}

/// The place of a group's one subscription, free again when dropped.
#[derive(Debug)]
pub struct Occupied {
    topic: Arc<Topic>,
    group: String,
}

impl Drop for Occupied {
    fn drop(&mut self) {
        lock(&self.topic.subscribed).remove(&self.group);
    }
}

/// A closed segment whole, with its footer; of the last one what is durable.
fn keep_segment(draft: &mut Draft, view: &SegmentView, path: &str) -> Result<()> {
    let from = &view.segment.path;
    let name = from
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let kept = draft.keep(
        from,
        &format!("{path}/{name}"),
        (!view.closed).then_some(view.data_end),
    )?;
    if kept {
        Ok(())
    } else {
        Err(corrupt(from, 0, "the file is gone"))
    }
}

fn open_groups(folder: &Path) -> Result<BTreeMap<String, Arc<Group>>> {
    let mut groups = BTreeMap::new();
    for path in finished_files(folder)? {
        if let Some((name, group)) = Group::open(&path)? {
            groups.insert(name, Arc::new(group));
        }
    }
    Ok(groups)
}

fn store(folder: &Path, settings: TopicSettings) -> Result<()> {
    let json = serde_json::to_vec_pretty(&StoredSettings::from(settings)).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot encode topic settings: {error}"),
        )
    })?;
    replace(&folder.join(SETTINGS_FILE), &json)?;
    Ok(())
}
