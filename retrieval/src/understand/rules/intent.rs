//! What a question wants, by the words with which it asks.

use tributary_schemas::understanding::Intent;

use super::comparison;
use super::error_log::error_log;
use crate::exact_name;

const SMALLTALK: [&str; 44] = [
    "hi",
    "hello",
    "hey",
    "hi there",
    "hello there",
    "good morning",
    "good afternoon",
    "good evening",
    "thanks",
    "thank you",
    "thank you very much",
    "thanks a lot",
    "bye",
    "goodbye",
    "ok",
    "okay",
    "great",
    "who are you",
    "how are you",
    "what can you do",
    "你好",
    "您好",
    "嗨",
    "哈喽",
    "早上好",
    "上午好",
    "下午好",
    "晚上好",
    "早",
    "在吗",
    "谢谢",
    "谢谢你",
    "谢谢您",
    "多谢",
    "感谢",
    "再见",
    "拜拜",
    "好的",
    "好",
    "你是谁",
    "你能做什么",
    "你会什么",
    "你叫什么",
    "晚安",
];
const ERROR: [&str; 22] = [
    "报错",
    "错误码",
    "错误代码",
    "异常",
    "失败",
    "崩溃",
    "出错",
    "告警码",
    "错误信息",
    "error code",
    "error message",
    "traceback",
    "exception",
    "stack trace",
    "fails with",
    "failed with",
    "crashes",
    "crashed",
    "raises",
    "core dumped",
    "segmentation fault",
    "errno",
];
const REASON: [&str; 9] = [
    "为什么",
    "为何",
    "为啥",
    "什么原因",
    "原因是什么",
    "的原因",
    "why",
    "reason for",
    "what causes",
];
const HOW_TO: [&str; 24] = [
    "怎么",
    "如何",
    "怎样",
    "咋",
    "步骤",
    "方法是",
    "教程",
    "how to",
    "how do i",
    "how do you",
    "how do we",
    "how can i",
    "how can we",
    "how can you",
    "how should i",
    "how would i",
    "how could i",
    "how does one",
    "steps to",
    "ways to",
    "way to",
    "guide to",
    "tutorial",
    "instructions for",
];
/// 怎么 and 如何 that ask for no way to do something.
const NO_HOW_TO: [&str; 6] = [
    "怎么样",
    "怎么回事",
    "怎么看",
    "如何看待",
    "怎么办呢吧",
    "怎么读",
];
const DEFINITION_BEGINNINGS: [&str; 10] = [
    "什么是",
    "何为",
    "何谓",
    "啥是",
    "what is a ",
    "what is an ",
    "define ",
    "definition of ",
    "what does ",
    "meaning of ",
];
const DEFINITION_ENDS: [&str; 15] = [
    "是什么",
    "是什么意思",
    "什么意思",
    "是啥",
    "是啥意思",
    "是什么东西",
    "的定义",
    "的含义",
    "指什么",
    "是指什么",
    "指的是什么",
    "的概念",
    "代表什么",
    "mean",
    "stand for",
];
/// Words between "what is" and the end that make it a question for a value.
const MOST_WORDS_DEFINED: usize = 3;
const API: [&str; 15] = [
    "接口",
    "函数",
    "参数",
    "返回值",
    "方法",
    "类",
    "算子",
    "用法",
    "api",
    "function",
    "parameter",
    "argument",
    "method",
    "class",
    "return",
];

/// The intent of a question.
pub fn intent(question: &str) -> Intent {
    let small = question.to_lowercase();
    let bare = bare(&small);
    let has = |words: &[&str]| words.iter().any(|word| contains(bare, word));
    let has_code = exact_name::words(question).any(exact_name::is_code);
    if is_smalltalk(question) {
        Intent::Smalltalk
    } else if error_log(question).is_some() || (has(&ERROR) && (has_code || !has(&REASON))) {
        Intent::Error
    } else if comparison::sides(question).is_some() {
        Intent::Comparison
    } else if asks_for_api(question, bare) {
        Intent::Api
    } else if has(&REASON) {
        Intent::Reason
    } else if is_definition(bare) {
        Intent::Definition
    } else if has(&HOW_TO) && !has(&NO_HOW_TO) {
        Intent::HowTo
    } else {
        Intent::Fact
    }
}

/// A greeting, thanks or the like, and nothing else.
pub fn is_smalltalk(question: &str) -> bool {
    let small = question.to_lowercase();
    let bare = bare(&small).trim_end_matches(['啊', '呀', '哦', '啦']);
    SMALLTALK.contains(&bare)
}

/// Without signs at its ends.
fn bare(text: &str) -> &str {
    text.trim_matches(|character: char| !character.is_alphanumeric())
}

/// Whether a word stands in a text; an English one as a word of its own.
fn contains(text: &str, word: &str) -> bool {
    if !word.is_ascii() {
        return text.contains(word);
    }
    let is_letter = |character: char| character.is_ascii_alphanumeric() || character == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text
            .get(at + word.len()..)
            .and_then(|text| text.chars().next());
        !before.is_some_and(is_letter) && !after.is_some_and(is_letter)
    })
}

fn is_definition(bare: &str) -> bool {
    let begins = DEFINITION_BEGINNINGS
        .iter()
        .any(|beginning| bare.starts_with(beginning));
    let ends = DEFINITION_ENDS.iter().any(|end| bare.ends_with(end));
    // 作者是什么 does not ask what an author is, X的作者是什么 asks for a fact.
    let is_attribute = bare.ends_with("是什么") && bare.contains('的');
    let defines = match bare
        .strip_prefix("what is ")
        .or(bare.strip_prefix("what are "))
    {
        Some(rest) => {
            let words = rest.split_whitespace().count();
            words <= MOST_WORDS_DEFINED && !rest.starts_with("the ") && !rest.contains(" of ")
        }
        None => false,
    };
    (begins && !bare.starts_with("what does ")) || (ends && !is_attribute) || defines
}

/// An identifier, and nothing that asks how or why; or an identifier and a word such as 参数.
fn asks_for_api(question: &str, bare: &str) -> bool {
    let identifiers = exact_name::words(question).filter(|word| exact_name::is_identifier(word));
    let is_dotted = |word: &str| word.contains(['.', '_', '(']) || word.contains("::");
    let names: Vec<&str> = identifiers.filter(|word| is_dotted(word)).collect();
    if names.is_empty() {
        return false;
    }
    let has = |words: &[&str]| words.iter().any(|word| contains(bare, word));
    has(&API) || !(has(&HOW_TO) || has(&REASON))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intents_follow_the_words_that_ask() {
        let table = [
            ("你好！", Intent::Smalltalk),
            ("Thank you.", Intent::Smalltalk),
            ("你好，载波聚合怎么配置", Intent::HowTo),
            ("载波聚合怎么配置？", Intent::HowTo),
            ("How do I configure carrier aggregation?", Intent::HowTo),
            ("北京今天天气怎么样", Intent::Fact),
            ("什么是载波聚合", Intent::Definition),
            ("载波聚合是什么意思？", Intent::Definition),
            ("What is carrier aggregation?", Intent::Definition),
            ("What does RRC stand for?", Intent::Definition),
            ("What is the maximum number of carriers?", Intent::Fact),
            ("What is the capital of France?", Intent::Fact),
            ("《活着》的作者是什么", Intent::Fact),
            ("为什么切换会失败", Intent::Reason),
            ("Why does a handover fail?", Intent::Reason),
            ("静态图和动态图的区别是什么", Intent::Comparison),
            ("difference between TDD and FDD", Intent::Comparison),
            ("mindspore.nn.Conv2d 的参数有哪些", Intent::Api),
            ("mindspore.ops.Add", Intent::Api),
            ("load_checkpoint 怎么用", Intent::HowTo),
            ("报错 0x80070005 是什么原因", Intent::Error),
            ("安装失败怎么办", Intent::Error),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: x",
                Intent::Error,
            ),
            ("Which band does the cell use?", Intent::Fact),
        ];
        for (question, expected) in table {
            assert_eq!(intent(question), expected, "{question}");
        }
    }
}
