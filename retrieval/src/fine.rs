//! Tier 2 (精筛): the best candidates by keyword and by fine vector, fused by relative score,
//! weighted by the user's profile (画像).

use std::collections::{BTreeMap, HashMap, HashSet};

use tributary_schemas::search::{QueryPlan, ScoredChunk};
use tributary_schemas::{ChunkId, Result};
use tributary_store::search_index::{
    Bm25, KeywordQuery, SearchIndex, StoredChunk, VectorField, VectorQuery,
};

use crate::coarse::Coarse;
use crate::embed::QueryVectors;
use crate::exact_name::{Naming, boosted};
use crate::windows::Nearest;
use crate::{fusion, leaving, normalize, plan, preferences, windows};

/// Best chunks that are read for a question in plain words: one whose title or heading is the whole
/// question has all of its words and is among the first. Reading costs time.
const LOOKED_AT_WITHOUT_NAMES: usize = 20;

/// A chunk as tier 2 sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FineChunk {
    /// Chunk.
    pub chunk_id: ChunkId,
    /// Keyword score, normalised to 0..1.
    pub keyword: f32,
    /// Vector score, normalised to 0..1.
    pub vector: f32,
    /// BM25 as the index gave it; 0 where no token of the question is in it. For the coverage, of
    /// those tokens alone that say something.
    pub keyword_raw: f32,
    /// Cosine of question and chunk, with the nearest window's share in it; none without vectors.
    pub similarity: Option<f32>,
    /// Cosine of question and nearest window; none for a chunk that has no windows of its own.
    pub nearest_window: Option<f32>,
    /// Fused, 0..1.
    pub standing: f32,
    /// How exactly the question names it; 0 for not at all.
    pub exact_name: f32,
    /// Fused, weighted and boosted, 0..1.
    pub score: f32,
}

impl FineChunk {
    /// Its score before what the question names was put first; `highest` as in [`strongest`].
    pub fn unboosted(&self, highest: f32) -> f32 {
        self.score * (1.0 + highest) - self.exact_name
    }
}

impl From<FineChunk> for ScoredChunk {
    fn from(chunk: FineChunk) -> Self {
        Self {
            chunk_id: chunk.chunk_id,
            score: chunk.score,
        }
    }
}

/// What tier 2 works with.
#[derive(Clone, Copy)]
pub struct Fine<'a> {
    /// Has the chunks.
    pub index: &'a dyn SearchIndex,
    /// What to do.
    pub plan: &'a QueryPlan,
    /// What the question names.
    pub naming: Naming<'a>,
}

impl Fine<'_> {
    /// How many of the best chunks are read: all where they may be weighed, or named in passing.
    fn looked_at(&self) -> usize {
        let is_plain = !is_weighed(self.plan) && !self.naming.has_identifier();
        if is_plain {
            LOOKED_AT_WITHOUT_NAMES
        } else {
            usize::MAX
        }
    }
}

/// What each signal found inside the candidates, best first.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// By BM25.
    pub keyword: Vec<ScoredChunk>,
    /// By cosine, in which windows have their share.
    pub vector: Vec<ScoredChunk>,
    /// Cosines of nearest windows.
    pub windows: Nearest,
    /// Chunks that are there for their document's name, however little the signals make of them.
    pub named: HashSet<ChunkId>,
}

/// Asks both signals inside `candidates`.
pub async fn lists(index: &dyn SearchIndex, plan: &QueryPlan, coarse: &Coarse) -> Result<Lists> {
    let vectors = coarse.vectors.as_ref();
    let candidates: Vec<ChunkId> = coarse
        .candidates
        .iter()
        .map(|candidate| candidate.chunk_id)
        .collect();
    let (keyword, mut vector, windows) = futures::try_join!(
        keyword(index, plan, &candidates),
        vector(index, plan, vectors, &candidates),
        windows::nearest(index, plan, vectors, &candidates)
    )?;
    windows::count(&mut vector, &windows, plan.window_weight);
    Ok(Lists {
        keyword,
        vector,
        windows,
        named: coarse.named.clone(),
    })
}

/// Makes one ranking of both lists; at most `plan.fine_keep` chunks, best first.
pub async fn rank(fine: Fine<'_>, lists: &Lists) -> Result<Vec<FineChunk>> {
    let plan = fine.plan;
    let mut chunks = fuse(lists, plan);
    sort(&mut chunks);
    if is_weighed(plan) || fine.naming.is_possible() {
        // What is named is looked at wherever it stands.
        chunks.sort_by_key(|chunk| !lists.named.contains(&chunk.chunk_id));
        let looked_at = fine.looked_at().saturating_add(lists.named.len());
        adjust(fine, &mut chunks, looked_at).await?;
    }
    sort(&mut chunks);
    chunks.truncate(plan.fine_keep);
    Ok(chunks)
}

/// All chunks that a ranking is made of, each with both scores and what names it.
pub async fn unranked(fine: Fine<'_>, lists: &Lists) -> Result<Vec<FineChunk>> {
    let mut chunks = fuse(lists, fine.plan);
    if fine.naming.is_possible() {
        adjust(fine, &mut chunks, usize::MAX).await?;
    }
    Ok(chunks)
}

/// Best first; equal scores by chunk id.
pub fn sort(chunks: &mut [FineChunk]) {
    chunks.sort_unstable_by(|left, right| {
        right
            .score
            .total_cmp(&left.score)
            .then(left.chunk_id.cmp(&right.chunk_id))
    });
}

/// Keyword scores of all candidates: those of the best by the other signal are needed too.
async fn keyword(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    candidates: &[ChunkId],
) -> Result<Vec<ScoredChunk>> {
    match keyword_query(plan, candidates) {
        Some(query) => index.keyword(query).await,
        None => Ok(Vec::new()),
    }
}

/// The same with other numbers of BM25 than those of the generation. Errors as
/// [`SearchIndex::keyword_with`].
pub async fn keyword_with(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    candidates: &[ChunkId],
    bm25: Bm25,
) -> Result<Vec<ScoredChunk>> {
    match keyword_query(plan, candidates) {
        Some(query) => index.keyword_with(query, bm25).await,
        None => Ok(Vec::new()),
    }
}

fn keyword_query<'a>(plan: &'a QueryPlan, candidates: &'a [ChunkId]) -> Option<KeywordQuery<'a>> {
    let is_asked = plan::uses_keywords(plan) && !candidates.is_empty();
    is_asked.then_some(KeywordQuery {
        generation: plan.generation.as_deref(),
        tokens: &plan.tokens,
        filter: &plan.filter,
        candidates: Some(candidates),
        limit: candidates.len(),
    })
}

async fn vector(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    vectors: Option<&QueryVectors>,
    candidates: &[ChunkId],
) -> Result<Vec<ScoredChunk>> {
    let Some(vectors) = vectors.filter(|_| !candidates.is_empty()) else {
        return Ok(Vec::new());
    };
    let query = VectorQuery {
        generation: plan.generation.as_deref(),
        vector: vectors.fine(),
        field: VectorField::Fine,
        filter: &plan.filter,
        candidates: Some(candidates),
        limit: candidates.len(),
    };
    index.vector(query).await
}

/// The union of the best by each signal and of what is named, each member with both scores. A
/// signal that found nothing leaves its weight to the other.
fn fuse(lists: &Lists, plan: &QueryPlan) -> Vec<FineChunk> {
    let (by_keyword, by_vector) = (lists.keyword.as_slice(), lists.vector.as_slice());
    let best = by_keyword
        .iter()
        .take(plan.fine.keyword)
        .chain(by_vector.iter().take(plan.fine.vector));
    let mut named: Vec<ChunkId> = lists.named.iter().copied().collect();
    named.sort_unstable();
    let mut seen = HashSet::new();
    let union: Vec<ChunkId> = best
        .map(|chunk| chunk.chunk_id)
        .chain(named)
        .filter(|chunk_id| seen.insert(*chunk_id))
        .collect();
    let keyword_raw = raw(&union, by_keyword);
    let vector_raw = raw(&union, by_vector);
    let keyword = normalize::min_max(&keyword_raw);
    let vector = normalize::min_max(&vector_raw);
    let has_vectors = !by_vector.is_empty();
    let vector_weight = match (by_keyword.is_empty(), by_vector.is_empty()) {
        (true, _) => 1.0,
        (_, true) => 0.0,
        _ => plan.vector_weight,
    };
    let raw = keyword_raw.into_iter().zip(vector_raw);
    let scored = union
        .into_iter()
        .zip(raw)
        .zip(keyword.into_iter().zip(vector));
    let fused = |((chunk_id, (keyword_raw, vector_raw)), (keyword, vector))| {
        let score = fusion::relative_score(vector, keyword, vector_weight);
        FineChunk {
            chunk_id,
            keyword,
            vector,
            keyword_raw,
            similarity: has_vectors.then_some(vector_raw),
            nearest_window: lists.windows.get(&chunk_id).copied(),
            standing: score,
            exact_name: 0.0,
            score,
        }
    };
    scored.map(fused).collect()
}

/// Scores of `chunks` as the index gave them; 0 for a chunk that the signal did not find (no token
/// of the question is in it).
fn raw(chunks: &[ChunkId], found: &[ScoredChunk]) -> Vec<f32> {
    let scores: HashMap<ChunkId, f32> = found
        .iter()
        .map(|chunk| (chunk.chunk_id, chunk.score))
        .collect();
    chunks
        .iter()
        .map(|chunk_id| scores.get(chunk_id).copied().unwrap_or(0.0))
        .collect()
}

/// What the documents say of the scores: the user's profile first, then what the question names.
async fn adjust(fine: Fine<'_>, chunks: &mut [FineChunk], looked_at: usize) -> Result<()> {
    let Fine { index, plan, .. } = fine;
    let looked_at = chunks.iter().take(looked_at);
    let ids: Vec<ChunkId> = looked_at.map(|chunk| chunk.chunk_id).collect();
    let stored = leaving::fetch(index, plan.generation.as_deref(), &ids, &plan.filter).await?;
    if is_weighed(plan) {
        weigh(plan, chunks, &stored);
    }
    for (chunk, stored) in chunks.iter_mut().zip(&stored) {
        let named = stored.as_ref().map(|stored| strength(&fine, stored));
        chunk.exact_name = named.unwrap_or(0.0);
    }
    let highest = strongest(chunks);
    for chunk in chunks {
        chunk.score = boosted(chunk.score, chunk.exact_name, highest);
    }
    Ok(())
}

/// The highest strength with which the question names one of them.
pub fn strongest(chunks: &[FineChunk]) -> f32 {
    chunks
        .iter()
        .map(|chunk| chunk.exact_name)
        .fold(0.0, f32::max)
}

/// Exact duplicates are stored once: the question may name any that the caller may see.
fn strength(fine: &Fine<'_>, stored: &StoredChunk) -> f32 {
    let visible = leaving::visible(&stored.document, &fine.plan.filter);
    let documents = visible
        .iter()
        .map(|document| fine.naming.of_document(document));
    documents.fold(fine.naming.of_chunk(&stored.chunk), f32::max)
}

/// Whether the user prefers anything.
fn is_weighed(plan: &QueryPlan) -> bool {
    !plan.profile.is_empty() || plan.preferences.is_some()
}

/// Multiplies each score with the weights of its document's tags and of what else the user prefers;
/// if that leads above 1, all are divided by the highest.
fn weigh(plan: &QueryPlan, chunks: &mut [FineChunk], stored: &[Option<StoredChunk>]) {
    for (chunk, stored) in chunks.iter_mut().zip(stored) {
        let Some(StoredChunk {
            document,
            chunk: text,
            ..
        }) = stored
        else {
            continue;
        };
        chunk.score *= profile_weight(&plan.profile, &document.tags);
        if let Some(preferences) = &plan.preferences {
            let sets = &document.knowledge_sets;
            chunk.score *= preferences::weight(preferences, sets, &text.text);
        }
    }
    let highest = chunks.iter().map(|chunk| chunk.score).fold(1.0, f32::max);
    for chunk in chunks {
        chunk.score /= highest;
    }
}

/// Product of the weights of the tags that the profile names.
fn profile_weight(profile: &BTreeMap<String, f32>, tags: &[String]) -> f32 {
    let weight: f32 = tags.iter().filter_map(|tag| profile.get(tag)).product();
    weight.clamp(0.0, f32::MAX)
}

#[cfg(test)]
mod tests {
    use tributary_schemas::search::{SearchRequest, TierLimits};

    use super::*;

    fn chunk(id: u128, score: f32) -> ScoredChunk {
        ScoredChunk {
            chunk_id: ChunkId(id),
            score,
        }
    }

    fn plan_with(vector_weight: f32, limit: usize) -> QueryPlan {
        let request: SearchRequest = serde_json::from_value(serde_json::json!({"query": "q"}))
            .unwrap_or_else(|error| panic!("{error}"));
        let config = crate::tests::config();
        let plan = plan::plan(&request, "q".into(), vec!["q".into()], None, &config);
        QueryPlan {
            vector_weight,
            fine: TierLimits {
                keyword: limit,
                vector: limit,
            },
            ..plan
        }
    }

    #[test]
    fn every_member_of_the_union_has_both_scores() {
        let lists = Lists {
            keyword: vec![chunk(1, 10.0), chunk(2, 5.0), chunk(3, 2.5)],
            vector: vec![chunk(3, 0.9), chunk(4, 0.8), chunk(1, 0.7), chunk(2, 0.1)],
            ..Lists::default()
        };
        let fused = fuse(&lists, &plan_with(0.5, 1));
        // the best by keyword is 1, the best by vector 3; 2 and 4 are in neither list
        let expected = [
            FineChunk {
                chunk_id: ChunkId(1),
                keyword: 1.0,
                vector: 0.0,
                keyword_raw: 10.0,
                similarity: Some(0.7),
                nearest_window: None,
                standing: 0.5,
                exact_name: 0.0,
                score: 0.5,
            },
            FineChunk {
                chunk_id: ChunkId(3),
                keyword: 0.0,
                vector: 1.0,
                keyword_raw: 2.5,
                similarity: Some(0.9),
                nearest_window: None,
                standing: 0.5,
                exact_name: 0.0,
                score: 0.5,
            },
        ];
        assert_eq!(fused, expected);
        let fused = fuse(&lists, &plan_with(0.5, 10));
        assert_eq!(fused.len(), 4);
        assert_eq!(
            fused
                .iter()
                .find(|chunk| chunk.chunk_id == ChunkId(4))
                .map(|chunk| chunk.keyword),
            Some(0.0)
        );
    }

    #[test]
    fn a_signal_that_found_nothing_leaves_its_weight_to_the_other() {
        let found = vec![chunk(1, 4.0), chunk(2, 2.0), chunk(3, 0.0)];
        let by_keyword = Lists {
            keyword: found.clone(),
            ..Lists::default()
        };
        let by_vector = Lists {
            vector: found,
            ..Lists::default()
        };
        let scores =
            |fused: Vec<FineChunk>| fused.iter().map(|chunk| chunk.score).collect::<Vec<_>>();
        assert_eq!(
            scores(fuse(&by_keyword, &plan_with(0.7, 10))),
            [1.0, 0.5, 0.0]
        );
        assert_eq!(
            scores(fuse(&by_vector, &plan_with(0.7, 10))),
            [1.0, 0.5, 0.0]
        );
        assert!(fuse(&Lists::default(), &plan_with(0.7, 10)).is_empty());
    }

    #[test]
    fn a_profile_multiplies_by_every_tag_it_names() {
        let profile = BTreeMap::from([
            ("5G".to_owned(), 2.0),
            ("LTE".to_owned(), 0.5),
            ("OSS".to_owned(), f32::MAX),
        ]);
        let weight = |tags: &[&str]| {
            profile_weight(
                &profile,
                &tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>(),
            )
        };
        assert_eq!(weight(&[]), 1.0);
        assert_eq!(weight(&["5G"]), 2.0);
        assert_eq!(weight(&["5G", "LTE", "core"]), 1.0);
        assert!(weight(&["5G", "OSS"]).is_finite());
    }
}
