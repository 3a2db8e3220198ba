//! Which blobs nobody names any more. The data folder must be held alone, so that nothing is written
//! meanwhile. What is behind `tributary blobs collect`.
//!
//! **What names a blob.** Any 64 hexadecimal digits in key, value or headers of any record of any
//! topic, in what any generation of the index holds of a document or a chunk, in the settings of a
//! generation, or in a blob that is itself named. That is more than needed (other hashes
//! look the same) and never less. A blob younger than the grace time stays in any case: its record
//! may be yet to come. When anything cannot be read, or the log or the index passed over damage,
//! nothing is given out at all.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tributary_schemas::{ChunkId, Error, ErrorKind, Result, Topic};

use crate::blobs;
use crate::damage::Known;
use crate::event_log::StoredRecord;
use crate::event_log::topics::Topics;
use crate::search_index::SearchIndex;

/// Hexadecimal digits of a hash.
const DIGITS: usize = 64;
/// Documents and chunks asked for at once.
const PAGE: usize = 500;

/// A blob that nobody names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unnamed {
    /// Its file.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
}

/// Hashes that are named somewhere.
#[derive(Debug, Default)]
struct Marks(HashSet<[u8; DIGITS]>);

impl Marks {
    /// Takes over every hash that stands in the bytes.
    fn scan(&mut self, bytes: &[u8]) {
        let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        for run in bytes.split(|byte| !is_digit(byte)) {
            // A longer run of digits holds a hash at any of its places.
            for hash in run.windows(DIGITS) {
                if let Ok(hash) = hash.try_into() {
                    self.0.insert(hash);
                }
            }
        }
    }

    fn has(&self, hash: &str) -> bool {
        hash.as_bytes()
            .try_into()
            .is_ok_and(|hash: [u8; DIGITS]| self.0.contains(&hash))
    }
}

/// Where blobs are named.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// Records of all topics.
    pub topics: &'a Topics,
    /// All generations.
    pub index: &'a dyn SearchIndex,
    /// What of both was found damaged.
    pub damage: &'a Known,
}

/// Blobs of a local folder that nobody names and that are older than `grace`, by path. Reads the
/// whole log and the whole index.
pub async fn unnamed(names: Names<'_>, folder: &Path, grace: Duration) -> Result<Vec<Unnamed>> {
    let mut marks = Marks::default();
    for topic in Topic::ALL.into_iter().chain([Topic::OldDeadLetters]) {
        mark_topic(&mut marks, names.topics, topic).await?;
    }
    mark_index(&mut marks, names.index).await?;
    if names.damage.log() + names.damage.index() > 0 {
        let message =
            "part of the log or of the index is damaged, so it is not known which blobs it names";
        return Err(Error::new(ErrorKind::Corrupt, message)
            .with_hint("`tributary doctor --verify` names it, `tributary repair` makes it right"));
    }
    let folder = folder.to_owned();
    let swept = tokio::task::spawn_blocking(move || sweep(marks, &folder, grace)).await;
    swept.map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("the search for blobs was broken off: {error}"),
        )
    })?
}

async fn mark_topic(marks: &mut Marks, topics: &Topics, topic: Topic) -> Result<()> {
    let scan = |stored: &StoredRecord| {
        let record = &stored.record;
        marks.scan(&record.key);
        record.value.iter().for_each(|value| marks.scan(value));
        let headers = record.headers.iter();
        headers.for_each(|(_, value)| marks.scan(value));
    };
    match topics.each_record(topic, scan).await {
        // Logs that never had dead letters of the old kind.
        Err(error) if topic == Topic::OldDeadLetters && error.kind() == ErrorKind::NotFound => {
            Ok(())
        }
        read => read,
    }
}

async fn mark_index(marks: &mut Marks, index: &dyn SearchIndex) -> Result<()> {
    for generation in index.status().await? {
        marks.scan(generation.settings.origin.as_bytes());
        let name = Some(generation.name.as_str());
        let mut after: Option<String> = None;
        loop {
            let page = index.list_documents(name, after.as_deref(), PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.document.document_id.clone());
            for document in &page {
                marks.scan(&to_json(document)?);
                mark_chunks(marks, index, name, &document.chunk_ids).await?;
            }
        }
    }
    Ok(())
}

async fn mark_chunks(
    marks: &mut Marks,
    index: &dyn SearchIndex,
    generation: Option<&str>,
    chunks: &[ChunkId],
) -> Result<()> {
    for chunks in chunks.chunks(PAGE) {
        for stored in index.fetch(generation, chunks).await?.into_iter().flatten() {
            marks.scan(&to_json(&stored.chunk)?);
            marks.scan(&to_json(stored.document.as_ref())?);
        }
    }
    Ok(())
}

fn to_json(value: &impl serde::Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("cannot look for blobs: {error}"),
        )
    })
}

/// Follows names from blob to blob, then lists what none of them leads to.
fn sweep(mut marks: Marks, folder: &Path, grace: Duration) -> Result<Vec<Unnamed>> {
    let mut left = blobs::files(folder)?;
    loop {
        let (named, unnamed): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|(hash, _)| marks.has(hash));
        left = unnamed;
        if named.is_empty() {
            break;
        }
        for (hash, path) in named {
            let bytes = std::fs::read(&path).map_err(|error| {
                Error::io(format_args!("cannot read {}", path.display()), &error)
            })?;
            if blake3::hash(&bytes).to_hex().as_str() != hash {
                return Err(Error::new(
                    ErrorKind::Corrupt,
                    format!("{} does not match its hash", path.display()),
                )
                .with_hint("`tributary repair` takes damaged blobs away"));
            }
            marks.scan(&bytes);
        }
    }
    let now = SystemTime::now();
    let mut unnamed = Vec::new();
    for (_, path) in left {
        let failed = |error: std::io::Error| {
            Error::io(format_args!("cannot read {}", path.display()), &error)
        };
        let metadata = path.metadata().map_err(failed)?;
        // A clock that went back makes a blob young.
        let age = now
            .duration_since(metadata.modified().map_err(failed)?)
            .unwrap_or(Duration::ZERO);
        if age >= grace {
            unnamed.push(Unnamed {
                bytes: metadata.len(),
                path,
            });
        }
    }
    Ok(unnamed)
}

/// Removes blobs that [`unnamed`] listed.
pub fn remove(unnamed: &[Unnamed]) -> Result<()> {
    for blob in unnamed {
        match std::fs::remove_file(&blob.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(
                    format_args!("cannot remove {}", blob.path.display()),
                    &error,
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_found_wherever_it_stands() {
        let hash = "0123456789abcdef".repeat(4);
        for text in [
            hash.clone(),
            format!("blob:{hash}"),
            format!("{{\"a\":\"\\\"blob:{hash}\\\"\"}}"),
            format!("ff{hash}00"),
            format!("x{hash}z"),
        ] {
            let mut marks = Marks::default();
            marks.scan(text.as_bytes());
            assert!(marks.has(&hash), "{text}");
        }
        let mut marks = Marks::default();
        marks.scan(hash.get(1..).unwrap_or_default().as_bytes());
        assert!(!marks.has(&hash) && marks.0.is_empty());
    }
}
