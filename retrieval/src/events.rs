//! Where the events of a streamed answer go.

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tributary_schemas::ask::AskEvent;

/// Events that wait for a reader: a slow one slows the answer down.
const WAITING: usize = 64;

/// Takes the events of one answer.
#[derive(Clone, Debug)]
pub struct Events(Sender<AskEvent>);

impl Events {
    /// With the end at which they come out.
    pub fn channel() -> (Self, Receiver<AskEvent>) {
        let (sender, receiver) = channel(WAITING);
        (Self(sender), receiver)
    }

    /// Hands an event on. Nobody may be there to read it: the answer is kept all the same.
    pub async fn send(&self, event: AskEvent) {
        if self.0.send(event).await.is_err() {
            tracing::trace!("nobody reads the events of an answer");
        }
    }

    /// Says what is being done.
    pub async fn step(&self, step: &str) {
        let step = step.to_owned();
        self.send(AskEvent::Thinking { step }).await;
    }
}
