//! Compares folders with what was published from them before: documents whose files are gone, and
//! those of which nobody can tell, since what held their files could not be listed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use anyhow::{Result, bail};
use serde::Serialize;
use tributary_schemas::{DocumentState, Error, ErrorKind, State};

use super::files::{NamedFolder, Selection};
use super::follow;
use super::mounts;
use super::roots::Roots;
use super::walk::{Cause, Unlisted};
use crate::args::Prune;
use crate::client::Client;
use crate::print;

/// A document whose file is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    /// Path within the source.
    pub source_path: String,
    /// Its id.
    pub document_id: String,
    /// Where its file was.
    file: PathBuf,
    /// Whether something is there all the same that counts as no file of the folder.
    was_there: bool,
}

impl Gone {
    /// Whether its file has come back since.
    pub fn is_back(&self) -> bool {
        !self.was_there && self.file.is_file()
    }
}

/// Documents that stay although their files were not seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// Path within the source of what was not listed.
    pub path: String,
    /// Why it was not.
    pub reason: String,
    /// How many documents were published from there.
    pub documents: usize,
}

/// What folders tell of the documents that were published from them.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Their files are gone.
    pub gone: Vec<Gone>,
    /// Nobody could see whether their files are gone.
    pub kept: Vec<Kept>,
    /// Documents that were deleted before, whose files are still gone, and the versions of their
    /// deletions: the server may have them again.
    deleted_before: Vec<(Gone, u64)>,
    /// Documents of the source, those published now included.
    pub all: usize,
    /// Of the gone: those that lay in folders which are not empty as a whole, of which
    /// `--allow-empty` says nothing.
    unexpected: usize,
}

impl Comparison {
    /// Whether so much goes that something else may have happened than that files were removed.
    pub fn is_most(&self) -> bool {
        self.unexpected * 2 > self.all
    }

    /// What the deletion has to be allowed with, where more is gone than is deleted without a word.
    pub fn needed(&self, prune: Prune) -> Option<String> {
        let is_most = self.is_most() && !prune.allow_most;
        is_most.then(|| {
            format!(
                "{} of {} documents of the source would go, more than half: that needs --allow-most beside --yes",
                self.gone.len(),
                self.all
            )
        })
    }

    /// Adds those of the documents deleted before that the server has as they were before that, as
    /// after it was put back from a backup. What is newer was published since.
    pub fn take_returned(&mut self, client: &Client) -> Result<()> {
        let ids = self.deleted_before.iter();
        let ids: Vec<&str> = ids.map(|(gone, _)| gone.document_id.as_str()).collect();
        let states = follow::states_of(client, &ids)?;
        let has_again = |state: &DocumentState, deletion: u64| {
            state.state != State::Deleted && state.version < deletion
        };
        let deleted = std::mem::take(&mut self.deleted_before);
        let before = self.gone.len();
        for ((gone, deletion), state) in deleted.into_iter().zip(states) {
            if state.is_some_and(|state| has_again(&state, deletion)) {
                self.gone.push(gone);
            }
        }
        let returned = self.gone.len() - before;
        self.unexpected += returned;
        self.all += returned;
        Ok(())
    }

    /// Says what stays and why.
    pub fn explain(&self) {
        for kept in &self.kept {
            print::note(&format!(
                "kept {}: {} {}",
                print::count(kept.documents, "document"),
                kept.path,
                kept.reason
            ));
        }
    }
}

/// Compares the folders with what was published from them. A folder that is empty or missing is
/// refused unless that is meant: a share that is not mounted looks the same.
pub fn compare(selection: &Selection, roots: &Roots, prune: Prune) -> Result<Comparison> {
    if !prune.prune {
        return Ok(Comparison::default());
    }
    if selection.folders.is_empty() {
        bail!("--prune compares a folder with what was published from it: name the folder");
    }
    let here: HashSet<&str> = selection
        .files
        .iter()
        .map(|found| found.source_path.as_str())
        .collect();
    let all: HashSet<&str> = roots.paths().chain(here.iter().copied()).collect();
    let mut comparison = Comparison {
        all: all.len(),
        ..Comparison::default()
    };
    let mut counted = HashSet::new();
    for named in &selection.folders {
        let mut left = left_folder(named, &here, roots.documents(&named.root));
        left.retain(|gone| counted.insert(gone.source_path.clone()));
        comparison.add(named, left, selection, roots, prune)?;
        let deleted = deleted_before(named, &here, selection, roots, prune);
        let deleted = deleted
            .into_iter()
            .filter(|(gone, _)| counted.insert(gone.source_path.clone()));
        comparison.deleted_before.extend(deleted);
    }
    comparison
        .gone
        .sort_by(|left, right| left.source_path.cmp(&right.source_path));
    Ok(comparison)
}

impl Comparison {
    /// `left`: documents that were published from the folder and were not found in it.
    fn add(
        &mut self,
        named: &NamedFolder,
        left: Vec<Gone>,
        selection: &Selection,
        roots: &Roots,
        prune: Prune,
    ) -> Result<()> {
        if !named.folder.exists() && !roots.has_any(&named.folder) {
            let unknown = refuse_unknown(named);
            if !prune.allow_empty {
                return Err(unknown.into());
            }
            print::note(&unknown.to_string());
        }
        let is_empty = is_empty(named, selection);
        if is_empty && !left.is_empty() && !prune.allow_empty {
            return Err(refuse_empty(named, left.len()).into());
        }
        let hiding = hiding(named, selection, roots, prune);
        let mut kept: BTreeMap<&str, (&Unlisted, usize)> = BTreeMap::new();
        let gone_before = self.gone.len();
        for gone in left {
            match hiding.iter().find(|one| hides(one, &gone)) {
                Some(one) => kept.entry(&one.source_path).or_insert((one, 0)).1 += 1,
                None => self.gone.push(gone),
            }
        }
        if !is_empty {
            self.unexpected += self.gone.len() - gone_before;
        }
        self.kept.extend(kept.into_values().map(Kept::of));
        Ok(())
    }
}

impl Kept {
    fn of((unlisted, documents): (&Unlisted, usize)) -> Self {
        Self {
            path: unlisted.source_path.clone(),
            reason: unlisted.cause.text(),
            documents,
        }
    }
}

/// Those of the known documents, with where their files lay, that are not in the folder.
fn left_folder(
    named: &NamedFolder,
    here: &HashSet<&str>,
    known: Vec<(PathBuf, &str, &str)>,
) -> Vec<Gone> {
    let known = known.into_iter();
    let known = known.map(|(file, path, document_id)| Gone {
        source_path: path.to_owned(),
        document_id: document_id.to_owned(),
        was_there: file.is_file(),
        file,
    });
    // Where it lay counts: of a root in this one, paths are relative to that other folder.
    let is_left = |gone: &Gone| {
        gone.file.starts_with(&named.folder) && !here.contains(gone.source_path.as_str())
    };
    known.filter(is_left).collect()
}

/// Documents of the folder that were deleted, whose files can be seen to be gone, and the versions of
/// their deletions.
fn deleted_before(
    named: &NamedFolder,
    here: &HashSet<&str>,
    selection: &Selection,
    roots: &Roots,
    prune: Prune,
) -> Vec<(Gone, u64)> {
    let deleted = roots.deleted(&named.root);
    let versions: HashMap<&str, u64> = deleted
        .iter()
        .map(|(_, path, deleted)| (*path, deleted.version))
        .collect();
    let known = deleted.iter();
    let known = known.map(|(file, path, deleted)| (file.clone(), *path, deleted.id.as_str()));
    let hiding = hiding(named, selection, roots, prune);
    let left = left_folder(named, here, known.collect()).into_iter();
    left.filter(|gone| !hiding.iter().any(|one| hides(one, gone)))
        .filter_map(|gone| {
            let version = *versions.get(gone.source_path.as_str())?;
            Some((gone, version))
        })
        .collect()
}

fn is_empty(named: &NamedFolder, selection: &Selection) -> bool {
    !selection
        .files
        .iter()
        .any(|found| found.root == named.root && found.absolute().starts_with(&named.folder))
}

/// What in the folder may hold files that nobody saw, outer folders first.
fn hiding(
    named: &NamedFolder,
    selection: &Selection,
    roots: &Roots,
    prune: Prune,
) -> Vec<Unlisted> {
    let passed_over = selection.unlisted.iter();
    let mut hiding: Vec<Unlisted> = passed_over
        .filter(|unlisted| unlisted.root == named.root)
        .cloned()
        .collect();
    if !prune.allow_empty {
        hiding.extend(not_mounted(named, roots));
    }
    hiding.sort_by(|left, right| left.source_path.cmp(&right.source_path));
    hiding
}

fn not_mounted(named: &NamedFolder, roots: &Roots) -> Vec<Unlisted> {
    let now = mounts::below(&named.root);
    let before = roots.mounts(&named.root).into_iter();
    before
        .filter(|path| !now.contains(path))
        .map(|source_path| Unlisted {
            source_path,
            root: named.root.clone(),
            cause: Cause::NotMounted,
        })
        .collect()
}

fn hides(unlisted: &Unlisted, gone: &Gone) -> bool {
    let hidden = unlisted.root.join(&unlisted.source_path);
    gone.file.starts_with(hidden)
}

fn refuse_unknown(named: &NamedFolder) -> Error {
    let message = format!(
        "{} does not exist, and nothing of this source was published from it",
        named.folder.display()
    );
    Error::new(ErrorKind::NotFound, message)
        .with_hint("is it written right, and was it published with the same --source?")
}

fn refuse_empty(named: &NamedFolder, documents: usize) -> Error {
    let folder = named.folder.display();
    let what = if named.folder.exists() {
        "has no files"
    } else {
        "is not there"
    };
    Error::new(
        ErrorKind::Conflict,
        format!("{folder} {what}: --prune would delete all {documents} documents that were published from it"),
    )
    .with_hint("is a disk or a share not mounted? if it is meant so, add --allow-empty")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::roots::Documents;
    use super::super::roots::tests::roots;
    use super::*;

    const PRUNE: Prune = Prune {
        prune: true,
        yes: true,
        allow_empty: false,
        allow_most: false,
    };

    fn documents(paths: &[&str]) -> Documents {
        let id = |path: &&str| ((*path).to_owned(), format!("id of {path}"));
        paths.iter().map(id).collect()
    }

    #[test]
    fn what_was_mounted_and_is_not_now_is_kept_unless_that_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("hb");
        std::fs::create_dir_all(root.join("share")).unwrap();
        std::fs::write(root.join("here.md"), "x").unwrap();
        let mut roots = roots(folder.path());
        let known = documents(&["here.md", "gone.md", "share/a.md", "shared.md"]);
        roots.publish(&root, &known).unwrap();
        roots
            .note_mounts(&root, ["share".to_owned()].into())
            .unwrap();
        let rule = super::super::Rule::new(None, &roots).unwrap();
        let selection = rule.select(std::slice::from_ref(&root)).unwrap();
        let gone = |comparison: &Comparison| -> Vec<String> {
            let paths = comparison.gone.iter();
            paths.map(|gone| gone.source_path.clone()).collect()
        };
        let comparison = compare(&selection, &roots, PRUNE).unwrap();
        assert_eq!(gone(&comparison), ["gone.md", "shared.md"]);
        assert_eq!(comparison.kept.len(), 1, "{comparison:?}");
        assert_eq!(
            (
                comparison.kept[0].path.as_str(),
                comparison.kept[0].documents
            ),
            ("share", 1)
        );
        assert!(!comparison.is_most(), "two of four are not more than half");
        assert_eq!(comparison.needed(PRUNE), None);
        let meant = Prune {
            allow_empty: true,
            ..PRUNE
        };
        let comparison = compare(&selection, &roots, meant).unwrap();
        assert_eq!(gone(&comparison), ["gone.md", "share/a.md", "shared.md"]);
        assert!(comparison.kept.is_empty() && comparison.is_most());
        assert!(comparison.needed(PRUNE).unwrap().contains("--allow-most"));
    }

    #[test]
    fn what_lay_elsewhere_stays_although_its_path_begins_like_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let outer = folder.path().canonicalize().unwrap();
        for path in ["here", "inner/here"] {
            std::fs::create_dir_all(outer.join(path)).unwrap();
        }
        std::fs::write(outer.join("here/a.md"), "x").unwrap();
        std::fs::write(outer.join("inner/here/b.md"), "x").unwrap();
        let mut roots = roots(folder.path());
        let known = documents(&["here/b.md"]);
        roots.publish(&outer.join("inner"), &known).unwrap();
        roots
            .publish_lone(&outer.join("here"), "gone.md", "lone")
            .unwrap();
        let rule = super::super::Rule::new(Some(&outer), &roots).unwrap();
        let through_dots = outer.join("inner/../here");
        let selection = rule.select(&[through_dots]).unwrap();
        let comparison = compare(&selection, &roots, PRUNE).unwrap();
        let gone: Vec<&str> = comparison
            .gone
            .iter()
            .map(|gone| gone.source_path.as_str())
            .collect();
        assert_eq!(gone, ["gone.md"]);
    }
}
