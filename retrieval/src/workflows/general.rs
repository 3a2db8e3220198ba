//! The workflow `general`: understand, retrieve, refuse or answer with citations, hold the answer
//! against its sources.

use tributary_schemas::ask::{Answer, Retrieval};

use super::finding::Found;
use super::on_demand::{self, Demanded};
use super::{Asked, Asker, Steps, finding, saying, table};
use crate::error::SearchError;
use crate::events::Events;
use crate::prompts::ANSWER;
use crate::understand::Understood;

/// Answers a question.
pub async fn answer(asker: &Asker, asked: &Asked, events: &Events) -> Result<Answer, SearchError> {
    let mut steps = Steps::begin();
    let understood = finding::understand(asker, asked, events, &mut steps).await;
    events.step("retrieval").await;
    let found = match asked.request.retrieval {
        Retrieval::Automatic => found(asker, asked, understood).await?,
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

/// What the search finds, and beside it, where the question asks for that, what tables say.
async fn found(asker: &Asker, asked: &Asked, understood: Understood) -> Result<Found, SearchError> {
    if asked.request.nl2sql != Some(true) {
        return finding::search(asker, asked, understood).await;
    }
    let question = understood.understanding.standalone_question.clone();
    let searching = finding::search(asker, asked, understood);
    let asking = table::beside(asker, asked, &question);
    let (found, tables) = tokio::join!(searching, asking);
    let mut found = found?;
    match tables {
        Ok((answer, source)) => found.add_tables(answer, source),
        // The search goes without; `degraded` names it.
        Err(error) => tracing::warn!(%error, "tables could not be asked"),
    }
    Ok(found)
}
