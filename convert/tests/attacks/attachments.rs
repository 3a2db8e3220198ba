//! A file attached to a message ends its converter: the message is read without it.

use tributary_convert::{Config, Converted, Job, Limits};
use tributary_schemas::{ErrorKind, Result};

use crate::scene::{config, pool};

/// Argument that makes this program a worker whose converters do not survive a text.
pub const WORKER: &str = "worker-that-dies";

const DEADLY: &str = "ends the converter";

/// The real converter, which dies of one text, at the end: as if of the last file that it read.
pub fn convert(job: Job<'_>, config: &Config, limits: &Limits<'_>) -> Result<Converted> {
    let converted = tributary_convert::convert(job, config, limits)?;
    if converted.markdown.contains(DEADLY) {
        std::process::abort();
    }
    Ok(converted)
}

fn message(attached: &[&str]) -> String {
    let part = |kind: &str, text: &str| format!("--x\nContent-Type: text/plain{kind}\n\n{text}\n");
    let file = |(number, text): (usize, &&str)| {
        let name = format!("{number}.txt");
        part(
            &format!("; name={name}\nContent-Disposition: attachment; filename={name}"),
            text,
        )
    };
    let (body, files) = (
        part("", "See below."),
        attached.iter().enumerate().map(file),
    );
    let files: String = files.collect();
    format!("Subject: Log\nContent-Type: multipart/mixed; boundary=x\n\n{body}{files}--x--\n")
}

pub fn a_message_outlives_its_attachment() {
    let pool = pool(config(), WORKER);
    let convert = |text: &str| pool.convert(Job::named(text.as_bytes(), "a.eml"));
    let read = convert(&message(&["It restarts."])).unwrap();
    assert!(read.markdown.contains("See below.") && read.markdown.contains("It restarts."));
    assert!(!read.metadata.contains_key("attachments_not_read"));
    // By a worker that was used before, and by a fresh one.
    for _ in 0..2 {
        let read = convert(&message(&["It restarts.", "It is back.", DEADLY])).unwrap();
        for text in ["See below.", "It restarts.", "It is back."] {
            assert!(read.markdown.contains(text), "{}", read.markdown);
        }
        assert!(!read.markdown.contains(DEADLY));
        let why = &read.metadata["attachments_not_read"];
        assert_eq!(why, "2.txt: its converter did not survive it");
    }
    // A message that keeps killing them is read alone in the end.
    let deadly: Vec<String> = (0..6).map(|number| format!("{number} {DEADLY}")).collect();
    let deadly: Vec<&str> = deadly.iter().map(String::as_str).collect();
    let read = convert(&message(&deadly)).unwrap();
    assert!(read.markdown.contains("See below.") && !read.markdown.contains(DEADLY));
    let why = &read.metadata["attachments_not_read"];
    assert!(
        why.starts_with("all: ") && why.contains("did not survive"),
        "{why}"
    );
    // What is no attachment is the document's own.
    let error = pool
        .convert(Job::named(DEADLY.as_bytes(), "a.txt"))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}
