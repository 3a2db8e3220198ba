//! Workflows: each is a function over the retriever, the models of roles and the events of one
//! answer. Which one answers, the request says, else the configuration.

mod calling;
mod code;
mod course;
mod error_map;
mod finding;
mod general;
mod grading;
mod judge;
mod on_demand;
mod report;
mod saying;
mod sides;
mod summing;
mod table;
mod textbook;

pub use code::CodeExplanationConfig;
pub use course::{CourseConfig, Heading};
pub use error_map::{EnvironmentField, ErrorMapConfig};
pub use general::GeneralConfig;
pub use grading::{Grade, ToGrade};
pub use judge::JudgeConfig;
pub use on_demand::OnDemandConfig;
pub use report::{ReportConfig, ReportKeeper};
pub use sides::{Scope, Side, SideText};
pub use summing::SummedUp;
pub use textbook::TextbookConfig;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tributary_models::TokenCounter;
use tributary_models::chat::{ChatModels, Meter, Role};
use tributary_models::prompts::Prompts;
use tributary_schemas::ask::{Answer, AskRequest, Retrieval, Round, StepTime, Tokens, Workflow};
use tributary_schemas::understanding::Intent;
use tributary_schemas::{Error, ErrorKind, Filter, Result};
use tributary_store::blobs::Blobs;

use crate::access::Principal;
use crate::answer::{AnswerConfig, Earlier};
use crate::elapsed::elapsed_ms;
use crate::error::SearchError;
use crate::events::Events;
use crate::live::{self, LiveSearch};
use crate::retriever::Retriever;
use crate::tables::TableReader;
use crate::understand::rules::intent;
use crate::understand::{Understander, is_smalltalk};

/// What questions are answered with.
pub struct AskerParts {
    /// Finds passages.
    pub retriever: Arc<Retriever>,
    /// Language models by role.
    pub chat: Arc<ChatModels>,
    /// Understands questions.
    pub understander: Understander,
    /// Counts the tokens of passages.
    pub tokens: Arc<dyn TokenCounter>,
    /// What models are asked.
    pub prompts: Arc<Prompts>,
    /// Where databases of documents' tables are kept.
    pub blobs: Blobs,
    /// Settings of answers.
    pub config: AnswerConfig,
    /// Tags that documents can have; none where that is not known.
    pub known_tags: Option<BTreeSet<String>>,
}

/// Answers questions.
pub struct Asker {
    parts: AskerParts,
    tables: TableReader,
    search_permits: Semaphore,
    /// Searches the web, where that is configured.
    live: Option<Box<dyn LiveSearch>>,
}

/// Bytes of a question that tell what it wants.
const TELLING_BYTES: usize = 8192;

/// Share of the time that an answer has left in which it is written.
const SHARE_TO_WRITE: (u32, u32) = (9, 10);

/// A question on its way.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Of the answer.
    pub id: String,
    /// The question and how it is to be answered.
    pub request: AskRequest,
    /// The last rounds before it, oldest first, [`AnswerConfig::rounds`] at most.
    pub history: Vec<Round>,
    /// What was said before them.
    pub earlier: Earlier,
    /// Who asks.
    pub principal: Principal,
    /// Where a report is kept while it is written.
    pub report: Option<ReportKeeper>,
    /// When the answer is given up; none where it may take as long as it takes.
    pub given_up_at: Option<Instant>,
}

impl Asker {
    /// Joins the parts. `Invalid` if the settings contradict each other or name a knowledge set or
    /// a tag that does not exist.
    pub fn new(parts: AskerParts) -> Result<Self> {
        parts.config.check()?;
        check_scopes(&parts)?;
        let searches = match parts.config.concurrent_searches {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            given => given.min(Semaphore::MAX_PERMITS),
        };
        let reader = Arc::clone(&parts.retriever);
        let tables = TableReader::new(reader, parts.blobs.clone(), parts.config.table);
        let live = live::open(&parts.config.live)?;
        Ok(Self {
            parts,
            live,
            tables,
            search_permits: Semaphore::new(searches),
        })
    }

    /// Settings of answers.
    pub fn config(&self) -> &AnswerConfig {
        &self.parts.config
    }

    /// Whether the web can be searched for a report.
    pub fn searches_web(&self) -> bool {
        self.live.is_some()
    }

    /// Understands questions.
    pub fn understander(&self) -> &Understander {
        &self.parts.understander
    }

    /// Finds passages.
    pub fn retriever(&self) -> &Arc<Retriever> {
        &self.parts.retriever
    }

    /// What is wrong with a question before it is worked on.
    pub fn check(
        &self,
        request: &AskRequest,
        principal: &Principal,
    ) -> std::result::Result<(), SearchError> {
        let workflow = self.workflow(request);
        let text = match workflow {
            Workflow::ErrorMap => error_map::checked(self, request)?,
            _ => request.question.clone(),
        };
        let search = finding::search_request(self, request, &text);
        if request.retrieval == Retrieval::OnDemand && workflow != Workflow::General {
            return Err(SearchError::Invalid(format!(
                "retrieval is on_demand and workflow is {}: on demand is for `general` alone",
                workflow.as_str()
            )));
        }
        if request.depth.is_some() && workflow != Workflow::Report {
            return Err(SearchError::Invalid(format!(
                "depth is given and workflow is {}: only a `report` has a depth",
                workflow.as_str()
            )));
        }
        if request.report_id.is_some() && workflow != Workflow::Report {
            return Err(SearchError::Invalid(format!(
                "report_id is given and workflow is {}: only a `report` can be gone on with",
                workflow.as_str()
            )));
        }
        if request.live == Some(true) && workflow != Workflow::Report {
            return Err(SearchError::Invalid(format!(
                "live is given and workflow is {}: the web is searched for a `report` alone",
                workflow.as_str()
            )));
        }
        self.parts.retriever.check(&search, principal)
    }

    /// Answers a question. The events are those of [`tributary_schemas::ask::AskEvent`] but the last;
    /// dropping the future cancels all work, that of language models included.
    pub async fn ask(
        &self,
        asked: &Asked,
        events: &Events,
    ) -> std::result::Result<Answer, SearchError> {
        let meter = Meter::default();
        let mut answer = meter.during(self.answer(asked, events)).await?;
        let used = meter.used();
        answer.tokens = (!used.is_empty()).then(|| Tokens {
            prompt: used.values().map(|used| used.prompt).sum(),
            completion: used.values().map(|used| used.completion).sum(),
        });
        let of_role = used.iter().map(|(role, used)| {
            let tokens = Tokens {
                prompt: used.prompt,
                completion: used.completion,
            };
            (role.as_str().to_owned(), tokens)
        });
        answer.tokens_by_role = of_role.collect();
        Ok(answer)
    }

    async fn answer(
        &self,
        asked: &Asked,
        events: &Events,
    ) -> std::result::Result<Answer, SearchError> {
        if self.is_greeted(&asked.request) {
            return Ok(saying::greeted(self, asked, events).await);
        }
        match self.workflow(&asked.request) {
            Workflow::General => general::answer(self, asked, events).await,
            Workflow::Textbook => textbook::answer(self, asked, events).await,
            Workflow::ErrorMap => error_map::answer(self, asked, events).await,
            Workflow::Code => code::answer(self, asked, events).await,
            Workflow::Course => course::answer(self, asked, events).await,
            Workflow::Table => table::answer(self, asked, events).await,
            Workflow::Report => report::answer(self, asked, events).await,
        }
    }

    /// Whether it is a greeting that no model is to answer: the documents say nothing to it. The
    /// rules decide, which know the words: a model might take a question for one.
    fn is_greeted(&self, request: &AskRequest) -> bool {
        let may_answer = request.retrieval == Retrieval::OnDemand
            && self.parts.chat.role(Role::Answer).is_some();
        !may_answer && is_smalltalk(request.question.trim())
    }

    /// Which workflow answers a question: that of the request, else that of its intent as the rules
    /// see it, else the configured one. On demand is for `general` alone, whatever the intent.
    pub fn workflow(&self, request: &AskRequest) -> Workflow {
        let config = &self.parts.config;
        let is_free = request.retrieval == Retrieval::Automatic && !config.by_intent.is_empty();
        let by_intent = || {
            let intent = is_free.then(|| intent_of(&request.question))?;
            config.by_intent.get(&intent).copied()
        };
        let named = request.workflow.or_else(by_intent);
        named.unwrap_or(config.workflow)
    }
}

/// What a question wants, by rules. Of a long text the end tells it, as of every log.
fn intent_of(question: &str) -> Intent {
    let from = question.len().saturating_sub(TELLING_BYTES);
    let from = (from..=question.len()).find(|at| question.is_char_boundary(*at));
    intent::intent(
        from.and_then(|from| question.get(from..))
            .unwrap_or(question),
    )
}

impl Asked {
    /// How long a model may write that is given `most`: what it has written by then must still be
    /// held against its sources before the answer is given up.
    fn time_to_write(&self, most: Duration) -> Duration {
        let left = self.given_up_at.map(|end| {
            let left = end.saturating_duration_since(Instant::now());
            left * SHARE_TO_WRITE.0 / SHARE_TO_WRITE.1
        });
        left.map_or(most, |left| left.min(most))
    }

    /// The same question, asked of a part of the documents.
    fn within(&self, scope: Filter) -> Self {
        let mut asked = self.clone();
        asked.request.filter = asked.request.filter.narrowed_to(scope);
        asked
    }
}

/// Sets and tags that the configuration names must be there: a side without one would find nothing,
/// and nobody would know why.
fn check_scopes(parts: &AskerParts) -> Result<()> {
    for (key, scope) in parts.config.scopes() {
        let invalid = |error: &Error, hint: &str| {
            let problem = format!("query_api.answer.{key}: {error}");
            let hint = error.hint().unwrap_or(hint).to_owned();
            Error::new(ErrorKind::Invalid, problem).with_hint(hint)
        };
        let sets = parts.retriever.check_sets(&scope.knowledge_sets);
        sets.map_err(|error| invalid(&error, "name a set of taxonomy.knowledge_sets_file"))?;
        if let Some(known) = &parts.known_tags {
            let tags = check_tags(&scope.tags, known);
            tags.map_err(|error| invalid(&error, TAGS_HINT))?;
        }
    }
    Ok(())
}

/// Where tags come from.
const TAGS_HINT: &str = "tags are given by rules in taxonomy.knowledge_sets_file and \
    taxonomy.source_profiles_file";

fn check_tags(tags: &[String], known: &BTreeSet<String>) -> Result<()> {
    let Some(unknown) = tags.iter().find(|tag| !known.contains(*tag)) else {
        return Ok(());
    };
    let error = Error::new(
        ErrorKind::NotFound,
        format!("no rule gives the tag `{unknown}`"),
    );
    let near = tributary_taxonomy::nearest(unknown, known.iter().map(String::as_str));
    Err(match near {
        Some(near) => error.with_hint(format!("did you mean `{near}`")),
        None => error,
    })
}

/// Times the steps of an answer.
struct Steps {
    started: Instant,
    last: Instant,
    steps: Vec<StepTime>,
}

impl Steps {
    fn begin() -> Self {
        let now = Instant::now();
        Self {
            started: now,
            last: now,
            steps: Vec::new(),
        }
    }

    /// The step that is over now.
    fn end(&mut self, step: &str) -> f64 {
        let ms = elapsed_ms(self.last);
        self.last = Instant::now();
        self.note(step, ms);
        ms
    }

    fn note(&mut self, step: &str, ms: f64) {
        self.steps.push(StepTime {
            step: step.to_owned(),
            ms,
        });
    }
}
