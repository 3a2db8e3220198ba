//! Asks the questions of a set once, through the real tiers 1 and 2, and keeps what every weight of
//! the vector side would make of what was found.

use std::collections::{HashMap, HashSet};

use anyhow::{Result, bail};
use tributary_retrieval::{Evidence, Principal, WeightFeatures};
use tributary_schemas::ChunkId;

use crate::metrics::rank_scores;
use crate::runner::{Pipeline, Progress, ingest, request};
use crate::set::{EvaluationSet, Question};

/// Weights at which each question is scored: 0, 1/40, … 1.
pub const WEIGHTS: usize = 41;

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
    /// In the order of [`tributary_retrieval::FEATURES`]; none where one signal found nothing, so
    /// that no weight changes the order.
    pub features: Option<WeightFeatures>,
    /// What each weight is worth.
    pub curve: Curve,
}

/// What was found for all sets so far.
#[derive(Debug, Default)]
pub struct Collected {
    /// Names of the sets.
    pub sets: Vec<String>,
    /// Questions of all sets.
    pub cases: Vec<Case>,
    /// What could not be used, each with the reason.
    pub left_out: Vec<String>,
}

impl Collected {
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
            match pipeline.retriever.evidence(&request, &everyone).await {
                Ok(evidence) => self.cases.push(Case {
                    id: question.id.clone(),
                    set: self.sets.len(),
                    query_tokens: evidence.query_tokens,
                    features: evidence.features,
                    curve: curve(question, &evidence, &documents),
                }),
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
