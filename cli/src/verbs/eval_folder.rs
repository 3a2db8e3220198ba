//! The data folder that an evaluation works in.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tributary_store::data_folder;

use crate::args::Global;
use crate::print;

/// What the names of temporary data folders begin with; the process stands behind it.
const TEMPORARY: &str = "tributary-eval-";
/// File in a temporary folder that its process holds for as long as it lives.
const HELD: &str = "held";

/// The named data folder, or a temporary one that goes with the process.
pub(super) struct OwnFolder {
    pub(super) path: PathBuf,
    /// Of a temporary folder: what it is held by.
    held: Option<File>,
}

impl OwnFolder {
    /// Creates a temporary folder if none is named, and removes those that killed processes left.
    pub(super) fn choose(global: &Global) -> Result<Self> {
        if global.server.is_some() {
            print::note("an evaluation works in a data folder of its own; the server is not asked");
        }
        if let Some(path) = &global.data_dir {
            return Ok(Self {
                path: path.clone(),
                held: None,
            });
        }
        let folders = std::env::temp_dir();
        remove_left_behind(&folders);
        let path = folders.join(format!("{TEMPORARY}{}", std::process::id()));
        data_folder::create(&path)?;
        let held = hold(&path).with_context(|| format!("cannot write into {}", path.display()))?;
        Ok(Self {
            path,
            held: Some(held),
        })
    }

    /// The folder of a set among others, whose names may be the same; `used` has those so far.
    pub(super) fn of_set(&self, set: &str, used: &mut HashSet<String>) -> PathBuf {
        let numbered = (2..).map(|number| format!("{set}-{number}"));
        let mut names = std::iter::once(set.to_owned()).chain(numbered);
        let name = names.find(|name| used.insert(name.clone()));
        self.path.join(name.as_deref().unwrap_or(set))
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        if self.held.is_some()
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            tracing::warn!(%error, folder = %self.path.display(), "cannot remove the temporary data folder");
        }
    }
}

/// Holds a folder; nobody ever sees its file without the lock.
fn hold(folder: &Path) -> std::io::Result<File> {
    let draft = folder.join("held.draft");
    let file = File::create(&draft)?;
    file.lock()?;
    fs::rename(draft, folder.join(HELD))?;
    Ok(file)
}

/// Removes temporary folders that no process holds any more.
fn remove_left_behind(folders: &Path) {
    let entries = fs::read_dir(folders).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| is_temporary(&entry.file_name().to_string_lossy())) {
        let folder = entry.path();
        let Ok(held) = File::open(folder.join(HELD)) else {
            continue;
        };
        if held.try_lock().is_ok()
            && let Err(error) = fs::remove_dir_all(&folder)
        {
            tracing::warn!(%error, folder = %folder.display(), "cannot remove what an evaluation left");
        }
    }
}

fn is_temporary(name: &str) -> bool {
    let process = name.strip_prefix(TEMPORARY);
    process.is_some_and(|process| process.parse::<u32>().is_ok())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_evaluation_left_goes_and_what_is_held_stays() {
        let folders = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = folders.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let left = folder("tributary-eval-1");
        drop(hold(&left).unwrap());
        let held = folder("tributary-eval-2");
        let lock = hold(&held).unwrap();
        let young = folder("tributary-eval-3");
        let other = folder("tributary-eval-set");
        drop(hold(&other).unwrap());
        remove_left_behind(folders.path());
        assert!(!left.exists());
        assert!(held.exists() && young.exists() && other.exists());
        drop(lock);
        remove_left_behind(folders.path());
        assert!(!held.exists());
    }

    #[test]
    fn sets_of_one_name_get_folders_of_their_own() {
        let own = OwnFolder {
            path: PathBuf::from("/data"),
            held: None,
        };
        let mut used = HashSet::new();
        let of = ["a", "a", "b", "a"].map(|set| own.of_set(set, &mut used));
        let expected = ["/data/a", "/data/a-2", "/data/b", "/data/a-3"];
        assert_eq!(of, expected.map(PathBuf::from));
    }
}
