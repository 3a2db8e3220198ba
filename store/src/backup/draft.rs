//! Files held as they are at one moment, by hard links in a folder of their own. Filled by the log
//! and the index while their writers are held; read by `archive` afterwards.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tributary_schemas::{Error, Result};

/// Files of an image. The folder goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Draft {
    folder: PathBuf,
    files: Vec<Held>,
    folders: Vec<String>,
    number: u64,
}

/// One file of an image.
#[derive(Debug)]
pub(crate) struct Held {
    /// Path below the data folder.
    pub path: String,
    /// Where its content is.
    pub place: PathBuf,
    /// How much of it counts.
    pub bytes: u64,
    is_ours: bool,
}

impl Draft {
    /// An empty one; a left-over of that name is removed.
    pub fn create(folder: &Path) -> Result<Self> {
        Self::remove(folder)?;
        fs::create_dir(folder).map_err(|error| failed("create", folder, &error))?;
        Ok(Self {
            folder: folder.to_owned(),
            files: Vec::new(),
            folders: Vec::new(),
            number: 0,
        })
    }

    /// Removes the folder of a draft, if it is there.
    pub fn remove(folder: &Path) -> Result<()> {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", folder, &error))
            }
            _ => Ok(()),
        }
    }

    /// Holds the first `bytes` of a file (`None`: its present length) as `path`; what is there must
    /// not be changed in place later, only appended to, or replaced or removed as a whole.
    /// Returns whether the file exists.
    pub fn keep(&mut self, from: &Path, path: &str, bytes: Option<u64>) -> Result<bool> {
        let place = self.next_place();
        match hold(from, &place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(failed("hold", from, &error)),
            Ok(()) => {}
        }
        let length = fs::metadata(&place)
            .map_err(|error| failed("read", &place, &error))?
            .len();
        self.files.push(Held {
            path: path.to_owned(),
            place,
            bytes: bytes.map_or(length, |bytes| bytes.min(length)),
            is_ours: true,
        });
        Ok(true)
    }

    /// Holds content that is in memory.
    pub fn keep_content(&mut self, content: &[u8], path: &str) -> Result<()> {
        let place = self.next_place();
        fs::write(&place, content).map_err(|error| failed("write", &place, &error))?;
        self.files.push(Held {
            path: path.to_owned(),
            place,
            bytes: content.len() as u64,
            is_ours: true,
        });
        Ok(())
    }

    /// Holds a file that `make` writes to the place that it is given.
    pub fn keep_made(&mut self, path: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        let place = self.next_place();
        make(&place)?;
        let bytes = fs::metadata(&place)
            .map_err(|error| failed("read", &place, &error))?
            .len();
        self.files.push(Held {
            path: path.to_owned(),
            place,
            bytes,
            is_ours: true,
        });
        Ok(())
    }

    /// Adds a file that stays in place and never changes.
    pub fn add_unchanging(&mut self, place: &Path, path: &str) -> Result<()> {
        let bytes = fs::metadata(place)
            .map_err(|error| failed("read", place, &error))?
            .len();
        self.files.push(Held {
            path: path.to_owned(),
            place: place.to_owned(),
            bytes,
            is_ours: false,
        });
        Ok(())
    }

    /// Adds a folder that must be there even if nothing is in it.
    pub fn add_folder(&mut self, path: &str) {
        self.folders.push(path.to_owned());
    }

    /// Files so far.
    pub fn files(&self) -> &[Held] {
        &self.files
    }

    /// Folders so far.
    pub fn folders(&self) -> &[String] {
        &self.folders
    }

    /// Lets go of the files after the first `count`.
    pub fn truncate(&mut self, count: usize) -> Result<()> {
        for held in self
            .files
            .drain(count.min(self.files.len())..)
            .filter(|held| held.is_ours)
        {
            fs::remove_file(&held.place).map_err(|error| failed("remove", &held.place, &error))?;
        }
        Ok(())
    }

    fn next_place(&mut self) -> PathBuf {
        self.number += 1;
        self.folder.join(self.number.to_string())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Err(error) = Self::remove(&self.folder) {
            tracing::warn!(error = %error.full_message(), "what a backup held is removed at the next start");
        }
    }
}

/// A hard link; where the file system has none, a copy.
fn hold(from: &Path, place: &Path) -> io::Result<()> {
    match fs::hard_link(from, place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound && from.exists() => {
            fs::copy(from, place).map(drop)
        }
        linked => linked,
    }
}

fn failed(what: &str, path: &Path, error: &io::Error) -> Error {
    Error::io(format_args!("cannot {what} {}", path.display()), error)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_held_survives_appends_replacements_and_removals() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one").unwrap();
        let mut draft = Draft::create(&folder.path().join("draft")).unwrap();
        assert!(draft.keep(&path, "a", None).unwrap());
        assert!(
            !draft
                .keep(&folder.path().join("absent"), "b", None)
                .unwrap()
        );
        fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b" two")
            .unwrap();
        fs::remove_file(&path).unwrap();
        let [held] = draft.files() else {
            panic!("{draft:?}")
        };
        assert_eq!((held.path.as_str(), held.bytes), ("a", 3));
        assert_eq!(fs::read(&held.place).unwrap(), b"one two");
        drop(draft);
        assert!(!folder.path().join("draft").exists());
    }
}
