//! The candidates for terms of the data folder and what people said of them: the files that
//! `tributary lexicon` writes, read anew when they change.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tributary_schemas::{Error, ErrorKind, Result};
use tributary_taxonomy::discovery::files::{
    CANDIDATES, VerdictFile, read_candidates, read_verdicts, verdicts_beside,
};
use tributary_taxonomy::discovery::{Candidate, Verdict, Verdicts};

/// Both files. Its calls block.
pub struct TermReview {
    candidates: PathBuf,
    verdicts: PathBuf,
    last: Mutex<Last>,
}

/// What they held when they were last read.
#[derive(Default)]
struct Last {
    candidates: Reading<Vec<Candidate>>,
    verdicts: Reading<Verdicts>,
}

/// What a file held, and by what a change of it is told.
#[derive(Default)]
struct Reading<T> {
    stamp: Option<(u64, SystemTime)>,
    value: Arc<T>,
}

/// What both files hold.
pub struct Reviewed {
    /// In the order of their file; none where nothing was discovered.
    pub candidates: Arc<Vec<Candidate>>,
    /// What was said of them.
    pub verdicts: Arc<Verdicts>,
}

impl TermReview {
    /// Of this folder, which need not exist yet.
    pub fn new(folder: &Path) -> Self {
        let candidates = folder.join(CANDIDATES);
        Self {
            verdicts: verdicts_beside(&candidates),
            candidates,
            last: Mutex::default(),
        }
    }

    /// What both files hold now; `Corrupt` for a line that is none of theirs.
    pub fn read(&self) -> Result<Reviewed> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Reviewed {
            candidates: last.candidates.anew(&self.candidates, read_candidates)?,
            verdicts: last
                .verdicts
                .anew(&self.verdicts, |file| read_verdicts(&[file.to_path_buf()]))?,
        })
    }

    /// Keeps a verdict, which is on the disk when it returns.
    pub fn add(&self, verdict: &Verdict) -> Result<()> {
        let _one_at_a_time = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        VerdictFile::open(&self.verdicts)?.add(std::slice::from_ref(verdict))
    }
}

impl<T: Default> Reading<T> {
    /// What the file holds: as before where it did not change, nothing where it is not there.
    fn anew(&mut self, file: &Path, read: impl FnOnce(&Path) -> Result<T>) -> Result<Arc<T>> {
        let stamp = match fs::metadata(file).and_then(|found| Ok((found.len(), found.modified()?)))
        {
            Ok(stamp) => Some(stamp),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::io("cannot look at the terms", &error)),
        };
        if stamp.is_none() {
            *self = Self::default();
        } else if stamp != self.stamp {
            let damaged = |error: Error| match error.kind() {
                ErrorKind::Invalid => Error::new(ErrorKind::Corrupt, error.to_string()),
                _ => error,
            };
            self.value = Arc::new(read(file).map_err(damaged)?);
            self.stamp = stamp;
        }
        Ok(Arc::clone(&self.value))
    }
}
