//! How documents are converted: in processes of this program, started with the hidden verb
//! `convert-worker`; presentations are drawn by LibreOffice, started with the hidden verb
//! `draw-worker`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tributary_convert::config::Engine;
use tributary_convert::isolation::{ConversionPool, Launch};
use tributary_convert::{BUILTIN_PDF_READER, Converted, Job, LIBRARY_VARIABLE, find_library};
use tributary_models::ocr::OcrSetup;
use tributary_schemas::files;

use crate::args::FileArgument;
use crate::config::Config;
use crate::print;

/// What bounds the size of a file that is read to be converted.
const LIMIT: &str = "`convert.maximum_body_bytes` says how many are read";

/// The verb that a conversion process runs.
pub const WORKER_VERB: &str = "convert-worker";
/// The verb of a process that becomes LibreOffice.
pub const DRAWING_VERB: &str = "draw-worker";

/// What is in a file that a verb converts, or in stdin, up to the size that converters take.
fn content(config: &Config, argument: &FileArgument) -> Result<Vec<u8>> {
    if argument.is_stdin() {
        return from_stdin(config);
    }
    let file = &argument.file;
    let read = files::read_at_most(file, config.convert.maximum_body_bytes);
    read.with_context(|| format!("cannot read {} ({LIMIT})", file.display()))
}

/// What stdin holds, up to the same size.
pub fn from_stdin(config: &Config) -> Result<Vec<u8>> {
    let read = files::read_stream(std::io::stdin(), config.convert.maximum_body_bytes);
    read.with_context(|| format!("cannot read stdin ({LIMIT})"))
}

/// Converters as the configuration wants them.
pub fn pool(config: &Config) -> ConversionPool {
    let mut convert = config.convert.clone();
    let models_folder = Path::new(&config.store.data_folder).join("models");
    // A conversion process has no environment of its own.
    convert.pdf.library = absolute(pdfium(config).unwrap_or_default());
    let ocr = OcrSetup::find(&config.models, &models_folder).map(|setup| OcrSetup {
        library: absolute(setup.library),
        models: absolute(setup.models),
        ..setup
    });
    let launch = convert.isolate_conversion.then(|| Launch {
        program: own_program(),
        arguments: vec![OsString::from(WORKER_VERB)],
        program_arguments: vec![OsString::from(DRAWING_VERB)],
        readable: libraries(&convert.pdf.library),
    });
    ConversionPool::new(convert, ocr, launch)
}

/// The library of PDFium: named by the configuration or the environment, or fetched into a folder
/// of models.
pub fn pdfium(config: &Config) -> Option<PathBuf> {
    let is_named = |path: &PathBuf| !path.as_os_str().is_empty();
    let models_folder = Path::new(&config.store.data_folder).join("models");
    let configured = Some(config.convert.pdf.library.clone()).filter(is_named);
    let named = configured.or_else(|| {
        std::env::var_os(LIBRARY_VARIABLE)
            .map(PathBuf::from)
            .filter(is_named)
    });
    named.or_else(|| find_library(&config.models.folders(&models_folder)))
}

/// A conversion process works in another folder. An empty path stays one.
fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// Where libraries lie that converters load: the one that is named, or those beside the program.
fn libraries(named: &Path) -> Vec<PathBuf> {
    if !named.as_os_str().is_empty() {
        return vec![named.to_owned()];
    }
    std::env::current_exe()
        .ok()
        .and_then(|program| program.parent().map(Path::to_owned))
        .into_iter()
        .collect()
}

/// This very program, even if a newer one has taken its name meanwhile. One that cannot be found is
/// not started: documents wait.
fn own_program() -> PathBuf {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() {
        running
    } else {
        std::env::current_exe().unwrap_or(running)
    }
}

/// Reads and converts one file for a verb.
pub fn convert(config: &Config, argument: &FileArgument) -> Result<Converted> {
    let bytes = content(config, argument)?;
    let name = argument.name();
    let converted = pool(config).convert(Job {
        bytes: &bytes,
        name: name.as_deref(),
        media_type: argument.media_type.as_deref(),
    });
    let converted = converted.with_context(|| match argument.is_stdin() {
        true => {
            "cannot convert what stdin holds (--path NAME.html or --media-type says what it is)"
                .to_owned()
        }
        false => format!("cannot convert {}", argument.file.display()),
    })?;
    if converted.converter == BUILTIN_PDF_READER && config.convert.pdf.engine == Engine::Auto {
        print::note(
            "the built-in reader read this PDF, as PDFium is missing: fewer headings, no scanned pages (`deploy/models/fetch` gets it)",
        );
    }
    Ok(converted)
}
