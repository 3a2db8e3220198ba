//! The workflow `judge`: an answer of a student to a question is held against the right one, which a
//! model finds by itself first, from passages. Without a usable reply the given answer, or the words
//! of the passages, decide; `degraded` says so, and the confidence is low.

mod by_model;
mod cited;
mod config;
mod explaining;
mod lesser;
mod numerals;
mod question;

use std::time::{Duration, Instant};

use tributary_schemas::ask::{AskRequest, Source};
use tributary_schemas::judging::{Explanation, JudgedBy, Judgement, QuestionToJudge};
use tributary_taxonomy::language::is_chinese;

use super::calling::Calls;
use super::{Asker, finding};
use crate::access::Principal;
use crate::answer::support;
use crate::elapsed::elapsed_ms;
use crate::error::SearchError;
use crate::retriever::degrade;
pub use config::JudgeConfig;
use question::Question;

/// What is named in `degraded` where no model judged.
const LESSER_JUDGE: &str = "judge";
/// What is named where the passages do not deal with the question.
const UNGROUNDED: &str = "grounding";
/// Highest confidence of what no model judged, or what stands in no passage.
pub(super) const UNSURE: f32 = 0.5;

/// What was found for a question.
struct Grounds {
    sources: Vec<Source>,
    degraded: Vec<String>,
    is_grounded: bool,
}

impl Asker {
    /// Judges a student's answer. `Invalid` for a question that contradicts itself.
    pub async fn judge(
        &self,
        request: &QuestionToJudge,
        principal: &Principal,
    ) -> Result<Judgement, SearchError> {
        let started = Instant::now();
        let question = Question::read(request).map_err(SearchError::Invalid)?;
        let mut grounds = grounds(self, request, principal).await?;
        let calls = calls(self, request);
        let judged = match question.is_choice() {
            true => by_model::choice(calls, &question, &grounds.sources).await,
            false => by_model::text(calls, &question, &grounds.sources).await,
        };
        let mut judgement = match judged {
            Some(judgement) => judgement,
            None => {
                degrade(&mut grounds.degraded, LESSER_JUDGE);
                lesser::judge(self, &question, &grounds.sources).await?
            }
        };
        if !grounds.is_grounded {
            judgement.confidence = judgement.confidence.min(UNSURE);
        }
        complete(self, &question, &mut judgement, grounds).await?;
        judgement.took_ms = elapsed_ms(started);
        Ok(judgement)
    }

    /// Explains a question and its right answer to the student. `Invalid` as [`Self::judge`].
    pub async fn explain(
        &self,
        request: &QuestionToJudge,
        principal: &Principal,
    ) -> Result<Explanation, SearchError> {
        let started = Instant::now();
        let question = Question::read(request).map_err(SearchError::Invalid)?;
        let grounds = grounds(self, request, principal).await?;
        let calls = calls(self, request);
        let mut explanation = explaining::explain(calls, &question, grounds).await?;
        explanation.took_ms = elapsed_ms(started);
        Ok(explanation)
    }
}

/// Passages that deal with the question, as the caller may see them.
async fn grounds(
    asker: &Asker,
    request: &QuestionToJudge,
    principal: &Principal,
) -> Result<Grounds, SearchError> {
    let asked = AskRequest {
        filter: request.filter.clone(),
        top_k: Some(asker.config().judge.top_k),
        ..AskRequest::default()
    };
    let search = finding::search_request(asker, &asked, request.question.trim());
    let outcome = {
        let _permit = finding::permit(asker).await?;
        let retriever = &asker.parts.retriever;
        retriever.search(&search, principal).await?
    };
    let mut degraded = outcome.response.degraded;
    let hits = finding::near(asker, &outcome.response.hits);
    let best = hits.iter().map(|hit| hit.relevance.unwrap_or(1.0));
    let is_grounded = best.fold(0.0, f32::max) >= asker.config().refuse_below && !hits.is_empty();
    if !is_grounded {
        degrade(&mut degraded, UNGROUNDED);
    }
    Ok(Grounds {
        sources: finding::sources(asker, &hits),
        degraded,
        is_grounded,
    })
}

fn calls<'a>(asker: &'a Asker, request: &'a QuestionToJudge) -> Calls<'a> {
    let config = asker.config().judge;
    Calls {
        asker,
        question: &request.question,
        deadline: Instant::now() + Duration::from_millis(config.deadline_ms),
        reply_tokens: config.reply_tokens,
    }
}

/// Adds what every judgement has.
async fn complete(
    asker: &Asker,
    question: &Question<'_>,
    judgement: &mut Judgement,
    grounds: Grounds,
) -> Result<(), SearchError> {
    let request = question.request;
    judgement.id.clone_from(&request.id);
    judgement.kind = request.kind;
    judgement.language = language(&request.question).to_owned();
    judgement.knowledge_point =
        knowledge_point(request, &judgement.knowledge_point, &grounds.sources);
    judgement.sources = grounds.sources;
    judgement.degraded = grounds.degraded;
    if judgement.judged_by == JudgedBy::Model {
        let supported = supported(asker, &judgement.analysis, &judgement.sources).await?;
        judgement.support = supported;
    }
    let all = [judgement.reasoning.clone(), judgement.analysis.clone()];
    let options = judgement.option_analysis.iter();
    let texts: Vec<String> = options
        .map(|option| option.analysis.clone())
        .chain(all)
        .collect();
    mark_cited(&mut judgement.sources, &texts);
    Ok(())
}

/// The statements of a text, held against what they cite.
async fn supported(
    asker: &Asker,
    text: &str,
    sources: &[Source],
) -> Result<Vec<tributary_schemas::ask::Support>, SearchError> {
    let (text, sources) = (text.to_owned(), sources.to_vec());
    let minimum = asker.config().minimum_coverage;
    let analyzer = asker.parts.retriever.analyzer();
    let work = move || support::support(&text, &sources, minimum, &analyzer).support;
    super::saying::blocking(work).await
}

fn mark_cited(sources: &mut [Source], texts: &[String]) {
    for source in sources {
        let citation = format!("[{}]", source.number);
        source.cited = texts.iter().any(|text| text.contains(&citation));
    }
}

/// What a question is about: as given, else the model's choice among the titles of the sections, else
/// the title above the best passage.
fn knowledge_point(request: &QuestionToJudge, chosen: &str, sources: &[Source]) -> String {
    let given = request.knowledge_point.as_deref().map(str::trim);
    if let Some(given) = given.filter(|given| !given.is_empty()) {
        return given.to_owned();
    }
    let titles = || {
        sources.iter().flat_map(|source| {
            let sections = source.section_path.iter().rev();
            let titles = sections.chain(std::iter::once(&source.title));
            titles
                .map(|title| title.trim())
                .filter(|title| !title.is_empty())
        })
    };
    let chosen = chosen.trim();
    let same = titles().find(|title| title.eq_ignore_ascii_case(chosen));
    let title = same.or_else(|| titles().next());
    title.unwrap_or_default().to_owned()
}

fn language(question: &str) -> &'static str {
    if is_chinese(question) { "zh" } else { "en" }
}
