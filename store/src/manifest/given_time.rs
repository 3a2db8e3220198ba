//! Up to which time versions may have been given, in a file. Versions by the time go on after it,
//! also where the clock was set back and no report tells of the newest one any more: compaction
//! keeps the last report of a document, which may be about an older version.
//!
//! ```text
//! <data folder>/manifest/given-time.json    {"format": 1, "up_to_ms": 1700000005000}
//! <data folder>/manifest/given-time.lock    held while the file is replaced: processes may share the folder
//! ```
//! The file is ahead of what is given by [`STEP_MS`], so that it is written once in that time and
//! not with every version.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, Result};

use crate::data_folder::replace_file;
use crate::event_log::embedded::folder::create_folder;

const FORMAT: u32 = 1;
const STEP_MS: u64 = 5_000;

#[derive(Deserialize, Serialize)]
struct Stored {
    format: u32,
    up_to_ms: u64,
}

/// The newest time that versions of this data folder may have, milliseconds since 1970.
#[derive(Debug)]
pub struct GivenTime {
    folder: PathBuf,
    up_to: AtomicU64,
    writing: tokio::sync::Mutex<()>,
}

impl GivenTime {
    /// In the folder `manifest` of a data folder, which is made if it is not there. A file that is
    /// damaged is left aside.
    pub fn open(folder: &Path) -> Result<Arc<Self>> {
        create_folder(folder)?;
        let up_to = AtomicU64::new(read(folder)?);
        Ok(Arc::new(Self {
            folder: folder.to_owned(),
            up_to,
            writing: tokio::sync::Mutex::default(),
        }))
    }

    /// No version by the time is above it so far.
    pub fn up_to(&self) -> u64 {
        self.up_to.load(Ordering::Acquire)
    }

    /// On return a version of this time may be given: it is known after a crash.
    pub async fn cover(self: &Arc<Self>, time: u64) -> Result<()> {
        if time <= self.up_to() {
            return Ok(());
        }
        let _writing = self.writing.lock().await;
        if time <= self.up_to() {
            return Ok(());
        }
        let this = Arc::clone(self);
        let written =
            tokio::task::spawn_blocking(move || this.raise(time.saturating_add(STEP_MS))).await;
        written.unwrap_or_else(|error| {
            Err(Error::new(
                ErrorKind::Internal,
                format!("the time of versions was not kept: {error}"),
            ))
        })
    }

    fn raise(&self, time: u64) -> Result<()> {
        let path = self.folder.join("given-time.lock");
        let failed = |error: std::io::Error| {
            Error::io(format_args!("cannot lock {}", path.display()), &error)
        };
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(failed)?;
        lock.lock().map_err(failed)?;
        let up_to_ms = read(&self.folder)?.max(time);
        let json = serde_json::to_vec(&Stored {
            format: FORMAT,
            up_to_ms,
        })
        .map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("cannot encode the time of versions: {error}"),
            )
        })?;
        replace_file(&file(&self.folder), &json)?;
        self.up_to.store(up_to_ms, Ordering::Release);
        Ok(())
    }
}

fn file(folder: &Path) -> PathBuf {
    folder.join("given-time.json")
}

/// 0 where there is none.
fn read(folder: &Path) -> Result<u64> {
    let path = file(folder);
    let json = match std::fs::read(&path) {
        Ok(json) => json,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(error) => {
            return Err(Error::io(
                format_args!("cannot read {}", path.display()),
                &error,
            ));
        }
    };
    match serde_json::from_slice::<Stored>(&json) {
        Ok(stored) if stored.format == FORMAT => Ok(stored.up_to_ms),
        Ok(stored) => {
            let what = format!(
                "{} has format {}, this build reads format {FORMAT}",
                path.display(),
                stored.format
            );
            Err(Error::new(ErrorKind::Unsupported, what)
                .with_hint("a newer build wrote it: use that one"))
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "the time of versions is damaged and left aside; the newest report counts");
            Ok(0)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000_000;

    #[tokio::test]
    async fn what_was_given_is_known_after_a_crash_also_by_a_process_beside() {
        let folder = tempfile::tempdir().unwrap();
        let first = GivenTime::open(folder.path()).unwrap();
        let beside = GivenTime::open(folder.path()).unwrap();
        assert_eq!(first.up_to(), 0);
        first.cover(NOW).await.unwrap();
        assert!(first.up_to() >= NOW);
        let written = std::fs::metadata(file(folder.path()))
            .unwrap()
            .modified()
            .unwrap();
        first.cover(NOW + 1).await.unwrap();
        assert_eq!(
            std::fs::metadata(file(folder.path()))
                .unwrap()
                .modified()
                .unwrap(),
            written,
            "written with every version"
        );
        beside.cover(NOW - 1_000_000).await.unwrap();
        assert!(
            GivenTime::open(folder.path()).unwrap().up_to() >= NOW,
            "an earlier time took the place of a later one"
        );
        std::fs::write(file(folder.path()), "{").unwrap();
        assert_eq!(GivenTime::open(folder.path()).unwrap().up_to(), 0);
        std::fs::write(file(folder.path()), "{\"format\": 2, \"up_to_ms\": 1}").unwrap();
        assert_eq!(
            GivenTime::open(folder.path()).unwrap_err().kind(),
            ErrorKind::Unsupported
        );
    }
}
