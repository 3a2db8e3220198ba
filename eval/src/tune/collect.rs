//! Asks the questions of a set once, through the real tiers 1 and 2, and keeps what every weight of
//! the vector side would make of what was found.

use std::collections::{HashMap, HashSet};

use anyhow::{Result, bail};
use tributary_retrieval::{Evidence, Principal, WeightFeatures};
use tributary_schemas::ChunkId;
use tributary_store::search_index::Bm25;

use crate::metrics::rank_scores;
use crate::runner::{Pipeline, Progress, ingest, request};
use crate::set::{EvaluationSet, Question};

/// Weights at which each question is scored: 0, 1/40, … 1.
pub const WEIGHTS: usize = 41;

/// k1 that are tried, each with each of [`B`].
const K1: [f32; 4] = [0.6, 0.9, 1.2, 1.8];
/// See [`K1`].
const B: [f32; 4] = [0.25, 0.5, 0.75, 0.9];

/// nDCG@10 of one question by weight of the vector side, in equal steps from 0 to 1.
pub type Curve = [f64; WEIGHTS];

/// One question that was asked.
#[derive(Clone, Debug)]
pub struct Case {
    /// Identifier in its set.
    pub id: String,
    /// Number of its set.
    pub set: usize,
    /// Its tokens.
    pub query_tokens: usize,
    /// With the numbers of BM25 that are configured.
    pub found: Found,
    /// With those of [`Collected::tried`], in their order.
    pub with_others: Vec<Found>,
}

impl Case {
    /// With the numbers of BM25 at a place of [`Collected::tried`], or with those configured.
    pub fn with(&self, tried: Option<usize>) -> &Found {
        let other = tried.and_then(|place| self.with_others.get(place));
        other.unwrap_or(&self.found)
    }
}

/// What one pair of numbers of BM25 makes of a question.
#[derive(Clone, Debug)]
pub struct Found {
    /// In the order of [`tributary_retrieval::FEATURES`]; none where one signal found nothing, so
    /// that no weight changes the order.
    pub features: Option<WeightFeatures>,
    /// What each weight is worth.
    pub curve: Curve,
}

/// What was found for all sets so far.
#[derive(Debug)]
pub struct Collected {
    /// The numbers of BM25 that are configured.
    pub bm25: Bm25,
    /// Others that are tried on every question.
    pub tried: Vec<Bm25>,
    /// Names of the sets.
    pub sets: Vec<String>,
    /// Questions of all sets.
    pub cases: Vec<Case>,
    /// What could not be used, each with the reason.
    pub left_out: Vec<String>,
}

impl Collected {
    /// Nothing yet; `bm25` is what indexes are built with.
    pub fn new(bm25: Bm25) -> Self {
        let pairs = K1.iter().flat_map(|k1| B.map(|b| Bm25 { k1: *k1, b }));
        Self {
            bm25,
            tried: pairs.filter(|pair| *pair != bm25).collect(),
            sets: Vec::new(),
            cases: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// Publishes the documents of a set and asks its questions.
    pub async fn add(
        &mut self,
        set: &EvaluationSet,
        pipeline: &Pipeline<'_>,
        progress: &dyn Progress,
    ) -> Result<()> {
        ingest(set, pipeline, progress).await?;
        let listed = pipeline.index.list_chunks(None).await?;
        let documents: HashMap<ChunkId, String> = listed.into_iter().collect();
        let asked = self.cases.len();
        self.left_out.extend(set.left_out.iter().cloned());
        for (number, question) in set.questions.iter().enumerate() {
            progress.at("ask", number, set.questions.len());
            let request = request(question, pipeline.top_k);
            let everyone = Principal::unrestricted();
            // The configured ones too: a kept index may have been built with others.
            let numbers = std::iter::once(&self.bm25).chain(&self.tried);
            let numbers: Vec<Bm25> = numbers.copied().collect();
            let asked = pipeline.retriever.evidence(&request, &everyone, &numbers);
            match asked.await {
                Ok(evidence) => {
                    let found = |one: &Evidence| Found {
                        features: one.features,
                        curve: curve(question, one, &documents),
                    };
                    let [_, first, others @ ..] = evidence.as_slice() else {
                        bail!(
                            "the question `{}` was not asked with all numbers",
                            question.id
                        );
                    };
                    self.cases.push(Case {
                        id: question.id.clone(),
                        set: self.sets.len(),
                        query_tokens: first.query_tokens,
                        found: found(first),
                        with_others: others.iter().map(found).collect(),
                    });
                }
                Err(problem) => self.left_out.push(format!(
                    "question `{}` of {} cannot be asked: {problem}",
                    question.id, set.name
                )),
            }
        }
        progress.at("ask", set.questions.len(), set.questions.len());
        if self.cases.len() == asked {
            bail!("no question of {} was answered", set.name);
        }
        self.sets.push(set.name.clone());
        Ok(())
    }
}

/// The weight at a place of a [`Curve`].
pub fn weight_at(place: usize) -> f64 {
    place as f64 / (WEIGHTS - 1) as f64
}

fn curve(question: &Question, evidence: &Evidence, documents: &HashMap<ChunkId, String>) -> Curve {
    std::array::from_fn(|place| {
        let mut seen = HashSet::new();
        let order = evidence.order(weight_at(place) as f32);
        let ranking: Vec<&str> = order
            .iter()
            .filter_map(|chunk| documents.get(chunk))
            .map(String::as_str)
            .filter(|document| seen.insert(*document))
            .collect();
        rank_scores(&ranking, &question.relevant).ndcg_10
    })
}
