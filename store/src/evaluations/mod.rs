//! Runs of evaluations that are kept: a folder with one JSON file per run, `<id>.json`, whose
//! `format` is 1. `tributary eval` writes them, the server shows them.
//!
//! A file holds what it was run with, the report, and each case. It is written beside its place and
//! then moved there, so that a run is there as a whole or not at all. [`compare`] puts two runs beside
//! each other.

pub mod chance;
mod compare;
pub mod statistics;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tributary_schemas::evaluation::{FORMAT, RunSummary, StoredRun};
use tributary_schemas::{Error, ErrorKind, Result};

pub use compare::compare;

/// Folder of runs in the data folder.
pub const FOLDER: &str = "evaluations";

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
#[derive(Clone, Debug)]
pub struct RunStore {
    folder: PathBuf,
}

impl RunStore {
    /// In this folder, which need not exist yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Makes the folder, and sees that a run can be kept in it.
    pub fn prepare(&self) -> Result<()> {
        let failed = |error: io::Error| {
            let folder = self.folder.display();
            Error::io(format!("no run can be kept in {folder}"), &error)
        };
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let tried = self.folder.join(format!(".try.{}", std::process::id()));
        fs::write(&tried, []).map_err(failed)?;
        fs::remove_file(&tried).map_err(failed)
    }

    /// Keeps a run under an id that no other has: `id`, or with a number behind it. Returns the
    /// run as it is kept, and its file.
    pub fn save(&self, mut run: StoredRun) -> Result<(StoredRun, PathBuf)> {
        let failed = |error: io::Error| {
            let folder = self.folder.display();
            Error::io(format!("cannot keep the run in {folder}"), &error)
        };
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let wanted = file_name(&run.id);
        let draft = self
            .folder
            .join(format!(".{wanted}.{}", std::process::id()));
        for number in 1_u32.. {
            run.id = match number {
                1 => wanted.clone(),
                _ => format!("{wanted}-{number}"),
            };
            let bytes = serde_json::to_vec(&run).map_err(|error| failed(error.into()))?;
            fs::write(&draft, bytes).map_err(failed)?;
            let file = self.file(&run.id);
            // A link is not made over a file that is there.
            let linked = fs::hard_link(&draft, &file);
            fs::remove_file(&draft).map_err(failed)?;
            match linked {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                linked => return linked.map_err(failed).map(|()| (run, file)),
            }
        }
        let message = format!("no name is free for the run `{wanted}`");
        Err(Error::new(ErrorKind::Conflict, message))
    }

    /// All runs; none where there is no folder.
    pub fn list(&self) -> Result<Listing> {
        let mut listing = Listing::default();
        for file in self.files()? {
            match read(&file) {
                Ok(run) => listing.runs.push(run),
                Err(problem) => listing.left_out.push(problem.to_string()),
            }
        }
        let newest_first = |run: &RunSummary| (std::cmp::Reverse(run.at_ms), run.id.clone());
        listing.runs.sort_by_key(newest_first);
        Ok(listing)
    }

    /// A run by its id, by the beginning of it if only one begins so, or by its file.
    pub fn load(&self, name: &str) -> Result<StoredRun> {
        let exact = self.file(name);
        match (exact.is_file(), Path::new(name).is_file()) {
            (true, _) => read(&exact),
            (false, true) => read(Path::new(name)),
            (false, false) => read(&self.beginning_with(name)?),
        }
    }

    /// A run of this folder by its whole id, for callers who may name no other file. `NotFound`
    /// where there is none, `Corrupt` where its file is no run.
    pub fn get(&self, id: &str) -> Result<StoredRun> {
        let file = self.file(id);
        if file_name(id) == id && file.is_file() {
            return read(&file);
        }
        let message = format!("there is no run `{id}`");
        Err(Error::new(ErrorKind::NotFound, message)
            .with_hint("GET /v1/evaluations lists them; `tributary eval run` makes one"))
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
            Some(_) => {
                let message = format!("{count} runs begin with `{name}`; write more of the name");
                Err(Error::new(ErrorKind::Invalid, message))
            }
            None => {
                let folder = self.folder.display();
                let message = format!(
                    "there is no run `{name}` in {folder}; `tributary eval runs` lists them"
                );
                Err(Error::new(ErrorKind::NotFound, message))
            }
        }
    }

    fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    fn files(&self) -> Result<Vec<PathBuf>> {
        let failed = |error: io::Error| {
            let folder = self.folder.display();
            Error::io(format!("cannot read {folder}"), &error)
        };
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed)?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
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

/// The format is looked at first: another one need not have the same fields. Whatever is wrong with
/// a file, it is `Corrupt`.
fn read<T: for<'a> Deserialize<'a>>(file: &Path) -> Result<T> {
    let unreadable = |why: String| {
        let message = format!("cannot read the run {}: {why}", file.display());
        Error::new(ErrorKind::Corrupt, message)
    };
    let bytes = fs::read(file).map_err(|error| unreadable(error.to_string()))?;
    let Format { format } = serde_json::from_slice(&bytes)
        .map_err(|error| unreadable(format!("it is no run: {error}")))?;
    if format != FORMAT {
        let why = format!("its format is {format}, this program reads {FORMAT}");
        return Err(unreadable(why));
    }
    serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))
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
    use serde_json::json;

    use super::*;

    fn run(id: &str) -> StoredRun {
        let tier = json!({"recall": 1.0, "candidates": 1.0});
        let scores = json!({"recall@10": 1.0, "recall@20": 1.0, "mrr@10": 1.0, "ndcg@10": 1.0,
            "hit@1": 1.0, "hit@3": 1.0, "hit@5": 1.0, "hit@10": 1.0});
        let case = json!({"id": "q", "question": "?", "verdict": "none", "step": "fine",
            "targets": [], "hits": [], "scores": scores,
            "ranks": {"coarse": 1, "fine": null, "rerank": null, "hit": null}});
        let run = json!({
            "format": 1, "id": id, "at_ms": 0, "queries": "queries.jsonl", "cases": [case],
            "report": {
                "set": "s", "documents": 1, "queries": 1, "left_out": [], "latency_ms": {},
                "tiers": {"coarse": tier, "fine": tier, "final": scores}, "settings": {},
                "diagnosis": {"top_k": 20, "verdicts": {}, "steps": {}, "worst": [], "groups": {}},
                "ingest": {"seconds": 1.0, "documents_per_second": 1.0, "skipped": 0, "dead": 0},
            },
        });
        serde_json::from_value(run).unwrap()
    }

    #[test]
    fn runs_are_kept_beside_each_other_and_found_by_what_names_them() {
        let folder = tempfile::tempdir().unwrap();
        let store = RunStore::new(folder.path().join("evaluations"));
        assert!(store.list().unwrap().runs.is_empty(), "no folder yet");
        let save = || store.save(run("20261125-1 网络/x")).unwrap();
        let (StoredRun { id: first, .. }, file) = save();
        let (StoredRun { id: second, .. }, _) = save();
        assert_eq!(first, "20261125-1-网络-x");
        assert_eq!(second, "20261125-1-网络-x-2");
        assert_eq!(store.list().unwrap().runs.len(), 2);
        assert_eq!(store.load(&first).unwrap().cases, run("").cases);
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
        fs::create_dir(folder.path().join("folder.json")).unwrap();
        let left_out = store.list().unwrap().left_out;
        let names = |name: &str, why: &str| {
            let is_it = |said: &&String| said.contains(name) && said.contains(why);
            assert!(left_out.iter().any(|said| is_it(&said)), "{left_out:?}");
        };
        names("new.json", "format is 2");
        names("odd.json", "it is no run");
        names("folder.json", "");
        let error = store.load("new").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("format is 2"), "{error}");
    }

    #[test]
    fn by_its_whole_id_nothing_outside_the_folder_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let store = RunStore::new(folder.path().join("evaluations"));
        let (kept, file) = store.save(run("one")).unwrap();
        fs::copy(&file, folder.path().join("outside.json")).unwrap();
        assert_eq!(store.get("one").unwrap().id, kept.id);
        for name in ["on", "../outside", "two", "", file.to_str().unwrap()] {
            let error = store.get(name).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{name}");
        }
    }
}
