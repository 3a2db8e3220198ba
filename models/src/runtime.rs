//! Finds and loads libonnxruntime, once per process. Called before the first session is opened;
//! also by `doctor`. Nothing here may end the process: a missing, foreign or too old library is an
//! error with a hint.

use crate::{Config, Error, Result};
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tributary_schemas::ErrorKind;

/// Environment variable that names the library, as ONNX Runtime's own tools use it.
pub const LIBRARY_VARIABLE: &str = "ORT_DYLIB_PATH";

const HINT: &str = "fetch it with `deploy/models/fetch`, or name a libonnxruntime of version 1.24 or newer in `models.runtime_library` or ORT_DYLIB_PATH";

/// The library that was loaded, if any.
static LOADED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Finds and loads the library that the configuration asks for. A second call does nothing: one
/// process has one runtime.
pub fn initialize(config: &Config, models_folder: &Path) -> Result<PathBuf> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = loaded.as_ref() {
        return Ok(path.clone());
    }
    let path = find_library(config, models_folder)?;
    load_library(&path)?;
    *loaded = Some(path.clone());
    Ok(path)
}

/// Loads the library at this path, unless one is loaded already.
pub fn initialize_from(path: &Path) -> Result<()> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if loaded.is_none() {
        load_library(path)?;
        *loaded = Some(path.to_owned());
    }
    Ok(())
}

/// Where the library is: configuration, environment, models folder, search folders; the first that
/// is named or exists.
pub fn find_library(config: &Config, models_folder: &Path) -> Result<PathBuf> {
    let named = [
        (config.runtime_library.clone(), "models.runtime_library"),
        (
            std::env::var(LIBRARY_VARIABLE).ok().unwrap_or_default(),
            LIBRARY_VARIABLE,
        ),
    ];
    if let Some((path, origin)) = named.into_iter().find(|(path, _)| !path.is_empty()) {
        let path = PathBuf::from(path);
        return match path.is_file() {
            true => Ok(path),
            false => Err(Error::new(
                ErrorKind::NotFound,
                format!("{origin} names {}, which is not a file", path.display()),
            )
            .with_hint(HINT)),
        };
    }
    let folders = config.folders(models_folder);
    folders
        .iter()
        .find_map(|folder| library_in(&folder.join("onnxruntime")))
        .ok_or_else(|| no_library(&folders))
}

fn no_library(folders: &[PathBuf]) -> Error {
    let places: Vec<String> = folders
        .iter()
        .map(|folder| folder.join("onnxruntime").display().to_string())
        .collect();
    Error::new(
        ErrorKind::NotFound,
        format!("libonnxruntime is in none of: {}", places.join(", ")),
    )
    .with_hint(HINT)
}

/// The runtime library of a folder; a plain name is preferred to one with a version.
fn library_in(folder: &Path) -> Option<PathBuf> {
    let plain = [
        "libonnxruntime.so",
        "libonnxruntime.dylib",
        "onnxruntime.dll",
    ]
    .map(|name| folder.join(name));
    if let Some(path) = plain.into_iter().find(|path| path.is_file()) {
        return Some(path);
    }
    let mut versioned: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("libonnxruntime.so."))
        })
        .collect();
    versioned.sort();
    versioned.pop()
}

/// Loads the library at this path, after checking it: a failure inside the binding's own loading
/// would leave the binding unusable (its cell for the library then counts as filled), so it is only
/// asked for libraries that are known to work.
fn load_library(path: &Path) -> Result<()> {
    let failed = |what: String| {
        Error::new(
            ErrorKind::Unavailable,
            format!("{} cannot be used: {what}", path.display()),
        )
        .with_hint(HINT)
    };
    let absolute = path
        .canonicalize()
        .map_err(|error| failed(error.to_string()))?;
    let version = check_library(&absolute).map_err(failed)?;
    let attempt = catch_unwind(AssertUnwindSafe(|| {
        ort::init_from(&absolute)
            .map(|builder| {
                builder
                    .with_name("tributary")
                    .with_telemetry(false)
                    .commit()
            })
            .map_err(|error| error.to_string())
    }));
    match attempt {
        Ok(Ok(_)) => {
            tracing::info!(library = %path.display(), version, "loaded ONNX Runtime");
            Ok(())
        }
        Ok(Err(message)) => Err(failed(message)),
        Err(_) => Err(failed("its loading panicked".to_owned())),
    }
}

/// Checks that a library is an ONNX Runtime of a version that gives our interface; returns its
/// version.
fn check_library(path: &Path) -> std::result::Result<String, String> {
    type BaseGetter = unsafe extern "C" fn() -> *const ort::sys::OrtApiBase;
    // SAFETY: loading a library runs its initialisers; the operator named this file as the runtime
    // to run.
    let library = unsafe { libloading::Library::new(path) }
        .map_err(|error| format!("it is not a library that loads: {error}"))?;
    // SAFETY: the symbol has this type in every ONNX Runtime since 1.0, and a base that is not null
    // lives as long as the library.
    let base = unsafe {
        let getter = library
            .get::<BaseGetter>(b"OrtGetApiBase")
            .map_err(|_| "it is no ONNX Runtime (no OrtGetApiBase)".to_owned())?;
        getter().as_ref().ok_or("it gives no interface at all")?
    };
    // SAFETY: the version string is a constant of the library.
    let version = unsafe { CStr::from_ptr((base.GetVersionString)()) }
        .to_string_lossy()
        .into_owned();
    let mut numbers = version
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or(0));
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if found < (1, ort::MINOR_VERSION) {
        return Err(format!(
            "its version is {version}, 1.{} or newer is needed",
            ort::MINOR_VERSION
        ));
    }
    // SAFETY: asking for an interface version has no effect; null means that it is not given.
    if unsafe { (base.GetApi)(ort::sys::ORT_API_VERSION) }.is_null() {
        return Err(format!(
            "it says version {version} but does not give the interface of 1.{}",
            ort::MINOR_VERSION
        ));
    }
    // Stays loaded: the binding opens the same file again and expects it to be there for ever.
    std::mem::forget(library);
    Ok(version)
}

/// An error of the runtime while doing `what`.
pub(crate) fn runtime_error(
    kind: ErrorKind,
    what: impl std::fmt::Display,
    error: impl std::fmt::Display,
) -> Error {
    let message = error.to_string();
    let first_line = message.lines().next().unwrap_or_default();
    Error::new(kind, format!("{what}: {first_line}"))
}
