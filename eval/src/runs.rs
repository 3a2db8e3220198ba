//! Runs that are kept: a folder with one JSON file per run, `<id>.json`, whose `format` is 1.
//!
//! A file holds what it was run with, the report, and each case. It is written beside its place and
//! then moved there, so that a run is there as a whole or not at all.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::diagnosis::CaseRecord;
use crate::runner::Report;

/// Format of the files.
pub const FORMAT: u32 = 1;

/// A run as it is kept.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredRun {
    /// [`FORMAT`].
    pub format: u32,
    /// Name of the run: when it was, and of which set.
    pub id: String,
    /// Milliseconds since 1970 when it ended.
    pub at_ms: i64,
    /// File of questions.
    pub queries: String,
    /// What the run reported.
    pub report: Report,
    /// Each case.
    pub cases: Vec<CaseRecord>,
}

/// A run without its cases.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunSummary {
    /// See [`StoredRun`].
    pub format: u32,
    /// See [`StoredRun`].
    pub id: String,
    /// See [`StoredRun`].
    pub at_ms: i64,
    /// See [`StoredRun`].
    pub queries: String,
    /// See [`StoredRun`].
    pub report: Report,
}

/// What a folder holds.
#[derive(Debug, Default, Serialize)]
pub struct Listing {
    /// Newest first.
    pub runs: Vec<RunSummary>,
    /// Files that are no runs, each with the reason.
    pub left_out: Vec<String>,
}

#[derive(Deserialize)]
struct Format {
    format: u32,
}

/// The folder of runs.
pub struct RunStore {
    folder: PathBuf,
}

impl RunStore {
    /// In this folder, which need not exist yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Keeps a run under an id that no other has: `id`, or with a number behind it. Returns the
    /// run as it is kept, and its file.
    pub fn save(&self, mut run: StoredRun) -> Result<(StoredRun, PathBuf)> {
        let failed = || format!("cannot keep the run in {}", self.folder.display());
        fs::create_dir_all(&self.folder).with_context(failed)?;
        let wanted = file_name(&run.id);
        let draft = self
            .folder
            .join(format!(".{wanted}.{}", std::process::id()));
        for number in 1_u32.. {
            run.id = match number {
                1 => wanted.clone(),
                _ => format!("{wanted}-{number}"),
            };
            fs::write(&draft, serde_json::to_vec(&run)?).with_context(failed)?;
            let file = self.file(&run.id);
            // A link is not made over a file that is there.
            let linked = fs::hard_link(&draft, &file);
            fs::remove_file(&draft).with_context(failed)?;
            match linked {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                linked => return linked.with_context(failed).map(|()| (run, file)),
            }
        }
        bail!("no name is free for the run `{wanted}`")
    }

    /// All runs; none where there is no folder.
    pub fn list(&self) -> Result<Listing> {
        let mut listing = Listing::default();
        for file in self.files()? {
            match read(&file) {
                Ok(run) => listing.runs.push(run),
                Err(problem) => listing
                    .left_out
                    .push(format!("{}: {problem:#}", file.display())),
            }
        }
        let newest_first = |run: &RunSummary| (std::cmp::Reverse(run.at_ms), run.id.clone());
        listing.runs.sort_by_key(newest_first);
        Ok(listing)
    }

    /// A run by its id, by the beginning of it if only one begins so, or by its file.
    pub fn load(&self, name: &str) -> Result<StoredRun> {
        let exact = self.file(name);
        let file = match (exact.is_file(), Path::new(name).is_file()) {
            (true, _) => exact,
            (false, true) => PathBuf::from(name),
            (false, false) => self.beginning_with(name)?,
        };
        read(&file).with_context(|| format!("cannot read the run {}", file.display()))
    }

    fn beginning_with(&self, name: &str) -> Result<PathBuf> {
        let begins = |file: &PathBuf| {
            let stem = file.file_stem().map(|stem| stem.to_string_lossy());
            stem.is_some_and(|stem| stem.starts_with(name))
        };
        let mut found: Vec<PathBuf> = self.files()?.into_iter().filter(begins).collect();
        let count = found.len();
        match found.pop() {
            Some(file) if count == 1 => Ok(file),
            Some(_) => bail!("{count} runs begin with `{name}`; write more of the name"),
            None => bail!(
                "there is no run `{name}` in {}; `tributary eval runs` lists them",
                self.folder.display()
            ),
        }
    }

    fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    fn files(&self) -> Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.with_context(|| format!("cannot read {}", self.folder.display()))?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }
}

/// The format is looked at first: another one need not have the same fields.
fn read<T: for<'a> Deserialize<'a>>(file: &Path) -> Result<T> {
    let bytes = fs::read(file)?;
    let Format { format } = serde_json::from_slice(&bytes).context("it is no run")?;
    ensure!(
        format == FORMAT,
        "its format is {format}, this program reads {FORMAT}"
    );
    Ok(serde_json::from_slice(&bytes)?)
}

/// A name that every file system takes.
fn file_name(id: &str) -> String {
    let is_plain = |sign: char| sign.is_alphanumeric() || matches!(sign, '-' | '_');
    let plain = |sign| if is_plain(sign) { sign } else { '-' };
    id.chars().map(plain).take(60).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::compare::tests::run;

    #[test]
    fn runs_are_kept_beside_each_other_and_found_by_what_names_them() {
        let folder = tempfile::tempdir().unwrap();
        let store = RunStore::new(folder.path().join("evaluations"));
        assert!(store.list().unwrap().runs.is_empty(), "no folder yet");
        let save = |ndcg| {
            store
                .save(run("20261125-1 网络/x", &[("q", ndcg)]))
                .unwrap()
        };
        let (StoredRun { id: first, .. }, file) = save(1.0);
        let (StoredRun { id: second, .. }, _) = save(0.5);
        assert_eq!(first, "20261125-1-网络-x");
        assert_eq!(second, "20261125-1-网络-x-2");
        assert_eq!(store.list().unwrap().runs.len(), 2);
        let loaded = store.load(&first).unwrap();
        assert_eq!(loaded.cases, run("", &[("q", 1.0)]).cases);
        assert_eq!(store.load(file.to_str().unwrap()).unwrap().id, first);
        assert_eq!(store.load("20261125-1-网络-x-").unwrap().id, second);
        let said = |name: &str| store.load(name).unwrap_err().to_string();
        assert!(said("20261").contains("2 runs begin"));
        assert!(said("none").contains("eval runs"));
    }

    #[test]
    fn what_is_no_run_or_of_another_format_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = RunStore::new(folder.path().to_owned());
        fs::write(folder.path().join("new.json"), "{\"format\": 2}").unwrap();
        fs::write(folder.path().join("odd.json"), "[]").unwrap();
        let left_out = store.list().unwrap().left_out.join("\n");
        assert!(left_out.contains("format is 2") && left_out.contains("odd.json: it is no run"));
        let error = format!("{:#}", store.load("new").unwrap_err());
        assert!(error.contains("format is 2"), "{error}");
    }
}
