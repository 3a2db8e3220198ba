//! The prompts of this crate and the replies that its code reads. The texts are files in
//! `retrieval/prompts/`; a profile replaces them by name, see [`tributary_models::prompts`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tributary_models::chat::Role;
use tributary_models::chat::structured::reply_schema;
use tributary_models::prompts::{PromptSet, PromptSpec, UNTRUSTED};
use tributary_schemas::judging::AnswerQuality;
use tributary_schemas::understanding::Intent;

/// A file of `retrieval/prompts/` and its text.
macro_rules! prompt_file {
    ($name:literal) => {
        ($name, include_str!(concat!("../prompts/", $name)))
    };
}

/// Name of the prompt for an answer from passages.
pub const ANSWER: &str = "answer";
/// Name of the prompt for what a question means.
pub const UNDERSTANDING: &str = "understanding";
/// Name of the prompt for a passage that could answer a question.
pub const HYPOTHETICAL_PASSAGE: &str = "hypothetical_passage";

/// Name of the prompt for what to search for.
pub const RETRIEVAL_SUGGESTION: &str = "retrieval_suggestion";
/// Name of the prompt for whether a passage says something to a question.
pub const RELEVANCE: &str = "relevance";
/// Name of the prompt for the same in one word, of which the probability counts.
pub const RERANK: &str = "rerank";
/// Name of the prompt for whether passages answer a question.
pub const SUFFICIENCY: &str = "sufficiency";
/// Name of the prompt for an answer that explains as a textbook does.
pub const TEXTBOOK_ANSWER: &str = "textbook_answer";
/// Name of the prompt for whether a text is a log or a question.
pub const LOG_OR_QUESTION: &str = "log_or_question";
/// Name of the prompt for what an error means and what helps.
pub const ERROR_MAP_ANSWER: &str = "error_map_answer";
/// Name of the prompt for an explanation of source code.
pub const CODE_EXPLANATION: &str = "code_explanation";
/// Name of the prompt for a model that searches by itself.
pub const ON_DEMAND: &str = "on_demand";
/// Name of the prompt for what was said in a conversation.
pub const CONVERSATION_SUMMARY: &str = "conversation_summary";
/// Name of the prompt for whether an answer is right.
pub const ANSWER_GRADE: &str = "answer_grade";

/// Name of the prompt for an SQL statement over tables of documents.
pub const TABLE_SQL: &str = "table_sql";

/// Name of the prompt for an answer to a question with options.
pub const JUDGE_CHOICE: &str = "judge_choice";
/// Name of the prompt for an answer in words.
pub const JUDGE_TEXT: &str = "judge_text";
/// Name of the prompt for the explanation of a question.
pub const QUESTION_EXPLANATION: &str = "question_explanation";
/// Name of the prompt for the plan of a report.
pub const REPORT_OUTLINE: &str = "report_outline";
/// Name of the prompt for a section of a report.
pub const REPORT_SECTION: &str = "report_section";

/// All of them.
pub const PROMPTS: PromptSet = PromptSet {
    specs: &[
        PromptSpec {
            name: ANSWER,
            role: Role::Answer,
            reply: None,
            sample: to_answer,
        },
        PromptSpec {
            name: TEXTBOOK_ANSWER,
            role: Role::Answer,
            reply: None,
            sample: to_answer,
        },
        PromptSpec {
            name: ERROR_MAP_ANSWER,
            role: Role::Answer,
            reply: None,
            sample: || {
                with(
                    to_answer(),
                    &json!({
                        "analysis": "Analysis",
                        "solution": "Solution",
                        "has_solution": false,
                    }),
                )
            },
        },
        PromptSpec {
            name: CODE_EXPLANATION,
            role: Role::Answer,
            reply: None,
            sample: || {
                with(
                    to_answer(),
                    &json!({
                        "purpose": "Purpose",
                        "key_functions": "Key functions",
                        "flow": "Flow",
                        "details": "Details",
                        "relation": "Relation",
                    }),
                )
            },
        },
        PromptSpec {
            name: LOG_OR_QUESTION,
            role: Role::Understand,
            reply: Some(reply_schema::<LogOrQuestionReply>),
            sample: || json!(ToTellLog { text: UNTRUSTED }),
        },
        PromptSpec {
            name: ON_DEMAND,
            role: Role::Answer,
            reply: None,
            sample: || {
                json!(ToSearch {
                    question: UNTRUSTED,
                    history: UNTRUSTED,
                    searches: 3,
                })
            },
        },
        PromptSpec {
            name: CONVERSATION_SUMMARY,
            role: Role::Summarize,
            reply: Some(reply_schema::<ConversationSummaryReply>),
            sample: || {
                json!(ToSumUp {
                    before: UNTRUSTED,
                    rounds: UNTRUSTED,
                })
            },
        },
        PromptSpec {
            name: ANSWER_GRADE,
            role: Role::Judge,
            reply: Some(reply_schema::<AnswerGradeReply>),
            sample: || {
                json!(AnswerToGrade {
                    question: UNTRUSTED,
                    answer: UNTRUSTED,
                    expected: UNTRUSTED.to_owned(),
                    passages: untrusted_passages(),
                })
            },
        },
        PromptSpec {
            name: TABLE_SQL,
            role: Role::Sql,
            reply: Some(reply_schema::<SqlReply>),
            sample: || {
                json!(ToWriteSql {
                    question: UNTRUSTED,
                    tables: vec![UNTRUSTED.to_owned()],
                    sql: UNTRUSTED,
                    error: UNTRUSTED,
                })
            },
        },
        PromptSpec {
            name: RETRIEVAL_SUGGESTION,
            role: Role::Understand,
            reply: Some(reply_schema::<SuggestionReply>),
            sample: || {
                json!(ToSuggest {
                    history: UNTRUSTED,
                    question: UNTRUSTED,
                })
            },
        },
        PromptSpec {
            name: RELEVANCE,
            role: Role::Judge,
            reply: Some(reply_schema::<RelevanceReply>),
            sample: || {
                json!(ToJudgePassage {
                    question: UNTRUSTED,
                    passage: UNTRUSTED,
                })
            },
        },
        PromptSpec {
            name: RERANK,
            role: Role::Judge,
            reply: None,
            sample: || {
                json!(ToJudgePassage {
                    question: UNTRUSTED,
                    passage: UNTRUSTED,
                })
            },
        },
        PromptSpec {
            name: SUFFICIENCY,
            role: Role::Judge,
            reply: Some(reply_schema::<SufficiencyReply>),
            sample: || {
                json!(ToJudgePassages {
                    question: UNTRUSTED,
                    passages: untrusted_passages(),
                })
            },
        },
        PromptSpec {
            name: JUDGE_CHOICE,
            role: Role::Judge,
            reply: Some(reply_schema::<ChoiceReply>),
            sample: || {
                json!(ToJudgeChoice {
                    question: UNTRUSTED,
                    kind: "single",
                    options: UNTRUSTED,
                    student_answer: "A",
                    passages: untrusted_passages(),
                })
            },
        },
        PromptSpec {
            name: JUDGE_TEXT,
            role: Role::Judge,
            reply: Some(reply_schema::<TextReply>),
            sample: || {
                json!(ToJudgeText {
                    question: UNTRUSTED,
                    given_answer: UNTRUSTED,
                    student_answer: UNTRUSTED,
                    passages: untrusted_passages(),
                })
            },
        },
        PromptSpec {
            name: QUESTION_EXPLANATION,
            role: Role::Judge,
            reply: Some(reply_schema::<ExplanationReply>),
            sample: || {
                json!(ToExplain {
                    question: UNTRUSTED,
                    options: UNTRUSTED,
                    correct_answer: UNTRUSTED,
                    student_answer: UNTRUSTED,
                    judged: "wrong",
                    knowledge_point: UNTRUSTED,
                    minimum: 300,
                    maximum: 500,
                    passages: untrusted_passages(),
                })
            },
        },
        PromptSpec {
            name: REPORT_OUTLINE,
            role: Role::Report,
            reply: Some(reply_schema::<OutlineReply>),
            sample: || {
                json!(ToPlanReport {
                    question: UNTRUSTED,
                    history: UNTRUSTED,
                    count: 3,
                })
            },
        },
        PromptSpec {
            name: REPORT_SECTION,
            role: Role::Report,
            reply: None,
            sample: || {
                json!(ToWriteSection {
                    question: UNTRUSTED,
                    report_title: UNTRUSTED,
                    outline: UNTRUSTED,
                    title: UNTRUSTED,
                    questions: UNTRUSTED,
                    place: "middle",
                    passages: untrusted_passages(),
                    refusal: "no",
                })
            },
        },
        PromptSpec {
            name: UNDERSTANDING,
            role: Role::Understand,
            reply: Some(reply_schema::<UnderstandingReply>),
            sample: || {
                json!(QuestionToUnderstand {
                    history: UNTRUSTED,
                    question: UNTRUSTED,
                })
            },
        },
        PromptSpec {
            name: HYPOTHETICAL_PASSAGE,
            role: Role::Understand,
            reply: Some(reply_schema::<PassageReply>),
            sample: || {
                json!(QuestionToAnswer {
                    question: UNTRUSTED,
                })
            },
        },
    ],
    files: &[
        prompt_file!("answer.en.md"),
        prompt_file!("answer.zh.md"),
        prompt_file!("textbook_answer.en.md"),
        prompt_file!("textbook_answer.zh.md"),
        prompt_file!("error_map_answer.en.md"),
        prompt_file!("error_map_answer.zh.md"),
        prompt_file!("code_explanation.en.md"),
        prompt_file!("code_explanation.zh.md"),
        prompt_file!("log_or_question.en.md"),
        prompt_file!("log_or_question.zh.md"),
        prompt_file!("conversation_summary.en.md"),
        prompt_file!("conversation_summary.zh.md"),
        prompt_file!("answer_grade.en.md"),
        prompt_file!("answer_grade.zh.md"),
        prompt_file!("on_demand.en.md"),
        prompt_file!("on_demand.zh.md"),
        prompt_file!("retrieval_suggestion.en.md"),
        prompt_file!("retrieval_suggestion.zh.md"),
        prompt_file!("relevance.en.md"),
        prompt_file!("relevance.zh.md"),
        prompt_file!("rerank.en.md"),
        prompt_file!("rerank.zh.md"),
        prompt_file!("sufficiency.en.md"),
        prompt_file!("sufficiency.zh.md"),
        prompt_file!("judge_choice.en.md"),
        prompt_file!("judge_choice.zh.md"),
        prompt_file!("judge_text.en.md"),
        prompt_file!("judge_text.zh.md"),
        prompt_file!("question_explanation.en.md"),
        prompt_file!("question_explanation.zh.md"),
        prompt_file!("report_outline.en.md"),
        prompt_file!("report_outline.zh.md"),
        prompt_file!("report_section.en.md"),
        prompt_file!("report_section.zh.md"),
        prompt_file!("understanding.en.md"),
        prompt_file!("understanding.zh.md"),
        prompt_file!("hypothetical_passage.en.md"),
        prompt_file!("hypothetical_passage.zh.md"),
        prompt_file!("table_sql.en.md"),
        prompt_file!("table_sql.zh.md"),
    ],
};

fn to_answer() -> serde_json::Value {
    json!(ToAnswer {
        question: "q",
        history: UNTRUSTED,
        passages: untrusted_passages(),
        refusal: "no",
    })
}

/// The fields of both objects.
fn with(mut all: serde_json::Value, more: &serde_json::Value) -> serde_json::Value {
    if let (Some(all), Some(more)) = (all.as_object_mut(), more.as_object()) {
        all.extend(more.clone());
    }
    all
}

fn untrusted_passages() -> Vec<NumberedPassage> {
    let text = UNTRUSTED.to_owned();
    vec![NumberedPassage { number: 1, text }]
}

/// What the prompt for a question is given.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct QuestionToUnderstand<'a> {
    /// The last rounds, oldest first; empty for none.
    pub history: &'a str,
    /// The question.
    pub question: &'a str,
}

/// What the model replies. The lists are flat and short: small models loop.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnderstandingReply {
    /// The question as it would be asked without the rounds before it.
    #[schemars(length(min = 1, max = 1000))]
    pub standalone_question: String,
    /// Other ways to ask it.
    #[schemars(length(max = 3))]
    pub variants: Vec<String>,
    /// What it wants.
    pub intent: Intent,
    /// What it names.
    #[schemars(length(max = 8))]
    pub entities: Vec<String>,
    /// What a keyword search should look for.
    #[schemars(length(max = 8))]
    pub search_keywords: Vec<String>,
    /// Questions that it consists of; empty for one question.
    #[schemars(length(max = 3))]
    pub sub_queries: Vec<String>,
}

/// What the prompt for a passage is given.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct QuestionToAnswer<'a> {
    /// The question as the rules complete it.
    pub question: &'a str,
}

/// What the model replies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PassageReply {
    /// The passage.
    #[schemars(length(min = 1, max = 1500))]
    pub passage: String,
}

/// What the prompt for an answer is given.
#[derive(Clone, Debug, Serialize)]
pub struct ToAnswer<'a> {
    /// The question as it is asked without what was said before.
    pub question: &'a str,
    /// What was said before; empty for nothing.
    pub history: &'a str,
    /// What the answer is made from.
    pub passages: Vec<NumberedPassage>,
    /// The sentence that says that the passages do not answer.
    pub refusal: &'a str,
}

/// A passage as a model is shown it.
#[derive(Clone, Debug, Serialize)]
pub struct NumberedPassage {
    /// What citations call it.
    pub number: u32,
    /// Title, section and text.
    pub text: String,
}

/// What the prompt for a suggestion is given.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ToSuggest<'a> {
    /// The last rounds, oldest first; empty for none.
    pub history: &'a str,
    /// The question, as written.
    pub question: &'a str,
}

/// What the model replies.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuggestionReply {
    /// Why these queries, in a sentence.
    #[schemars(length(max = 300))]
    pub reasoning: String,
    /// What the question wants.
    pub intent: Intent,
    /// How sure the model is of it, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub confidence: f32,
    /// The words that matter.
    #[schemars(length(max = 8))]
    pub search_keywords: Vec<String>,
    /// What to search for.
    #[schemars(length(min = 1, max = 5))]
    pub suggested_queries: Vec<String>,
}

/// What the prompt for the relevance of a passage is given.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ToJudgePassage<'a> {
    /// The question as it is asked without what was said before.
    pub question: &'a str,
    /// Title, section and text.
    pub passage: &'a str,
}

/// What the model replies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelevanceReply {
    /// Why, in a sentence.
    #[schemars(length(max = 300))]
    pub reason: String,
    /// Whether the passage helps to answer.
    pub relevant: bool,
}

/// What the prompt for whether an answer is right is given.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerToGrade<'a> {
    /// What was asked.
    pub question: &'a str,
    /// What was answered.
    pub answer: &'a str,
    /// What would be right, a line for each; empty where nobody said it.
    pub expected: String,
    /// What the answer was made from.
    pub passages: Vec<NumberedPassage>,
}

/// What the model replies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerGradeReply {
    /// Why, in a sentence.
    #[schemars(length(max = 300))]
    pub reason: String,
    /// Whether the answer is right.
    pub right: bool,
}

/// What the prompt for whether passages are enough is given.
#[derive(Clone, Debug, Serialize)]
pub struct ToJudgePassages<'a> {
    /// The question as it is asked without what was said before.
    pub question: &'a str,
    /// What was found; none where nothing relevant was.
    pub passages: Vec<NumberedPassage>,
}

/// What the model replies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SufficiencyReply {
    /// Why, in a sentence.
    #[schemars(length(max = 300))]
    pub reason: String,
    /// Whether they answer the whole question.
    pub sufficient: bool,
    /// What to search for to find what they lack; empty where they lack nothing.
    #[schemars(length(max = 3))]
    pub missing: Vec<String>,
}

/// What the prompt for a model that searches by itself is given.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ToSearch<'a> {
    /// The question as it is asked without what was said before.
    pub question: &'a str,
    /// What was said before; empty for nothing.
    pub history: &'a str,
    /// Searches at most.
    pub searches: usize,
}

/// What the prompt for a summary of a conversation is given.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ToSumUp<'a> {
    /// The summary of what was said before the rounds; empty for nothing.
    pub before: &'a str,
    /// The rounds, oldest first.
    pub rounds: &'a str,
}

/// What the model replies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationSummaryReply {
    /// What was said until now.
    #[schemars(length(min = 1, max = 1500))]
    pub summary: String,
}

/// What the prompt for a statement is given.
#[derive(Clone, Debug, Serialize)]
pub struct ToWriteSql<'a> {
    /// The question as it is asked without what was said before.
    pub question: &'a str,
    /// The tables with their columns, best first.
    pub tables: Vec<String>,
    /// A statement that failed; empty for none.
    pub sql: &'a str,
    /// What is wrong with it.
    pub error: &'a str,
}

/// What the model replies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlReply {
    /// The statement; empty where there is none.
    #[schemars(length(max = 2000))]
    pub sql: String,
    /// 0, 3003 where no table has what is asked, 3005 where the question is unclear.
    pub err_code: i64,
    /// Why there is no statement.
    #[schemars(length(max = 300))]
    pub err_msg: String,
}

/// What the prompt for whether a text is a log is given.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ToTellLog<'a> {
    /// What was pasted.
    pub text: &'a str,
}

/// What the model replies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogOrQuestionReply {
    /// Whether it is the output of a program and not what a person asks.
    pub is_log: bool,
}

/// What the prompt for an answer to a question with options is given.
#[derive(Clone, Debug, Serialize)]
pub struct ToJudgeChoice<'a> {
    /// The question.
    pub question: &'a str,
    /// `single` or `multiple`.
    pub kind: &'a str,
    /// The options, a line each, with their letters.
    pub options: &'a str,
    /// Letters of options; empty for none.
    pub student_answer: &'a str,
    /// What was found; empty for nothing.
    pub passages: Vec<NumberedPassage>,
}

/// What the model replies.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChoiceReply {
    /// How it came to its answer, then what is right or wrong in the student's.
    #[schemars(length(min = 1, max = 1500))]
    pub reasoning: String,
    /// Letters of the options that it holds to be right.
    #[schemars(length(min = 1, max = 26))]
    pub own_answer: Vec<String>,
    /// Each option.
    #[schemars(length(min = 2, max = 26))]
    pub option_analysis: Vec<OptionReply>,
    /// The question in detail.
    #[schemars(length(min = 1, max = 2000))]
    pub analysis: String,
    /// What it is about.
    #[schemars(length(max = 200))]
    pub knowledge_point: String,
    /// How sure the model is, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub confidence: f32,
}

/// What the model replies of one option.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OptionReply {
    /// Its letter.
    pub label: String,
    /// Whether it belongs to the right answer.
    pub is_correct: bool,
    /// Why.
    #[schemars(length(max = 500))]
    pub analysis: String,
}

/// What the prompt for an answer in words is given.
#[derive(Clone, Debug, Serialize)]
pub struct ToJudgeText<'a> {
    /// The question.
    pub question: &'a str,
    /// What is known to be right; empty for nothing.
    pub given_answer: &'a str,
    /// Empty for nothing.
    pub student_answer: &'a str,
    /// What was found; empty for nothing.
    pub passages: Vec<NumberedPassage>,
}

/// What the model replies.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextReply {
    /// The points of its own answer.
    #[schemars(length(min = 1, max = 1500))]
    pub correct_answer: String,
    /// Where they come from, then how the student's answer compares.
    #[schemars(length(min = 1, max = 1500))]
    pub reasoning: String,
    /// Whether the student's answer is right.
    pub is_correct: bool,
    /// How sure the model is, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub confidence: f32,
    /// The question in detail.
    #[schemars(length(min = 1, max = 2000))]
    pub analysis: String,
    /// What it is about.
    #[schemars(length(max = 200))]
    pub knowledge_point: String,
    /// How good the answer is.
    pub answer_quality: AnswerQuality,
    /// What would make it better.
    #[schemars(length(max = 1000))]
    pub improvement_suggestions: String,
}

/// What the prompt for the explanation of a question is given.
#[derive(Clone, Debug, Serialize)]
pub struct ToExplain<'a> {
    /// The question.
    pub question: &'a str,
    /// The options, a line each, with their letters; empty for none.
    pub options: &'a str,
    /// What is known to be right; empty for nothing.
    pub correct_answer: &'a str,
    /// Empty for nothing.
    pub student_answer: &'a str,
    /// `right`, `wrong`, or empty where that is not known.
    pub judged: &'a str,
    /// What the question is about; empty where that is not known.
    pub knowledge_point: &'a str,
    /// Characters of the explanation at least.
    pub minimum: usize,
    /// Characters of the explanation at most.
    pub maximum: usize,
    /// What was found; empty for nothing.
    pub passages: Vec<NumberedPassage>,
}

/// What the model replies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplanationReply {
    /// The explanation. Its length is checked where the settings of it are known.
    pub explanation: String,
}

/// What the prompt for the plan of a report is given.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ToPlanReport<'a> {
    /// The question as it is asked without what was said before.
    pub question: &'a str,
    /// What was said before; empty for nothing.
    pub history: &'a str,
    /// How many sections.
    pub count: usize,
}

/// What the model replies.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutlineReply {
    /// Title of the report.
    #[schemars(length(min = 1, max = 200))]
    pub title: String,
    /// Its sections in order.
    #[schemars(length(min = 1, max = 6))]
    pub sections: Vec<SectionReply>,
}

/// What the model replies of one section.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SectionReply {
    /// Its heading.
    #[schemars(length(min = 1, max = 200))]
    pub title: String,
    /// What it answers.
    #[schemars(length(min = 2, max = 5))]
    pub questions: Vec<String>,
}

/// What the prompt for a section of a report is given.
#[derive(Clone, Debug, Serialize)]
pub struct ToWriteSection<'a> {
    /// The question as it is asked without what was said before.
    pub question: &'a str,
    /// Title of the report.
    pub report_title: &'a str,
    /// Titles of all sections, a line each.
    pub outline: &'a str,
    /// Title of this one.
    pub title: &'a str,
    /// What it answers, a line each.
    pub questions: &'a str,
    /// `whole`, `introduction`, `middle` or `conclusion`.
    pub place: &'a str,
    /// What it is written from.
    pub passages: Vec<NumberedPassage>,
    /// The sentence that says that the passages do not answer.
    pub refusal: &'a str,
}
