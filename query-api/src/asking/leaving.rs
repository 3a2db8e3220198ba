//! What leaves of an answer: an answer takes as long as its models do, and who may see what it is
//! made of can change in the meantime. So all documents that its events name are looked at again
//! before an event goes to its reader, whatever the protocol.

use std::time::{Duration, Instant};

use futures::stream::{BoxStream, unfold};
use futures::{Stream, StreamExt};
use tributary_retrieval::MadeOf;
use tributary_schemas::Result;
use tributary_schemas::ask::AskEvent;

use crate::http::withholding::{Withholding, add_what_names, withheld};
use crate::problem::Problem;

/// How long pieces of text go out after a look: an answer has hundreds.
const LOOKS_LAST: Duration = Duration::from_millis(100);

/// An answer on its way to a reader.
struct Leaving {
    events: BoxStream<'static, (usize, AskEvent)>,
    withholding: Withholding,
    made_of: MadeOf,
    looked: Option<Instant>,
    is_over: bool,
}

/// The events, with their numbers, as long as their reader may see all that they are made of; then
/// `error` in place of the next one, and nothing after it. `before` has events that the reader has.
pub fn leaving(
    events: impl Stream<Item = (usize, AskEvent)> + Send + 'static,
    before: &[AskEvent],
    withholding: Withholding,
) -> Result<BoxStream<'static, (usize, AskEvent)>> {
    if !withholding.is_needed() {
        return Ok(events.boxed());
    }
    let mut made_of = MadeOf::default();
    add_what_names(&before, &mut made_of)?;
    let leaving = Leaving {
        events: events.boxed(),
        withholding,
        made_of,
        looked: None,
        is_over: false,
    };
    let events = unfold(leaving, |mut leaving| async {
        let event = leaving.next().await?;
        Some((event, leaving))
    });
    Ok(events.boxed())
}

impl Leaving {
    async fn next(&mut self) -> Option<(usize, AskEvent)> {
        if self.is_over {
            return None;
        }
        let (number, event) = self.events.next().await?;
        let failure = match self.withholds(&event).await {
            Ok(false) => return Some((number, event)),
            Ok(true) => withheld(),
            Err(error) => Problem::from(error).failure(),
        };
        self.is_over = true;
        Some((number, AskEvent::Error(failure)))
    }

    async fn withholds(&mut self, event: &AskEvent) -> Result<bool> {
        if is_a_piece(event) {
            let looked = self.looked;
            if looked.is_some_and(|looked| looked.elapsed() < LOOKS_LAST) {
                return Ok(false);
            }
        } else {
            add_what_names(event, &mut self.made_of)?;
        }
        self.looked = Some(Instant::now());
        self.withholding.withholds_made_of(&self.made_of).await
    }
}

/// Many, and they name no document.
pub fn is_a_piece(event: &AskEvent) -> bool {
    matches!(
        event,
        AskEvent::AnswerChunk { .. } | AskEvent::CodeDescriptionChunk { .. }
    )
}
