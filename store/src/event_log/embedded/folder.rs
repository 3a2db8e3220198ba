//! Small file operations with the syncs that make them durable, and locks that outlive a panic
//! elsewhere.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tributary_schemas::{Error, ErrorKind, Result};

use crate::data_folder::require_folder;

/// Ending of files that are being written.
pub const UNFINISHED: &str = "new";

/// Turns an I/O failure into an error that says what failed on which path.
pub fn failed<'a>(what: &'a str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |error| Error::io(format_args!("cannot {what} `{}`", path.display()), &error)
}

/// `Corrupt`, naming file and byte.
pub fn corrupt(path: &Path, position: u64, what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("`{}` is damaged at byte {position}: {what}", path.display()))
        .with_hint("`tributary doctor --verify` lists all damage, `tributary repair` moves it aside; or restore a backup")
}

/// Files of the log were removed while it was open: what is written to them is gone with this
/// process.
pub fn removed() -> Error {
    Error::new(
        ErrorKind::Unavailable,
        "files of the event log were removed while it was in use",
    )
    .with_hint("stop the server, put its folder back or restore a backup, and start again")
}

/// Makes the names in a folder durable.
pub fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder)
        .and_then(|handle| handle.sync_all())
        .map_err(failed("sync folder", folder))
}

/// Creates a folder, and makes its name durable. One that exists is fine.
pub fn create_folder(folder: &Path) -> Result<()> {
    match fs::create_dir(folder) {
        Ok(()) => folder.parent().map_or(Ok(()), sync_folder),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => require_folder(folder),
        Err(error) => Err(failed("create folder", folder)(error)),
    }
}

/// The name under which `path` is written before it is complete.
pub fn unfinished(path: &Path) -> PathBuf {
    path.with_added_extension(UNFINISHED)
}

/// Makes a file that is complete under its [`unfinished`] name, and synced, take its name.
pub fn publish(path: &Path) -> Result<()> {
    fs::rename(unfinished(path), path).map_err(failed("rename to", path))?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Writes a whole file so that after a crash the old or the new one is there. Returns it open for
/// reading and writing.
pub fn replace(path: &Path, content: &[u8]) -> Result<File> {
    let new = unfinished(path);
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&new)
        .map_err(failed("create", &new))?;
    let written = file.write_all(content).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // A full disk must not keep what it could not complete; if this fails too, opening the log
        // removes it.
        if let Err(error) = fs::remove_file(&new) {
            tracing::warn!(path = %new.display(), %error, "cannot remove an unfinished file");
        }
        return Err(failed("write", &new)(error));
    }
    publish(path)?;
    Ok(file)
}

/// Removes a file that may be gone already.
pub fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Files in a folder by name, sorted; unfinished ones are removed instead of listed.
pub fn finished_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed("list", folder))? {
        let path = entry.map_err(failed("list", folder))?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == UNFINISHED)
        {
            tracing::info!(path = %path.display(), "removed an unfinished file");
            remove(&path)?;
        } else {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Locks; a panic elsewhere while it was held does not spread.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for reading, as [`lock`].
pub fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for writing, as [`lock`].
pub fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
