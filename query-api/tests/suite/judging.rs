//! Answers of students over HTTP: the model's own answer, the given one, what no model judged, and
//! explanations of the right length.

use serde_json::{Value, json};
use tributary_models::chat::Role;

use crate::ask::{scripted_for, server};
use crate::common::TEXTS;
use crate::common::backend::Settings;
use crate::common::client::Server;

const QUESTION: &str = "How does the scheduler keep its tasks?";
const OPTIONS: [&str; 3] = ["in a tree", "in a list", "not at all"];

async fn server_that_says(script: Value) -> Server {
    let chat = scripted_for(&[Role::Judge], &script);
    server(Settings {
        chat,
        ..Settings::default()
    })
    .await
}

fn choice(kind: &str, student: &str, correct: Option<&str>) -> Value {
    let mut question = json!({"id": "q", "kind": kind, "question": QUESTION, "options": OPTIONS,
        "student_answer": student});
    if let Some(correct) = correct {
        question["correct_answer"] = correct.into();
    }
    question
}

fn option(label: &str, is_correct: bool) -> Value {
    json!({"label": label, "is_correct": is_correct, "analysis": format!("About {label} [1][9].")})
}

/// A reply that answers A of so many options.
fn reply(options: usize) -> Value {
    let letters = ["A", "B", "C", "D"].iter().take(options);
    let analysis: Vec<Value> = letters.map(|label| option(label, *label == "A")).collect();
    json!({"reasoning": "The manual says a tree [1], so A.", "own_answer": ["A"],
        "option_analysis": analysis, "analysis": "Tasks are kept in a tree [1]. [7]",
        "knowledge_point": "the scheduler", "confidence": 0.9})
}

fn in_words(is_correct: bool, quality: &str) -> Value {
    json!({"correct_answer": "In a tree [1].", "reasoning": "It says so [1].", "is_correct": is_correct,
        "confidence": 0.8, "analysis": "A tree ordered by virtual run time [1].",
        "knowledge_point": "nonsense", "answer_quality": quality,
        "improvement_suggestions": "Name the order."})
}

async fn judge(server: &Server, question: &Value) -> Value {
    let answer = server.post("/v1/questions/judge", question).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn texts<'a>(value: &'a Value, field: &str) -> Vec<&'a str> {
    let list = value[field].as_array().unwrap().iter();
    list.map(|one| one.as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_choice_is_held_against_the_models_own_answer_and_the_given_one_decides() {
    let script = json!([{"prompt": "judge_choice", "reply": reply(3).to_string()}]);
    let server = server_that_says(script).await;
    let judged = judge(&server, &choice("single", "a", None)).await;
    assert_eq!(judged["is_correct"], true, "{judged}");
    assert_eq!(judged["judged_by"], "model");
    assert_eq!(judged["id"], "q");
    assert_eq!(judged["correct_answer"], "A");
    assert_eq!(judged["analysis"], "Tasks are kept in a tree [1].");
    assert_eq!(judged["removed_citations"], 4, "{judged}");
    assert_eq!(judged["option_analysis"][1]["analysis"], "About B [1].");
    assert_eq!(judged["knowledge_point"], "The scheduler", "{judged}");
    assert_eq!(judged["sources"][0]["cited"], true);
    assert_eq!(judged["degraded"], json!([]), "{judged}");
    assert!(judged["support"][0]["supported"].is_boolean());

    let wrong = judge(&server, &choice("multiple", "A,B", None)).await;
    assert_eq!(wrong["is_correct"], false, "only exactly the right ones");
    let blank = judge(&server, &choice("single", "", None)).await;
    assert_eq!(blank["is_correct"], false);

    let doubted = judge(&server, &choice("single", "in a list", Some("B"))).await;
    assert_eq!(doubted["is_correct"], true, "{doubted}");
    assert_eq!(doubted["own_answer"], "A");
    assert_eq!(doubted["agrees_with_given"], false);
    assert_eq!(doubted["confidence"], 0.5);
    assert_eq!(doubted["option_analysis"][1]["is_correct"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_contradicts_itself_is_asked_for_once_more() {
    let script = json!([
        {"prompt": "judge_text", "times": 1, "reply": in_words(true, "poor").to_string()},
        {"prompt": "judge_text", "contains": "is_correct is true, but answer_quality is poor",
            "reply": in_words(true, "good").to_string()},
    ]);
    let server = server_that_says(script).await;
    let question = json!({"kind": "text", "question": QUESTION, "student_answer": "in a tree"});
    let judged = judge(&server, &question).await;
    assert_eq!(judged["judged_by"], "model", "{judged}");
    assert_eq!(judged["answer_quality"], "good");
    assert_eq!(judged["improvement_suggestions"], "Name the order.");
    assert_eq!(judged["own_answer"], "In a tree [1].");
    let point = judged["knowledge_point"].as_str().unwrap();
    assert!(!point.is_empty() && point != "nonsense", "{judged}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_the_given_answer_or_the_passages_decide_and_it_is_said() {
    let server = server(Settings::default()).await;
    let judged = judge(&server, &choice("single", "B", Some("A"))).await;
    assert_eq!(judged["is_correct"], false);
    assert_eq!(judged["judged_by"], "given_answer");
    assert!(texts(&judged, "degraded").contains(&"judge"), "{judged}");
    let text = |student: &str, given: Option<&str>| {
        let mut question = json!({"kind": "text", "question": QUESTION, "student_answer": student});
        if let Some(given) = given {
            question["correct_answer"] = given.into();
        }
        question
    };
    let given = Some("In a tree ordered by virtual run time.");
    let right = judge(
        &server,
        &text("A tree, ordered by the virtual run time", given),
    )
    .await;
    assert_eq!(right["is_correct"], true, "{right}");
    assert_eq!(right["answer_quality"], "excellent");
    let wrong = judge(&server, &text("Nobody knows.", given)).await;
    assert_eq!(wrong["is_correct"], false, "{wrong}");
    let suggestions = wrong["improvement_suggestions"].as_str().unwrap();
    assert!(suggestions.contains("virtual run time"), "{wrong}");
    let passages = judge(
        &server,
        &text("Tasks stand in a tree by virtual run time", None),
    )
    .await;
    assert_eq!(passages["judged_by"], "passages", "{passages}");
    let nobody = judge(&server, &text("", None)).await;
    assert_eq!(nobody["judged_by"], "nobody", "{nobody}");
    assert_eq!(nobody["is_correct"], false);
    let blank = judge(&server, &text("  ", given)).await;
    assert_eq!(blank["judged_by"], "given_answer", "{blank}");
    assert_eq!(blank["is_correct"], false);
    assert_eq!(blank["analysis"], "Nothing was answered, which is wrong.");
    for judged in [judged, right, wrong, passages, nobody, blank] {
        assert!(judged["confidence"].as_f64().unwrap() <= 0.5, "{judged}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_contradicts_itself_is_refused_and_filters_hold() {
    let server = server(Settings::default()).await;
    for (question, expected) in [
        (
            choice("single", "Z", None),
            "`student_answer`: `Z` names no option",
        ),
        (choice("single", "AB", None), "names 2 options"),
        (choice("essay", "A", None), "essay"),
        (
            json!({"kind": "text", "question": " "}),
            "`question` is empty",
        ),
        (
            json!({"kind": "text", "question": "q", "knowledge_sets": ["nowhere"]}),
            "nowhere",
        ),
        (
            json!({"kind": "text", "question": "q", "colour": 1}),
            "colour",
        ),
    ] {
        for path in ["/v1/questions/judge", "/v1/questions/explain"] {
            let refused = server.post(path, &question).await;
            assert!((400..500).contains(&refused.status), "{refused:?}");
            assert!(refused.body.contains(expected), "{refused:?}");
        }
    }
    let mut narrow = choice("single", "A", Some("A"));
    narrow["knowledge_sets"] = json!(["radio"]);
    let judged = judge(&server, &narrow).await;
    let sources = judged["sources"].as_array().unwrap().iter();
    let of_others = sources.filter(|source| source["source"] == "manual");
    assert_eq!(of_others.count(), 0, "{judged}");
}

fn explanation(characters: usize) -> Value {
    let sentence = "The scheduler keeps its tasks in a tree [1]. ";
    let text: String = sentence.chars().cycle().take(characters).collect();
    json!({"explanation": text})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_explanation_has_300_to_500_characters_or_it_is_said() {
    let long = |times: u32| {
        json!({"prompt": "question_explanation", "times": times,
        "reply": explanation(900).to_string()})
    };
    let fitting = json!({"prompt": "question_explanation",
        "contains": "it must have 300 to 500", "reply": explanation(400).to_string()});
    let short = json!({"prompt": "question_explanation", "reply": explanation(80).to_string()});
    let question = choice("single", "B", Some("A"));
    let filled = "on each processor. [1] Completely fair scheduling keeps";
    for (script, expected, behind) in [
        (json!([long(1), fitting]), (360, 400, false), None),
        (json!([long(9)]), (440, 500, false), None),
        // The passages have no more to say of it.
        (json!([short]), (200, 299, true), Some(filled)),
    ] {
        let server = server_that_says(script).await;
        let answer = server.post("/v1/questions/explain", &question).await;
        let explained = answer.json();
        let (least, most, is_missed) = expected;
        let characters = explained["characters"].as_u64().unwrap();
        assert!((least..=most).contains(&characters), "{explained}");
        let text = explained["explanation"].as_str().unwrap();
        assert_eq!(text.chars().count() as u64, characters);
        assert_eq!(explained["is_correct"], false);
        let degraded = texts(&explained, "degraded");
        assert_eq!(degraded.contains(&"explanation_length"), is_missed);
        assert_eq!(degraded.contains(&"explanation"), behind.is_some());
        assert!(text.contains(behind.unwrap_or_default()), "{explained}");
    }
    let server = server(Settings::default()).await;
    let answer = server.post("/v1/questions/explain", &question).await;
    let explained = answer.json();
    assert!(texts(&explained, "degraded").contains(&"explanation"));
    let text = explained["explanation"].as_str().unwrap();
    assert!(text.starts_with("The answer is wrong. Right: A."), "{text}");
    let in_words = json!({"kind": "text", "question": QUESTION, "student_answer": "a list",
        "correct_answer": "A tree [1], see [7]"});
    let answer = server.post("/v1/questions/explain", &in_words).await;
    let explained = answer.json();
    let text = explained["explanation"].as_str().unwrap();
    assert!(text.contains(r"A tree \[1\], see \[7\]"), "{text}");
}

/// Replies that cannot be used, of every kind.
fn broken(number: usize) -> Value {
    let whole = reply(3);
    let with = |field: &str, value: Value| {
        let mut reply = whole.clone();
        reply[field] = value;
        reply.to_string()
    };
    let cut: String = whole.to_string().chars().take(60).collect();
    let says = |reply: String| json!({"prompt": "judge_choice", "reply": reply});
    match number % 8 {
        0 => says("I think it is A.".to_owned()),
        1 => says(cut),
        2 => says(with("own_answer", json!([]))),
        3 => says(with("own_answer", json!(["Z"]))),
        4 => says(with("own_answer", json!(["B"]))),
        5 => says(with("confidence", json!(7))),
        6 => says("{}".to_owned()),
        _ => json!({"prompt": "judge_choice", "failure": "malformed"}),
    }
}

/// 200 questions with known answers, made from the documents: which title does the text with these
/// words have? The right one is A, and every third student chose another.
#[tokio::test(flavor = "multi_thread")]
async fn of_200_choices_each_has_a_verdict_when_half_of_the_replies_are_broken() {
    let number = |at: usize| format!("No. {at:03}:");
    let questions: Vec<Value> = (0..200)
        .map(|at| {
            let text = &TEXTS[at % TEXTS.len()];
            let chunk = text.chunks[at % text.chunks.len()];
            let beginning: String = chunk.chars().take(40).collect();
            let question = format!("{} What is the title of “{beginning}”?", number(at));
            let student = if at % 3 == 0 { "C" } else { "A" };
            json!({"kind": "single", "question": question, "student_answer": student,
                "options": [text.title, "Something else", "Nothing"], "correct_answer": "A"})
        })
        .collect();
    let script: Vec<Value> = (0..200)
        .map(|at| {
            let mut entry = match at % 2 {
                0 => json!({"prompt": "judge_choice", "reply": reply(3).to_string()}),
                _ => broken(at / 2),
            };
            entry["contains"] = number(at).into();
            entry
        })
        .collect();
    let server = server_that_says(script.into()).await;
    let mut by_model = 0;
    for (at, question) in questions.iter().enumerate() {
        let judged = judge(&server, question).await;
        assert_eq!(judged["is_correct"], at % 3 != 0, "{judged}");
        let is_named = texts(&judged, "degraded").contains(&"judge");
        let is_by_model = judged["judged_by"] == "model";
        assert_eq!(is_named, !is_by_model, "{judged}");
        assert_eq!(is_by_model, at % 2 == 0, "{judged}");
        let confidence = judged["confidence"].as_f64().unwrap();
        assert!(is_by_model || confidence <= 0.5, "{judged}");
        by_model += usize::from(is_by_model);
    }
    assert_eq!(by_model, 100);
}
