//! What the pool makes of workers that hang, die or talk nonsense. The real worker is tested with
//! the real program, by the end-to-end tests.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

#[path = "../src/test_config.rs"]
mod test_config;

use std::time::{Duration, Instant};

use tributary_convert::isolation::{ConversionPool, Launch};
use tributary_convert::{Config, Job};
use tributary_models::ocr::OcrUnavailable;
use tributary_schemas::{Error, ErrorKind};

/// What a worker says that is wholly confined, with the length of its message before it, as the
/// shell prints it.
const CONFINED: &str = r#"printf '\136\000\000\000{"enforced":[["limits","all of it"],["files","all of it"],["calls","all of it"]],"missing":[]}'"#;

/// The error for a document whose worker is a shell that says that it is confined, then does
/// `script`.
fn fails(script: &str) -> Error {
    fails_at_once(&format!("{CONFINED}; {script}"))
}

/// The error for a document whose worker is a shell that does `script`.
fn fails_at_once(script: &str) -> Error {
    let mut config: Config = test_config::config();
    config.conversion_timeout_ms = 300;
    let launch = Launch {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        program_arguments: vec![],
        readable: vec![],
    };
    let begun = Instant::now();
    let result = ConversionPool::new(config, Err(OcrUnavailable::new("no models")), Some(launch))
        .convert(Job {
            bytes: b"# a",
            name: Some("a.md"),
            media_type: None,
        });
    assert!(
        begun.elapsed() < Duration::from_secs(8),
        "{script}: {:?}",
        begun.elapsed()
    );
    result.unwrap_err()
}

#[test]
fn a_worker_that_dies_costs_its_document() {
    let died = fails("kill -SEGV $$");
    assert_eq!(died.kind(), ErrorKind::Corrupt);
    assert!(
        died.to_string().contains("SIGSEGV") && died.hint().is_some(),
        "{died:?}"
    );
    let spoke = fails("echo 'something went wrong inside' >&2; exit 3");
    assert!(
        spoke.to_string().contains("something went wrong inside"),
        "{spoke}"
    );
}

#[test]
fn reasons_are_told_apart() {
    for words in [
        "memory allocation of 99999 bytes failed",
        "fatal runtime error: Rust cannot catch foreign exceptions, aborting",
    ] {
        let memory = fails(&format!("echo '{words}' >&2; kill -ABRT $$"));
        assert_eq!(memory.kind(), ErrorKind::Invalid);
        assert!(
            memory.hint().unwrap().contains("conversion_memory_bytes"),
            "{memory:?}"
        );
    }
    let processor = fails("kill -XCPU $$");
    assert!(
        processor.hint().unwrap().contains("conversion_timeout_ms"),
        "{processor:?}"
    );
    let file = fails("kill -XFSZ $$");
    assert!(
        file.hint().unwrap().contains("maximum_sheet_bytes"),
        "{file:?}"
    );
    let nested = fails("echo \"thread '<unnamed>' has overflowed its stack\" >&2; kill -ABRT $$");
    assert!(nested.to_string().contains("nested"), "{nested}");
}

#[test]
fn a_worker_that_others_end_is_not_the_documents_fault() {
    for script in ["kill -KILL $$", "kill -TERM $$"] {
        let ended = fails(script);
        assert_eq!(
            ended.kind(),
            ErrorKind::Internal,
            "it is tried again: {ended}"
        );
    }
}

#[test]
fn a_page_that_hurts_its_worker_costs_itself() {
    let drawn = |script: &str| {
        let mut config: Config = test_config::config();
        config.pdf.page_timeout_ms = 300;
        let launch = Launch {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), format!("{CONFINED}; {script}").into()],
            program_arguments: vec![],
            readable: vec![],
        };
        let pool = ConversionPool::new(config, Err(OcrUnavailable::new("no models")), Some(launch));
        pool.draw_page(b"%PDF-1.7", 7).unwrap_err()
    };
    let late = drawn("exec /bin/sleep 100");
    assert_eq!(late.kind(), ErrorKind::Timeout, "{late:?}");
    assert!(late.to_string().contains("page 7"), "{late:?}");
    assert!(late.hint().unwrap().contains("convert.pdf.page_timeout_ms"));
    assert_eq!(drawn("kill -SEGV $$").kind(), ErrorKind::Corrupt);
}

#[test]
fn a_worker_that_hangs_is_ended() {
    let late = fails("exec /bin/sleep 100");
    assert!(
        late.hint().unwrap().contains("conversion_timeout_ms"),
        "{late:?}"
    );
}

#[test]
fn nonsense_is_not_believed() {
    for script in [
        "echo 'plain text that is no answer'",
        "printf '\\377\\377\\377\\377{}'",
        "head -c 100000 /dev/zero",
        "true",
    ] {
        assert_eq!(fails(script).kind(), ErrorKind::Corrupt, "{script}");
    }
}

#[test]
fn a_worker_that_dies_before_it_is_given_a_document_costs_none() {
    for script in [
        "kill -SEGV $$",
        "echo 'a library is missing' >&2; exit 127",
        "true",
        "echo nonsense",
    ] {
        let error = fails_at_once(script);
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{script}: {error}");
    }
    assert!(
        fails_at_once("echo 'a library is missing' >&2; exit 127")
            .to_string()
            .contains("a library is missing")
    );
}

#[test]
fn a_worker_that_is_not_confined_is_given_no_document() {
    let error = fails_at_once(&CONFINED.replace("calls", "files"));
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(
        error.to_string().contains("calls") && error.hint().is_some(),
        "{error:?}"
    );
}

#[test]
fn a_program_that_is_not_there_may_come_back() {
    let launch = Launch {
        program: "/nonexistent/tributary".into(),
        arguments: vec![],
        program_arguments: vec![],
        readable: vec![],
    };
    let pool = ConversionPool::new(
        test_config::config(),
        Err(OcrUnavailable::new("no models")),
        Some(launch),
    );
    let error = pool
        .convert(Job {
            bytes: b"# a",
            name: None,
            media_type: None,
        })
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
}
