//! Searches that found nothing, or nothing that seems to answer them: questions that may become
//! cases of an evaluation. They are kept by owner, each question once, so many and so long as the
//! operator says, in a file of the data folder that only its owner may read.
//!
//! The file has a line of JSON for each miss, the last one of a question stands; it is written anew
//! when it has twice as many lines as there are questions.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::mem;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tributary_schemas::{Error, Result};

/// Name of the file in the data folder.
pub const FILE: &str = "missed-searches.jsonl";
/// Digits of the id of a question.
const ID_DIGITS: usize = 16;
/// Lines up to which a file is not written anew.
const FEW_LINES: usize = 200;
const DAY_MS: i64 = 24 * 3600 * 1000;

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Questions of all owners together, those that were asked last; who has most gives way first,
    /// and 0 keeps none.
    pub maximum: usize,
    /// Days since it was asked last at which a question is forgotten; 0 keeps it.
    pub retention_days: u32,
}

/// A question that was not answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MissedSearch {
    /// The same for the same question of the same owner.
    pub id: String,
    /// Whose it is; `None` for the owner of the data folder.
    pub owner: Option<String>,
    /// As asked.
    pub query: String,
    /// Milliseconds since 1970 when it was asked last.
    pub at_ms: i64,
    /// How often it was asked without an answer.
    pub times: u64,
    /// Relevance of the best hit; none where nothing was found.
    pub relevance: Option<f32>,
}

/// A search that was just missed.
#[derive(Clone, Debug)]
pub struct Miss {
    /// Whose it is.
    pub owner: Option<String>,
    /// As asked.
    pub query: String,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// Relevance of the best hit; none where nothing was found.
    pub relevance: Option<f32>,
}

/// The file. Its calls block.
pub struct MissedSearches {
    path: PathBuf,
    config: Config,
    kept: Mutex<Option<Kept>>,
}

/// What the file holds.
#[derive(Default)]
struct Kept {
    by_id: BTreeMap<String, MissedSearch>,
    lines: usize,
    /// The last line has no end, as a write leaves it that found the disk full.
    ends_torn: bool,
}

impl MissedSearches {
    /// In this data folder, which need not exist yet.
    pub fn in_folder(folder: &Path, config: Config) -> Self {
        Self {
            path: folder.join(FILE),
            config,
            kept: Mutex::default(),
        }
    }

    /// Whether any are kept.
    pub fn keeps(&self) -> bool {
        self.config.maximum > 0
    }

    /// Keeps a miss. Nothing where none are kept.
    pub fn note(&self, miss: Miss) -> Result<()> {
        if !self.keeps() {
            return Ok(());
        }
        let mut guard = self.lock();
        let kept = self.read(&mut guard)?;
        let now_ms = miss.at_ms;
        let missed = kept.with(miss);
        self.append(&missed, kept)?;
        kept.lines += 1;
        kept.by_id.insert(missed.id.clone(), missed);
        let is_changed = kept.forget_old(self.config, now_ms);
        match is_changed || kept.lines > FEW_LINES.max(2 * kept.by_id.len()) {
            true => self.rewrite(kept),
            false => Ok(()),
        }
    }

    /// Those of an owner, the one that was asked last first.
    pub fn list(&self, owner: Option<&str>, now_ms: i64) -> Result<Vec<MissedSearch>> {
        let mut guard = self.lock();
        let kept = self.read(&mut guard)?;
        if kept.forget_old(self.config, now_ms) {
            self.rewrite(kept)?;
        }
        let of_owner = kept
            .by_id
            .values()
            .filter(|one| one.owner.as_deref() == owner);
        let mut list: Vec<MissedSearch> = of_owner.cloned().collect();
        list.sort_by(|one, other| other.at_ms.cmp(&one.at_ms).then(one.id.cmp(&other.id)));
        Ok(list)
    }

    /// Forgets all of an owner, for good. Gives how many.
    pub fn forget(&self, owner: Option<&str>) -> Result<usize> {
        let mut guard = self.lock();
        let kept = self.read(&mut guard)?;
        let before = kept.by_id.len();
        kept.by_id.retain(|_, one| one.owner.as_deref() != owner);
        let forgotten = before - kept.by_id.len();
        if forgotten > 0 {
            self.rewrite(kept)?;
        }
        Ok(forgotten)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept, from the file at the first call. Lines that were torn by a crash are nothing.
    fn read<'a>(&self, kept: &'a mut Option<Kept>) -> Result<&'a mut Kept> {
        if let Some(known) = kept {
            return Ok(known);
        }
        let content = match tributary_schemas::files::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            content => content.map_err(|error| failed(&error))?,
        };
        let mut found = Kept {
            ends_torn: content.last().is_some_and(|last| *last != b'\n'),
            ..Kept::default()
        };
        for line in content.split(|byte| *byte == b'\n') {
            found.lines += 1;
            if let Ok(missed) = serde_json::from_slice::<MissedSearch>(line) {
                found.by_id.insert(missed.id.clone(), missed);
            }
        }
        Ok(kept.insert(found))
    }

    fn append(&self, missed: &MissedSearch, kept: &mut Kept) -> Result<()> {
        let file = private().append(true).open(&self.path);
        let mut file = file.map_err(|error| failed(&error))?;
        let before = if kept.ends_torn { "\n" } else { "" };
        let line = format!("{before}{}", line_of(missed)?);
        let written = file.write_all(line.as_bytes());
        kept.ends_torn = written.is_err();
        written.map_err(|error| failed(&error))
    }

    /// Writes what is kept into a file that takes the place of the old one.
    fn rewrite(&self, kept: &mut Kept) -> Result<()> {
        let lines: Result<String> = kept.by_id.values().map(line_of).collect();
        let draft = self.path.with_extension("part");
        let text = lines?;
        let write = || -> io::Result<()> {
            let mut file: File = private().write(true).truncate(true).open(&draft)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&draft, &self.path)
        };
        write().map_err(|error| failed(&error))?;
        kept.lines = kept.by_id.len();
        kept.ends_torn = false;
        Ok(())
    }
}

impl Kept {
    /// A miss joined with what is known of the same question.
    fn with(&self, miss: Miss) -> MissedSearch {
        let id = id_of(miss.owner.as_deref(), &miss.query);
        MissedSearch {
            times: self.by_id.get(&id).map_or(0, |known| known.times) + 1,
            id,
            owner: miss.owner,
            query: miss.query,
            at_ms: miss.at_ms,
            relevance: miss.relevance,
        }
    }

    /// Forgets what is too old or too much. Says whether there was any.
    fn forget_old(&mut self, config: Config, now_ms: i64) -> bool {
        let before = self.by_id.len();
        if config.retention_days > 0 {
            let since = now_ms - i64::from(config.retention_days) * DAY_MS;
            self.by_id.retain(|_, one| one.at_ms >= since);
        }
        if self.by_id.len() > config.maximum {
            // A tenth at once: the file is not written anew for each question that is one too many.
            let left = config.maximum - config.maximum / 10;
            self.keep_newest(left);
        }
        self.by_id.len() < before
    }

    /// Keeps so many questions: of each owner the newest, and of none more than of another while
    /// that one has more.
    fn keep_newest(&mut self, left: usize) {
        let mut by_owner: BTreeMap<Option<String>, Vec<MissedSearch>> = BTreeMap::new();
        for one in mem::take(&mut self.by_id).into_values() {
            by_owner.entry(one.owner.clone()).or_default().push(one);
        }
        let mut owners: Vec<Vec<MissedSearch>> = by_owner.into_values().collect();
        owners.sort_by_key(Vec::len);
        let (mut left, mut waiting) = (left, owners.len());
        for mut questions in owners {
            questions.sort_unstable_by_key(|one| Reverse(one.at_ms));
            questions.truncate(left / waiting.max(1));
            left -= questions.len();
            waiting -= 1;
            let kept = questions.into_iter().map(|one| (one.id.clone(), one));
            self.by_id.extend(kept);
        }
    }
}

fn id_of(owner: Option<&str>, query: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(owner.unwrap_or_default().as_bytes());
    hasher.update(&[0]);
    hasher.update(query.as_bytes());
    hasher.finalize().to_hex().chars().take(ID_DIGITS).collect()
}

fn line_of(missed: &MissedSearch) -> Result<String> {
    let line = serde_json::to_string(missed).map_err(|error| failed(&error.into()))?;
    Ok(format!("{line}\n"))
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).mode(0o600);
    options
}

fn failed(error: &io::Error) -> Error {
    // Callers read it: where the data folder lies is not theirs to know.
    Error::io(format!("cannot keep searches in {FILE}"), error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const CONFIG: Config = Config {
        maximum: 3,
        retention_days: 1,
    };

    fn miss(owner: Option<&str>, query: &str, at_ms: i64) -> Miss {
        Miss {
            owner: owner.map(str::to_owned),
            query: query.to_owned(),
            at_ms,
            relevance: None,
        }
    }

    fn queries(missed: &MissedSearches, owner: Option<&str>, now_ms: i64) -> Vec<String> {
        let list = missed.list(owner, now_ms).unwrap();
        list.into_iter().map(|one| one.query).collect()
    }

    #[test]
    fn a_question_is_kept_once_for_its_owner_alone_and_survives() {
        let folder = tempfile::tempdir().unwrap();
        let missed = MissedSearches::in_folder(folder.path(), CONFIG);
        for (owner, query, at_ms) in [
            (None, "载波聚合", 1),
            (Some("k"), "载波聚合", 2),
            (None, "载波聚合", 3),
            (None, "tilt", 4),
        ] {
            missed.note(miss(owner, query, at_ms)).unwrap();
        }
        let again = MissedSearches::in_folder(folder.path(), CONFIG);
        assert_eq!(queries(&again, None, 5), ["tilt", "载波聚合"]);
        assert_eq!(queries(&again, Some("k"), 5), ["载波聚合"]);
        assert_eq!(again.list(None, 5).unwrap()[1].times, 2);
        assert!(queries(&again, Some("other"), 5).is_empty());
        let mode = fs::metadata(folder.path().join(FILE))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(again.forget(None).unwrap(), 2);
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert!(
            !text.contains("tilt") && text.contains("载波聚合"),
            "{text}"
        );
    }

    #[test]
    fn what_is_old_or_too_much_is_gone_from_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let missed = MissedSearches::in_folder(folder.path(), CONFIG);
        for at in 0..5 {
            missed.note(miss(None, &format!("q{at}"), at)).unwrap();
        }
        assert_eq!(queries(&missed, None, 5), ["q4", "q3", "q2"]);
        let text = || fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert!(!text().contains("q1"), "{}", text());
        assert!(queries(&missed, None, 5 + DAY_MS).is_empty());
        assert_eq!(text(), "");
    }

    #[test]
    fn who_asks_much_takes_the_place_of_their_own_questions_alone() {
        let folder = tempfile::tempdir().unwrap();
        let ten = Config {
            maximum: 10,
            ..CONFIG
        };
        let missed = MissedSearches::in_folder(folder.path(), ten);
        for at in 0..4 {
            missed
                .note(miss(Some("few"), &format!("f{at}"), at))
                .unwrap();
        }
        for at in 10..60 {
            missed
                .note(miss(Some("many"), &format!("m{at}"), at))
                .unwrap();
        }
        assert_eq!(queries(&missed, Some("few"), 60).len(), 4);
        assert!(queries(&missed, Some("many"), 60).starts_with(&["m59".into(), "m58".into()]));
    }

    #[test]
    fn a_torn_line_costs_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        MissedSearches::in_folder(folder.path(), CONFIG)
            .note(miss(None, "页表", 1))
            .unwrap();
        let whole = fs::read(&path).unwrap();
        let character = whole.iter().position(|byte| !byte.is_ascii()).unwrap();
        fs::write(&path, [&whole[..], &whole[..=character]].concat()).unwrap();
        let missed = MissedSearches::in_folder(folder.path(), CONFIG);
        missed.note(miss(None, "快表", 2)).unwrap();
        let again = MissedSearches::in_folder(folder.path(), CONFIG);
        assert_eq!(queries(&again, None, 3), ["快表", "页表"]);
    }

    #[test]
    fn the_file_does_not_grow_with_a_question_that_is_asked_again() {
        let folder = tempfile::tempdir().unwrap();
        let missed = MissedSearches::in_folder(folder.path(), CONFIG);
        for at in 0..3 * FEW_LINES as i64 {
            missed.note(miss(None, "again", at)).unwrap();
        }
        let text = fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert!(
            text.lines().count() <= FEW_LINES,
            "{}",
            text.lines().count()
        );
        assert_eq!(missed.list(None, 0).unwrap()[0].times, 3 * FEW_LINES as u64);
    }

    #[test]
    fn nothing_is_kept_where_the_operator_wants_none() {
        let folder = tempfile::tempdir().unwrap();
        let none = Config {
            maximum: 0,
            ..CONFIG
        };
        let missed = MissedSearches::in_folder(folder.path(), none);
        missed.note(miss(None, "secret", 1)).unwrap();
        assert!(!folder.path().join(FILE).exists());
        assert!(missed.list(None, 1).unwrap().is_empty());
    }
}
