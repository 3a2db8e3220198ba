//! A question by its gist: what it asks about, without the words that ask, behind a demand for a
//! summary.

use tributary_retrieval::is_function_word;
use tributary_store::evaluations::chance::Chance;
use tributary_taxonomy::language::is_chinese;

/// Fewer words say nothing of what is asked about.
const LEAST_WORDS: usize = 2;
const LEAST_CHARACTERS: usize = 4;

const DEMANDS: [&str; 3] = [
    "Summarise what is said about ",
    "Give an overview of ",
    "What are the main points about ",
];

/// Around a name of what is asked about.
const CHINESE_DEMANDS: [(&str, &str); 3] = [
    ("概括介绍", "的相关内容"),
    ("总结一下关于", "的要点"),
    ("请综述", "的情况"),
];
/// Before a question as it is, which Chinese takes as an object: 请概括说明如何配置载波聚合.
const CHINESE_CLAUSE_DEMANDS: [&str; 3] = ["请概括说明", "总结一下", "请简要归纳"];

/// What asks at the end, behind a name of what is asked about; longer ones first.
const CHINESE_ENDINGS: [&str; 20] = [
    "分别是什么",
    "指的是什么",
    "是什么意思",
    "有什么作用",
    "有哪几种",
    "有多少个",
    "是怎样的",
    "是怎么样的",
    "在哪里",
    "是什么",
    "有什么",
    "有哪些",
    "是多少",
    "有多少",
    "是哪个",
    "是哪里",
    "是哪些",
    "在哪",
    "是谁",
    "如何",
];
/// What asks anywhere: what has one of them is no name.
const CHINESE_ASKING: [&str; 13] = [
    "什么", "哪", "多少", "谁", "如何", "怎", "为何", "是否", "几", "吗", "呢", "何时", "多",
];
/// What goes before a question and asks nothing.
const CHINESE_BEGINNINGS: [&str; 5] = ["请简要说明", "请简要描述", "请说明", "请问一下", "请问"];

/// The question as a demand for a summary; none where too little of it is left.
pub fn summary(question: &str, chance: &mut Chance) -> Option<String> {
    if is_chinese(question) {
        return chinese_summary(question, chance);
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

/// A name of what is asked about is put into a demand; of what is no name the question stays whole.
fn chinese_summary(question: &str, chance: &mut Chance) -> Option<String> {
    let is_end = |sign: char| sign.is_whitespace() || "？?。，,！!".contains(sign);
    let trimmed = question.trim_matches(is_end);
    let beginnings = CHINESE_BEGINNINGS.iter();
    let mut begun = beginnings.filter_map(|begin| trimmed.strip_prefix(begin));
    let clause = begun
        .next_back()
        .unwrap_or(trimmed)
        .trim_start_matches(is_end);
    let is_enough = |text: &str| text.chars().count() >= LEAST_CHARACTERS;
    let name = chinese_name(clause).filter(|name| is_enough(name));
    if let Some(name) = name {
        let (before, behind) = chance.one_of(&CHINESE_DEMANDS)?;
        return Some(format!("{before}{name}{behind}"));
    }
    let is_asked = !clause.ends_with(['吗', '呢']) && is_enough(clause);
    let is_nothing_else = chinese_name(clause).is_some();
    let demand = chance.one_of(&CHINESE_CLAUSE_DEMANDS)?;
    (is_asked && !is_nothing_else).then(|| format!("{demand}{clause}"))
}

/// What stands before the words that ask, if nothing in it asks.
fn chinese_name(clause: &str) -> Option<&str> {
    let mut endings = CHINESE_ENDINGS.iter();
    let name = endings.find_map(|ending| clause.strip_suffix(ending))?;
    let name = name.trim_end_matches(['的', '都', '，', '：']);
    let asks = CHINESE_ASKING.iter().any(|asking| name.contains(asking));
    // Two clauses are no name.
    (!asks && !name.contains(['，', ',', '；', '。'])).then_some(name)
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
        assert_eq!(put("What is it?"), "");
    }

    #[test]
    fn chinese_demands_are_sentences() {
        let ends = |question: &str| {
            let put = summary(question, &mut Chance::new(3)).unwrap_or_default();
            let demands = CHINESE_DEMANDS.iter().map(|(before, _)| *before);
            let mut demands = demands.chain(CHINESE_CLAUSE_DEMANDS);
            let rest = demands.find_map(|demand| put.strip_prefix(demand));
            let rest = rest.unwrap_or_default();
            let behind = CHINESE_DEMANDS.iter().map(|(_, behind)| *behind);
            let name = behind
                .filter(|behind| !behind.is_empty())
                .find_map(|end| rest.strip_suffix(end));
            (name.is_some(), name.unwrap_or(rest).to_owned())
        };
        let cases = [
            ("终端的最大发射功率是多少？", true, "终端的最大发射功率"),
            ("请问载波聚合方式有哪些？", true, "载波聚合方式"),
            ("如何配置载波聚合？", false, "如何配置载波聚合"),
            (
                "为什么辅小区在激活之后会被释放？",
                false,
                "为什么辅小区在激活之后会被释放",
            ),
            (
                "《战国无双》是由哪两个公司合作开发的？",
                false,
                "《战国无双》是由哪两个公司合作开发的",
            ),
            (
                "如果定时器超时，终端的状态是什么？",
                false,
                "如果定时器超时，终端的状态是什么",
            ),
        ];
        for (question, is_name, about) in cases {
            assert_eq!(ends(question), (is_name, about.to_owned()), "{question}");
        }
        assert_eq!(ends("是什么？").1, "");
        assert_eq!(
            ends("终端支持载波聚合吗？").1,
            "",
            "no demand takes a question of yes and no"
        );
    }
}
