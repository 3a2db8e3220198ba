//! Damage at rest: bits that rotted in what is embedded in a data folder. [`verify`] reads every
//! byte that counts against its checksum and changes nothing that a start would not change;
//! [`repair`] makes it right as far as the log allows, and keeps what was damaged in
//! `<data>/damaged/<name>/`. Both need the data folder to themselves. What is behind
//! `tributary doctor --verify` and `tributary repair`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tributary_schemas::{Error, ErrorKind, Result, Topic};

use crate::blobs::{self, cache};
use crate::config::{Config, EventLogKind, SearchIndexKind};
use crate::data_folder::DataFolder;
use crate::event_log::EventLog;
use crate::event_log::embedded::{self as embedded_log, Damage, EmbeddedEventLog};
use crate::generations::chunk_group;
use crate::lost_blobs::{self, LostBlobs};
use crate::parts;
use crate::search_index::SearchIndex;
use crate::search_index::embedded::{self as embedded_index, EmbeddedIndex, IndexDamage, Remedy};

/// Folder in the data folder that keeps what a repair took away.
pub const ASIDE: &str = "damaged";

/// What is said of a file of [`Found::memory`].
const MEMORY_DAMAGE: &str =
    "is damaged or gone; it says which folders of log and index must be there";

/// Which parts of a data folder are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Segments, settings of topics and positions of groups.
    Log,
    /// Every generation.
    Index,
    /// Bodies.
    Blobs,
}

impl Part {
    /// All of them, in the order in which they are looked at.
    pub const ALL: [Self; 3] = [Self::Log, Self::Index, Self::Blobs];

    /// Its folder in the data folder.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Index => "index",
            Self::Blobs => "blobs",
        }
    }
}

/// What of a data folder is embedded, and how it is opened.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// The log.
    pub log: Option<embedded_log::Config>,
    /// First part of every topic's name.
    pub topic_prefix: String,
    /// The index.
    pub index: Option<embedded_index::Config>,
}

impl From<&Config> for Embedded {
    fn from(config: &Config) -> Self {
        let (log, index) = (&config.event_log, &config.search_index);
        Self {
            log: (log.kind == EventLogKind::Embedded).then(|| log.embedded.clone()),
            topic_prefix: config.topic_prefix.clone(),
            index: (index.kind == SearchIndexKind::Embedded).then(|| index.embedded.clone()),
        }
    }
}

impl Embedded {
    /// The folders of what is embedded, in the data folder.
    pub fn folders(&self) -> Vec<&'static str> {
        let log = self.log.is_some().then_some(Part::Log);
        let index = self.index.is_some().then_some(Part::Index);
        log.into_iter().chain(index).map(Part::folder).collect()
    }
}

/// What the open stores of a process have found so far, for metrics.
#[derive(Clone, Default)]
pub struct Known {
    log: Option<Arc<EmbeddedEventLog>>,
    index: Option<Arc<EmbeddedIndex>>,
}

impl Known {
    /// Of these stores, where they are embedded.
    pub fn new(log: Option<Arc<EmbeddedEventLog>>, index: Option<Arc<EmbeddedIndex>>) -> Self {
        Self { log, index }
    }

    /// Places of the log that are passed over.
    pub fn log(&self) -> u64 {
        self.log.as_ref().map_or(0, |log| log.damage().len() as u64)
    }

    /// Stored chunks and rows of vectors that are left out, and generations that are left aside.
    pub fn index(&self) -> u64 {
        self.index.as_ref().map_or(0, |index| index.known_damage())
    }
}

/// All damage that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// In the log.
    pub log: Vec<Damage>,
    /// In the index.
    pub index: Vec<IndexDamage>,
    /// Blobs, and kept texts of models, that the disk cannot read, or whose content is not what
    /// their hash says.
    pub blobs: Vec<PathBuf>,
    /// Folders that an earlier start made and that are gone.
    pub missing: Vec<PathBuf>,
    /// Documents of which a blob is gone; no repair brings it back.
    pub lost: Vec<LostBlobs>,
    /// Files that say which folders must be there.
    pub memory: Vec<PathBuf>,
}

impl Found {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Damage of one part of a data folder, a line each: where, and what.
    pub fn lines(&self, folder: &Path, part: Part) -> Vec<String> {
        let missing = self
            .missing
            .iter()
            .filter(|path| path.starts_with(folder.join(part.folder())));
        let missing = missing.map(|path| {
            format!(
                "{}: is gone, or another folder is in its place",
                path.display()
            )
        });
        let damaged: Vec<String> = match part {
            Part::Log => {
                let memory = self.memory.iter();
                let memory = memory.map(|path| format!("{}: {MEMORY_DAMAGE}", path.display()));
                memory.chain(self.log.iter().map(log_line)).collect()
            }
            Part::Index => self.index.iter().map(index_line).collect(),
            Part::Blobs => {
                let wrong = self.blobs.iter();
                let wrong = wrong.map(|path| {
                    format!(
                        "{}: cannot be read, or does not match its hash",
                        path.display()
                    )
                });
                wrong.chain(self.lost.iter().map(lost_line)).collect()
            }
        };
        missing.chain(damaged).collect()
    }

    /// What [`repair`] would do, a line each.
    pub fn plan(&self, folder: &Path) -> Vec<String> {
        let aside = folder.join(ASIDE);
        let missing = self.missing.iter().map(|path| missing_plan(path, folder));
        let log = self.log.iter().map(|damage| {
            let key = damage
                .key
                .as_ref()
                .map(|key| format!(", a record of `{key}`: publish it again"))
                .unwrap_or_default();
            match damage.bytes {
                0 => format!("{}: mend it ({})", damage.path.display(), damage.what),
                bytes => format!(
                    "{}: leave out {bytes} bytes at {}{key}",
                    damage.path.display(),
                    damage.position
                ),
            }
        });
        let blobs = self
            .blobs
            .iter()
            .map(|path| format!("{}: move into {}", path.display(), aside.display()));
        let memory = self.memory.iter().map(|path| {
            format!(
                "{}: write it again, from its copy or from what is there",
                path.display()
            )
        });
        missing
            .chain(memory)
            .chain(log)
            .chain(self.index.iter().map(|damage| index_plan(damage, &aside)))
            .chain(blobs)
            .collect()
    }

    /// What no repair does, a line each.
    pub fn left(&self) -> Vec<String> {
        let left = self.lost.iter();
        left.map(|lost| format!("{}: {}", lost_line(lost), lost.remedy()))
            .collect()
    }

    /// Whether a repair has anything to do.
    pub fn is_repairable(&self) -> bool {
        let repaired = Self {
            lost: Vec::new(),
            ..self.clone()
        };
        !repaired.is_empty()
    }

    /// Whether records of the log are gone.
    fn concerns_log(&self, folder: &Path) -> bool {
        !self.log.is_empty()
            || self
                .missing
                .iter()
                .any(|path| path.starts_with(folder.join(Part::Log.folder())))
    }

    /// Whether the whole index is gone.
    fn lacks_index(&self, folder: &Path) -> bool {
        self.missing
            .iter()
            .any(|path| path.starts_with(folder.join(Part::Index.folder())))
    }
}

fn missing_plan(path: &Path, folder: &Path) -> String {
    let instead = if path.starts_with(folder.join(Part::Index.folder())) {
        "begin a new index and build it again from the log"
    } else if path.starts_with(folder.join(Part::Blobs.folder())) {
        "go on without the bodies that were in it; publish the documents that name them again"
    } else {
        "begin it anew; what was in it alone is lost, so put it back or restore a backup instead if you can"
    };
    format!("{}: {instead}", path.display())
}

fn lost_line(lost: &LostBlobs) -> String {
    let name = match (lost.source.as_str(), lost.source_path.as_str()) {
        ("", _) => String::new(),
        (source, "") => format!(" ({source})"),
        (source, path) => format!(" ({source}/{path})"),
    };
    format!("{}{name}: {} gone", lost.document_id, lost.said())
}

fn log_line(damage: &Damage) -> String {
    let key = damage
        .key
        .as_ref()
        .map(|key| format!(" (a record of `{key}`)"))
        .unwrap_or_default();
    format!(
        "{} at byte {}, {} bytes: {}{key}",
        damage.path.display(),
        damage.position,
        damage.bytes,
        damage.what
    )
}

fn index_line(damage: &IndexDamage) -> String {
    let documents = match damage.documents.as_slice() {
        [] => String::new(),
        documents => format!("; documents: {}", documents.join(", ")),
    };
    format!("{}: {}{documents}", damage.path.display(), damage.what)
}

fn index_plan(damage: &IndexDamage, aside: &Path) -> String {
    let (path, generation) = (damage.path.display(), &damage.generation);
    match damage.remedy {
        Remedy::Rebuild => format!(
            "{path}: move generation `{generation}` into {} and build it again from the log",
            aside.display()
        ),
        Remedy::Replay => format!(
            "{path}: send all documents of the log into generation `{generation}` again, which goes on serving"
        ),
        Remedy::Remove => format!("{path}: remove the one-bit codes, which are made again"),
        Remedy::Promote => format!(
            "{path}: write the name of the serving generation again; where there are several, the next start does, and takes the one that was promoted last"
        ),
    }
}

/// Bytes that [`verify`] will read.
pub fn bytes(folder: &Path) -> u64 {
    Part::ALL
        .iter()
        .map(|part| embedded_index::folder_bytes(&folder.join(part.folder())))
        .sum()
}

/// Looks at every byte that counts. Blocks; `progress` is told of bytes as they are read.
pub fn verify(folder: &DataFolder, embedded: &Embedded, progress: &dyn Fn(u64)) -> Result<Found> {
    let memory = parts::damaged(&folder.join(""))?;
    let missing = match missing(folder, embedded) {
        // Neither of the two can be read: nothing is known to be gone.
        Err(error) if error.kind() == ErrorKind::Corrupt && !memory.is_empty() => Vec::new(),
        missing => missing?,
    };
    let mut found = Found {
        missing,
        memory,
        ..Found::default()
    };
    if embedded.log.is_some() {
        found.log = embedded_log::verify(&folder.join("log"), progress)?;
    }
    let root = folder.join("index");
    // Opening makes what is not there.
    let is_there = root.is_dir() && !found.lacks_index(&folder.join(""));
    if let Some(config) = embedded.index.as_ref().filter(|_| is_there) {
        found.index = EmbeddedIndex::open(&root, config.clone())?.verify(progress)?;
    }
    let blobs = folder.join("blobs");
    if blobs.is_dir() {
        found.blobs = damaged_blobs(&blobs, progress)?;
    }
    Ok(found)
}

/// Documents of which a blob is gone, where index and blobs are in the data folder and are there;
/// none where a part of it is missing: that comes first.
pub async fn lost(
    folder: &DataFolder,
    embedded: &Embedded,
    found: &Found,
) -> Result<Vec<LostBlobs>> {
    let (root, blobs) = (folder.join("index"), folder.join("blobs"));
    let is_there = root.is_dir() && blobs.is_dir() && found.missing.is_empty();
    let Some(config) = embedded.index.as_ref().filter(|_| is_there) else {
        return Ok(Vec::new());
    };
    let index = EmbeddedIndex::open(&root, config.clone())?;
    let log = match embedded.log.as_ref().filter(|_| found.log.is_empty()) {
        Some(config) => Some(EmbeddedEventLog::open(&folder.join("log"), config.clone())?),
        None => None,
    };
    let topic = Topic::DocumentsClean.full_name(&embedded.topic_prefix);
    let names = lost_blobs::Names {
        index: &index,
        log: log
            .as_ref()
            .map(|log| (log as &dyn EventLog, topic.as_str())),
    };
    match lost_blobs::find(names, &blobs).await {
        // No generation serves yet, nothing was published, or what is there is damaged: `verify`
        // says so.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => {
            Ok(Vec::new())
        }
        found => found,
    }
}

fn missing(folder: &DataFolder, embedded: &Embedded) -> Result<Vec<PathBuf>> {
    let mut missing = parts::missing(&folder.join(""), &embedded.folders())?;
    missing.extend(blobs::missing(&folder.join(""))?);
    Ok(missing)
}

fn damaged_blobs(folder: &Path, progress: &dyn Fn(u64)) -> Result<Vec<PathBuf>> {
    let mut damaged = Vec::new();
    for (hash, path) in blobs::files(folder)? {
        progress(path.metadata().map_or(0, |metadata| metadata.len()));
        // A folder or a link to nothing in the place of a blob is none.
        if !path.is_file() || !blobs::is_whole(&hash, &path)? {
            damaged.push(path);
        }
    }
    // Summaries and descriptions of a model: whoever asks makes one again, which costs a call.
    for (_, path) in cache::entries(folder)? {
        progress(path.metadata().map_or(0, |metadata| metadata.len()));
        if !path.is_file() || !cache::is_whole(&path)? {
            damaged.push(path);
        }
    }
    Ok(damaged)
}

/// Makes right what [`verify`] found. What was damaged is kept below `<data>/damaged/<name>/`,
/// which must not exist yet.
pub async fn repair(
    folder: &DataFolder,
    embedded: &Embedded,
    found: &Found,
    name: &str,
) -> Result<()> {
    let aside = folder.join(ASIDE).join(name);
    if aside.exists() {
        return Err(Error::new(
            ErrorKind::Conflict,
            format!("{} exists", aside.display()),
        ));
    }
    // What lies in the place of a folder.
    for path in found.missing.iter().filter(|path| path.is_file()) {
        move_into(
            path,
            &aside
                .join("instead")
                .join(path.file_name().unwrap_or_default()),
        )?;
    }
    make_room(folder, &found.missing)?;
    if !found.memory.is_empty() {
        parts::mend(&folder.join(""), &embedded.folders())?;
    }
    // First: a repair that is broken off has taken some out already.
    if found.concerns_log(&folder.join("")) {
        parts::note_log_repair(&folder.join(""))?;
    }
    if let Some(config) = &embedded.log {
        embedded_log::repair(&folder.join("log"), &aside.join("log"))?;
        // Opening mends the small files.
        drop(EmbeddedEventLog::open(&folder.join("log"), config.clone())?);
    }
    for path in &found.blobs {
        let name = path.file_name().unwrap_or_default();
        let shelf = path.parent().and_then(Path::file_name).unwrap_or_default();
        move_into(path, &aside.join("blobs").join(shelf).join(name))?;
    }
    if let Some(config) = &embedded.index {
        repair_index(folder, embedded, config, found, &aside).await?;
    }
    // Last: a repair that was broken off still finds what is gone.
    forget_missing(folder, &found.missing)
}

/// Folders within a topic must be there for it to open.
fn make_room(folder: &DataFolder, missing: &[PathBuf]) -> Result<()> {
    let topics = folder.join("log/topics");
    for path in missing.iter().filter(|path| {
        path.strip_prefix(&topics)
            .is_ok_and(|path| path.components().count() > 1)
    }) {
        std::fs::create_dir_all(path)
            .map_err(|error| Error::io(format_args!("cannot create {}", path.display()), &error))?;
    }
    Ok(())
}

/// From now on nobody misses it.
fn forget_missing(folder: &DataFolder, missing: &[PathBuf]) -> Result<()> {
    if missing
        .iter()
        .any(|path| *path == folder.join(Part::Blobs.folder()))
    {
        blobs::forget(&folder.join(""))?;
    }
    parts::forget(&folder.join(""), missing)
}

async fn repair_index(
    folder: &DataFolder,
    embedded: &Embedded,
    config: &embedded_index::Config,
    found: &Found,
    aside: &Path,
) -> Result<()> {
    let root = folder.join("index");
    let of = |remedy: Remedy| {
        let mut names: Vec<&str> = found
            .index
            .iter()
            .filter(|damage| damage.remedy == remedy)
            .map(|damage| damage.generation.as_str())
            .collect();
        names.dedup();
        names
    };
    let rebuilt = of(Remedy::Rebuild);
    for name in of(Remedy::Remove)
        .into_iter()
        .filter(|name| !rebuilt.contains(name))
    {
        embedded_index::remove_bits(&embedded_index::generation_folder(&root, name))?;
    }
    for name in &rebuilt {
        start_anew(&root, config, name, aside).await?;
    }
    if !of(Remedy::Promote).is_empty() {
        promote_only(&root, config).await?;
    }
    if found.lacks_index(&folder.join("")) {
        embedded_index::forget_serving(&root, None)?;
        return forget_positions(folder, embedded, None).await;
    }
    let replayed: Vec<&str> = rebuilt.iter().copied().chain(of(Remedy::Replay)).collect();
    if replayed.is_empty() {
        Ok(())
    } else {
        forget_positions(folder, embedded, Some(&replayed)).await
    }
}

/// Moves a generation aside and puts an empty one with the same settings in its place, if they can
/// be read; else the next start makes one.
async fn start_anew(
    root: &Path,
    config: &embedded_index::Config,
    name: &str,
    aside: &Path,
) -> Result<()> {
    let folder = embedded_index::generation_folder(root, name);
    let settings = embedded_index::settings_in(&folder);
    if folder.exists() {
        move_into(&folder, &aside.join("index").join(name))?;
    }
    // A generation that serves and is not there is damage.
    let was_serving = embedded_index::forget_serving(root, Some(name))?;
    match settings {
        Ok(settings) => {
            let index = EmbeddedIndex::open(root, config.clone())?;
            index.create(name, &settings).await?;
            if was_serving {
                index.promote(name).await
            } else {
                Ok(())
            }
        }
        Err(error) => {
            tracing::warn!(generation = name, %error, "the settings are gone with it; the next start makes a generation as configured");
            Ok(())
        }
    }
}

/// Of several the next start takes the one that the reports of the builds name.
async fn promote_only(root: &Path, config: &embedded_index::Config) -> Result<()> {
    let index = EmbeddedIndex::open(root, config.clone())?;
    match index.status().await?.as_slice() {
        [only] => index.promote(&only.name).await,
        _ => Ok(()),
    }
}

/// Without positions the chunk stage of a generation reads every document of the log again; of all
/// generations for `None`.
async fn forget_positions(
    folder: &DataFolder,
    embedded: &Embedded,
    generations: Option<&[&str]>,
) -> Result<()> {
    let Some(config) = &embedded.log else {
        tracing::warn!(
            "the log is on servers: `tributary knowledge-sets reindex --all` builds the index again"
        );
        return Ok(());
    };
    let log = EmbeddedEventLog::open(&folder.join("log"), config.clone())?;
    let topic = Topic::DocumentsClean.full_name(&embedded.topic_prefix);
    let groups = chunk_groups(&log, &topic, generations);
    for group in groups {
        match log.forget_group(&topic, &group).await {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The groups of the chunk stages of those generations, of all for `None`.
fn chunk_groups(log: &EmbeddedEventLog, topic: &str, generations: Option<&[&str]>) -> Vec<String> {
    match generations {
        Some(names) => names.iter().map(|name| chunk_group(name)).collect(),
        None => log
            .groups(topic)
            .into_iter()
            .filter(|group| group.starts_with(&chunk_group("")))
            .collect(),
    }
}

fn move_into(from: &Path, to: &Path) -> Result<()> {
    let failed = |error: std::io::Error| {
        Error::io(
            format_args!("cannot move {} to {}", from.display(), to.display()),
            &error,
        )
    };
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    std::fs::rename(from, to).map_err(failed)?;
    let parents = [from.parent(), to.parent()];
    parents
        .into_iter()
        .flatten()
        .try_for_each(embedded_index::sync_folder)
}
