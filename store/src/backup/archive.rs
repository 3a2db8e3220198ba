//! The archive of a backup: written from held files, read back with every hash compared. See
//! [`super`] for the format.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use bytes::Bytes;
use tokio::sync::mpsc;
use tributary_schemas::{Error, ErrorKind, Result};

use super::draft::Held;
use super::{MANIFEST, Manifest, ManifestFile};

const BUFFER_BYTES: usize = 1 << 20;
/// Far more than a manifest of a million files.
const MANIFEST_LIMIT_BYTES: u64 = 1 << 30;

/// Called for each file of a backup with its path, length and content.
pub(super) type Each<'a> = &'a mut dyn FnMut(&str, u64, &mut dyn Read) -> Result<()>;

/// Writes all files and the manifest.
pub(super) fn write(mut manifest: Manifest, files: &[Held], out: impl Write) -> Result<Manifest> {
    let mut archive = tar::Builder::new(io::BufWriter::with_capacity(BUFFER_BYTES, out));
    for held in files {
        let reading =
            |error: io::Error| Error::io(format_args!("cannot back up {}", held.path), &error);
        let content = File::open(&held.place).map_err(reading)?.take(held.bytes);
        let mut content = Hashed::new(io::BufReader::with_capacity(BUFFER_BYTES, content));
        append(
            &mut archive,
            &held.path,
            held.bytes,
            manifest.taken_at_ms,
            &mut content,
        )
        .map_err(reading)?;
        if content.bytes != held.bytes {
            let message = format!(
                "{} ended after {} of {} bytes while it was backed up",
                held.path, content.bytes, held.bytes
            );
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        manifest.files.push(ManifestFile {
            path: held.path.clone(),
            bytes: held.bytes,
            blake3: content.digest(),
        });
    }
    let json = to_json(&manifest)?;
    let written = append(
        &mut archive,
        MANIFEST,
        json.len() as u64,
        manifest.taken_at_ms,
        &mut json.as_slice(),
    );
    let flushed = written
        .and_then(|()| archive.into_inner())
        .and_then(|mut out| out.flush());
    flushed.map_err(|error| Error::io("cannot write the backup", &error))?;
    Ok(manifest)
}

fn append(
    archive: &mut tar::Builder<impl Write>,
    path: &str,
    bytes: u64,
    taken_at_ms: i64,
    content: &mut dyn Read,
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_size(bytes);
    header.set_mode(0o600);
    header.set_mtime(u64::try_from(taken_at_ms / 1000).unwrap_or(0));
    archive.append_data(&mut header, path, content)
}

pub(super) fn to_json(manifest: &Manifest) -> Result<Vec<u8>> {
    serde_json::to_vec_pretty(manifest).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot encode a manifest: {error}"),
        )
    })
}

/// Reads an archive to its end. `Corrupt` if anything differs from the manifest, or there is none.
pub(super) fn read(from: impl Read, each: Each<'_>) -> Result<Manifest> {
    let mut archive = tar::Archive::new(from);
    let mut manifest: Option<Manifest> = None;
    let mut found = Vec::new();
    for entry in archive.entries().map_err(|error| broken(&error))? {
        let mut entry = entry.map_err(|error| broken(&error))?;
        let path = entry
            .path()
            .map_err(|error| broken(&error))?
            .to_str()
            .map(str::to_owned)
            .unwrap_or_default();
        if manifest.is_some() || !entry.header().entry_type().is_file() {
            return Err(damaged(format!("`{path}` does not belong there")));
        }
        if path == MANIFEST {
            manifest = Some(read_manifest(&mut entry)?);
        } else {
            let bytes = entry.size();
            found.push(read_file(&path, bytes, &mut entry, each)?);
        }
    }
    let manifest = manifest.ok_or_else(|| damaged("it ends before its manifest"))?;
    compare(&manifest, &found)?;
    Ok(manifest)
}

/// Reads a backup that is a folder.
pub(super) fn read_folder(folder: &Path, each: Each<'_>) -> Result<Manifest> {
    let path = folder.join(MANIFEST);
    let file = File::open(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => damaged(format!("{} has no {MANIFEST}", folder.display())),
        _ => Error::io(format_args!("cannot read {}", path.display()), &error),
    })?;
    let manifest = read_manifest(file)?;
    let mut found = Vec::with_capacity(manifest.files.len());
    for file in &manifest.files {
        check_path(&file.path)?;
        let path = folder.join(&file.path);
        let content =
            File::open(&path).and_then(|content| Ok((content.metadata()?.len(), content)));
        let (bytes, mut content) = content.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => damaged(format!("{} is missing", file.path)),
            _ => Error::io(format_args!("cannot read {}", path.display()), &error),
        })?;
        found.push(read_file(&file.path, bytes, &mut content, each)?);
    }
    compare(&manifest, &found)?;
    Ok(manifest)
}

fn read_manifest(from: impl Read) -> Result<Manifest> {
    let mut json = Vec::new();
    from.take(MANIFEST_LIMIT_BYTES)
        .read_to_end(&mut json)
        .map_err(|error| broken(&error))?;
    let manifest: Manifest = serde_json::from_slice(&json)
        .map_err(|error| damaged(format!("its manifest cannot be read: {error}")))?;
    manifest
        .folders
        .iter()
        .try_for_each(|folder| check_path(folder))?;
    manifest.check_versions()?;
    Ok(manifest)
}

fn read_file(
    path: &str,
    bytes: u64,
    content: &mut dyn Read,
    each: Each<'_>,
) -> Result<ManifestFile> {
    check_path(path)?;
    let mut content = Hashed::new(content);
    each(path, bytes, &mut content)?;
    io::copy(&mut content, &mut io::sink()).map_err(|error| broken(&error))?;
    if content.bytes != bytes {
        return Err(damaged(format!(
            "{path} has {} of {bytes} bytes",
            content.bytes
        )));
    }
    Ok(ManifestFile {
        path: path.to_owned(),
        bytes,
        blake3: content.digest(),
    })
}

/// Only what a data folder has may be written into one.
fn check_path(path: &str) -> Result<()> {
    let mut parts = path.split('/');
    let is_ours = path == "tributary.json"
        || matches!(
            parts.next(),
            Some("log" | "index" | "blobs" | "conversations")
        );
    let is_plain = path
        .split('/')
        .all(|part| !part.is_empty() && part != "." && part != ".." && !part.contains('\\'));
    if is_ours && is_plain {
        Ok(())
    } else {
        Err(damaged(format!("`{path}` is no file of a data folder")))
    }
}

fn compare(manifest: &Manifest, found: &[ManifestFile]) -> Result<()> {
    for (expected, found) in manifest.files.iter().zip(found) {
        if expected != found {
            return Err(damaged(format!(
                "{} is not as its manifest says",
                expected.path
            )));
        }
    }
    if manifest.files.len() != found.len() {
        return Err(damaged(format!(
            "it has {} of {} files",
            found.len(),
            manifest.files.len()
        )));
    }
    Ok(())
}

fn damaged(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the backup is damaged: {what}"))
        .with_hint("nothing was changed; take another backup")
}

/// A transfer that broke off is told from a file that cannot be read.
pub(super) fn broken(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::Other
        | io::ErrorKind::InvalidData
        | io::ErrorKind::UnexpectedEof
        | io::ErrorKind::InvalidInput => damaged(error),
        _ => Error::io("cannot read the backup", error),
    }
}

/// A reader that hashes and counts what passes.
struct Hashed<R> {
    inner: R,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl<R: Read> Hashed<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            hasher: blake3::Hasher::new(),
            bytes: 0,
        }
    }

    fn digest(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hasher.update(buffer.get(..count).unwrap_or_default());
        self.bytes += count as u64;
        Ok(count)
    }
}

/// Hands what is written to it to an async reader, or to [`Pipe::read_end`] in another thread;
/// waits while that one is behind.
pub struct Pipe {
    sender: mpsc::Sender<io::Result<Bytes>>,
}

impl Pipe {
    /// Both ends.
    pub fn new() -> (Self, mpsc::Receiver<io::Result<Bytes>>) {
        let (sender, receiver) = mpsc::channel(4);
        (Self { sender }, receiver)
    }

    /// Tells the other end that no more comes because of a failure.
    pub fn fail(&self, error: &Error) {
        if self
            .sender
            .blocking_send(Err(io::Error::other(error.full_message())))
            .is_err()
        {
            tracing::debug!(%error, "nobody waits for the rest of a backup");
        }
    }

    /// The reading end as a plain reader, not for async threads.
    pub fn read_end(receiver: mpsc::Receiver<io::Result<Bytes>>) -> impl Read {
        ReadEnd {
            receiver,
            current: Bytes::new(),
        }
    }
}

impl Write for &Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let gone = |_| {
            io::Error::new(
                io::ErrorKind::BrokenPipe,
                "nobody reads the backup any more",
            )
        };
        self.sender
            .blocking_send(Ok(Bytes::copy_from_slice(bytes)))
            .map_err(gone)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct ReadEnd {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
    current: Bytes,
}

impl Read for ReadEnd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            match self.receiver.blocking_recv() {
                None => return Ok(0),
                Some(next) => self.current = next?,
            }
        }
        let count = self.current.len().min(buffer.len());
        let part = self.current.split_to(count);
        buffer
            .get_mut(..count)
            .unwrap_or_default()
            .copy_from_slice(&part);
        Ok(count)
    }
}
