//! What a question means: by rules at once, and by the model of the role `understand` where one is
//! configured and replies in time.

pub mod check;
mod config;
mod kept;
pub mod rules;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tributary_models::chat::structured::{ask, ask_checked};
use tributary_models::chat::{ChatError, ChatModels, Reason, Role, RoleModel};
use tributary_models::prompts::Prompts;
use tributary_schemas::ask::Round;
use tributary_schemas::understanding::{Intent, Understanding};
use tributary_taxonomy::{Analyzer, Synonyms};

use crate::elapsed::elapsed_ms;
use crate::prompts::{
    HYPOTHETICAL_PASSAGE, PassageReply, QuestionToAnswer, QuestionToUnderstand, UNDERSTANDING,
    UnderstandingReply,
};
use crate::serving::SharedServing;
pub use config::UnderstandingConfig;
pub use rules::intent::is_smalltalk;
use rules::{Domain, language};

/// What `degraded` says where a model is configured and the rules stood in for it.
pub const DEGRADED: &str = "understanding";
/// Characters of an earlier question and of its answer that the model is shown.
const SHOWN_OF_ANSWER: usize = 400;

/// Where the analyzer comes from.
pub enum AnalyzerSource {
    /// Of the generation that serves at the time of a question.
    Serving(SharedServing),
    /// Always the same.
    Fixed(Arc<Analyzer>),
}

impl AnalyzerSource {
    fn analyzer(&self) -> Arc<Analyzer> {
        match self {
            Self::Serving(serving) => Arc::clone(&serving.current().analyzer),
            Self::Fixed(analyzer) => Arc::clone(analyzer),
        }
    }
}

/// What an understander works with.
pub struct UnderstanderParts {
    /// Whose analyzer reads the questions.
    pub analyzer: AnalyzerSource,
    /// Names of the same things, of the lexicon as it is now.
    pub synonyms: Arc<Synonyms>,
    /// Language models by role.
    pub chat: Arc<ChatModels>,
    /// Has those of [`crate::prompts::PROMPTS`].
    pub prompts: Arc<Prompts>,
    /// Settings.
    pub config: UnderstandingConfig,
}

/// Understands questions.
pub struct Understander {
    parts: UnderstanderParts,
}

/// A question that was understood.
#[derive(Clone, Debug)]
pub struct Understood {
    /// What it means.
    pub understanding: Understanding,
    /// [`DEGRADED`] where a model is configured and did not do its part.
    pub degraded: Option<String>,
}

impl Understander {
    /// Joins its parts.
    pub fn new(parts: UnderstanderParts) -> Self {
        Self { parts }
    }

    /// What a question means after these rounds (oldest first). It always comes back with
    /// something: what the model does not say in time, the rules say. Without a history, or where
    /// `rewrite` is false, the standalone question is the question as written; its variants come
    /// all the same.
    pub async fn understand(&self, question: &str, history: &[Round], rewrite: bool) -> Understood {
        let started = Instant::now();
        let history = if rewrite { history } else { &[] };
        let by_rules = self.by_rules(question, history).await;
        let model = self.parts.chat.role(Role::Understand);
        let model = model.filter(|_| by_rules.intent != Intent::Smalltalk);
        let mut understood = match model {
            Some(model) => self.by_model(&model, by_rules, history, started).await,
            None => Understood {
                understanding: by_rules,
                degraded: None,
            },
        };
        understood.understanding.took_ms = elapsed_ms(started);
        tracing::debug!(
            intent = ?understood.understanding.intent,
            made_by = ?understood.understanding.made_by,
            confidence = understood.understanding.confidence,
            variants = understood.understanding.variants.len(),
            took_ms = understood.understanding.took_ms,
            "question understood"
        );
        understood
    }

    /// By rules alone. A long question takes milliseconds.
    async fn by_rules(&self, question: &str, history: &[Round]) -> Understanding {
        let (question, history) = (question.to_owned(), history.to_vec());
        let asked = question.clone();
        let read = self.reading(move |domain| rules::understand(&question, &history, true, domain));
        read.await
            .unwrap_or_else(|| Understanding::of(asked.trim()))
    }

    /// Runs rules on a thread of their own; `None` where they panicked.
    async fn reading(
        &self,
        read: impl FnOnce(Domain<'_>) -> Understanding + Send + 'static,
    ) -> Option<Understanding> {
        let analyzer = self.parts.analyzer.analyzer();
        let synonyms = Arc::clone(&self.parts.synonyms);
        let work = move || {
            read(Domain {
                analyzer: &analyzer,
                synonyms: &synonyms,
            })
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.inspect_err(|error| tracing::error!(%error, "the rules of understanding stopped"))
            .ok()
    }

    /// Both calls at once, within the deadline.
    async fn by_model(
        &self,
        model: &Arc<RoleModel>,
        by_rules: Understanding,
        history: &[Round],
        started: Instant,
    ) -> Understood {
        let deadline = started + Duration::from_millis(self.parts.config.deadline_ms);
        let (reply, passage) = futures::join!(
            self.reply(model, &by_rules.question, history, deadline),
            self.passage(model, &by_rules, deadline)
        );
        let is_degraded = reply.is_err() || passage.is_err();
        let understanding = match reply {
            Ok(reply) => self.joined(by_rules, reply, history).await,
            Err(_) => by_rules,
        };
        Understood {
            understanding: Understanding {
                hypothetical_passage: passage.ok().flatten(),
                ..understanding
            },
            degraded: is_degraded.then(|| DEGRADED.to_owned()),
        }
    }

    async fn reply(
        &self,
        model: &Arc<RoleModel>,
        question: &str,
        history: &[Round],
        deadline: Instant,
    ) -> Result<UnderstandingReply, ()> {
        let said = said(history, self.parts.config.history_rounds, question);
        let values = QuestionToUnderstand {
            history: &said,
            question,
        };
        let asking = async {
            let request = self.request(UNDERSTANDING, question, values, deadline)?;
            let check = |reply: &UnderstandingReply| check::check(reply, question);
            let reply = ask_checked::<UnderstandingReply>(model.as_ref(), &request, check).await?;
            Ok(reply.value)
        };
        in_time(deadline, asking).await
    }

    /// `None` where none is wanted.
    async fn passage(
        &self,
        model: &Arc<RoleModel>,
        by_rules: &Understanding,
        deadline: Instant,
    ) -> Result<Option<String>, ()> {
        let wants_one = matches!(
            by_rules.intent,
            Intent::Definition | Intent::HowTo | Intent::Reason | Intent::Comparison
        );
        if !self.parts.config.hypothetical_passage || !wants_one {
            return Ok(None);
        }
        let question = by_rules.standalone_question.as_str();
        let values = QuestionToAnswer { question };
        let asking = async {
            let request = self.request(HYPOTHETICAL_PASSAGE, question, values, deadline)?;
            Ok(ask::<PassageReply>(model.as_ref(), &request).await?.value)
        };
        let reply = in_time(deadline, asking).await?;
        Ok(Some(reply.passage).filter(|passage| !passage.trim().is_empty()))
    }

    fn request(
        &self,
        name: &str,
        question: &str,
        values: impl serde::Serialize,
        deadline: Instant,
    ) -> Result<tributary_models::chat::ChatRequest, ChatError> {
        let failed =
            |error: tributary_schemas::Error| ChatError::new(Reason::Refused, error.to_string());
        let prompts = &self.parts.prompts;
        let prompt = prompts
            .get(name, Some(language::tag(question)))
            .map_err(failed)?;
        let tokens = self.parts.config.reply_tokens;
        let mut request = prompt.request(values, tokens).map_err(failed)?;
        request.deadline = Some(deadline);
        request.temperature = Some(0.0);
        Ok(request)
    }

    /// What the rules read from the model's standalone question, with what the model says.
    async fn joined(
        &self,
        by_rules: Understanding,
        reply: UnderstandingReply,
        history: &[Round],
    ) -> Understanding {
        let standalone = match history.is_empty() {
            true => by_rules.standalone_question.clone(),
            false => check::completed(&by_rules, &reply).to_owned(),
        };
        let rewritten = Understanding {
            standalone_question: standalone,
            ..by_rules.clone()
        };
        let read = self
            .reading(move |domain| rules::read(rewritten, domain))
            .await;
        check::joined(read.unwrap_or(by_rules), reply)
    }
}

/// The last rounds as the model reads them, and before them the first one, which mostly names what
/// the conversation is about.
pub fn said(history: &[Round], rounds: usize, question: &str) -> String {
    let from = history.len().saturating_sub(rounds);
    let first = history.first().filter(|_| from > 0);
    let last = history.get(from..).unwrap_or(history);
    let (user, assistant) = match language::is_chinese(question) {
        true => ("用户：", "助手："),
        false => ("User: ", "Assistant: "),
    };
    let mut lines: Vec<String> = Vec::new();
    for round in first.into_iter().chain(last) {
        let asked: String = round
            .question
            .trim()
            .chars()
            .take(SHOWN_OF_ANSWER)
            .collect();
        lines.push(format!("{user}{asked}"));
        let answer: String = round.answer.trim().chars().take(SHOWN_OF_ANSWER).collect();
        if !answer.is_empty() {
            lines.push(format!("{assistant}{answer}"));
        }
    }
    lines.join("\n")
}

/// What comes in time; why there is nothing else goes to the log.
async fn in_time<T>(
    deadline: Instant,
    asking: impl Future<Output = Result<T, ChatError>>,
) -> Result<T, ()> {
    let until = tokio::time::Instant::from_std(deadline);
    match tokio::time::timeout_at(until, asking).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => {
            tracing::warn!(reason = error.reason.as_str(), %error, "the model did not understand the question, the rules stand");
            Err(())
        }
        Err(_) => {
            tracing::warn!("the model was late to understand the question, the rules stand");
            Err(())
        }
    }
}
