//! Tries an endpoint: whether it answers, who does, whether its JSON can be read, and how fast it
//! writes. For `tributary doctor`.

use std::time::Instant;

use futures::StreamExt;
use schemars::JsonSchema;
use serde::Deserialize;

use super::error::ChatResult;
use super::request::{ChatRequest, Delta, Format, Message, Speaker};
use super::structured::ask;
use super::{ChatModel, RoleModel};

/// Most tokens of each reply; a model that reasons needs some for that.
const MAXIMUM_TOKENS: usize = 512;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// The model in the server's words.
    pub model: String,
    /// Pieces of text in a second after the first one, which are tokens at nearly all servers;
    /// `None` if the reply came at once.
    pub tokens_per_second: Option<f64>,
}

#[derive(Deserialize, JsonSchema)]
struct Capital {
    /// Name of the city.
    #[serde(rename = "city")]
    #[schemars(length(max = 40))]
    _city: String,
}

/// Asks for one JSON object and for one text.
pub async fn probe(model: &RoleModel) -> ChatResult<Probe> {
    let wish = "What is the capital of France? Reply in JSON, such as {\"city\": \"Rome\"}.";
    let reply = ask::<Capital>(model, &request(wish)).await?;
    let tokens_per_second = speed(model).await?;
    Ok(Probe {
        model: reply.ending.model,
        tokens_per_second,
    })
}

async fn speed(model: &RoleModel) -> ChatResult<Option<f64>> {
    let mut pieces = model
        .stream(&request("Count from 1 to 30 in words."))
        .await?;
    let mut first = None;
    let mut count = 0;
    while let Some(delta) = pieces.next().await {
        if let Delta::Text(_) = delta? {
            count += 1;
            first.get_or_insert_with(Instant::now);
        }
    }
    let seconds = first.map_or(0.0, |first| first.elapsed().as_secs_f64());
    Ok((count > 1 && seconds > 0.0).then(|| f64::from(count - 1) / seconds))
}

fn request(wish: &str) -> ChatRequest {
    ChatRequest {
        prompt: "probe".to_owned(),
        messages: vec![Message::new(Speaker::User, wish)],
        tools: Vec::new(),
        maximum_tokens: MAXIMUM_TOKENS,
        temperature: Some(0.0),
        format: Format::Text,
        top_logprobs: 0,
        deadline: None,
    }
}
