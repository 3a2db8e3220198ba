//! Finds and loads libonnxruntime, once per process. Called before the first session is opened; also by `doctor`.
//! Nothing here may end the process: a missing, foreign or too old library is an error with a hint.

use crate::{Config, Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tributary_schemas::ErrorKind;

/// Environment variable that names the library, as ONNX Runtime's own tools use it.
pub const LIBRARY_VARIABLE: &str = "ORT_DYLIB_PATH";

const HINT: &str =
    "fetch it with `deploy/models/fetch`, or name a libonnxruntime of version 1.24 or newer in `models.runtime_library` or ORT_DYLIB_PATH";

/// The library that was loaded, if any.
static LOADED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Finds and loads the library that the configuration asks for. A second call does nothing: one process has one runtime.
pub fn initialize(config: &Config, models_folder: &Path) -> Result<PathBuf> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = loaded.as_ref() {
        return Ok(path.clone());
    }
    let path = find_library(config, models_folder)?;
    load_library(&path)?;
    tracing::info!(library = %path.display(), "loaded ONNX Runtime");
    *loaded = Some(path.clone());
    Ok(path)
}

/// Where the library is: configuration, environment, models folder, search folders; the first that is named or exists.
pub fn find_library(config: &Config, models_folder: &Path) -> Result<PathBuf> {
    let named = [
        (config.runtime_library.clone(), "models.runtime_library"),
        (std::env::var(LIBRARY_VARIABLE).unwrap_or_default(), LIBRARY_VARIABLE),
    ];
    if let Some((path, origin)) = named.into_iter().find(|(path, _)| !path.is_empty()) {
        let path = PathBuf::from(path);
        return match path.is_file() {
            true => Ok(path),
            false => {
                Err(Error::new(ErrorKind::NotFound, format!("{origin} names {}, which is not a file", path.display())).with_hint(HINT))
            }
        };
    }
    let folders = config.folders(models_folder);
    folders.iter().find_map(|folder| library_in(&folder.join("onnxruntime"))).ok_or_else(|| {
        let places: Vec<String> = folders.iter().map(|folder| folder.join("onnxruntime").display().to_string()).collect();
        Error::new(ErrorKind::NotFound, format!("libonnxruntime is in none of: {}", places.join(", "))).with_hint(HINT)
    })
}

/// The runtime library of a folder; a plain name is preferred to one with a version.
fn library_in(folder: &Path) -> Option<PathBuf> {
    let plain = ["libonnxruntime.so", "libonnxruntime.dylib", "onnxruntime.dll"].map(|name| folder.join(name));
    if let Some(path) = plain.into_iter().find(|path| path.is_file()) {
        return Some(path);
    }
    let mut versioned: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libonnxruntime.so.")))
        .collect();
    versioned.sort();
    versioned.pop()
}

/// Loads the library at this path: checks that it is one, its version, and that it gives the interface that we were built for.
fn load_library(path: &Path) -> Result<()> {
    let failed =
        |what: String| Err(Error::new(ErrorKind::Unavailable, format!("{} cannot be used: {what}", path.display())).with_hint(HINT));
    let absolute = match path.canonicalize() {
        Ok(absolute) => absolute,
        Err(error) => return failed(error.to_string()),
    };
    // The panics inside the binding are caught; its message would only repeat what the error says.
    let attempt = catch_unwind(AssertUnwindSafe(|| match ort::init_from(&absolute) {
        Ok(builder) => {
            builder.with_name("tributary").with_telemetry(false).commit();
            Ok(ort::info().to_owned())
        }
        Err(error) => Err(error.to_string()),
    }));
    match attempt {
        Ok(Ok(build)) => {
            tracing::debug!(build, "runtime build");
            Ok(())
        }
        Ok(Err(message)) => failed(message),
        Err(_) => failed("it does not give the interface of ONNX Runtime 1.24".to_owned()),
    }
}

/// An error of the runtime while doing `what`.
pub(crate) fn runtime_error(kind: ErrorKind, what: impl std::fmt::Display, error: impl std::fmt::Display) -> Error {
    let message = error.to_string();
    let first_line = message.lines().next().unwrap_or_default();
    Error::new(kind, format!("{what}: {first_line}"))
}
