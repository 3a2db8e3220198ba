//! Backup and restore of what is embedded: the event log, the index, blobs, conversations. What is
//! behind `POST /v1/backup` and the verbs `backup` and `restore`.
//!
//! **What a backup is.** The image of a crash at one moment. The writers of the index are held,
//! then the one writer of the log; what is durable in both at that moment is kept by hard links and
//! noted lengths (all files are append-only or replaced as a whole), and the writers go on. That
//! takes milliseconds; everything else is copied afterwards from the links, while the server works.
//! So whatever was acknowledged before the backup began is in it, positions of groups are never
//! ahead of the records and outputs that they stand for, and starting from it is what every start
//! after a crash is. Conversations, on which nothing of that depends, are copied by SQLite.
//!
//! **Format 1.** A tar archive (or a folder of the same files, or the archive compressed by zstd)
//! of regular files with the names that they have below the data folder, in any order, and last
//! `backup.json`, a [`Manifest`] with the BLAKE3 hash and the length of each. An archive without
//! its manifest broke off and is refused.

mod archive;
mod destination;
pub(crate) mod draft;
mod restore;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, OwnedMutexGuard};
use tributary_schemas::{Error, ErrorKind, Result};

pub use self::archive::Pipe;
pub use self::destination::Destination;
use self::draft::Draft;
pub(crate) use self::restore::finish_restore;
pub use self::restore::restore;
use crate::blobs::cache;
use crate::conversations::embedded::EmbeddedConversations;
use crate::data_folder;
use crate::event_log::embedded::EmbeddedEventLog;
use crate::search_index::embedded::EmbeddedIndex;

/// Version of what a backup looks like.
pub const FORMAT: u32 = 1;
/// Name of the manifest in a backup.
pub const MANIFEST: &str = "backup.json";
/// Folder in the data folder where an image is held while it is copied; a left-over of a crash is
/// removed.
const STAGING: &str = "backup.staging";

/// What a backup holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: u32,
    /// Format of the data folder, see [`data_folder::FORMAT`].
    pub data_folder_format: u32,
    /// Identifier of the data folder.
    pub data_folder_id: String,
    /// Version of the program that made it.
    pub program_version: String,
    /// The moment, milliseconds since 1970.
    pub taken_at_ms: i64,
    /// What the configuration names and this backup does not hold, each with how to back it up.
    pub not_covered: Vec<String>,
    /// Folders that are there even when they are empty.
    pub folders: Vec<String>,
    /// All files, in the order of the archive.
    pub files: Vec<ManifestFile>,
}

/// One file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Path below the data folder, with `/`.
    pub path: String,
    /// Length.
    pub bytes: u64,
    /// BLAKE3 of the content, 64 hexadecimal digits.
    pub blake3: String,
}

impl Manifest {
    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// `Unsupported` for a backup that this build cannot restore.
    pub(crate) fn check_versions(&self) -> Result<()> {
        let versions = [
            ("backup", self.format, FORMAT),
            ("data folder", self.data_folder_format, data_folder::FORMAT),
        ];
        match versions
            .into_iter()
            .find(|(_, found, known)| found != known)
        {
            None => Ok(()),
            Some((what, found, known)) => {
                let message = format!(
                    "the backup has {what} format {found}, this build reads {known}; version {} made it",
                    self.program_version
                );
                Err(Error::new(ErrorKind::Unsupported, message)
                    .with_hint("use the build that made it, or a newer one"))
            }
        }
    }
}

/// What of this process can be backed up.
#[derive(Clone)]
pub struct Source {
    inner: Arc<Inner>,
}

struct Inner {
    folder: PathBuf,
    id: String,
    log: Option<Arc<EmbeddedEventLog>>,
    index: Option<Arc<EmbeddedIndex>>,
    blobs: Option<PathBuf>,
    conversations: Option<EmbeddedConversations>,
    not_covered: Vec<String>,
    turn: Arc<Mutex<()>>,
}

/// The parts of a [`Source`].
pub struct Parts {
    /// The data folder.
    pub folder: PathBuf,
    /// Its identifier.
    pub id: String,
    /// The log, if it is embedded.
    pub log: Option<Arc<EmbeddedEventLog>>,
    /// The index, if it is embedded.
    pub index: Option<Arc<EmbeddedIndex>>,
    /// The folder of blobs, if they are in the data folder.
    pub blobs: Option<PathBuf>,
    /// The conversations, if they are embedded.
    pub conversations: Option<EmbeddedConversations>,
}

impl Source {
    /// Over what is open. Removes what an interrupted backup left in the data folder.
    pub fn new(parts: Parts) -> Result<Self> {
        Draft::remove(&parts.folder.join(STAGING))?;
        let not_covered = not_covered(&parts);
        let Parts {
            folder,
            id,
            log,
            index,
            blobs,
            conversations,
        } = parts;
        Ok(Self {
            inner: Arc::new(Inner {
                folder,
                id,
                log,
                index,
                blobs,
                conversations,
                not_covered,
                turn: Arc::default(),
            }),
        })
    }

    /// The image of this moment. `Conflict` while another backup is being made, `Unsupported` if
    /// nothing here is embedded.
    pub async fn take(&self) -> Result<Image> {
        let turn = Arc::clone(&self.inner.turn).try_lock_owned().map_err(|_| {
            Error::new(
                ErrorKind::Conflict,
                "another backup of this data folder is being made",
            )
            .with_hint("wait until it is done")
        })?;
        let inner = Arc::clone(&self.inner);
        let taken = tokio::task::spawn_blocking(move || inner.image(turn)).await;
        taken.map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("the backup was broken off: {error}"),
            )
        })?
    }
}

fn not_covered(parts: &Parts) -> Vec<String> {
    let mut missing = Vec::new();
    if parts.log.is_none() {
        missing
            .push("the event log is Kafka: its topics and group positions are kept by its replication, or by a mirror cluster".to_owned());
    }
    if parts.index.is_none() {
        missing.push(
            "the index is Elasticsearch: back it up by its own snapshots (PUT _snapshot/…), or build it again by a reindex".to_owned(),
        );
    }
    if parts.conversations.is_none() {
        missing.push(
            "conversations are in Elasticsearch too: only its own snapshots keep them".to_owned(),
        );
    }
    match &parts.blobs {
        None => missing.push("bodies are at store.blobs.url: copy that folder after the log".to_owned()),
        Some(_) if parts.log.is_none() && parts.index.is_none() => missing.push(
            "bodies, originals and settings of generations are in `blobs` of the data folder: copy it after the log".to_owned(),
        ),
        Some(_) => {}
    }
    if parts.log.is_none() && parts.index.is_some() {
        missing.push(
            "the positions of group `index` are in Kafka and go on while this copy of the index does not: reindex after a restore"
                .to_owned(),
        );
    }
    missing
        .push("models: deploy/models/fetch or `tributary models pull` brings them back".to_owned());
    missing
}

impl Inner {
    fn image(&self, turn: OwnedMutexGuard<()>) -> Result<Image> {
        if self.log.is_none() && self.index.is_none() {
            let message = "log and index are servers of their own, so there is nothing that only this process can back up";
            return Err(
                Error::new(ErrorKind::Unsupported, message).with_hint(self.not_covered.join("; "))
            );
        }
        let mut draft = Draft::create(&self.folder.join(STAGING))?;
        draft.keep(&self.folder.join("tributary.json"), "tributary.json", None)?;
        let taken_at_ms = crate::system_clock()();
        let log = |draft: &mut Draft| {
            self.log
                .as_ref()
                .map_or(Ok(()), |log| log.image(draft, "log"))
        };
        match &self.index {
            Some(index) => index.image(&mut draft, "index", log)?,
            None => log(&mut draft)?,
        }
        if let Some(blobs) = &self.blobs {
            add_blobs(&mut draft, blobs)?;
        }
        // Nothing in log and index depends on them: they may be of a later moment.
        if let Some(conversations) = &self.conversations {
            conversations.image(&mut draft)?;
        }
        let manifest = Manifest {
            format: FORMAT,
            data_folder_format: data_folder::FORMAT,
            data_folder_id: self.id.clone(),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            taken_at_ms,
            not_covered: self.not_covered.clone(),
            folders: draft.folders().to_vec(),
            files: Vec::new(),
        };
        Ok(Image {
            manifest,
            draft,
            _turn: turn,
        })
    }
}

/// Blobs never change and are in place before a record names them, so a listing after the log's
/// moment holds all that count.
fn add_blobs(draft: &mut Draft, folder: &Path) -> Result<()> {
    draft.add_folder("blobs");
    for (hash, path) in crate::blobs::files(folder)? {
        let (first, rest) = hash.split_at_checked(2).unwrap_or_default();
        draft.add_unchanging(&path, &format!("blobs/{first}/{rest}"))?;
    }
    for (key, path) in cache::entries(folder)? {
        let (first, rest) = key.split_at_checked(2).unwrap_or_default();
        draft.add_unchanging(&path, &format!("blobs/{}/{first}/{rest}", cache::FOLDER))?;
    }
    Ok(())
}

/// What is backed up, held in place until it is written or dropped.
pub struct Image {
    manifest: Manifest,
    draft: Draft,
    _turn: OwnedMutexGuard<()>,
}

impl Image {
    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.draft.files().iter().map(|file| file.bytes).sum()
    }

    /// Writes the archive. Blocks; an error leaves an archive without its manifest, which nobody
    /// takes for a backup.
    pub fn write(self, out: impl std::io::Write) -> Result<Manifest> {
        archive::write(self.manifest, self.draft.files(), out)
    }
}
