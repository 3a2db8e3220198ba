//! Lists the files below a folder, and what in it could not be listed: documents behind that are
//! not gone, only out of sight.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tributary_schemas::{Error, ErrorKind};
use tributary_store::data_folder;

use super::files::{Found, found};

/// Something in a folder whose files were not listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlisted {
    /// Path within the source.
    pub source_path: String,
    /// The folder that the path is relative to.
    pub root: PathBuf,
    /// Why not.
    pub cause: Cause,
}

/// Why files were not listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A link to a folder: it may lead anywhere, also around in a circle.
    LinkToFolder,
    /// It leads to nothing.
    DanglingLink,
    /// Log, index, bodies and secrets of an engine.
    DataFolder,
    /// A disk or a share was mounted there when its files were published, and is not now.
    NotMounted,
    /// A device, a socket or the like.
    NoFile,
    /// The system does not say what it is.
    Unreadable(String),
}

impl Cause {
    /// In words, after the name of what it is about.
    pub fn text(&self) -> String {
        match self {
            Self::LinkToFolder => "is a link to a folder, which is not followed".to_owned(),
            Self::DanglingLink => "is a link that leads nowhere".to_owned(),
            Self::DataFolder => {
                "is a data folder of Tributary, which holds no documents of a source".to_owned()
            }
            Self::NotMounted => {
                "was mounted when its files were published and is not now (--allow-empty deletes them)"
                    .to_owned()
            }
            Self::NoFile => "is neither a file nor a folder".to_owned(),
            Self::Unreadable(error) => format!("cannot be read: {error}"),
        }
    }
}

/// What lies below a folder.
#[derive(Debug, Default)]
pub struct Listing {
    /// Files, hidden ones left out.
    pub files: Vec<Found>,
    /// What was passed over.
    pub unlisted: Vec<Unlisted>,
}

/// A folder to be listed.
pub struct Folder<'a> {
    /// As it was named.
    pub given: &'a Path,
    /// As the system names it.
    pub absolute: &'a Path,
    /// Paths are relative to this one.
    pub root: &'a Path,
}

impl Folder<'_> {
    /// Adds all that lies below it. An error where a folder cannot be read, or is a data folder.
    pub fn list(&self, listing: &mut Listing) -> Result<()> {
        if data_folder::is_one(self.given) {
            let message = format!("{} {}", self.given.display(), Cause::DataFolder.text());
            let hint = "name the folders of the documents beside it";
            let error = Error::new(ErrorKind::Invalid, message).with_hint(hint);
            return Err(error.into());
        }
        self.walk(self.given, listing)
    }

    fn walk(&self, folder: &Path, listing: &mut Listing) -> Result<()> {
        let failed = || format!("cannot read {}", folder.display());
        for entry in std::fs::read_dir(folder).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let path = entry.path();
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            let kind = entry
                .file_type()
                .with_context(|| format!("cannot read {}", path.display()))?;
            if kind.is_dir() && data_folder::is_one(&path) {
                listing
                    .unlisted
                    .push(self.unlisted(&path, Cause::DataFolder));
                continue;
            }
            if kind.is_dir() {
                self.walk(&path, listing)?;
                continue;
            }
            match passed_over(&path, kind.is_symlink()) {
                Some(cause) => listing.unlisted.push(self.unlisted(&path, cause)),
                None => listing.files.push(self.found(&path)),
            }
        }
        Ok(())
    }

    fn found(&self, path: &Path) -> Found {
        let inside = path.strip_prefix(self.given).unwrap_or(path);
        found(path, &self.absolute.join(inside), self.root)
    }

    fn unlisted(&self, path: &Path, cause: Cause) -> Unlisted {
        Unlisted {
            source_path: self.found(path).source_path,
            root: self.root.to_owned(),
            cause,
        }
    }
}

/// Why something that is no folder is no file either.
fn passed_over(path: &Path, is_link: bool) -> Option<Cause> {
    match std::fs::metadata(path) {
        Ok(target) if target.is_file() => None,
        Ok(target) if target.is_dir() => Some(Cause::LinkToFolder),
        Ok(_) => Some(Cause::NoFile),
        Err(error) if is_link && error.kind() == std::io::ErrorKind::NotFound => {
            Some(Cause::DanglingLink)
        }
        Err(error) => Some(Cause::Unreadable(error.to_string())),
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn what_is_no_file_is_told_with_its_cause() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in ["a", ".hidden"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        for file in ["a/x.md", ".hidden/y.md"] {
            fs::write(root.join(file), "x").unwrap();
        }
        symlink(root.join("a"), root.join("folder")).unwrap();
        symlink(root.join("a/x.md"), root.join("file.md")).unwrap();
        symlink(root.join("nowhere"), root.join("dangling")).unwrap();
        let _socket = UnixListener::bind(root.join("socket")).unwrap();
        fs::create_dir_all(root.join("data")).unwrap();
        fs::write(
            root.join("data/tributary.json"),
            r#"{"format":1,"id":"ab"}"#,
        )
        .unwrap();
        fs::write(root.join("a/tributary.json"), "{}").unwrap();
        let mut listing = Listing::default();
        let named = Folder {
            given: root,
            absolute: root,
            root,
        };
        named.list(&mut listing).unwrap();
        let mut files: Vec<&str> = listing
            .files
            .iter()
            .map(|found| found.source_path.as_str())
            .collect();
        files.sort_unstable();
        assert_eq!(files, ["a/tributary.json", "a/x.md", "file.md"]);
        let mut unlisted: Vec<(&str, &Cause)> = listing
            .unlisted
            .iter()
            .map(|unlisted| (unlisted.source_path.as_str(), &unlisted.cause))
            .collect();
        unlisted.sort_by_key(|(path, _)| *path);
        assert_eq!(
            unlisted,
            [
                ("dangling", &Cause::DanglingLink),
                ("data", &Cause::DataFolder),
                ("folder", &Cause::LinkToFolder),
                ("socket", &Cause::NoFile),
            ]
        );
        let (data, mut listing) = (root.join("data"), Listing::default());
        let named = Folder {
            given: &data,
            absolute: &data,
            root: &data,
        };
        let refused = named.list(&mut listing).unwrap_err().to_string();
        assert!(
            refused
                .ends_with("is a data folder of Tributary, which holds no documents of a source")
        );
        assert!(listing.files.is_empty());
    }
}
