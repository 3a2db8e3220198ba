//! What a model suggests to search for, and how it joins what the question is understood as.

use tributary_schemas::ask::Round;
use tributary_schemas::review::Suggestion;
use tributary_schemas::understanding::Understanding;
use tributary_taxonomy::fold;

use crate::prompts::{RETRIEVAL_SUGGESTION, SuggestionReply, ToSuggest};
use crate::understand::said;
use crate::workflows::calling::Calls;

/// Characters of a query at most: a longer one is no query.
const MAXIMUM_QUERY_CHARACTERS: usize = 200;
/// Rounds that the model is shown, the last ones.
const ROUNDS: usize = 3;

/// `None` where no model suggests anything in time.
pub async fn suggest(calls: Calls<'_>, history: &[Round]) -> Option<Suggestion> {
    let said = said(history, ROUNDS, calls.question);
    let values = ToSuggest {
        history: &said,
        question: calls.question,
    };
    let check = |reply: &SuggestionReply| match queries(&reply.suggested_queries, &[]).is_empty() {
        true => Err("suggested_queries has no query of at most 200 characters".to_owned()),
        false => Ok(()),
    };
    let reply = calls.ask(RETRIEVAL_SUGGESTION, values, check).await?;
    Some(Suggestion {
        intent: reply.intent,
        confidence: reply.confidence.clamp(0.0, 1.0),
        search_keywords: reply.search_keywords,
        suggested_queries: queries(&reply.suggested_queries, &[]),
        reasoning: reply.reasoning,
    })
}

/// Queries that can be searched for, each once and none of `known`.
pub fn queries(wanted: &[String], known: &[&str]) -> Vec<String> {
    let mut queries: Vec<String> = Vec::new();
    for query in wanted {
        let query = query.trim();
        let is_known = |other: &str| fold(other) == fold(query);
        let says_something = query.chars().any(char::is_alphanumeric);
        let is_new = !known.iter().any(|other| is_known(other))
            && !queries.iter().any(|other| is_known(other));
        if says_something && is_new && query.chars().count() <= MAXIMUM_QUERY_CHARACTERS {
            queries.push(query.to_owned());
        }
    }
    queries
}

/// An understanding that is searched for with at most so many queries: what the question consists
/// of stays, then comes what was suggested, then its other wordings.
pub fn joined(
    understanding: Understanding,
    suggestion: Option<&Suggestion>,
    limit: usize,
) -> Understanding {
    let suggested = suggestion.map_or(&[][..], |suggestion| &suggestion.suggested_queries);
    let wanted: Vec<String> = suggested
        .iter()
        .chain(&understanding.variants)
        .cloned()
        .collect();
    let mut known: Vec<&str> = vec![&understanding.standalone_question];
    let mut sub_queries = understanding.sub_queries.clone();
    sub_queries.truncate(limit.saturating_sub(1));
    known.extend(sub_queries.iter().map(String::as_str));
    let mut variants = queries(&wanted, &known);
    variants.truncate(limit.saturating_sub(known.len()));
    Understanding {
        variants,
        sub_queries,
        ..understanding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn queries_say_something_and_come_once() {
        let long = "长".repeat(201);
        let wanted = texts(&[
            "时间片",
            " ",
            "？",
            &long,
            " 时间片 ",
            "Scheduler",
            "scheduler",
        ]);
        assert_eq!(queries(&wanted, &["question"]), ["时间片", "Scheduler"]);
        assert_eq!(queries(&wanted, &["SCHEDULER"]), ["时间片"]);
    }

    #[test]
    fn there_are_never_more_queries_than_the_limit() {
        let understanding = Understanding {
            variants: texts(&["v1", "v2", "v3"]),
            sub_queries: texts(&["s1", "s2"]),
            ..Understanding::of("q")
        };
        let suggestion = Suggestion {
            intent: understanding.intent,
            confidence: 1.0,
            search_keywords: Vec::new(),
            suggested_queries: texts(&["a", "q", "s2"]),
            reasoning: String::new(),
        };
        let searched = |limit| {
            let joined = joined(understanding.clone(), Some(&suggestion), limit);
            joined
                .searches()
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(searched(1), ["q"]);
        assert_eq!(searched(2), ["q", "s1"]);
        assert_eq!(searched(5), ["q", "a", "v1", "s1", "s2"]);
        let alone = joined(understanding.clone(), None, 9);
        assert_eq!(alone, understanding);
    }
}
