//! Pictures of slides: asked for by the conversion process, drawn by a program that is confined,
//! kept, found and shown. A script stands in for LibreOffice where its route is tested; with
//! LibreOffice installed, a real presentation is drawn too.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Workspace, list, number, skip, text};

/// Five slides, of which the fourth is hidden.
const DECK: &[u8] = include_bytes!("../../../convert/tests/goldens/slides.pptx");

/// A workspace whose LibreOffice is this script, in a folder of its own.
fn with_program(script: &str) -> Workspace {
    let workspace = Workspace::new();
    let program = workspace.write("office/program/soffice", format!("#!/bin/bash\n{script}\n"));
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    workspace
        .with("convert.slides.program", &program.display().to_string())
        .with("convert.slides.drawing_timeout_ms", "30000")
}

/// Pages of a third of a slide's size, each with a grey field.
fn pdf(pages: usize) -> String {
    let mut objects = vec!["<</Type/Catalog/Pages 2 0 R>>".to_owned()];
    let kids: Vec<String> = (0..pages)
        .map(|page| format!("{} 0 R", 3 + 2 * page))
        .collect();
    objects.push(format!(
        "<</Type/Pages/Count {pages}/Kids[{}]>>",
        kids.join(" ")
    ));
    for page in 0..pages {
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 240 180]/Contents {} 0 R>>",
            4 + 2 * page
        ));
        let content = format!("0.{page} g {page} 10 100 100 re f");
        objects.push(format!(
            "<</Length {}>>stream\n{content}\nendstream",
            content.len()
        ));
    }
    file_of(&objects)
}

/// A PDF of these objects, the first of which is its catalog.
pub fn file_of(objects: &[String]) -> String {
    let (mut file, mut places) = ("%PDF-1.4\n".to_owned(), Vec::new());
    for (index, object) in objects.iter().enumerate() {
        places.push(file.len());
        file.push_str(&format!("{} 0 obj{object}endobj\n", index + 1));
    }
    let start = file.len();
    file.push_str(&format!(
        "xref\n0 {}\n0000000000 65535 f \n",
        objects.len() + 1
    ));
    places
        .iter()
        .for_each(|place| file.push_str(&format!("{place:010} 00000 n \n")));
    file.push_str(&format!(
        "trailer<</Size {}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n",
        objects.len() + 1
    ));
    file
}

/// A workspace whose LibreOffice has drawn a page for each slide; nothing, said loudly, where pages
/// cannot be drawn.
fn with_drawn_deck() -> Option<Workspace> {
    if !draws_pages() {
        return None;
    }
    let workspace = with_program("cp \"$(dirname \"$0\")/../drawn.pdf\" slides.pdf");
    workspace.write("office/drawn.pdf", pdf(5));
    Some(workspace)
}

/// Whether pages can be drawn here; says loudly if not.
pub fn draws_pages() -> bool {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.tributary/models/pdfium");
    if !library.is_dir() && std::env::var_os("TRIBUTARY_PDFIUM").is_none() {
        skip("pictures of slides and pages: no PDFium (deploy/models/fetch gets it)");
        return false;
    }
    true
}

fn converted(workspace: &Workspace) -> Value {
    workspace.write("deck.pptx", DECK);
    workspace.json(["convert", "deck.pptx", "--format", "json"])
}

fn missing(converted: &Value) -> &str {
    text(converted, "/metadata/slide_images_missing")
}

#[test]
fn a_slide_is_shown_with_what_is_found_on_it() {
    let Some(workspace) = with_drawn_deck() else {
        return;
    };
    workspace.write("docs/deck.pptx", DECK);
    let server = workspace.start();
    let run = workspace.run(["publish", "docs", "--wait", "--format", "json"]);
    assert_eq!(
        (run.code, number(&run.json(), "/indexed")),
        (0, 1),
        "{run:?}"
    );
    let (_, answer) = server.post("/v1/search", &json!({"query": "wait: lower the threshold"}));
    assert!(
        text(&answer, "/hits/0/text").contains("lower the threshold"),
        "{answer}"
    );
    let image = list(&answer, "/hits/0/images")
        .last()
        .and_then(Value::as_str)
        .unwrap();
    let picture = server.bytes(image);
    assert!(
        picture.starts_with(b"\xFF\xD8\xFF"),
        "{image}: {:?}",
        picture.get(..8)
    );
    server.stop();
}

#[test]
fn each_slide_that_is_read_has_its_picture() {
    let Some(workspace) = with_drawn_deck() else {
        return;
    };
    let deck = converted(&workspace);
    // One picture lies on a slide itself.
    assert_eq!(
        list(&deck, "/images").len(),
        1 + 4,
        "the hidden one has none: {deck}"
    );
    assert_eq!(text(&deck, "/metadata/hidden_slides"), "4");
    let markdown = text(&deck, "/markdown");
    assert!(
        markdown.contains("## Next steps\n\n![](image:4)\n"),
        "{markdown}"
    );

    workspace.write("office/drawn.pdf", pdf(3));
    assert_eq!(
        missing(&converted(&workspace)),
        "3 pages were drawn for 5 slides"
    );
}

#[test]
fn a_drawing_program_reaches_neither_network_nor_other_files() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let workspace = with_program(&format!(
        "root=\"$(dirname \"$0\")/../..\"\n\
        (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && network=open || network=closed\n\
        (cat \"$root/secret\") >/dev/null 2>&1 && secret=read || secret=kept\n\
        (echo x > \"$root/outside\") 2>/dev/null && outside=written || outside=kept\n\
        (echo x > inside) 2>/dev/null && inside=written || inside=refused\n\
        echo \"network $network, secret $secret, outside $outside, inside $inside\" >&2\n\
        exit 3"
    ));
    workspace.write("secret", "secret");
    let deck = converted(&workspace);
    let said = missing(&deck);
    assert!(
        said.contains("network closed, secret kept, outside kept, inside written"),
        "{said}"
    );
    assert!(
        text(&deck, "/markdown").contains("Next steps"),
        "its text is there"
    );
}

#[test]
fn a_drawing_program_that_hangs_or_is_not_there_costs_the_pictures_only() {
    let hanging = with_program("sleep 300 & wait").with("convert.slides.drawing_timeout_ms", "500");
    let deck = converted(&hanging);
    assert!(missing(&deck).contains("longer than 500 ms"), "{deck}");
    let absent = Workspace::new().with("convert.slides.program", "/nowhere/soffice");
    let deck = converted(&absent);
    assert!(missing(&deck).contains("/nowhere/soffice"), "{deck}");
    let off = Workspace::new().with("convert.slides.draw", "false");
    assert_eq!(text(&converted(&off), "/metadata/hidden_slides"), "4");
}

#[test]
fn libreoffice_draws_a_presentation() {
    let doctor = Workspace::new().run(["doctor"]);
    if !doctor.stdout.contains("drawn by LibreOffice") {
        skip(
            "slides drawn by LibreOffice: it is not installed (Debian: apt-get install libreoffice-impress)",
        );
        return;
    }
    if !draws_pages() {
        return;
    }
    let deck = converted(&Workspace::new());
    assert_eq!(list(&deck, "/images").len(), 1 + 4, "{deck}");
    assert!(
        deck.pointer("/metadata/slide_images_missing").is_none(),
        "{deck}"
    );
}
