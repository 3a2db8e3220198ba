//! The data folder: one writer (or several processes, where log and index are servers), an id, a
//! format version, and the address of the server that runs on it.
//!
//! Layout:
//! ```text
//! <data>/
//!   tributary.json     {"format": 1, "id": "<32 hexadecimal digits>"}, written once
//!   lock               held (advisory) by the one process that writes, or shared by several; holds a pid for messages
//!   guests.lock        held by verbs that talk to the server of another verb, which waits for them
//!   server.json        {"url": "http://…", "pid": N} while a server runs; stale after a crash: server.lock decides
//!   parts.json         folders of log and index that must be there, see `parts`
//!   parts.copy.json    the same once more
//!   blob-store.json    the marker of the folder of blobs, see `blobs`
//!   backup.token       what a caller of `POST /v1/backup` must show; only the owner may read it
//!   keys.json, keys.used.json, keys.lock    API keys, as hashes, see `keys`
//!   server.lock        held (advisory, exclusive) by the process that serves
//!   log/               the embedded event log
//!   index/             the embedded search index
//!   blobs/             content-addressed bodies
//!   manifest/          the document table as of some moment, and up to which time versions were given
//!   models/            model files and the ONNX runtime
//!   evaluations/       runs of evaluations, see `evaluations`
//!   lexicon/           candidates for terms and verdicts on them, written by the command line and the server
//!   missed-searches.jsonl    questions of searches that were not answered, see `missed_searches`
//!   publishing/        the folders that each source was published from, written by the command line
//!   backup.staging/    while a backup is being made; restore.draft/, restore.ready/ while one is restored
//! ```

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, Result, files};

const BACKUP_TOKEN_FILE: &str = "backup.token";
const IDENTITY_FILE: &str = "tributary.json";

/// The format that this build reads and writes.
pub const FORMAT: u32 = 1;

const IDENTITY_HINT: &str = "put it back from a backup; without one write {\"format\": 1, \"id\": \"<any 32 hexadecimal digits>\"} into it: documents are kept, only the checkpoint of their table is made anew";

#[derive(Serialize, Deserialize)]
struct Identity {
    format: u32,
    id: String,
}

/// Where a running server answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerAddress {
    /// Base URL without a trailing slash.
    pub url: String,
    /// Process that serves.
    pub pid: u32,
}

/// Who may have the folder at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// This process alone: the embedded log or index is in it.
    Alone,
    /// Any number of processes: only bodies, models and the address of the server are in it.
    Shared,
}

/// A data folder that this process may write to; the lock goes with it.
#[derive(Debug)]
pub struct DataFolder {
    path: PathBuf,
    id: String,
    lock: File,
    serving: OnceLock<File>,
}

impl DataFolder {
    /// Opens the folder for writing, creating it if needed.
    ///
    /// `Conflict` if another process has it in a way that excludes this one, `Unsupported` if a
    /// newer build wrote it, `Denied` if it cannot be written to.
    pub fn open(path: &Path, access: Access) -> Result<Self> {
        create(path)?;
        let lock = acquire_lock(path, access)?;
        if access == Access::Alone {
            crate::backup::finish_restore(path)?;
            remove_left_over(path)?;
        }
        let id = read_or_create_identity(path)?;
        Ok(Self {
            path: path.to_owned(),
            id,
            lock,
            serving: OnceLock::new(),
        })
    }

    /// Identifier given at creation, 32 hexadecimal digits.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A path inside the folder.
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes where the server answers, for verbs that look for it. Where several processes serve
    /// from one folder, the first is announced.
    pub fn announce(&self, url: &str) -> Result<()> {
        let path = self.join("server.lock");
        let failed =
            |error: std::io::Error| Error::io(format!("cannot open {}", path.display()), &error);
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                tracing::info!(
                    url,
                    "another server of this data folder is announced already"
                );
                return Ok(());
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        self.serving.get_or_init(|| lock);
        let address = ServerAddress {
            url: url.to_owned(),
            pid: std::process::id(),
        };
        replace_file(&self.join("server.json"), &to_json(&address)?)
    }

    /// What a caller must show to be given everything: who may read it may read the folder. Made at
    /// the first call, mode 0600.
    pub fn backup_token(&self) -> Result<String> {
        let path = self.join(BACKUP_TOKEN_FILE);
        let failed =
            |error: std::io::Error| Error::io(format!("cannot write {}", path.display()), &error);
        match read_backup_token(&self.path) {
            Ok(Some(token)) => return Ok(token),
            Ok(None) => {}
            // Others may know it, as in a copy of the folder that lost its modes: it is worth
            // nothing.
            Err(error) if error.kind() == ErrorKind::Denied => {
                tracing::warn!(%error, "a new token for backups takes its place");
                fs::remove_file(&path).map_err(failed)?;
            }
            Err(error) => return Err(error),
        }
        let draft = self.join(&format!("backup.{}.tmp", std::process::id()));
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&draft)
            .map_err(failed)?;
        file.set_permissions(Permissions::from_mode(0o600))
            .map_err(failed)?;
        file.write_all(random_token().map_err(failed)?.as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(failed)?;
        // Of several processes that come at once, the first one's stays: a link is not made over a
        // file that is there.
        let linked = fs::hard_link(&draft, &path);
        fs::remove_file(&draft).map_err(failed)?;
        match linked {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(failed(error)),
            _ => read_backup_token(&self.path)?.ok_or_else(|| {
                Error::new(ErrorKind::Corrupt, format!("{} is empty", path.display()))
            }),
        }
    }

    /// Removes the announcement.
    pub fn withdraw(&self) {
        if self.serving.get().is_none() {
            return;
        }
        if let Err(error) = fs::remove_file(self.join("server.json"))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "cannot remove server.json");
        }
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        if let Err(error) = self.lock.unlock() {
            tracing::warn!(%error, "cannot release the data folder");
        }
    }
}

/// Whether a folder is the data folder of an engine, of this one or another.
pub fn is_one(path: &Path) -> bool {
    let written = files::read_at_most(path.join(IDENTITY_FILE), 4096);
    written.is_ok_and(|bytes| serde_json::from_slice::<Identity>(&bytes).is_ok())
}

/// The server that runs on this folder, if one does: its address is only believed while it holds
/// its lock.
pub fn running_server(path: &Path) -> Option<ServerAddress> {
    let lock = File::open(path.join("server.lock")).ok()?;
    if lock.try_lock_shared().is_ok() {
        return None;
    }
    serde_json::from_slice(&files::read(path.join("server.json")).ok()?).ok()
}

/// Whoever talks to the server of a folder and relies on it for more than one request: a server
/// that lives with a verb stays for as long as there is one.
#[derive(Debug)]
pub struct Guest(#[expect(dead_code, reason = "the lock goes with the file")] File);

impl Guest {
    /// `None` where the server is about to go, or this user may not write into the folder.
    pub fn of(path: &Path) -> Option<Self> {
        // Where none ever ran there is nothing to keep, and maybe no data folder.
        path.join("server.lock").exists().then_some(())?;
        let lock = guest_lock(path).ok()?;
        lock.try_lock_shared().ok().map(|()| Self(lock))
    }
}

fn guest_lock(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    options.open(path.join("guests.lock"))
}

/// For the server of a verb that is done: lets nobody find it any more, and waits until its guests
/// have left, `waiting` being called at each look. What it returns keeps others out until it is
/// dropped.
pub fn let_guests_leave(path: &Path, mut waiting: impl FnMut()) -> Option<File> {
    let is_ours = running_server(path).is_some_and(|server| server.pid == std::process::id());
    if !is_ours {
        return None;
    }
    if let Err(error) = fs::remove_file(path.join("server.json")) {
        tracing::warn!(%error, "cannot remove server.json");
    }
    let lock = guest_lock(path).ok()?;
    while let Err(TryLockError::WouldBlock) = lock.try_lock() {
        waiting();
    }
    Some(lock)
}

/// What the server of this folder wants to be shown before it gives a backup; `None` where no
/// server ever ran. `Denied` where this user may not read it, or where others may, too.
pub fn read_backup_token(folder: &Path) -> Result<Option<String>> {
    let path = folder.join(BACKUP_TOKEN_FILE);
    let failed =
        |error: std::io::Error| Error::io(format!("cannot read {}", path.display()), &error);
    let found = match fs::metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        found => found.map_err(failed)?,
    };
    if found.is_file() && found.permissions().mode() & 0o077 != 0 {
        let message = format!("{} can be read by other users", path.display());
        return Err(Error::new(ErrorKind::Denied, message)
            .with_hint("remove it and start the server again: it makes a new one"));
    }
    let token = files::read_to_string(&path).map_err(failed)?;
    Ok(Some(token).filter(|token| !token.is_empty()))
}

/// 256 bits of the system's randomness, in hexadecimal digits.
fn random_token() -> std::io::Result<String> {
    let mut bytes = [0_u8; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Holds the folder alone without opening it, for as long as the file lives.
pub(crate) fn hold(path: &Path) -> Result<File> {
    acquire_lock(path, Access::Alone)
}

/// Bytes that this user may still write on the disk of a path.
pub fn free_bytes(path: &Path) -> Result<u64> {
    let free = rustix::fs::statvfs(path).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    free.map_err(|error| {
        Error::io(
            format!("cannot ask for the free room of {}", path.display()),
            &error.into(),
        )
    })
}

/// Writes a small file into the folder and removes it again: `Exhausted` on a full disk, `Denied`
/// where nothing may be written.
pub fn probe_writing(path: &Path) -> Result<()> {
    const PROBE_BYTES: usize = 4096;
    let probe = path.join(format!("ready.{}.probe", std::process::id()));
    let written = fs::write(&probe, [0; PROBE_BYTES]);
    let removed = fs::remove_file(&probe);
    written
        .and(removed)
        .map_err(|error| Error::io(format!("cannot write into {}", path.display()), &error))
}

const IN_USE_HINT: &str = "a data folder has one writer: stop the other process, talk to it with --server, or choose another --data-dir";

fn acquire_lock(path: &Path, access: Access) -> Result<File> {
    let lock_path = path.join("lock");
    let opened = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&lock_path);
    let mut lock = opened
        .map_err(|error| Error::io(format!("cannot open {}", lock_path.display()), &error))?;
    let locked = match access {
        Access::Alone => lock.try_lock(),
        Access::Shared => lock.try_lock_shared(),
    };
    match locked {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use(path, &mut lock)),
        Err(TryLockError::Error(error)) => {
            return Err(Error::io(
                format!("cannot lock {}", lock_path.display()),
                &error,
            ));
        }
    }
    let written = lock
        .set_len(0)
        .and_then(|()| lock.rewind())
        .and_then(|()| write!(lock, "{}", std::process::id()));
    written.map_err(|error| Error::io(format!("cannot write {}", lock_path.display()), &error))?;
    Ok(lock)
}

fn in_use(path: &Path, lock: &mut File) -> Error {
    let mut pid = String::new();
    let holder = match lock.read_to_string(&mut pid) {
        Ok(_) if !pid.is_empty() => format!("process {pid}"),
        _ => "another process".to_owned(),
    };
    Error::new(
        ErrorKind::Conflict,
        format!("data folder {} is in use by {holder}", path.display()),
    )
    .with_hint(IN_USE_HINT)
}

/// Whether an error says that another process has the folder.
pub fn is_in_use(error: &Error) -> bool {
    error.kind() == ErrorKind::Conflict && error.hint() == Some(IN_USE_HINT)
}

fn read_or_create_identity(path: &Path) -> Result<String> {
    let file = path.join(IDENTITY_FILE);
    match files::read(&file) {
        Ok(bytes) => {
            let identity: Identity = serde_json::from_slice(&bytes).map_err(|error| {
                Error::new(
                    ErrorKind::Corrupt,
                    format!("{} is damaged: {error}", file.display()),
                )
                .with_hint(IDENTITY_HINT)
            })?;
            check_format(path, identity.format)?;
            Ok(identity.id)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => create_identity(path, &file),
        Err(error) => Err(Error::io(format!("cannot read {}", file.display()), &error)),
    }
}

fn check_format(path: &Path, format: u32) -> Result<()> {
    if format == FORMAT {
        return Ok(());
    }
    let message = format!(
        "data folder {} has format {format}, this build reads format {FORMAT}",
        path.display()
    );
    Err(Error::new(ErrorKind::Unsupported, message)
        .with_hint("use the build that wrote it, or a newer one"))
}

fn create_identity(path: &Path, file: &Path) -> Result<String> {
    if path.join("log").exists() {
        let message = format!(
            "data folder {} has data but no tributary.json",
            path.display()
        );
        return Err(Error::new(ErrorKind::Corrupt, message).with_hint(IDENTITY_HINT));
    }
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
    // Of several processes that come at once, one makes it: a link is not made over a file that is
    // there.
    let draft = path.join(format!("tributary.{}.json", std::process::id()));
    replace_file(&draft, &to_json(&Identity { format: FORMAT, id })?)?;
    let linked = fs::hard_link(&draft, file);
    fs::remove_file(&draft)
        .map_err(|error| Error::io(format!("cannot remove {}", draft.display()), &error))?;
    match linked {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(Error::io(
            format!("cannot create {}", file.display()),
            &error,
        )),
        _ => read_or_create_identity(path),
    }
}

fn to_json<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    serde_json::to_vec_pretty(value)
        .map_err(|error| Error::new(ErrorKind::Internal, format!("cannot encode: {error}")))
}

/// Creates a data folder that only its owner can read. One that is there keeps its rights: they may
/// be meant so.
pub fn create(path: &Path) -> Result<()> {
    let failed = |error: std::io::Error| {
        Error::io(
            format!("cannot create data folder {}", path.display()),
            &error,
        )
    };
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    match create_private_folder(path) {
        // Another process was first.
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists || !path.is_dir() => {
            Err(failed(error))
        }
        _ => Ok(()),
    }
}

/// Refuses a file, or anything else, in the place of a folder.
pub(crate) fn require_folder(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_dir() => {
            let message = format!("{} is no folder", path.display());
            Err(Error::new(ErrorKind::Corrupt, message).with_hint(
                "something else took the folder's place: move it away, put the folder back from a backup if it had data, and start again",
            ))
        }
        _ => Ok(()),
    }
}

/// Creates a folder that only its owner can read.
pub(crate) fn create_private_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates a file that only its owner can read, or empties the one that is there.
pub(crate) fn create_private_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Whether other users of the machine may look into a folder.
#[cfg(unix)]
pub fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0)
}

/// Whether other users of the machine may look into a folder; not known here.
#[cfg(not(unix))]
pub fn is_open_to_others(_: &Path) -> bool {
    false
}

/// Makes creations, renames and removals in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> Result<()> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| Error::io(format!("cannot sync {}", path.display()), &error))
}

/// Makes the names of everything below a folder durable.
pub(crate) fn sync_folders(path: &Path) -> Result<()> {
    let failed =
        |error: std::io::Error| Error::io(format!("cannot read {}", path.display()), &error);
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    sync_folder(path)
}

/// Files that processes write beside their places, and that a killed one leaves there. Whoever calls
/// it has the folder alone.
fn remove_left_over(folder: &Path) -> Result<()> {
    const WRITTEN_BY_HOLDERS: [&str; 5] = ["backup", "blob-store", "parts", "parts.copy", "server"];
    let failed = |error: std::io::Error| {
        Error::io(
            format!("cannot remove what was left over in {}", folder.display()),
            &error,
        )
    };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let parts = name.to_str().and_then(|name| {
            let (name, process) = name.strip_suffix(".tmp")?.rsplit_once('.')?;
            Some((name, process))
        });
        let is_left_over = parts.is_some_and(|(name, process)| {
            WRITTEN_BY_HOLDERS.contains(&name) && process.bytes().all(|byte| byte.is_ascii_digit())
        });
        if is_left_over {
            fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    Ok(())
}

/// Replaces a file so that a crash leaves either the old or the new content, durably.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed =
        |error: std::io::Error| Error::io(format!("cannot write {}", path.display()), &error);
    // A name of its own: several processes may write it at once, where they share the folder.
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut file = File::create(&temporary).map_err(failed)?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(failed)?;
    fs::rename(&temporary, path).map_err(failed)?;
    let parent = path.parent().unwrap_or(Path::new("."));
    File::open(parent)
        .and_then(|folder| folder.sync_all())
        .map_err(failed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_half_written_goes_at_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        drop(DataFolder::open(folder.path(), Access::Alone).unwrap());
        let draft = folder.path().join("restore.draft");
        fs::create_dir_all(draft.join("log")).unwrap();
        let left = folder.path().join("blob-store.4711.tmp");
        let own = folder.path().join("notes.4711.tmp");
        for file in [&left, &own] {
            fs::write(file, "half").unwrap();
        }
        drop(DataFolder::open(folder.path(), Access::Shared).unwrap());
        assert!(left.exists() && draft.exists(), "others may be at it");
        drop(DataFolder::open(folder.path(), Access::Alone).unwrap());
        assert!(!left.exists() && !draft.exists());
        assert!(own.exists(), "nobody knows whose this is");
    }

    #[test]
    fn a_second_writer_is_told_who_holds_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let first = DataFolder::open(folder.path(), Access::Alone).unwrap();
        assert_eq!(
            DataFolder::open(folder.path(), Access::Shared)
                .unwrap_err()
                .kind(),
            ErrorKind::Conflict
        );
        let error = DataFolder::open(folder.path(), Access::Alone).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(
            error.to_string().contains(&std::process::id().to_string()),
            "{error}"
        );
        let id = first.id().to_owned();
        drop(first);
        assert_eq!(
            DataFolder::open(folder.path(), Access::Alone).unwrap().id(),
            id
        );
    }

    #[test]
    fn a_damaged_identity_and_a_file_in_a_folders_place_come_with_a_way_out() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tributary.json"), "{").unwrap();
        let error = DataFolder::open(folder.path(), Access::Alone).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.hint().unwrap().contains("32 hexadecimal digits"));

        let file = folder.path().join("manifest");
        fs::write(&file, "").unwrap();
        let error = require_folder(&file).unwrap_err();
        assert!(
            error.to_string().contains("manifest is no folder"),
            "{error}"
        );
        assert!(error.hint().unwrap().contains("move it away"));
        require_folder(&folder.path().join("not there yet")).unwrap();
    }

    #[test]
    fn several_processes_may_share_a_folder_and_one_server_is_announced() {
        let folder = tempfile::tempdir().unwrap();
        let first = DataFolder::open(folder.path(), Access::Shared).unwrap();
        let second = DataFolder::open(folder.path(), Access::Shared).unwrap();
        assert_eq!(first.id(), second.id());
        assert_eq!(
            DataFolder::open(folder.path(), Access::Alone)
                .unwrap_err()
                .kind(),
            ErrorKind::Conflict
        );
        assert_eq!(running_server(folder.path()), None);
        second.announce("http://127.0.0.1:2").unwrap();
        first.announce("http://127.0.0.1:1").unwrap();
        first.withdraw();
        assert_eq!(
            running_server(folder.path()).unwrap().url,
            "http://127.0.0.1:2"
        );
    }

    #[test]
    fn an_announcement_is_believed_only_while_the_lock_is_held() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(running_server(folder.path()), None);
        let data = DataFolder::open(folder.path(), Access::Alone).unwrap();
        data.announce("http://127.0.0.1:1").unwrap();
        assert_eq!(
            running_server(folder.path()).unwrap().url,
            "http://127.0.0.1:1"
        );
        drop(data);
        assert!(
            folder.path().join("server.json").exists(),
            "as after a crash"
        );
        assert_eq!(running_server(folder.path()), None);
    }

    #[cfg(unix)]
    #[test]
    fn others_cannot_look_into_a_new_folder_and_an_old_one_stays_as_it_is() {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = tempfile::tempdir().unwrap();
        let (new, old) = (folder.path().join("a/new"), folder.path().join("old"));
        DataFolder::open(&new, Access::Alone).unwrap();
        assert_eq!(mode(&new), 0o700);
        assert!(!is_open_to_others(&new));
        fs::create_dir(&old).unwrap();
        fs::set_permissions(&old, PermissionsExt::from_mode(0o755)).unwrap();
        DataFolder::open(&old, Access::Alone).unwrap();
        assert_eq!(mode(&old), 0o755);
        assert!(is_open_to_others(&old));
    }

    #[test]
    fn what_is_no_file_in_the_place_of_the_token_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(BACKUP_TOKEN_FILE);
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
        let refused = read_backup_token(folder.path()).unwrap_err().to_string();
        assert!(
            refused.contains("a named pipe is in its place"),
            "{refused}"
        );
    }

    #[test]
    fn the_token_of_backups_is_random_stays_and_is_readable_by_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::open(folder.path(), Access::Alone).unwrap();
        assert_eq!(read_backup_token(folder.path()).unwrap(), None);
        let token = data.backup_token().unwrap();
        assert_eq!(
            (token.len(), data.backup_token().unwrap()),
            (64, token.clone())
        );
        assert_eq!(
            read_backup_token(folder.path()).unwrap(),
            Some(token.clone())
        );
        let path = folder.path().join(BACKUP_TOKEN_FILE);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(
            read_backup_token(folder.path()).unwrap_err().kind(),
            ErrorKind::Denied,
            "others may have seen it"
        );
        assert_ne!(data.backup_token().unwrap(), token);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn a_newer_format_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("tributary.json"),
            r#"{"format": 99, "id": "x"}"#,
        )
        .unwrap();
        let error = DataFolder::open(folder.path(), Access::Alone).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("format 99"), "{error}");
    }

    #[test]
    fn a_folder_that_lost_its_identity_is_not_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("log")).unwrap();
        assert_eq!(
            DataFolder::open(folder.path(), Access::Alone)
                .unwrap_err()
                .kind(),
            ErrorKind::Corrupt
        );
    }
}
