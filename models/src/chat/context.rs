//! Prompts made of parts (passages, sections) that may be too many for the model's context: as many
//! of the first ones are sent as fit.

use super::error::{ChatError, ChatResult, Reason};
use super::request::{ChatRequest, Completion};
use super::role_model::RoleModel;
use super::{ChatModel, DeltaStream, collect};

/// A reply to a prompt of some of the parts.
pub struct Fitted<T> {
    /// The reply.
    pub reply: T,
    /// How many of the first parts the model saw.
    pub parts: usize,
}

impl RoleModel {
    /// Streams the reply to a prompt that `render` makes of the first parts, best first. A server
    /// that counts more tokens than we do is asked again with half of them. `TooLong` if one part
    /// is already too much.
    pub async fn stream_of_parts<P: Sync>(
        &self,
        parts: &[P],
        render: impl Fn(&[P]) -> ChatRequest + Sync,
    ) -> ChatResult<Fitted<DeltaStream>> {
        let mut count = self.fitting(parts, &render).await?;
        loop {
            let shown = parts.get(..count).unwrap_or(parts);
            match self.stream(&render(shown)).await {
                Ok(reply) => {
                    return Ok(Fitted {
                        reply,
                        parts: count,
                    });
                }
                Err(failed) if failed.reason == Reason::TooLong && count > 1 => count /= 2,
                Err(failed) => return Err(failed),
            }
        }
    }

    /// The same with the whole reply.
    pub async fn complete_of_parts<P: Sync>(
        &self,
        parts: &[P],
        render: impl Fn(&[P]) -> ChatRequest + Sync,
    ) -> ChatResult<Fitted<Completion>> {
        let Fitted { reply, parts } = self.stream_of_parts(parts, render).await?;
        let reply = collect(reply).await?;
        Ok(Fitted { reply, parts })
    }

    /// The largest number of parts whose prompt fits by our own count; one if none does. `Refused`
    /// for no parts.
    pub async fn fitting<P: Sync>(
        &self,
        parts: &[P],
        render: &(impl Fn(&[P]) -> ChatRequest + Sync),
    ) -> ChatResult<usize> {
        if parts.is_empty() {
            return Err(ChatError::new(Reason::Refused, "a prompt without parts"));
        }
        let (mut fits, mut too_many) = (1, parts.len() + 1);
        let mut tried = parts.len();
        while too_many - fits > 1 {
            let request = render(parts.get(..tried).unwrap_or(parts));
            let room = self.prompt_room(request.maximum_tokens);
            match self.count(&request).await? <= room {
                true => fits = tried,
                false => too_many = tried,
            }
            tried = fits.midpoint(too_many);
        }
        Ok(fits)
    }
}
