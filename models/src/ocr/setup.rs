//! Finds the models and the runtime that recognition needs, so that another process can open them.
//! The command line knows the folders; conversion processes know only what is found here.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::config::OcrConfig;
use super::{DETECTION_FILE, ORIENTATION_FILE, OcrUnavailable, PpOcr, RECOGNITION_FILE};
use crate::{Config, runtime};

/// Everything that opening a recogniser takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OcrSetup {
    /// libonnxruntime.
    pub library: PathBuf,
    /// Folder with the models.
    pub models: PathBuf,
    /// How it reads.
    pub config: OcrConfig,
}

/// Without the folder: readers of a document are told the reason, too.
fn not_installed(folders: &[PathBuf], name: &str) -> OcrUnavailable {
    let first = folders
        .first()
        .map(|folder| folder.join(name))
        .unwrap_or_default();
    OcrUnavailable::new(format!(
        "the models that read text in pictures are not installed ({} is missing): get them with `tributary models pull ocr`",
        missing_file(&first).unwrap_or(DETECTION_FILE),
    ))
}

impl OcrSetup {
    /// Looks where the configuration says; loads nothing.
    pub fn find(config: &Config, models_folder: &Path) -> Result<Self, OcrUnavailable> {
        let ocr = &config.ocr;
        if !ocr.enabled {
            return Err(OcrUnavailable::new(
                "reading text in pictures is turned off (`models.ocr.enabled`)",
            ));
        }
        let folders = config.folders(models_folder);
        // An absolute path takes the place of the folder that it is joined to.
        let places = folders.iter().map(|folder| folder.join(&ocr.folder));
        let Some(models) = places
            .into_iter()
            .find(|folder| missing_file(folder).is_none())
        else {
            return Err(not_installed(&folders, &ocr.folder));
        };
        match runtime::find_library(config, models_folder) {
            Ok(library) => Ok(Self {
                library,
                models,
                config: ocr.clone(),
            }),
            Err(error) => Err(OcrUnavailable::new(error.to_string())),
        }
    }

    /// Loads the runtime, unless this process has one, and the recogniser. Its models are opened
    /// when the first page comes.
    pub fn open(&self) -> Result<PpOcr, OcrUnavailable> {
        runtime::initialize_from(&self.library)
            .map_err(|error| OcrUnavailable::new(error.to_string()))?;
        PpOcr::open(&self.models, &self.config)
    }
}

fn missing_file(folder: &Path) -> Option<&'static str> {
    [DETECTION_FILE, RECOGNITION_FILE, ORIENTATION_FILE]
        .into_iter()
        .find(|file| !folder.join(file).is_file())
}
