//! Chunks that nobody will complete and no reader is given: those of a writer that was stopped in
//! the middle and whose operation never came again, and those of a request whose answer never came
//! and which arrived late. A chunk is left over if the stored manifest is of a later version, or of
//! the same version and another revision of the same turn or a later one: the manifest that its
//! writer had read is gone, so it can never be committed. Used by `write`, which watches what it is
//! not sure of, and now and then goes through everything.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tributary_schemas::Result;

use super::batch::{Target, reader, signed};
use super::bulk::{Action, Bulk};
use super::mapping::{self, Entry, Replaced, Revision, chunk_record_id, manifest_id};

/// Time for which an attempt is watched: longer than any request is on its way.
const WATCHED: Duration = Duration::from_secs(120);

/// Chunks that may have been written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Document.
    pub document_id: String,
    /// Version.
    pub version: u64,
    /// Their revision and number.
    pub replaced: Replaced,
}

impl Attempt {
    /// (record id, routing) of each chunk.
    pub fn records(&self) -> impl Iterator<Item = (String, String)> {
        let id = manifest_id(&self.document_id);
        (0..self.replaced.chunks).map(move |place| {
            (
                chunk_record_id(&id, &self.replaced.revision, place),
                id.clone(),
            )
        })
    }
}

/// Attempts that are watched.
#[derive(Default)]
pub struct Watched {
    /// By document and revision, with the time of the last attempt.
    attempts: BTreeMap<(String, String), (Attempt, Instant)>,
}

impl Watched {
    /// Watches more.
    pub fn add(&mut self, attempts: Vec<Attempt>) {
        let now = Instant::now();
        for attempt in attempts {
            self.attempts.insert(
                (
                    attempt.document_id.clone(),
                    attempt.replaced.revision.clone(),
                ),
                (attempt, now),
            );
        }
    }

    /// Whether nothing is watched.
    pub fn is_empty(&self) -> bool {
        self.attempts.is_empty()
    }

    /// What is watched now.
    pub fn attempts(&self) -> Vec<Attempt> {
        self.attempts
            .values()
            .map(|(attempt, _)| attempt.clone())
            .collect()
    }

    /// Lets go of what was begun long before a look that found nothing more to do.
    pub fn looked(&mut self, at: Instant) {
        self.attempts
            .retain(|_, (_, begun)| at.saturating_duration_since(*begun) < WATCHED);
    }
}

/// Removes what of the attempts is left over; how many chunks that were.
pub async fn remove_attempted(target: &Target, attempts: &[Attempt]) -> Result<usize> {
    let ids: Vec<String> = attempts
        .iter()
        .map(|attempt| attempt.document_id.clone())
        .collect();
    let entries = reader(target).entries(&ids, true).await?;
    let over = attempts
        .iter()
        .zip(&entries)
        .filter_map(|(attempt, stored)| {
            let entry = &stored.as_ref()?.entry;
            is_left_over(attempt.version, &attempt.replaced.revision, entry)
                .then_some((attempt, entry.indexed.document.version))
        });
    let records: Vec<((String, String), u64)> = over
        .flat_map(|(attempt, stored)| attempt.records().map(move |record| (record, stored)))
        .collect();
    let wanted: Vec<(String, String)> = records.iter().map(|(record, _)| record.clone()).collect();
    let existing = reader(target).existing(&wanted).await?;
    let found = records
        .into_iter()
        .zip(existing)
        .filter(|(_, exists)| *exists);
    remove(
        target,
        found.map(|(((record, routing), stored), _)| (record, routing, stored)),
    )
    .await
}

/// Goes through all chunks that are shown and removes what is left over; how many that were.
pub async fn sweep(target: &Target) -> Result<usize> {
    let reader = reader(target);
    let mut pages = reader.open_records().await?;
    let mut found = Vec::new();
    let result = loop {
        match reader.next_records(&mut pages).await {
            Ok(records) if records.is_empty() => break Ok(()),
            Ok(records) => {
                let ids: BTreeSet<String> = records
                    .iter()
                    .map(|record| record.document_id.clone())
                    .collect();
                let ids: Vec<String> = ids.into_iter().collect();
                let entries = match reader.entries(&ids, true).await {
                    Ok(entries) => entries,
                    Err(error) => break Err(error),
                };
                let stored: BTreeMap<&str, &Entry> = ids
                    .iter()
                    .zip(&entries)
                    .filter_map(|(id, stored)| Some((id.as_str(), &stored.as_ref()?.entry)))
                    .collect();
                for record in &records {
                    if let Some(entry) = stored.get(record.document_id.as_str())
                        && is_left_over(record.version, &record.revision, entry)
                    {
                        found.push((
                            record.id.clone(),
                            manifest_id(&record.document_id),
                            entry.indexed.document.version,
                        ));
                    }
                }
            }
            Err(error) => break Err(error),
        }
    };
    reader.close_pages(pages).await;
    result?;
    remove(target, found.into_iter()).await
}

/// Whether no writer can commit a chunk of this version and revision any more.
fn is_left_over(version: u64, revision: &str, stored: &Entry) -> bool {
    let turn = |revision: &str| Revision::parse(revision).turn();
    let is_passed =
        (version, turn(revision)) <= (stored.indexed.document.version, turn(&stored.revision));
    is_passed && revision != stored.revision
}

/// Removes records, by id, routing and the version that is stored.
async fn remove(
    target: &Target,
    records: impl Iterator<Item = (String, String, u64)>,
) -> Result<usize> {
    let mut bulk = Bulk::default();
    for (record, routing, stored) in records {
        bulk.push(
            &record,
            &routing,
            &Action::Delete {
                version: signed(stored),
            },
            &(),
        )?;
    }
    let count = bulk.len();
    if count > 0 {
        bulk.send(
            &target.client,
            &mapping::write_alias(&target.generation.index),
            target.bulk_bytes,
        )
        .await?;
    }
    Ok(count)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_schemas::DocumentHeader;

    use super::*;
    use crate::search_index::IndexedDocument;

    #[test]
    fn only_what_cannot_be_committed_any_more_is_left_over() {
        let document = DocumentHeader {
            version: 5,
            ..DocumentHeader::default()
        };
        let indexed = IndexedDocument {
            document,
            chunk_ids: vec![],
            deleted: false,
        };
        let stored = Entry {
            indexed,
            revision: "b.2.".into(),
            replaced: vec![],
        };
        for (version, revision, expected) in [
            (4, "a", true),
            (4, "a.9.", true),
            (5, "b", true),
            (5, "c.1.", true),
            (5, "c.2.", true),
            (5, "b.2.", false),
            (5, "c.3.", false),
            (6, "a", false),
        ] {
            assert_eq!(
                is_left_over(version, revision, &stored),
                expected,
                "{version} {revision}"
            );
        }
    }
}
