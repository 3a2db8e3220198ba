//! Which passages say something to a question, and whether together they are enough.

use futures::StreamExt;
use futures::stream;
use tributary_schemas::ask::Source;

use super::suggesting::queries;
use crate::answer::generate::{numbered, shown};
use crate::prompts::{
    RELEVANCE, RelevanceReply, SUFFICIENCY, SufficiencyReply, ToJudgePassage, ToJudgePassages,
};
use crate::workflows::calling::Calls;

/// Characters of a passage that is judged whole; of a longer one its beginning is.
const JUDGED_CHARACTERS: usize = 3000;

/// Passages that were judged.
pub struct Judged {
    /// For each passage whether it stays: it was judged relevant, or nobody judged it.
    pub kept: Vec<bool>,
    /// Whether nobody judged one of them.
    pub is_degraded: bool,
}

/// Judges each passage by itself, so many at the same time.
pub async fn relevance(calls: Calls<'_>, sources: &[Source], at_once: usize) -> Judged {
    let mut judging = Vec::with_capacity(sources.len());
    for source in sources {
        judging.push(is_relevant(calls, source));
    }
    let judgements: Vec<Option<bool>> = stream::iter(judging).buffered(at_once).collect().await;
    Judged {
        kept: judgements
            .iter()
            .map(|judged| judged.unwrap_or(true))
            .collect(),
        is_degraded: judgements.iter().any(Option::is_none),
    }
}

async fn is_relevant(calls: Calls<'_>, source: &Source) -> Option<bool> {
    let passage: String = shown(source).chars().take(JUDGED_CHARACTERS).collect();
    let values = ToJudgePassage {
        question: calls.question,
        passage: &passage,
    };
    let reply: RelevanceReply = calls.ask(RELEVANCE, values, |_| Ok(())).await?;
    Some(reply.relevant)
}

/// Whether passages are enough.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sufficiency {
    pub is_sufficient: bool,
    /// What is missing, as queries that were not searched for.
    pub missing: Vec<String>,
}

/// `None` where nobody says.
pub async fn sufficiency(
    calls: Calls<'_>,
    sources: &[Source],
    searched: &[&str],
) -> Option<Sufficiency> {
    let values = |sources: &[Source]| ToJudgePassages {
        question: calls.question,
        passages: numbered(sources),
    };
    let reply: SufficiencyReply = calls.ask_of_parts(SUFFICIENCY, sources, values).await?;
    let missing = match reply.sufficient {
        true => Vec::new(),
        false => queries(&reply.missing, searched),
    };
    Some(Sufficiency {
        is_sufficient: reply.sufficient,
        missing,
    })
}
