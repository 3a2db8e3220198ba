//! The file in which results are kept: JSON Lines, each written whole and flushed. What a process that
//! died left behind of its last line is cut off, and lines that failed are tried again.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tributary_schemas::files;

use super::Line;

/// A file of results.
pub struct Kept {
    path: PathBuf,
    file: File,
    /// The file before lines of it went: who opened it before that finds it locked.
    _before: Option<File>,
    /// Lines that were judged.
    pub known: Vec<Line>,
    /// Whether a question changed, so that its line has a result from before too.
    has_stale: bool,
}

impl Kept {
    /// Opens or makes the file, for this process alone. One that holds anything else is not touched.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = || format!("cannot open {}", path.display());
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = files::open_with(&options, path).with_context(failed)?;
        lock(&file, path)?;
        let mut before = None;
        let text = files::read_data(path).with_context(failed)?;
        let whole = text
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let known = read(path, text.get(..whole).unwrap_or_default())?;
        if whole == 0 && !text.is_empty() && !text.starts_with(b"{\"line\":") {
            return Err(other(path, 1));
        }
        let again = written(&known)?;
        if again != text {
            replace(path, &again)?;
            let newer = OpenOptions::new().write(true).open(path);
            before = Some(std::mem::replace(&mut file, newer.with_context(failed)?));
            lock(&file, path)?;
        }
        file.seek(SeekFrom::End(0)).with_context(failed)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            _before: before,
            known,
            has_stale: false,
        })
    }

    /// Adds a result.
    pub fn add(&mut self, line: &Line) -> Result<()> {
        self.has_stale |= self.known.iter().any(|known| known.line == line.line);
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let written = self.file.write_all(&text).and_then(|()| self.file.flush());
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// All that was to be judged is: results of questions that changed go, and the newest of each line
    /// stays, whether it was judged or failed.
    pub fn settle(self) -> Result<()> {
        if !self.has_stale {
            return Ok(());
        }
        let text = files::read_data(&self.path);
        let text = text.with_context(|| format!("cannot open {}", self.path.display()))?;
        replace(&self.path, &written(&newest(&self.path, &text)?)?)
    }
}

fn lock(file: &File, path: &Path) -> Result<()> {
    if file.try_lock().is_err() {
        bail!(
            "another process adds to {}\nhint: wait for it, or name another file with -o",
            path.display()
        );
    }
    Ok(())
}

/// The lines that were judged, the newest result of each.
fn read(path: &Path, text: &[u8]) -> Result<Vec<Line>> {
    let mut known = newest(path, text)?;
    known.retain(|line| line.judgement.is_some());
    Ok(known)
}

fn written(lines: &[Line]) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut text, line)?;
        text.push(b'\n');
    }
    Ok(text)
}

/// The newest result of each line.
fn newest(path: &Path, text: &[u8]) -> Result<Vec<Line>> {
    let Ok(text) = std::str::from_utf8(text) else {
        bail!(
            "{} is not UTF-8\nhint: name another file with -o",
            path.display()
        );
    };
    let mut known: Vec<Line> = Vec::new();
    for (number, text) in (1..).zip(text.lines()) {
        let line: Line = serde_json::from_str(text).map_err(|_| other(path, number))?;
        known.retain(|before| before.line != line.line);
        known.push(line);
    }
    Ok(known)
}

fn other(path: &Path, number: usize) -> anyhow::Error {
    anyhow::anyhow!(
        "line {number} of {} is no result of `judge`, so nothing is added to it\nhint: name another file with -o",
        path.display()
    )
}

/// The old file or the new one is there, never half of one.
fn replace(path: &Path, text: &[u8]) -> Result<()> {
    let part = PathBuf::from(format!("{}.part", path.display()));
    let failed = || format!("cannot write {}", path.display());
    std::fs::write(&part, text).with_context(failed)?;
    std::fs::rename(&part, path).with_context(failed)
}
