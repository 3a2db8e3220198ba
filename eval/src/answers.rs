//! Evaluation of answers: every question of a set is asked as users ask, and each answer is held
//! against what can be told without reading it. A language model of the role `judge` may read it too.

mod measures;
mod scores;

use std::collections::{BTreeMap, HashSet};

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::Value;
use tributary_retrieval::answer::Earlier;
use tributary_retrieval::{Asked, Asker, Events, Principal, SearchError, ToGrade};
use tributary_schemas::ask::{Answer, AskRequest, Tokens, Verdict, Workflow};
use tributary_taxonomy::language::is_chinese;

use crate::diagnosis::{self, CaseRecord, Diagnosis, Target};
use crate::metrics::percentile;
use crate::rewrite::rounds;
use crate::runner::{Ingest, Latency, Pipeline, Progress, diagnose, ingest};
use crate::set::{EvaluationSet, Question};

pub use measures::{Measures, Read};
pub use scores::{AnswerScores, Refusals};

/// How the questions are asked.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Which workflow answers; the configured one when absent.
    pub workflow: Option<Workflow>,
    /// Whether a model of the role `judge` reads the answers.
    pub judge: bool,
}

/// What a run needs beside the set.
pub struct Asking<'a> {
    /// Takes the documents.
    pub pipeline: &'a Pipeline<'a>,
    /// Answers.
    pub asker: &'a Asker,
    /// How.
    pub wanted: &'a Wanted,
    /// Told of each record as soon as it is there.
    pub keep: &'a dyn Fn(&AnswerRecord) -> Result<()>,
}

/// What a run reports; `eval run --level answer --format json` prints it.
#[derive(Debug, Serialize)]
pub struct AnswerReport {
    /// Name of the set.
    pub set: String,
    /// Documents published.
    pub documents: usize,
    /// What could not be used, each with its place and the reason; it is in no score.
    pub left_out: Vec<String>,
    /// Over all questions.
    pub all: AnswerScores,
    /// By language of the question.
    pub languages: BTreeMap<String, AnswerScores>,
    /// Of the answers, how many have which verdict.
    pub verdicts: BTreeMap<String, usize>,
    /// What became of the cases that the documents answer, and which steps lost them.
    pub diagnosis: Diagnosis,
    /// In how many answers what was done in a lesser way.
    pub degraded: BTreeMap<String, usize>,
    /// Milliseconds of an answer.
    pub latency_ms: Latency,
    /// What the language models were given and gave.
    pub tokens: Tokens,
    /// How the documents got in.
    pub ingest: Ingest,
    /// What it was run with.
    pub settings: Value,
    /// Each question.
    pub records: Vec<AnswerRecord>,
}

/// One question and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerRecord {
    /// Identifier in the set.
    pub id: String,
    /// As asked.
    pub question: String,
    /// Language of the question, `zh` or `en`.
    pub language: String,
    /// Whether the documents answer it.
    pub has_answer: bool,
    /// The answer; absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<GivenAnswer>,
    /// Why there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What became of what it needs, where the documents answer it and something was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<CaseRecord>,
}

/// What was answered.
#[derive(Clone, Debug, Serialize)]
pub struct GivenAnswer {
    /// Its text.
    pub text: String,
    /// What kind of answer it is.
    pub verdict: Verdict,
    /// Which workflow answered.
    pub workflow: Workflow,
    /// Documents that it cites.
    pub cited: Vec<String>,
    /// What was done in a lesser way.
    pub degraded: Vec<String>,
    /// Milliseconds that it took.
    pub took_ms: f64,
    /// What it took of language models.
    pub tokens: Tokens,
    /// What can be told without reading it.
    pub measures: Measures,
    /// What a model makes of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Read>,
}

/// Publishes the set's documents, waits for all of them, asks all questions one after the other, and
/// scores the answers. A question that fails is a record and counts as wrong.
pub async fn run(
    set: &EvaluationSet,
    asking: &Asking<'_>,
    settings: Value,
    progress: &dyn Progress,
) -> Result<AnswerReport> {
    let ingest = ingest(set, asking.pipeline, progress).await?;
    let targets = diagnosis::place(&set.questions, asking.pipeline).await?;
    let questions: Vec<&Question> = set.questions.iter().chain(&set.unanswerable).collect();
    if questions.is_empty() {
        bail!("the set has no question");
    }
    let mut records = Vec::with_capacity(questions.len());
    for (number, question) in questions.iter().enumerate() {
        progress.at("answer", number, questions.len());
        let needed = targets.get(number).map_or(&[] as &[Target], Vec::as_slice);
        let record = record(question, needed, asking).await;
        (asking.keep)(&record)?;
        records.push(record);
    }
    progress.at("answer", questions.len(), questions.len());
    let cases: Vec<CaseRecord> = records.iter().filter_map(|one| one.case.clone()).collect();
    let diagnosis = diagnosis::summary(&cases, asking.pipeline.evidence_within);
    Ok(AnswerReport {
        diagnosis,
        ingest,
        settings,
        ..report(set, records)
    })
}

async fn record(question: &Question, targets: &[Target], asking: &Asking<'_>) -> AnswerRecord {
    let (asker, wanted) = (asking.asker, asking.wanted);
    let mut record = AnswerRecord {
        id: question.id.clone(),
        question: question.text.clone(),
        language: language(&question.text).to_owned(),
        has_answer: !question.relevant.is_empty(),
        answer: None,
        failure: None,
        case: None,
    };
    match ask(question, asker, wanted).await {
        Ok(answer) => {
            let mut given = given(question, &answer);
            if wanted.judge {
                given.read = read(question, &answer, asker).await;
            }
            record.answer = Some(given);
            if !targets.is_empty() {
                // A search that fails where the answer did not says nothing of the case.
                let case = diagnose(question, targets, asking.pipeline).await.ok();
                record.case = case.map(|case| diagnosis::answered(case, targets, &answer));
            }
        }
        Err(failure) => record.failure = Some(failure.to_string()),
    }
    record
}

async fn ask(
    question: &Question,
    asker: &Asker,
    wanted: &Wanted,
) -> std::result::Result<Answer, SearchError> {
    let (events, mut unread) = Events::channel();
    let asked = Asked {
        id: question.id.clone(),
        request: AskRequest {
            question: question.text.clone(),
            workflow: wanted.workflow,
            ..AskRequest::default()
        },
        history: rounds(&question.history),
        earlier: Earlier::default(),
        principal: Principal::unrestricted(),
        report: None,
        given_up_at: None,
    };
    asker.check(&asked.request, &asked.principal)?;
    let answer = asker.ask(&asked, &events);
    tokio::pin!(answer);
    loop {
        tokio::select! {
            answered = &mut answer => return answered,
            // Nobody watches, but what is not taken would hold the answer up.
            Some(_) = unread.recv() => {}
        }
    }
}

fn given(question: &Question, answer: &Answer) -> GivenAnswer {
    let cited: Vec<String> = measures::cited(answer).map(str::to_owned).collect();
    let mut seen = HashSet::new();
    GivenAnswer {
        text: answer.answer.clone(),
        verdict: answer.verdict,
        workflow: answer.workflow,
        cited: cited
            .into_iter()
            .filter(|id| seen.insert(id.clone()))
            .collect(),
        degraded: answer.degraded.clone(),
        took_ms: answer.took_ms,
        tokens: answer.tokens.unwrap_or_default(),
        measures: Measures::of(question, answer),
        read: None,
    }
}

/// What a model makes of an answer; none where there is no model, or no reply that can be read.
async fn read(question: &Question, answer: &Answer, asker: &Asker) -> Option<Read> {
    if answer.verdict == Verdict::Refused {
        return None;
    }
    let passages: Vec<&str> = answer
        .sources
        .iter()
        .map(|source| source.text.as_str())
        .collect();
    let to_grade = ToGrade {
        question: &question.text,
        answer: &answer.answer,
        expected: &question.answers,
        passages: &passages,
    };
    let grade = asker.grade(&to_grade).await?;
    Some(Read {
        is_right: grade.right,
        reason: grade.reason,
    })
}

/// What the records say; the rest is the caller's.
fn report(set: &EvaluationSet, records: Vec<AnswerRecord>) -> AnswerReport {
    let answers = || records.iter().filter_map(|record| record.answer.as_ref());
    let mut verdicts = BTreeMap::new();
    let mut degraded = BTreeMap::new();
    let mut tokens = Tokens::default();
    for answer in answers() {
        *verdicts.entry(name_of(answer.verdict)).or_default() += 1;
        for what in &answer.degraded {
            *degraded.entry(what.clone()).or_default() += 1;
        }
        tokens.prompt += answer.tokens.prompt;
        tokens.completion += answer.tokens.completion;
    }
    let milliseconds: Vec<f64> = answers().map(|answer| answer.took_ms).collect();
    let languages: HashSet<&str> = records
        .iter()
        .map(|record| record.language.as_str())
        .collect();
    let languages = languages.into_iter().map(|language| {
        let of_it = records.iter().filter(|record| record.language == language);
        (language.to_owned(), AnswerScores::of(of_it))
    });
    AnswerReport {
        set: set.name.clone(),
        documents: set.documents.len(),
        left_out: set.left_out.clone(),
        all: AnswerScores::of(records.iter()),
        languages: languages.collect(),
        verdicts,
        degraded,
        latency_ms: Latency {
            p50: percentile(&milliseconds, 0.5),
            p95: percentile(&milliseconds, 0.95),
        },
        tokens,
        diagnosis: Diagnosis::default(),
        ingest: Ingest::default(),
        settings: Value::Null,
        records,
    }
}

fn language(question: &str) -> &'static str {
    match is_chinese(question) {
        true => "zh",
        false => "en",
    }
}

fn name_of(verdict: Verdict) -> String {
    let name = serde_json::to_value(verdict);
    let name = name.ok().and_then(|name| name.as_str().map(str::to_owned));
    name.unwrap_or_default()
}
