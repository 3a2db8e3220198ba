//! `/v1/terms`: candidates for the lexicon, and verdicts of people on them. The files are those of
//! `tributary lexicon`, which shows the same candidates in the same order.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_schemas::audit::AuditCaller;
use tributary_schemas::{Error, ErrorKind};
use tributary_taxonomy::discovery::review::{Progress, Reviewer, borderline_first};
use tributary_taxonomy::discovery::{Candidate, Decision, MODEL, Verdict, Verdicts};

use super::caller::Caller;
use super::{body, json};
use crate::problem::{Code, Problem};
use crate::server::ServerState;
use crate::term_review::{Reviewed, TermReview};

/// Who reviews where callers have no names: whoever has the data folder.
const OWNER: &str = "owner";

/// Which candidates are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TermState {
    /// Those that wait for the caller's verdict.
    #[default]
    Open,
    /// Those on which reviewers disagree.
    Disputed,
    /// Those of which somebody said something.
    Decided,
}

/// What a reviewer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TermVerdict {
    /// It is a term.
    Yes,
    /// It is none.
    No,
    /// Not decided; it is asked another time.
    Skip,
    /// The caller's verdict before this one no longer holds.
    Undo,
}

impl From<TermVerdict> for Decision {
    fn from(verdict: TermVerdict) -> Self {
        match verdict {
            TermVerdict::Yes => Self::Yes,
            TermVerdict::No => Self::No,
            TermVerdict::Skip => Self::Skip,
            TermVerdict::Undo => Self::Undo,
        }
    }
}

/// What may be a term.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TermCandidate {
    /// As it is written most often.
    pub term: String,
    /// How likely it is a term by the classifier, 0 to 1.
    pub score: f64,
    /// Occurrences in the documents that were read.
    pub count: u32,
    /// Documents that have it.
    pub documents: u32,
    /// Sentences that have it; none for callers who may not see every document.
    pub contexts: Vec<String>,
    /// Reviewers who say that it is a term.
    pub yes: Vec<String>,
    /// Reviewers who say that it is none.
    pub no: Vec<String>,
    /// What counts by most of them; `null` where nobody decided or they are even.
    pub is_term: Option<bool>,
    /// What the caller says: `yes`, `no` or `null`.
    pub yours: Option<TermVerdict>,
}

/// How far the review is. What the lexicon has already is not counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TermProgress {
    /// Candidates.
    pub candidates: usize,
    /// Those that nobody decided, or on which reviewers are even.
    pub open: usize,
    /// Those that count as terms.
    pub accepted: usize,
    /// Those that count as none.
    pub rejected: usize,
    /// Those on which reviewers disagree, decided or not.
    pub disputed: usize,
    /// Verdicts that were given, with those that no longer hold.
    pub verdicts: usize,
}

/// One page of candidates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TermPage {
    /// Those whose score is nearest to one half first: a verdict on them teaches most.
    pub candidates: Vec<TermCandidate>,
    /// How far all reviewers are.
    pub progress: TermProgress,
    /// The name that the caller's verdicts are kept with.
    pub reviewer: String,
    /// Give this as `after` for the next page; `null` at the end.
    pub next: Option<String>,
}

/// Parameters of `GET /v1/terms`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TermParameters {
    /// Which candidates; those that wait for the caller when absent.
    #[serde(default)]
    state: TermState,
    /// `next` of the page before, or any candidate.
    after: Option<String>,
    /// Candidates on the page; the server's maximum when absent.
    limit: Option<usize>,
}

/// Body of `POST /v1/terms/verdicts`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TermDecision {
    /// A candidate, as it is listed.
    pub term: String,
    /// What the caller says.
    pub verdict: TermVerdict,
}

/// Answer of `POST /v1/terms/verdicts`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecidedTerm {
    /// The candidate with who says what now.
    pub candidate: TermCandidate,
    /// How far all reviewers are.
    pub progress: TermProgress,
}

/// `GET /v1/terms`.
pub async fn list(
    state: web::Data<ServerState>,
    caller: Caller,
    parameters: web::Query<TermParameters>,
) -> Result<HttpResponse, Problem> {
    caller.require_building(&[])?;
    let limit = state.page_limit(parameters.limit)?;
    let answer = blocking(&state, move |terms| {
        let reviewed = terms.read()?;
        let view = View {
            reviewed: &reviewed,
            caller: &caller,
        };
        view.page(&parameters, limit)
    });
    json(StatusCode::OK, &answer.await?)
}

/// `POST /v1/terms/verdicts`.
pub async fn decide(
    state: web::Data<ServerState>,
    caller: Caller,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    caller.require_building(&[])?;
    let said: TermDecision = body::read_json(&state, &request, payload).await?;
    let answer = blocking(&state, move |terms| decided(terms, &caller, &said));
    json(StatusCode::OK, &answer.await?)
}

fn decided(
    terms: &TermReview,
    caller: &Caller,
    said: &TermDecision,
) -> Result<DecidedTerm, Problem> {
    let find = |reviewed: &Reviewed| {
        let mut candidates = reviewed.candidates.iter();
        candidates.position(|candidate| candidate.term == said.term)
    };
    let at = find(&terms.read()?).ok_or_else(|| {
        let what = format!("`{}` is no candidate", said.term);
        Problem::new(Code::NotFound, what).with_hint("GET /v1/terms lists them")
    })?;
    terms.add(&Verdict {
        term: said.term.clone(),
        decision: said.verdict.into(),
        reviewer: reviewer(caller).to_owned(),
        at_ms: Timestamp::now().as_millisecond(),
    })?;
    let reviewed = terms.read()?;
    let view = View {
        reviewed: &reviewed,
        caller,
    };
    let candidate = reviewed.candidates.get(at).map(|one| view.shown(one));
    let gone = || {
        Problem::new(
            Code::Conflict,
            "the candidates were discovered anew meanwhile",
        )
    };
    Ok(DecidedTerm {
        candidate: candidate.ok_or_else(gone)?,
        progress: view.progress(),
    })
}

/// The files may have thousands of lines: reading them is no work for a thread that answers.
async fn blocking<T: Send + 'static>(
    state: &ServerState,
    work: impl FnOnce(&TermReview) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let terms = Arc::clone(&state.terms);
    let done = tokio::task::spawn_blocking(move || work(&terms)).await;
    let failed = |error| Error::new(ErrorKind::Internal, format!("terms were not read: {error}"));
    done.map_err(failed)?
}

/// The name that a caller's verdicts are kept with: that of the key, or who the user is, as two may be
/// called the same. No person passes for a model, whose verdicts count less.
fn reviewer(caller: &Caller) -> &str {
    let name = caller
        .name()
        .filter(|name| caller.kind() == AuditCaller::Key && !name.starts_with(MODEL));
    name.or(caller.key()).unwrap_or(OWNER)
}

/// What a caller sees.
struct View<'a> {
    reviewed: &'a Reviewed,
    caller: &'a Caller,
}

impl View<'_> {
    fn page(&self, wanted: &TermParameters, limit: usize) -> Result<TermPage, Problem> {
        let mut all: Vec<&Candidate> = self.reviewed.candidates.iter().collect();
        borderline_first(&mut all);
        let start = match &wanted.after {
            None => 0,
            Some(after) => place_behind(&all, after)?,
        };
        let rest = all.into_iter().skip(start);
        let mut listed = rest.filter(|candidate| self.is_listed(candidate, wanted.state));
        let page: Vec<&Candidate> = listed.by_ref().take(limit).collect();
        let has_more = listed.next().is_some();
        let last = page.last().filter(|_| has_more);
        Ok(TermPage {
            next: last.map(|last| last.term.clone()),
            candidates: page.into_iter().map(|one| self.shown(one)).collect(),
            progress: self.progress(),
            reviewer: reviewer(self.caller).to_owned(),
        })
    }

    fn is_listed(&self, candidate: &Candidate, state: TermState) -> bool {
        let verdicts = self.verdicts();
        let standing = || verdicts.standing(&candidate.term);
        match state {
            TermState::Open => {
                let reviewer = Reviewer {
                    name: reviewer(self.caller),
                    heeds_models: false,
                    sees_decided: false,
                };
                reviewer.is_asked(candidate, verdicts)
            }
            TermState::Disputed => !candidate.is_known && standing().is_disputed(),
            TermState::Decided => !candidate.is_known && !standing().is_empty(),
        }
    }

    /// Sentences are of any document: they are for who may see all of them.
    fn shown(&self, candidate: &Candidate) -> TermCandidate {
        let standing = self.verdicts().standing(&candidate.term);
        let own = self.verdicts().of(reviewer(self.caller), &candidate.term);
        let sees_all = self.caller.viewer().is_none();
        TermCandidate {
            term: candidate.term.clone(),
            score: candidate.score,
            count: candidate.count,
            documents: candidate.documents,
            contexts: match sees_all {
                true => candidate.contexts.clone(),
                false => Vec::new(),
            },
            is_term: standing.is_term(),
            yes: standing.yes,
            no: standing.no,
            yours: own.and_then(|decision| match decision {
                Decision::Yes => Some(TermVerdict::Yes),
                Decision::No => Some(TermVerdict::No),
                Decision::Skip | Decision::Undo => None,
            }),
        }
    }

    fn progress(&self) -> TermProgress {
        let progress = Progress::of(&self.reviewed.candidates, self.verdicts());
        TermProgress {
            candidates: progress.candidates,
            open: progress.open,
            accepted: progress.accepted,
            rejected: progress.rejected,
            disputed: progress.disputed,
            verdicts: self.verdicts().total(),
        }
    }

    fn verdicts(&self) -> &Verdicts {
        &self.reviewed.verdicts
    }
}

/// The place behind a candidate, whether it is listed or not: it may have been decided meanwhile.
fn place_behind(all: &[&Candidate], after: &str) -> Result<usize, Problem> {
    let place = all.iter().position(|candidate| candidate.term == after);
    place.map(|place| place + 1).ok_or_else(|| {
        let what = format!("after is `{after}`, which is no candidate");
        Problem::new(Code::InvalidParameter, what)
            .with_hint("the candidates may have been discovered anew: begin without `after`")
    })
}
