//! What the model of the role `judge` says: its own answer first, then about the student's. Whether a
//! choice is right is never its word: that is a comparison of letters.

use tributary_models::chat::Ending;
use tributary_schemas::ask::{Source, Tokens};
use tributary_schemas::judging::{AnswerQuality, JudgedBy, Judgement, OptionAnalysis};

use super::UNSURE;
use super::cited::Cited;
use super::question::{Letters, Question, written};
use crate::answer::generate::numbered;
use crate::prompts::{
    ChoiceReply, JUDGE_CHOICE, JUDGE_TEXT, TextReply, ToJudgeChoice, ToJudgeText,
};
use crate::workflows::calling::Calls;

/// A choice judged by the model; `None` where there is none or no reply that can be used.
pub async fn choice(
    calls: Calls<'_>,
    question: &Question<'_>,
    sources: &[Source],
) -> Option<Judgement> {
    let options = options_shown(question);
    let student = written(&question.student);
    let values = |sources: &[Source]| ToJudgeChoice {
        question: question.request.question.trim(),
        kind: question.request.kind.as_str(),
        options: &options,
        student_answer: &student,
        passages: numbered(sources),
    };
    let check = |reply: &ChoiceReply, _: usize| checked_choice(reply, question).map(|_| ());
    let replied = calls
        .ask_checked_of_parts(JUDGE_CHOICE, sources, values, check)
        .await?;
    let reply: ChoiceReply = replied.value;
    let own = checked_choice(&reply, question).ok()?;
    let mut cited = Cited::new(replied.parts);
    let correct = question.given.clone().unwrap_or_else(|| own.clone());
    let agrees = question.given.as_ref().map(|given| *given == own);
    let confidence = match agrees {
        Some(false) => reply.confidence.min(UNSURE),
        _ => reply.confidence,
    };
    let option = |(letter, text): &(char, String), cited: &mut Cited| OptionAnalysis {
        label: letter.to_string(),
        text: text.clone(),
        is_correct: correct.contains(letter),
        analysis: cited.check(analysis_of(&reply, *letter)),
    };
    let options = question.options.iter();
    let option_analysis = options.map(|entry| option(entry, &mut cited)).collect();
    Some(Judgement {
        is_correct: question.student == correct,
        confidence,
        reasoning: cited.check(&reply.reasoning),
        analysis: cited.check(&reply.analysis),
        correct_answer: written(&correct),
        own_answer: Some(written(&own)),
        agrees_with_given: agrees,
        knowledge_point: reply.knowledge_point.clone(),
        option_analysis,
        removed_citations: cited.removed,
        ..by(&replied.ending)
    })
}

/// An answer in words judged by the model; `None` as [`choice`].
pub async fn text(
    calls: Calls<'_>,
    question: &Question<'_>,
    sources: &[Source],
) -> Option<Judgement> {
    let values = |sources: &[Source]| ToJudgeText {
        question: question.request.question.trim(),
        given_answer: question.given_text().unwrap_or_default(),
        student_answer: question.student_text().unwrap_or_default(),
        passages: numbered(sources),
    };
    let check = |reply: &TextReply, _: usize| checked_text(reply, question);
    let replied = calls
        .ask_checked_of_parts(JUDGE_TEXT, sources, values, check)
        .await?;
    let reply: TextReply = replied.value;
    let mut cited = Cited::new(replied.parts);
    let own = cited.check(&reply.correct_answer);
    let given = question.given_text().map(str::to_owned);
    Some(Judgement {
        is_correct: reply.is_correct,
        confidence: reply.confidence,
        reasoning: cited.check(&reply.reasoning),
        analysis: cited.check(&reply.analysis),
        correct_answer: given.unwrap_or_else(|| own.clone()),
        own_answer: Some(own),
        knowledge_point: reply.knowledge_point.clone(),
        answer_quality: Some(reply.answer_quality),
        improvement_suggestions: Some(cited.check(&reply.improvement_suggestions)),
        removed_citations: cited.removed,
        ..by(&replied.ending)
    })
}

fn by(ending: &Ending) -> Judgement {
    Judgement {
        judged_by: JudgedBy::Model,
        model: Some(ending.model.clone()),
        tokens: Some(Tokens {
            prompt: ending.usage.prompt_tokens.unwrap_or(0),
            completion: ending.usage.completion_tokens.unwrap_or(0),
        }),
        ..Judgement::default()
    }
}

/// The options as a model is shown them.
pub fn options_shown(question: &Question<'_>) -> String {
    let options = question.options.iter();
    let lines: Vec<String> = options
        .map(|(letter, text)| format!("{letter}. {text}"))
        .collect();
    lines.join("\n")
}

fn analysis_of(reply: &ChoiceReply, letter: char) -> &str {
    let mut options = reply.option_analysis.iter();
    let found = options.find(|option| letter_of(&option.label) == Some(letter));
    found.map_or("", |option| &option.analysis)
}

fn letter_of(label: &str) -> Option<char> {
    let mut letters = label.trim().trim_end_matches('.').chars();
    let letter = letters.next()?.to_ascii_uppercase();
    letters.next().is_none().then_some(letter)
}

/// The model's own answer, of a reply that says one and does not contradict it.
fn checked_choice(reply: &ChoiceReply, question: &Question<'_>) -> Result<Letters, String> {
    let known = |letter: &char| question.options.iter().any(|(known, _)| known == letter);
    let mut own = Letters::new();
    for label in &reply.own_answer {
        let letter = letter_of(label).filter(known);
        own.insert(letter.ok_or_else(|| format!("own_answer: there is no option `{label}`"))?);
    }
    let kind = question.request.kind.as_str();
    if own.is_empty() || (kind == "single" && own.len() > 1) {
        return Err(format!(
            "own_answer names {} options, the question is of the kind {kind}",
            own.len()
        ));
    }
    check_confidence(reply.confidence)?;
    for (letter, _) in &question.options {
        let mut options = reply.option_analysis.iter();
        let option = options.find(|option| letter_of(&option.label) == Some(*letter));
        let option = option.ok_or_else(|| format!("option_analysis lacks {letter}"))?;
        if option.is_correct != own.contains(letter) {
            return Err(format!(
                "option_analysis of {letter} contradicts own_answer {}",
                written(&own)
            ));
        }
    }
    not_empty(&[
        ("reasoning", &reply.reasoning),
        ("analysis", &reply.analysis),
    ])?;
    Ok(own)
}

fn checked_text(reply: &TextReply, question: &Question<'_>) -> Result<(), String> {
    check_confidence(reply.confidence)?;
    not_empty(&[
        ("reasoning", &reply.reasoning),
        ("analysis", &reply.analysis),
        ("correct_answer", &reply.correct_answer),
    ])?;
    let is_praised = matches!(
        reply.answer_quality,
        AnswerQuality::Excellent | AnswerQuality::Good
    );
    if reply.is_correct && reply.answer_quality == AnswerQuality::Poor {
        return Err("is_correct is true, but answer_quality is poor".to_owned());
    }
    if !reply.is_correct && is_praised {
        return Err("is_correct is false, but answer_quality is excellent or good".to_owned());
    }
    if reply.is_correct && question.student_text().is_none() {
        return Err("is_correct is true, but the student answered nothing".to_owned());
    }
    Ok(())
}

fn check_confidence(confidence: f32) -> Result<(), String> {
    match (0.0..=1.0).contains(&confidence) {
        true => Ok(()),
        false => Err(format!(
            "confidence is {confidence}, it lies between 0 and 1"
        )),
    }
}

fn not_empty(fields: &[(&str, &String)]) -> Result<(), String> {
    match fields.iter().find(|(_, text)| text.trim().is_empty()) {
        Some((name, _)) => Err(format!("{name} is empty")),
        None => Ok(()),
    }
}
