//! Of the editions of a work the newest has the chunks, over the real embedded index: whatever the
//! order in which they come and go, with two writers and with a crash between the steps.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use bytes::Bytes;
use common::{G, embedded, stores};
use tempfile::TempDir;
use tributary_indexer::Editions;
use tributary_schemas::{ChunkId, DocumentHeader, Edition, EmbeddedDocument, State};
use tributary_store::search_index::{Operation, SharedSearchIndex};

struct Fixture {
    index: SharedSearchIndex,
    /// Two processes over one index.
    writers: [Editions; 2],
    _folder: TempDir,
}

async fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let (index, blobs) = stores(folder.path()).await;
    let writer = || Editions::new(Arc::clone(&index), blobs.clone(), Arc::new(|| 7));
    Fixture {
        writers: [writer(), writer()],
        index,
        _folder: folder,
    }
}

/// A document of one chunk; `edition` is `work version`, empty for none.
fn document(id: &str, version: u64, edition: &str) -> EmbeddedDocument {
    let edition = edition
        .split_once(' ')
        .and_then(|(work, version)| Edition::new("design", &[work], version));
    let header = DocumentHeader {
        document_id: id.into(),
        version,
        title: id.into(),
        edition,
        ..DocumentHeader::default()
    };
    embedded(header, &[format!("{id} {version}")])
}

impl Fixture {
    /// What the stage does with a record before the flush.
    async fn write(&self, writer: usize, embedded: &EmbeddedDocument) {
        let record = Bytes::from(serde_json::to_vec(embedded).unwrap());
        let body = self.writers[writer]
            .keep(embedded, Some(&record))
            .await
            .unwrap();
        let EmbeddedDocument {
            document,
            chunks,
            vectors,
        } = embedded.clone();
        let document = Box::new(DocumentHeader {
            body,
            superseded_by: None,
            ..document
        });
        self.index
            .write(
                G,
                vec![Operation::Replace {
                    document,
                    chunks,
                    vectors,
                }],
            )
            .await
            .unwrap();
        self.writers[writer].note(G, &embedded.document.document_id, Some(&embedded.document));
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
        self.writers[writer].note(G, id, None);
    }

    /// The flush and what follows; documents whose part changed: id, state, reason.
    async fn settle(&self, writer: usize) -> Vec<(String, State, Option<String>)> {
        self.index.flush(G).await.unwrap();
        self.writers[writer].settle().await.unwrap();
        let settled = self.writers[writer].settled();
        settled
            .into_iter()
            .map(|settled| {
                (
                    settled.state.document_id,
                    settled.state.state,
                    settled.state.reason,
                )
            })
            .collect()
    }

    async fn publish(
        &self,
        id: &str,
        version: u64,
        edition: &str,
    ) -> Vec<(String, State, Option<String>)> {
        self.write(0, &document(id, version, edition)).await;
        self.settle(0).await
    }

    /// Texts of all chunks that can be found.
    async fn found(&self) -> Vec<String> {
        let chunks: Vec<ChunkId> = self
            .index
            .list_chunks(None)
            .await
            .unwrap()
            .into_iter()
            .map(|(chunk, _)| chunk)
            .collect();
        let stored = self.index.fetch(None, &chunks).await.unwrap();
        let mut texts: Vec<String> = stored
            .into_iter()
            .flatten()
            .map(|stored| stored.chunk.text.clone())
            .collect();
        texts.sort_unstable();
        texts
    }
}

fn superseded(id: &str, version: &str, newest: &str) -> (String, State, Option<String>) {
    (
        id.to_owned(),
        State::Skipped,
        Some(format!(
            "superseded by edition {version} of the same work: {newest}"
        )),
    )
}

#[tokio::test]
async fn only_the_newest_edition_is_found_in_whatever_order_they_come() {
    let editions = [
        ("a", "design 1.9"),
        ("b", "design 1.10"),
        ("c", "design 2.0-rc1"),
    ];
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let fixture = fixture().await;
        for (number, place) in order.into_iter().enumerate() {
            fixture
                .publish(editions[place].0, number as u64 + 1, editions[place].1)
                .await;
        }
        let version = order.iter().position(|place| *place == 2).unwrap() + 1;
        assert_eq!(fixture.found().await, [format!("c {version}")], "{order:?}");
        assert_eq!(fixture.settle(0).await, [], "nothing is left to change");
    }
}

#[tokio::test]
async fn what_another_batch_put_aside_is_told_with_its_own() {
    let fixture = fixture().await;
    fixture.publish("new", 1, "design 2").await;
    // Written, and made visible by the flush of another batch, whose documents are of the same
    // work.
    fixture.write(0, &document("old", 2, "design 1")).await;
    fixture.write(1, &document("older", 3, "design 0")).await;
    assert_eq!(
        fixture.settle(1).await,
        [
            superseded("old", "2", "new"),
            superseded("older", "2", "new")
        ]
    );
    // The stage reports `old` as searchable after that, and this comes behind.
    assert_eq!(fixture.settle(0).await, [superseded("old", "2", "new")]);
    assert_eq!(fixture.found().await, ["new 1"]);
}

#[tokio::test]
async fn what_became_of_the_others_is_told() {
    let fixture = fixture().await;
    assert_eq!(fixture.publish("old", 1, "design 1").await, []);
    assert_eq!(
        fixture.publish("new", 2, "design 2").await,
        [superseded("old", "2", "new")]
    );
    assert_eq!(
        fixture.publish("late", 3, "design 0.5").await,
        [superseded("late", "2", "new")]
    );
    assert_eq!(
        fixture.publish("other", 4, "manual 1").await,
        [],
        "another work"
    );
    assert_eq!(
        fixture.publish("plain", 5, "").await,
        [],
        "no edition at all"
    );
    assert_eq!(fixture.found().await, ["new 2", "other 4", "plain 5"]);
}

#[tokio::test]
async fn when_the_newest_goes_or_changes_the_next_one_comes_back() {
    let fixture = fixture().await;
    for (id, version, edition) in [
        ("a", 1, "design 1"),
        ("b", 2, "design 2"),
        ("c", 3, "design 3"),
    ] {
        fixture.publish(id, version, edition).await;
    }
    fixture.delete(0, "c", 4).await;
    let settled = fixture.settle(0).await;
    assert_eq!(
        settled,
        [
            ("b".to_owned(), State::Indexed, None),
            superseded("a", "2", "b")
        ]
    );
    assert_eq!(fixture.found().await, ["b 2"]);
    // The newest leaves the work: its profile or its path changed.
    let settled = fixture.publish("b", 5, "manual 2").await;
    assert_eq!(settled, [("a".to_owned(), State::Indexed, None)]);
    assert_eq!(fixture.found().await, ["a 1", "b 5"]);
    fixture.publish("a", 6, "").await;
    fixture.delete(0, "b", 7).await;
    fixture.settle(0).await;
    assert_eq!(fixture.found().await, ["a 6"]);
}

#[tokio::test]
async fn a_superseded_edition_that_changes_stays_aside() {
    let fixture = fixture().await;
    fixture.publish("new", 1, "design 2").await;
    fixture.publish("old", 2, "design 1").await;
    assert_eq!(
        fixture.publish("old", 3, "design 1").await,
        [superseded("old", "2", "new")]
    );
    assert_eq!(fixture.found().await, ["new 1"]);
    fixture.delete(0, "new", 4).await;
    fixture.settle(0).await;
    assert_eq!(
        fixture.found().await,
        ["old 3"],
        "it comes back as it was last published"
    );
}

#[tokio::test]
async fn a_crash_before_works_were_settled_is_made_good_when_the_record_comes_again() {
    let fixture = fixture().await;
    fixture.publish("new", 1, "design 2").await;
    fixture.write(0, &document("old", 2, "design 1")).await;
    // The process ends here; another one takes the record again.
    fixture.write(1, &document("old", 2, "design 1")).await;
    assert_eq!(fixture.settle(1).await, [superseded("old", "2", "new")]);
    assert_eq!(fixture.found().await, ["new 1"]);
}

#[tokio::test]
async fn two_writers_that_settle_at_the_same_time_agree() {
    let fixture = fixture().await;
    for round in 0..10 {
        let version = round * 4 + 1;
        fixture.write(0, &document("a", version, "design 1")).await;
        fixture.write(1, &document("b", version, "design 2")).await;
        fixture.index.flush(G).await.unwrap();
        let (first, second) =
            tokio::join!(fixture.writers[0].settle(), fixture.writers[1].settle());
        first.unwrap();
        second.unwrap();
        assert_eq!(fixture.found().await, [format!("b {version}")]);
        fixture.delete(1, "b", version + 1).await;
        fixture
            .write(0, &document("a", version + 2, "design 1"))
            .await;
        fixture.index.flush(G).await.unwrap();
        let (first, second) =
            tokio::join!(fixture.writers[1].settle(), fixture.writers[0].settle());
        first.unwrap();
        second.unwrap();
        assert_eq!(fixture.found().await, [format!("a {}", version + 2)]);
    }
}
