//! Looks at every byte of an index that nobody else has open.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use tributary_schemas::{ChunkId, Result};

use super::generation::Generation;
use super::snapshot::Snapshot;
use super::text::{self, Which};
use super::vectors::Vectors;
use super::windows::Windows;
use super::{EmbeddedIndex, serving};

/// What makes it right again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The generation goes aside, and the log makes it anew.
    Rebuild,
    /// The documents go through the chunk stage again, into the same generation.
    Replay,
    /// The file is derived: without it, it is made again.
    Remove,
    /// The name of the serving generation is written again.
    Promote,
}

/// Something of the index that rotted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDamage {
    /// The generation, empty for the file that names the serving one.
    pub generation: String,
    /// File or folder.
    pub path: PathBuf,
    /// What is wrong.
    pub what: String,
    /// Documents that it concerns, where they are known.
    pub documents: Vec<String>,
    /// What makes it right again.
    pub remedy: Remedy,
}

impl EmbeddedIndex {
    /// All damage of what counts, by place. `progress` is told of bytes as they are read.
    pub(crate) fn verify(&self, progress: &dyn Fn(u64)) -> Result<Vec<IndexDamage>> {
        let inner = &self.inner;
        let mut found = Vec::new();
        for (name, error) in &*inner.damaged.read().unwrap_or_else(PoisonError::into_inner) {
            found.push(damage(
                name,
                &inner.folder(name),
                error.to_string(),
                Remedy::Rebuild,
            ));
        }
        for (name, generation) in &*inner
            .generations
            .read()
            .unwrap_or_else(PoisonError::into_inner)
        {
            found.extend(verify_generation(name, &inner.folder(name), generation)?);
            progress(generation.bytes());
        }
        if let Some(what) = serving::damage(&inner.root, !inner.is_empty()) {
            found.push(damage(
                "",
                &serving::path(&inner.root),
                what,
                Remedy::Promote,
            ));
        }
        Ok(found)
    }
}

fn damage(generation: &str, path: &Path, what: impl Into<String>, remedy: Remedy) -> IndexDamage {
    IndexDamage {
        generation: generation.to_owned(),
        path: path.to_owned(),
        what: what.into(),
        documents: Vec::new(),
        remedy,
    }
}

fn verify_generation(
    name: &str,
    folder: &Path,
    generation: &Generation,
) -> Result<Vec<IndexDamage>> {
    let snapshot = generation.snapshot();
    let text_folder = super::commit::text_folder(folder);
    let failed = |error: tantivy::TantivyError| {
        text::failure(
            format_args!("cannot read {}", text_folder.display()),
            &error,
        )
    };
    let mut found = Vec::new();
    let files = text::damaged_files(generation.text_index(), Which::All).map_err(failed)?;
    for file in &files {
        let is_store = file
            .extension()
            .is_some_and(|extension| extension == "store");
        let remedy = if is_store {
            Remedy::Replay
        } else {
            Remedy::Rebuild
        };
        found.push(damage(
            name,
            &text_folder.join(file),
            "its checksum differs",
            remedy,
        ));
    }
    let has_rebuild = found.iter().any(|found| found.remedy == Remedy::Rebuild);
    if !found.is_empty() && !has_rebuild {
        let documents = documents_of(&snapshot, unreadable_chunks(&snapshot))?;
        found
            .iter_mut()
            .for_each(|found| found.documents.clone_from(&documents));
    }
    for (what, rows) in damaged_rows(&snapshot) {
        let documents = if has_rebuild {
            Vec::new()
        } else {
            let chunk = |row: &usize| snapshot.chunk_id(snapshot.row_document(*row as u32));
            documents_of(&snapshot, rows.iter().map(chunk).collect())?
        };
        found.push(IndexDamage {
            documents,
            ..damage(name, folder, what, Remedy::Replay)
        });
    }
    let of_vectors = [Some(&snapshot.coarse), snapshot.fine.as_ref()];
    for vectors in of_vectors.into_iter().flatten() {
        let groups = vectors.damaged_groups();
        if let Some(first) = groups.first() {
            let what = format!(
                "{} groups of one-bit codes are damaged, the first is group {first}",
                groups.len()
            );
            found.push(damage(name, folder, what, Remedy::Remove));
        }
    }
    Ok(found)
}

/// Rows of each kind that rotted, with what is to be said of them.
fn damaged_rows(snapshot: &Snapshot) -> Vec<(String, Vec<usize>)> {
    let by_kind = [
        ("coarse vectors", snapshot.coarse.damaged_rows()),
        (
            "fine vectors",
            snapshot
                .fine
                .as_ref()
                .map(Vectors::damaged_rows)
                .unwrap_or_default(),
        ),
        (
            "windows",
            snapshot
                .windows
                .as_ref()
                .map(Windows::damaged_rows)
                .unwrap_or_default(),
        ),
    ];
    let said = |(kind, mut rows): (&str, Vec<usize>)| {
        // A row that no chunk uses is gone with the next compaction.
        rows.retain(|row| snapshot.is_row_alive(*row));
        let first = rows.first()?;
        let what = format!(
            "{} rows of the {kind} are damaged, the first is row {first}",
            rows.len()
        );
        Some((what, rows))
    };
    by_kind.into_iter().filter_map(said).collect()
}

fn unreadable_chunks(snapshot: &Snapshot) -> BTreeSet<ChunkId> {
    let mut unreadable = BTreeSet::new();
    for segment in &snapshot.segments {
        let numbers = segment
            .alive
            .iter()
            .map(|document| segment.base + document as u32);
        unreadable.extend(
            numbers
                .filter(|number| snapshot.stored(*number).is_err())
                .map(|number| snapshot.chunk_id(number)),
        );
    }
    unreadable
}

/// The documents that some chunks belong to, by id.
fn documents_of(snapshot: &Snapshot, chunks: BTreeSet<ChunkId>) -> Result<Vec<String>> {
    let by_chunk: HashMap<ChunkId, String> = snapshot.list()?.into_iter().collect();
    let documents: BTreeSet<String> = chunks
        .iter()
        .filter_map(|chunk| by_chunk.get(chunk).cloned())
        .collect();
    Ok(documents.into_iter().collect())
}
