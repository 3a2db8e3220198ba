//! A model folder: `config.json` with the model's settings beside its ONNX and tokenizer files.
//! Read by the embedders, the rerankers, the registry and `doctor`.
//!
//! Checksums are checked by [`ModelFolder::verify`] (on `models pull` and in `doctor`), not at
//! every start: hashing reads the whole model, while a damaged model is also refused by the
//! runtime. A verified file is not read again while its size and time stay the same.

use crate::{Error, Result};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::SystemTime;
use tributary_schemas::ErrorKind;

/// What a model is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// Texts to vectors.
    #[serde(alias = "embedder")]
    Embedding,
    /// Pairs of texts to scores.
    #[serde(alias = "cross-encoder")]
    Reranker,
    /// Pictures to text: several models, whose files are those with a checksum.
    Ocr,
}

impl ModelKind {
    /// The name in listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
            Self::Reranker => "reranker",
            Self::Ocr => "ocr",
        }
    }
}

/// How token vectors become one text vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// Mean over the tokens of the attention mask.
    Mean,
    /// The first token.
    Cls,
    /// The last token of the attention mask.
    Last,
}

/// `config.json` of a model folder; further keys are allowed.
#[derive(Clone, Debug, Deserialize)]
pub struct ModelSettings {
    /// Name of the model.
    pub name: String,
    /// What it is for.
    pub kind: ModelKind,
    /// Name of the ONNX file; empty for OCR.
    #[serde(default)]
    pub onnx_file: String,
    /// Name of the tokenizer file; empty for OCR.
    #[serde(default)]
    pub tokenizer_file: String,
    /// Name of the output to read; the first one if absent.
    #[serde(default)]
    pub output: Option<String>,
    /// Length of the vectors.
    #[serde(default)]
    pub hidden_size: usize,
    /// Most tokens of a text or pair, special tokens included; 0 for OCR.
    #[serde(default)]
    pub max_length: usize,
    /// How token vectors become one; ignored when the output is already one vector per text.
    #[serde(default = "mean_pooling")]
    pub pooling: Pooling,
    /// Whether vectors are scaled to unit length by us. They always are; `false` only says that
    /// the model was trained without it.
    #[serde(default = "always")]
    pub normalize: bool,
    /// Put before a question.
    #[serde(default)]
    pub query_prefix: String,
    /// Put before a passage.
    #[serde(default)]
    pub passage_prefix: String,
    /// Token that fills shorter texts of a batch.
    #[serde(default)]
    pub pad_token_id: i64,
    /// Prefix lengths at which vectors may be cut; empty = not a Matryoshka model.
    #[serde(default)]
    pub matryoshka_dimensions: Vec<usize>,
    /// SHA-256 of files, by name, as lowercase hex.
    #[serde(default)]
    pub sha256: BTreeMap<String, String>,
}

impl ModelSettings {
    /// Names of all files that the settings name, some of them twice.
    pub fn files(&self) -> impl Iterator<Item = &String> {
        [&self.onnx_file, &self.tokenizer_file]
            .into_iter()
            .filter(|name| !name.is_empty())
            .chain(self.sha256.keys())
    }
}

fn mean_pooling() -> Pooling {
    Pooling::Mean
}

fn always() -> bool {
    true
}

/// A model folder that exists and can be read.
#[derive(Clone, Debug)]
pub struct ModelFolder {
    /// Where it is.
    pub path: PathBuf,
    /// Its settings.
    pub settings: ModelSettings,
}

impl ModelFolder {
    /// Finds a model by name in the folders (the first that has it), or by path, and reads its
    /// settings.
    pub fn find(name: &str, folders: &[PathBuf]) -> Result<Self> {
        if name.is_empty() {
            return Err(
                Error::new(ErrorKind::Invalid, "no model folder is configured")
                    .with_hint("set `models.folder`"),
            );
        }
        let as_path = Path::new(name);
        if as_path.is_absolute() || name.starts_with("./") || name.starts_with("../") {
            return Self::open(as_path);
        }
        match folders
            .iter()
            .map(|folder| folder.join(name))
            .find(|path| path.join("config.json").is_file())
        {
            Some(path) => Self::open(&path),
            None => {
                let places: Vec<String> = folders
                    .iter()
                    .map(|folder| folder.display().to_string())
                    .collect();
                Err(Error::new(ErrorKind::NotFound, format!("model `{name}` is in none of: {}", places.join(", "))).with_hint(format!(
                    "fetch it with `deploy/models/fetch` or `tributary models pull {name}`, or set `models.kind = \"hashing\"`"
                )))
            }
        }
    }

    /// Reads the settings of a folder and checks that its files are there.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = Self::read_settings(path)?;
        if let Some(file) = folder.missing_files().into_iter().next() {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("model file {} is missing", path.join(&file).display()),
            )
            .with_hint(
                "fetch the model again with `deploy/models/fetch` or `tributary models pull`",
            ));
        }
        Ok(folder)
    }

    /// Reads the settings only.
    pub fn read_settings(path: &Path) -> Result<Self> {
        let file = path.join("config.json");
        let text = tributary_schemas::files::read(&file).map_err(|error| {
            Error::io(format_args!("reading {}", file.display()), &error)
                .with_hint("a model folder needs a config.json; fetch the model")
        })?;
        let settings: ModelSettings = serde_json::from_slice(&text).map_err(|error| {
            Error::new(
                ErrorKind::Corrupt,
                format!("{} is not a model description: {error}", file.display()),
            )
            .with_hint("compare it with the config.json of a model that works")
        })?;
        check_settings(&settings, &file)?;
        Ok(Self {
            path: path.to_path_buf(),
            settings,
        })
    }

    /// Path of the ONNX file.
    pub fn onnx_file(&self) -> PathBuf {
        self.path.join(&self.settings.onnx_file)
    }

    /// Path of the tokenizer file.
    pub fn tokenizer_file(&self) -> PathBuf {
        self.path.join(&self.settings.tokenizer_file)
    }

    /// Names of files that should be here and are not.
    pub fn missing_files(&self) -> Vec<String> {
        let named: BTreeSet<&String> = self.settings.files().collect();
        named
            .into_iter()
            .filter(|name| !self.path.join(name).is_file())
            .cloned()
            .collect()
    }

    /// Bytes of all files in the folder.
    pub fn size_bytes(&self) -> u64 {
        let entries = std::fs::read_dir(&self.path)
            .into_iter()
            .flatten()
            .flatten();
        entries
            .filter_map(|entry| entry.metadata().ok())
            .filter(std::fs::Metadata::is_file)
            .map(|metadata| metadata.len())
            .sum()
    }

    /// Compares every file with the checksum that the settings name.
    pub fn verify(&self) -> Result<()> {
        for (name, expected) in &self.settings.sha256 {
            let path = self.path.join(name);
            let found = file_sha256(&path)?;
            if !found.eq_ignore_ascii_case(expected) {
                return Err(Error::new(
                    ErrorKind::Corrupt,
                    format!(
                        "checksum of {} is {found}, its config.json says {expected}",
                        path.display()
                    ),
                )
                .with_hint("remove the file and fetch the model again"));
            }
        }
        Ok(())
    }

    /// Name and version: twelve hex digits over everything that decides what a vector or score is.
    pub fn versioned_name(&self) -> Result<String> {
        let settings = &self.settings;
        let mut hash = Sha256::new();
        for name in [&settings.onnx_file, &settings.tokenizer_file] {
            let checksum = match settings.sha256.get(name) {
                Some(checksum) => checksum.to_ascii_lowercase(),
                None => file_sha256(&self.path.join(name))?,
            };
            hash.update(checksum.as_bytes());
        }
        hash.update(format!(
            "{:?} {:?} {} {:?} {:?} {}",
            settings.output,
            settings.pooling,
            settings.max_length,
            settings.query_prefix,
            settings.passage_prefix,
            settings.hidden_size
        ));
        let digits = hex(&hash.finalize());
        Ok(format!(
            "{}@{}",
            settings.name,
            digits.chars().take(12).collect::<String>()
        ))
    }
}

/// Refuses settings that cannot work, and file names that leave the folder.
fn check_settings(settings: &ModelSettings, file: &Path) -> Result<()> {
    let invalid = |what: String| {
        Err(Error::new(
            ErrorKind::Invalid,
            format!("{}: {what}", file.display()),
        ))
    };
    for name in settings.files() {
        let mut parts = Path::new(name).components();
        if !parts
            .clone()
            .all(|part| matches!(part, std::path::Component::Normal(_)))
            || parts.next().is_none()
        {
            return invalid(format!(
                "`{name}` is not a file name inside the model folder"
            ));
        }
    }
    if settings.kind == ModelKind::Ocr {
        return if settings.sha256.is_empty() {
            invalid("sha256 names no file".to_owned())
        } else {
            Ok(())
        };
    }
    for (key, name) in [
        ("onnx_file", &settings.onnx_file),
        ("tokenizer_file", &settings.tokenizer_file),
    ] {
        if name.is_empty() {
            return invalid(format!("{key} is missing"));
        }
    }
    if settings.max_length < 8 {
        return invalid(format!("max_length {} is too small", settings.max_length));
    }
    if settings.kind == ModelKind::Embedding && settings.hidden_size == 0 {
        return invalid("hidden_size is missing".to_owned());
    }
    if let Some(wrong) = settings
        .matryoshka_dimensions
        .iter()
        .find(|cut| **cut == 0 || **cut > settings.hidden_size)
    {
        return invalid(format!(
            "matryoshka dimension {wrong} is not between 1 and {}",
            settings.hidden_size
        ));
    }
    Ok(())
}

/// Size and time of a file when it was hashed, and the result.
type Verified = HashMap<PathBuf, (u64, Option<SystemTime>, String)>;

static VERIFIED: LazyLock<Mutex<Verified>> = LazyLock::new(Mutex::default);

/// SHA-256 of a file as lowercase hex; remembered in memory while size and time of the file stay
/// the same.
pub fn file_sha256(path: &Path) -> Result<String> {
    let failed =
        |error: std::io::Error| Error::io(format_args!("reading {}", path.display()), &error);
    let mut file = tributary_schemas::files::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let stamp = (metadata.len(), metadata.modified().ok());
    if let Some((size, modified, checksum)) = VERIFIED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(path)
        && (*size, *modified) == stamp
    {
        return Ok(checksum.clone());
    }
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        let read = file.read(&mut buffer).map_err(failed)?;
        let Some(part) = buffer.get(..read).filter(|part| !part.is_empty()) else {
            break;
        };
        hash.update(part);
    }
    let checksum = hex(&hash.finalize());
    let entry = (stamp.0, stamp.1, checksum.clone());
    VERIFIED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(path.to_path_buf(), entry);
    Ok(checksum)
}

/// Lowercase hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
