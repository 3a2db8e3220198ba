//! A reranker for those who have no cross-encoder and a language model: the model of the role
//! `judge` is asked of each passage whether it helps to answer the question, and what counts is not
//! its word but how sure it is of it (Nogueira et al., "Document Ranking with a Pretrained
//! Sequence-to-Sequence Model", 2020): P(yes) / (P(yes) + P(no)) at the first place of the reply
//! that holds either. A server that knows no log-probabilities gives its word alone, 1 or 0.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use tokio::runtime::Handle;
use tributary_models::Reranker;
use tributary_models::chat::{
    ChatError, ChatModel, ChatRequest, ChatResult, Completion, Reason, RoleModel, TokenLogprob,
};
use tributary_models::prompts::{Prompt, Prompts};
use tributary_schemas::{Error, ErrorKind, Result};
use tributary_taxonomy::language::is_chinese;

use crate::prompts::{RERANK, ToJudgePassage};

/// Tokens of a reply: some models begin with a line break or a quotation mark.
const REPLY_TOKENS: usize = 3;
/// Alternatives of each token; no server allows less.
const TOP_LOGPROBS: usize = 5;
/// Characters of a passage that are shown, about the 512 tokens that cross-encoders read.
const PASSAGE_CHARACTERS: usize = 1500;
/// What models say instead of yes and no.
const YES: [&str; 4] = ["yes", "true", "是", "相关"];
const NO: [&str; 5] = ["no", "false", "否", "不", "无关"];

/// Asks a chat model.
pub struct ChatReranker {
    name: String,
    model: Arc<RoleModel>,
    prompts: Arc<Prompts>,
    runtime: Handle,
    patience: Duration,
    has_warned: AtomicBool,
}

impl ChatReranker {
    /// Over the model of the role `judge`, with calls on a runtime; none goes on for longer than
    /// `patience`.
    pub fn new(
        model: Arc<RoleModel>,
        prompts: Arc<Prompts>,
        runtime: Handle,
        patience: Duration,
    ) -> Self {
        Self {
            name: format!("chat:{}", model.describe().model),
            model,
            prompts,
            runtime,
            patience,
            has_warned: AtomicBool::new(false),
        }
    }

    /// Whether the endpoint has told no log-probabilities, so that words count.
    pub fn goes_by_words(&self) -> bool {
        self.has_warned.load(Ordering::Relaxed)
    }

    /// A score of each passage; 0 for one to which the model says neither yes nor no.
    async fn score_all(&self, query: &str, passages: &[&str]) -> ChatResult<Vec<f32>> {
        let language = is_chinese(query).then_some("zh");
        let prompt = self.prompts.get(RERANK, language).map_err(unrendered)?;
        let deadline = Instant::now() + self.patience;
        let requests: Vec<ChatRequest> = passages
            .iter()
            .map(|passage| request(&prompt, query, passage, deadline))
            .collect::<ChatResult<_>>()?;
        let endpoint = self.model.endpoint();
        // One that is back is tried with one call, and others would be refused meanwhile.
        let alone = usize::from(endpoint.is_away());
        let mut requests = requests.into_iter();
        let mut scores = Vec::new();
        for request in requests.by_ref().take(alone) {
            scores.push(self.ask(request).await?);
        }
        let replies = stream::iter(requests).map(|request| self.ask(request));
        let rest: Vec<Option<f32>> = replies.buffered(endpoint.parallel()).try_collect().await?;
        scores.extend(rest);
        if scores.iter().all(Option::is_none) && !scores.is_empty() {
            let message = format!("`{}` says neither yes nor no to any passage", self.name);
            return Err(ChatError::new(Reason::Malformed, message));
        }
        Ok(scores.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// `None` where the model says neither: what a passage may make it do counts against the passage
    /// alone.
    async fn ask(&self, request: ChatRequest) -> ChatResult<Option<f32>> {
        let reply = self.model.complete(&request).await?;
        if reply.ending.logprobs.is_empty() && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                endpoint = self.model.endpoint().name(),
                "the endpoint tells no log-probabilities: passages are relevant or not, and equals keep the order of tier 2"
            );
        }
        let relevance = relevance(&reply);
        if relevance.is_none() {
            let said: String = reply.text.chars().take(40).collect();
            tracing::debug!(
                model = self.name,
                said,
                "asked for yes or no, it says something else"
            );
        }
        Ok(relevance)
    }
}

impl Reranker for ChatReranker {
    fn name(&self) -> &str {
        &self.name
    }

    /// Blocks; not to be called on a thread of the runtime itself.
    fn score(&self, query: &str, passages: &[&str]) -> Result<Vec<f32>> {
        let scored = self.runtime.block_on(self.score_all(query, passages));
        scored.map_err(|failed| {
            let kind = match failed.reason {
                Reason::Deadline => ErrorKind::Timeout,
                _ => ErrorKind::Unavailable,
            };
            Error::new(kind, failed.to_string())
        })
    }
}

fn request(
    prompt: &Prompt,
    question: &str,
    passage: &str,
    deadline: Instant,
) -> ChatResult<ChatRequest> {
    let passage: String = passage.chars().take(PASSAGE_CHARACTERS).collect();
    let values = ToJudgePassage {
        question,
        passage: &passage,
    };
    let mut request = prompt.request(values, REPLY_TOKENS).map_err(unrendered)?;
    request.temperature = Some(0.0);
    request.top_logprobs = TOP_LOGPROBS;
    request.deadline = Some(deadline);
    Ok(request)
}

fn unrendered(error: Error) -> ChatError {
    ChatError::new(Reason::Refused, error.to_string())
}

/// 0 to 1; `None` for a reply that is neither yes nor no.
fn relevance(reply: &Completion) -> Option<f32> {
    let places = reply.ending.logprobs.iter();
    let mut sure = places.filter_map(|place| share_of_yes(place));
    sure.next().or_else(|| word(&reply.text))
}

fn share_of_yes(place: &[TokenLogprob]) -> Option<f32> {
    let mass = |words: &[&str]| -> f64 {
        let fitting = place.iter().filter(|one| is_one_of(&one.token, words));
        fitting.map(|one| one.logprob.exp()).sum()
    };
    let (yes, no) = (mass(&YES), mass(&NO));
    let share = yes / (yes + no);
    share.is_finite().then_some(share as f32)
}

/// A token, or the first word of a reply.
fn is_one_of(text: &str, words: &[&str]) -> bool {
    let is_around = |letter: char| !letter.is_alphanumeric();
    let text = text.trim_matches(is_around).to_lowercase();
    words.contains(&text.as_str())
}

fn word(text: &str) -> Option<f32> {
    let first = text.split_whitespace().next()?;
    if is_one_of(first, &YES) {
        return Some(1.0);
    }
    is_one_of(first, &NO).then_some(0.0)
}

#[cfg(test)]
mod tests {
    use tributary_models::chat::{Ending, Finish, Usage};

    use super::*;

    fn reply(text: &str, places: &[&[(&str, f64)]]) -> Completion {
        let logprob = |(token, probability): &(&str, f64)| TokenLogprob {
            token: (*token).to_owned(),
            logprob: probability.ln(),
        };
        let place = |place: &&[(&str, f64)]| place.iter().map(logprob).collect();
        Completion {
            text: text.to_owned(),
            ending: Ending {
                finish: Finish::Length,
                usage: Usage::default(),
                model: "m".to_owned(),
                calls: Vec::new(),
                logprobs: places.iter().map(place).collect(),
            },
        }
    }

    #[test]
    fn what_counts_is_how_sure_the_model_is() {
        type Case<'a> = (&'a str, &'a [&'a [(&'a str, f64)]], Option<f32>);
        let cases: [Case; 9] = [
            ("yes", &[&[("yes", 0.6), ("no", 0.2)]], Some(0.75)),
            (
                "no",
                &[&[(" No", 0.5), ("Yes", 0.25), ("\"yes", 0.25)]],
                Some(0.5),
            ),
            ("是", &[&[("是", 0.9), ("否", 0.1), ("的", 0.0)]], Some(0.9)),
            (
                "\nno",
                &[&[("\n", 1.0)], &[("no", 1.0), ("yes", 0.0)]],
                Some(0.0),
            ),
            ("yes", &[&[("maybe", 1.0)]], Some(1.0)),
            ("Yes.", &[], Some(1.0)),
            ("不，", &[], Some(0.0)),
            ("now it says", &[], None),
            ("perhaps", &[&[("perhaps", 1.0)]], None),
        ];
        for (text, places, expected) in cases {
            let found = relevance(&reply(text, places));
            let is_equal = match (found, expected) {
                (Some(found), Some(expected)) => (found - expected).abs() < 1e-6,
                (found, expected) => found == expected,
            };
            assert!(is_equal, "{text} {places:?}: {found:?}");
        }
    }
}
