//! Content-addressed bodies that are too large for a log record, in any store that `object_store`
//! speaks to. A blob's URL is `blob:<64 hexadecimal digits>`, the BLAKE3 hash of its bytes: writing
//! twice changes nothing, unless what is there is damaged; then it is replaced.
//!
//! A folder of blobs has a marker, `store.json`, written once. A folder without it, or with another
//! one, is not the one that this process opened, such as the empty place of a share that is not
//! mounted: no blob is missing there, and none is written. The data folder remembers
//! it ([`MEMORY`]), so that a start without the share waits for it too. Processes that share an index
//! on servers share the blobs too: there the index says which ([`Blobs::expect`]).
//!
//! Beside the blobs lies a cache of texts that cost something to make ([`cache`]); its files are no blobs.

pub(crate) mod cache;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt};
use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, Result, error};

use crate::data_folder::{replace_file, require_folder};

const MARKER: &str = "store.json";
/// In the data folder: which folder of blobs it was last opened with, and the marker that this had.
pub const MEMORY: &str = "blob-store.json";
const MEMORY_FORMAT: u32 = 1;
/// The data folder's own blobs. Remembered by this name: the data folder may be named otherwise
/// next time, or be moved.
const OWN: &str = "blobs";
/// How the URL of a blob begins.
pub(crate) const SCHEME: &str = "blob:";
const DAMAGED: &str = "publish the document that names it again: the right content takes its place; `tributary doctor --verify` lists all that are damaged";

/// Keeps and returns blobs.
#[derive(Clone, Debug)]
pub struct Blobs {
    store: Arc<dyn ObjectStore>,
    /// Of a folder.
    marker: Option<Arc<Marker>>,
}

/// What tells a folder of blobs from another one in its place.
#[derive(Debug)]
struct Marker {
    path: PathBuf,
    content: Vec<u8>,
    /// The id that the index names.
    expected: OnceLock<String>,
}

/// What a marker holds.
#[derive(Deserialize)]
struct MarkerContent {
    id: String,
}

impl Blobs {
    /// Blobs where `url` says (`file:///…`), or in `blobs` of the data folder for an empty one, which remembers them. Others in that place
    /// count as away.
    pub fn open(url: &str, data_folder: &Path) -> Result<Self> {
        let memory = data_folder.join(MEMORY);
        match url.strip_prefix("file://") {
            Some(path) if path.starts_with('/') => Self::marked(Path::new(path), |marker| {
                Marker::remembered(marker, Path::new(path), &memory)
            }),
            None if url.is_empty() => Self::marked(&data_folder.join(OWN), |marker| {
                Marker::remembered(marker, Path::new(OWN), &memory)
            }),
            _ => Err(Error::new(
                ErrorKind::Unsupported,
                format!("store.blobs.url `{url}` is no place for bodies"),
            )
            .with_hint(
                "use file:///… with a folder that every process reaches, or leave it empty",
            )),
        }
    }

    /// Blobs in a local folder, which is created; written durably.
    pub fn local(folder: &Path) -> Result<Self> {
        Self::marked(folder, Marker::read_or_create)
    }

    fn marked(folder: &Path, mark: impl FnOnce(PathBuf) -> Result<Marker>) -> Result<Self> {
        require_folder(folder)?;
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::io(format!("cannot create {}", folder.display()), &error))?;
        let store = LocalFileSystem::new_with_prefix(folder).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot open blobs in {}: {error}", folder.display()),
            )
        })?;
        let marker = mark(folder.join(MARKER))?;
        Ok(Self {
            marker: Some(Arc::new(marker)),
            ..Self::new(Arc::new(store.with_fsync(true)))
        })
    }

    /// Blobs in the given store.
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self {
            store,
            marker: None,
        }
    }

    /// Keeps the bytes durably and returns their URL.
    pub async fn put(&self, bytes: Bytes) -> Result<String> {
        self.check().await?;
        let hash = blake3::hash(&bytes).to_hex().to_string();
        let path = object_path(&hash);
        if self
            .store
            .head(&path)
            .await
            .is_ok_and(|found| found.size == bytes.len() as u64)
        {
            if self.holds(&path, &bytes).await {
                return Ok(format!("{SCHEME}{hash}"));
            }
            tracing::warn!(
                blob = hash,
                "a damaged blob is replaced by its right content"
            );
        }
        self.store
            .put(&path, bytes.into())
            .await
            .map_err(|error| failed(&hash, error))?;
        Ok(format!("{SCHEME}{hash}"))
    }

    /// What tells this store from others; `None` for one that is no folder.
    pub fn id(&self) -> Option<String> {
        self.marker.as_ref()?.id()
    }

    /// From now on a store of another id counts as away: others share the index with this process,
    /// and what they read lies in the store of that id. The first that is named counts.
    pub fn expect(&self, id: &str) {
        if let Some(marker) = &self.marker {
            marker.expected.get_or_init(|| id.to_owned());
        }
    }

    /// Whether the store is the one that was opened, and the one that is expected. `Unavailable`, a
    /// fault of the environment, if it is away or another is in its place.
    pub async fn check(&self) -> Result<()> {
        let Some(marker) = self.marker.clone() else {
            return Ok(());
        };
        let looked = tokio::task::spawn_blocking(move || marker.check()).await;
        looked.unwrap_or_else(|error| {
            Err(Error::new(
                ErrorKind::Internal,
                format!("nobody looked at the blob store: {error}"),
            ))
        })
    }

    /// Whether these very bytes are there. Reading them costs less than hashing them did; what
    /// cannot be read is written again.
    async fn holds(&self, path: &ObjectPath, bytes: &Bytes) -> bool {
        let Ok(found) = self.store.get(path).await else {
            return false;
        };
        found.bytes().await.is_ok_and(|found| found == *bytes)
    }

    /// The bytes behind a URL. `Invalid` for another kind of URL, `NotFound` in a store that is
    /// there, or `Corrupt` when the bytes do not match their hash; whatever else fails is a
    /// fault of the environment.
    pub async fn get(&self, url: &str) -> Result<Bytes> {
        let hash = parse(url)?;
        let found = match self.store.get(&object_path(hash)).await {
            Ok(found) => found,
            Err(error) => return Err(self.unread(hash, error).await),
        };
        let bytes = found.bytes().await.map_err(|error| failed(hash, error))?;
        if blake3::hash(&bytes).to_hex().as_str() != hash {
            return Err(does_not_match(hash));
        }
        Ok(bytes)
    }
}

/// A blob in pieces, so that a large one is never wholly in memory.
pub type Pieces = BoxStream<'static, Result<Bytes>>;

impl Blobs {
    /// The length of a blob. Errors: those of [`Self::get`].
    pub async fn size(&self, url: &str) -> Result<u64> {
        let hash = parse(url)?;
        match self.store.head(&object_path(hash)).await {
            Ok(found) => Ok(found.size),
            Err(error) => Err(self.unread(hash, error).await),
        }
    }

    /// All bytes of a blob in pieces; `Corrupt` instead of the last one when they do not match the
    /// hash.
    /// Errors: those of [`Self::get`].
    pub async fn pieces(&self, url: &str) -> Result<Pieces> {
        let hash = parse(url)?.to_owned();
        let found = match self.store.get(&object_path(&hash)).await {
            Ok(found) => found,
            Err(error) => return Err(self.unread(&hash, error).await),
        };
        let read = Reading {
            pieces: found.into_stream(),
            held: None,
            hasher: blake3::Hasher::new(),
            hash,
        };
        Ok(Box::pin(stream::try_unfold(Some(read), Reading::next)))
    }

    /// A part of a blob, within its length and not empty, in pieces. Whether it is what its hash
    /// says can only be told of all of it. Errors: those of [`Self::get`].
    pub async fn part(&self, url: &str, range: Range<u64>) -> Result<Pieces> {
        let hash = parse(url)?.to_owned();
        let options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            ..GetOptions::default()
        };
        match self.store.get_opts(&object_path(&hash), options).await {
            Ok(found) => Ok(found
                .into_stream()
                .map_err(move |error| failed(&hash, error))
                .boxed()),
            Err(error) => Err(self.unread(&hash, error).await),
        }
    }

    /// Nothing is missing in a store that is away.
    async fn unread(&self, hash: &str, error: object_store::Error) -> Error {
        if let object_store::Error::NotFound { .. } = error
            && let Err(away) = self.check().await
        {
            return away;
        }
        failed(hash, error)
    }
}

/// A blob that is read to its end and checked then.
struct Reading {
    pieces: BoxStream<'static, object_store::Result<Bytes>>,
    /// The piece before, given on only when another one came, or when all are right: whoever has
    /// as many bytes as there are has the right ones.
    held: Option<Bytes>,
    hasher: blake3::Hasher,
    hash: String,
}

impl Reading {
    async fn next(reading: Option<Self>) -> Result<Option<(Bytes, Option<Self>)>> {
        let Some(mut reading) = reading else {
            return Ok(None);
        };
        while let Some(piece) = reading.pieces.next().await {
            let piece = piece.map_err(|error| failed(&reading.hash, error))?;
            reading.hasher.update(&piece);
            if let Some(before) = reading.held.replace(piece) {
                return Ok(Some((before, Some(reading))));
            }
        }
        if reading.hasher.finalize().to_hex().as_str() != reading.hash {
            return Err(does_not_match(&reading.hash));
        }
        Ok(reading.held.map(|last| (last, None)))
    }
}

fn does_not_match(hash: &str) -> Error {
    let message = format!("blob {hash} does not match its hash");
    Error::new(ErrorKind::Corrupt, message).with_hint(DAMAGED)
}

/// The data folder's own folder of blobs, if it was opened and is not there, or another one is in
/// its place.
pub(crate) fn missing(data_folder: &Path) -> Result<Option<PathBuf>> {
    let folder = data_folder.join(OWN);
    let Some(known) =
        Memory::read(&data_folder.join(MEMORY))?.filter(|known| known.folder == Path::new(OWN))
    else {
        return Ok(None);
    };
    let is_there =
        std::fs::read(folder.join(MARKER)).is_ok_and(|found| found == known.marker.into_bytes());
    Ok((!is_there).then_some(folder))
}

/// Forgets which folder of blobs was opened: the one that is there next counts.
pub(crate) fn forget(data_folder: &Path) -> Result<()> {
    let path = data_folder.join(MEMORY);
    std::fs::remove_file(&path)
        .map_err(|error| Error::io(format_args!("cannot remove {}", path.display()), &error))
}

/// The files of all blobs in a local folder, by hash; anything else that lies there is no blob.
pub(crate) fn files(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for shelf in entries(folder)? {
        let Some(first) = name_of(&shelf)
            .filter(|name| is_hexadecimal(name, 2))
            .map(str::to_owned)
        else {
            continue;
        };
        for blob in entries(&shelf)? {
            if let Some(rest) = name_of(&blob).filter(|name| is_hexadecimal(name, 62)) {
                found.push((format!("{first}{rest}"), blob.clone()));
            }
        }
    }
    Ok(found)
}

/// Whether a file holds what its hash says; one that the disk cannot read does not.
pub(crate) fn is_whole(hash: &str, path: &Path) -> Result<bool> {
    let mut hasher = blake3::Hasher::new();
    let read = std::fs::File::open(path).and_then(|file| {
        std::io::copy(
            &mut std::io::BufReader::with_capacity(1 << 20, file),
            &mut hasher,
        )
    });
    match read {
        Ok(_) => Ok(hasher.finalize().to_hex().as_str() == hash),
        Err(error) if is_of_the_disk(&error) => Ok(false),
        Err(error) => Err(Error::io(
            format_args!("cannot read {}", path.display()),
            &error,
        )),
    }
}

/// Whether a file cannot be read because of what the disk has of it, and of nothing else.
fn is_of_the_disk(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed =
        |error: std::io::Error| Error::io(format_args!("cannot list {}", folder.display()), &error);
    let listed: std::io::Result<Vec<PathBuf>> = std::fs::read_dir(folder)
        .map_err(failed)?
        .map(|entry| Ok(entry?.path()))
        .collect();
    let mut listed = listed.map_err(failed)?;
    listed.sort();
    Ok(listed)
}

fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

fn is_hexadecimal(name: &str, length: usize) -> bool {
    name.len() == length && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `Invalid` where the text cannot be a reference into a blob store; whether there is such a blob is
/// not looked up.
pub fn check_reference(url: &str) -> Result<()> {
    parse(url).map(|_| ())
}

fn parse(url: &str) -> Result<&str> {
    let hash = url.strip_prefix(SCHEME).unwrap_or_default();
    if hash.len() == 64
        && hash
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
    {
        return Ok(hash);
    }
    Err(
        Error::new(ErrorKind::Invalid, format!("`{url}` is no blob reference"))
            .with_hint("a reference is blob: and 64 hexadecimal digits"),
    )
}

/// Two levels of folders keep listings short.
fn object_path(hash: &str) -> ObjectPath {
    let (folder, name) = hash.split_at_checked(2).unwrap_or(("00", hash));
    ObjectPath::from_iter([folder, name])
}

/// What [`MEMORY`] holds.
#[derive(Serialize, Deserialize)]
struct Memory {
    /// [`MEMORY_FORMAT`]; the first ones had none.
    #[serde(default)]
    format: u32,
    folder: PathBuf,
    marker: String,
}

impl Memory {
    /// Nothing where there is none, or a damaged one. `Unsupported` for one of a newer build.
    fn read(path: &Path) -> Result<Option<Self>> {
        let known: Option<Self> = std::fs::read(path)
            .ok()
            .and_then(|json| serde_json::from_slice(&json).ok());
        match known {
            Some(Self { format, .. }) if format > MEMORY_FORMAT => {
                let message = format!(
                    "{} has format {format}, this build reads format {MEMORY_FORMAT}",
                    path.display()
                );
                Err(Error::new(ErrorKind::Unsupported, message)
                    .with_hint("a newer build wrote it: use that one"))
            }
            known => Ok(known),
        }
    }
}

impl Marker {
    /// The marker that the memory names for this place, whether or not it is there; else the one
    /// that is there, which is remembered.
    fn remembered(path: PathBuf, folder: &Path, memory: &Path) -> Result<Self> {
        if let Some(known) = Memory::read(memory)?.filter(|known| known.folder == folder) {
            return Ok(Self::new(path, known.marker.into_bytes()));
        }
        let found = Self::read_or_create(path)?;
        let known = Memory {
            format: MEMORY_FORMAT,
            folder: folder.to_owned(),
            marker: String::from_utf8_lossy(&found.content).into_owned(),
        };
        let json = serde_json::to_vec(&known).map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot encode {MEMORY}: {error}"),
            )
        })?;
        replace_file(memory, &json)?;
        Ok(found)
    }

    fn read_or_create(path: PathBuf) -> Result<Self> {
        let failed = |error: io::Error| {
            Error::io(
                format!("cannot mark the folder of blobs with {}", path.display()),
                &error,
            )
        };
        let content = match std::fs::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create(&path)?;
                std::fs::read(&path).map_err(failed)?
            }
            Err(error) => return Err(failed(error)),
        };
        Ok(Self::new(path, content))
    }

    fn new(path: PathBuf, content: Vec<u8>) -> Self {
        Self {
            path,
            content,
            expected: OnceLock::new(),
        }
    }

    fn id(&self) -> Option<String> {
        let content: MarkerContent = serde_json::from_slice(&self.content).ok()?;
        Some(content.id)
    }

    fn check(&self) -> Result<()> {
        let found = std::fs::read(&self.path);
        if found.as_ref().is_ok_and(|found| *found == self.content) {
            return self.check_expected();
        }
        let error = found.err();
        let lacks_handles = error.as_ref().is_some_and(error::lacks_handles);
        let why = error
            .filter(|error| error.kind() != io::ErrorKind::NotFound)
            .map_or_else(
                || "its folder is not the one that this process opened".to_owned(),
                |error| error.to_string(),
            );
        // Producers are told too, and a path of this machine is not for them.
        tracing::warn!(marker = %self.path.display(), why, "the blob store is away");
        let message = format!("the blob store is away: {why}");
        let hint = "mount or put back the folder of store.blobs.url (`blobs` in the data folder, if that is empty), and work goes on by itself; \
                    to go on without what was in it, `tributary repair --apply`, or remove blob-store.json from the data folder, and start again";
        let hint = if lacks_handles {
            error::MORE_HANDLES
        } else {
            hint
        };
        Err(Error::new(ErrorKind::Unavailable, message).with_hint(hint))
    }
}

impl Marker {
    fn check_expected(&self) -> Result<()> {
        let here = self.id();
        let Some(expected) = self.expected.get().filter(|id| here.as_ref() != Some(id)) else {
            return Ok(());
        };
        tracing::warn!(marker = %self.path.display(), expected, "this is another blob store than that of the index");
        let message = "the blob store is away: the folder of this process is not that of the index, which other processes read";
        let hint = format!(
            "store.blobs.url must lead to the same folder in every process that shares the index, the one whose store.json has the id {expected}; \
             if that one is gone for good, write this id into the store.json of the folder that takes its place"
        );
        Err(Error::new(ErrorKind::Unavailable, message).with_hint(hint))
    }
}

/// Makes the marker; of several processes that come at once, all have the one that was there first.
fn create(path: &Path) -> Result<()> {
    let seed = format!(
        "{:?} {} {}",
        std::time::SystemTime::now(),
        std::process::id(),
        path.display()
    );
    let id: String = blake3::hash(seed.as_bytes())
        .to_hex()
        .chars()
        .take(32)
        .collect();
    let draft = path.with_extension(format!("{id}.json"));
    replace_file(
        &draft,
        format!("{{\"format\": 1, \"id\": \"{id}\"}}\n").as_bytes(),
    )?;
    let placed = match std::fs::hard_link(&draft, path) {
        // Not every file system has links.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => std::fs::rename(&draft, path),
        _ => std::fs::remove_file(&draft),
    };
    placed.map_err(|error| Error::io(format!("cannot create {}", path.display()), &error))
}

/// Names no path: it is told to producers, in states and dead letters. The log line has it.
fn failed(hash: &str, error: object_store::Error) -> Error {
    use object_store::Error as Store;
    if let Store::NotFound { .. } = error {
        tracing::debug!(hash, %error, "a blob is not there");
        let message = format!("a stored body could not be read: there is no blob {hash}");
        return Error::new(ErrorKind::NotFound, message)
            .with_hint("upload the body again, then publish the document again");
    }
    tracing::warn!(hash, %error, "the blob store failed");
    let what = format!("the blob store failed at blob {hash}");
    match (&error, io_error(&error)) {
        (_, Some(io)) => Error::io(what, io).of_environment(),
        (Store::PermissionDenied { .. } | Store::Unauthenticated { .. }, None) => {
            Error::new(ErrorKind::Denied, what).of_environment()
        }
        (_, None) => Error::new(ErrorKind::Unavailable, what),
    }
}

/// The input/output error at the bottom of a chain, if there is one.
fn io_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a std::io::Error> {
    let mut current = Some(error);
    while let Some(error) = current {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return Some(io);
        }
        current = error.source();
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_blob_is_kept_once_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(folder.path()).unwrap();
        let url = blobs.put(Bytes::from_static(b"body")).await.unwrap();
        assert_eq!(blobs.put(Bytes::from_static(b"body")).await.unwrap(), url);
        assert_eq!(blobs.get(&url).await.unwrap(), "body");
    }

    #[test]
    fn a_file_that_the_disk_cannot_read_is_damaged_and_one_that_we_may_not_is_an_error() {
        // Nothing is mapped at its beginning.
        let unreadable = Path::new("/proc/self/mem");
        assert!(!is_whole("00", unreadable).unwrap());
        assert!(!cache::is_whole(unreadable).unwrap());
        assert!(is_whole("00", Path::new("/nowhere")).is_err());
    }

    #[tokio::test]
    async fn a_damaged_blob_is_replaced_when_it_comes_again() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(folder.path()).unwrap();
        let url = blobs.put(Bytes::from_static(b"body")).await.unwrap();
        let (first, rest) = url.strip_prefix("blob:").unwrap().split_at(2);
        let path = folder.path().join(first).join(rest);
        std::fs::write(&path, "bodi").unwrap();
        let error = blobs.get(&url).await.unwrap_err();
        assert!(
            error.kind() == ErrorKind::Corrupt
                && error.hint().is_some_and(|hint| hint.contains("publish")),
            "{error:?}"
        );
        assert_eq!(blobs.put(Bytes::from_static(b"body")).await.unwrap(), url);
        assert_eq!(blobs.get(&url).await.unwrap(), "body");
    }

    #[test]
    fn only_a_folder_that_is_named_whole_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Blobs::open("", folder.path()).is_ok());
        assert!(
            Blobs::open(
                &format!("file://{}/shared", folder.path().display()),
                folder.path()
            )
            .is_ok()
        );
        assert!(folder.path().join("shared").is_dir());
        for strange in ["file://relative", "/path", "s3://bucket", "file:"] {
            assert_eq!(
                Blobs::open(strange, folder.path()).unwrap_err().kind(),
                ErrorKind::Unsupported,
                "{strange}"
            );
        }
    }

    #[tokio::test]
    async fn damage_absence_and_strange_urls_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(folder.path()).unwrap();
        let url = blobs.put(Bytes::from_static(b"body")).await.unwrap();
        let hash = url.strip_prefix("blob:").unwrap();
        let (first, rest) = hash.split_at(2);
        std::fs::write(folder.path().join(first).join(rest), "bodi").unwrap();
        assert_eq!(
            blobs.get(&url).await.unwrap_err().kind(),
            ErrorKind::Corrupt
        );
        let absent = format!("blob:{}", "0".repeat(64));
        let error = blobs.get(&absent).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.is_held()),
            (ErrorKind::NotFound, false)
        );
        assert!(
            !error.full_message().contains('/'),
            "a path of this machine is told: {error:?}"
        );
        for strange in ["", "blob:", "blob:../../etc/passwd", "file:///etc/passwd"] {
            assert_eq!(
                blobs.get(strange).await.unwrap_err().kind(),
                ErrorKind::Invalid
            );
        }
    }

    #[tokio::test]
    async fn blobs_come_in_pieces_and_in_parts_and_damage_is_told_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(folder.path()).unwrap();
        let body: Vec<u8> = (0..100_000_u32).map(|number| number as u8).collect();
        let url = blobs.put(body.clone().into()).await.unwrap();
        let all = |pieces: Pieces| pieces.try_collect::<Vec<Bytes>>();
        assert_eq!(blobs.size(&url).await.unwrap(), 100_000);
        let read = all(blobs.pieces(&url).await.unwrap()).await.unwrap();
        assert_eq!(read.concat(), body);
        let part = all(blobs.part(&url, 10..20).await.unwrap()).await.unwrap();
        assert_eq!(part.concat(), body[10..20]);
        let (first, rest) = url.strip_prefix("blob:").unwrap().split_at(2);
        std::fs::write(folder.path().join(first).join(rest), b"other").unwrap();
        let damaged = all(blobs.pieces(&url).await.unwrap()).await.unwrap_err();
        assert_eq!(damaged.kind(), ErrorKind::Corrupt);
        let absent = format!("blob:{}", "0".repeat(64));
        assert_eq!(
            blobs.size(&absent).await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }

    #[tokio::test]
    async fn in_another_folder_than_that_of_the_index_no_blob_is_missing_and_none_is_written() {
        let place = tempfile::tempdir().unwrap();
        let own = Blobs::local(&place.path().join("own")).unwrap();
        let other = Blobs::local(&place.path().join("other")).unwrap();
        let (own_id, other_id) = (own.id().unwrap(), other.id().unwrap());
        assert_ne!(own_id, other_id);
        let clone = own.clone();
        own.expect(&own_id);
        let url = clone.put(Bytes::from_static(b"body")).await.unwrap();
        assert_eq!(
            other.get(&url).await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
        other.expect(&own_id);
        other.expect(&other_id);
        let (read, written) = (
            other.get(&url).await,
            other.put(Bytes::from_static(b"new")).await,
        );
        for error in [read.unwrap_err(), written.unwrap_err()] {
            let names = error.hint().is_some_and(|hint| hint.contains(&own_id));
            assert!(error.is_held() && names, "{error:?}");
        }
    }

    #[tokio::test]
    async fn in_a_folder_that_is_another_one_no_blob_is_missing_and_none_is_written() {
        let place = tempfile::tempdir().unwrap();
        let (folder, away) = (place.path().join("blobs"), place.path().join("away"));
        let blobs = Blobs::local(&folder).unwrap();
        let url = blobs.put(Bytes::from_static(b"body")).await.unwrap();
        std::fs::rename(&folder, &away).unwrap();
        // Gone, an empty place, another installation's folder.
        let empty = || std::fs::create_dir(&folder).unwrap();
        let other = || drop(Blobs::local(&folder).unwrap());
        let places: [&dyn Fn(); 3] = [&|| {}, &empty, &other];
        for replace in places {
            replace();
            let (read, written) = (
                blobs.get(&url).await,
                blobs.put(Bytes::from_static(b"new")).await,
            );
            for error in [read.unwrap_err(), written.unwrap_err()] {
                assert!(error.is_held() && error.hint().is_some(), "{error:?}");
                assert!(
                    !error
                        .full_message()
                        .contains(place.path().to_str().unwrap()),
                    "{error:?}"
                );
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::rename(&away, &folder).unwrap();
        assert_eq!(
            blobs.get(&url).await.unwrap(),
            "body",
            "work goes on by itself"
        );
    }

    #[tokio::test]
    async fn a_start_without_the_share_waits_for_it() {
        let place = tempfile::tempdir().unwrap();
        let (data, share, away) = (
            place.path().join("data"),
            place.path().join("share"),
            place.path().join("away"),
        );
        std::fs::create_dir(&data).unwrap();
        let (own, shared) = (String::new(), format!("file://{}", share.display()));
        for (url, folder) in [(&own, data.join("blobs")), (&shared, share.clone())] {
            let kept = Blobs::open(url, &data)
                .unwrap()
                .put(Bytes::from_static(b"body"))
                .await
                .unwrap();
            std::fs::rename(&folder, &away).unwrap();
            // Not mounted: the place is empty.
            let blobs = Blobs::open(url, &data).unwrap();
            for error in [
                blobs.get(&kept).await.unwrap_err(),
                blobs.put(Bytes::from_static(b"new")).await.unwrap_err(),
            ] {
                assert!(error.is_held(), "{error:?}");
            }
            assert!(
                std::fs::read_dir(&folder).unwrap().next().is_none(),
                "nothing is written there"
            );
            std::fs::remove_dir(&folder).unwrap();
            std::fs::rename(&away, &folder).unwrap();
            assert_eq!(blobs.get(&kept).await.unwrap(), "body");
        }
        // The operator says that they are gone.
        std::fs::remove_dir_all(&share).unwrap();
        std::fs::remove_file(data.join(MEMORY)).unwrap();
        assert!(
            Blobs::open(&shared, &data)
                .unwrap()
                .put(Bytes::from_static(b"new"))
                .await
                .is_ok()
        );
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_blob_that_cannot_be_read_is_no_fault_of_its_record() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::local(folder.path()).unwrap();
        let url = blobs.put(Bytes::from_static(b"body")).await.unwrap();
        let hash = url.strip_prefix("blob:").unwrap();
        // A name that leads to itself is refused with ELOOP, whoever reads: root may do anything
        // else.
        let (first, rest) = hash.split_at(2);
        let file = folder.path().join(first).join(rest);
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(&file, &file).unwrap();
        let error = blobs.get(&url).await.unwrap_err();
        assert!(
            error.is_held()
                && !error
                    .full_message()
                    .contains(folder.path().to_str().unwrap()),
            "{error:?}"
        );
    }
}
