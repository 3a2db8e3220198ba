//! The file `serving`: the name of the generation that queries go to, with a checksum.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tributary_schemas::{Error, ErrorKind};

use super::commit::{sync_folder, write_synced};
use super::generation::Generation;
use super::text_folder::{sealed, unsealed};
use crate::Result;

/// The generation that queries go to.
pub(super) struct Serving {
    pub(super) name: String,
    pub(super) generation: Arc<Generation>,
}

/// What the file leads to.
pub(super) enum Named {
    Open(Serving),
    /// A generation of this name did not open, or is not there.
    Missing(String),
    Nothing,
}

/// Where the file is in the folder of an index.
pub(super) fn path(root: &Path) -> PathBuf {
    root.join("serving")
}

/// Reads the file. Where the name in it is damaged and one generation is there, it is that one.
pub(super) fn read(root: &Path, generations: &BTreeMap<String, Arc<Generation>>) -> Result<Named> {
    let path = path(root);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Named::Nothing),
        Err(error) => {
            return Err(Error::io(
                format_args!("cannot read {}", path.display()),
                &error,
            ));
        }
    };
    let open = |(name, generation): (&String, &Arc<Generation>)| {
        Named::Open(Serving {
            name: name.clone(),
            generation: Arc::clone(generation),
        })
    };
    let Some(name) = name_in(&bytes) else {
        // With one generation there is nothing to choose from.
        let only = generations.iter().next().filter(|_| generations.len() == 1);
        tracing::error!(path = %path.display(), taken = ?only.map(|(name, _)| name), "the name of the serving generation is damaged");
        return Ok(only.map_or(Named::Nothing, open));
    };
    Ok(generations
        .get_key_value(&name)
        .map_or(Named::Missing(name), open))
}

/// Names another generation, durably.
pub(super) fn write(root: &Path, name: &str) -> Result<()> {
    let draft = root.join(".serving");
    let replaced = write_synced(&draft, &sealed(name.as_bytes()))
        .and_then(|()| std::fs::rename(&draft, path(root)));
    replaced
        .map_err(|error| Error::io(format_args!("cannot promote generation `{name}`"), &error))?;
    sync_folder(root)
}

/// Forgets that this generation, or whichever it is, serves queries; whether it did.
pub(crate) fn forget(root: &Path, name: Option<&str>) -> Result<bool> {
    let path = path(root);
    let serving = std::fs::read(&path).ok().and_then(|bytes| name_in(&bytes));
    if serving.is_none() || name.is_some() && serving.as_deref() != name {
        return Ok(false);
    }
    std::fs::remove_file(&path)
        .map_err(|error| Error::io(format_args!("cannot remove {}", path.display()), &error))?;
    sync_folder(root)?;
    Ok(true)
}

/// What is wrong with the file, in an index that has generations or not.
pub(super) fn damage(root: &Path, has_generations: bool) -> Option<&'static str> {
    match std::fs::read(path(root)) {
        Ok(bytes) => name_in(&bytes)
            .is_none()
            .then_some("the name of the serving generation is damaged"),
        Err(_) => {
            has_generations.then_some("is gone: nothing says which generation serves queries")
        }
    }
}

/// Refuses an index whose serving generation is not in its folder.
pub(crate) fn check(root: &Path) -> Result<()> {
    let serving = std::fs::read(path(root))
        .ok()
        .and_then(|bytes| name_in(&bytes));
    let folder = serving.map(|name| super::generation_folder(root, &name));
    match folder.filter(|folder| !folder.is_dir()) {
        Some(folder) => Err(gone(&folder)),
        None => Ok(()),
    }
}

/// The serving generation is not in its folder.
pub(super) fn gone(folder: &Path) -> Error {
    let message = format!(
        "the generation that serves queries is gone: there is no {}",
        folder.display()
    );
    Error::new(ErrorKind::Corrupt, message)
        .with_hint("mount or put it back, or restore a backup; `tributary repair` makes a new one and fills it from the log")
}

/// The name in the file, if its checksum is right. Where the mark of the checksum is damaged, the
/// rest of it is no name.
fn name_in(bytes: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(unsealed(bytes)?).ok()?.trim();
    super::check_name(name).is_ok().then(|| name.to_owned())
}
