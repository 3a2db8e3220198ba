//! Text in pictures, with the real models where they are fetched: read, found, shown; and what is
//! said where nobody reads it.

use std::path::Path;

use serde_json::json;

use crate::harness::{Workspace, list, number, text};

/// Two lines of a notice, drawn.
const NOTICE: &[u8] = include_bytes!("data/notice.png");

/// A workspace that finds the models that `deploy/models/fetch` puts into the repository; `None`,
/// loudly, without them.
fn with_models() -> Option<Workspace> {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.tributary/models");
    if !models.join("ocr/config.json").is_file() {
        eprintln!(
            "SKIPPED: text in pictures: no models in {} (deploy/models/fetch gets them)",
            models.display()
        );
        return None;
    }
    Some(Workspace::new().with(
        "models.search_folders",
        &format!("[{:?}]", models.display().to_string()),
    ))
}

#[test]
fn a_notice_is_found_by_its_words_and_shown() {
    let Some(workspace) = with_models() else {
        return;
    };
    workspace.write("docs/notice.png", NOTICE);
    let server = workspace.start();
    let run = workspace.run(["publish", "docs", "--wait", "--format", "json"]);
    assert_eq!(
        (run.code, number(&run.json(), "/indexed")),
        (0, 1),
        "{run:?}"
    );
    let (_, answer) = server.post("/v1/search", &json!({"query": "margay station"}));
    assert!(
        text(&answer, "/hits/0/text").contains("The margay station opens at noon"),
        "{answer}"
    );
    let image = text(&answer, "/hits/0/images/0");
    assert!(image.starts_with("/v1/images/"), "{answer}");
    assert_eq!(server.bytes(image), NOTICE);
    let (_, nothing) = server.post(
        "/v1/search",
        &json!({"query": "image", "strategy": "full_text"}),
    );
    assert!(
        list(&nothing, "/hits").is_empty(),
        "its link is not searched: {nothing}"
    );
    server.stop();
}

#[test]
fn without_a_recogniser_a_picture_is_skipped_and_says_why() {
    let workspace = Workspace::new().with("models.ocr.enabled", "false");
    workspace.write("docs/notice.png", NOTICE);
    let run = workspace.run(["publish", "docs", "--wait", "--format", "json"]);
    assert_eq!(
        (run.code, number(&run.json(), "/skipped")),
        (0, 1),
        "{run:?}"
    );
    let listed = workspace.json(["documents", "list", "--format", "json"]);
    let reason = text(&listed, "/documents/0/reason");
    assert!(
        reason.contains("no text: its pictures were not read")
            && reason.contains("models.ocr.enabled"),
        "{reason}"
    );
    let converted = workspace.run(["convert", "docs/notice.png"]);
    assert!(
        converted.code == 0 && converted.stderr.contains("pictures were not read"),
        "{converted:?}"
    );
}
