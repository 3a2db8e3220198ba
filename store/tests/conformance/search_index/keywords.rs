//! Scores of keyword queries.

use super::*;

/// Short, where lengths are not rounded.
const TEXTS: [&str; 5] = ["a b c", "a a d", "b c d e f g", "a", "x y z a b"];

/// "BM25 by Lucene's formula", with its numbers.
pub async fn keyword_scores_follow_bm25(index: &dyn SearchIndex) {
    scored_with(index, "bm25", Bm25::DEFAULT).await;
}

/// "With the numbers of the generation."
pub async fn a_generation_scores_with_its_own_numbers(index: &dyn SearchIndex) {
    scored_with(index, "gentle", Bm25 { k1: 0.4, b: 0.3 }).await;
    scored_with(index, "presence", Bm25 { k1: 0.0, b: 1.0 }).await;
    scored_with(index, "lucene", Bm25::DEFAULT).await;
}

/// "The same with other numbers", where the index knows more than those of the generation.
pub async fn other_numbers_are_tried_or_refused(index: &dyn SearchIndex) {
    let other = Bm25 { k1: 2.0, b: 0.1 };
    scored_with(index, "other", other).await;
    let expected = keyword(index, "a b", &Filter::default(), ALL).await;
    scored_with(index, "asked", Bm25::DEFAULT).await;
    let asked = KeywordQuery {
        generation: None,
        tokens: &tokens("a b"),
        filter: &Filter::default(),
        candidates: None,
        limit: ALL,
    };
    match index.keyword_with(asked, other).await {
        Ok(found) => assert_eq!(found, expected),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Invalid, "{error}"),
    }
}

/// "Refuses what no index can be made with."
pub async fn numbers_out_of_range_make_no_generation(index: &dyn SearchIndex) {
    for (k1, b) in [
        (-0.1, 0.5),
        (1.2, 1.1),
        (f32::NAN, 0.5),
        (f32::INFINITY, 0.5),
    ] {
        let settings = IndexSettings {
            bm25: Bm25 { k1, b },
            ..shared_settings()
        };
        let refused = index.create("odd", &settings).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid, "{k1} {b}: {refused}");
    }
}

/// Builds a generation of [`TEXTS`] with these numbers and compares every score with the formula.
async fn scored_with(index: &dyn SearchIndex, name: &str, bm25: Bm25) {
    let settings = IndexSettings {
        bm25,
        ..shared_settings()
    };
    index.create(name, &settings).await.unwrap();
    index.promote(name).await.unwrap();
    let texts = TEXTS;
    let documents = texts
        .iter()
        .enumerate()
        .map(|(id, text)| replace(header(&format!("d{id}"), 1), &[(id as u128, text)]));
    apply(index, name, documents.collect()).await;
    let (k1, b) = (f64::from(bm25.k1), f64::from(bm25.b));
    let average =
        texts.iter().map(|text| tokens(text).len()).sum::<usize>() as f64 / texts.len() as f64;
    let count = |text: &str, token: &str| {
        tokens(text).iter().filter(|other| *other == token).count() as f64
    };
    let score = |text: &str, token: &str| {
        let holders = texts.iter().filter(|text| count(text, token) > 0.0).count() as f64;
        let idf = (1.0 + (texts.len() as f64 - holders + 0.5) / (holders + 0.5)).ln();
        let frequency = count(text, token);
        if frequency == 0.0 {
            return 0.0;
        }
        idf * frequency * (k1 + 1.0)
            / (frequency + k1 * (1.0 - b + b * tokens(text).len() as f64 / average))
    };
    let hits = keyword(index, "a b", &Filter::default(), ALL).await;
    assert_eq!(ids(&hits), set([0, 1, 2, 3, 4]));
    for hit in hits {
        let text = texts[hit.chunk_id.0 as usize];
        let expected = score(text, "a") + score(text, "b");
        assert!(
            (f64::from(hit.score) - expected).abs() < 1e-4,
            "{name}, {text}: {} instead of {expected}",
            hit.score
        );
    }
}

/// "A repeated token counts as often as it is repeated."
pub async fn a_repeated_token_counts_twice(index: &dyn SearchIndex) {
    fresh(index, "repeated").await;
    apply(
        index,
        "repeated",
        vec![replace(
            header("d", 1),
            &[(1, "a b"), (2, "a c"), (3, "b b")],
        )],
    )
    .await;
    let none = Filter::default();
    let (once, twice) = (
        keyword(index, "c", &none, ALL).await,
        keyword(index, "c c", &none, ALL).await,
    );
    assert!((twice[0].score - 2.0 * once[0].score).abs() < 1e-5);
    assert_eq!(
        keyword(index, "a b a", &none, ALL).await,
        keyword(index, "a a b", &none, ALL).await
    );
}

/// "A keyword query without tokens, and one whose tokens are all unknown, finds nothing"; a token
/// of one chunk finds it among many.
pub async fn rare_and_unknown_tokens(index: &dyn SearchIndex) {
    fresh(index, "rare").await;
    let text = |id: u128| {
        if id == 321 {
            "common mindspore.nn.Conv2d".to_owned()
        } else {
            format!("common w{}", id % 7)
        }
    };
    apply(
        index,
        "rare",
        (0..500)
            .map(|id| replace(header(&format!("d{id}"), 1), &[(id, &text(id))]))
            .collect(),
    )
    .await;
    assert_eq!(found(index, "mindspore.nn.Conv2d").await, set([321]));
    assert_eq!(
        keyword(index, "common mindspore.nn.Conv2d", &Filter::default(), 1).await[0].chunk_id,
        ChunkId(321)
    );
    for nothing in [
        "",
        "unknown",
        "unknown words",
        "mindspore",
        "COMMON",
        "comm",
    ] {
        assert_eq!(found(index, nothing).await, set([]), "`{nothing}`");
    }
    assert_eq!(
        found(index, "unknown w3").await,
        set((0..500).filter(|id| id % 7 == 3 && *id != 321))
    );
}

/// Tokens, ids, titles and filter values of any script survive.
pub async fn unicode_tokens_and_ids_survive(index: &dyn SearchIndex) {
    fresh(index, "unicode").await;
    let document = DocumentHeader {
        tags: vec!["标签 = 一".into()],
        ..header("文档/ä b=c", 1)
    };
    let long = "长".repeat(3_000);
    apply(
        index,
        "unicode",
        vec![replace(
            document,
            &[(1, "载波聚合 naïve 🛰️ é\u{301} b=c"), (2, &long)],
        )],
    )
    .await;
    for token in ["载波聚合", "naïve", "🛰️", "é\u{301}", "b=c"] {
        assert_eq!(found(index, token).await, set([1]), "{token}");
    }
    assert_eq!(found(index, "载波").await, set([]));
    assert_eq!(found(index, &long).await, set([2]));
    let by_id = Filter {
        document_ids: some(&["文档/ä b=c"]),
        tags: some(&["标签 = 一"]),
        ..Filter::default()
    };
    assert_eq!(ids(&keyword(index, "naïve", &by_id, ALL).await), set([1]));
    let fetched = index
        .fetch(None, &[ChunkId(1)])
        .await
        .unwrap()
        .remove(0)
        .unwrap();
    assert_eq!(
        (
            fetched.document.title.as_str(),
            fetched.document.document_id.as_str()
        ),
        ("标题 文档/ä b=c", "文档/ä b=c")
    );
    assert!(index.documents(None, &["文档/ä b=c".into()]).await.unwrap()[0].is_some());
    assert!(
        index
            .list_chunks(None)
            .await
            .unwrap()
            .contains(&(ChunkId(2), "文档/ä b=c".into()))
    );
}
