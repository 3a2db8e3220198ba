//! The workflow `general`: understand, retrieve, refuse or answer with citations, hold the answer
//! against its sources.

use tributary_schemas::ask::{Answer, Retrieval};

use super::on_demand::{self, Demanded};
use super::{Asked, Asker, Steps, finding, saying};
use crate::error::SearchError;
use crate::events::Events;
use crate::prompts::ANSWER;

/// Answers a question.
pub async fn answer(asker: &Asker, asked: &Asked, events: &Events) -> Result<Answer, SearchError> {
    let mut steps = Steps::begin();
    let understood = finding::understand(asker, asked, events, &mut steps).await;
    events.step("retrieval").await;
    let found = match asked.request.retrieval {
        Retrieval::Automatic => finding::search(asker, asked, understood).await?,
        Retrieval::OnDemand => match on_demand::search(asker, asked, understood, events).await? {
            Demanded::Found(found) => *found,
            Demanded::Said(found, reply) => {
                return Ok(saying::unsourced(asker, asked, *found, *reply, events, steps).await);
            }
        },
    };
    let took_ms = steps.end("retrieval");
    finding::show(asker, &found, took_ms, events).await;
    saying::answer(asker, asked, found, ANSWER, events, steps).await
}
