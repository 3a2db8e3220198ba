//! Which files are meant, and what each is called within its source: its path from the root.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use tributary_schemas::{Error, ErrorKind};

use super::roots::{Roots, path_within};
use super::walk::{Folder, Listing, Unlisted};
use crate::print;

/// A file of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it lies.
    pub file: PathBuf,
    /// Path within the source.
    pub source_path: String,
    /// The folder that the path is relative to.
    pub root: PathBuf,
    /// Whether it was named alone and no root holds it: then its path is its name.
    pub is_lone: bool,
}

/// The files that paths stand for.
#[derive(Debug, Default)]
pub struct Selection {
    /// Each once, by path within the source.
    pub files: Vec<Found>,
    /// The folders that were named, with the root that they belong to.
    pub folders: Vec<NamedFolder>,
    /// What in them was passed over.
    pub unlisted: Vec<Unlisted>,
}

/// A folder that was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFolder {
    /// As the system names it.
    pub folder: PathBuf,
    /// Paths of its files are relative to this one.
    pub root: PathBuf,
}

/// What decides about paths within a source.
pub struct Rule<'a> {
    /// The root that was given.
    pub root: Option<PathBuf>,
    /// The roots that are remembered.
    pub roots: &'a Roots,
    /// Whether a folder that is gone counts as one without files.
    pub may_be_missing: bool,
}

impl<'a> Rule<'a> {
    /// With the root that was given, if one was. `Invalid` if it is no folder, or lies in a
    /// remembered root.
    pub fn new(root: Option<&Path>, roots: &'a Roots) -> Result<Self> {
        let root = root.map(given_root).transpose()?;
        if let Some(root) = &root
            && let Some(outer) = roots.containing(root).filter(|outer| *outer != root)
        {
            let message = format!(
                "{} lies in {}, which is a root of this source: its files are documents of it under longer paths",
                root.display(),
                outer.display()
            );
            return Err(Error::new(ErrorKind::Conflict, message)
                .with_hint("leave --root out, or name another --source")
                .into());
        }
        Ok(Self {
            root,
            roots,
            may_be_missing: false,
        })
    }

    /// The same, where a folder that is gone counts as one without files.
    pub fn with_missing(self) -> Self {
        Self {
            may_be_missing: true,
            ..self
        }
    }

    /// All files below the paths, hidden ones left out, in a stable order.
    pub fn select(&self, paths: &[PathBuf]) -> Result<Selection> {
        let named = paths
            .iter()
            .map(|path| self.look(path))
            .collect::<Result<Vec<_>>>()?;
        let selection = self.selected(&named)?;
        let Some(collision) = collision(&selection.files) else {
            return Ok(selection);
        };
        let collision = collision.into();
        let Some(root) = self.common_root(&named) else {
            return Err(collision);
        };
        print::note(&format!(
            "paths are relative to {}, as several of its folders have files of one name",
            root.display()
        ));
        let below_common = Rule {
            root: Some(root),
            ..*self
        };
        below_common.selected(&named)
    }

    /// The folder that holds all, where nothing but new folders was named.
    fn common_root(&self, named: &[Named]) -> Option<PathBuf> {
        let is_new = |one: &Named| one.is_folder && self.roots.containing(&one.absolute).is_none();
        if self.root.is_some() || named.len() < 2 || !named.iter().all(is_new) {
            return None;
        }
        let first = named.first()?.absolute.parent()?;
        let holds_all = |folder: &&Path| named.iter().all(|one| one.absolute.starts_with(folder));
        let common = first.ancestors().find(holds_all)?;
        // All of a disk is no folder of documents.
        let is_root_of_disk = common.parent().is_none();
        let is_free = self.roots.below(common).is_none();
        (is_free && !is_root_of_disk).then(|| common.to_owned())
    }

    fn selected(&self, named: &[Named]) -> Result<Selection> {
        let folders: BTreeSet<&PathBuf> = named
            .iter()
            .filter(|named| named.is_folder)
            .map(|named| &named.absolute)
            .collect();
        let mut selection = Selection::default();
        for one in named {
            self.add(one, &folders, &mut selection)?;
        }
        let files = &mut selection.files;
        files.sort_by(|left, right| {
            (&left.source_path, &left.file).cmp(&(&right.source_path, &right.file))
        });
        files.dedup_by(|left, right| left.is_same(right));
        Ok(selection)
    }

    fn look(&self, path: &Path) -> Result<Named> {
        let is_folder = path.is_dir();
        let is_a_file = path.is_file() || (self.may_be_missing && !path.exists());
        if !is_folder && !is_a_file {
            return Err(why_not(path));
        }
        Ok(Named {
            given: path.to_owned(),
            absolute: absolute(path)?,
            is_folder: is_folder || !path.exists(),
        })
    }

    fn add(
        &self,
        named: &Named,
        folders: &BTreeSet<&PathBuf>,
        selection: &mut Selection,
    ) -> Result<()> {
        let known = self.root_of(&named.absolute, folders)?;
        if !named.is_folder {
            let parent = named.absolute.parent().unwrap_or(Path::new("/"));
            let root = known.as_deref().unwrap_or(parent);
            let mut found = found(&named.given, &named.absolute, root);
            found.is_lone = known.is_none();
            selection.files.push(found);
            return Ok(());
        }
        let root = known.unwrap_or_else(|| named.absolute.clone());
        if named.given.exists() {
            selection.list(named, &root)?;
        }
        let folder = named.absolute.clone();
        selection.folders.push(NamedFolder { folder, root });
        Ok(())
    }

    /// The root that a path is relative to; none for a single file that no root holds.
    fn root_of(&self, path: &Path, folders: &BTreeSet<&PathBuf>) -> Result<Option<PathBuf>> {
        if let Some(root) = &self.root {
            if !path.starts_with(root) {
                bail!(
                    "{} does not lie in --root {}",
                    path.display(),
                    root.display()
                );
            }
            return Ok(Some(root.clone()));
        }
        if let Some(root) = self.roots.containing(path) {
            return Ok(Some(root.to_owned()));
        }
        // Sorted, so the outermost of the folders that hold it comes first.
        let Some(folder) = folders.iter().find(|folder| path.starts_with(folder)) else {
            return Ok(None);
        };
        if let Some(inner) = self.roots.below(folder) {
            return Err(second_time(folder, inner).into());
        }
        Ok(Some((*folder).clone()))
    }
}

impl Selection {
    fn list(&mut self, named: &Named, root: &Path) -> Result<()> {
        let mut listing = Listing::default();
        let folder = Folder {
            given: &named.given,
            absolute: &named.absolute,
            root,
        };
        folder.list(&mut listing)?;
        self.files.append(&mut listing.files);
        self.unlisted.append(&mut listing.unlisted);
        Ok(())
    }
}

/// A path that was named.
struct Named {
    given: PathBuf,
    absolute: PathBuf,
    is_folder: bool,
}

impl Found {
    /// Where it lies, as the system names it.
    pub fn absolute(&self) -> PathBuf {
        self.root.join(&self.source_path)
    }

    fn is_same(&self, other: &Self) -> bool {
        self.source_path == other.source_path
            && absolute(&self.file).ok() == absolute(&other.file).ok()
    }
}

/// Why a path is neither a file nor a folder.
fn why_not(path: &Path) -> anyhow::Error {
    let name = path.display();
    match tributary_schemas::files::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            anyhow!("{name} does not exist")
        }
        Err(error) => anyhow!("cannot read {name}: {error}\nhint: `-` reads stdin"),
        Ok(_) => anyhow!("{name} is no file\nhint: `-` reads stdin"),
    }
}

fn second_time(folder: &Path, inner: &Path) -> Error {
    let message = format!(
        "{} was published before as the root of this source, and lies in {}: its files would be documents a second time, under longer paths",
        inner.display(),
        folder.display()
    );
    let hint = format!(
        "--root {} makes the outer folder the root from now on (with --prune the documents under the old paths end); --root {} goes on as before",
        folder.display(),
        inner.display()
    );
    Error::new(ErrorKind::Conflict, message).with_hint(hint)
}

fn given_root(root: &Path) -> Result<PathBuf> {
    if !root.is_dir() {
        bail!("--root {} is no folder", root.display());
    }
    absolute(root)
}

/// The path as the system names it, but for the name itself: a link to a file keeps its own name.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    if path.is_dir() {
        return std::fs::canonicalize(path)
            .with_context(|| format!("cannot read {}", path.display()));
    }
    let whole =
        std::path::absolute(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (Some(parent), Some(name)) = (whole.parent(), whole.file_name()) else {
        return Ok(whole);
    };
    // What is missing altogether stays as it was written.
    let parent = std::fs::canonicalize(parent).unwrap_or_else(|_| parent.to_owned());
    Ok(parent.join(name))
}

/// A file under its path from the root.
pub(super) fn found(file: &Path, absolute: &Path, root: &Path) -> Found {
    let source_path = path_within(absolute, root);
    Found {
        file: file.to_owned(),
        source_path: source_path.unwrap_or_else(|| absolute.display().to_string()),
        root: root.to_owned(),
        is_lone: false,
    }
}

/// Two files that would be one document: which of them won would be chance.
fn collision(files: &[Found]) -> Option<Error> {
    let (left, right) = files
        .iter()
        .zip(files.iter().skip(1))
        .find(|(left, right)| left.source_path == right.source_path)?;
    let (first, second) = (left.file.display(), right.file.display());
    let message = format!(
        "{first} and {second} would be the same document `{}`",
        left.source_path
    );
    let hint =
        "name the folder that holds both with --root, or give each of them a --source of its own";
    Some(Error::new(ErrorKind::Invalid, message).with_hint(hint))
}
