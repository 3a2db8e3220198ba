//! `/v1/evaluations`: runs of `tributary eval run` that are kept in the data folder.

use std::collections::BTreeMap;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tributary_schemas::evaluation::{
    CaseRecord, CaseVerdict, Comparison, GroupScores, Report, RunSummary, Step, StoredRun, Tiers,
};
use tributary_schemas::{Error, ErrorKind};
use tributary_store::evaluations::{RunStore, compare};

use super::json;
use crate::problem::{Code, Problem};
use crate::server::ServerState;

/// Digits of a hash that tell settings apart.
const DIGEST_DIGITS: usize = 12;

/// A run in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvaluationRun {
    /// Names it.
    pub id: String,
    /// Milliseconds since 1970 when it ended.
    pub at_ms: i64,
    /// Name of the set.
    pub set: String,
    /// File of questions.
    pub queries_file: String,
    /// Documents published.
    pub documents: usize,
    /// Questions asked.
    pub questions: usize,
    /// The same for runs with the same models, analyzer, chunkers and retrieval settings.
    pub settings_digest: String,
    /// Scores by tier, each from 0 to 1.
    pub tiers: Tiers,
    /// Hits among which evidence counts.
    pub top_k: usize,
    /// Cases by verdict: `full`, `partial`, `none`.
    pub verdicts: BTreeMap<String, usize>,
    /// Cases that are not full, by the step that lost them.
    pub steps: BTreeMap<Step, usize>,
}

/// One page of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvaluationPage {
    /// Newest first.
    pub evaluations: Vec<EvaluationRun>,
    /// Files in the folder of runs that are none, each with the reason.
    pub left_out: Vec<String>,
    /// Give this as `after` for the next page; `null` at the end.
    pub next: Option<String>,
}

/// Parameters of `GET /v1/evaluations`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvaluationParameters {
    /// `next` of the page before.
    after: Option<String>,
    /// Runs on the page; the server's maximum when absent.
    limit: Option<usize>,
}

/// A run with its cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvaluationDetail {
    /// In short.
    pub evaluation: EvaluationRun,
    /// Scores by what cases say of themselves: `level`, `style`, `modality`, then the value.
    pub groups: BTreeMap<String, BTreeMap<String, GroupScores>>,
    /// What could not be used or asked, each with its place and the reason; it is in no score.
    pub left_out: Vec<String>,
    /// What it was run with.
    pub settings: Value,
    /// Cases that the parameters let through, the worst first: by verdict, by the step that lost
    /// it, by nDCG@10.
    pub cases: Vec<CaseRecord>,
    /// How many there are on all pages.
    pub total: usize,
    /// Give this as `after` for the next page of cases; `null` at the end.
    pub next: Option<String>,
}

/// Parameters of `GET /v1/evaluations/{id}`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseParameters {
    /// Only cases with this verdict.
    verdict: Option<CaseVerdict>,
    /// Only cases that this step lost.
    step: Option<Step>,
    /// Only the case of this id.
    case: Option<String>,
    /// `next` of the page before.
    after: Option<String>,
    /// Cases on the page; the server's maximum when absent.
    limit: Option<usize>,
}

/// A run beside an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EvaluationComparison {
    /// Its `changes` are those of the page.
    pub comparison: Comparison,
    /// How many changes there are on all pages.
    pub total: usize,
    /// Give this as `after` for the next page of changes; `null` at the end.
    pub next: Option<String>,
}

/// Parameters of `GET /v1/evaluations/{id}/comparison`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ComparisonParameters {
    /// Id of the run before.
    with: String,
    /// `next` of the page before.
    after: Option<String>,
    /// Changed cases on the page; the server's maximum when absent.
    limit: Option<usize>,
}

impl CaseParameters {
    fn lets_through(&self, case: &CaseRecord) -> bool {
        let has_verdict = self.verdict.is_none_or(|verdict| verdict == case.verdict);
        let has_step = self.step.is_none_or(|step| Some(step) == case.step);
        let has_id = self.case.as_ref().is_none_or(|id| *id == case.id);
        has_verdict && has_step && has_id
    }
}

/// `GET /v1/evaluations`.
pub async fn list(
    state: web::Data<ServerState>,
    parameters: web::Query<EvaluationParameters>,
) -> Result<HttpResponse, Problem> {
    let limit = state.page_limit(parameters.limit)?;
    let listing = read(&state.evaluations, RunStore::list).await?;
    let after = parameters.after.as_deref();
    let (runs, next) = page(listing.runs, |run| &run.id, (after, limit))?;
    let answer = EvaluationPage {
        evaluations: runs.into_iter().map(in_short).collect(),
        left_out: listing.left_out,
        next,
    };
    json(StatusCode::OK, &answer)
}

/// `GET /v1/evaluations/{id}`.
pub async fn show(
    state: web::Data<ServerState>,
    id: web::Path<String>,
    parameters: web::Query<CaseParameters>,
) -> Result<HttpResponse, Problem> {
    let limit = state.page_limit(parameters.limit)?;
    let id = id.into_inner();
    let run = read(&state.evaluations, move |runs| runs.get(&id)).await?;
    json(StatusCode::OK, &detail(run, &parameters, limit)?)
}

/// `GET /v1/evaluations/{id}/comparison`: what changed from the run `with` to this one.
pub async fn compared(
    state: web::Data<ServerState>,
    id: web::Path<String>,
    parameters: web::Query<ComparisonParameters>,
) -> Result<HttpResponse, Problem> {
    let limit = state.page_limit(parameters.limit)?;
    let (id, with) = (id.into_inner(), parameters.with.clone());
    let both = move |runs: &RunStore| compare(&runs.get(&with)?, &runs.get(&id)?);
    let mut comparison = read(&state.evaluations, both).await?;
    let changes = std::mem::take(&mut comparison.changes);
    let total = changes.len();
    let after = parameters.after.as_deref();
    let (changes, next) = page(changes, |change| &change.id, (after, limit))?;
    comparison.changes = changes;
    let answer = EvaluationComparison {
        comparison,
        total,
        next,
    };
    json(StatusCode::OK, &answer)
}

/// Runs hold thousands of cases: reading them is no work for a thread that answers.
async fn read<T: Send + 'static>(
    runs: &RunStore,
    reading: impl FnOnce(&RunStore) -> Result<T, Error> + Send + 'static,
) -> Result<T, Problem> {
    let runs = runs.clone();
    let done = tokio::task::spawn_blocking(move || reading(&runs)).await;
    let failed = |error| Error::new(ErrorKind::Internal, format!("runs were not read: {error}"));
    Ok(done.map_err(failed)??)
}

fn detail(
    run: StoredRun,
    wanted: &CaseParameters,
    limit: usize,
) -> Result<EvaluationDetail, Problem> {
    let mut cases = run.cases;
    cases.retain(|case| wanted.lets_through(case));
    cases.sort_by(worst_first);
    let total = cases.len();
    let after = wanted.after.as_deref();
    let (cases, next) = page(cases, |case| &case.id, (after, limit))?;
    let report = run.report;
    Ok(EvaluationDetail {
        groups: report.diagnosis.groups.clone(),
        left_out: report.left_out.clone(),
        settings: report.settings.clone(),
        evaluation: in_short(RunSummary {
            format: run.format,
            id: run.id,
            at_ms: run.at_ms,
            queries: run.queries,
            report,
        }),
        cases,
        total,
        next,
    })
}

fn worst_first(one: &CaseRecord, other: &CaseRecord) -> std::cmp::Ordering {
    let by_score = || one.scores.ndcg_10.total_cmp(&other.scores.ndcg_10);
    (one.verdict, one.step)
        .cmp(&(other.verdict, other.step))
        .then_with(by_score)
        .then_with(|| one.id.cmp(&other.id))
}

fn in_short(run: RunSummary) -> EvaluationRun {
    let Report {
        set,
        documents,
        queries,
        tiers,
        diagnosis,
        settings,
        ..
    } = run.report;
    EvaluationRun {
        id: run.id,
        at_ms: run.at_ms,
        set,
        queries_file: run.queries,
        documents,
        questions: queries,
        settings_digest: digest(&settings),
        tiers,
        top_k: diagnosis.top_k,
        verdicts: diagnosis.verdicts,
        steps: diagnosis.steps,
    }
}

/// Runs write their settings in one order of fields, so the same settings have the same text.
fn digest(settings: &Value) -> String {
    let hash = blake3::hash(settings.to_string().as_bytes()).to_hex();
    hash.chars().take(DIGEST_DIGITS).collect()
}

/// The part of `all` behind the one that `after` names, at most `limit`, and the name of its last
/// if more follow.
fn page<T>(
    all: Vec<T>,
    id: impl Fn(&T) -> &String,
    (after, limit): (Option<&str>, usize),
) -> Result<(Vec<T>, Option<String>), Problem> {
    let start = match after {
        None => 0,
        Some(after) => match all.iter().position(|one| id(one) == after) {
            Some(at) => at + 1,
            None => {
                let what = format!("after is `{after}`, which is not there");
                return Err(Problem::new(Code::InvalidParameter, what)
                    .with_hint("`next` of an answer with the same parameters is one"));
            }
        },
    };
    let has_more = all.len() > start + limit;
    let page: Vec<T> = all.into_iter().skip(start).take(limit).collect();
    let next = page
        .last()
        .filter(|_| has_more)
        .map(|last| id(last).clone());
    Ok((page, next))
}
