//! The documents of a run: which one is changed and how depends on the seed and its number alone.

use std::path::{Path, PathBuf};

use crate::compound::COMPOUND;
use crate::harness::skip;
use crate::markup::MARKUP;
use crate::own;
use crate::packages;
use crate::pieces::{ANY, apply, place};
use crate::portable::PORTABLE;
use crate::random::Random;
use crate::written::WRITTEN;

/// Formats in the order in which they come, those with more code behind them more often.
pub const FORMATS: &[&str] = &[
    "docx", "xlsx", "pdf", "pptx", "html", "md", "xls", "pdf", "docx", "csv", "xlsx", "doc", "ods",
    "json", "pdf", "pptx", "rst", "xlsx", "eml", "docx", "epub", "rtf", "yaml", "html", "ipynb",
    "xml", "pdf", "doc", "txt", "image",
];

/// A changed file that would be larger stays as it was before.
const MOST_BYTES: usize = 16 << 20;

/// A file that is to be published.
pub struct Mutated {
    /// Number within the run.
    pub number: usize,
    /// Extension of its name.
    pub extension: String,
    /// Content.
    pub bytes: Vec<u8>,
    /// What it was made of and how.
    pub what: String,
}

/// A document before it is changed.
struct Document {
    name: String,
    bytes: Vec<u8>,
}

/// Makes changed documents.
pub struct Mutator {
    seed: u64,
    documents: Vec<Document>,
}

impl Mutator {
    /// From the documents made here and, where they are, the real ones.
    pub fn new(seed: u64) -> Self {
        let own = own::documents()
            .into_iter()
            .map(|(name, bytes)| Document { name, bytes });
        let documents: Vec<Document> = own.chain(real()).collect();
        Self { seed, documents }
    }

    /// How many documents there are to be changed.
    pub fn documents(&self) -> usize {
        self.documents.len()
    }

    /// The file of this number.
    pub fn file(&self, number: usize) -> Mutated {
        let mut random = Random::new(self.seed, number as u64);
        // The first numbers of a stream are alike.
        for _ in 0..4 {
            random.below(2);
        }
        let document = self.of_format(FORMATS[number % FORMATS.len()], &mut random);
        let (mut bytes, mut what) = (document.bytes.clone(), document.name.clone());
        for _ in 0..1 + random.below(3) {
            let mut changed = bytes.clone();
            let how = self.change(&mut changed, &mut random);
            if changed.len() <= MOST_BYTES {
                bytes = changed;
                what = format!("{what}; {how}");
            }
        }
        // Some come under a wrong name.
        let named = if random.below(24) == 0 {
            self.any(&mut random)
        } else {
            document
        };
        Mutated {
            number,
            extension: extension(&named.name),
            bytes,
            what,
        }
    }

    fn any(&self, random: &mut Random) -> &Document {
        &self.documents[place(self.documents.len(), random)]
    }

    /// Large ones seldom: they cost much and break no more than small ones.
    fn of_format(&self, format: &str, random: &mut Random) -> &Document {
        let weight = |document: &Document| match document.bytes.len() {
            0..=65_536 => 200,
            65_537..=262_144 => 40,
            262_145..=600_000 => 4,
            _ => 1,
        };
        let candidates: Vec<&Document> = self
            .documents
            .iter()
            .filter(|document| family(&document.name) == format)
            .collect();
        let mut left = random.below(
            candidates
                .iter()
                .map(|document| weight(document))
                .sum::<u64>()
                .max(1),
        );
        for document in candidates {
            match left.checked_sub(weight(document)) {
                Some(rest) => left = rest,
                None => return document,
            }
        }
        self.any(random)
    }

    fn change(&self, bytes: &mut Vec<u8>, random: &mut Random) -> String {
        match random.below(16) {
            0 => return self.splice(bytes, random),
            1..4 => return apply(ANY, bytes, random).to_owned(),
            _ => {}
        }
        match bytes.get(..4) {
            Some(b"PK\x03\x04") => packages::mutate(bytes, random),
            Some(b"\xD0\xCF\x11\xE0") => apply(COMPOUND, bytes, random).to_owned(),
            Some(b"%PDF") => apply(PORTABLE, bytes, random).to_owned(),
            _ if bytes.trim_ascii_start().starts_with(b"<") && random.below(2) == 0 => {
                apply(MARKUP, bytes, random).to_owned()
            }
            _ => apply(WRITTEN, bytes, random).to_owned(),
        }
    }

    /// The start of this document and the end of another.
    fn splice(&self, bytes: &mut Vec<u8>, random: &mut Random) -> String {
        let other = self.any(random);
        bytes.truncate(place(bytes.len(), random));
        bytes.extend(&other.bytes[place(other.bytes.len(), random)..]);
        format!("the end of {}", other.name)
    }
}

/// Extension of a file name.
fn extension(name: &str) -> String {
    Path::new(name)
        .extension()
        .map(|extension| extension.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn family(name: &str) -> String {
    match extension(name).as_str() {
        "jpg" | "png" | "webp" => "image".to_owned(),
        "rs" => "txt".to_owned(),
        other => other.to_owned(),
    }
}

/// The real documents, in an order that does not depend on the machine.
fn real() -> Vec<Document> {
    let root = std::env::var_os("TRIBUTARY_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
        PathBuf::from,
    );
    let folder = root.join("data/docs");
    let mut files = Vec::new();
    collect(&folder, &mut files);
    if files.is_empty() {
        skip(&format!(
            "mutations of real documents: {} is not there; those of documents made in the test were tried",
            folder.display()
        ));
    }
    files.sort();
    let named = |path: &PathBuf| {
        path.strip_prefix(&folder)
            .ok()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    files
        .iter()
        .map(|path| Document {
            name: named(path),
            bytes: std::fs::read(path).unwrap(),
        })
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension != "jsonl")
        {
            files.push(path);
        }
    }
}
