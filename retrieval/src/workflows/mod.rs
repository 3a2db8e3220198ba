//! Workflows: each is a function over the retriever, the models of roles and the events of one
//! answer. Which one answers, the request says, else the configuration.

mod calling;
mod finding;
mod general;
mod judge;
mod on_demand;
mod report;
mod saying;
mod summing;
mod textbook;

pub use judge::JudgeConfig;
pub use on_demand::OnDemandConfig;
pub use report::ReportConfig;
pub use summing::SummedUp;
pub use textbook::TextbookConfig;

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;
use tributary_models::TokenCounter;
use tributary_models::chat::ChatModels;
use tributary_models::prompts::Prompts;
use tributary_schemas::Result;
use tributary_schemas::ask::{Answer, AskRequest, Retrieval, Round, StepTime, Workflow};

use crate::access::Principal;
use crate::answer::{AnswerConfig, Earlier};
use crate::elapsed::elapsed_ms;
use crate::error::SearchError;
use crate::events::Events;
use crate::retriever::Retriever;
use crate::understand::Understander;

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
    /// Settings of answers.
    pub config: AnswerConfig,
}

/// Answers questions.
pub struct Asker {
    parts: AskerParts,
    search_permits: Semaphore,
}

/// A question on its way.
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
}

impl Asker {
    /// Joins the parts. `Invalid` if the settings contradict each other.
    pub fn new(parts: AskerParts) -> Result<Self> {
        parts.config.check()?;
        let searches = match parts.config.concurrent_searches {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            given => given.min(Semaphore::MAX_PERMITS),
        };
        Ok(Self {
            parts,
            search_permits: Semaphore::new(searches),
        })
    }

    /// Settings of answers.
    pub fn config(&self) -> &AnswerConfig {
        &self.parts.config
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
        let search = finding::search_request(self, request, &request.question);
        let workflow = self.workflow(request);
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
        self.parts.retriever.check(&search, principal)
    }

    /// Answers a question. The events are those of [`tributary_schemas::ask::AskEvent`] but the last;
    /// dropping the future cancels all work, that of language models included.
    pub async fn ask(
        &self,
        asked: &Asked,
        events: &Events,
    ) -> std::result::Result<Answer, SearchError> {
        match self.workflow(&asked.request) {
            Workflow::General => general::answer(self, asked, events).await,
            Workflow::Textbook => textbook::answer(self, asked, events).await,
            Workflow::Report => report::answer(self, asked, events).await,
        }
    }

    /// Which workflow answers a question: that of the request, else the configured one.
    pub fn workflow(&self, request: &AskRequest) -> Workflow {
        request.workflow.unwrap_or(self.parts.config.workflow)
    }
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
