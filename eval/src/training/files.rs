//! Files of JSON lines. What is added is written as whole lines and flushed, so that a process that
//! dies loses at most the line that it was writing; what is written anew replaces the old by a
//! rename.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tributary_schemas::files;

/// All passages that were read.
pub const PASSAGES: &str = "passages.jsonl";
/// Questions as they came.
pub const PAIRS: &str = "pairs.jsonl";
/// Passages without questions.
pub const FAILURES: &str = "failures.jsonl";
/// Questions that are kept.
pub const CLEAN: &str = "clean.jsonl";
/// Questions that are not.
pub const DROPPED: &str = "dropped.jsonl";

/// A file that lines are added to.
pub struct Appended<T> {
    path: PathBuf,
    file: File,
    lines: PhantomData<T>,
}

impl<T: Serialize + DeserializeOwned> Appended<T> {
    /// Opens or makes a file, and gives what is in it. A last line that was not finished is cut
    /// off; a file with anything else in it, or that another process adds to, is refused and left as
    /// it is.
    pub fn open(path: &Path) -> Result<(Self, Vec<T>)> {
        let failed = || format!("cannot open {}", path.display());
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = files::open_with(&options, path).with_context(failed)?;
        if file.try_lock().is_err() {
            bail!("another process adds to {}", path.display());
        }
        let text = files::read_data(path).with_context(failed)?;
        let last = text.iter().rposition(|byte| *byte == b'\n');
        let whole = last.map_or(0, |at| at + 1);
        let known = parse(path, text.get(..whole).unwrap_or_default())?;
        file.set_len(whole as u64).with_context(failed)?;
        file.seek(SeekFrom::End(0)).with_context(failed)?;
        let appended = Self {
            path: path.to_owned(),
            file,
            lines: PhantomData,
        };
        Ok((appended, known))
    }

    /// Adds objects, all in one write.
    pub fn add(&mut self, objects: &[T]) -> Result<()> {
        let mut text = Vec::new();
        for object in objects {
            serde_json::to_writer(&mut text, object)?;
            text.push(b'\n');
        }
        let written = self.file.write_all(&text).and_then(|()| self.file.flush());
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// All objects of a file. Fails with the number of a line that is none.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = files::read_data(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(path, &text)
}

fn parse<T: DeserializeOwned>(path: &Path, text: &[u8]) -> Result<Vec<T>> {
    let mut objects = Vec::new();
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(object) => objects.push(object),
            Err(error) => bail!("{} line {number}: {error}", path.display()),
        }
    }
    Ok(objects)
}

/// Replaces a file: the old one or the new one is there, never half of one.
pub fn write<T: Serialize>(path: &Path, objects: impl IntoIterator<Item = T>) -> Result<()> {
    let part = PathBuf::from(format!("{}.part", path.display()));
    let failed = || format!("cannot write {}", path.display());
    let mut file = BufWriter::new(File::create(&part).with_context(failed)?);
    for object in objects {
        serde_json::to_writer(&mut file, &object)?;
        file.write_all(b"\n").with_context(failed)?;
    }
    let file = file
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error);
    file.and_then(|file| file.sync_all()).with_context(failed)?;
    std::fs::rename(&part, path).with_context(failed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_not_finished_is_cut_off_and_the_rest_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers.jsonl");
        let (mut numbers, known) = Appended::<u32>::open(&path).unwrap();
        assert!(known.is_empty());
        numbers.add(&[1, 2]).unwrap();
        drop(numbers);
        std::fs::write(&path, "1\n2\n3").unwrap();
        let (mut numbers, known) = Appended::<u32>::open(&path).unwrap();
        assert_eq!(known, [1, 2]);
        numbers.add(&[4]).unwrap();
        assert_eq!(read::<u32>(&path).unwrap(), [1, 2, 4]);
    }

    #[test]
    fn a_file_of_something_else_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "1\nmy notes\nno end").unwrap();
        let error = Appended::<u32>::open(&path).err().unwrap().to_string();
        assert!(error.contains("notes.txt line 2: "), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"1\nmy notes\nno end");
    }
}
