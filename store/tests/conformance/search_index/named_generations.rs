//! Promises about generations that a read names, and about documents found by terms of their
//! manifests.

use tributary_schemas::near_duplicate::{
    SIGNATURE_LENGTH, Signature, content_term, duplicate_term,
};

use super::*;

/// "Reads go to the one that they name, or to the serving one."
pub async fn every_read_goes_to_the_generation_that_it_names(index: &dyn SearchIndex) {
    fresh(index, "named-old").await;
    index.create("named-new", &shared_settings()).await.unwrap();
    apply(
        index,
        "named-old",
        vec![
            replace(content(1), &[(1, "a")]),
            replace(header("only-old", 1), &[(10, "a")]),
        ],
    )
    .await;
    apply(
        index,
        "named-new",
        vec![
            replace(content(2), &[(2, "a")]),
            replace(header("only-new", 1), &[(20, "a")]),
        ],
    )
    .await;
    for serving in ["named-old", "named-new", "named-old"] {
        index.promote(serving).await.unwrap();
        reads(index, Some("named-old"), 1, "only-old", 10).await;
        reads(index, Some("named-new"), 2, "only-new", 20).await;
        match serving {
            "named-old" => reads(index, None, 1, "only-old", 10).await,
            _ => reads(index, None, 2, "only-new", 20).await,
        }
    }
}

fn content(version: u64) -> DocumentHeader {
    DocumentHeader {
        content_hash: "same".into(),
        ..header("both", version)
    }
}

/// Every read of a generation that holds document `both` in a version, whose chunk has the version
/// as its id, and one document more.
async fn reads(
    index: &dyn SearchIndex,
    generation: Option<&str>,
    version: u64,
    other: &str,
    other_chunk: u128,
) {
    let (none, chunk) = (Filter::default(), u128::from(version));
    let mut expected = vec![ChunkId(chunk), ChunkId(other_chunk)];
    for candidates in [
        None,
        Some(&[ChunkId(1), ChunkId(2), ChunkId(10), ChunkId(20)][..]),
    ] {
        let words = KeywordQuery {
            generation,
            tokens: &tokens("a"),
            filter: &none,
            candidates,
            limit: ALL,
        };
        let mut found: Vec<ChunkId> = index
            .keyword(words)
            .await
            .unwrap()
            .iter()
            .map(|hit| hit.chunk_id)
            .collect();
        found.sort_unstable();
        assert_eq!(found, expected, "keyword, {generation:?}");
        let query = unit(1, DIMENSIONS);
        let numbers = VectorQuery {
            generation,
            vector: &query,
            field: VectorField::Coarse,
            filter: &none,
            candidates,
            limit: ALL,
        };
        let mut found: Vec<ChunkId> = index
            .vector(numbers)
            .await
            .unwrap()
            .iter()
            .map(|hit| hit.chunk_id)
            .collect();
        found.sort_unstable();
        assert_eq!(found, expected, "vector, {generation:?}");
    }
    let both = [ChunkId(1), ChunkId(2)];
    let is_there = [version == 1, version == 2];
    let fetched = index.fetch(generation, &both).await.unwrap();
    assert_eq!(
        fetched.iter().map(Option::is_some).collect::<Vec<_>>(),
        is_there,
        "fetch, {generation:?}"
    );
    let stored = index.vectors(generation, &both).await.unwrap();
    assert_eq!(
        stored,
        both.map(|id| (id == ChunkId(chunk)).then(|| vectors(id.0 as u64))),
        "vectors, {generation:?}"
    );
    let documents = index
        .documents(generation, &["both".into(), other.into()])
        .await
        .unwrap();
    assert!(
        documents[1].is_some() && documents[0].as_ref().unwrap().document.version == version,
        "documents, {generation:?}"
    );
    let listed = index.list_documents(generation, None, ALL).await.unwrap();
    let names: Vec<&str> = listed
        .iter()
        .map(|document| document.document.document_id.as_str())
        .collect();
    assert_eq!(names, ["both", other], "list_documents, {generation:?}");
    let similar = index
        .documents_with(generation, &[content_term("same")], ALL)
        .await
        .unwrap();
    assert_eq!(
        similar
            .iter()
            .map(|document| document.document.version)
            .collect::<Vec<_>>(),
        [version],
        "documents_with, {generation:?}"
    );
    let mut chunks: Vec<ChunkId> = index
        .list_chunks(generation)
        .await
        .unwrap()
        .into_iter()
        .map(|(chunk, _)| chunk)
        .collect();
    chunks.sort_unstable();
    expected.sort_unstable();
    assert_eq!(chunks, expected, "list_chunks, {generation:?}");
}

/// "`NotFound` for an unknown generation", in every read that can name one.
pub async fn reads_of_unknown_generations_are_not_found(index: &dyn SearchIndex) {
    let unknown = Some("nobody-made-this-either");
    let (none, query, ids) = (Filter::default(), unit(1, DIMENSIONS), [ChunkId(1)]);
    let words = KeywordQuery {
        generation: unknown,
        tokens: &tokens("a"),
        filter: &none,
        candidates: None,
        limit: 1,
    };
    let numbers = VectorQuery {
        generation: unknown,
        vector: &query,
        field: VectorField::Coarse,
        filter: &none,
        candidates: None,
        limit: 1,
    };
    let errors = [
        index.keyword(words).await.err(),
        index.vector(numbers).await.err(),
        index.fetch(unknown, &ids).await.err(),
        index.vectors(unknown, &ids).await.err(),
        index.documents(unknown, &["d".into()]).await.err(),
        index.list_documents(unknown, None, 1).await.err(),
        index.documents_with(unknown, &["t".into()], 1).await.err(),
        index.list_chunks(unknown).await.err(),
    ];
    for (place, error) in errors.into_iter().enumerate() {
        assert_eq!(
            error.map(|error| error.kind()),
            Some(ErrorKind::NotFound),
            "read {place}"
        );
    }
}

/// "Documents that carry at least one of the manifest terms, by document id, at most `limit`;
/// deleted ones carry none."
pub async fn documents_are_found_by_their_terms(index: &dyn SearchIndex) {
    fresh(index, "terms").await;
    let signature = |seed: u32| {
        Signature(std::array::from_fn(|place| {
            seed.wrapping_mul(0x9e37_79b9) ^ (place as u32 * 77)
        }))
    };
    let mut near = signature(1);
    near.0
        .iter_mut()
        .take(SIGNATURE_LENGTH / 2)
        .for_each(|value| *value ^= 5);
    let with = |id: &str, version: u64, signature: &Signature, content_hash: &str| {
        let document = DocumentHeader {
            signature: signature.encode(),
            content_hash: content_hash.into(),
            ..header(id, version)
        };
        // A chunk whose filter terms and tokens look like manifest terms must not be mixed up with
        // a manifest.
        let document = DocumentHeader {
            tags: vec![content_term("one")],
            ..document
        };
        replace(
            document,
            &[(u128::from(version) * 1000 + id.len() as u128, "content=one")],
        )
    };
    let duplicate = Operation::Replace {
        document: Box::new(DocumentHeader {
            duplicate_of: Some("b".into()),
            ..header("copy", 1)
        }),
        chunks: vec![],
        vectors: vec![],
    };
    let first = vec![
        with("b", 1, &signature(1), "one"),
        with("aa", 1, &near, "two"),
        with("ccc", 1, &signature(2), "one"),
        duplicate,
    ];
    apply(index, "terms", first).await;
    let found = async |terms: &[String], limit: usize| -> Vec<String> {
        let found = index.documents_with(None, terms, limit).await.unwrap();
        found
            .into_iter()
            .map(|document| document.document.document_id)
            .collect()
    };
    assert_eq!(found(&[content_term("one")], ALL).await, ["b", "ccc"]);
    assert_eq!(
        found(
            &[
                content_term("one"),
                content_term("two"),
                content_term("none")
            ],
            ALL
        )
        .await,
        ["aa", "b", "ccc"]
    );
    assert_eq!(
        found(&[content_term("one"), content_term("two")], 2).await,
        ["aa", "b"],
        "the limit keeps the first by id"
    );
    assert_eq!(found(&[duplicate_term("b")], ALL).await, ["copy"]);
    let bands = DocumentHeader {
        signature: signature(1).encode(),
        ..header("query", 1)
    }
    .manifest_terms();
    assert_eq!(
        found(&bands, ALL).await,
        ["aa", "b"],
        "half the bands are the same"
    );
    assert!(found(&[], ALL).await.is_empty() && found(&["content=".into()], ALL).await.is_empty());
    assert!(found(&[content_term("one")], 0).await.is_empty());
    let whole = index
        .documents_with(None, &[content_term("two")], 1)
        .await
        .unwrap()
        .remove(0);
    assert_eq!(
        (
            whole.document.content_hash.as_str(),
            whole.chunk_ids.len(),
            whole.deleted
        ),
        ("two", 1, false)
    );
    // Another content, and a deletion.
    apply(
        index,
        "terms",
        vec![with("b", 2, &signature(2), "three"), delete("ccc", 2)],
    )
    .await;
    assert!(found(&[content_term("one")], ALL).await.is_empty());
    assert_eq!(found(&bands, ALL).await, ["aa"]);
    assert_eq!(found(&[content_term("three")], ALL).await, ["b"]);
    let mut listed: Vec<String> = index
        .list_chunks(None)
        .await
        .unwrap()
        .into_iter()
        .map(|(_, document)| document)
        .collect();
    listed.sort_unstable();
    assert_eq!(listed, ["aa", "b"], "manifests are no chunks");
}
