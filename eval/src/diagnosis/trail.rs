//! The way of a target through one search: its rank at each step, and the step that lost it.

use std::collections::HashMap;

use tributary_retrieval::Outcome;
use tributary_schemas::evaluation::{Ranks, Step, Trail};
use tributary_schemas::search::{Hit, ScoredChunk};
use tributary_schemas::{ChunkId, DocumentHeader};

use super::placement::{Carrier, Placement, Target};
use crate::evidence::{holds, normalised};

/// A search that is looked at.
pub struct Searched<'a> {
    outcome: &'a Outcome,
    top_k: usize,
    coarse: HashMap<ChunkId, usize>,
    fine: HashMap<ChunkId, usize>,
    rerank: Option<HashMap<ChunkId, usize>>,
    /// Texts of hits as quotes are looked for in.
    hit_texts: Vec<String>,
}

impl<'a> Searched<'a> {
    /// Of a search with `explain`, of whose hits the first `top_k` count.
    pub fn new(outcome: &'a Outcome, top_k: usize) -> Self {
        let response = &outcome.response;
        let was_planned = response
            .plan
            .as_ref()
            .is_some_and(|plan| plan.reranker.is_some());
        let failed = response.degraded.iter().any(|what| what == "reranker");
        let traces = response.traces.iter().flatten();
        let mut last = traces.filter(|trace| trace.tier == "rerank");
        let reranked = last.next().filter(|_| was_planned && !failed);
        let hits = response.hits.iter();
        Self {
            outcome,
            top_k,
            coarse: ranks(&outcome.coarse),
            fine: ranks(&outcome.fine),
            rerank: reranked.map(|trace| ranks(&trace.candidates)),
            hit_texts: hits.map(|hit| normalised(&hit.text)).collect(),
        }
    }

    /// What became of a target.
    pub fn trail(&self, target: &Target) -> Trail {
        let mut ranks = Ranks::default();
        let mut lost = None;
        match &target.placement {
            Placement::Lost { step, why } => lost = Some((*step, why.clone())),
            Placement::Carried { header, carriers } => {
                ranks = self.ranks(target, carriers);
                if ranks.hit.is_none_or(|rank| rank > self.top_k) {
                    lost = Some(self.blame(target, (header, carriers), ranks));
                }
            }
        }
        let found = lost.is_none();
        let (step, why) = lost.map_or((None, String::new()), |(step, why)| (Some(step), why));
        Trail {
            document: target.document.clone(),
            quote: target.quote.clone(),
            found,
            step,
            why,
            ranks,
        }
    }

    fn ranks(&self, target: &Target, carriers: &[Carrier]) -> Ranks {
        let best = |ranks: &HashMap<ChunkId, usize>| {
            let of_carriers = carriers.iter().filter_map(|one| ranks.get(&one.chunk_id));
            of_carriers.min().copied()
        };
        let has_it = |(hit, text): (&Hit, &String)| {
            let quote = target.normalised.as_deref();
            hit.document_id == target.document && quote.is_none_or(|quote| holds(text, quote))
        };
        let mut hits = self.outcome.response.hits.iter().zip(&self.hit_texts);
        Ranks {
            coarse: best(&self.coarse),
            fine: best(&self.fine),
            rerank: self.rerank.as_ref().and_then(best),
            hit: hits.position(has_it).map(|index| index + 1),
        }
    }

    /// The first step that did not hand the target on. Tiers 1 and 2 hand on all that they keep,
    /// the last step that ranks hands on the first `top_k`.
    fn blame(
        &self,
        target: &Target,
        (header, carriers): (&DocumentHeader, &[Carrier]),
        ranks: Ranks,
    ) -> (Step, String) {
        if let Some(why) = self.filtered(header, carriers) {
            return (Step::Filter, why);
        }
        let Some(coarse) = ranks.coarse else {
            let why = format!("not among {} candidates", self.coarse.len());
            return (Step::Coarse, why);
        };
        let top_k = self.top_k;
        let Some(fine) = ranks.fine else {
            let why = format!(
                "rank {coarse} of tier 1, not among {} kept",
                self.fine.len()
            );
            return (Step::Fine, why);
        };
        let (ranked, last) = match (&self.rerank, ranks.rerank) {
            (None, _) => (Step::Fine, fine),
            (Some(_), Some(rerank)) => (Step::Rerank, rerank),
            (Some(_), None) => {
                return (
                    Step::Rerank,
                    format!("rank {fine} of tier 2, then left out"),
                );
            }
        };
        if last > top_k {
            let why = match ranked {
                Step::Rerank => format!("rank {fine} of tier 2, {last} of the reranker"),
                _ => format!("rank {coarse} of tier 1, {fine} of tier 2"),
            };
            return (ranked, why);
        }
        (Step::Packing, self.left_out(target, ranks.hit))
    }

    /// How the filter of the search keeps a document out; none where it does not.
    fn filtered(&self, header: &DocumentHeader, carriers: &[Carrier]) -> Option<String> {
        let filter = &self.outcome.response.plan.as_ref()?.filter;
        if !filter.allows(header) {
            let conditions = serde_json::to_string(filter).ok().unwrap_or_default();
            return Some(format!("the document does not meet {conditions}"));
        }
        let kinds = filter.kinds.as_ref()?;
        let is_allowed = |carrier: &Carrier| kinds.contains(&carrier.kind);
        (!carriers.iter().any(is_allowed))
            .then(|| format!("no such chunk is of the kinds {kinds:?}"))
    }

    /// Why what ranks among the first is no hit.
    fn left_out(&self, target: &Target, hit: Option<usize>) -> String {
        let hits = &self.outcome.response.hits;
        if let Some(rank) = hit {
            return format!("hit {rank}: exact duplicates of better chunks stand before it");
        }
        let names_it = |hit: &&Hit| {
            let mut family = hit.family.iter();
            family.any(|member| member.document_id == target.document)
        };
        if let Some(hit) = hits.iter().find(names_it) {
            let (rank, document) = (hit.rank, &hit.document_id);
            return format!("folded into hit {rank}, its near-duplicate `{document}`");
        }
        match hits.len() < self.top_k {
            true => "cut by the least score or relevance of the request".to_owned(),
            false => "other chunks of its document and of others took its place".to_owned(),
        }
    }
}

fn ranks(chunks: &[ScoredChunk]) -> HashMap<ChunkId, usize> {
    let numbered = chunks.iter().zip(1..);
    numbered
        .map(|(chunk, rank)| (chunk.chunk_id, rank))
        .collect()
}
