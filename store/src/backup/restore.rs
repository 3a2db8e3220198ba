//! A backup becomes a data folder. Everything is written and checked in `restore.draft` inside the
//! folder; renaming that to `restore.ready` decides, and from then on the parts move to their
//! places, also at the next start if this process ends before it is done. So a folder holds either
//! what it held or all of the backup, also where it is a mount point that cannot be exchanged
//! itself.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use tributary_schemas::{Error, ErrorKind, Result};

use super::archive::{read, read_folder};
use super::destination::{create_folders, write_file};
use super::draft::Draft;
use super::{Destination, Manifest};
use crate::blobs;
use crate::data_folder::{self, hold, sync_folder, sync_folders};
use crate::parts;

const DRAFT: &str = "restore.draft";
const READY: &str = "restore.ready";
/// What a backup can hold; the identity last, since a folder without it is no data folder.
const PARTS: [&str; 5] = ["log", "index", "blobs", "conversations", "tributary.json"];

/// Restores a backup into a data folder that no process has open.
///
/// `Conflict` if the folder is in use, or holds data and `replace` is not set; `Corrupt` for a
/// damaged backup and `Unsupported` for one of another format, both without having changed
/// anything; `NotFound`. `progress` is told the bytes of files that are written.
pub fn restore(
    from: &Path,
    data_folder: &Path,
    replace: bool,
    progress: &dyn Fn(u64),
) -> Result<Manifest> {
    if !from.exists() {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("there is no backup {}", from.display()),
        ));
    }
    data_folder::create(data_folder)?;
    let _lock = hold(data_folder)?;
    finish_restore(data_folder)?;
    if let Some(part) = PARTS
        .iter()
        .find(|part| data_folder.join(part).exists() && !replace)
    {
        let message = format!("{} holds data already ({part})", data_folder.display());
        return Err(Error::new(ErrorKind::Conflict, message)
            .with_hint("choose an empty --data-dir, or replace what is there by --force"));
    }
    let draft = data_folder.join(DRAFT);
    let unpacked = unpack(from, &draft, progress);
    if unpacked.is_err() {
        Draft::remove(&draft)?;
    }
    let manifest = unpacked?;
    fs::rename(&draft, data_folder.join(READY))
        .map_err(|error| Error::io("cannot complete the restore", &error))?;
    sync_folder(data_folder)?;
    finish_restore(data_folder)?;
    Ok(manifest)
}

fn unpack(from: &Path, draft: &Path, progress: &dyn Fn(u64)) -> Result<Manifest> {
    let failed =
        |error: io::Error| Error::io(format_args!("cannot read {}", from.display()), &error);
    fs::create_dir(draft)
        .map_err(|error| Error::io(format_args!("cannot create {}", draft.display()), &error))?;
    let mut written = 0;
    let mut each = |path: &str, bytes: u64, content: &mut dyn Read| {
        write_file(&draft.join(path), content)?;
        written += bytes;
        progress(written);
        Ok(())
    };
    let manifest = if from.is_dir() {
        read_folder(from, &mut each)?
    } else {
        let file = io::BufReader::with_capacity(
            1 << 20,
            tributary_schemas::files::open(from).map_err(failed)?,
        );
        match Destination::of(from)? {
            Destination::Compressed(_) => read(
                zstd::stream::read::Decoder::with_buffer(file).map_err(failed)?,
                &mut each,
            )?,
            Destination::Archive(_) | Destination::Folder(_) => read(file, &mut each)?,
        }
    };
    create_folders(draft, &manifest)?;
    if !draft.join("tributary.json").exists() {
        return Err(Error::new(
            ErrorKind::Corrupt,
            "the backup is damaged: it has no tributary.json",
        ));
    }
    sync_folders(draft)?;
    Ok(manifest)
}

/// Moves a decided restore to its places, and removes one that was given up; nothing to do where there
/// is none. Whoever calls it has the folder alone.
pub(crate) fn finish_restore(data_folder: &Path) -> Result<()> {
    Draft::remove(&data_folder.join(DRAFT))?;
    let ready = data_folder.join(READY);
    if !ready.exists() {
        return Ok(());
    }
    tracing::info!(folder = %data_folder.display(), "a restored backup takes its place");
    for part in PARTS.into_iter().filter(|part| ready.join(part).exists()) {
        let place = data_folder.join(part);
        let removed = if place.is_dir() {
            fs::remove_dir_all(&place)
        } else {
            remove_file(&place)
        };
        let moved = removed.and_then(|()| fs::rename(ready.join(part), &place));
        moved.map_err(|error| {
            Error::io(
                format_args!("cannot put {} in its place", place.display()),
                &error,
            )
        })?;
    }
    sync_folder(data_folder)?;
    // Stale by now: they tell of a server, and of the blobs and folders of the replaced data.
    let mut stale = ["server.json", blobs::MEMORY, parts::MEMORY, parts::COPY]
        .into_iter()
        .map(|file| remove_file(&data_folder.join(file)));
    stale
        .try_for_each(|removed| removed)
        .and_then(|()| fs::remove_dir_all(&ready))
        .map_err(|error| Error::io(format_args!("cannot remove {}", ready.display()), &error))
}

fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
