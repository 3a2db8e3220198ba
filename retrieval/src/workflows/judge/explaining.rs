//! Explanations: the model's, of the right length, else one in the words of the passages. A reply of
//! the wrong length is asked for once more; one that is still too long ends at a sentence, and one
//! that is still too short has sentences of the passages behind it.

use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

use tributary_schemas::ask::Source;
use tributary_schemas::judging::Explanation;
use tributary_schemas::understanding::Intent;
use tributary_taxonomy::language::is_chinese;
use tributary_taxonomy::sentences::sentence_ends;

use super::by_model::options_shown;
use super::cited::Cited;
use super::question::Question;
use super::{Grounds, knowledge_point, language, mark_cited, supported};
use crate::answer::extractive;
use crate::answer::generate::numbered;
use crate::error::SearchError;
use crate::prompts::{ExplanationReply, QUESTION_EXPLANATION, ToExplain};
use crate::retriever::degrade;
use crate::workflows::Asker;
use crate::workflows::calling::Calls;
use crate::workflows::saying::blocking;

/// What is named in `degraded` where no model explained, or not enough.
const LESSER_EXPLANATION: &str = "explanation";
/// What is named where the explanation is not as long as it should be.
const OTHER_LENGTH: &str = "explanation_length";
/// What models put before an explanation.
const HEADS: [&str; 5] = [
    "解析：",
    "解析:",
    "答案解析：",
    "Explanation:",
    "explanation:",
];

/// Explains a question.
pub async fn explain(
    calls: Calls<'_>,
    question: &Question<'_>,
    grounds: Grounds,
) -> Result<Explanation, SearchError> {
    let (asker, request) = (calls.asker, question.request);
    let config = asker.config().judge;
    let Grounds {
        mut sources,
        mut degraded,
        ..
    } = grounds;
    let is_correct = match (&question.given, question.student_text()) {
        (Some(given), Some(_)) => Some(question.student == *given),
        _ => None,
    };
    let point = knowledge_point(request, "", &sources);
    let explained = by_model(calls, question, is_correct, &point, &sources).await;
    let mut cited = Cited::new(sources.len());
    let (text, model) = match explained {
        Some(explained) => {
            cited = Cited::new(explained.parts);
            let text = cited.check(&explained.text);
            let more = match text.chars().count() < config.minimum_characters {
                true => sentences(asker, question, &sources).await?,
                false => String::new(),
            };
            let lengths = config.minimum_characters..=config.maximum_characters;
            let filled = filled(&text, &more, lengths);
            if filled != text {
                degrade(&mut degraded, LESSER_EXPLANATION);
            }
            (filled, explained.model)
        }
        None => {
            degrade(&mut degraded, LESSER_EXPLANATION);
            (
                lesser(asker, question, is_correct, &point, &sources).await?,
                None,
            )
        }
    };
    let text = within(&text, config.maximum_characters);
    let characters = text.chars().count();
    if !(config.minimum_characters..=config.maximum_characters).contains(&characters) {
        degrade(&mut degraded, OTHER_LENGTH);
    }
    mark_cited(&mut sources, std::slice::from_ref(&text));
    Ok(Explanation {
        id: request.id.clone(),
        support: supported(asker, &text, &sources).await?,
        explanation: text,
        characters,
        is_correct,
        knowledge_point: point,
        language: language(&request.question).to_owned(),
        sources,
        removed_citations: cited.removed,
        degraded,
        took_ms: 0.0,
        model,
    })
}

/// What a model wrote.
struct Explained {
    text: String,
    parts: usize,
    model: Option<String>,
}

/// `None` where there is no model, or none that replied with anything that can be read.
async fn by_model(
    calls: Calls<'_>,
    question: &Question<'_>,
    is_correct: Option<bool>,
    point: &str,
    sources: &[Source],
) -> Option<Explained> {
    let config = calls.asker.config().judge;
    let options = options_shown(question);
    let judged = match is_correct {
        Some(true) => "right",
        Some(false) => "wrong",
        None => "",
    };
    let values = |sources: &[Source]| ToExplain {
        question: question.request.question.trim(),
        options: &options,
        correct_answer: question.given_text().unwrap_or_default(),
        student_answer: question.student_text().unwrap_or_default(),
        judged,
        knowledge_point: point,
        minimum: config.minimum_characters,
        maximum: config.maximum_characters,
        passages: numbered(sources),
    };
    // What has the wrong length twice is better than nothing.
    let written: Mutex<Option<(String, usize)>> = Mutex::default();
    let check = |reply: &ExplanationReply, parts: usize| {
        let text = cleaned(&reply.explanation);
        let characters = text.chars().count();
        if characters > 0 {
            let mut last = written.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some((text, parts));
        }
        let (least, most) = (config.minimum_characters, config.maximum_characters);
        match (least..=most).contains(&characters) {
            true => Ok(()),
            false => Err(format!(
                "explanation has {characters} characters, it must have {least} to {most}"
            )),
        }
    };
    let replied = calls
        .ask_checked_of_parts(QUESTION_EXPLANATION, sources, values, check)
        .await;
    let model = replied.map(|replied| replied.ending.model);
    let last = written.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (text, parts) = last?;
    Some(Explained { text, parts, model })
}

/// Without a head, in one paragraph, with an end.
fn cleaned(text: &str) -> String {
    let mut text = text.trim();
    for head in HEADS {
        text = text.strip_prefix(head).unwrap_or(text).trim_start();
    }
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // A citation stands behind the end of its sentence.
    let mut said = text.as_str();
    while let Some((before, number)) = said
        .strip_suffix(']')
        .and_then(|rest| rest.rsplit_once('['))
    {
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        said = before.trim_end();
    }
    if said.chars().next_back().is_some_and(char::is_alphanumeric) {
        text.push(if is_chinese(&text) { '。' } else { '.' });
    }
    text
}

/// The sentences from the beginning that fit into so many characters.
fn within(text: &str, maximum: usize) -> String {
    if text.chars().count() <= maximum {
        return text.to_owned();
    }
    let mut fitting = "";
    for end in sentence_ends(text, &[]) {
        let until = text.get(..end).unwrap_or_default().trim_end();
        if until.chars().count() > maximum {
            break;
        }
        fitting = until;
    }
    match fitting.is_empty() {
        true => text.chars().take(maximum).collect(),
        false => fitting.to_owned(),
    }
}

/// An explanation that is too short, with as many sentences behind it as it takes, none of which it
/// says already or that is in another language.
fn filled(text: &str, more: &str, lengths: RangeInclusive<usize>) -> String {
    let (mut filled, mut from) = (text.to_owned(), 0);
    let length = |text: &str| text.chars().count();
    for end in sentence_ends(more, &[]) {
        let end = behind_citations(more, end);
        let sentence = more.get(from..end).unwrap_or_default().trim();
        from = end;
        if length(&filled) >= *lengths.start() {
            break;
        }
        let is_new = !sentence.is_empty() && !filled.contains(sentence);
        let fits = length(&filled) + length(sentence) < *lengths.end();
        if is_new && fits && is_chinese(sentence) == is_chinese(text) {
            let space = if is_chinese(text) { "" } else { " " };
            filled.push_str(&format!("{space}{sentence}"));
        }
    }
    filled
}

/// Where a sentence ends with the citations that stand behind its full stop.
fn behind_citations(text: &str, mut end: usize) -> usize {
    let citation = |from: usize| {
        let inside = text.get(from..)?.strip_prefix('[')?;
        let (number, rest) = inside.split_once(']')?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.len() - rest.trim_start().len())
    };
    while let Some(behind) = citation(end) {
        end = behind;
    }
    end
}

/// The best sentences of the passages, in one paragraph, each with its number.
async fn sentences(
    asker: &Asker,
    question: &Question<'_>,
    sources: &[Source],
) -> Result<String, SearchError> {
    let asked = question.request.question.clone();
    let prose = sources.iter().filter(|source| source.language.is_none());
    let prose: Vec<Source> = prose.cloned().collect();
    let analyzer = asker.parts.retriever.analyzer();
    let work = move || extractive::extract(&asked, Intent::Fact, &prose, &analyzer).answer;
    Ok(without_code(&blocking(work).await?))
}

/// What is known of the answer, then the best sentences of the passages.
async fn lesser(
    asker: &Asker,
    question: &Question<'_>,
    is_correct: Option<bool>,
    point: &str,
    sources: &[Source],
) -> Result<String, SearchError> {
    let is_chinese = is_chinese(&question.request.question);
    let extract = sentences(asker, question, sources).await?;
    let (right, wrong, correct, about) = match is_chinese {
        true => ("回答正确。", "回答有误。", "正确答案：", "考查："),
        false => (
            "The answer is right. ",
            "The answer is wrong. ",
            "Right: ",
            "It is about: ",
        ),
    };
    let end = if is_chinese { "。" } else { ". " };
    let mut text = match is_correct {
        Some(true) => right.to_owned(),
        Some(false) => wrong.to_owned(),
        None => String::new(),
    };
    let known = [
        (correct, question.given_text().unwrap_or_default()),
        (about, point),
    ];
    for (what, value) in known.into_iter().filter(|(_, value)| !value.is_empty()) {
        text.push_str(what);
        let value = value.trim_end_matches(['.', '。']);
        text.push_str(&extractive::escaped(value));
        text.push_str(end);
    }
    text.push_str(&extract);
    if text.trim().is_empty() {
        text.push_str(match is_chinese {
            true => "资料中没有能解释这道题的内容。",
            false => "Nothing in the documents explains this question.",
        });
    }
    Ok(cleaned(&text))
}

/// Code is none in one line, and most of it would be cut off.
fn without_code(text: &str) -> String {
    let mut is_code = false;
    let is_prose = |line: &&str| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_fence && !is_code
    };
    text.lines().filter(is_prose).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_and_line_breaks_go_and_an_end_comes() {
        assert_eq!(cleaned(" 解析：进程\n 等待输入 [1]"), "进程 等待输入 [1]。");
        assert_eq!(cleaned("进程等待输入。 [1] [2]"), "进程等待输入。 [1] [2]");
        assert_eq!(cleaned("Explanation: It waits."), "It waits.");
        assert_eq!(cleaned(" "), "");
    }

    #[test]
    fn what_is_too_short_is_filled_with_what_the_passages_say() {
        let more = "它等待输入。 [1] 进程会被切换。 The kernel switches. [3] 它再次运行。[2][4] 最后一句。";
        let filled = |text: &str, least: usize, most: usize| filled(text, more, least..=most);
        assert_eq!(
            filled("进程会被切换。", 26, 50),
            "进程会被切换。它等待输入。 [1]它再次运行。[2][4]"
        );
        assert_eq!(filled("进程会被切换。", 5, 40), "进程会被切换。");
        assert_eq!(
            filled("进程会被切换。", 26, 20),
            "进程会被切换。它等待输入。 [1]"
        );
    }

    #[test]
    fn code_is_left_out() {
        let text = "It forks.\n```c\nfork();\n```\nThen it waits [1].\n```\nwait();";
        assert_eq!(without_code(text), "It forks.\nThen it waits [1].");
    }

    #[test]
    fn what_is_too_long_ends_at_a_sentence() {
        assert_eq!(within("一二三。四五六。七八九。", 9), "一二三。四五六。");
        assert_eq!(within("One. Two.", 100), "One. Two.");
        assert_eq!(within("abcdefgh", 3), "abc");
    }
}
