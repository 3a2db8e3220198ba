//! Files of candidates and of verdicts.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use tributary_schemas::{Error, ErrorKind};
use tributary_taxonomy::discovery::{Candidate, Verdict, Verdicts};

/// Name of the file of verdicts beside the candidates.
const VERDICTS: &str = "verdicts.jsonl";

/// The text of a file, without the byte order mark that some editors put first.
pub fn text(file: &Path) -> Result<String> {
    let read = fs::read_to_string(file);
    let mut text = read.with_context(|| format!("cannot read {}", file.display()))?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// Refuses an output that would replace one of the files that are read.
pub fn refuse_input<'a>(
    output: &Path,
    inputs: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<()> {
    let Ok(place) = output.canonicalize() else {
        return Ok(());
    };
    for input in inputs {
        let is_same = input.canonicalize().is_ok_and(|input| input == place);
        ensure!(
            !is_same,
            "--output {} is a file that is read, and would be replaced\nhint: name another file",
            output.display()
        );
    }
    Ok(())
}

/// Reads a file of candidates.
pub fn candidates(file: &Path) -> Result<Vec<Candidate>> {
    let name = file.display();
    let text = text(file)?;
    let mut candidates = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let read = serde_json::from_str(line).map_err(|error| {
            let message = format!("{name} line {}: {error}", index + 1);
            let error = Error::new(ErrorKind::Invalid, message);
            error.with_hint("candidates are what `tributary lexicon discover --output FILE` wrote")
        })?;
        candidates.push(read);
    }
    if candidates.is_empty() {
        bail!(
            "{name} has no candidates\nhint: `tributary lexicon discover --output {name}` writes them"
        );
    }
    Ok(candidates)
}

/// Where verdicts on candidates are kept unless told otherwise.
pub fn verdicts_beside(candidates: &Path) -> PathBuf {
    candidates.with_file_name(VERDICTS)
}

/// Reads files of verdicts, one after the other.
pub fn verdicts(files: &[PathBuf]) -> Result<Verdicts> {
    let mut verdicts = Verdicts::default();
    for file in files {
        let name = file.display().to_string();
        verdicts.read(&name, &text(file)?)?;
    }
    Ok(verdicts)
}

/// Writes lines of JSON; the file is whole or as it was.
pub fn write_lines<T: Serialize>(file: &Path, lines: &[T]) -> Result<()> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&serde_json::to_string(line)?);
        text.push('\n');
    }
    write(file, &text)
}

/// Writes a file, which is whole or as it was.
pub fn write(file: &Path, text: &str) -> Result<()> {
    let failed = || format!("cannot write {}", file.display());
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(failed)?;
    }
    let mut name = file.file_name().with_context(failed)?.to_owned();
    name.push(".part");
    let part = file.with_file_name(name);
    let mut written = File::create(&part).with_context(failed)?;
    written.write_all(text.as_bytes()).with_context(failed)?;
    written.sync_all().with_context(failed)?;
    fs::rename(&part, file).with_context(failed)
}

/// A file of verdicts that grows: a verdict is on the disk before the next is asked for.
pub struct Kept {
    file: File,
    name: String,
}

impl Kept {
    /// Opens or creates it.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let failed = || format!("cannot open {name}");
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(failed)?;
        }
        let opened = OpenOptions::new().create(true).append(true).open(path);
        let file = opened.with_context(failed)?;
        Ok(Self { file, name })
    }

    /// Adds verdicts.
    pub fn add(&mut self, verdicts: &[Verdict]) -> Result<()> {
        let mut lines = String::new();
        for verdict in verdicts {
            lines.push_str(&serde_json::to_string(verdict)?);
            lines.push('\n');
        }
        let failed = || format!("cannot write {}", self.name);
        self.file.write_all(lines.as_bytes()).with_context(failed)?;
        self.file.sync_data().with_context(failed)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_text_and_an_input_is_no_output() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let line =
            "{\"term\": \"页表\", \"decision\": \"yes\", \"reviewer\": \"a\", \"at_ms\": 1}\n";
        fs::write(path("v.jsonl"), format!("\u{feff}{line}")).unwrap();
        assert_eq!(text(&path("v.jsonl")).unwrap(), line);
        assert_eq!(verdicts(&[path("v.jsonl")]).unwrap().total(), 1);
        let inputs = [path("nowhere"), path("v.jsonl")];
        let around = folder.path().join(".").join("v.jsonl");
        assert!(refuse_input(&around, &inputs).is_err());
        assert!(refuse_input(&path("nowhere"), &inputs).is_ok());
    }
}
