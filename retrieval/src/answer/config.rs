//! Settings of answers; the values live in `cli/default.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tributary_schemas::ask::Workflow;
use tributary_schemas::understanding::Intent;
use tributary_schemas::{Error, ErrorKind, Result};

use crate::live::LiveConfig;
use crate::tables::TableConfig;
use crate::workflows::{
    CodeExplanationConfig, CourseConfig, ErrorMapConfig, GeneralConfig, JudgeConfig,
    OnDemandConfig, ReportConfig, Scope, Side, TextbookConfig,
};

/// The section `[query_api.answer]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerConfig {
    /// Which workflow answers a question that names none.
    pub workflow: Workflow,
    /// Which one does so for questions of an intent.
    pub by_intent: BTreeMap<Intent, Workflow>,
    /// Passages of a question that does not say how many.
    pub top_k: usize,
    /// Relevance of the best passage below which the question is refused where no model answers,
    /// 0 to 1.
    pub refuse_below: f32,
    /// The same where a model answers: it reads the passages, and refuses by itself what they do
    /// not answer.
    pub refuse_below_with_model: f32,
    /// Chunks before and after a hit that may join it.
    pub neighbours: u32,
    /// Tokens up to which a passage grows by them.
    pub passage_tokens: usize,
    /// Tokens of a model's reply at most.
    pub reply_tokens: usize,
    /// Longest time that a model has for an answer, in milliseconds.
    pub deadline_ms: u64,
    /// Least share of the words of a statement that must stand in what it cites, 0 to 1.
    pub minimum_coverage: f32,
    /// Rounds of a conversation that are known to the next one.
    pub rounds: usize,
    /// Searches of questions that run at the same time; 0 for as many as there are cores.
    pub concurrent_searches: usize,
    /// What is said where nothing answers.
    pub refusal: Sentences,
    /// What is said to a greeting, where no model answers it.
    pub greeting: Sentences,
    /// What the workflow `general` searches.
    pub general: GeneralConfig,
    /// What the workflow `error_map` does.
    pub error_map: ErrorMapConfig,
    /// How source code is explained.
    pub code: CodeExplanationConfig,
    /// The parts of the workflow `course`.
    pub course: CourseConfig,
    /// What the workflow `textbook` does beside.
    pub textbook: TextbookConfig,
    /// How a model searches by itself.
    pub on_demand: OnDemandConfig,
    /// How tables of documents are chosen and asked.
    pub table: TableConfig,
    /// How answers of students are judged.
    pub judge: JudgeConfig,
    /// How reports are written.
    pub report: ReportConfig,
    /// What searches the web for them.
    pub live: LiveConfig,
}

/// A sentence that is a whole answer, by language of the question.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sentences {
    /// For questions in Chinese.
    pub zh: String,
    /// For all others.
    pub en: String,
}

impl Sentences {
    fn say_something(&self) -> bool {
        !self.zh.trim().is_empty() && !self.en.trim().is_empty()
    }

    /// In one of the languages.
    pub fn sentence(&self, is_chinese: bool) -> &str {
        if is_chinese { &self.zh } else { &self.en }
    }
}

impl AnswerConfig {
    /// `Invalid` with everything that no answer can work with.
    pub fn check(&self) -> Result<()> {
        let problems = self.problems();
        match problems.is_empty() {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Invalid, problems.join("; "))),
        }
    }

    /// The parts of the documents that workflows search, with the keys under which they stand.
    pub fn scopes(&self) -> Vec<(String, &Scope)> {
        let of_sides = |workflow: &'static str, sides: &'_ [Side]| -> Vec<String> {
            let places = 0..sides.len();
            places
                .map(|at| format!("{workflow}.sides[{at}].scope"))
                .collect()
        };
        let general = of_sides("general", &self.general.sides);
        let error_map = of_sides("error_map", &self.error_map.sides);
        let sides = self.general.sides.iter().chain(&self.error_map.sides);
        let sides = general
            .into_iter()
            .chain(error_map)
            .zip(sides.map(|side| &side.scope));
        let others = [
            ("code.scope", &self.code.scope),
            ("course.textbook", &self.course.textbook),
            ("course.code", &self.course.code),
        ];
        let others = others.map(|(key, scope)| (key.to_owned(), scope));
        sides.chain(others).collect()
    }

    /// Everything that is wrong with the values, one line each.
    pub fn problems(&self) -> Vec<String> {
        let share = 0.0..=1.0;
        let rules = [
            (self.top_k > 0, "top_k must be at least 1"),
            (self.neighbours <= 5, "neighbours must be at most 5"),
            (self.reply_tokens > 0, "reply_tokens must be at least 1"),
            (self.deadline_ms > 0, "deadline_ms must be at least 1"),
            (
                share.contains(&self.refuse_below),
                "refuse_below must lie between 0 and 1",
            ),
            (
                share.contains(&self.refuse_below_with_model),
                "refuse_below_with_model must lie between 0 and 1",
            ),
            (
                share.contains(&self.minimum_coverage),
                "minimum_coverage must lie between 0 and 1",
            ),
            (
                self.refusal.say_something(),
                "refusal must say something in both languages",
            ),
            (
                self.greeting.say_something(),
                "greeting must say something in both languages",
            ),
        ];
        let broken = rules.iter().filter(|(holds, _)| !holds);
        let broken = broken.map(|(_, rule)| (*rule).to_owned());
        broken
            .chain(self.textbook.problems())
            .chain(self.on_demand.problems())
            .chain(self.table.problems())
            .chain(self.general.problems())
            .chain(self.error_map.problems())
            .chain(self.code.problems())
            .chain(self.course.problems())
            .chain(self.judge.problems())
            .chain(self.report.problems())
            .chain(self.live.problems())
            .map(|rule| format!("query_api.answer.{rule}"))
            .collect()
    }
}
