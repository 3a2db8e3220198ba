//! Downloads from a hub with the layout of Hugging Face: `/api/models/<name>/tree/main` lists files
//! with sizes and, for large ones, SHA-256; `/<name>/resolve/main/<file>` gives a file and honours
//! `Range`.

use super::download::{Downloader, RemoteFile};
use super::pull::Progress;
use crate::{Error, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::Path;
use tributary_schemas::ErrorKind;

/// ONNX files in the order in which we like them: small ones first, all of them run on a CPU.
const ONNX_FILES: [&str; 6] = [
    "model_int8.onnx",
    "onnx/model_int8.onnx",
    "onnx/model_quantized.onnx",
    "onnx/model_uint8.onnx",
    "onnx/model.onnx",
    "model.onnx",
];

/// One hub.
pub(super) struct Hub {
    address: String,
    downloader: Downloader,
}

/// A line of the listing.
#[derive(Debug, Deserialize)]
struct ListedFile {
    path: String,
    #[serde(default)]
    size: u64,
    lfs: Option<LargeFile>,
}

#[derive(Debug, Deserialize)]
struct LargeFile {
    oid: String,
}

impl Hub {
    pub(super) fn new(address: &str) -> Self {
        Self {
            address: address.trim_end_matches('/').to_owned(),
            downloader: Downloader::new(),
        }
    }

    /// Downloads a model into the folder and writes its `config.json` last.
    pub(super) fn download(
        &self,
        name: &str,
        folder: &Path,
        progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<()> {
        let files = self.list(name)?;
        if find(&files, "config.json").is_none() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("`{name}` on {} has no config.json", self.address),
            ));
        }
        let upstream = self.json(name, "config.json")?;
        let (onnx, tokenizer) = needed(&files, &upstream).ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, format!("`{name}` on {} has no ONNX file or no tokenizer.json", self.address))
                .with_hint("choose a model that was exported to ONNX, or export it and pull from a local folder")
        })?;
        let mut checksums = Map::new();
        for file in [tokenizer, onnx] {
            let local = local_name(&file.path);
            let remote = self.remote(name, file);
            let checksum = self
                .downloader
                .fetch(&remote, &folder.join(local), progress)?;
            checksums.insert(local.to_owned(), Value::String(checksum));
        }
        let settings = match upstream.get("onnx_file") {
            Some(_) => with_checksums(upstream, checksums),
            None => {
                self.derive_settings(name, &upstream, &files, local_name(&onnx.path), checksums)
            }
        };
        let text = serde_json::to_vec_pretty(&settings)
            .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        std::fs::write(folder.join("config.json"), text)
            .map_err(|error| Error::io("writing config.json", &error))
    }

    fn remote(&self, name: &str, file: &ListedFile) -> RemoteFile {
        let sha256 = file
            .lfs
            .as_ref()
            .map(|large| large.oid.trim_start_matches("sha256:").to_ascii_lowercase());
        RemoteFile {
            url: self.file_url(name, &file.path),
            name: file.path.clone(),
            bytes: file.size,
            sha256,
        }
    }

    fn list(&self, name: &str) -> Result<Vec<ListedFile>> {
        let url = format!(
            "{}/api/models/{name}/tree/main?recursive=true",
            self.address
        );
        let text = self.text(&url, &format!("model `{name}`"))?;
        serde_json::from_str(&text).map_err(|error| {
            Error::new(
                ErrorKind::Corrupt,
                format!("{url} is not a list of files: {error}"),
            )
            .with_hint("check `models.hub_url`")
        })
    }

    fn json(&self, name: &str, file: &str) -> Result<Value> {
        let url = self.file_url(name, file);
        let text = self.text(&url, file)?;
        serde_json::from_str(&text)
            .map_err(|error| Error::new(ErrorKind::Corrupt, format!("{url} is not JSON: {error}")))
    }

    fn file_url(&self, name: &str, file: &str) -> String {
        format!("{}/{name}/resolve/main/{file}", self.address)
    }

    /// A small text; `what` is named when it is not there.
    fn text(&self, url: &str, what: &str) -> Result<String> {
        self.downloader.text(url, "*/*")?.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("{} has no {what}, or it is not public", self.address))
                .with_hint("check the name, `owner/name`; models that need a login must be downloaded by hand and pulled from the folder")
        })
    }

    /// Our settings out of the files that sentence-transformers and transformers write.
    fn derive_settings(
        &self,
        name: &str,
        upstream: &Value,
        files: &[ListedFile],
        onnx_file: &str,
        checksums: Map<String, Value>,
    ) -> Value {
        let optional = |path: &str| match files.iter().any(|file| file.path == path) {
            true => self.json(name, path).unwrap_or(Value::Null),
            false => Value::Null,
        };
        let (pooling, prompts) = (
            optional("1_Pooling/config.json"),
            optional("config_sentence_transformers.json"),
        );
        let reranker = upstream["architectures"]
            .to_string()
            .contains("ForSequenceClassification");
        let (query_prefix, passage_prefix) = if reranker {
            (String::new(), String::new())
        } else {
            prefixes(name, &prompts["prompts"])
        };
        json!({
            "name": name.rsplit('/').next().unwrap_or(name),
            "upstream": name,
            "kind": if reranker { "reranker" } else { "embedding" },
            "onnx_file": onnx_file,
            "tokenizer_file": "tokenizer.json",
            "hidden_size": upstream["hidden_size"].as_u64().unwrap_or(0),
            "max_length": maximum_length(upstream, &optional("tokenizer_config.json")),
            "pooling": pooling_name(&pooling),
            "normalize": true,
            "query_prefix": query_prefix,
            "passage_prefix": passage_prefix,
            "pad_token_id": upstream["pad_token_id"].as_i64().unwrap_or(0),
            "matryoshka_dimensions": upstream.get("matryoshka_dimensions").cloned().unwrap_or_else(|| json!([])),
            "sha256": checksums,
        })
    }
}

/// Name in our folder: the hub's subfolders are dropped.
fn local_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn with_checksums(mut settings: Value, checksums: Map<String, Value>) -> Value {
    let mut named: Map<String, Value> = settings["sha256"].as_object().cloned().unwrap_or_default();
    for (file, checksum) in checksums {
        named.entry(file).or_insert(checksum);
    }
    settings["sha256"] = Value::Object(named);
    for key in ["onnx_file", "tokenizer_file"] {
        if let Some(path) = settings[key]
            .as_str()
            .map(|path| local_name(path).to_owned())
        {
            settings[key] = Value::String(path);
        }
    }
    settings
}

fn find<'a>(files: &'a [ListedFile], path: &str) -> Option<&'a ListedFile> {
    files.iter().find(|file| file.path == path)
}

/// The ONNX file and the tokenizer: those that the model's settings name, or the usual ones.
fn needed<'a>(
    files: &'a [ListedFile],
    upstream: &Value,
) -> Option<(&'a ListedFile, &'a ListedFile)> {
    let onnx = match upstream["onnx_file"].as_str() {
        Some(path) => find(files, path),
        None => ONNX_FILES.iter().find_map(|path| find(files, path)),
    };
    let tokenizer = upstream["tokenizer_file"]
        .as_str()
        .unwrap_or("tokenizer.json");
    onnx.zip(find(files, tokenizer))
}

fn pooling_name(config: &Value) -> &'static str {
    match config {
        _ if config["pooling_mode_cls_token"] == true => "cls",
        _ if config["pooling_mode_lasttoken"] == true => "last",
        _ => "mean",
    }
}

/// Most tokens: positions of the model (RoBERTa's start after the padding id) and the tokenizer's
/// own limit, whichever is less.
fn maximum_length(upstream: &Value, tokenizer: &Value) -> u64 {
    let mut positions = upstream["max_position_embeddings"].as_u64().unwrap_or(512);
    if upstream["model_type"]
        .as_str()
        .is_some_and(|kind| kind.contains("roberta"))
    {
        positions = positions.saturating_sub(upstream["pad_token_id"].as_u64().unwrap_or(1) + 1);
    }
    // Absent limits are written as a huge float.
    let limit = tokenizer["model_max_length"]
        .as_u64()
        .filter(|limit| *limit >= 8)
        .unwrap_or(u64::MAX);
    positions.min(limit).max(8)
}

/// Prefixes from the model's own prompts; the e5 family has its in the model card only.
fn prefixes(name: &str, prompts: &Value) -> (String, String) {
    let prompt = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| prompts[*name].as_str())
            .map(str::to_owned)
    };
    let e5 = name
        .rsplit('/')
        .next()
        .unwrap_or(name)
        .split('-')
        .any(|part| part == "e5");
    let default = |text: &str| if e5 { text.to_owned() } else { String::new() };
    (
        prompt(&["query"]).unwrap_or_else(|| default("query: ")),
        prompt(&["passage", "document"]).unwrap_or_else(|| default("passage: ")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_the_libraries_mean_them() {
        let bert = json!({"max_position_embeddings": 512, "model_type": "bert", "pad_token_id": 0});
        assert_eq!(
            maximum_length(&bert, &json!({"model_max_length": 256})),
            256
        );
        assert_eq!(
            maximum_length(&bert, &json!({"model_max_length": 1e30})),
            512
        );
        let roberta =
            json!({"max_position_embeddings": 514, "model_type": "xlm-roberta", "pad_token_id": 1});
        assert_eq!(maximum_length(&roberta, &Value::Null), 512);
        assert_eq!(
            prefixes("intfloat/multilingual-e5-small", &Value::Null),
            ("query: ".to_owned(), "passage: ".to_owned())
        );
        assert_eq!(
            prefixes("a/b", &json!({"query": "q: ", "document": "d: "})),
            ("q: ".to_owned(), "d: ".to_owned())
        );
        assert_eq!(
            prefixes("a/gte5", &Value::Null),
            (String::new(), String::new())
        );
        assert_eq!(
            pooling_name(&json!({"pooling_mode_cls_token": true})),
            "cls"
        );
    }
}
