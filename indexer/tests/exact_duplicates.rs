//! Exact duplicates over the real embedded index: who has the chunks, who is found by what, and
//! what is left after every order of events, two writers at once and a crash between the steps.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use common::{G, embedded, stores};
use tempfile::TempDir;
use tributary_indexer::ExactDuplicates;
use tributary_schemas::{ChunkId, DocumentHeader, EmbeddedDocument, Filter, State};
use tributary_store::search_index::{IndexedDocument, KeywordQuery, Operation, SharedSearchIndex};

struct Fixture {
    index: SharedSearchIndex,
    /// Two processes over one index.
    writers: [ExactDuplicates; 2],
    _folder: TempDir,
}

async fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let (index, blobs) = stores(folder.path()).await;
    let writer = || ExactDuplicates::new(Arc::clone(&index), blobs.clone(), Arc::new(|| 7));
    Fixture {
        writers: [writer(), writer()],
        index,
        _folder: folder,
    }
}

/// A document of two chunks, one above the other, as it comes from the log.
fn document(id: &str, version: u64, content: &str) -> EmbeddedDocument {
    let header = DocumentHeader {
        document_id: id.into(),
        version,
        source: format!("source-{id}"),
        title: "title".into(),
        tags: vec![format!("tag-{id}")],
        content_hash: content.into(),
        fingerprint: format!("{content}-{id}"),
        ..DocumentHeader::default()
    };
    let texts = [format!("{content} above"), format!("{content} below")];
    let mut embedded = embedded(header, &texts);
    if let [above, below] = embedded.chunks.as_mut_slice() {
        (above.child_ids, below.parent_id) = (vec![below.chunk_id], Some(above.chunk_id));
    }
    embedded
}

impl Fixture {
    /// What the stage does with a record before the flush.
    async fn write(&self, writer: usize, embedded: &EmbeddedDocument) {
        let record = Bytes::from(serde_json::to_vec(embedded).unwrap());
        let EmbeddedDocument {
            document,
            chunks,
            vectors,
        } = embedded.clone();
        let operation = Operation::Replace {
            document: Box::new(document),
            chunks,
            vectors,
        };
        self.index.write(G, vec![operation]).await.unwrap();
        self.writers[writer].note_written(G, &embedded.document, record);
    }

    async fn delete(&self, writer: usize, id: &str, version: u64) {
        self.index
            .write(
                G,
                vec![Operation::Delete {
                    document_id: id.into(),
                    version,
                }],
            )
            .await
            .unwrap();
        self.writers[writer].note_deleted(G, id, version);
    }

    /// The flush and what follows; documents whose part changed.
    async fn settle(&self, writer: usize) -> Vec<(String, u32, Option<String>)> {
        self.index.flush(G).await.unwrap();
        let settled = self.writers[writer].settle().await.unwrap();
        assert!(
            settled
                .iter()
                .all(|settled| settled.generation == G && settled.state.state == State::Indexed)
        );
        settled
            .into_iter()
            .map(|settled| {
                (
                    settled.state.document_id,
                    settled.state.chunks,
                    settled.state.reason,
                )
            })
            .collect()
    }

    async fn publish(
        &self,
        id: &str,
        version: u64,
        content: &str,
    ) -> Vec<(String, u32, Option<String>)> {
        self.write(0, &document(id, version, content)).await;
        self.settle(0).await
    }

    async fn stored(&self) -> BTreeMap<String, IndexedDocument> {
        let stored = self
            .index
            .list_documents(None, None, usize::MAX)
            .await
            .unwrap();
        stored
            .into_iter()
            .filter(|stored| !stored.deleted)
            .map(|stored| (stored.document.document_id.clone(), stored))
            .collect()
    }

    /// Documents whose chunks are found by a token under a filter.
    async fn found(&self, token: &str, filter: Filter) -> Vec<String> {
        let tokens = [token.to_owned()];
        let query = KeywordQuery {
            generation: None,
            tokens: &tokens,
            filter: &filter,
            candidates: None,
            limit: 100,
        };
        let chunks: Vec<ChunkId> = self
            .index
            .keyword(query)
            .await
            .unwrap()
            .into_iter()
            .map(|found| found.chunk_id)
            .collect();
        let stored = self.index.fetch(None, &chunks).await.unwrap();
        let mut ids: Vec<String> = stored
            .into_iter()
            .flatten()
            .map(|stored| stored.document.document_id.clone())
            .collect();
        ids.sort_unstable();
        ids
    }

    /// Whether all is as it follows from the live documents alone: of each content the first in
    /// canonical order has the chunks, is found by the tags of all, and knows the others; which
    /// live documents there are, by content.
    async fn check(&self) -> BTreeMap<String, Vec<String>> {
        let stored = self.stored().await;
        let mut families: BTreeMap<String, Vec<&IndexedDocument>> = BTreeMap::new();
        for document in stored.values() {
            families
                .entry(document.document.content_hash.clone())
                .or_default()
                .push(document);
        }
        for (content, family) in &mut families {
            family.sort_by(|left, right| left.document.canonical_order(&right.document));
            let (canonical, duplicates) = family.split_first().unwrap();
            assert_eq!(
                (
                    canonical.document.duplicate_of.as_ref(),
                    canonical.chunk_ids.len()
                ),
                (None, 2),
                "{content}"
            );
            assert_eq!(
                canonical.document.duplicates,
                duplicates
                    .iter()
                    .map(|duplicate| duplicate.document.as_duplicate())
                    .collect::<Vec<_>>()
            );
            for duplicate in duplicates {
                assert_eq!(
                    duplicate.document.duplicate_of.as_ref(),
                    Some(&canonical.document.document_id),
                    "{content}"
                );
                assert!(
                    duplicate.chunk_ids.is_empty() && duplicate.document.duplicates.is_empty(),
                    "{content}"
                );
            }
            assert_eq!(
                canonical.chunk_ids,
                document(&canonical.document.document_id, 0, content)
                    .chunks
                    .iter()
                    .map(|chunk| chunk.chunk_id)
                    .collect::<Vec<_>>()
            );
            for member in family.iter() {
                let filter = Filter {
                    tags: Some(member.document.tags.clone()),
                    ..Filter::default()
                };
                assert_eq!(
                    self.found(content, filter).await,
                    [canonical.document.document_id.as_str(); 2],
                    "{content}"
                );
            }
        }
        let chunks = self.index.list_chunks(None).await.unwrap();
        assert_eq!(
            chunks.len(),
            families.len() * 2,
            "chunks of duplicates are left"
        );
        let ids = |family: Vec<&IndexedDocument>| {
            family
                .iter()
                .map(|member| member.document.document_id.clone())
                .collect()
        };
        families
            .into_iter()
            .map(|(content, family)| (content, ids(family)))
            .collect()
    }
}

#[tokio::test]
async fn the_newest_of_exact_duplicates_has_the_chunks_and_is_found_by_all() {
    let fixture = fixture().await;
    assert_eq!(fixture.publish("a", 1, "x").await, []);
    let changed = fixture.publish("b", 2, "x").await;
    let once = |canonical: &str| Some(format!("stored once: same content as {canonical}"));
    assert_eq!(
        changed,
        [("a".to_owned(), 0, once("b")), ("b".to_owned(), 2, None)]
    );
    fixture.publish("c", 1, "y").await;
    assert_eq!(
        fixture.check().await,
        BTreeMap::from([
            ("x".into(), vec!["b".into(), "a".into()]),
            ("y".into(), vec!["c".into()])
        ])
    );
    let by = |filter: Filter| fixture.found("x", filter);
    assert_eq!(
        by(Filter {
            sources: Some(vec!["source-a".into()]),
            ..Filter::default()
        })
        .await,
        ["b", "b"]
    );
    assert_eq!(
        by(Filter {
            document_ids: Some(vec!["a".into()]),
            ..Filter::default()
        })
        .await,
        ["b", "b"]
    );
    assert_eq!(
        by(Filter {
            tags: Some(vec!["tag-c".into()]),
            ..Filter::default()
        })
        .await,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn what_another_batch_stored_once_is_told_with_its_own() {
    let fixture = fixture().await;
    fixture.publish("b", 2, "x").await;
    // Written, and made visible by the flush of another batch, whose documents are of the same
    // content.
    fixture.write(0, &document("a", 1, "x")).await;
    fixture.write(1, &document("c", 0, "x")).await;
    assert_eq!(fixture.settle(1).await.len(), 3);
    // The stage reports `a` as stored with its chunks after that, and this comes behind.
    assert_eq!(
        fixture.settle(0).await,
        [(
            "a".to_owned(),
            0,
            Some("stored once: same content as b".to_owned())
        )]
    );
}

#[tokio::test]
async fn when_the_canonical_one_goes_or_changes_another_takes_its_place() {
    let fixture = fixture().await;
    for (id, version) in [("a", 1), ("b", 3), ("c", 2)] {
        fixture.publish(id, version, "x").await;
    }
    fixture.delete(0, "b", 4).await;
    let changed = fixture.settle(0).await;
    assert_eq!(
        changed.iter().find(|(id, ..)| id == "c"),
        Some(&("c".to_owned(), 2, None))
    );
    assert_eq!(
        fixture.check().await,
        BTreeMap::from([("x".into(), vec!["c".into(), "a".into()])])
    );
    let chunks = fixture
        .index
        .fetch(None, &fixture.stored().await["c"].chunk_ids)
        .await
        .unwrap();
    let parents: Vec<_> = chunks
        .iter()
        .flatten()
        .map(|stored| stored.chunk.parent_id)
        .collect();
    assert_eq!(
        parents,
        [None, Some(fixture.stored().await["c"].chunk_ids[0])],
        "ids inside the chunks are its own too"
    );
    fixture.publish("c", 5, "y").await;
    assert_eq!(
        fixture.check().await,
        BTreeMap::from([
            ("x".into(), vec!["a".into()]),
            ("y".into(), vec!["c".into()])
        ])
    );
    assert_eq!(
        fixture
            .found(
                "x",
                Filter {
                    tags: Some(vec!["tag-c".into()]),
                    ..Filter::default()
                }
            )
            .await,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn what_others_may_not_see_stands_for_nobody_even_if_its_hash_is_the_same() {
    let fixture = fixture().await;
    fixture.publish("a", 1, "x").await;
    // A source profile gave it this level after the hash was made.
    let mut secret = document("b", 2, "x");
    secret.document.attributes.security_level = Some(3);
    fixture.write(0, &secret).await;
    assert_eq!(fixture.settle(0).await, []);
    let stored = fixture.stored().await;
    assert!(
        stored
            .values()
            .all(|stored| stored.chunk_ids.len() == 2 && stored.document.duplicate_of.is_none()),
        "{stored:?}"
    );
}

#[tokio::test]
async fn two_duplicates_in_one_batch_and_a_repeated_record_end_as_one() {
    let fixture = fixture().await;
    for _ in 0..2 {
        fixture.write(0, &document("a", 1, "x")).await;
        fixture.write(0, &document("b", 1, "x")).await;
        fixture.settle(0).await;
        assert_eq!(
            fixture.check().await,
            BTreeMap::from([("x".into(), vec!["a".into(), "b".into()])])
        );
    }
    assert_eq!(fixture.settle(0).await, [], "nothing is left to change");
}

#[tokio::test]
async fn a_crash_before_families_were_settled_is_made_good_when_the_records_come_again() {
    let fixture = fixture().await;
    fixture.publish("a", 1, "x").await;
    fixture.publish("b", 2, "x").await;
    // The process ends between flush and settle: writer 1 never settles, writer 0 gets the same
    // records again.
    fixture.delete(1, "b", 3).await;
    fixture.write(1, &document("a", 4, "y")).await;
    fixture.index.flush(G).await.unwrap();
    fixture.delete(0, "b", 3).await;
    fixture.write(0, &document("a", 4, "y")).await;
    fixture.settle(0).await;
    assert_eq!(
        fixture.check().await,
        BTreeMap::from([("y".into(), vec!["a".into()])])
    );
}

#[tokio::test]
async fn families_have_a_limit_beyond_which_documents_stay_whole() {
    let fixture = fixture().await;
    let maximum = tributary_indexer::exact_duplicates::MAXIMUM_MEMBERS;
    for number in 0..maximum + 3 {
        fixture
            .write(0, &document(&format!("{number:04}"), 1, "x"))
            .await;
    }
    fixture.settle(0).await;
    let whole = |stored: BTreeMap<String, IndexedDocument>| {
        stored
            .into_values()
            .filter(|stored| !stored.chunk_ids.is_empty())
            .count()
    };
    assert_eq!(whole(fixture.stored().await), 4);
    fixture.delete(0, "0000", 2).await;
    fixture.settle(0).await;
    let stored = fixture.stored().await;
    assert_eq!(stored["0001"].document.duplicates.len(), maximum - 1);
    assert_eq!(whole(stored), 3);
}

/// Many random publications, changes, repetitions and deletions by two writers that settle at the
/// same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_in_whatever_order_the_same_is_left() {
    let fixture = fixture().await;
    let mut state = 42_u64;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut live: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for step in 1..120_u64 {
        for writer in 0..2 {
            for _ in 0..random(4) {
                // Every document has one writer, as every key has one partition.
                let id = format!("{}{}", ["l", "r"][writer], random(4));
                let version = step * 10 + random(5);
                let known = live.get(&id).map_or(0, |(version, _)| *version);
                if random(4) == 0 {
                    fixture.delete(writer, &id, version).await;
                    if version >= known {
                        live.insert(id, (version, String::new()));
                    }
                } else {
                    let content = ["x", "y", "z"][random(3) as usize];
                    fixture
                        .write(writer, &document(&id, version, content))
                        .await;
                    if version >= known {
                        live.insert(id, (version, content.to_owned()));
                    }
                }
            }
        }
        tokio::join!(fixture.settle(0), fixture.settle(1));
        let mut expected: BTreeMap<String, Vec<(std::cmp::Reverse<u64>, String)>> = BTreeMap::new();
        for (id, (version, content)) in live.iter().filter(|(_, (_, content))| !content.is_empty())
        {
            expected
                .entry(content.clone())
                .or_default()
                .push((std::cmp::Reverse(*version), id.clone()));
        }
        let expected: BTreeMap<String, Vec<String>> = expected
            .into_iter()
            .map(|(content, mut family)| {
                family.sort_unstable();
                (content, family.into_iter().map(|(_, id)| id).collect())
            })
            .collect();
        assert_eq!(fixture.check().await, expected, "step {step}");
    }
}
