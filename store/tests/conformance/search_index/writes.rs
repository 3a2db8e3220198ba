//! Replacing and deleting documents: what is seen, in which order, and which version stays.

use super::*;

/// "A write becomes visible with the next `flush` that returns `Ok`."
pub async fn writes_are_visible_after_a_flush(index: &dyn SearchIndex) {
    fresh(index, "visible").await;
    for version in 1..=3_u64 {
        apply(
            index,
            "visible",
            vec![replace(
                header(&format!("d{version}"), 1),
                &[(u128::from(version), "a")],
            )],
        )
        .await;
        assert_eq!(found(index, "a").await, set((1..=version).map(u128::from)));
        assert_eq!(
            found_by_vector(index).await,
            set((1..=version).map(u128::from))
        );
    }
    index.flush("visible").await.unwrap();
    assert_eq!(
        found(index, "a").await,
        set(1..=3),
        "an empty flush changes nothing"
    );
}

/// "Makes exactly these chunks the document's content."
pub async fn a_replace_makes_exactly_these_chunks(index: &dyn SearchIndex) {
    fresh(index, "replaced").await;
    apply(
        index,
        "replaced",
        vec![replace(header("d", 1), &[(1, "a"), (2, "a"), (3, "a")])],
    )
    .await;
    apply(
        index,
        "replaced",
        vec![replace(header("d", 2), &[(2, "a b"), (4, "a")])],
    )
    .await;
    assert_eq!(found(index, "a").await, set([2, 4]));
    assert_eq!(found(index, "b").await, set([2]));
    assert_eq!(found_by_vector(index).await, set([2, 4]));
    apply(index, "replaced", vec![replace(header("d", 3), &[])]).await;
    assert_eq!(found(index, "a").await, set([]));
    let stored = index
        .documents(None, &["d".into()])
        .await
        .unwrap()
        .remove(0)
        .unwrap();
    assert_eq!(
        (stored.document.version, stored.chunk_ids, stored.deleted),
        (3, vec![], false)
    );
}

/// "An operation of a lower version than the stored one gives `Older`", also against writes that
/// are not flushed.
pub async fn older_operations_do_nothing(index: &dyn SearchIndex) {
    fresh(index, "older").await;
    apply(index, "older", vec![replace(header("d", 5), &[(1, "a")])]).await;
    let late = vec![
        replace(header("d", 4), &[(2, "a")]),
        delete("d", 3),
        replace(header("e", 9), &[(3, "a")]),
        delete("e", 8),
    ];
    let outcomes = index.write("older", late).await.unwrap();
    assert_eq!(
        outcomes,
        [
            Outcome::Older { stored: 5 },
            Outcome::Older { stored: 5 },
            Outcome::Applied,
            Outcome::Older { stored: 9 }
        ]
    );
    index.flush("older").await.unwrap();
    assert_eq!(found(index, "a").await, set([1, 3]));
}

/// "Of the same version it is applied again and leaves the same state."
pub async fn the_same_version_can_be_written_again(index: &dyn SearchIndex) {
    fresh(index, "again").await;
    let operations = || {
        vec![
            replace(header("d", 1), &[(1, "a"), (2, "b")]),
            delete("e", 1),
        ]
    };
    for _ in 0..3 {
        apply(index, "again", [operations(), operations()].concat()).await;
        assert_eq!(found(index, "a b").await, set([1, 2]));
        assert_eq!(
            keyword(index, "a b", &Filter::default(), ALL).await.len(),
            2,
            "nothing is found twice"
        );
        assert_eq!(index.list_chunks(None).await.unwrap().len(), 2);
    }
}

/// "Writing the same operations in any order and any number of times leaves the state of the
/// highest version of each document."
pub async fn any_order_leaves_the_highest_versions(index: &dyn SearchIndex) {
    let operations = || {
        vec![
            replace(header("d", 1), &[(1, "a"), (2, "a")]),
            replace(header("d", 2), &[(2, "a"), (3, "a")]),
            delete("d", 3),
            replace(header("d", 4), &[(1, "a"), (4, "a")]),
        ]
    };
    let mut orders = vec![vec![]];
    for place in 0..4_usize {
        orders = orders
            .into_iter()
            .flat_map(|order| (0..=place).map(move |at| inserted(&order, at, place)))
            .collect();
    }
    for (number, order) in orders.iter().enumerate() {
        let name = format!("order-{number}");
        fresh(index, &name).await;
        for (step, place) in order.iter().enumerate() {
            index
                .write(&name, vec![operations().remove(*place)])
                .await
                .unwrap();
            // Some orders are flushed in the middle, some in every step, some only at the end.
            if (number + step) % 3 == 0 {
                index.flush(&name).await.unwrap();
            }
        }
        index.flush(&name).await.unwrap();
        assert_eq!(found(index, "a").await, set([1, 4]), "{order:?}");
        assert_eq!(found_by_vector(index).await, set([1, 4]), "{order:?}");
        let stored = index
            .documents(None, &["d".into()])
            .await
            .unwrap()
            .remove(0)
            .unwrap();
        assert_eq!(
            (stored.document.version, stored.chunk_ids),
            (4, vec![ChunkId(1), ChunkId(4)]),
            "{order:?}"
        );
        if number > 0 {
            index
                .drop_generation(&format!("order-{}", number - 1))
                .await
                .unwrap();
        }
    }
}

fn inserted(order: &[usize], at: usize, place: usize) -> Vec<usize> {
    let mut order = order.to_vec();
    order.insert(at, place);
    order
}

/// "Remembers the version, so that an older `Replace` that comes late does nothing."
pub async fn deletions_are_remembered(index: &dyn SearchIndex) {
    fresh(index, "remembered").await;
    apply(index, "remembered", vec![delete("d", 7)]).await;
    let outcomes = index
        .write("remembered", vec![replace(header("d", 6), &[(1, "a")])])
        .await
        .unwrap();
    assert_eq!(outcomes, [Outcome::Older { stored: 7 }]);
    index.flush("remembered").await.unwrap();
    assert_eq!(found(index, "a").await, set([]));
    let stored = index
        .documents(None, &["d".into(), "e".into()])
        .await
        .unwrap();
    assert!(stored[0].as_ref().is_some_and(|document| document.deleted
        && document.document.version == 7
        && document.chunk_ids.is_empty()));
    assert!(stored[1].is_none());
    apply(
        index,
        "remembered",
        vec![replace(header("d", 8), &[(1, "a")])],
    )
    .await;
    assert_eq!(found(index, "a").await, set([1]));
}

/// Deleted documents are found by no query of any tier.
pub async fn deleted_documents_are_never_found(index: &dyn SearchIndex) {
    fresh(index, "gone").await;
    apply(
        index,
        "gone",
        vec![
            replace(header("d", 1), &[(1, "a"), (2, "a")]),
            replace(header("e", 1), &[(3, "a")]),
        ],
    )
    .await;
    apply(index, "gone", vec![delete("d", 2)]).await;
    let (none, candidates) = (Filter::default(), [ChunkId(1), ChunkId(2), ChunkId(3)]);
    assert_eq!(found(index, "a").await, set([3]));
    assert_eq!(found_by_vector(index).await, set([3]));
    let query = KeywordQuery {
        generation: None,
        tokens: &tokens("a"),
        filter: &none,
        candidates: Some(&candidates),
        limit: ALL,
    };
    assert_eq!(ids(&index.keyword(query).await.unwrap()), set([3]));
    let query = unit(1, DIMENSIONS);
    let query = VectorQuery {
        generation: None,
        vector: &query,
        field: VectorField::Fine,
        filter: &none,
        candidates: Some(&candidates),
        limit: ALL,
    };
    assert_eq!(ids(&index.vector(query).await.unwrap()), set([3]));
    let fetched = index.fetch(None, &candidates).await.unwrap();
    assert_eq!(
        fetched.iter().map(Option::is_some).collect::<Vec<_>>(),
        [false, false, true]
    );
    let stored = index.vectors(None, &candidates).await.unwrap();
    assert_eq!(
        stored.iter().map(Option::is_some).collect::<Vec<_>>(),
        [false, false, true]
    );
    assert_eq!(
        index.list_chunks(None).await.unwrap(),
        [(ChunkId(3), "e".to_owned())]
    );
    let only_deleted = Filter {
        document_ids: Some(vec!["d".into()]),
        ..Filter::default()
    };
    assert!(keyword(index, "a", &only_deleted, ALL).await.is_empty());
}

/// "No reader ever sees chunks of two versions of one document, or part of one."
pub async fn a_replace_is_seen_as_a_whole(index: &dyn SearchIndex) {
    const CHUNKS: u128 = 7;
    const VERSIONS: u64 = 25;
    fresh(index, "whole").await;
    let version = |version: u64| {
        let chunks: Vec<(u128, &str)> = (0..CHUNKS)
            .map(|place| (u128::from(version) * 100 + place, "common"))
            .collect();
        vec![replace(header("d", version), &chunks)]
    };
    apply(index, "whole", version(1)).await;
    let done = std::sync::atomic::AtomicBool::new(false);
    let write = async {
        for number in 2..=VERSIONS {
            apply(index, "whole", version(number)).await;
        }
        done.store(true, std::sync::atomic::Ordering::Release);
    };
    let read = async {
        let mut last = 0;
        while !done.load(std::sync::atomic::Ordering::Acquire) {
            let lists = [found(index, "common").await, found_by_vector(index).await];
            for hits in lists {
                let versions: BTreeSet<u128> = hits.iter().map(|id| id / 100).collect();
                assert_eq!(
                    (hits.len() as u128, versions.len()),
                    (CHUNKS, 1),
                    "{hits:?}"
                );
                assert!(
                    versions.first() >= Some(&last),
                    "a reader went back from version {last} to {versions:?}"
                );
                last = *versions.first().unwrap();
            }
        }
    };
    futures::join!(write, read);
    assert_eq!(found(index, "common").await.len() as u128, CHUNKS);
}

/// "This operation cannot be done; the others are not affected."
pub async fn one_bad_operation_does_not_affect_the_others(index: &dyn SearchIndex) {
    fresh(index, "mixed").await;
    let mut too_few = replace(header("bad", 1), &[(1, "a"), (2, "a")]);
    if let Operation::Replace { vectors, .. } = &mut too_few {
        vectors.truncate(1);
    }
    let operations = vec![
        replace(header("d", 1), &[(3, "a")]),
        too_few,
        replace(header("e", 1), &[(4, "a")]),
    ];
    let outcomes = index.write("mixed", operations).await.unwrap();
    assert!(
        matches!(&outcomes[1], Outcome::Failed(error) if error.kind() == ErrorKind::Invalid),
        "{outcomes:?}"
    );
    assert_eq!([&outcomes[0], &outcomes[2]], [&Outcome::Applied; 2]);
    index.flush("mixed").await.unwrap();
    assert_eq!(found(index, "a").await, set([3, 4]));
}
