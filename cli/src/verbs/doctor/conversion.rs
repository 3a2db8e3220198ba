//! What `doctor` says of the programs and libraries that read documents, and of their confinement.

use std::path::Path;

use tributary_convert::config::Engine;
use tributary_convert::slides::office;
use tributary_convert::{is_library_named, probe_library};
use tributary_models::ocr::OcrSetup;

use super::{Check, failed, passed};
use crate::app;
use crate::config::Config;
use crate::conversion;

/// Who reads pages and pictures, and who draws slides. Without them nothing is wrong, but less is
/// found.
pub(super) fn pictures(config: &Config) -> Vec<Check> {
    let folder = Path::new(&config.store.data_folder).join("models");
    let ocr = match OcrSetup::find(&config.models, &folder)
        .and_then(|setup| setup.open().map(|_| setup))
    {
        Ok(setup) => format!("read with the models in {}", setup.models.display()),
        Err(unavailable) => format!("not read: {unavailable}"),
    };
    vec![
        passed("pictures", ocr),
        pdf(config),
        passed("slides", slides(config)),
    ]
}

/// What reads PDFs. Where PDFium is wanted and missing they are read all the same, with less in
/// them, unless nothing else may read them.
fn pdf(config: &Config) -> Check {
    let library = conversion::pdfium(config).unwrap_or_default();
    let mut wanted = config.convert.pdf.clone();
    wanted.library.clone_from(&library);
    if wanted.engine == Engine::Builtin {
        return passed("PDF", "the built-in reader, by `convert.pdf.engine`");
    }
    match probe_library(&wanted) {
        Ok(()) if library.as_os_str().is_empty() => passed("PDF", "PDFium, of the system"),
        Ok(()) => passed("PDF", format!("PDFium, {}", library.display())),
        Err(error) if wanted.engine == Engine::Pdfium || is_library_named(&wanted) => {
            failed("PDF", &error)
        }
        Err(_) => Check {
            hint: Some("`deploy/models/fetch` gets PDFium".to_owned()),
            ..passed(
                "PDF",
                "the built-in reader, as PDFium is missing: fewer headings, no scanned pages, no pictures of pages",
            )
        },
    }
}

fn slides(config: &Config) -> String {
    match office::find(&config.convert.slides) {
        Some(program) => format!("drawn by LibreOffice, {}", program.display()),
        None if config.convert.slides.draw => "not drawn: LibreOffice is not installed".to_owned(),
        None => "not drawn: `convert.slides.draw` is off".to_owned(),
    }
}

/// Whether documents of strangers are converted in confinement, or wait.
pub(super) fn confinement(config: &Config) -> Check {
    match app::look_at_confinement(&conversion::pool(config)) {
        Ok(detail) => passed("confinement", detail),
        Err(error) => failed("confinement", &error),
    }
}
