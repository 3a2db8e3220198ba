//! Runs an evaluation set: publish, wait, ask, score.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures::stream::{self, StreamExt};
use serde_json::Value;
use tributary_retrieval::{Outcome, Principal, Retriever, SearchError, Understander};
use tributary_schemas::search::{ScoredChunk, SearchRequest};
use tributary_schemas::{ChunkId, State};
use tributary_store::event_log::topics::Topics;
use tributary_store::manifest::documents::Documents;
use tributary_store::manifest::table::DocumentRow;
use tributary_store::search_index::SearchIndex;

use crate::diagnosis::{self, CaseRecord, Target};
use crate::metrics::{RankScores, mean, mean_scores, percentile, rank_scores};
use crate::rewrite::rounds;
use crate::set::{EvaluationSet, Question};

pub use tributary_schemas::evaluation::{Ingest, Latency, Report, TierScores, Tiers};

const PUBLISHERS: usize = 64;
const STATES_PER_LOOK: usize = 5000;
/// Looking costs the pipeline time.
const LOOK_PAUSE: Duration = Duration::from_millis(100);
/// After so long without a document that ends it is said what is waited for, and again.
const STALL: Duration = Duration::from_secs(60);
/// Documents that are named then.
const NAMED: usize = 3;

/// Told of progress: what is done, of how much.
pub trait Progress {
    /// `step` is `publish`, `index` or `ask`.
    fn at(&self, step: &str, done: usize, of: usize);
}

/// The parts of a running pipeline that a run needs.
pub struct Pipeline<'a> {
    /// Publishes and knows states.
    pub documents: Arc<Documents>,
    /// Asks.
    pub retriever: &'a Retriever,
    /// Knows which document a chunk belongs to.
    pub index: &'a dyn SearchIndex,
    /// Has what documents were converted to.
    pub topics: Topics,
    /// Hits among which the evidence of a case must be; at most `top_k`.
    pub evidence_within: usize,
    /// Hits that a search may return at most: several chunks of one document count once.
    pub top_k: usize,
    /// Whether near-duplicates step aside, as they do for users. A question may ask for one that
    /// does.
    pub fold: bool,
    /// Understands each question before it is searched for; else it is searched for as it is.
    pub understander: Option<&'a Understander>,
}

/// Publishes the set's documents, waits for all of them, asks all questions one after the other,
/// and scores.
pub async fn run(
    set: &EvaluationSet,
    pipeline: &Pipeline<'_>,
    settings: Value,
    progress: &dyn Progress,
) -> Result<Report> {
    let ingest = ingest(set, pipeline, progress).await?;
    let documents: HashMap<ChunkId, String> = pipeline
        .index
        .list_chunks(None)
        .await?
        .into_iter()
        .collect();
    let targets = diagnosis::place(&set.questions, pipeline).await?;
    let mut answers = Vec::with_capacity(set.questions.len());
    let mut left_out = set.left_out.clone();
    for (number, (question, targets)) in set.questions.iter().zip(&targets).enumerate() {
        progress.at("ask", number, set.questions.len());
        let asked = Asked {
            question,
            targets,
            evidence_within: pipeline.evidence_within,
        };
        match ask(question, pipeline).await {
            Ok(outcome) => answers.push(Answer::score(&asked, &outcome, &documents)),
            Err(problem) => left_out.push(format!(
                "question `{}` cannot be asked: {problem}",
                question.id
            )),
        }
    }
    if answers.is_empty()
        && let Some(last) = left_out.last()
    {
        bail!("no question was answered; {last}");
    }
    progress.at("ask", set.questions.len(), set.questions.len());
    let (tiers, latency_ms) = (tiers(&answers), latencies(&answers));
    let cases: Vec<CaseRecord> = answers.into_iter().map(|answer| answer.case).collect();
    Ok(Report {
        run: None,
        set: set.name.clone(),
        documents: set.documents.len(),
        queries: cases.len(),
        left_out,
        tiers,
        diagnosis: diagnosis::summary(&cases, pipeline.evidence_within),
        cases,
        latency_ms,
        ingest,
        settings,
    })
}

async fn ask(question: &Question, pipeline: &Pipeline<'_>) -> Result<Outcome, SearchError> {
    let request = SearchRequest {
        unfold: !pipeline.fold,
        explain: true,
        ..request(question, pipeline.top_k)
    };
    let (retriever, principal) = (pipeline.retriever, Principal::unrestricted());
    let Some(understander) = pipeline.understander else {
        return retriever.search(&request, &principal).await;
    };
    let history = rounds(&question.history);
    let understood = understander
        .understand(&question.text, &history, true)
        .await;
    let understanding = &understood.understanding;
    let searched = retriever
        .search_all(&request, understanding, &principal)
        .await?;
    Ok(searched.outcome)
}

/// What a search for a question finds of what it needs.
pub(crate) async fn diagnose(
    question: &Question,
    targets: &[Target],
    pipeline: &Pipeline<'_>,
) -> Result<CaseRecord, SearchError> {
    let outcome = ask(question, pipeline).await?;
    let scores = rank_scores(&documents_of(&outcome), &question.relevant);
    let searched = (&outcome, pipeline.evidence_within);
    Ok(diagnosis::case_of(question, targets, searched, scores))
}

/// Documents of the hits, best first, each once.
fn documents_of(outcome: &Outcome) -> Vec<&str> {
    let mut seen = HashSet::new();
    let hits = outcome.response.hits.iter();
    hits.map(|hit| hit.document_id.as_str())
        .filter(|document| seen.insert(*document))
        .collect()
}

/// Asks for so many hits, near-duplicates among them, with what the case says of the request.
pub fn request(question: &Question, top_k: usize) -> SearchRequest {
    // A set whose cases cannot be asked is not read.
    let asked = question.case.search_request(&question.text).ok();
    SearchRequest {
        query: question.text.clone(),
        top_k: Some(top_k),
        unfold: true,
        ..asked.unwrap_or_default()
    }
}

/// Publishes the documents of a set and waits for all of them.
pub async fn ingest(
    set: &EvaluationSet,
    pipeline: &Pipeline<'_>,
    progress: &dyn Progress,
) -> Result<Ingest> {
    let started = Instant::now();
    let accepted = publish(set, pipeline, progress).await?;
    let (skipped, dead) = wait(accepted, pipeline, progress).await?;
    let seconds = started.elapsed().as_secs_f64();
    Ok(Ingest {
        seconds,
        documents_per_second: set.documents.len() as f64 / seconds.max(f64::MIN_POSITIVE),
        skipped,
        dead,
    })
}

/// The versions of the documents of a set, once all of them are accepted.
async fn publish(
    set: &EvaluationSet,
    pipeline: &Pipeline<'_>,
    progress: &dyn Progress,
) -> Result<HashMap<String, u64>> {
    let publications = set.documents.iter().cloned().map(|event| {
        let documents = Arc::clone(&pipeline.documents);
        async move { documents.publish(event).await }
    });
    let mut accepted = HashMap::new();
    let mut publications = stream::iter(publications).buffer_unordered(PUBLISHERS);
    while let Some(publication) = publications.next().await {
        let publication = publication?;
        accepted.insert(publication.document_id, publication.version);
        progress.at("publish", accepted.len(), set.documents.len());
    }
    Ok(accepted)
}

/// Until every document has its end; a dead one spoils the scores, so it is reported.
async fn wait(
    mut open: HashMap<String, u64>,
    pipeline: &Pipeline<'_>,
    progress: &dyn Progress,
) -> Result<(usize, usize)> {
    let total = open.len();
    let (mut skipped, mut dead) = (0, 0);
    let mut stall = (open.len(), Instant::now());
    while !open.is_empty() {
        let ids: Vec<String> = open.keys().take(STATES_PER_LOOK).cloned().collect();
        for (id, row) in ids.iter().zip(pipeline.documents.get_many(&ids)) {
            let Some(row) = row.filter(|row| {
                row.latest.state.is_final()
                    && open
                        .get(id)
                        .is_some_and(|version| row.latest.version >= *version)
            }) else {
                continue;
            };
            open.remove(id);
            skipped += usize::from(row.latest.state == State::Skipped);
            dead += usize::from(row.latest.state == State::Dead);
        }
        progress.at("index", total - open.len(), total);
        if open.len() != stall.0 || stall.1.elapsed() >= STALL {
            if open.len() == stall.0 {
                say_what_is_waited_for(&open, pipeline);
            }
            stall = (open.len(), Instant::now());
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
    if dead == total && total > 0 {
        bail!("all {total} documents were given up; see `tributary dead-letters list`");
    }
    Ok((skipped, dead))
}

/// Some of the documents that have no end yet, with what is known of each.
fn say_what_is_waited_for(open: &HashMap<String, u64>, pipeline: &Pipeline<'_>) {
    let ids: Vec<String> = open.keys().take(NAMED).cloned().collect();
    let states = pipeline.documents.get_many(&ids);
    let state = |row: Option<DocumentRow>| {
        row.map_or_else(
            || "nothing is known of it".to_owned(),
            |row| format!("{:?}", row.latest.state).to_lowercase(),
        )
    };
    let named = ids.iter().zip(states);
    let named: Vec<String> = named
        .map(|(id, row)| format!("{id} ({})", state(row)))
        .collect();
    let (waiting, examples) = (open.len(), named.join(", "));
    tracing::warn!(
        waiting,
        examples,
        "no document has come to its end for a minute"
    );
}

/// A question with what it needs.
struct Asked<'a> {
    question: &'a Question,
    targets: &'a [Target],
    evidence_within: usize,
}

/// One question's scores.
struct Answer {
    case: CaseRecord,
    coarse: (f64, usize),
    fine: (f64, usize),
    last: RankScores,
    milliseconds: HashMap<String, f64>,
}

impl Answer {
    fn score(asked: &Asked<'_>, outcome: &Outcome, documents: &HashMap<ChunkId, String>) -> Self {
        let question = asked.question;
        let mut milliseconds: HashMap<String, f64> = outcome
            .response
            .tiers
            .iter()
            .map(|(name, tier)| (name.clone(), tier.ms))
            .collect();
        milliseconds.insert("total".to_owned(), outcome.response.took_ms);
        let last = rank_scores(&documents_of(outcome), &question.relevant);
        let searched = (outcome, asked.evidence_within);
        Self {
            case: diagnosis::case_of(question, asked.targets, searched, last),
            coarse: (
                coverage(&outcome.coarse, question, documents),
                outcome.coarse.len(),
            ),
            fine: (
                coverage(&outcome.fine, question, documents),
                outcome.fine.len(),
            ),
            last,
            milliseconds,
        }
    }
}

fn coverage(
    candidates: &[ScoredChunk],
    question: &Question,
    documents: &HashMap<ChunkId, String>,
) -> f64 {
    let found: HashSet<&String> = candidates
        .iter()
        .filter_map(|candidate| documents.get(&candidate.chunk_id))
        .collect();
    question
        .relevant
        .iter()
        .filter(|document| found.contains(document))
        .count() as f64
        / question.relevant.len() as f64
}

fn tiers(answers: &[Answer]) -> Tiers {
    let tier = |pick: fn(&Answer) -> (f64, usize)| TierScores {
        recall: mean(
            &answers
                .iter()
                .map(|answer| pick(answer).0)
                .collect::<Vec<_>>(),
        ),
        candidates: mean(
            &answers
                .iter()
                .map(|answer| pick(answer).1 as f64)
                .collect::<Vec<_>>(),
        ),
    };
    Tiers {
        coarse: tier(|answer| answer.coarse),
        fine: tier(|answer| answer.fine),
        last: mean_scores(&answers.iter().map(|answer| answer.last).collect::<Vec<_>>()),
    }
}

fn latencies(answers: &[Answer]) -> HashMap<String, Latency> {
    ["coarse", "fine", "rerank", "total"]
        .into_iter()
        .map(|name| {
            let values: Vec<f64> = answers
                .iter()
                .filter_map(|answer| answer.milliseconds.get(name).copied())
                .collect();
            (
                name.to_owned(),
                Latency {
                    p50: percentile(&values, 0.5),
                    p95: percentile(&values, 0.95),
                },
            )
        })
        .collect()
}
