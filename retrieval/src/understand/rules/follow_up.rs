//! Follow-ups: a question that leans on what was said before is completed from it. A question that
//! stands for itself stays as it is, whatever was said before.

use tributary_schemas::ask::Round;
use tributary_taxonomy::Analyzer;

use super::{chinese, english, intent, language};

/// Rounds that are looked at, the last ones.
const ROUNDS: usize = 12;
/// Longer questions say themselves what they are about, in characters.
const LONGEST: usize = 200;
/// What was left out is put beside the question, since nothing says where it belongs.
pub const UNSURE: f32 = 0.4;
/// A question in which nothing points to the rounds before it.
const COMPLETE: f32 = 0.95;

/// A question that stands for itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    /// It.
    pub question: String,
    /// How sure it is the one that was meant, 0 to 1.
    pub confidence: f32,
}

impl Completion {
    /// With a pronoun replaced by a name, which is more likely what was meant than another noun.
    pub fn of(question: String, is_named: bool) -> Self {
        Self {
            question,
            confidence: if is_named { 0.85 } else { 0.6 },
        }
    }
}

/// The question as it would be asked without the rounds.
pub fn complete(question: &str, history: &[Round], analyzer: &Analyzer) -> Completion {
    if history.is_empty() {
        return Completion {
            question: question.to_owned(),
            confidence: 1.0,
        };
    }
    let from = history.len().saturating_sub(ROUNDS);
    let recent = history.get(from..).unwrap_or(history);
    // Each question is read as it was meant, or the third one would know nothing of the first.
    let mut rounds: Vec<Round> = Vec::with_capacity(recent.len());
    for round in recent {
        let question = completed(&round.question, &rounds, analyzer).question;
        rounds.push(Round {
            question,
            answer: beginning(&round.answer),
        });
    }
    completed(question, &rounds, analyzer)
}

fn completed(question: &str, rounds: &[Round], analyzer: &Analyzer) -> Completion {
    let is_long = question.chars().count() > LONGEST;
    let completed = match rounds.is_empty() || is_long || intent::is_smalltalk(question) {
        true => None,
        false if language::is_chinese(question) => chinese::complete(question, rounds, analyzer),
        false => english::complete(question, rounds, analyzer),
    };
    completed.unwrap_or_else(|| Completion {
        question: question.to_owned(),
        confidence: COMPLETE,
    })
}

/// What an answer is about stands in its first sentences.
fn beginning(answer: &str) -> String {
    answer.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tributary_taxonomy::{AnalyzerConfig, Lexicon};

    use super::*;

    fn completed(turns: &[&str], question: &str) -> String {
        let config = AnalyzerConfig {
            guess_words: true,
            sub_words: true,
            term_words: true,
            english_stems: true,
        };
        let lexicon = Lexicon::from_text("t", "载波聚合\n双连接\n静态图\n动态图").unwrap();
        let analyzer = Analyzer::new(&config, lexicon).unwrap();
        let round = |question: &&str| Round {
            question: (*question).to_owned(),
            answer: String::new(),
        };
        let history: Vec<Round> = turns.iter().map(round).collect();
        complete(question, &history, &analyzer).question
    }

    #[test]
    fn pronouns_and_omissions_are_filled_in() {
        let table: [(&[&str], &str, &str); 33] = [
            (&["什么是 SV39？"], "And the TLB?", "the TLB?"),
            (&["What is SV39?"], "那快表呢？", "快表"),
            (
                &["What is a TLB and when must it be flushed?"],
                "And on a multi-core CPU?",
                "What is a TLB and when must it be flushed on a multi-core CPU?",
            ),
            (&["北京今天天气怎么样"], "那上海呢", "上海今天天气怎么样"),
            (
                &["北京今天天气怎么样", "那上海呢？"],
                "那后天呢？",
                "上海后天天气怎么样",
            ),
            (
                &["什么是载波聚合？"],
                "这个怎么配置？",
                "载波聚合怎么配置？",
            ),
            (
                &["什么是载波聚合？"],
                "它最多支持几个载波？",
                "载波聚合最多支持几个载波？",
            ),
            (&["载波聚合怎么配置"], "有什么限制", "载波聚合有什么限制"),
            (&["载波聚合怎么配置"], "那双连接呢", "双连接怎么配置"),
            (
                &["上行速率的上限是多少"],
                "下行呢？",
                "下行速率的上限是多少",
            ),
            (
                &["nn.Conv2d 的参数有哪些"],
                "返回值呢",
                "nn.Conv2d 的返回值有哪些",
            ),
            (
                &["nn.Conv2d 的参数有哪些"],
                "默认值是多少",
                "nn.Conv2d的默认值是多少",
            ),
            (
                &["《活着》的主角是谁"],
                "它的作者是谁",
                "《活着》的作者是谁",
            ),
            (
                &["黄足笛鲷在哪里栖息？"],
                "其鱼体近似什么形状？",
                "黄足笛鲷的鱼体近似什么形状？",
            ),
            (
                &["许国佐又名什么？"],
                "是哪一年的进士？",
                "许国佐是哪一年的进士？",
            ),
            (
                &["载波聚合能提升速率吗"],
                "为什么呢？",
                "为什么载波聚合能提升速率",
            ),
            (
                &["What does the first parameter of Conv2d mean?"],
                "What about the second one?",
                "What does the second parameter of Conv2d mean?",
            ),
            (
                &["How do I say carrier aggregation in English?"],
                "And in Chinese?",
                "How do I say carrier aggregation in Chinese?",
            ),
            (
                &["What is carrier aggregation?"],
                "How do I configure it?",
                "How do I configure carrier aggregation?",
            ),
            (
                &["What is the uplink limit?"],
                "and the downlink limit?",
                "What is the downlink limit?",
            ),
            (
                &["How does Adam work?"],
                "What about SGD?",
                "How does SGD work?",
            ),
            (&["Is Adam faster?"], "Why?", "Why is Adam faster?"),
            (
                &["What is nn.Conv2d?"],
                "What are its parameters?",
                "What are nn.Conv2d's parameters?",
            ),
            (
                &["What is nn.Conv2d?"],
                "What is the default value?",
                "What is the default value of nn.Conv2d?",
            ),
            (
                &["Who is Jack White?", "Where was he born?"],
                "Did he marry?",
                "Did Jack White marry?",
            ),
            (
                &["Who is Jack White?"],
                "What are his albums?",
                "What are Jack White's albums?",
            ),
            (
                &["What is MindIR?"],
                "How was that made?",
                "How was MindIR made?",
            ),
            (
                &["How do I install MindSpore?"],
                "Which version is needed for it?",
                "Which version is needed for MindSpore?",
            ),
            (
                &["What is MindIR?", "What does GET /v1/models return?"],
                "Who invented it?",
                "Who invented MindIR?",
            ),
            (
                &["What happens to a document that can never be indexed?"],
                "Can it be tried again?",
                "What happens to a document that can never be indexed? Can it be tried again?",
            ),
            (
                &["What happens to a document that can never be indexed?"],
                "And its reason?",
                "What happens to a document that can never be indexed? And its reason?",
            ),
            (
                &["NSA组网是什么"],
                "它有什么关键技术",
                "NSA组网有什么关键技术",
            ),
            (
                &["什么是NSA？"],
                "它有什么关键技术？",
                "NSA有什么关键技术？",
            ),
        ];
        for (turns, question, expected) in table {
            assert_eq!(completed(turns, question), expected, "{turns:?} {question}");
        }
    }

    #[test]
    fn complete_questions_stay_as_they_are() {
        let questions = [
            "怎么安装MindSpore",
            "RRC 连接建立失败的原因有哪些",
            "为什么天空是蓝色的",
            "世界上最高的山是什么",
            "什么是双连接",
            "哪些国家参加了第一次世界大战",
            "孙休被封为琅邪王，当时他的封地在哪？",
            "如何降低时延",
            "有没有办法减少训练的内存占用",
            "在 2.3 版本里怎么删除用户",
            "这种情况下训练为什么会中断",
            "谢谢",
            "How long does it take to train ResNet?",
            "Is it possible to run MindSpore on Windows?",
            "Why did Nikola Tesla leave his job?",
            "What happens to a plant when it loses its leaves?",
            "What is the capital of France?",
            "How do I save a checkpoint?",
            "How do people feel about their work?",
            "Which other planets have rings?",
            "And how do I install MindSpore?",
            "Thanks!",
        ];
        for question in questions {
            for before in ["载波聚合怎么配置", "What is nn.Conv2d?"] {
                assert_eq!(completed(&[before], question), question, "after {before}");
            }
        }
    }
}
