//! The tool `judge_answer`: a student's answer, judged as `POST /v1/questions/judge` does.

use std::fmt::Write;

use tributary_schemas::judging::{Judgement, QuestionToJudge};

use super::Reply;
use super::engine::Engine;
use crate::http::search::resolve_names;
use crate::problem::Problem;

/// Calls `judge_answer`.
pub async fn judge(engine: &Engine, mut question: QuestionToJudge) -> Result<Reply, Problem> {
    resolve_names(&engine.state, &mut question.filter, &engine.principal).await?;
    let asking = &engine.state.asking;
    let judging = asking.judge(question, engine.principal.clone());
    let judgement = engine.patiently(judging).await?;
    let text = describe(&judgement);
    Reply::new(&judgement, text)
}

fn describe(judgement: &Judgement) -> String {
    let verdict = if judgement.is_correct {
        "Right"
    } else {
        "Wrong"
    };
    let confidence = judgement.confidence;
    let mut text = format!("{verdict} (confidence {confidence:.2})\n");
    let lines = [
        ("Right answer: ", &judgement.correct_answer),
        ("About: ", &judgement.knowledge_point),
        ("", &judgement.reasoning),
        ("", &judgement.analysis),
    ];
    for (name, line) in lines.iter().filter(|(_, line)| !line.is_empty()) {
        writeln!(text, "{name}{line}").ok();
    }
    if !judgement.degraded.is_empty() {
        let what = judgement.degraded.join(", ");
        writeln!(text, "Done in a lesser way than configured: {what}").ok();
    }
    text
}
