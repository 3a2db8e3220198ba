//! Language models that chat. Unlike the rest of this crate, which blocks, all of it is async: a
//! call waits for another machine and holds no thread. Code asks [`ChatModels`] for a role and gets
//! a model, or `None`, upon which it takes its lesser way and says so.
//!
//! A call of a role goes through its budget, the token count, a turn at the endpoint, the circuit
//! and retries ([`role_model`]) to one attempt at the endpoint ([`openai`] or [`scripted`]).

pub(crate) mod backoff;
pub mod budget;
mod calls;
pub mod capabilities;
pub mod circuit;
pub mod config;
pub mod context;
pub mod error;
mod in_order;
pub mod meter;
pub mod models;
pub mod observer;
pub mod openai;
pub mod probe;
pub(crate) mod refusal;
mod reply;
pub mod request;
pub mod role;
pub mod role_model;
pub mod scripted;
pub mod sse;
pub mod structured;
pub mod thinking;
mod unwilling;
pub mod wire;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;

pub use config::ChatConfig;
pub use error::{ChatError, ChatResult, Reason};
pub use meter::Meter;
pub use models::ChatModels;
pub use observer::{CallReport, ChatObserver, SharedObserver, Unobserved};
pub use request::{
    ChatRequest, Completion, Delta, Ending, Finish, Format, Message, ModelDescription, ReplySchema,
    Speaker, TokenLogprob, Tool, ToolCall, Usage,
};
pub use role::Role;
pub use role_model::RoleModel;
pub use unwilling::speaks_of_itself;

/// The pieces of a reply: any number of texts, then one ending or one error. Dropping it cancels
/// the call: the connection to the model is closed.
pub type DeltaStream = BoxStream<'static, ChatResult<Delta>>;

/// One chat model behind one endpoint. Every call ends within the deadline of the request and that
/// of the endpoint, in a reply or in an error with a reason.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// The reply in pieces, as they come. Reasoning is not among them.
    async fn stream(&self, request: &ChatRequest) -> ChatResult<DeltaStream>;

    /// What answers.
    fn describe(&self) -> ModelDescription;

    /// The whole reply. It may be cut, which its ending says.
    async fn complete(&self, request: &ChatRequest) -> ChatResult<Completion> {
        collect(self.stream(request).await?).await
    }
}

/// Joins the pieces of a reply.
pub async fn collect(mut pieces: DeltaStream) -> ChatResult<Completion> {
    let mut text = String::new();
    while let Some(delta) = pieces.next().await {
        match delta? {
            Delta::Text(piece) => text.push_str(&piece),
            Delta::End(ending) => return Ok(Completion { text, ending }),
        }
    }
    Err(ChatError::new(
        Reason::BrokenOff,
        "the reply ended without an ending",
    ))
}
