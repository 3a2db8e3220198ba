//! Files of candidates and of verdicts, which `tributary lexicon` and the server share: a line of
//! JSON for each, and verdicts are only ever added.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tributary_schemas::{Error, ErrorKind, Result, files};

use super::candidates::first_of_each;
use super::{Candidate, Verdict, Verdicts};

/// Folder in the data folder, with the candidates and verdicts that the server shows.
pub const FOLDER: &str = "lexicon";
/// Name of the file of candidates in it.
pub const CANDIDATES: &str = "candidates.jsonl";
/// Name of the file of verdicts beside the candidates.
const VERDICTS: &str = "verdicts.jsonl";
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The text of a file, without the byte order mark that some editors put first.
pub fn read_text(file: &Path) -> Result<String> {
    let failed = |error: io::Error| Error::io(format!("cannot read {}", file.display()), &error);
    let mut text = files::read_to_string(file).map_err(failed)?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// Reads a file of candidates; it may have none. Of equal terms the first one counts. `Invalid`
/// names the first bad line.
pub fn read_candidates(file: &Path) -> Result<Vec<Candidate>> {
    let text = read_text(file)?;
    let lines = text.lines().enumerate();
    let read: Result<Vec<Candidate>> = lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| {
                let message = format!("{} line {}: {error}", file.display(), index + 1);
                Error::new(ErrorKind::Invalid, message)
                    .with_hint("candidates are what `tributary lexicon discover` wrote")
            })
        })
        .collect();
    read.map(first_of_each)
}

/// Where verdicts on candidates are kept unless told otherwise.
pub fn verdicts_beside(candidates: &Path) -> PathBuf {
    candidates.with_file_name(VERDICTS)
}

/// Reads files of verdicts, one after the other.
pub fn read_verdicts(files: &[PathBuf]) -> Result<Verdicts> {
    let mut verdicts = Verdicts::default();
    for file in files {
        let name = file.display().to_string();
        let failed = |error: io::Error| Error::io(format!("cannot read {name}"), &error);
        let content = files::read(file).map_err(failed)?;
        verdicts.read(&name, &without_torn_lines(&name, &content)?)?;
    }
    Ok(verdicts)
}

/// A file of verdicts that grows: several processes may add to it.
pub struct VerdictFile {
    file: File,
    name: String,
}

impl VerdictFile {
    /// Opens or creates it.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let failed = |error: io::Error| Error::io(format!("cannot open {name}"), &error);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true);
        let file = files::open_with(&options, path).map_err(failed)?;
        Ok(Self { file, name })
    }

    /// Adds verdicts, which are on the disk when it returns.
    pub fn add(&mut self, verdicts: &[Verdict]) -> Result<()> {
        let name = self.name.clone();
        let failed = |error: io::Error| Error::io(format!("cannot write {name}"), &error);
        let mut lines = String::new();
        for verdict in verdicts {
            lines += &serde_json::to_string(verdict).map_err(|error| failed(error.into()))?;
            lines.push('\n');
        }
        if self.ends_torn().map_err(failed)? {
            lines.insert(0, '\n');
        }
        // One write, so that lines of two processes do not mix.
        self.file.write_all(lines.as_bytes()).map_err(failed)?;
        self.file.sync_data().map_err(failed)
    }

    /// Whether the last line is without its end, as a write leaves it that found the disk full.
    fn ends_torn(&mut self) -> io::Result<bool> {
        if self.file.metadata()?.len() == 0 {
            return Ok(false);
        }
        let mut last = [0];
        self.file.seek(SeekFrom::End(-1))?;
        self.file.read_exact(&mut last)?;
        Ok(last != *b"\n")
    }
}

/// The text of a file of verdicts. A line whose end is missing was torn when it was written, so that
/// nobody was told that it is kept: it counts as empty.
fn without_torn_lines(name: &str, content: &[u8]) -> Result<String> {
    let content = content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(content);
    let mut text = String::with_capacity(content.len());
    for line in content.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        let is_torn = line.starts_with(b"{") && !line.ends_with(b"}");
        if !is_torn {
            let invalid = |error: std::str::Utf8Error| {
                Error::new(ErrorKind::Corrupt, format!("{name} is no UTF-8: {error}"))
            };
            text.push_str(std::str::from_utf8(line).map_err(invalid)?);
        }
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::discovery::Decision;

    #[test]
    fn a_byte_order_mark_is_no_text_and_verdicts_are_added() {
        let folder = tempfile::tempdir().unwrap();
        let path = verdicts_beside(&folder.path().join("new").join(CANDIDATES));
        let verdict = |reviewer: &str| Verdict {
            term: "页表".to_owned(),
            decision: Decision::Yes,
            reviewer: reviewer.to_owned(),
            at_ms: 1,
        };
        for reviewer in ["ann", "bob"] {
            let mut file = VerdictFile::open(&path).unwrap();
            file.add(&[verdict(reviewer)]).unwrap();
        }
        let text = read_text(&path).unwrap();
        fs::write(&path, format!("\u{feff}{text}")).unwrap();
        assert_eq!(read_text(&path).unwrap(), text);
        let verdicts = read_verdicts(std::slice::from_ref(&path)).unwrap();
        assert_eq!(verdicts.standing("页表").yes, ["ann", "bob"]);
    }

    #[test]
    fn a_line_that_a_full_disk_tore_costs_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(VERDICTS);
        let verdict = |term: &str| Verdict {
            term: term.to_owned(),
            decision: Decision::Yes,
            reviewer: "ann".to_owned(),
            at_ms: 1,
        };
        VerdictFile::open(&path)
            .unwrap()
            .add(&[verdict("页表")])
            .unwrap();
        let whole = fs::read(&path).unwrap();
        for torn in [whole.len() - 3, 12, 1] {
            let tail = &whole[..torn];
            fs::write(&path, [&whole, tail].concat()).unwrap();
            let mut file = VerdictFile::open(&path).unwrap();
            file.add(&[verdict("快表")]).unwrap();
            let verdicts = read_verdicts(std::slice::from_ref(&path)).unwrap();
            assert_eq!(verdicts.standing("页表").yes, ["ann"], "{torn}");
            assert_eq!(verdicts.standing("快表").yes, ["ann"], "{torn}");
        }
        fs::write(&path, [&whole[..], b"{\"term\": 1}\n"].concat()).unwrap();
        let error = read_verdicts(std::slice::from_ref(&path)).unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }

    #[test]
    fn of_equal_terms_the_first_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(CANDIDATES);
        let line = |term: &str, count: u32| {
            let features = serde_json::to_value(crate::discovery::Features::default()).unwrap();
            let line = serde_json::json!({"term": term, "score": 0.5, "count": count,
                "documents": 1, "contexts": [], "features": features});
            format!("{line}\n")
        };
        let lines = [line("Page", 3), line("字段", 2), line("page", 1)];
        fs::write(&path, lines.concat()).unwrap();
        let read = read_candidates(&path).unwrap();
        let read: Vec<(&str, u32)> = read.iter().map(|one| (&*one.term, one.count)).collect();
        assert_eq!(read, [("Page", 3), ("字段", 2)]);
    }

    #[test]
    fn a_bad_candidate_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(CANDIDATES);
        fs::write(&path, "\n{\"term\": 1}\n").unwrap();
        let error = read_candidates(&path).unwrap_err().to_string();
        assert!(error.contains("candidates.jsonl line 2"), "{error}");
        fs::write(&path, "\n").unwrap();
        assert!(read_candidates(&path).unwrap().is_empty());
    }
}
