//! The tool `ask`: an answer with citations, by way of [`crate::asking::Asking`].

use std::fmt::Write;

use futures::StreamExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_schemas::ask::{Answer, AskEvent, AskRequest, Retrieval, Round, Verdict, Workflow};
use tributary_schemas::unmet::UnmetFilter;
use tributary_schemas::{Filter, strict};

use super::engine::{Engine, Reporter};
use super::{Reply, tools};
use crate::asking::AskEvents;
use crate::http::search::resolve_names;
use crate::problem::{Code, Problem};
use crate::sources::{ShownSource, footer};

/// Arguments of `ask`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskArguments {
    /// The question, in the user's words and language.
    question: String,
    /// Which workflow answers: `general`; `textbook` for an explanation whose passages were judged
    /// one by one; `error_map` for an error log; `code` for what source code does; `course` for the
    /// textbook, then the code; `table` for rows of tables; `report` for several sections. The
    /// server's default when absent.
    #[serde(default)]
    workflow: Option<Workflow>,
    /// Who decides what is searched for: `automatic` (default), or `on_demand` for the model that
    /// answers, with the workflow `general` alone.
    #[serde(default)]
    retrieval: Retrieval,
    /// The user whose stored profile of preferences holds.
    #[serde(default, deserialize_with = "strict::given")]
    user: Option<String>,
    /// The only knowledge sets that are searched, by id as `list_knowledge_sets` names them; all
    /// when absent.
    #[serde(default, deserialize_with = "strict::given")]
    knowledge_sets: Option<Vec<String>>,
    /// Conditions on what is searched, joined by AND; values of one condition by OR.
    #[serde(default, deserialize_with = "strict::object")]
    filter: Filter,
    /// What was asked and answered before, oldest first, where the question leans on it.
    #[serde(default)]
    history: Vec<Round>,
}

/// Answer of `ask`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answered {
    /// The answer as Markdown; `[1]` cites the source of that number.
    pub answer: String,
    /// `answered`, `partly` where some statement is not supported by what it cites, `refused`
    /// where the documents hold no answer, `extractive` where no model was there to answer.
    pub verdict: Verdict,
    /// What the answer was made from, by number.
    pub sources: Vec<ShownSource>,
    /// Where it is refused: what is closest to the question.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<ShownSource>,
    /// Words of the question that stand in no passage that was searched: what is asked for may not
    /// be there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmatched_terms: Vec<String>,
    /// Where nothing was found because no document meets the filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmet_filter: Option<String>,
    /// What was done in a lesser way than configured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<String>,
}

/// Calls `ask`.
pub async fn ask(
    engine: &Engine,
    arguments: AskArguments,
    mut reporter: Reporter<'_>,
) -> Result<Reply, Problem> {
    let mut request = AskRequest {
        question: arguments.question,
        workflow: arguments.workflow,
        retrieval: arguments.retrieval,
        user: arguments.user,
        filter: tools::with_sets(arguments.filter, arguments.knowledge_sets)?,
        history: arguments.history,
        ..AskRequest::default()
    };
    resolve_names(&engine.state, &mut request.filter, &engine.principal).await?;
    let asked = engine
        .state
        .asking
        .ask(request, engine.principal.clone(), None)
        .await?;
    let answer = engine.patiently(whole(asked, &mut reporter)).await?;
    let answered = Answered {
        sources: answer.sources.iter().map(ShownSource::from).collect(),
        related: answer.related.iter().map(ShownSource::from).collect(),
        verdict: answer.verdict,
        unmatched_terms: answer.unmatched_terms.clone(),
        unmet_filter: answer.unmet_filter.as_ref().map(UnmetFilter::describe),
        degraded: answer.degraded.clone(),
        answer: answer.answer.clone(),
    };
    Reply::new(&answered, describe(&answer))
}

/// The whole answer; the caller is told of each step.
async fn whole(mut events: AskEvents, reporter: &mut Reporter<'_>) -> Result<Answer, Problem> {
    while let Some((_, event)) = events.next().await {
        match event {
            AskEvent::Done(answer) => return Ok(*answer),
            AskEvent::Error(failure) => return Err(failure.into()),
            AskEvent::Thinking { step } => reporter.step(&step).await,
            _ => {}
        }
    }
    let what = "an answer ended without its last event";
    Err(Problem::new(Code::Internal, what))
}

fn describe(answer: &Answer) -> String {
    let mut text = format!("{}{}\n", answer.answer, footer(answer));
    if answer.verdict == Verdict::Partly {
        text.push_str("\nSome statements are not supported by what they cite.\n");
    }
    if let Some(unmet) = &answer.unmet_filter {
        writeln!(text, "\nNothing was searched: {}.", unmet.describe()).ok();
    }
    if !answer.unmatched_terms.is_empty() {
        let terms = answer.unmatched_terms.join(", ");
        writeln!(text, "\nThese words stand in no passage: {terms}").ok();
    }
    if !answer.degraded.is_empty() {
        let what = answer.degraded.join(", ");
        writeln!(text, "\nDone in a lesser way than configured: {what}").ok();
    }
    text
}
