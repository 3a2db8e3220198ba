//! Up to which time versions may have been given, in a file. Versions by the time go on after it,
//! also where the clock was set back and no report tells of the newest one any more: compaction
//! keeps the last report of a document, which may be about an older version.
//!
//! ```text
//! <data folder>/manifest/given-time.json    {"format": 1, "up_to_ms": 1700000005000}
//! <data folder>/manifest/given-time.implausible.json    one that was left aside
//! <data folder>/manifest/given-time.lock    held while the file is replaced: processes may share the folder
//! ```
//! The file is ahead of what is given by [`STEP_MS`], so that it is written once in that time and
//! not with every version. A file from so far ahead of the clock that no stage would take what is
//! given after it is left aside under another name: otherwise every new document would be given up.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, Result};

use super::versions::VersionRule;
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
    rule: VersionRule,
    writing: tokio::sync::Mutex<()>,
}

fn encode(up_to_ms: u64) -> Result<Vec<u8>> {
    serde_json::to_vec(&Stored {
        format: FORMAT,
        up_to_ms,
    })
    .map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot encode the time of versions: {error}"),
        )
    })
}

impl GivenTime {
    /// In the folder `manifest` of a data folder, which is made if it is not there. A file that is
    /// damaged, or from too far ahead of the time for the rule, is left aside.
    pub fn open(folder: &Path, rule: VersionRule, now_ms: i64) -> Result<Arc<Self>> {
        create_folder(folder)?;
        let up_to = AtomicU64::new(read_plausible(folder, rule, now_ms)?);
        Ok(Arc::new(Self {
            folder: folder.to_owned(),
            up_to,
            rule,
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
        let now_ms = i64::try_from(time).unwrap_or(i64::MAX);
        let up_to_ms = read_plausible(&self.folder, self.rule, now_ms)?.max(time);
        let json = encode(up_to_ms)?;
        replace_file(&file(&self.folder), &json)?;
        self.up_to.store(up_to_ms, Ordering::Release);
        Ok(())
    }
}

fn file(folder: &Path) -> PathBuf {
    folder.join("given-time.json")
}

/// 0 where there is none that can be right.
fn read_plausible(folder: &Path, rule: VersionRule, now_ms: i64) -> Result<u64> {
    let time = read(folder)?;
    if rule.is_plausible(time, now_ms) {
        return Ok(time);
    }
    let (path, aside) = (file(folder), folder.join("given-time.implausible.json"));
    std::fs::rename(&path, &aside).map_err(|error| {
        let what = format_args!("cannot rename {} to {}", path.display(), aside.display());
        Error::io(what, &error)
    })?;
    tracing::warn!(
        path = %aside.display(),
        up_to_ms = time,
        now_ms,
        "the time of versions is far ahead of the clock and left aside; versions go on after the newest report: is the clock right?"
    );
    Ok(0)
}

/// 0 where there is none.
fn read(folder: &Path) -> Result<u64> {
    let path = file(folder);
    let json = match tributary_schemas::files::read(&path) {
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

    fn open(folder: &Path) -> Result<Arc<GivenTime>> {
        GivenTime::open(folder, VersionRule::new(168), NOW as i64)
    }

    #[tokio::test]
    async fn what_was_given_is_known_after_a_crash_also_by_a_process_beside() {
        let folder = tempfile::tempdir().unwrap();
        let first = open(folder.path()).unwrap();
        let beside = open(folder.path()).unwrap();
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
            open(folder.path()).unwrap().up_to() >= NOW,
            "an earlier time took the place of a later one"
        );
        std::fs::write(file(folder.path()), "{").unwrap();
        assert_eq!(open(folder.path()).unwrap().up_to(), 0);
        std::fs::write(file(folder.path()), "{\"format\": 2, \"up_to_ms\": 1}").unwrap();
        assert_eq!(
            open(folder.path()).unwrap_err().kind(),
            ErrorKind::Unsupported
        );
    }

    #[tokio::test]
    async fn a_time_far_ahead_is_left_aside_and_what_is_given_then_is_kept() {
        for far in [NOW + 100 * 3_600_000, u64::MAX] {
            let folder = tempfile::tempdir().unwrap();
            let beside = open(folder.path()).unwrap();
            let json = format!("{{\"format\": 1, \"up_to_ms\": {far}}}");
            std::fs::write(file(folder.path()), &json).unwrap();
            let given = open(folder.path()).unwrap();
            assert_eq!(given.up_to(), 0, "{far}");
            let aside = folder.path().join("given-time.implausible.json");
            assert_eq!(std::fs::read_to_string(aside).unwrap(), json);
            std::fs::write(file(folder.path()), &json).unwrap();
            beside.cover(NOW).await.unwrap();
            assert_eq!(beside.up_to(), NOW + STEP_MS, "written meanwhile");
            assert_eq!(open(folder.path()).unwrap().up_to(), NOW + STEP_MS);
        }
    }
}
