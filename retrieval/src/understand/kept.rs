//! Whether a question that was completed still asks what was asked.

use tributary_taxonomy::fold;

/// Share of a question's content that its completion must have, in per cent.
const KEPT_PERCENT: usize = 50;
/// Less content than so many words or characters says nothing.
const FEWEST: usize = 2;
/// Letters at the end of a word that may change.
const ENDING: usize = 2;
/// Chinese characters of pronouns, particles and questions, which a completion may replace.
const CHINESE_FUNCTION: &str =
    "的了吗呢吧啊呀嘛它他她这那是不我你您们就还都也很在有个什么怎哪里谁几多少为何请问和与及或";
/// The same of English words of three letters or more.
const ENGLISH_FUNCTION: [&str; 46] = [
    "about", "also", "and", "another", "any", "are", "been", "but", "can", "could", "did", "does",
    "else", "for", "from", "had", "has", "have", "her", "his", "how", "its", "much", "one",
    "other", "she", "some", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "was", "were", "what", "when", "where", "which", "who", "why",
];

/// Whether two questions are the same but for signs, spaces and case.
pub(super) fn is_as_written(completed: &str, question: &str) -> bool {
    let letters = |text: &str| -> Vec<char> {
        let folded = fold(text);
        folded
            .chars()
            .filter(|sign| sign.is_alphanumeric())
            .collect()
    };
    letters(completed) == letters(question)
}

/// Whether a completed question has at least half of what the question says, and asks nothing
/// beside it, such as what was asked before.
pub(super) fn asks_the_same(completed: &str, question: &str) -> bool {
    let questions = |text: &str| text.matches(['?', '？']).count();
    if questions(completed) > questions(question).max(1) {
        return false;
    }
    let (completed, content) = (fold(completed), content(question));
    let kept = content
        .iter()
        .filter(|part| completed.contains(part.as_str()));
    content.len() < FEWEST || kept.count() * 100 >= content.len() * KEPT_PERCENT
}

/// Chinese characters and the stems of words that are not there for the grammar.
fn content(question: &str) -> Vec<String> {
    let folded = fold(question);
    let is_chinese = |sign: &char| !sign.is_ascii() && sign.is_alphanumeric();
    let signs = folded.chars().filter(is_chinese);
    let signs = signs.filter(|sign| !CHINESE_FUNCTION.contains(*sign));
    let words = folded.split(|sign: char| !sign.is_ascii_alphanumeric());
    let words = words.filter(|word| word.len() > ENDING && !ENGLISH_FUNCTION.contains(word));
    let stem = |word: &str| -> String {
        let letters = word.len().saturating_sub(ENDING).max(ENDING + 1);
        word.chars().take(letters).collect()
    };
    signs.map(String::from).chain(words.map(stem)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_question_is_told_from_a_completed_one() {
        let table = [
            ("它最多支持几个载波？", "载波聚合最多支持几个载波？", true),
            (
                "十香词冤案指的是什么事件？",
                "德文名字的意思是什么？",
                false,
            ),
            ("没办法还没出名", "李紫晴是不是认识？", false),
            ("怕被她拒绝", "怕被那个女孩子拒绝", true),
            ("它翻译了什么？", "玛丽·麦特琳得过什么奖项？", false),
            (
                "它的花冠是什么颜色的？",
                "香港杜鹃的别称是什么？它的花冠是什么颜色的？",
                false,
            ),
            ("那后天呢？", "上海后天天气怎么样", true),
            ("什么牌子", "什么牌子的冰红茶？", true),
            (
                "Did he win anything in 1985?",
                "did Vanilla Ice win anything in 1985",
                true,
            ),
            (
                "How many carriers does it support?",
                "How many carriers are supported by CA?",
                true,
            ),
            (
                "Which outbreak was associated with troops?",
                "Where is Energiprojekt based?",
                false,
            ),
            ("And then?", "What came after the war?", true),
        ];
        for (question, completed, expected) in table {
            assert_eq!(
                asks_the_same(completed, question),
                expected,
                "{question} -> {completed}"
            );
        }
    }

    #[test]
    fn signs_and_case_change_nothing() {
        assert!(is_as_written("好吃？", "好吃"));
        assert!(is_as_written("Was it Successful", "was it successful?"));
        assert!(!is_as_written("馄饨好吃", "好吃"));
    }
}
