//! Retrieval on demand (按需): the model that answers has `search` as a tool and decides what it
//! searches for, within a limit. What it finds becomes the passages of an ordinary answer, which is
//! refused and checked like any other. A question for which nothing was searched is searched for
//! the automatic way, so that nothing is answered from nothing; only a greeting needs no search.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::json;
use tributary_models::chat::{
    ChatModel, ChatRequest, Completion, Message, Role, RoleModel, Tool, ToolCall,
};
use tributary_models::prompts::fence::fenced;
use tributary_schemas::review::{Review, ReviewedRound};
use tributary_schemas::search::{Hit, SearchRequest};
use tributary_schemas::understanding::Intent;
use tributary_taxonomy::language::is_chinese;

use super::finding::{self, Found};
use super::{Asked, Asker};
use crate::answer::generate::{history, shown};
use crate::error::SearchError;
use crate::events::Events;
use crate::prompts::{ON_DEMAND, ToSearch};
use crate::retriever::degrade;
use crate::understand::Understood;

/// What is named in `degraded` where the model could not decide.
const DEGRADED: &str = "on_demand";
/// What the model says when it has enough.
const DONE: &str = "DONE";
/// Name of the tool.
const SEARCH: &str = "search";

/// The section `[query_api.answer.on_demand]`.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OnDemandConfig {
    /// Searches of one question at most.
    pub searches: usize,
    /// Characters of each passage that the model is shown while it searches.
    pub shown_characters: usize,
    /// Longest time for all searching, in milliseconds.
    pub deadline_ms: u64,
    /// Tokens of each reply at most.
    pub reply_tokens: usize,
}

impl OnDemandConfig {
    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        let rules = [
            (self.searches > 0, "searches"),
            (self.shown_characters > 0, "shown_characters"),
            (self.deadline_ms > 0, "deadline_ms"),
            (self.reply_tokens > 0, "reply_tokens"),
        ];
        let broken = rules.into_iter().filter(|(holds, _)| !holds);
        broken.map(|(_, key)| format!("on_demand.{key} must be at least 1"))
    }
}

/// What came of leaving it to the model.
pub enum Demanded {
    /// Passages, or none where nothing was found.
    Found(Box<Found>),
    /// A reply to what needs no passages.
    Said(Box<Found>, Box<Completion>),
}

/// Lets the model search.
pub async fn search(
    asker: &Asker,
    asked: &Asked,
    understood: Understood,
    events: &Events,
) -> Result<Demanded, SearchError> {
    let mut searching = Searching {
        asker,
        asked,
        events,
        left: asker.config().on_demand.searches,
        found: nothing_yet(asker, understood.clone()),
    };
    let last = match asker.parts.chat.role(Role::Answer) {
        Some(model) => searching.run(&model).await?,
        None => None,
    };
    let mut found = searching.found;
    let has_searched = found
        .review
        .as_ref()
        .is_some_and(|one| !one.rounds.is_empty());
    let is_smalltalk = found.understanding.intent == Intent::Smalltalk;
    match last {
        Some(reply) if !has_searched && is_smalltalk && says_something(&reply) => {
            Ok(Demanded::Said(Box::new(found), Box::new(reply)))
        }
        Some(_) if has_searched => Ok(Demanded::Found(Box::new(found))),
        None if has_searched => {
            degrade(&mut found.degraded, DEGRADED);
            Ok(Demanded::Found(Box::new(found)))
        }
        _ => {
            let mut found = finding::search(asker, asked, understood).await?;
            degrade(&mut found.degraded, DEGRADED);
            Ok(Demanded::Found(Box::new(found)))
        }
    }
}

/// Whether a reply is for the user.
fn says_something(reply: &Completion) -> bool {
    let text = reply.text.trim();
    reply.ending.calls.is_empty() && !text.is_empty() && text != DONE
}

fn nothing_yet(asker: &Asker, understood: Understood) -> Found {
    let degraded = understood.degraded.into_iter().collect();
    Found {
        review: Some(Review::default()),
        ..Found::new(asker, understood.understanding, Vec::new(), degraded)
    }
}

struct Searching<'a> {
    asker: &'a Asker,
    asked: &'a Asked,
    events: &'a Events,
    /// Searches that are left.
    left: usize,
    found: Found,
}

/// The arguments of the tool.
#[derive(Deserialize)]
struct Arguments {
    query: String,
}

impl Searching<'_> {
    /// Until the model is done or may not search any more: its last reply, `None` if a call failed.
    async fn run(&mut self, model: &RoleModel) -> Result<Option<Completion>, SearchError> {
        let mut request = self.request()?;
        loop {
            let reply = match model.complete(&request).await {
                Ok(reply) => reply,
                Err(failed) => {
                    tracing::warn!(error = %failed, "the model could not search on demand");
                    return Ok(None);
                }
            };
            if reply.ending.calls.is_empty() {
                return Ok(Some(reply));
            }
            let calls = reply.ending.calls.clone();
            let mut results = Vec::new();
            for call in &calls {
                let text = self.called(call).await?;
                results.push(Message::result(call, text));
            }
            if self.left == 0 {
                return Ok(Some(reply));
            }
            request.messages.push(Message::calling(reply.text, calls));
            request.messages.extend(results);
        }
    }

    fn request(&self) -> Result<ChatRequest, SearchError> {
        let config = self.asker.config().on_demand;
        let question = self.asked.request.question.trim();
        let language = if is_chinese(question) { "zh" } else { "en" };
        let prompt = self.asker.parts.prompts.get(ON_DEMAND, Some(language))?;
        let values = ToSearch {
            question: &self.found.understanding.standalone_question,
            history: &history(&self.asked.earlier, &self.asked.history),
            searches: config.searches,
        };
        let mut request = prompt.request(values, config.reply_tokens)?;
        request.tools = vec![tool()];
        request.temperature = Some(0.0);
        request.deadline = Some(Instant::now() + Duration::from_millis(config.deadline_ms));
        Ok(request)
    }

    /// What a call gives, for the model to read. Every call counts, also one that is wrong.
    async fn called(&mut self, call: &ToolCall) -> Result<String, SearchError> {
        if self.left == 0 {
            return Ok("There is no search left.".to_owned());
        }
        self.left -= 1;
        if call.name != SEARCH {
            return Ok(format!("There is no such tool; there is `{SEARCH}`."));
        }
        let Ok(arguments) = serde_json::from_str::<Arguments>(&call.arguments) else {
            return Ok("The arguments must be {\"query\": \"…\"}.".to_owned());
        };
        let request = finding::search_request(self.asker, &self.asked.request, &arguments.query);
        let retriever = &self.asker.parts.retriever;
        if let Err(refused) = retriever.check(&request, &self.asked.principal) {
            return Ok(format!("This cannot be searched for: {refused}."));
        }
        self.searched(&request).await
    }

    async fn searched(&mut self, request: &SearchRequest) -> Result<String, SearchError> {
        self.events.step(SEARCH).await;
        let retriever = &self.asker.parts.retriever;
        let outcome = {
            let _permit = finding::permit(self.asker).await?;
            retriever.search(request, &self.asked.principal).await?
        };
        let response = outcome.response;
        let found = &mut self.found;
        found.plans.extend(response.plan);
        for what in &response.degraded {
            degrade(&mut found.degraded, what);
        }
        let before = found.sources.len();
        for hit in response.hits {
            let is_same = |known: &Hit| known.chunk_id == hit.chunk_id;
            let is_shown = |known: &Hit| is_same(known) && finding::is_near(self.asker, known);
            if !found.hits.iter().any(is_shown) {
                // It may be near this query where it was far from another.
                found.hits.retain(|known| !is_same(known));
                found.hits.push(hit);
            }
        }
        found.sources = finding::sources(self.asker, &finding::near(self.asker, &found.hits));
        let new = found.sources.len().saturating_sub(before);
        if let Some(review) = &mut found.review {
            review.rounds.push(ReviewedRound {
                queries: vec![request.query.clone()],
                found: new,
                relevant: new,
                ..ReviewedRound::default()
            });
        }
        Ok(self.shown_from(before))
    }

    /// The passages from this one on, as data.
    fn shown_from(&self, first: usize) -> String {
        let most = self.asker.config().on_demand.shown_characters;
        let new = self.found.sources.iter().skip(first).map(|source| {
            let text: String = shown(source).chars().take(most).collect();
            format!("Passage {}:\n{}", source.number, fenced(&text))
        });
        let new: Vec<String> = new.collect();
        match new.is_empty() {
            true => "Nothing else was found.".to_owned(),
            false => new.join("\n"),
        }
    }
}

fn tool() -> Tool {
    let query = json!({"type": "string", "description":
        "what to look for, understandable by itself, in the language of the question"});
    Tool {
        name: SEARCH.to_owned(),
        description: "Searches the documents and returns passages.".to_owned(),
        parameters: json!({"type": "object", "properties": {"query": query},
            "required": ["query"], "additionalProperties": false}),
    }
}
