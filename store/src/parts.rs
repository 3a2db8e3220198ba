//! Which folders of a data folder must be there: those of the embedded log and index that a start
//! has made. One that is gone was removed, or is the empty place of a volume that is not mounted;
//! made anew without a word, its documents would be lost without one. So the data folder remembers
//! them, a start without one of them is refused, and `tributary repair` is how to go on without it.
//!
//! ```text
//! <data folder>/parts.json    {"format": 1, "folders": ["index", "index/generations", "log", "log/topics", "log/topics/<topic>",
//!                              "log/topics/<topic>/<partition>", "log/topics/<topic>/groups"], "log_repairs": 0, "checksum": "…"}
//! <data folder>/parts.copy.json    the same
//! ```
//! Paths are relative to the data folder, sorted. Folders are added after each start and removed by
//! a repair alone; the files are replaced as a whole, one after the other, and each start writes one
//! again that is damaged or gone. Without both (a data folder of before) nothing is missed, and what
//! is there is remembered. A first file of before has neither checksum nor copy.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, ErrorKind, Result};

use crate::damage::Part;
use crate::data_folder::replace_file;
use crate::search_index::embedded::check_serving;

/// In the data folder: which of its folders were made.
pub const MEMORY: &str = "parts.json";
/// The same once more.
pub const COPY: &str = "parts.copy.json";

const FORMAT: u32 = 1;

#[derive(Default, Serialize, Deserialize)]
struct Parts {
    format: u32,
    /// Relative to the data folder.
    folders: BTreeSet<PathBuf>,
    /// How often records were taken out of the log by a repair.
    #[serde(default)]
    log_repairs: u32,
    /// Of the two above; empty in files of before.
    #[serde(default)]
    checksum: String,
}

impl Parts {
    fn checksum(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for folder in &self.folders {
            hasher.update(folder.as_os_str().as_encoded_bytes());
            hasher.update(b"\n");
        }
        hasher.update(&self.log_repairs.to_le_bytes());
        hasher.finalize().to_hex().chars().take(16).collect()
    }
}

/// Refuses a data folder of which a folder is gone, `log` and `index` only where they are embedded.
/// Which generations there are changes, so of the index the one that serves is looked for beside
/// what is remembered. `NotFound`, or `Corrupt` for that generation, with what to do.
pub fn check(data_folder: &Path, roots: &[&str]) -> Result<()> {
    let missing = missing(data_folder, roots)?;
    let Some(first) = missing.first() else {
        let index = Part::Index.folder();
        return match roots.contains(&index) {
            true => check_serving(&data_folder.join(index)),
            false => Ok(()),
        };
    };
    let message = format!("{} is gone, which an earlier start made", first.display());
    Err(Error::new(ErrorKind::NotFound, message).with_hint(
        "mount or put it back, or restore a backup; `tributary repair` says how to go on without what was in it, and `tributary doctor \
         --verify` lists everything that is gone",
    ))
}

/// The topmost folders below `roots` that were made and are gone.
pub fn missing(data_folder: &Path, roots: &[&str]) -> Result<Vec<PathBuf>> {
    let mut missing: Vec<PathBuf> = Vec::new();
    for folder in read(data_folder)?.folders {
        let is_named = missing
            .iter()
            .any(|above| data_folder.join(&folder).starts_with(above));
        if roots.iter().any(|root| folder.starts_with(root))
            && !is_named
            && !data_folder.join(&folder).is_dir()
        {
            missing.push(data_folder.join(folder));
        }
    }
    Ok(missing)
}

/// Remembers what is there below `roots`: these, and what is always in them, so that an empty place
/// is not taken for the folder: topics with their partitions, and the folder of generations.
pub fn remember(data_folder: &Path, roots: &[&str]) -> Result<()> {
    let mut parts = read(data_folder)?;
    let before = parts.folders.len();
    for root in roots {
        parts.folders.insert(PathBuf::from(root));
        let within = ["topics", "generations"].map(|name| Path::new(root).join(name));
        parts.folders.extend(
            within
                .iter()
                .filter(|folder| data_folder.join(folder).is_dir())
                .cloned(),
        );
        let [topics, _] = within;
        remember_partitions(&mut parts, data_folder, &topics)?;
    }
    let is_whole = data_folder.join(COPY).exists() && damaged(data_folder)?.is_empty();
    if parts.folders.len() == before && is_whole {
        return Ok(());
    }
    write(data_folder, &parts)
}

/// Which of the two files are damaged, or gone while the other one is there. A first file without
/// checksum was written before there was a copy.
pub fn damaged(data_folder: &Path) -> Result<Vec<PathBuf>> {
    let files = [MEMORY, COPY].map(|name| data_folder.join(name));
    let is_any_there = files.iter().any(|file| file.exists());
    let mut has_copy = true;
    let mut damaged = Vec::new();
    for file in files {
        match read_file(&file) {
            Ok(Some(parts)) => has_copy = !parts.checksum.is_empty(),
            Ok(None) if is_any_there && has_copy => damaged.push(file),
            Ok(None) => {}
            Err(error) if error.kind() == ErrorKind::Corrupt => damaged.push(file),
            Err(error) => return Err(error),
        }
    }
    Ok(damaged)
}

/// Writes both files again. Where neither can be read, what is there below `roots` is what must be
/// there, and that records are gone from the log cannot be told any more.
pub fn mend(data_folder: &Path, roots: &[&str]) -> Result<()> {
    match read(data_folder) {
        Ok(parts) => write(data_folder, &parts),
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            let anew = Parts {
                log_repairs: 1,
                ..Parts::default()
            };
            write(data_folder, &anew)?;
            remember(data_folder, roots)
        }
        Err(error) => Err(error),
    }
}

fn remember_partitions(parts: &mut Parts, data_folder: &Path, topics: &Path) -> Result<()> {
    for topic in folders(&data_folder.join(topics))? {
        parts.folders.extend(
            folders(&data_folder.join(topics).join(&topic))?
                .iter()
                .map(|folder| topics.join(&topic).join(folder)),
        );
        parts.folders.insert(topics.join(topic));
    }
    Ok(())
}

/// Goes on without these folders.
pub fn forget(data_folder: &Path, missing: &[PathBuf]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let mut parts = read(data_folder)?;
    parts.folders.retain(|folder| {
        !missing
            .iter()
            .any(|gone| data_folder.join(folder).starts_with(gone))
    });
    write(data_folder, &parts)
}

/// How often the log was repaired. What is in the index may be gone from the log since: whether a
/// document is unchanged says nothing of that.
pub fn log_repairs(data_folder: &Path) -> Result<u32> {
    Ok(read(data_folder)?.log_repairs)
}

/// Records were taken out of the log.
pub fn note_log_repair(data_folder: &Path) -> Result<()> {
    let mut parts = read(data_folder)?;
    parts.log_repairs += 1;
    write(data_folder, &parts)
}

/// Names of folders in a folder; none where it is not there.
fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed =
        |error: std::io::Error| Error::io(format_args!("cannot list {}", folder.display()), &error);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries: Vec<_> = std::fs::read_dir(folder)
        .and_then(Iterator::collect)
        .map_err(failed)?;
    Ok(entries
        .iter()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| PathBuf::from(entry.file_name()))
        .collect())
}

/// None are known of a data folder of before: what is there then is remembered.
fn read(data_folder: &Path) -> Result<Parts> {
    let copy = || read_file(&data_folder.join(COPY));
    match read_file(&data_folder.join(MEMORY)) {
        Ok(Some(parts)) => Ok(parts),
        Ok(None) => Ok(copy()?.unwrap_or_default()),
        Err(error) if error.kind() == ErrorKind::Corrupt => copy().ok().flatten().ok_or(error),
        Err(error) => Err(error),
    }
}

/// `None` where it is not there.
fn read_file(path: &Path) -> Result<Option<Parts>> {
    let json = match tributary_schemas::files::read(path) {
        Ok(json) => json,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Error::io(
                format_args!("cannot read {}", path.display()),
                &error,
            ));
        }
    };
    let damaged = |what: String| {
        Error::new(ErrorKind::Corrupt, format!("{} is damaged: {what}", path.display())).with_hint(
            "it says which folders must be there: if log and index are in their places, `tributary repair` writes it anew",
        )
    };
    let parts: Parts = serde_json::from_slice(&json).map_err(|error| damaged(error.to_string()))?;
    if !parts.checksum.is_empty() && parts.checksum != parts.checksum() {
        return Err(damaged(
            "its content does not match its checksum".to_owned(),
        ));
    }
    if parts.format > FORMAT {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "{} has format {}, this build reads format {FORMAT}",
                path.display(),
                parts.format
            ),
        )
        .with_hint("a newer build wrote it: use that one"));
    }
    Ok(Some(parts))
}

fn write(data_folder: &Path, parts: &Parts) -> Result<()> {
    let json = serde_json::to_vec_pretty(&Parts {
        format: FORMAT,
        folders: parts.folders.clone(),
        log_repairs: parts.log_repairs,
        checksum: parts.checksum(),
    })
    .map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot encode {MEMORY}: {error}"),
        )
    })?;
    // The one that is read first is the last one to change: it is never newer than the other.
    replace_file(&data_folder.join(COPY), &json)?;
    replace_file(&data_folder.join(MEMORY), &json)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_was_made_is_missed_and_named_once_until_it_is_forgotten() {
        let data = tempfile::tempdir().unwrap();
        let topic = data.path().join("log/topics/t");
        for made in [
            topic.join("0"),
            topic.join("groups"),
            data.path().join("index/generations"),
        ] {
            std::fs::create_dir_all(made).unwrap();
        }
        remember(data.path(), &["log", "index"]).unwrap();
        check(data.path(), &["log", "index"]).unwrap();
        std::fs::remove_dir_all(topic.join("0")).unwrap();
        assert_eq!(
            missing(data.path(), &["log", "index"]).unwrap(),
            [topic.join("0")]
        );
        // The empty place of a volume.
        std::fs::remove_dir_all(data.path().join("index/generations")).unwrap();
        assert_eq!(
            missing(data.path(), &["index"]).unwrap(),
            [data.path().join("index/generations")]
        );
        std::fs::remove_dir_all(data.path().join("log")).unwrap();
        std::fs::remove_dir_all(data.path().join("index")).unwrap();
        let gone = ["index", "log"].map(|part| data.path().join(part));
        assert_eq!(missing(data.path(), &["log", "index"]).unwrap(), gone);
        // What is not embedded any more is nobody's to miss.
        assert_eq!(missing(data.path(), &["index"]).unwrap(), gone[..1]);
        let error = check(data.path(), &["log", "index"]).unwrap_err();
        assert!(
            error.hint().is_some() && error.to_string().contains("index is gone"),
            "{error}"
        );
        forget(data.path(), &gone).unwrap();
        check(data.path(), &["log", "index"]).unwrap();
        std::fs::write(
            data.path().join(MEMORY),
            "{\"format\": 99, \"folders\": []}",
        )
        .unwrap();
        assert_eq!(
            check(data.path(), &["log"]).unwrap_err().kind(),
            ErrorKind::Unsupported
        );
    }

    #[test]
    fn one_file_stands_for_the_other_and_both_are_written_again() {
        let data = tempfile::tempdir().unwrap();
        let roots = ["log"];
        std::fs::create_dir_all(data.path().join("log/topics/t/0")).unwrap();
        remember(data.path(), &roots).unwrap();
        note_log_repair(data.path()).unwrap();
        let [memory, copy] = [MEMORY, COPY].map(|name| data.path().join(name));
        let whole = std::fs::read(&memory).unwrap();
        let other_name = String::from_utf8(whole.clone())
            .unwrap()
            .replace("t/0", "t/1");
        for damage in ["{\"format\": 1, \"fol".to_owned(), other_name] {
            for file in [&memory, &copy] {
                std::fs::write(file, &damage).unwrap();
                assert_eq!(damaged(data.path()).unwrap(), std::slice::from_ref(file));
                check(data.path(), &roots).unwrap();
                assert_eq!(log_repairs(data.path()).unwrap(), 1);
                remember(data.path(), &roots).unwrap();
                assert_eq!(std::fs::read(file).unwrap(), whole, "a start mends it");
            }
            std::fs::write(&memory, &damage).unwrap();
            std::fs::write(&copy, &damage).unwrap();
            let error = check(data.path(), &roots).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            mend(data.path(), &roots).unwrap();
            assert!(damaged(data.path()).unwrap().is_empty());
            std::fs::rename(data.path().join("log/topics/t/0"), data.path().join("0")).unwrap();
            assert!(check(data.path(), &roots).is_err(), "it is missed again");
            std::fs::rename(data.path().join("0"), data.path().join("log/topics/t/0")).unwrap();
        }
        std::fs::remove_file(&memory).unwrap();
        assert_eq!(damaged(data.path()).unwrap(), std::slice::from_ref(&memory));
        std::fs::remove_file(&copy).unwrap();
        assert!(
            damaged(data.path()).unwrap().is_empty(),
            "a folder of before"
        );
        let old = "{\"format\": 1, \"folders\": [\"log\", \"log/topics\", \"log/topics/t\", \"log/topics/t/0\"]}";
        std::fs::write(&memory, old).unwrap();
        assert!(
            damaged(data.path()).unwrap().is_empty(),
            "nor one of before the copy"
        );
        remember(data.path(), &roots).unwrap();
        assert!(copy.exists(), "a start makes the copy");
    }
}
