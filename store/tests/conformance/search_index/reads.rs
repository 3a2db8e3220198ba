//! Reading chunks and documents back.

use super::*;

/// "The chunks, in the order of the ids"; all fields but the tokens come back.
pub async fn fetched_chunks_are_as_written(index: &dyn SearchIndex) {
    fresh(index, "fetched").await;
    let document = DocumentHeader {
        tags: vec!["x".into()],
        knowledge_sets: vec!["one".into()],
        attributes: Attributes {
            link: Some("http://example.org/".into()),
            security_level: Some(1),
            ..Attributes::default()
        },
        ..header("d", 3)
    };
    apply(
        index,
        "fetched",
        vec![replace(document.clone(), &[(1, "a b"), (2, "c")])],
    )
    .await;
    let fetched = index
        .fetch(None, &[ChunkId(2), ChunkId(5), ChunkId(1)])
        .await
        .unwrap();
    assert!(fetched[1].is_none());
    for (place, ordinal, id, analyzed) in [(0, 1, 2, "c"), (2, 0, 1, "a b")] {
        let stored = fetched[place].as_ref().unwrap();
        let written = chunk(id, ordinal, analyzed);
        assert_eq!(
            stored.chunk,
            Chunk {
                security_level: None,
                analyzed: String::new(),
                ..written
            }
        );
        assert_eq!(*stored.document, document);
    }
}

/// "Every document, deletions included, in pages by document id."
pub async fn documents_are_listed_in_pages(index: &dyn SearchIndex) {
    fresh(index, "pages").await;
    apply(
        index,
        "pages",
        (0..10_u128)
            .map(|id| replace(header(&format!("d{id}"), 1), &[(id, "a")]))
            .collect(),
    )
    .await;
    apply(
        index,
        "pages",
        vec![
            delete("d3", 2),
            delete("zz", 1),
            replace(header("d5", 2), &[(55, "a")]),
        ],
    )
    .await;
    let mut listed = Vec::new();
    loop {
        let after = listed
            .last()
            .map(|document: &IndexedDocument| document.document.document_id.clone());
        let page = index
            .list_documents(None, after.as_deref(), 4)
            .await
            .unwrap();
        assert!(page.len() <= 4);
        if page.is_empty() {
            break;
        }
        listed.extend(page);
    }
    let names: Vec<&str> = listed
        .iter()
        .map(|document| document.document.document_id.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9", "zz"
        ]
    );
    let deleted: Vec<&str> = listed
        .iter()
        .filter(|document| document.deleted)
        .map(|document| &*document.document.document_id)
        .collect();
    assert_eq!(deleted, ["d3", "zz"]);
    assert_eq!(listed[5].chunk_ids, [ChunkId(55)]);
}

/// "Ids of every chunk that a query can find, with the document that it belongs to."
pub async fn chunks_are_listed_with_their_documents(index: &dyn SearchIndex) {
    mixed(index, "listed").await;
    let mut listed = index.list_chunks(None).await.unwrap();
    listed.sort_unstable();
    let mut expected: Vec<(ChunkId, String)> = (0..200_u128)
        .filter(|id| id % 9 != 0)
        .flat_map(|id| {
            [
                (ChunkId(id * 2), format!("d{id}")),
                (ChunkId(id * 2 + 1), format!("d{id}")),
            ]
        })
        .collect();
    expected.sort_unstable();
    assert_eq!(listed, expected);
    assert_eq!(
        ids(&vector(index, &unit(1, DIMENSIONS), &Filter::default(), ALL).await),
        set(listed.iter().map(|(id, _)| id.0))
    );
    apply(
        index,
        "listed",
        vec![replace(header("twice", 1), &[(2, "w1")])],
    )
    .await;
    let twice = index
        .list_chunks(None)
        .await
        .unwrap()
        .into_iter()
        .filter(|(id, _)| *id == ChunkId(2))
        .count();
    assert_eq!(twice, 2, "an id that is findable twice is listed twice");
}
