//! Making, promoting and dropping generations, and what a status counts.

use super::*;

/// "Before the first `promote` queries fail with `NotFound`."
pub async fn queries_need_a_promoted_generation(index: &dyn SearchIndex) {
    index
        .create("before-promote", &shared_settings())
        .await
        .unwrap();
    let query = KeywordQuery {
        generation: None,
        tokens: &tokens("a"),
        filter: &Filter::default(),
        candidates: None,
        limit: 1,
    };
    assert_eq!(
        index.keyword(query).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        index.fetch(None, &[ChunkId(1)]).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        index.list_chunks(None).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    index.drop_generation("before-promote").await.unwrap();
}

/// "An existing one with equal settings is left as it is"; with others it is a `Conflict`.
pub async fn creation_can_be_repeated_and_settings_are_fixed(index: &dyn SearchIndex) {
    fresh(index, "created").await;
    apply(index, "created", vec![replace(header("d", 1), &[(1, "a")])]).await;
    index.create("created", &shared_settings()).await.unwrap();
    assert_eq!(found(index, "a").await, set([1]));
    let others = [
        IndexSettings {
            coarse_model: "test/2".into(),
            ..shared_settings()
        },
        IndexSettings {
            analyzer: "other".into(),
            ..shared_settings()
        },
        IndexSettings {
            coarse_dimensions: 3,
            fine_dimensions: 3,
            ..shared_settings()
        },
    ];
    for settings in others {
        assert_eq!(
            index.create("created", &settings).await.unwrap_err().kind(),
            ErrorKind::Conflict
        );
    }
    assert_eq!(found(index, "a").await, set([1]));
}

/// "Queries go to the serving generation, which `promote` switches."
pub async fn generations_are_independent_and_promotion_switches(index: &dyn SearchIndex) {
    fresh(index, "blue").await;
    index.create("green", &shared_settings()).await.unwrap();
    apply(index, "blue", vec![replace(header("d", 1), &[(1, "a")])]).await;
    apply(index, "green", vec![replace(header("d", 5), &[(2, "a")])]).await;
    assert_eq!(found(index, "a").await, set([1]));
    let versions = |documents: Vec<Option<super::IndexedDocument>>| {
        documents[0]
            .as_ref()
            .map(|document| document.document.version)
    };
    let id = ["d".to_owned()];
    assert_eq!(versions(index.documents(None, &id).await.unwrap()), Some(1));
    assert_eq!(
        versions(index.documents(Some("green"), &id).await.unwrap()),
        Some(5)
    );
    index.promote("green").await.unwrap();
    assert_eq!(found(index, "a").await, set([2]));
    index.drop_generation("blue").await.unwrap();
    assert!(
        index
            .status()
            .await
            .unwrap()
            .iter()
            .all(|generation| generation.name != "blue")
    );
    index.create("blue", &shared_settings()).await.unwrap();
    index.promote("blue").await.unwrap();
    assert_eq!(
        found(index, "a").await,
        set([]),
        "a new generation of an old name starts empty"
    );
}

/// "`NotFound` for an unknown generation."
pub async fn unknown_generations_are_not_found(index: &dyn SearchIndex) {
    let name = "nobody-made-this";
    assert_eq!(
        index.promote(name).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        index.drop_generation(name).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        index
            .write(name, vec![delete("d", 1)])
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        index.flush(name).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        index.documents(Some(name), &[]).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
}

/// "The serving one is refused with `Conflict`."
pub async fn the_serving_generation_is_not_dropped(index: &dyn SearchIndex) {
    fresh(index, "kept").await;
    apply(index, "kept", vec![replace(header("d", 1), &[(1, "a")])]).await;
    assert_eq!(
        index.drop_generation("kept").await.unwrap_err().kind(),
        ErrorKind::Conflict
    );
    assert_eq!(found(index, "a").await, set([1]));
}

/// Status says what is there.
pub async fn status_counts(index: &dyn SearchIndex) {
    fresh(index, "counted").await;
    apply(
        index,
        "counted",
        vec![
            replace(header("d", 1), &[(1, "a"), (2, "b")]),
            replace(header("e", 1), &[(3, "c")]),
        ],
    )
    .await;
    apply(index, "counted", vec![delete("e", 2), delete("never", 1)]).await;
    let status = index.status().await.unwrap();
    assert!(status.is_sorted_by_key(|generation| generation.name.clone()));
    let counted = status
        .iter()
        .find(|generation| generation.name == "counted")
        .unwrap();
    assert_eq!(
        (counted.documents, counted.chunks, counted.serving),
        (1, 2, true)
    );
    assert!(counted.bytes > 0 && counted.settings == shared_settings());
    assert_eq!(
        status
            .iter()
            .filter(|generation| generation.serving)
            .count(),
        1
    );
}
