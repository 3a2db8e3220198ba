//! A file attached to a message ends its converter: the message is read without it.

use tributary_convert::{Config, Converted, Job, Limits};
use tributary_schemas::{ErrorKind, Result};

use crate::scene::{config, pool};

/// Argument that makes this program a worker whose converters do not survive a text.
pub const WORKER: &str = "worker-that-dies";

const DEADLY: &str = "ends the converter";

/// The real converter, which dies of one text.
pub fn convert(job: Job<'_>, config: &Config, limits: &Limits<'_>) -> Result<Converted> {
    let converted = tributary_convert::convert(job, config, limits)?;
    if converted.markdown.contains(DEADLY) {
        std::process::abort();
    }
    Ok(converted)
}

fn message(attached: &str) -> String {
    let part = |kind: &str, text: &str| format!("--x\nContent-Type: text/plain{kind}\n\n{text}\n");
    let file = "; name=a.txt\nContent-Disposition: attachment; filename=a.txt";
    let (body, file) = (part("", "See below."), part(file, attached));
    format!("Subject: Log\nContent-Type: multipart/mixed; boundary=x\n\n{body}{file}--x--\n")
}

pub fn a_message_outlives_its_attachment() {
    let pool = pool(config(), WORKER);
    let convert = |text: &str| pool.convert(Job::named(text.as_bytes(), "a.eml"));
    let read = convert(&message("It restarts.")).unwrap();
    assert!(read.markdown.contains("See below.") && read.markdown.contains("It restarts."));
    assert!(!read.metadata.contains_key("attachments_not_read"));
    // By a worker that was used before, and by a fresh one.
    for _ in 0..2 {
        let read = convert(&message(DEADLY)).unwrap();
        assert!(read.markdown.contains("See below."), "{}", read.markdown);
        assert!(!read.markdown.contains(DEADLY));
        let why = &read.metadata["attachments_not_read"];
        assert!(why.contains("did not survive"), "{why}");
    }
    // What is no attachment is the document's own.
    let error = pool
        .convert(Job::named(DEADLY.as_bytes(), "a.txt"))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}
