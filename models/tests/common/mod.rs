//! Finds the shared models, texts and runtime for the tests and benchmarks of this crate; what is
//! absent is told loudly.
#![allow(dead_code, clippy::unwrap_used, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use tributary_models::chat::ChatConfig;
use tributary_models::ocr::OcrConfig;
use tributary_models::{Config, EmbedderKind, RerankerConfig, RerankerKind};

/// The folder of shared test material.
pub fn shared() -> Option<PathBuf> {
    let named = std::env::var_os("TRIBUTARY_SHARED").map(PathBuf::from);
    let folder =
        named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"));
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!(
        "SKIPPED: {} is not there (set TRIBUTARY_SHARED)",
        folder.display()
    );
    None
}

/// The folder of shared models.
pub fn models_folder() -> Option<PathBuf> {
    let folder = shared()?.join("models");
    if folder.join("multilingual-e5-small/config.json").is_file() {
        return Some(folder);
    }
    eprintln!(
        "SKIPPED: {} holds no multilingual-e5-small",
        folder.display()
    );
    None
}

/// Small models that `make_models.py` wrote.
pub fn tiny_models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// A configuration for a model.
pub fn config(folder: &str) -> Config {
    Config {
        kind: EmbedderKind::Onnx,
        folder: folder.to_owned(),
        coarse_folder: String::new(),
        coarse_dimensions: 0,
        hashing_dimensions: 384,
        allow_hashing_fallback: false,
        runtime_library: String::new(),
        search_folders: runtime_folders(),
        sessions: 2,
        session_threads: 1,
        batch_token_budget: 512,
        hub_url: String::new(),
        package_index_url: String::new(),
        reranker: RerankerConfig {
            kind: RerankerKind::None,
            folder: String::new(),
        },
        ocr: ocr_config(),
        chat: chat_config(),
    }
}

/// As in the command line's default configuration.
pub fn chat_config() -> ChatConfig {
    let defaults: toml::Table = include_str!("../../../cli/default.toml").parse().unwrap();
    defaults["models"]["chat"].clone().try_into().unwrap()
}

/// As in the command line's default configuration.
pub fn ocr_config() -> OcrConfig {
    OcrConfig {
        enabled: true,
        folder: "ocr".to_owned(),
        minimum_confidence: 0.5,
        maximum_detection_side: 1440,
        minimum_detection_side: 544,
        maximum_lines_per_page: 3000,
        sessions: 1,
        session_threads: 1,
    }
}

/// Where a fetched runtime may lie: the default target of `deploy/models/fetch`.
fn runtime_folders() -> Vec<String> {
    vec![
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../.tributary/models")
            .display()
            .to_string(),
    ]
}

/// A configuration whose runtime is there, or a loud skip.
pub fn runnable(folder: &str) -> Option<Config> {
    let config = config(folder);
    match tributary_models::runtime::find_library(&config, Path::new("absent")) {
        Ok(_) => Some(config),
        Err(error) => {
            eprintln!("SKIPPED: {}", error.full_message());
            None
        }
    }
}

/// All paragraphs of the shared corpora: JSON lines' titles and texts, and the lines of the
/// document folders.
pub fn paragraphs() -> Option<Vec<String>> {
    let data = shared()?.join("data");
    let mut all = Vec::new();
    for set in [
        "cmrc2018-zh",
        "drcd-zht",
        "xquad-zh-en",
        "wireless-zh",
        "zh-large",
        "cranfield-en",
        "npl-en-11k",
    ] {
        let Ok(text) = std::fs::read_to_string(data.join(set).join("corpus.jsonl")) else {
            continue;
        };
        for line in text.lines() {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            all.extend(
                ["title", "text"]
                    .iter()
                    .filter_map(|key| value[*key].as_str())
                    .map(str::to_owned),
            );
        }
    }
    for folder in ["mindspore", "os-textbook", "wireless-docs"] {
        collect_lines(&data.join(folder), &mut all);
    }
    (!all.is_empty()).then_some(all)
}

fn collect_lines(folder: &Path, all: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect_lines(&path, all);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            all.extend(
                text.split("\n\n")
                    .filter(|paragraph| !paragraph.is_empty())
                    .map(str::to_owned),
            );
        }
    }
}

/// CPU seconds that this thread has used.
pub fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .unwrap_or_default();
    text.split(' ')
        .next()
        .and_then(|field| field.parse::<f64>().ok())
        .unwrap_or(0.0)
        / 1e9
}

/// The dot product.
pub fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter()
        .zip(right)
        .map(|(left, right)| left * right)
        .sum()
}
