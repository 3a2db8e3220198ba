//! Vectors: their dimensions, keeping those that are stored, and their scores.

use super::*;

/// "`Invalid` for a vector of another dimension than the settings say."
pub async fn vectors_of_another_dimension_are_invalid(index: &dyn SearchIndex) {
    fresh(index, "dimensions").await;
    apply(
        index,
        "dimensions",
        vec![replace(header("d", 1), &[(1, "a")])],
    )
    .await;
    let wrong = [
        ChunkVectors {
            coarse: unit(1, DIMENSIONS + 1),
            ..ChunkVectors::default()
        },
        ChunkVectors {
            coarse: vec![],
            ..ChunkVectors::default()
        },
        ChunkVectors {
            coarse: unit(1, DIMENSIONS),
            fine: unit(1, DIMENSIONS),
            ..ChunkVectors::default()
        },
        ChunkVectors {
            coarse: vec![f32::NAN; DIMENSIONS],
            ..ChunkVectors::default()
        },
    ];
    for vectors in wrong {
        let operation = Operation::Replace {
            document: Box::new(header("d", 2)),
            chunks: vec![chunk(2, 0, "a")],
            vectors: vec![vectors],
        };
        let outcomes = index.write("dimensions", vec![operation]).await.unwrap();
        assert!(
            matches!(&outcomes[0], Outcome::Failed(error) if error.kind() == ErrorKind::Invalid),
            "{outcomes:?}"
        );
    }
    index.flush("dimensions").await.unwrap();
    assert_eq!(found(index, "a").await, set([1]));
    let none = Filter::default();
    for candidates in [None, Some(&[ChunkId(1)][..])] {
        let query = VectorQuery {
            generation: None,
            vector: &[1.0; 3],
            field: VectorField::Coarse,
            filter: &none,
            candidates,
            limit: 1,
        };
        assert_eq!(
            index.vector(query).await.unwrap_err().kind(),
            ErrorKind::Invalid
        );
    }
}

/// "Empty means: keep the stored vectors of chunks with the same ids (all must exist)."
pub async fn stored_vectors_are_kept_when_none_are_given(index: &dyn SearchIndex) {
    fresh(index, "kept-vectors").await;
    apply(
        index,
        "kept-vectors",
        vec![replace(header("d", 1), &[(1, "a"), (2, "b")])],
    )
    .await;
    let without = |version: u64, ids: &[u128]| Operation::Replace {
        document: Box::new(DocumentHeader {
            tags: vec!["new".into()],
            ..header("d", version)
        }),
        chunks: ids
            .iter()
            .enumerate()
            .map(|(ordinal, id)| chunk(*id, ordinal, "c"))
            .collect(),
        vectors: vec![],
    };
    apply(index, "kept-vectors", vec![without(2, &[2, 1])]).await;
    // Once more from a write that is not flushed yet.
    let outcomes = index
        .write("kept-vectors", vec![without(3, &[1, 2]), without(4, &[2])])
        .await
        .unwrap();
    assert_eq!(outcomes, [Outcome::Applied, Outcome::Applied]);
    index.flush("kept-vectors").await.unwrap();
    let tagged = Filter {
        tags: Some(vec!["new".into()]),
        ..Filter::default()
    };
    assert_eq!(ids(&keyword(index, "c", &tagged, ALL).await), set([2]));
    assert_eq!(
        index
            .vectors(None, &[ChunkId(2), ChunkId(1)])
            .await
            .unwrap(),
        [Some(vectors(2)), None]
    );
    let outcomes = index
        .write("kept-vectors", vec![without(5, &[2, 77])])
        .await
        .unwrap();
    assert!(
        matches!(&outcomes[0], Outcome::Failed(error) if error.kind() == ErrorKind::Invalid),
        "{outcomes:?}"
    );
    index.flush("kept-vectors").await.unwrap();
    assert_eq!(
        found(index, "c").await,
        set([2]),
        "a failed operation changes nothing"
    );
}

/// Stored vectors are exact.
pub async fn vectors_come_back_unchanged(index: &dyn SearchIndex) {
    fresh(index, "vectors").await;
    apply(
        index,
        "vectors",
        vec![replace(header("d", 1), &[(1, "a"), (2, "a")])],
    )
    .await;
    let stored = index
        .vectors(None, &[ChunkId(2), ChunkId(9), ChunkId(1), ChunkId(2)])
        .await
        .unwrap();
    assert_eq!(
        stored,
        [Some(vectors(2)), None, Some(vectors(1)), Some(vectors(2))]
    );
}

/// "The exact top of the true dot products."
pub async fn vector_scores_are_dot_products(index: &dyn SearchIndex) {
    fresh(index, "dots").await;
    apply(
        index,
        "dots",
        (0..300)
            .map(|id| replace(header(&format!("d{id}"), 1), &[(id, "a")]))
            .collect(),
    )
    .await;
    let query = unit(1_000, DIMENSIONS);
    let dot = |id: u128| -> f32 {
        query
            .iter()
            .zip(vectors(id as u64).coarse)
            .map(|(a, b)| a * b)
            .sum()
    };
    let hits = vector(index, &query, &Filter::default(), ALL).await;
    assert_eq!(hits.len(), 300);
    assert!(
        hits.iter()
            .all(|hit| (hit.score - dot(hit.chunk_id.0)).abs() < 1e-5)
    );
    let mut expected: Vec<u128> = (0..300).collect();
    expected.sort_by(|left, right| dot(*right).total_cmp(&dot(*left)));
    let top: Vec<u128> = vector(index, &query, &Filter::default(), 20)
        .await
        .iter()
        .map(|hit| hit.chunk_id.0)
        .collect();
    assert_eq!(top, expected[..20]);
}

/// With vectors of their own for tier 2, each field answers from its own.
pub async fn separate_fine_vectors_are_searched(index: &dyn SearchIndex) {
    let settings = IndexSettings {
        fine_dimensions: 20,
        shared_vectors: false,
        ..shared_settings()
    };
    index.create("fine", &settings).await.unwrap();
    index.promote("fine").await.unwrap();
    let both = |id: u64| ChunkVectors {
        coarse: unit(id, DIMENSIONS),
        fine: unit(id + 500, 20),
        ..ChunkVectors::default()
    };
    let operation = |id: u64| Operation::Replace {
        document: Box::new(header(&format!("d{id}"), 1)),
        chunks: vec![chunk(u128::from(id), 0, "a")],
        vectors: vec![both(id)],
    };
    apply(index, "fine", (0..30).map(operation).collect()).await;
    let none = Filter::default();
    let candidates: Vec<ChunkId> = (0..30).map(ChunkId).collect();
    for candidates in [None, Some(&candidates[..])] {
        let fine = unit(507, 20);
        let query = VectorQuery {
            generation: None,
            vector: &fine,
            field: VectorField::Fine,
            filter: &none,
            candidates,
            limit: 1,
        };
        let hit = index.vector(query).await.unwrap()[0];
        assert!(
            hit.chunk_id == ChunkId(7) && (hit.score - 1.0).abs() < 1e-5,
            "{hit:?}"
        );
        let coarse = unit(9, DIMENSIONS);
        let hit = index
            .vector(VectorQuery {
                generation: None,
                vector: &coarse,
                field: VectorField::Coarse,
                ..query
            })
            .await
            .unwrap()[0];
        assert_eq!(hit.chunk_id, ChunkId(9));
        let wrong = VectorQuery {
            generation: None,
            vector: &coarse,
            ..query
        };
        assert_eq!(
            index.vector(wrong).await.unwrap_err().kind(),
            ErrorKind::Invalid
        );
    }
    assert_eq!(
        index.vectors(None, &[ChunkId(3)]).await.unwrap(),
        [Some(both(3))]
    );
    let missing = Operation::Replace {
        document: Box::new(header("e", 1)),
        chunks: vec![chunk(99, 0, "a")],
        vectors: vec![vectors(1)],
    };
    let outcomes = index.write("fine", vec![missing]).await.unwrap();
    assert!(matches!(&outcomes[0], Outcome::Failed(error) if error.kind() == ErrorKind::Invalid));
}
