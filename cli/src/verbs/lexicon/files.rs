//! Files of candidates and of verdicts.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;
use tributary_schemas::ErrorKind;
use tributary_taxonomy::discovery::Candidate;
use tributary_taxonomy::discovery::files::{CANDIDATES, FOLDER, read_candidates};

use crate::config::Config;

/// The file of candidates that is meant: the one that is named, or that of the data folder, which
/// the server shows.
pub fn candidates_file(config: &Config, named: Option<&PathBuf>) -> PathBuf {
    let folder = Path::new(&config.store.data_folder).join(FOLDER);
    named.cloned().unwrap_or_else(|| folder.join(CANDIDATES))
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

/// Reads a file of candidates that must have some.
pub fn candidates(file: &Path) -> Result<Vec<Candidate>> {
    let hint = "`tributary lexicon discover` finds candidates, and writes them where this verb looks unless a file is named";
    let candidates = match read_candidates(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(error.with_hint(hint).into());
        }
        read => read?,
    };
    ensure!(
        !candidates.is_empty(),
        "{} has no candidates\nhint: {hint}",
        file.display()
    );
    Ok(candidates)
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
    let there = fs::symlink_metadata(file).ok();
    if there.is_some_and(|there| !there.is_file()) {
        bail!(
            "{} is no file, and would be replaced by one\nhint: name another file",
            file.display()
        );
    }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_files_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        write(&path("list.txt"), "one").unwrap();
        write(&path("list.txt"), "two").unwrap();
        std::os::unix::fs::symlink(path("list.txt"), path("link")).unwrap();
        for other in [path("link"), folder.path().to_owned(), "/dev/null".into()] {
            let refused = write(&other, "three").unwrap_err().to_string();
            assert!(refused.contains("is no file"), "{refused}");
        }
        assert_eq!(fs::read_to_string(path("list.txt")).unwrap(), "two");
    }

    #[test]
    fn an_input_is_no_output() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("v.jsonl"), "").unwrap();
        let inputs = [path("nowhere"), path("v.jsonl")];
        let around = folder.path().join(".").join("v.jsonl");
        assert!(refuse_input(&around, &inputs).is_err());
        assert!(refuse_input(&path("nowhere"), &inputs).is_ok());
    }
}
