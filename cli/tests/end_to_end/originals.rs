//! What was published, as it was: for download, and drawn page by page.

use serde_json::Value;

use crate::harness::{Workspace, number, text};
use crate::slides::{draws_pages, file_of};

const TILT: &str = "\u{feff}# Antenna tilt\r\n\r\nThe tilt of sector 3 is 6 degrees.\r\n";

/// Two pages with a line each.
pub fn book() -> String {
    let page = |number: usize, text: &str| {
        let content = format!("BT /F1 24 Tf 72 700 Td ({text}) Tj ET");
        let page = format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 7 0 R>>>>/Contents {} 0 R>>",
            number + 1
        );
        let length = content.len();
        [
            page,
            format!("<</Length {length}>>stream\n{content}\nendstream"),
        ]
    };
    let catalog = "<</Type/Catalog/Pages 2 0 R>>".to_owned();
    let pages = "<</Type/Pages/Count 2/Kids[3 0 R 5 0 R]>>".to_owned();
    let font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned();
    let [first, first_text] = page(3, "The antenna stands upright");
    let [second, second_text] = page(5, "The feeder is bolted to the mast");
    file_of(&[catalog, pages, first, first_text, second, second_text, font])
}

fn published(workspace: &Workspace) {
    let publish = [
        "publish", "docs", "--source", "hb", "--wait", "--format", "json",
    ];
    let run = workspace.run(publish);
    assert!(run.code == 0, "{run:?}");
}

#[test]
fn a_file_is_downloaded_as_it_was_while_its_document_is_there() {
    let workspace = Workspace::new().with("store.blobs.grace_hours", "0");
    workspace.write("docs/radio/tilt.md", TILT);
    published(&workspace);
    let save =
        |file: &str| workspace.run(["documents", "original", "hb/radio/tilt.md", "-o", file]);
    // Nobody else names the blob.
    let swept = workspace.json(["blobs", "collect", "--apply", "--format", "json"]);
    assert_eq!(number(&swept, "/bytes"), 0, "{swept}");
    let saved = save("tilt.md");
    assert!(saved.code == 0, "{saved:?}");
    assert_eq!(
        std::fs::read(workspace.path("tilt.md")).unwrap(),
        TILT.as_bytes()
    );
    save("tilt.md").refused(1, &["cannot create"]);
    let shown = workspace.json(["documents", "show", "hb/radio/tilt.md", "--format", "json"]);
    assert!(text(&shown, "/original").ends_with("/original"), "{shown}");

    let delete = ["documents", "delete", "hb/radio/tilt.md", "--wait"];
    assert_eq!(workspace.run(delete).code, 0);
    save("gone.md").refused(1, &["hb/radio/tilt.md"]);
    assert!(
        !workspace.path("gone.md").exists(),
        "no part of a file is left"
    );
}

/// What `doctor --verify` says of bodies.
fn of_blobs(workspace: &Workspace) -> Value {
    let doctor = workspace.run(["doctor", "--verify", "--format", "json"]);
    let checks = doctor.json()["checks"].as_array().unwrap().clone();
    let of_blobs = |check: &Value| text(check, "/name") == "blobs at rest";
    checks.into_iter().find(of_blobs).unwrap()
}

/// Without it a document that is found today is gone with the next index.
#[test]
fn a_long_text_that_is_gone_from_the_log_is_named() {
    let workspace = Workspace::new().with("store.inline_limit_bytes", "1000");
    let sentences: Vec<String> = (0..200).map(|n| format!("Sector {n} is tilted.")).collect();
    workspace.write(
        "docs/tilt.md",
        format!("# Tilt\n\n{}\n", sentences.join(" ")),
    );
    published(&workspace);
    assert_eq!(of_blobs(&workspace)["ok"], true);
    let shelves = std::fs::read_dir(workspace.data().join("blobs")).unwrap();
    let shelves = shelves
        .map(|shelf| shelf.unwrap().path())
        .filter(|shelf| shelf.is_dir());
    let files = shelves.flat_map(|shelf| std::fs::read_dir(shelf).unwrap());
    let is_cleaned = |path: &std::path::PathBuf| {
        std::fs::read_to_string(path).is_ok_and(|text| text.contains("\"markdown\":"))
    };
    let cleaned: Vec<_> = files
        .map(|file| file.unwrap().path())
        .filter(is_cleaned)
        .collect();
    assert_eq!(cleaned.len(), 1, "{cleaned:?}");
    std::fs::remove_file(&cleaned[0]).unwrap();
    let check = of_blobs(&workspace);
    let said = "(hb/tilt.md): its text in the log gone";
    assert!(text(&check, "/detail").contains(said), "{check}");
}

/// A file that is gone has no checksum, so it is looked for by the names that documents have for it.
#[test]
fn an_original_that_is_gone_is_named_and_comes_back_with_its_document() {
    let workspace = Workspace::new();
    workspace.write("docs/radio/tilt.md", TILT);
    workspace.write("docs/radio/mast.md", "# Mast\n\nIt is 30 metres high.\n");
    published(&workspace);
    let doctor = || of_blobs(&workspace);
    assert_eq!(doctor()["ok"], true);
    let hash = blake3::hash(TILT.as_bytes()).to_hex().to_string();
    let (shelf, rest) = hash.split_at(2);
    std::fs::remove_file(workspace.data().join("blobs").join(shelf).join(rest)).unwrap();

    let check = doctor();
    let detail = text(&check, "/detail");
    let is_named = detail.contains("(hb/radio/tilt.md): its original gone");
    assert!(check["ok"] == false && is_named, "{check}");
    assert!(!detail.contains("mast"), "{check}");
    let plan = workspace.json(["repair", "--apply", "--format", "json"]);
    assert_eq!(plan["applied"], false, "{plan}");
    let left = text(&plan, "/left/0");
    assert!(left.ends_with(": publish the document again"), "{plan}");
    let save = ["documents", "original", "hb/radio/tilt.md", "-o", "tilt.md"];
    workspace
        .run(save)
        .refused(1, &["is gone", "publish the document again"]);

    // Nothing changed, and it is there again.
    published(&workspace);
    assert_eq!(doctor()["ok"], true);
    assert_eq!(workspace.run(save).code, 0);
}

#[test]
fn originals_need_not_be_kept() {
    let workspace = Workspace::new().with("ingest.keep_originals", "false");
    workspace.write("docs/tilt.md", TILT);
    published(&workspace);
    let save = ["documents", "original", "hb/tilt.md", "-o", "tilt.md"];
    workspace
        .run(save)
        .refused(1, &["no original", "ingest.keep_originals"]);
    // Kept from the next publication on, although nothing else changed.
    let workspace = workspace.with("ingest.keep_originals", "true");
    published(&workspace);
    let saved = workspace.run(save);
    assert!(saved.code == 0, "{saved:?}");
}

#[test]
fn pages_of_a_pdf_are_drawn_when_they_are_asked_for() {
    if !draws_pages() {
        return;
    }
    let workspace = Workspace::new();
    workspace.write("docs/book.pdf", book());
    published(&workspace);
    let server = workspace.start();
    let (_, shown) = server.get("/v1/documents/hb%2Fbook.pdf?passages=true");
    let pages = text(&shown, "/page_pictures");
    let (first, second) = (
        server.bytes(&format!("{pages}1")),
        server.bytes(&format!("{pages}2")),
    );
    for picture in [&first, &second] {
        assert!(
            picture.starts_with(b"\xFF\xD8\xFF"),
            "{:?}",
            picture.get(..8)
        );
    }
    assert_ne!(first, second);
    let (status, beyond) = server.get(&format!("{pages}3"));
    assert_eq!(
        (status, text(&beyond, "/code")),
        (404, "not_found"),
        "{beyond}"
    );
    assert!(text(&beyond, "/detail").contains("has 2"), "{beyond}");
    server.stop();
}
