//! Runtime libraries that are missing, foreign, too old or lying: errors with a hint, never the end
//! of the process. A process of its own, because a library is loaded once per process.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use tributary_models::runtime::{find_library, initialize};
use tributary_models::{EmbedderKind, load};
use tributary_schemas::ErrorKind;

/// Compiles a library that claims to be ONNX Runtime of this version and gives no interface at all.
fn fake_runtime(folder: &Path, version: &str) -> Option<PathBuf> {
    let source = folder.join("fake.rs");
    let library = folder.join(format!("libfake_{}.so", version.replace('.', "_")));
    let text = r#"
        use std::ffi::{c_char, c_void};
        #[repr(C)] pub struct Base { api: extern "C" fn(u32) -> *const c_void, version: extern "C" fn() -> *const c_char }
        extern "C" fn api(_: u32) -> *const c_void { std::ptr::null() }
        extern "C" fn version() -> *const c_char { c"VERSION".as_ptr() }
        static BASE: Base = Base { api, version };
        #[unsafe(no_mangle)] pub extern "C" fn OrtGetApiBase() -> *const Base { &raw const BASE }
    "#;
    std::fs::write(&source, text.replace("VERSION", version)).unwrap();
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let built = Command::new(compiler)
        .args(["--edition", "2024", "--crate-type", "cdylib", "-o"])
        .arg(&library)
        .arg(&source)
        .output();
    if built.is_ok_and(|output| output.status.success()) {
        return Some(library);
    }
    eprintln!("SKIPPED: no rustc to build a false runtime with");
    None
}

#[test]
fn bad_runtimes_are_errors_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = common::config("tiny-cls");
    config.search_folders = vec![folder.path().display().to_string()];
    let text_file = folder.path().join("libonnxruntime.so.text");
    std::fs::write(&text_file, "not a library").unwrap();
    let mut cases = vec![
        (
            folder.path().join("absent.so"),
            ErrorKind::NotFound,
            "not a file",
        ),
        (text_file, ErrorKind::Unavailable, "not a library"),
    ];
    let system = [
        "/lib/x86_64-linux-gnu/libm.so.6",
        "/lib/aarch64-linux-gnu/libm.so.6",
        "/usr/lib/libm.so.6",
        "/lib64/libm.so.6",
    ];
    cases.extend(
        system
            .iter()
            .map(PathBuf::from)
            .find(|path| path.is_file())
            .map(|path| (path, ErrorKind::Unavailable, "OrtGetApiBase")),
    );
    if let Some(old) = fake_runtime(folder.path(), "1.20.1") {
        cases.push((old, ErrorKind::Unavailable, "1.20.1"));
    }
    // The binding would accept it by its version and find out later that it has no interface.
    if let Some(liar) = fake_runtime(folder.path(), "1.99.0") {
        cases.push((liar, ErrorKind::Unavailable, "interface"));
    }
    for (library, kind, says) in cases {
        config.runtime_library = library.display().to_string();
        let error = initialize(&config, folder.path()).err().unwrap();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(says), "{error}");
        assert!(error.hint().unwrap().contains("1.24"), "{error}");
        let error = load(&config, &common::tiny_models()).err().unwrap();
        assert!(error.hint().is_some());
    }
    config.allow_hashing_fallback = true;
    assert_eq!(
        load(&config, &common::tiny_models()).unwrap().degraded,
        ["embedder"]
    );
    config.kind = EmbedderKind::Hashing;
    let models = load(&config, folder.path()).unwrap();
    assert!(models.degraded.is_empty() && models.embedder.is_shared());
}

#[test]
fn a_library_is_found_in_the_models_folder_before_the_search_folders() {
    if std::env::var_os(tributary_models::runtime::LIBRARY_VARIABLE).is_some() {
        eprintln!("SKIPPED: ORT_DYLIB_PATH is set and comes first");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut config = common::config("tiny-cls");
    config.search_folders = vec![folder.path().join("second").display().to_string()];
    let error = find_library(&config, &folder.path().join("first"))
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    for place in ["second", "first"] {
        let library = folder
            .path()
            .join(place)
            .join("onnxruntime/libonnxruntime.so.1.31.1");
        std::fs::create_dir_all(library.parent().unwrap()).unwrap();
        std::fs::write(&library, "").unwrap();
        assert_eq!(
            find_library(&config, &folder.path().join("first")).unwrap(),
            library
        );
    }
}
