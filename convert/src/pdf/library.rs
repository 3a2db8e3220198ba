//! Finds and loads libpdfium once per process and hands it to one thread at a time: PDFium is not
//! thread-safe.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use pdfium_render::prelude::{Pdfium, PdfiumLibraryBindings};
use tributary_schemas::{Error, ErrorKind, Result};

use crate::config::PdfConfig;

/// Names a library file or its folder, if the configuration does not.
pub const LIBRARY_VARIABLE: &str = "TRIBUTARY_PDFIUM";

/// The functions of libpdfium.
pub(super) type Bindings = dyn PdfiumLibraryBindings;

static LIBRARY: OnceLock<Mutex<Box<Bindings>>> = OnceLock::new();
static LOADING: Mutex<()> = Mutex::new(());

/// The library, for as long as the guard lives; loaded at the first call, whose configuration
/// decides from where.
///
/// Errors: `Unavailable` if no place has a library that can be loaded.
pub(super) fn lock(config: &PdfConfig) -> Result<MutexGuard<'static, Box<Bindings>>> {
    let library = match LIBRARY.get() {
        Some(library) => library,
        None => load(config)?,
    };
    // A panic elsewhere leaves PDFium itself consistent: every handle is closed while unwinding.
    Ok(library.lock().unwrap_or_else(PoisonError::into_inner))
}

fn load(config: &PdfConfig) -> Result<&'static Mutex<Box<Bindings>>> {
    let _one_at_a_time = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(library) = LIBRARY.get() {
        return Ok(library);
    }
    let mut tried = Vec::new();
    for place in places(config) {
        match Pdfium::bind_to_library(&place) {
            Ok(bindings) => {
                // SAFETY: called once in the process, before every other function of the library.
                unsafe { bindings.FPDF_InitLibrary() };
                return Ok(LIBRARY.get_or_init(|| Mutex::new(bindings)));
            }
            Err(error) => tried.push(format!("{}: {error}", place.display())),
        }
    }
    Err(Error::new(ErrorKind::Unavailable, format!("libpdfium cannot be loaded ({})", tried.join("; "))).with_hint(format!(
        "get it with `deploy/models/fetch`, or install it (the Python wheel `pypdfium2` has it) and set `convert.pdf.library` or \
         {LIBRARY_VARIABLE} to its path"
    )))
}

/// Loads the library, as the first PDF would.
///
/// Errors: `Unavailable` if no place has a library that can be loaded.
pub fn probe(config: &PdfConfig) -> Result<()> {
    lock(config).map(drop)
}

/// Whether somebody said where the library is: then another reader must not take its place
/// unnoticed.
pub fn is_named(config: &PdfConfig) -> bool {
    !config.library.as_os_str().is_empty()
        || std::env::var_os(LIBRARY_VARIABLE).is_some_and(|named| !named.is_empty())
}

/// Where to look, in order. A place that was named is the only one: a typing mistake must not load
/// some other library.
fn places(config: &PdfConfig) -> Vec<PathBuf> {
    if !config.library.as_os_str().is_empty() {
        return vec![in_folder(&config.library)];
    }
    if let Some(named) = std::env::var_os(LIBRARY_VARIABLE).filter(|named| !named.is_empty()) {
        return vec![in_folder(Path::new(&named))];
    }
    let name = PathBuf::from(Pdfium::pdfium_platform_library_name());
    let beside = std::env::current_exe()
        .ok()
        .and_then(|program| Some(program.parent()?.join(&name)))
        .filter(|path| path.exists());
    beside.into_iter().chain([name]).collect()
}

/// The library in the folder `pdfium` of one of these folders, where `deploy/models/fetch` puts it.
pub fn find(folders: &[PathBuf]) -> Option<PathBuf> {
    let name = Pdfium::pdfium_platform_library_name();
    folders
        .iter()
        .map(|folder| folder.join("pdfium").join(&name))
        .find(|path| path.is_file())
}

fn in_folder(path: &Path) -> PathBuf {
    if path.is_dir() {
        Pdfium::pdfium_platform_library_name_at_path(path)
    } else {
        path.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_place_is_the_only_one() {
        let named = PdfConfig {
            library: "/nowhere/libpdfium.so".into(),
            ..PdfConfig::default()
        };
        assert_eq!(places(&named), [PathBuf::from("/nowhere/libpdfium.so")]);
        let folder = PdfConfig {
            library: std::env::temp_dir(),
            ..PdfConfig::default()
        };
        assert!(
            places(&folder)
                .iter()
                .all(|place| place.ends_with(Pdfium::pdfium_platform_library_name()))
        );
    }
}
