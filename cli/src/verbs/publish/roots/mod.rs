//! From where the documents of a source were published. Their paths are relative to a root: one
//! file of a folder is then the document that it was when the whole folder was published, and what
//! left the folder can be told.
//!
//! One file for each source, `<data folder>/publishing/<hash>.json`, replaced as a whole:
//! ```text
//! {"format": 1, "source": "handbook", "server": null, "roots": [
//!   {"folder": "/srv/handbook", "is_lone": false, "paths": {"radio/tilt.md": "<document id>"},
//!    "deleted": {"core/amf.md": {"id": "<document id>", "version": 7}}, "mounts": ["radio"]}],
//!  "titles": {"radio/tilt.md": "<title that was given by hand>"}}
//! ```
//! `server` is the address that was given with `--server`; without one, or for the server of this
//! data folder, there is none. Where the files lie is known to the machine that publishes, not to
//! the server, so this is kept here and is no part of a backup.

mod file;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use tributary_schemas::id;

/// Ids of documents by their path within the source.
pub type Documents = BTreeMap<String, String>;

/// What is remembered of one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Remembered {
    format: u32,
    source: String,
    server: Option<String>,
    roots: Vec<Root>,
    /// Titles that were given by hand, by path within the source.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    titles: BTreeMap<String, String>,
}

/// A folder that documents were published from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Root {
    folder: PathBuf,
    /// Only single files of it were published, each by its name alone: it is no root for others.
    is_lone: bool,
    paths: Documents,
    /// Those that were deleted when their files had left: a server that is put back from a backup has
    /// them again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    deleted: BTreeMap<String, Deleted>,
    /// Folders below it, as paths from it, where something was mounted when they were published.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    mounts: BTreeSet<String>,
}

/// A document that was deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {
    /// Its id.
    pub id: String,
    /// Version of the deletion: what has a newer one was published since, perhaps by others.
    pub version: u64,
}

impl Root {
    fn documents(&self) -> impl Iterator<Item = (PathBuf, &str, &str)> {
        let paths = self.paths.iter();
        paths.map(|(path, id)| (self.folder.join(path), path.as_str(), id.as_str()))
    }
}

/// The roots of one source.
#[derive(Debug)]
pub struct Roots {
    file: PathBuf,
    remembered: Remembered,
}

impl Roots {
    /// The source that this is about.
    pub fn source(&self) -> &str {
        &self.remembered.source
    }

    /// The root that holds a path.
    pub fn containing(&self, path: &Path) -> Option<&Path> {
        let roots = self.remembered.roots.iter().filter(|root| !root.is_lone);
        roots
            .map(|root| root.folder.as_path())
            .find(|folder| path.starts_with(folder))
    }

    /// A root below a folder: its documents have other paths than the folder would give them.
    pub fn below(&self, folder: &Path) -> Option<&Path> {
        let roots = self.remembered.roots.iter().filter(|root| !root.is_lone);
        roots
            .map(|root| root.folder.as_path())
            .find(|known| *known != folder && known.starts_with(folder))
    }

    /// Documents that were published from a root, or from within it before it was one: where the
    /// file lay, its path within the source, and its id; by path.
    pub fn documents(&self, folder: &Path) -> Vec<(PathBuf, &str, &str)> {
        let roots = self.remembered.roots.iter();
        let mut documents: Vec<(PathBuf, &str, &str)> = roots
            .filter(|root| root.folder.starts_with(folder))
            .flat_map(Root::documents)
            .collect();
        documents.sort_by_key(|(_, path, _)| *path);
        documents
    }

    /// Documents that were deleted since their files had left: where the file lay, its path within the
    /// source, and what was deleted.
    pub fn deleted(&self, folder: &Path) -> Vec<(PathBuf, &str, &Deleted)> {
        let roots = self.remembered.roots.iter();
        let mut all = Vec::new();
        for root in roots.filter(|root| root.folder.starts_with(folder)) {
            let deleted = root.deleted.iter();
            all.extend(
                deleted.map(|(path, deleted)| (root.folder.join(path), path.as_str(), deleted)),
            );
        }
        all
    }

    /// Paths of all documents of the source that were published from here.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let roots = self.remembered.roots.iter();
        roots.flat_map(|root| root.paths.keys().map(String::as_str))
    }

    /// Whether a folder is a root, or lies in one and documents were published from it, or roots
    /// lie in it.
    pub fn has_any(&self, folder: &Path) -> bool {
        let mut roots = self.remembered.roots.iter();
        roots.any(|root| {
            let inside = folder.strip_prefix(&root.folder);
            root.folder.starts_with(folder)
                || inside.is_ok_and(|inside| {
                    root.paths
                        .keys()
                        .any(|path| Path::new(path).starts_with(inside))
                })
        })
    }

    /// The path within the source that a file was published under, if it was.
    pub fn path_of(&self, file: &Path) -> Option<String> {
        self.remembered.roots.iter().find_map(|root| {
            let path = path_within(file, &root.folder)?;
            root.paths.contains_key(&path).then_some(path)
        })
    }

    /// Another file that is there and was published under this path, so that one document stands
    /// for two files.
    pub fn other_file(&self, file: &Path, source_path: &str) -> Option<PathBuf> {
        let roots = self.remembered.roots.iter();
        roots
            .filter(|root| root.paths.contains_key(source_path))
            .map(|root| root.folder.join(source_path))
            .find(|other| other != file && other.is_file())
    }

    /// The id of the document that was published under a path.
    pub fn id_of(&self, source_path: &str) -> Option<&str> {
        let roots = self.remembered.roots.iter();
        let known = roots.filter_map(|root| root.paths.get(source_path));
        known.map(String::as_str).next_back()
    }

    /// The same, where it was given by hand.
    pub fn given_id(&self, source_path: &str) -> Option<&str> {
        let derived = id::derive_document_id(self.source(), source_path);
        self.id_of(source_path).filter(|known| *known != derived)
    }

    /// The path of a document with this id of another file than this one, which is still there.
    pub fn other_path_of_id(&self, id: &str, file: &Path) -> Option<&str> {
        let roots = self.remembered.roots.iter();
        let mut there = roots.flat_map(|root| {
            let of_id = root.paths.iter().filter(|(_, known)| *known == id);
            let place = |path: &str| root.folder.join(path);
            of_id.filter(move |(path, _)| place(path) != file && place(path).is_file())
        });
        there.next().map(|(path, _)| path.as_str())
    }

    /// The title that was given by hand to the document of a path.
    pub fn given_title(&self, source_path: &str) -> Option<&str> {
        self.remembered.titles.get(source_path).map(String::as_str)
    }

    /// Notes the title that a document was given by hand; an empty one forgets it.
    pub fn give_title(&mut self, source_path: &str, title: &str) -> Result<()> {
        self.change(|remembered| {
            if title.is_empty() {
                remembered.titles.remove(source_path);
            } else {
                let (path, title) = (source_path.to_owned(), title.to_owned());
                remembered.titles.insert(path, title);
            }
        })
    }

    /// Whether anything of the source was published from here.
    pub fn is_empty(&self) -> bool {
        self.remembered.roots.is_empty()
    }

    /// Notes that these documents come from this root. Roots within it, and single files of it,
    /// become a part of it: what was published from them under other paths is no longer in the
    /// folder.
    pub fn publish(&mut self, folder: &Path, documents: &Documents) -> Result<()> {
        self.change(|remembered| {
            let roots = &mut remembered.roots;
            let (merged, mut kept): (Vec<Root>, Vec<Root>) = std::mem::take(roots)
                .into_iter()
                .partition(|root| root.folder.starts_with(folder));
            for root in &mut kept {
                root.paths.retain(|path, _| !documents.contains_key(path));
                root.deleted.retain(|path, _| !documents.contains_key(path));
            }
            let mounts = merged
                .iter()
                .filter(|root| root.folder == folder)
                .flat_map(|root| root.mounts.clone())
                .collect();
            let (mut paths, mut deleted) = (Documents::new(), BTreeMap::new());
            for root in merged {
                paths.extend(root.paths);
                deleted.extend(root.deleted);
            }
            paths.extend(documents.clone());
            deleted.retain(|path, _| !documents.contains_key(path));
            kept.push(Root {
                folder: folder.to_owned(),
                is_lone: false,
                paths,
                deleted,
                mounts,
            });
            *roots = kept;
        })
    }

    /// Notes a single file that was published by its name, with no root that holds it.
    pub fn publish_lone(&mut self, folder: &Path, path: &str, id: &str) -> Result<()> {
        self.change(|remembered| {
            let roots = &mut remembered.roots;
            let known = roots
                .iter_mut()
                .find(|root| root.is_lone && root.folder == folder);
            let document = (path.to_owned(), id.to_owned());
            match known {
                Some(root) => root.paths.extend([document]),
                None => roots.push(Root {
                    folder: folder.to_owned(),
                    is_lone: true,
                    paths: Documents::from([document]),
                    ..Root::default()
                }),
            }
        })
    }

    /// Takes documents of a root, by their paths, for deleted.
    pub fn forget(&mut self, folder: &Path, deleted: &BTreeMap<String, Deleted>) -> Result<()> {
        self.change(|remembered| {
            let Remembered { roots, titles, .. } = remembered;
            for root in roots.iter_mut().filter(|root| root.folder == folder) {
                for (path, deleted) in deleted {
                    if root.paths.remove(path).is_some() || root.deleted.contains_key(path) {
                        root.deleted.insert(path.clone(), deleted.clone());
                    }
                }
                let Root { paths, mounts, .. } = root;
                mounts.retain(|mount| paths.keys().any(|path| Path::new(path).starts_with(mount)));
            }
            titles.retain(|path, _| !deleted.contains_key(path));
        })
    }

    /// Forgets a root of which nothing was published but these, which were refused, so that another
    /// one can take its place.
    pub fn withdraw(&mut self, folder: &Path, refused: &HashSet<&str>) -> Result<()> {
        let is_withdrawn = |root: &Root| {
            root.folder == folder
                && root.deleted.is_empty()
                && root
                    .paths
                    .keys()
                    .all(|path| refused.contains(path.as_str()))
        };
        self.change(|remembered| remembered.roots.retain(|root| !is_withdrawn(root)))
    }

    /// Notes where something is mounted below a root, as paths from it. What was noted before stays
    /// for as long as there are documents from there.
    pub fn note_mounts(&mut self, folder: &Path, mounts: BTreeSet<String>) -> Result<()> {
        self.change(|remembered| {
            let known = remembered
                .roots
                .iter_mut()
                .filter(|root| root.folder == folder);
            known.for_each(|root| root.mounts.extend(mounts.clone()));
        })
    }

    /// Where something was mounted below a root when its documents were published.
    pub fn mounts(&self, folder: &Path) -> BTreeSet<String> {
        let roots = self.remembered.roots.iter();
        roots
            .filter(|root| root.folder == folder)
            .flat_map(|root| root.mounts.clone())
            .collect()
    }
}

/// The path of a file below a folder, with `/` between its parts.
pub fn path_within(file: &Path, folder: &Path) -> Option<String> {
    let parts = file.strip_prefix(folder).ok()?.components();
    let parts: Vec<String> = parts
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    Some(parts.join("/"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use std::fs;

    use super::file::FORMAT;
    use super::*;

    /// Kept in a folder of a test.
    pub fn roots(folder: &Path) -> Roots {
        let mut roots = Roots {
            file: folder.join("data/publishing/x.json"),
            remembered: Remembered {
                format: FORMAT,
                ..Remembered::default()
            },
        };
        roots.read().unwrap();
        roots
    }

    fn known(roots: &Roots, folder: &str) -> Documents {
        let known = roots.documents(Path::new(folder)).into_iter();
        known
            .map(|(_, path, id)| (path.to_owned(), id.to_owned()))
            .collect()
    }

    fn gone(paths: &[&str]) -> BTreeMap<String, Deleted> {
        let paths = documents(paths).into_iter();
        paths
            .map(|(path, id)| (path, Deleted { id, version: 7 }))
            .collect()
    }

    fn documents(paths: &[&str]) -> Documents {
        paths
            .iter()
            .map(|path| ((*path).to_owned(), format!("id of {path}")))
            .collect()
    }

    #[test]
    fn a_file_belongs_to_the_root_that_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = roots(folder.path());
        first
            .publish(Path::new("/hb"), &documents(&["radio/tilt.md"]))
            .unwrap();
        let again = roots(folder.path());
        assert_eq!(
            again.containing(Path::new("/hb/radio/tilt.md")),
            Some(Path::new("/hb"))
        );
        assert_eq!(again.containing(Path::new("/hbx/a.md")), None);
        assert_eq!(again.below(Path::new("/")), Some(Path::new("/hb")));
        assert_eq!(again.below(Path::new("/hb")), None, "it is the root itself");
    }

    #[test]
    fn two_processes_keep_what_the_other_one_noted() {
        let folder = tempfile::tempdir().unwrap();
        let (mut one, mut other) = (roots(folder.path()), roots(folder.path()));
        one.publish(Path::new("/a"), &documents(&["1.md"])).unwrap();
        other
            .publish(Path::new("/b"), &documents(&["2.md"]))
            .unwrap();
        let again = roots(folder.path());
        assert_eq!(known(&again, "/a"), documents(&["1.md"]));
        assert_eq!(known(&again, "/b"), documents(&["2.md"]));
    }

    #[test]
    fn a_new_root_takes_over_what_was_published_from_within_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut roots = roots(folder.path());
        roots
            .publish_lone(Path::new("/hb/radio"), "tilt.md", "lone")
            .unwrap();
        roots
            .publish(Path::new("/hb/core"), &documents(&["a.md"]))
            .unwrap();
        roots
            .publish(
                Path::new("/hb"),
                &documents(&["radio/tilt.md", "core/a.md"]),
            )
            .unwrap();
        let paths: Vec<String> = known(&roots, "/hb").into_keys().collect();
        assert_eq!(paths, ["a.md", "core/a.md", "radio/tilt.md", "tilt.md"]);
        assert_eq!(roots.below(Path::new("/")), Some(Path::new("/hb")));
        roots
            .forget(Path::new("/hb"), &gone(&["a.md", "tilt.md"]))
            .unwrap();
        assert_eq!(roots.documents(Path::new("/hb")).len(), 2);
        let deleted = |roots: &Roots| {
            let deleted = roots.deleted(Path::new("/hb")).into_iter();
            deleted
                .map(|(_, path, _)| path.to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(deleted(&roots), ["a.md", "tilt.md"]);
        let back = documents(&["tilt.md"]);
        roots.publish(Path::new("/hb"), &back).unwrap();
        assert_eq!(deleted(&roots), ["a.md"], "it is there again");
    }

    #[test]
    fn a_document_belongs_to_the_root_that_it_came_from_last() {
        let folder = tempfile::tempdir().unwrap();
        let mut roots = roots(folder.path());
        roots
            .publish(Path::new("/a"), &documents(&["x.md", "y.md"]))
            .unwrap();
        roots
            .publish(Path::new("/b"), &documents(&["x.md"]))
            .unwrap();
        assert_eq!(known(&roots, "/a"), documents(&["y.md"]));
    }

    #[test]
    fn a_file_is_known_by_its_path_and_its_document_by_what_was_given_by_hand() {
        let folder = tempfile::tempdir().unwrap();
        let mut roots = roots(folder.path());
        let file = Path::new("/hb/radio/tilt.md");
        roots
            .publish_lone(Path::new("/hb/radio"), "tilt.md", "lone")
            .unwrap();
        assert_eq!(roots.path_of(file).as_deref(), Some("tilt.md"));
        assert_eq!(roots.path_of(Path::new("/hb/tilt.md")), None);
        assert_eq!(roots.given_id("tilt.md"), Some("lone"));
        let derived = id::derive_document_id("", "radio/tilt.md");
        let documents = Documents::from([("radio/tilt.md".to_owned(), derived)]);
        roots.publish(Path::new("/hb"), &documents).unwrap();
        assert_eq!(roots.path_of(file).as_deref(), Some("radio/tilt.md"));
        assert_eq!(roots.given_id("radio/tilt.md"), None, "it was derived");

        roots.give_title("radio/tilt.md", "Tilts").unwrap();
        assert_eq!(roots.given_title("radio/tilt.md"), Some("Tilts"));
        roots.give_title("radio/tilt.md", "").unwrap();
        assert_eq!(roots.given_title("radio/tilt.md"), None);
    }

    #[test]
    fn two_files_of_one_path_are_told_while_both_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let first = folder.path().join("a");
        fs::create_dir(&first).unwrap();
        fs::write(first.join("x.md"), "x").unwrap();
        let mut roots = roots(folder.path());
        roots.publish_lone(&first, "x.md", "id").unwrap();
        let (same, other) = (first.join("x.md"), folder.path().join("b/x.md"));
        assert_eq!(roots.other_file(&same, "x.md"), None);
        assert_eq!(roots.other_file(&other, "x.md"), Some(same.clone()));
        fs::remove_file(&same).unwrap();
        assert_eq!(roots.other_file(&other, "x.md"), None, "it has moved");
    }

    #[test]
    fn damage_is_told_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data/publishing/x.json");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "{").unwrap();
        let mut roots = Roots {
            file,
            remembered: Remembered::default(),
        };
        let error = roots.read().unwrap_err();
        assert!(error.to_string().contains("is damaged"), "{error}");
    }
}
