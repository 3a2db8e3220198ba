//! Where a backup goes: a folder, an archive, or a compressed archive. It is checked while it is
//! written, and has its name only once it is whole and durable.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use tributary_schemas::{Error, ErrorKind, Result};

use super::archive::{broken, read, to_json};
use super::draft::Draft;
use super::{MANIFEST, Manifest};
use crate::data_folder::{create_private_file, create_private_folder, free_bytes, sync_folders};

/// zstd's own default: most of the gain at a speed that the disk hardly notices.
const COMPRESSION_LEVEL: i32 = 3;
/// What a backup leaves free.
const MARGIN_BYTES: u64 = 64 << 20;

/// Where a backup goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The files themselves.
    Folder(PathBuf),
    /// A tar archive.
    Archive(PathBuf),
    /// The same, compressed by zstd.
    Compressed(PathBuf),
}

impl Destination {
    /// By the ending of the name: `.tar`, `.tar.zst`, else a folder. `Invalid` for the endings of
    /// other archives.
    pub fn of(path: &Path) -> Result<Self> {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().to_lowercase())
            .unwrap_or_default();
        let other = [".tgz", ".gz", ".zip", ".bz2", ".xz", ".7z"]
            .iter()
            .find(|ending| name.ends_with(**ending));
        if let Some(ending) = other {
            let message = format!("a backup cannot be a `{ending}` file");
            return Err(Error::new(ErrorKind::Invalid, message)
                .with_hint("name it .tar or .tar.zst, or give the name of a folder"));
        }
        Ok(if name.ends_with(".tar.zst") {
            Self::Compressed(path.to_owned())
        } else if name.ends_with(".tar") {
            Self::Archive(path.to_owned())
        } else {
            Self::Folder(path.to_owned())
        })
    }

    /// The path.
    pub fn path(&self) -> &Path {
        match self {
            Self::Folder(path) | Self::Archive(path) | Self::Compressed(path) => path,
        }
    }

    /// `Conflict` if something is there already: a backup never replaces another.
    pub fn check_absent(&self) -> Result<()> {
        if !self.path().exists() {
            return Ok(());
        }
        let message = format!("{} exists already", self.path().display());
        Err(Error::new(ErrorKind::Conflict, message)
            .with_hint("give each backup a name of its own, such as one with the date"))
    }

    /// Takes an archive of `total` bytes of files (for the progress and the check for room) and
    /// makes it a backup here.
    ///
    /// `Corrupt` if what comes is not whole, `Exhausted` without enough room. Whatever fails,
    /// nothing of that name is left.
    pub fn receive(&self, from: impl Read, total: u64, progress: &dyn Fn(u64)) -> Result<Manifest> {
        self.check_absent()?;
        let parent = self
            .path()
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        if !parent.is_dir() {
            // Made here, a backup for a volume that is not mounted would fill the disk below it.
            let message = format!("there is no folder {} for the backup", parent.display());
            return Err(Error::new(ErrorKind::NotFound, message)
                .with_hint("mount what belongs there, or make the folder"));
        }
        if !matches!(self, Self::Compressed(_)) {
            check_room(parent, total)?;
        }
        let partial = self.partial();
        let counted = Counted {
            inner: from,
            bytes: 0,
            progress,
        };
        let received = match self {
            Self::Folder(_) => receive_folder(counted, &partial),
            Self::Archive(_) | Self::Compressed(_) => self.receive_archive(counted, &partial),
        };
        let failed = |error: io::Error| {
            Error::io(
                format_args!("cannot complete {}", self.path().display()),
                &error,
            )
        };
        let named = received.and_then(|manifest| {
            fs::rename(&partial, self.path())
                .and_then(|()| File::open(parent)?.sync_all())
                .map_err(failed)?;
            Ok(manifest)
        });
        if named.is_err() {
            self.discard(&partial);
        }
        named
    }

    /// The name that it has until it is whole.
    fn partial(&self) -> PathBuf {
        let mut name: OsString = self.path().as_os_str().to_owned();
        name.push(".partial");
        PathBuf::from(name)
    }

    fn receive_archive(&self, from: impl Read, partial: &Path) -> Result<Manifest> {
        let failed = |error: io::Error| {
            Error::io(format_args!("cannot write {}", partial.display()), &error)
        };
        let file = create_private_file(partial).map_err(failed)?;
        if let Self::Archive(_) = self {
            let (manifest, file) = tee(from, file)?;
            file.sync_all().map_err(failed)?;
            return Ok(manifest);
        }
        let encoder = zstd::stream::write::Encoder::new(file, COMPRESSION_LEVEL).map_err(failed)?;
        let (manifest, encoder) = tee(from, encoder)?;
        encoder
            .finish()
            .and_then(|file| file.sync_all())
            .map_err(failed)?;
        Ok(manifest)
    }

    fn discard(&self, partial: &Path) {
        let removed = match self {
            Self::Folder(_) => fs::remove_dir_all(partial),
            Self::Archive(_) | Self::Compressed(_) => fs::remove_file(partial),
        };
        if let Err(error) = removed
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %partial.display(), %error, "cannot remove an unfinished backup");
        }
    }
}

fn check_room(folder: &Path, bytes: u64) -> Result<()> {
    let free = free_bytes(folder)?;
    if free >= bytes.saturating_add(MARGIN_BYTES) {
        return Ok(());
    }
    let message = format!(
        "{} has {} MiB free, the backup needs {} MiB",
        folder.display(),
        free >> 20,
        (bytes + MARGIN_BYTES) >> 20
    );
    Err(Error::new(ErrorKind::Exhausted, message)
        .with_hint("write it to another disk, or compressed as .tar.zst"))
}

/// Checks what passes while it is written as it is.
fn tee<W: Write>(from: impl Read, out: W) -> Result<(Manifest, W)> {
    let mut tee = Tee { from, out };
    let manifest = read(&mut tee, &mut |_, _, _| Ok(()))?;
    // The end of the archive, behind the last entry.
    io::copy(&mut tee, &mut io::sink())
        .map_err(|error| Error::io("cannot read the backup", &error))?;
    Ok((manifest, tee.out))
}

fn receive_folder(from: impl Read, partial: &Path) -> Result<Manifest> {
    Draft::remove(partial)?;
    let failed =
        |error: io::Error| Error::io(format_args!("cannot write {}", partial.display()), &error);
    create_private_folder(partial).map_err(failed)?;
    let manifest = read(from, &mut |path, _, content| {
        write_file(&partial.join(path), content)
    })?;
    create_folders(partial, &manifest)?;
    write_file(&partial.join(MANIFEST), &mut to_json(&manifest)?.as_slice())?;
    sync_folders(partial)?;
    Ok(manifest)
}

/// Folders that would be empty.
pub(super) fn create_folders(root: &Path, manifest: &Manifest) -> Result<()> {
    for folder in &manifest.folders {
        let path = root.join(folder);
        fs::create_dir_all(&path)
            .map_err(|error| Error::io(format_args!("cannot create {}", path.display()), &error))?;
    }
    Ok(())
}

/// Writes a file durably, and makes its folders; their names are durable once the caller has synced
/// them.
pub(super) fn write_file(path: &Path, content: &mut dyn Read) -> Result<()> {
    let failed =
        |error: io::Error| Error::io(format_args!("cannot write {}", path.display()), &error);
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let mut file = File::create(path).map_err(failed)?;
    let mut content = Content {
        inner: content,
        has_failed: false,
    };
    let copied = io::copy(&mut content, &mut file);
    copied.map_err(|error| match content.has_failed {
        true => broken(&error),
        false => failed(error),
    })?;
    file.sync_all().map_err(failed)
}

/// What is written; tells whether it could be read.
struct Content<'a> {
    inner: &'a mut dyn Read,
    has_failed: bool,
}

impl Read for Content<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer);
        let is_final = |error: &io::Error| error.kind() != io::ErrorKind::Interrupted;
        self.has_failed |= read.as_ref().is_err_and(is_final);
        read
    }
}

struct Counted<'a, R> {
    inner: R,
    bytes: u64,
    progress: &'a dyn Fn(u64),
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes += count as u64;
        (self.progress)(self.bytes);
        Ok(count)
    }
}

struct Tee<R, W> {
    from: R,
    out: W,
}

impl<R: Read, W: Write> Read for Tee<R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.out
            .write_all(buffer.get(..count).unwrap_or_default())?;
        Ok(count)
    }
}
