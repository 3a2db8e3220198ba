//! Windows of long chunks: kept beside the chunk, for tier 2 alone.

use tributary_schemas::WindowVectors;
use tributary_store::search_index::WindowQuery;

use super::*;

fn keeping() -> IndexSettings {
    IndexSettings {
        windows: true,
        ..shared_settings()
    }
}

async fn fresh_keeping(index: &dyn SearchIndex, name: &str) {
    index.create(name, &keeping()).await.unwrap();
    index.promote(name).await.unwrap();
}

/// Of seeds.
fn windows(seeds: &[u64], dimensions: usize) -> WindowVectors {
    let vectors: Vec<Vec<f32>> = seeds.iter().map(|seed| unit(*seed, dimensions)).collect();
    WindowVectors::of(vectors.iter().map(Vec::as_slice))
}

fn with_windows(id: u64, seeds: &[u64]) -> ChunkVectors {
    ChunkVectors {
        windows: windows(seeds, DIMENSIONS),
        ..vectors(id)
    }
}

fn replace_with(id: &str, version: u64, chunks: &[(u128, ChunkVectors)]) -> Operation {
    let places = chunks.iter().enumerate();
    Operation::Replace {
        document: Box::new(header(id, version)),
        chunks: places.map(|(at, (id, _))| chunk(*id, at, "a")).collect(),
        vectors: chunks.iter().map(|(_, vectors)| vectors.clone()).collect(),
    }
}

/// Scores by chunk of candidates 1 to 9.
async fn nearest(index: &dyn SearchIndex, vector: &[f32]) -> Vec<ScoredChunk> {
    let candidates: Vec<ChunkId> = (1..10).map(ChunkId).collect();
    let query = WindowQuery {
        generation: None,
        vector,
        candidates: &candidates,
    };
    let mut found = index.nearest_windows(query).await.unwrap();
    found.sort_by_key(|found| found.chunk_id);
    found
}

/// "Of those of the candidates that have windows, the highest dot product of one of these"; the
/// chunk's own vector is searched as before.
pub async fn the_nearest_window_of_each_candidate_is_found(index: &dyn SearchIndex) {
    fresh_keeping(index, "windows").await;
    let chunks = [
        (1, with_windows(1, &[101, 102, 103])),
        (2, vectors(2)),
        (3, with_windows(3, &[104, 105])),
    ];
    let outside = [(70, with_windows(70, &[101, 102]))];
    let operations = vec![
        replace_with("d", 1, &chunks),
        replace_with("e", 1, &outside),
    ];
    apply(index, "windows", operations).await;
    let question = unit(102, DIMENSIONS);
    let dot = |seed: u64| -> f32 {
        let window = unit(seed, DIMENSIONS);
        window.iter().zip(&question).map(|(a, b)| a * b).sum()
    };
    let found = nearest(index, &question).await;
    let expected = [(1, 1.0), (3, dot(104).max(dot(105)))];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, (id, score)) in found.iter().zip(expected) {
        let is_near = (found.score - score).abs() < 0.01;
        assert!(found.chunk_id == ChunkId(id) && is_near, "{found:?}");
    }
    let of_chunk = vector(index, &unit(1, DIMENSIONS), &Filter::default(), 1).await[0];
    let is_own = of_chunk.chunk_id == ChunkId(1) && (of_chunk.score - 1.0).abs() < 1e-5;
    assert!(is_own, "{of_chunk:?}");
    let ids = chunks.each_ref().map(|(id, _)| ChunkId(*id));
    let stored = index.vectors(None, &ids).await.unwrap();
    assert_eq!(stored, chunks.map(|(_, vectors)| Some(vectors)));
}

/// Windows go with their chunk: kept with its vectors, replaced and removed with it.
pub async fn windows_live_as_long_as_their_chunk(index: &dyn SearchIndex) {
    fresh_keeping(index, "kept-windows").await;
    let question = unit(101, DIMENSIONS);
    let first = [(1, with_windows(1, &[101, 102])), (2, vectors(2))];
    let without = |version: u64| Operation::Replace {
        document: Box::new(header("d", version)),
        chunks: vec![chunk(2, 0, "b"), chunk(1, 1, "b")],
        vectors: vec![],
    };
    apply(index, "kept-windows", vec![replace_with("d", 1, &first)]).await;
    apply(index, "kept-windows", vec![without(2)]).await;
    apply(index, "kept-windows", vec![without(3), without(4)]).await;
    let ids = |found: Vec<ScoredChunk>| found.iter().map(|hit| hit.chunk_id.0).collect::<Vec<_>>();
    assert_eq!(ids(nearest(index, &question).await), [1]);
    let stored = index.vectors(None, &[ChunkId(1)]).await.unwrap();
    assert_eq!(stored, [Some(with_windows(1, &[101, 102]))]);

    // The same vector with other windows, and one with none any more.
    let changed = [(1, vectors(1)), (2, with_windows(2, &[103, 101]))];
    apply(index, "kept-windows", vec![replace_with("d", 5, &changed)]).await;
    assert_eq!(ids(nearest(index, &question).await), [2]);
    apply(index, "kept-windows", vec![delete("d", 6)]).await;
    assert_eq!(nearest(index, &question).await, []);
}

/// "Nothing of a generation that keeps none": what was made before windows were kept goes on as it
/// did.
pub async fn a_generation_without_windows_leaves_them_out(index: &dyn SearchIndex) {
    fresh(index, "without-windows").await;
    let chunks = [(1, with_windows(1, &[101, 102]))];
    apply(
        index,
        "without-windows",
        vec![replace_with("d", 1, &chunks)],
    )
    .await;
    assert_eq!(nearest(index, &unit(101, DIMENSIONS)).await, []);
    let stored = index.vectors(None, &[ChunkId(1)]).await.unwrap();
    assert_eq!(stored, [Some(vectors(1))]);
}

/// Windows are of tier 2's dimensions.
pub async fn windows_have_the_dimensions_of_tier_2(index: &dyn SearchIndex) {
    let settings = IndexSettings {
        fine_dimensions: 20,
        shared_vectors: false,
        ..keeping()
    };
    index.create("fine-windows", &settings).await.unwrap();
    index.promote("fine-windows").await.unwrap();
    let both = |dimensions: usize| ChunkVectors {
        fine: unit(501, 20),
        windows: windows(&[101, 102], dimensions),
        ..vectors(1)
    };
    let wrong = replace_with("d", 1, &[(1, both(21))]);
    let outcomes = index.write("fine-windows", vec![wrong]).await.unwrap();
    assert!(
        matches!(&outcomes[0], Outcome::Failed(error) if error.kind() == ErrorKind::Invalid),
        "{outcomes:?}"
    );
    apply(
        index,
        "fine-windows",
        vec![replace_with("d", 1, &[(1, both(20))])],
    )
    .await;
    let found = nearest(index, &unit(102, 20)).await;
    assert!(found.len() == 1 && found[0].score > 0.99, "{found:?}");
    let query = WindowQuery {
        generation: None,
        vector: &unit(102, DIMENSIONS),
        candidates: &[ChunkId(1)],
    };
    let error = index.nearest_windows(query).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}
