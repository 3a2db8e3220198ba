//! From ranked chunks to the hits of an answer: texts and attributes, and on request what stands
//! above and around each.

use std::collections::{BTreeMap, HashMap};

use tributary_schemas::search::{Hit, Passage, QueryPlan, ScoredChunk, SearchRequest};
use tributary_schemas::{Chunk, ChunkId, Filter, Result};
use tributary_store::search_index::{SearchIndex, StoredChunk};
use tributary_taxonomy::language::{Script, script};

use crate::exact_name::Naming;
use crate::families::{self, Folding, Found, Shown};
use crate::fine::FineChunk;
use crate::leaving;
use crate::relevance::{Estimate, Estimates};

/// Scores by signal and tier of each ranked chunk, for [`Hit::scores`].
pub struct Scores {
    by_chunk: HashMap<ChunkId, BTreeMap<String, f32>>,
    searches: Vec<Searched>,
}

/// One text that was searched for.
struct Searched {
    script: Option<Script>,
    estimates: HashMap<ChunkId, Estimate>,
}

impl Scores {
    /// Scores of tier 2 with the relevance of each chunk for a text, and of tier 3 if it ran.
    pub fn new(
        text: &str,
        fine: &[FineChunk],
        reranked: Option<&HashMap<ChunkId, f32>>,
        relevance: &Estimates<'_>,
    ) -> Self {
        let rerank = |chunk: &FineChunk| reranked?.get(&chunk.chunk_id).copied();
        let named = |chunk: &FineChunk| {
            let mut scores: BTreeMap<String, f32> = [
                ("keyword", chunk.keyword),
                ("vector", chunk.vector),
                ("fine", chunk.score),
            ]
            .map(|(name, score)| (name.to_owned(), score))
            .into();
            let signals = relevance.signals(chunk, None);
            scores.insert("coverage".to_owned(), signals.coverage);
            scores.insert("standing".to_owned(), chunk.standing);
            scores.extend(
                chunk
                    .similarity
                    .map(|similarity| ("similarity".to_owned(), similarity)),
            );
            let window = chunk.nearest_window;
            scores.extend(window.map(|window| ("nearest_window".to_owned(), window)));
            if chunk.exact_name > 0.0 {
                scores.insert("exact_name".to_owned(), chunk.exact_name);
            }
            scores.extend(rerank(chunk).map(|score| ("rerank".to_owned(), score)));
            (chunk.chunk_id, scores)
        };
        let estimated =
            |chunk: &FineChunk| Some((chunk.chunk_id, relevance.of(chunk, rerank(chunk))?));
        let searched = Searched {
            script: script(text),
            estimates: fine.iter().filter_map(estimated).collect(),
        };
        Self {
            by_chunk: fine.iter().map(named).collect(),
            searches: vec![searched],
        }
    }

    /// Adds what another text found: of a chunk that both found, the better scores count, and
    /// the higher relevance.
    pub fn add(&mut self, text: &str, fine: &[FineChunk], relevance: &Estimates<'_>) {
        let other = Self::new(text, fine, None, relevance);
        let score = |scores: &BTreeMap<String, f32>| scores.get("fine").copied().unwrap_or(0.0);
        for (chunk_id, mut scores) in other.by_chunk {
            let known = self.by_chunk.entry(chunk_id).or_default();
            if score(&scores) > score(known) {
                let rerank = known.remove("rerank");
                scores.extend(rerank.map(|rerank| ("rerank".to_owned(), rerank)));
                *known = scores;
            }
        }
        self.searches.extend(other.searches);
    }

    /// The highest relevance of a chunk for what was searched for; none where none is estimated.
    fn relevance(&self, chunk: &Chunk) -> Option<f32> {
        let of = |searched: &Searched| {
            let estimate = searched.estimates.get(&chunk.chunk_id)?;
            Some(estimate.of(searched.script, &chunk.text))
        };
        self.searches.iter().filter_map(of).max_by(f32::total_cmp)
    }

    /// Whether the relevance of a chunk reaches the minimum; that of any does where there is none.
    fn reaches(&self, chunk: &Chunk, minimum: Option<f32>) -> bool {
        minimum.is_none_or(|minimum| {
            let relevance = self.relevance(chunk);
            relevance.is_some_and(|relevance| relevance >= minimum)
        })
    }
}

/// What became of the ranked chunks.
pub struct Loaded {
    /// The answer.
    pub hits: Vec<Hit>,
    /// Whether a chunk was left out because what is stored of it is damaged.
    pub lacks_damaged: bool,
    /// Whether one of the first `top_k` was left out because it is no more.
    pub lacks_gone: bool,
}

/// What hits are made for.
pub struct Asked<'a> {
    /// What the caller wants to see of each hit.
    pub request: &'a SearchRequest,
    /// How the search was run.
    pub plan: &'a QueryPlan,
    /// What the question names.
    pub naming: Naming<'a>,
}

/// The documents that answer for what was found, in families where the plan says so.
fn shown(asked: &Asked<'_>, found: Vec<Found>) -> Vec<Shown> {
    let plan = asked.plan;
    match plan.fold {
        Some(limits) => {
            let folding = Folding {
                filter: &plan.filter,
                limits,
                naming: asked.naming,
            };
            families::fold(found, &folding)
        }
        None => families::unfold(found, &plan.filter),
    }
}

/// The first `top_k` of `ranked` that still exist, that the plan's filter still allows and that are as
/// relevant as it asks for, as hits.
pub async fn load(
    index: &dyn SearchIndex,
    asked: &Asked<'_>,
    ranked: &[ScoredChunk],
    scores: &Scores,
) -> Result<Loaded> {
    let Asked { request, plan, .. } = *asked;
    let (generation, top_k) = (plan.generation.as_deref(), plan.top_k);
    let mut absent = Vec::new();
    let mut hits: Vec<(Hit, StoredChunk)> = Vec::new();
    // Any of the ranked chunks may be of a family with a better one, or one too many of its document.
    let at_once = if plan.fold.is_some() || plan.per_document.is_some() {
        ranked.len()
    } else {
        top_k
    };
    for batch in ranked.chunks(at_once.max(1)) {
        let ids: Vec<ChunkId> = batch.iter().map(|chunk| chunk.chunk_id).collect();
        let read = leaving::read(index, generation, &ids, &plan.filter).await?;
        absent.extend(read.absent);
        let stored = read.chunks;
        // deleted or forbidden since it was ranked, or damaged: the next one takes its place
        let found = batch
            .iter()
            .zip(stored)
            .filter_map(|(ranked, stored)| Some((*ranked, stored?)))
            .filter(|(_, stored)| scores.reaches(&stored.chunk, plan.minimum_relevance))
            .collect();
        let shown = chosen(shown(asked, found), top_k - hits.len(), plan.per_document);
        for (shown, more) in shown {
            let hit = Hit {
                more_in_document: more,
                ..hit(hits.len() + 1, &shown, scores)
            };
            hits.push((hit, shown.stored));
        }
        if hits.len() == top_k {
            break;
        }
    }
    if request.parents {
        add_parents(index, plan, &mut hits).await?;
    }
    if request.neighbours > 0 {
        add_neighbours(index, plan, &mut hits, request.neighbours as usize).await?;
    }
    let damaged = match absent.is_empty() {
        true => Vec::new(),
        false => index.damaged(generation, &absent).await?,
    };
    let would_be_hits = ranked.iter().take(top_k);
    let lacks_gone = would_be_hits
        .map(|ranked| ranked.chunk_id)
        .any(|id| absent.contains(&id) && !damaged.contains(&id));
    Ok(Loaded {
        hits: hits.into_iter().map(|(hit, _)| hit).collect(),
        lacks_damaged: !damaged.is_empty(),
        lacks_gone,
    })
}

/// The first so many, in their order, of each document at most `per_document` while others have
/// something for the places. With the first of each document: how many of it are left out, where there
/// is such a bound.
fn chosen(shown: Vec<Shown>, places: usize, per_document: Option<usize>) -> Vec<(Shown, usize)> {
    let Some(most) = per_document else {
        return shown.into_iter().take(places).map(|one| (one, 0)).collect();
    };
    let mut found: HashMap<String, usize> = HashMap::new();
    let mut number = |shown: Shown| {
        let of_document = found.entry(shown.document.document_id.clone());
        let number = of_document.or_default();
        *number += 1;
        let is_beyond = *number > most;
        (shown, is_beyond)
    };
    let numbered: Vec<(Shown, bool)> = shown.into_iter().map(&mut number).collect();
    let within = numbered.iter().filter(|(_, is_beyond)| !is_beyond).count();
    let (mut room_within, mut room_beyond) = (places, places.saturating_sub(within));
    let takes_a_place = |(_, is_beyond): &(Shown, bool)| {
        let room = match is_beyond {
            true => &mut room_beyond,
            false => &mut room_within,
        };
        let is_room = *room > 0;
        *room -= usize::from(is_room);
        is_room
    };
    let chosen = numbered.into_iter().filter(takes_a_place);
    let chosen: Vec<Shown> = chosen.map(|(shown, _)| shown).collect();
    for shown in &chosen {
        let left_out = found.get_mut(&shown.document.document_id);
        left_out.into_iter().for_each(|left_out| *left_out -= 1);
    }
    let with_left_out = |shown: Shown| {
        let left_out = found.remove(&shown.document.document_id);
        (shown, left_out.unwrap_or(0))
    };
    chosen.into_iter().map(with_left_out).collect()
}

fn hit(rank: usize, shown: &Shown, scores: &Scores) -> Hit {
    let (chunk, document) = (&shown.stored.chunk, &shown.document);
    // Who else may see it is not for whoever found it.
    let mut attributes = document.attributes.clone();
    leaving::hide_rights(&mut attributes);
    Hit {
        rank,
        score: shown.ranked.score,
        relevance: scores.relevance(chunk),
        chunk_id: chunk.chunk_id,
        ordinal: chunk.ordinal,
        document_id: document.document_id.clone(),
        version: document.version,
        source: document.source.clone(),
        source_path: document.source_path.clone(),
        title: document.title.clone(),
        section_path: chunk.section_path.clone(),
        text: chunk.text.clone(),
        url: document.attributes.link.clone().unwrap_or_default(),
        pages: chunk.pages.clone(),
        kind: chunk.kind,
        tags: document.tags.clone(),
        knowledge_sets: document.knowledge_sets.clone(),
        images: chunk.images.clone(),
        scores: scores
            .by_chunk
            .get(&chunk.chunk_id)
            .cloned()
            .unwrap_or_default(),
        attributes,
        api: chunk.api.clone(),
        code: chunk.code.clone(),
        language: chunk.language.clone(),
        parent: None,
        neighbours: Vec::new(),
        family: shown.family.clone(),
        more_in_document: 0,
    }
}

async fn add_parents(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    hits: &mut [(Hit, StoredChunk)],
) -> Result<()> {
    let wanted: Vec<ChunkId> = hits
        .iter()
        .filter_map(|(_, stored)| stored.chunk.parent_id)
        .collect();
    let parents = passages_by_id(index, plan, &wanted).await?;
    for (hit, stored) in hits {
        hit.parent = stored
            .chunk
            .parent_id
            .and_then(|parent| parents.get(&parent).cloned());
    }
    Ok(())
}

/// Chunks of the same document at most `distance` places before and after each hit.
async fn add_neighbours(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    hits: &mut [(Hit, StoredChunk)],
    distance: usize,
) -> Result<()> {
    let documents: Vec<String> = hits
        .iter()
        .map(|(_, stored)| stored.document.document_id.clone())
        .collect();
    let indexed = index
        .documents(plan.generation.as_deref(), &documents)
        .await?;
    let around: Vec<Vec<ChunkId>> = hits
        .iter()
        .zip(indexed)
        .map(|((hit, _), document)| {
            around(
                &document
                    .map(|document| document.chunk_ids)
                    .unwrap_or_default(),
                hit.chunk_id,
                distance,
            )
        })
        .collect();
    let passages = passages_by_id(index, plan, &around.concat()).await?;
    for ((hit, _), around) in hits.iter_mut().zip(around) {
        hit.neighbours = around
            .iter()
            .filter_map(|chunk_id| passages.get(chunk_id).cloned())
            .collect();
    }
    Ok(())
}

/// Ids at most `distance` places from `center`, in order, without it.
fn around(chunk_ids: &[ChunkId], center: ChunkId, distance: usize) -> Vec<ChunkId> {
    let Some(position) = chunk_ids.iter().position(|chunk_id| *chunk_id == center) else {
        return Vec::new();
    };
    let first = position.saturating_sub(distance);
    let window = chunk_ids
        .iter()
        .skip(first)
        .take(position - first + distance + 1);
    window
        .copied()
        .filter(|chunk_id| *chunk_id != center)
        .collect()
}

async fn passages_by_id(
    index: &dyn SearchIndex,
    plan: &QueryPlan,
    chunk_ids: &[ChunkId],
) -> Result<HashMap<ChunkId, Passage>> {
    let passages = passages(index, plan.generation.as_deref(), chunk_ids, &plan.filter).await?;
    Ok(passages
        .into_iter()
        .map(|passage| (passage.chunk_id, passage))
        .collect())
}

/// Texts of chunks that exist and that the filter allows, in the order of the ids.
pub async fn passages(
    index: &dyn SearchIndex,
    generation: Option<&str>,
    chunk_ids: &[ChunkId],
    filter: &Filter,
) -> Result<Vec<Passage>> {
    let stored = leaving::fetch(index, generation, chunk_ids, filter).await?;
    let passage = |stored: StoredChunk| {
        let chunk = stored.chunk;
        Passage {
            chunk_id: chunk.chunk_id,
            ordinal: chunk.ordinal,
            kind: chunk.kind,
            section_path: chunk.section_path,
            pages: chunk.pages,
            text: chunk.text,
            language: chunk.language,
        }
    };
    Ok(stored.into_iter().flatten().map(passage).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_stop_at_the_ends_of_the_document() {
        let ids: Vec<ChunkId> = (0..5).map(ChunkId).collect();
        let near = |center, distance| {
            around(&ids, ChunkId(center), distance)
                .iter()
                .map(|id| id.0)
                .collect::<Vec<_>>()
        };
        assert_eq!(near(0, 2), [1, 2]);
        assert_eq!(near(2, 1), [1, 3]);
        assert_eq!(near(4, 5), [0, 1, 2, 3]);
        assert_eq!(near(9, 5), [] as [u128; 0]);
    }
}
