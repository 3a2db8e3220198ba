//! Whether what a model made of a question may stand for it.

use tributary_schemas::understanding::{Understanding, UnderstoodBy};
use tributary_taxonomy::fold;

use super::kept;
use super::rules::{MAXIMUM_VARIANTS, language};
use crate::exact_name;
use crate::prompts::UnderstandingReply;

/// A question with what was left out is at most so much longer: this many characters, and this
/// many times the question.
const LONGER_BY: usize = 160;
const TIMES_LONGER: usize = 3;
/// Items of a list that are kept.
const MAXIMUM_ITEMS: usize = 16;

/// What is wrong with the standalone question of a reply, for the model to read.
pub fn check(reply: &UnderstandingReply, question: &str) -> Result<(), String> {
    let standalone = reply.standalone_question.trim();
    let length = |text: &str| text.chars().count();
    if standalone.is_empty() {
        return Err("standalone_question is empty".to_owned());
    }
    if length(standalone) > LONGER_BY + TIMES_LONGER * length(question) {
        return Err("standalone_question is far longer than the question".to_owned());
    }
    if language::is_chinese(standalone) != language::is_chinese(question) {
        return Err("standalone_question is not in the language of the question".to_owned());
    }
    if let Some(lost) = lost(standalone, question) {
        return Err(format!(
            "standalone_question lacks `{lost}` of the question"
        ));
    }
    match kept::asks_the_same(standalone, question) {
        true => Ok(()),
        false => Err("standalone_question is another question: keep the words of the question and add what they leave out".to_owned()),
    }
}

/// The standalone question of a reply. A small model often leaves a question as it is: then the
/// rules may know what was left out.
pub fn completed<'a>(rules: &'a Understanding, reply: &'a UnderstandingReply) -> &'a str {
    let standalone = reply.standalone_question.trim();
    match kept::is_as_written(standalone, &rules.question) {
        true => &rules.standalone_question,
        false => standalone,
    }
}

/// An identifier, code or number of the question that a text lacks.
fn lost<'a>(text: &str, question: &'a str) -> Option<&'a str> {
    let folded = fold(text);
    let is_kept = |word: &&str| {
        let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
        has_digit || exact_name::is_identifier(word)
    };
    exact_name::words(question)
        .filter(is_kept)
        .find(|word| !folded.contains(&*fold(word)))
}

/// The rules' understanding with what the model said of the same standalone question. `rules` was
/// read from the model's standalone question.
pub fn joined(rules: Understanding, reply: UnderstandingReply) -> Understanding {
    let standalone = rules.standalone_question.clone();
    let is_variant = |variant: &String| {
        let is_short =
            variant.chars().count() <= LONGER_BY + TIMES_LONGER * standalone.chars().count();
        fold(variant) != fold(&standalone) && is_short && lost(variant, &standalone).is_none()
    };
    let mut variants = united(rules.variants, reply.variants);
    variants.retain(is_variant);
    variants.truncate(MAXIMUM_VARIANTS);
    let stands_in_it = |entity: &String| fold(&standalone).contains(&*fold(entity));
    let mut entities = united(rules.entities, reply.entities);
    entities.retain(stands_in_it);
    let sub_queries = united(rules.sub_queries, reply.sub_queries);
    Understanding {
        variants,
        entities,
        intent: reply.intent,
        search_keywords: united(reply.search_keywords, rules.search_keywords),
        sub_queries: sub_queries.into_iter().take(MAXIMUM_VARIANTS).collect(),
        made_by: UnderstoodBy::Model,
        ..rules
    }
}

/// The texts of both lists, each once, without empty ones.
fn united(first: Vec<String>, second: Vec<String>) -> Vec<String> {
    let mut united: Vec<String> = Vec::new();
    for text in first.into_iter().chain(second) {
        let text = text.trim().to_owned();
        let is_known = united.iter().any(|known| fold(known) == fold(&text));
        if !text.is_empty() && !is_known {
            united.push(text);
        }
    }
    united.truncate(MAXIMUM_ITEMS);
    united
}

#[cfg(test)]
mod tests {
    use tributary_schemas::understanding::Intent;

    use super::*;

    fn reply(standalone: &str) -> UnderstandingReply {
        UnderstandingReply {
            standalone_question: standalone.to_owned(),
            variants: vec![" CA 最多几个载波".into(), standalone.into(), String::new()],
            intent: Intent::Fact,
            entities: vec!["载波聚合".into(), "被编造的".into()],
            search_keywords: vec!["载波聚合".into()],
            sub_queries: Vec::new(),
        }
    }

    #[test]
    fn a_reply_that_is_no_question_like_it_is_refused() {
        let long = "很".repeat(300);
        let table = [
            ("它最多几个载波", "载波聚合最多几个载波", ""),
            ("它最多几个载波", " ", "empty"),
            ("它最多几个载波", &long, "longer"),
            (
                "它最多几个载波",
                "How many carriers does CA support?",
                "language",
            ),
            ("0x80070005 怎么解决", "这个错误怎么解决", "0x80070005"),
            ("nn.Conv2d 的参数", "Conv2d 的参数", "nn.Conv2d"),
            ("nn.Conv2d 的参数", "NN.CONV2D 的参数有哪些", ""),
        ];
        for (question, standalone, expected) in table {
            let error = check(&reply(standalone), question)
                .err()
                .unwrap_or_default();
            let fits = error.contains(expected) && error.is_empty() == expected.is_empty();
            assert!(fits, "{question} -> {standalone}: {error}");
        }
    }

    #[test]
    fn what_the_model_makes_up_is_left_out() {
        let rules = Understanding {
            variants: vec!["CA最多几个载波".into()],
            ..Understanding::of("载波聚合最多几个载波")
        };
        let joined = joined(rules, reply("载波聚合最多几个载波"));
        assert_eq!(joined.variants, ["CA最多几个载波", "CA 最多几个载波"]);
        assert_eq!(joined.entities, ["载波聚合"]);
        assert_eq!(joined.made_by, UnderstoodBy::Model);
    }
}
