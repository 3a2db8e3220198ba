//! Limits, order and candidates: that a narrower search agrees with the wider one.

use super::*;

/// "Hits at most"; a smaller limit gives the head of the longer list.
pub async fn limits_are_kept(index: &dyn SearchIndex) {
    fresh(index, "limits").await;
    let text = |id: u128| format!("a {}", "b ".repeat(id as usize % 11));
    let operations = (0..50)
        .map(|id| replace(header(&format!("d{id}"), 1), &[(id, &text(id))]))
        .collect();
    apply(index, "limits", operations).await;
    let none = Filter::default();
    let (words, numbers) = (
        keyword(index, "a b", &none, ALL).await,
        vector(index, &unit(3, DIMENSIONS), &none, ALL).await,
    );
    assert_eq!((words.len(), numbers.len()), (50, 50));
    for limit in [0, 1, 2, 17, 49, 50, 51] {
        assert_eq!(
            keyword(index, "a b", &none, limit).await,
            words.iter().take(limit).copied().collect::<Vec<_>>()
        );
        assert_eq!(
            vector(index, &unit(3, DIMENSIONS), &none, limit).await,
            numbers.iter().take(limit).copied().collect::<Vec<_>>()
        );
    }
    assert!(words.is_sorted_by(|left, right| left.score >= right.score));
    assert!(numbers.is_sorted_by(|left, right| left.score >= right.score));
}

/// "Equal scores by chunk id ascending", also where the limit cuts.
pub async fn equal_scores_are_ordered_by_chunk(index: &dyn SearchIndex) {
    fresh(index, "ties").await;
    // Written in an order that is neither that of the ids nor its reverse, over several flushes.
    for part in 0..3_u128 {
        let same = |id: u128| Operation::Replace {
            document: Box::new(header(&format!("d{id}"), 1)),
            chunks: vec![chunk(id, 0, "a b c")],
            vectors: vec![vectors(4)],
        };
        apply(
            index,
            "ties",
            (0..60)
                .filter(|id| (id * 7 + 3) % 3 == part || id % 3 == part)
                .map(|id| same((id * 37) % 60))
                .collect(),
        )
        .await;
    }
    let none = Filter::default();
    for limit in [1, 5, 29, 60] {
        let expected: Vec<u128> = (0..limit as u128).collect();
        let words = keyword(index, "a c", &none, limit).await;
        assert_eq!(
            words.iter().map(|hit| hit.chunk_id.0).collect::<Vec<_>>(),
            expected
        );
        let numbers = vector(index, &unit(8, DIMENSIONS), &none, limit).await;
        assert_eq!(
            numbers.iter().map(|hit| hit.chunk_id.0).collect::<Vec<_>>(),
            expected
        );
    }
}

/// Tier 2 gives the chunks that tier 1 found the same scores in the same order.
pub async fn keyword_tiers_agree(index: &dyn SearchIndex) {
    mixed(index, "keyword-tiers").await;
    let none = Filter::default();
    for text in [
        "w1",
        "w1 w2 w3",
        "w4 w4 w5 unknown",
        "w9 w8 w7 w6 w5 w4 w3 w2 w1 w0",
    ] {
        let first = keyword(index, text, &none, ALL).await;
        assert!(!first.is_empty());
        let mut candidates: Vec<ChunkId> = first.iter().map(|hit| hit.chunk_id).collect();
        candidates.reverse();
        let query = tokens(text);
        let query = KeywordQuery {
            generation: None,
            tokens: &query,
            filter: &none,
            candidates: Some(&candidates),
            limit: ALL,
        };
        assert_eq!(index.keyword(query).await.unwrap(), first, "{text}");
        let some: Vec<ChunkId> = candidates.iter().step_by(3).copied().collect();
        let expected: Vec<ScoredChunk> = first
            .iter()
            .filter(|hit| some.contains(&hit.chunk_id))
            .take(10)
            .copied()
            .collect();
        assert_eq!(
            index
                .keyword(KeywordQuery {
                    candidates: Some(&some),
                    limit: 10,
                    ..query
                })
                .await
                .unwrap(),
            expected,
            "{text}"
        );
    }
}

/// The same for vectors.
pub async fn vector_tiers_agree(index: &dyn SearchIndex) {
    mixed(index, "vector-tiers").await;
    let none = Filter::default();
    for seed in 0..5 {
        let query = unit(seed + 2_000, DIMENSIONS);
        let first = vector(index, &query, &none, 100).await;
        let candidates: Vec<ChunkId> = first.iter().map(|hit| hit.chunk_id).rev().collect();
        let second = VectorQuery {
            generation: None,
            vector: &query,
            field: VectorField::Fine,
            filter: &none,
            candidates: Some(&candidates),
            limit: ALL,
        };
        assert_eq!(index.vector(second).await.unwrap(), first);
        assert_eq!(
            index
                .vector(VectorQuery { limit: 7, ..second })
                .await
                .unwrap(),
            first[..7]
        );
    }
}

/// "Those that no longer exist are left out"; one given twice is returned once; the filter is not
/// asked.
pub async fn candidates_that_do_not_exist_are_left_out(index: &dyn SearchIndex) {
    fresh(index, "candidates").await;
    apply(
        index,
        "candidates",
        vec![replace(header("d", 1), &[(1, "a"), (2, "b")])],
    )
    .await;
    let closed = Filter {
        tags: Some(vec![]),
        ..Filter::default()
    };
    let candidates = [
        ChunkId(9),
        ChunkId(2),
        ChunkId(1),
        ChunkId(1),
        ChunkId(u128::MAX),
    ];
    let query = KeywordQuery {
        generation: None,
        tokens: &tokens("a"),
        filter: &closed,
        candidates: Some(&candidates),
        limit: ALL,
    };
    let hits = index.keyword(query).await.unwrap();
    assert_eq!(
        hits.iter().map(|hit| hit.chunk_id.0).collect::<Vec<_>>(),
        [1]
    );
    let query = unit(1, DIMENSIONS);
    let query = VectorQuery {
        generation: None,
        vector: &query,
        field: VectorField::Coarse,
        filter: &closed,
        candidates: Some(&candidates),
        limit: ALL,
    };
    let hits = index.vector(query).await.unwrap();
    assert_eq!(
        hits.iter().map(|hit| hit.chunk_id.0).collect::<Vec<_>>(),
        [1, 2]
    );
    assert!(
        index
            .vector(VectorQuery {
                candidates: Some(&[]),
                ..query
            })
            .await
            .unwrap()
            .is_empty()
    );
}
