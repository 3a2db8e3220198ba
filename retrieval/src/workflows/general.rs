//! The workflow `general`: understand, retrieve, refuse or answer with citations, hold the answer
//! against its sources.

use serde::{Deserialize, Serialize};
use tributary_schemas::ask::{Answer, Retrieval};

use super::finding::{Bar, Found};
use super::on_demand::{self, Demanded};
use super::sides::{self, Joining, Side, Sides};
use super::{Asked, Asker, Steps, finding, saying, table};
use crate::error::SearchError;
use crate::events::Events;
use crate::prompts::ANSWER;
use crate::understand::Understood;

/// The section `[query_api.answer.general]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GeneralConfig {
    /// Parts of the documents that are searched apart, each in its own way, and put together by
    /// score; one search like any other where there is none.
    pub sides: Vec<Side>,
    /// Passages of all sides together at most.
    pub passages: usize,
}

impl GeneralConfig {
    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let broken = (self.passages == 0).then(|| "general.passages must be at least 1".to_owned());
        broken
            .into_iter()
            .chain(sides::problems(&self.sides, "general"))
            .collect()
    }
}

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
    finding::show(&found, took_ms, events).await;
    saying::answer(asker, asked, found, ANSWER, events, steps).await
}

/// What the search finds, and beside it, where the question asks for that, what tables say.
async fn found(asker: &Asker, asked: &Asked, understood: Understood) -> Result<Found, SearchError> {
    if asked.request.nl2sql != Some(true) {
        return automatic(asker, asked, understood).await;
    }
    let question = understood.understanding.standalone_question.clone();
    let searching = automatic(asker, asked, understood);
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

/// One search, or one of each side where the profile has some: sorted by score over all.
async fn automatic(
    asker: &Asker,
    asked: &Asked,
    understood: Understood,
) -> Result<Found, SearchError> {
    let config = asker.config();
    if config.general.sides.is_empty() {
        return finding::search(asker, asked, understood).await;
    }
    let sides = Sides {
        sides: &config.general.sides,
        joining: Joining::Sorted,
        passages: config.general.passages,
        bar: Bar::of_questions(asker),
    };
    sides::search(asker, asked, understood, &sides).await
}
