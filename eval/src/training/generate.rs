//! Questions written by the model of the role `generate`, several of each passage, of several kinds
//! and lengths. What cannot be had is told with its reason.

use std::sync::Arc;

use tributary_models::chat::structured::ask_checked;
use tributary_models::chat::{ChatError, ChatModel, Message, Reason, RoleModel, Speaker};
use tributary_models::prompts::{Prompt, Prompts};
use tributary_schemas::Result;

use crate::prompts::{PassageToAskAbout, Questions, TRAINING_QUESTIONS, Wanted};

use super::{Failure, Language, Length, Pair, Style, TrainingPassage};

/// Tokens of the reply for each question, JSON around it included.
const TOKENS_PER_QUESTION: usize = 120;
/// What is asked for in turn; passages begin at different places.
const TURNS: [(Style, Length); 9] = [
    (Style::Content, Length::Medium),
    (Style::Title, Length::Short),
    (Style::Summary, Length::Medium),
    (Style::Content, Length::Long),
    (Style::Content, Length::Short),
    (Style::Summary, Length::Short),
    (Style::Title, Length::Medium),
    (Style::Summary, Length::Long),
    (Style::Title, Length::Long),
];

/// In which language questions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionLanguage {
    /// That of the passage.
    OfPassage,
    /// The other one: Chinese questions to English passages, and the reverse.
    Other,
    /// This one.
    Fixed(Language),
}

impl QuestionLanguage {
    /// The language of questions to a passage.
    pub fn of(self, text: &str) -> Language {
        match self {
            Self::OfPassage => Language::of(text),
            Self::Other => Language::of(text).other(),
            Self::Fixed(language) => language,
        }
    }
}

/// The questions that are wanted of one passage: so many, beginning at a turn.
pub fn wanted(count: usize, first: usize) -> Vec<Wanted> {
    let turns = TURNS.into_iter().cycle().skip(first % TURNS.len());
    let turns = turns.take(count);
    turns
        .map(|(style, length)| Wanted { style, length })
        .collect()
}

/// Has questions written.
pub struct Generator {
    /// Who writes.
    pub model: Arc<RoleModel>,
    /// Where the prompt is.
    pub prompts: Arc<Prompts>,
    /// In which language questions are.
    pub language: QuestionLanguage,
    /// Questions of each passage.
    pub per_passage: usize,
    /// Characters of a passage that the model sees at most.
    pub input_characters: usize,
}

/// What became of one passage.
#[derive(Debug)]
pub struct Asked {
    /// Its questions.
    pub outcome: std::result::Result<Vec<Pair>, Failure>,
    /// Whether all further calls would fail alike: it is no use to go on.
    pub ends_run: bool,
    /// Calls of the model, as far as they reached it: what costs.
    pub calls: usize,
}

impl Generator {
    /// As [`Pair::prompt`] and [`Pair::model`] name them for a passage. A pair of a passage that
    /// has both is not asked for again.
    pub fn made_by(&self, passage: &TrainingPassage) -> Result<(String, String)> {
        let prompt = self.prompt(self.language.of(&passage.text))?;
        Ok((prompt.id(), self.model.describe().model))
    }

    fn prompt(&self, language: Language) -> Result<Arc<Prompt>> {
        self.prompts.get(TRAINING_QUESTIONS, Some(language.tag()))
    }

    /// The questions of a passage; `turn` is where its kinds and lengths begin. Fails only where
    /// the prompt cannot be rendered.
    pub async fn ask(&self, passage: &TrainingPassage, turn: usize) -> Result<Asked> {
        let language = self.language.of(&passage.text);
        let prompt = self.prompt(language)?;
        let wanted = wanted(self.per_passage, turn);
        let text: String = passage.text.chars().take(self.input_characters).collect();
        let values = PassageToAskAbout {
            path: &passage.path(),
            text: &text,
            wanted: &wanted,
        };
        let request = prompt.request(values, wanted.len() * TOKENS_PER_QUESTION)?;
        let examples: Vec<&Message> = request
            .messages
            .iter()
            .filter(|message| message.speaker == Speaker::Assistant)
            .collect();
        let check = |questions: &Questions| {
            check(questions, wanted.len(), language)?;
            check_own(questions, &examples)
        };
        let reply = ask_checked(self.model.as_ref(), &request, check).await;
        let made_by = (prompt.id(), self.model.describe().model);
        Ok(match reply {
            Ok(reply) => Asked {
                ends_run: false,
                calls: 1 + usize::from(reply.is_second_try),
                outcome: Ok(pairs(passage, &wanted, reply.value, made_by)),
            },
            Err(failed) => not_asked(passage, &failed, made_by),
        })
    }
}

fn pairs(
    passage: &TrainingPassage,
    wanted: &[Wanted],
    questions: Questions,
    (prompt, model): (String, String),
) -> Vec<Pair> {
    let questions = wanted.iter().zip(questions.questions);
    let pair = |(wanted, question): (&Wanted, String)| Pair {
        language: Language::of(&question),
        question: question.trim().to_owned(),
        style: wanted.style,
        prompt: prompt.clone(),
        model: model.clone(),
        ..Pair::of(passage)
    };
    questions.map(pair).collect()
}

impl Pair {
    /// A pair of this passage that has no question yet.
    pub(super) fn of(passage: &TrainingPassage) -> Self {
        Self {
            question: String::new(),
            chunk_id: passage.chunk_id,
            document_id: passage.document_id.clone(),
            family: passage.family.clone(),
            passage: passage.text.clone(),
            language: Language::En,
            style: Style::Content,
            prompt: String::new(),
            model: String::new(),
        }
    }
}

fn not_asked(
    passage: &TrainingPassage,
    failed: &ChatError,
    (prompt, model): (String, String),
) -> Asked {
    let is_of_passage = matches!(
        failed.reason,
        Reason::Empty
            | Reason::TooLong
            | Reason::CutOff
            | Reason::Malformed
            | Reason::TooLarge
            | Reason::Refused
    );
    let is_passing = failed.reason.may_pass() || failed.reason == Reason::Deadline;
    Asked {
        outcome: Err(Failure {
            chunk_id: passage.chunk_id,
            document_id: passage.document_id.clone(),
            prompt,
            model,
            reason: failed.to_string(),
            is_settled: is_of_passage,
        }),
        ends_run: !is_of_passage && !is_passing,
        calls: match failed.reason {
            Reason::TooLong | Reason::BudgetUsedUp | Reason::CircuitOpen => 0,
            Reason::CutOff | Reason::Malformed => 2,
            _ => 1,
        },
    }
}

/// What is wrong with a reply, in words for the model.
fn check(reply: &Questions, wanted: usize, language: Language) -> std::result::Result<(), String> {
    let questions = &reply.questions;
    if questions.len() != wanted {
        return Err(format!(
            "it has {} questions, and {wanted} are wanted",
            questions.len()
        ));
    }
    if let Some(empty) = questions.iter().position(|one| one.trim().is_empty()) {
        return Err(format!("question {} is empty", empty + 1));
    }
    // A name alone may be in Latin letters in a Chinese question, too.
    let has_words = |one: &&String| super::half_words(one) > 8;
    let other = questions.iter().filter(has_words);
    match other.filter(|one| Language::of(one) != language).count() {
        0 => Ok(()),
        _ if language == Language::Zh => Err("the questions are to be in Chinese".to_owned()),
        _ => Err("the questions are to be in English".to_owned()),
    }
}

/// Small models repeat the examples of the prompt where a passage says little.
fn check_own(reply: &Questions, examples: &[&Message]) -> std::result::Result<(), String> {
    let is_example = |question: &String| {
        let quoted = format!("\"{}\"", question.trim());
        let mut examples = examples.iter();
        examples.any(|example| example.text.contains(&quoted))
    };
    match reply.questions.iter().position(is_example) {
        Some(at) => Err(format!("question {} is that of the example", at + 1)),
        None => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tributary_models::chat::{ChatConfig, ChatModels, Role, SharedObserver, Unobserved};
    use tributary_models::tokens::estimate::EstimatedTokens;

    use super::super::samples::chunk_id;
    use super::*;
    use crate::prompts::PROMPTS;

    /// Of a model whose replies stand in a script.
    fn generator(script: &str, language: QuestionLanguage) -> Generator {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("script.json");
        std::fs::write(&file, script).unwrap();
        let defaults: toml::Table = include_str!("../../../cli/default.toml").parse().unwrap();
        let mut chat = defaults["models"]["chat"].clone();
        chat["endpoint"]["kind"] = "scripted".into();
        chat["endpoint"]["script_file"] = file.display().to_string().into();
        chat["endpoint"]["attempts"] = 1.into();
        let config: ChatConfig = chat.try_into().unwrap();
        let observer: SharedObserver = Arc::new(Unobserved);
        let tokens = Arc::new(EstimatedTokens) as Arc<_>;
        let chat = ChatModels::open(&config, &tokens, &observer).unwrap();
        Generator {
            model: chat.role(Role::Generate).unwrap(),
            prompts: Arc::new(Prompts::load(&[&PROMPTS], None).unwrap()),
            language,
            per_passage: 2,
            input_characters: 6000,
        }
    }

    fn passage(text: &str) -> TrainingPassage {
        TrainingPassage {
            chunk_id: chunk_id(1),
            document_id: "d".to_owned(),
            family: Vec::new(),
            title: "Antennas".to_owned(),
            section_path: Vec::new(),
            text: text.to_owned(),
        }
    }

    async fn ask(script: &str, language: QuestionLanguage) -> Asked {
        let generator = generator(script, language);
        let passage = passage("The tilt is 6 degrees.");
        generator.ask(&passage, 0).await.unwrap()
    }

    #[tokio::test]
    async fn questions_have_the_kinds_that_were_wanted() {
        let script = r#"[{"prompt": "training_questions", "contains": "1. content, medium\n2. title, short",
            "reply": "{\"questions\": [\" How far is it? \", \"tilt\"]}"}]"#;
        let pairs = ask(script, QuestionLanguage::OfPassage)
            .await
            .outcome
            .unwrap();
        let found: Vec<_> = pairs
            .iter()
            .map(|pair| (pair.question.as_str(), pair.style, pair.language))
            .collect();
        let expected = [
            ("How far is it?", Style::Content, Language::En),
            ("tilt", Style::Title, Language::En),
        ];
        assert_eq!(found, expected);
        assert!(pairs[0].prompt.starts_with("training_questions.en@1:"));
        assert_eq!(pairs[0].passage, "The tilt is 6 degrees.");
    }

    #[tokio::test]
    async fn a_reply_in_the_wrong_language_or_number_is_asked_for_again_and_then_told() {
        let script = r#"[{"prompt": "training_questions",
            "reply": "{\"questions\": [\"How far is the antenna tilted?\", \"tilt\"]}"}]"#;
        let asked = ask(script, QuestionLanguage::Other).await;
        let failure = asked.outcome.unwrap_err();
        assert!(
            failure.reason.contains("to be in Chinese"),
            "{}",
            failure.reason
        );
        assert!(failure.prompt.starts_with("training_questions.zh@1:"));
        assert!(failure.is_settled && !asked.ends_run);
        assert_eq!(asked.calls, 2);
        let script = r#"[{"reply": "{\"questions\": [\"tilt\"]}", "times": 1},
            {"contains": "2 are wanted", "reply": "{\"questions\": [\"tilt\", \"angle\"]}"}]"#;
        let asked = ask(script, QuestionLanguage::OfPassage).await;
        assert_eq!(asked.outcome.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn a_model_that_refuses_everybody_ends_the_run_and_one_that_is_busy_does_not() {
        for (failure, ends_run) in [
            ("denied", true),
            ("budget_used_up", true),
            ("overloaded", false),
        ] {
            let script = format!(r#"[{{"failure": "{failure}"}}]"#);
            let asked = ask(&script, QuestionLanguage::OfPassage).await;
            assert_eq!(asked.ends_run, ends_run, "{failure}");
            assert!(!asked.outcome.unwrap_err().is_settled, "{failure}");
        }
    }

    #[tokio::test]
    async fn the_questions_of_the_example_are_no_questions() {
        let script = r#"[{"reply": "{\"questions\": [\"What is the angle?\", \"setting the tilt of a sector antenna\"]}"}]"#;
        let asked = ask(script, QuestionLanguage::OfPassage).await;
        let failure = asked.outcome.unwrap_err();
        assert!(
            failure.reason.contains("question 2 is that of the example"),
            "{}",
            failure.reason
        );
    }

    #[test]
    fn all_kinds_and_lengths_are_asked_for() {
        let all: std::collections::HashSet<_> = (0..9)
            .flat_map(|turn| wanted(3, turn))
            .map(|one| (one.style, one.length))
            .collect();
        assert_eq!(all.len(), 9);
    }
}
