//! A question by its gist: what it asks about, without the words that ask, behind a demand for a
//! summary.

use tributary_retrieval::is_function_word;
use tributary_taxonomy::language::is_chinese;

use crate::chance::Chance;

/// Fewer words say nothing of what is asked about.
const LEAST_WORDS: usize = 2;
const LEAST_CHARACTERS: usize = 4;

const DEMANDS: [&str; 3] = [
    "Summarise what is said about ",
    "Give an overview of ",
    "What are the main points about ",
];

const CHINESE_DEMANDS: [(&str, &str); 3] = [
    ("概括介绍", "的相关内容"),
    ("总结一下关于", "的要点"),
    ("请综述", "的情况"),
];

/// What asks and is no part of what is asked about; longer ones first.
const CHINESE_ASKING: [&str; 38] = [
    "请简要说明",
    "请简要描述",
    "为什么会",
    "是什么时候",
    "什么时候",
    "是多少年",
    "分别是什么",
    "指的是什么",
    "有什么作用",
    "有哪几种",
    "是怎么样",
    "是怎样",
    "是什么",
    "有什么",
    "有哪些",
    "是多少",
    "有多少",
    "是哪个",
    "是哪里",
    "在哪里",
    "为什么",
    "请问",
    "请说明",
    "如何",
    "怎么样",
    "怎样",
    "怎么",
    "什么",
    "哪些",
    "哪个",
    "哪里",
    "哪年",
    "几个",
    "多少",
    "是谁",
    "吗",
    "呢",
    "谁",
];

/// The question as a demand for a summary; none where too little of it is left.
pub fn summary(question: &str, chance: &mut Chance) -> Option<String> {
    if is_chinese(question) {
        let about = chinese_topic(question);
        let (before, behind) = chance.one_of(&CHINESE_DEMANDS)?;
        let is_enough = about.chars().count() >= LEAST_CHARACTERS;
        return is_enough.then(|| format!("{before}{about}{behind}"));
    }
    let is_end = |sign: char| matches!(sign, '?' | '.' | '!' | ',' | ';' | ':' | '"' | '(' | ')');
    let words = question
        .split_whitespace()
        .map(|word| word.trim_matches(is_end));
    let is_content = |word: &&str| !word.is_empty() && !is_function_word(&word.to_lowercase());
    let content: Vec<&str> = words.filter(is_content).collect();
    let demand = chance.one_of(&DEMANDS)?;
    (content.len() >= LEAST_WORDS).then(|| format!("{demand}{}", content.join(" ")))
}

fn chinese_topic(question: &str) -> String {
    let mut about = question.to_owned();
    for asking in CHINESE_ASKING {
        about = about.replace(asking, "");
    }
    let is_edge = |sign: char| sign.is_whitespace() || "？?。，,！!的是".contains(sign);
    about.trim_matches(is_edge).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_asks_goes_and_what_is_asked_about_stays() {
        let put = |question: &str| summary(question, &mut Chance::new(3)).unwrap_or_default();
        let english = put("What is the maximum transmit power of the terminal?");
        assert!(
            english.ends_with("maximum transmit power terminal"),
            "{english}"
        );
        let chinese = put("终端的最大发射功率是多少？");
        assert!(
            chinese.contains("终端的最大发射功率") && !chinese.contains("多少"),
            "{chinese}"
        );
        assert_eq!(put("What is it?"), "");
        assert_eq!(put("是什么？"), "");
    }
}
