//! What a question is about, apart from what it asks of it: of `步长调度的缺点是什么` the subject is
//! `步长调度`, and a passage about the drawbacks of something else answers nothing.

use std::collections::{BTreeMap, BTreeSet};

use tributary_schemas::ask::Source;
use tributary_taxonomy::Analyzer;
use tributary_taxonomy::language::is_chinese;

use super::words::Words;
use crate::exact_name;
use crate::function_words::is_function_word;

/// What is asked of a subject, by itself none.
const ASPECTS: &str = "缺点 优点 优缺点 优势 劣势 不足 区别 差别 不同 异同 联系 关系 作用 用途 功能 原因 原理 \
    含义 意思 定义 概念 特点 特征 条件 步骤 流程 过程 方法 方式 参数 类型 种类 分类 影响 结果 目的 例子 示例 \
    教材 课本 文档 资料 时候 地方 组成 结构 内容 情况 问题 意义 实现 主要 必要 数量 大小 时间 \
    advantage disadvantage drawback benefit difference purpose meaning definition reason cause step \
    parameter type kind example feature condition role effect use work mean happen main size number textbook book document";
/// What a passage must say of a subject, as a share of what the one says that says most.
const OF_MOST: f32 = 0.6;

/// The subject of a question.
pub struct Subject {
    words: BTreeSet<String>,
    /// Names in it, by their tokens: all of one of them must be there.
    names: Vec<Vec<String>>,
    has_identifier: bool,
}

impl Subject {
    /// Of a question; `None` where all of it is function words and aspects.
    pub fn of(question: &str, asked: &Words, analyzer: &Analyzer) -> Option<Self> {
        let mut none = Words::of(ASPECTS, analyzer).content;
        // The stem of "does" is no function word.
        let empty = exact_name::words(question).filter(|word| is_function_word(word));
        none.extend(empty.flat_map(|word| analyzer.analyze(word)));
        // A page may have more before the name: `mindspore.nn.Dense`. Its parts say the same.
        let joined = names(question).filter_map(|name| match analyzer.analyze(name).as_slice() {
            [whole, _, ..] => Some(whole.clone()),
            _ => None,
        });
        none.extend(joined);
        let words: BTreeSet<String> = asked.content.difference(&none).cloned().collect();
        if words.is_empty() {
            return None;
        }
        let has_identifier = names(question).any(exact_name::is_identifier);
        let names = names(question)
            .map(|name| parts(analyzer.analyze(name)))
            .filter(|parts| parts.iter().any(|part| words.contains(part)))
            .collect();
        Some(Self {
            words,
            names,
            has_identifier,
        })
    }

    /// Whether it is named by an identifier, which nothing else stands for.
    pub fn is_identified(&self) -> bool {
        self.has_identifier
    }

    /// Which of the passages, with the titles above them, are about it. A name in the question must
    /// stand there where there is any. Where each word stands somewhere, those are that have most of
    /// them, by rarity; else those with a name, or a word that most passages lack.
    pub fn is_of_each(&self, passages: &[Words]) -> Vec<bool> {
        let count = |word: &str| {
            let those = passages.iter().filter(|text| text.content.contains(word));
            those.count()
        };
        let counts: BTreeMap<&str, usize> = self
            .words
            .iter()
            .map(|word| (word.as_str(), count(word)))
            .collect();
        let is_complete = counts.values().all(|count| *count > 0);
        let rarity = |count: usize| (1.0 + passages.len() as f32 / count.max(1) as f32).ln();
        let there = |text: &Words| -> Vec<usize> {
            let there = counts.iter();
            let there = there.filter(|(word, _)| text.content.contains(**word));
            there.map(|(_, count)| *count).collect()
        };
        let said = |text: &Words| -> f32 { there(text).into_iter().map(rarity).sum() };
        let most = passages.iter().map(said).fold(0.0, f32::max);
        let is_about = |text: &Words| {
            let has = |word: &String| text.content.contains(word);
            let is_named =
                self.names.is_empty() || self.names.iter().any(|parts| parts.iter().all(has));
            let says_so = match is_complete {
                true => said(text) >= most * OF_MOST,
                // A name tells enough, however many passages have it.
                false if !self.names.is_empty() => true,
                false => there(text)
                    .iter()
                    .any(|count| count * 2 <= passages.len().max(2)),
            };
            is_named && says_so
        };
        passages.iter().map(is_about).collect()
    }
}

/// Words of Latin letters in a Chinese question; in others what no running text has: `LRU`, `SV39`.
fn names(question: &str) -> impl Iterator<Item = &str> {
    let is_chinese = is_chinese(question);
    exact_name::words(question).filter(move |word| {
        let capitals = word.bytes().filter(u8::is_ascii_uppercase).count();
        let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
        let is_abbreviation = letters > 1 && capitals == letters;
        let may_be_one = is_chinese && letters > 1 && !is_function_word(word);
        is_abbreviation || may_be_one || exact_name::is_identifier(word)
    })
}

/// The parts of a joined name, which follow the whole of it.
fn parts(mut tokens: Vec<String>) -> Vec<String> {
    if tokens.len() > 1 {
        tokens.remove(0);
    }
    tokens
}

/// The titles above a passage.
pub fn place(source: &Source, analyzer: &Analyzer) -> Words {
    let titles = std::iter::once(source.title.as_str());
    let titles: Vec<&str> = titles
        .chain(source.section_path.iter().map(String::as_str))
        .collect();
    Words::of(&titles.join("\n"), analyzer)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::answer::tests::analyzer;

    /// Which of the passages a question is about, by their places.
    fn about(question: &str, passages: &[&str]) -> Vec<usize> {
        let analyzer = analyzer();
        let words = |text: &str| Words::of(text, &analyzer);
        let passages: Vec<Words> = passages.iter().map(|text| words(text)).collect();
        let subject = Subject::of(question, &words(question), &analyzer).unwrap();
        let about = subject.is_of_each(&passages).into_iter().enumerate();
        about.filter(|(_, is)| *is).map(|(at, _)| at).collect()
    }

    #[test]
    fn a_passage_is_about_what_it_names() {
        let rates = "速率单调调度。因此这种算法的优点是系统消耗小，缺点是不灵活。";
        let stride = "步长调度。新进程会长时间占用处理器。";
        let deadline = "最早截止时间优先调度。";
        let all = [rates, stride, deadline];
        assert_eq!(about("步长调度的缺点是什么", &all), [1]);
        assert_eq!(about("彩票调度的缺点是什么", &all), [] as [usize; 0]);
        assert_eq!(about("CFS 调度的优点是什么", &all), [] as [usize; 0]);
        let phones = ["手机支持双卡。", "手机的屏幕。", "手机重启。"];
        assert_eq!(about("怎么给手机充电？", &phones), [] as [usize; 0]);
        assert_eq!(about("手机怎么重启？", &phones), [2]);
        let both = ["Internet2 is a consortium.", "Internet2 has members."];
        assert_eq!(about("Who did Internet2 partner with?", &both), [0, 1]);
        let mut pages = vec!["mindspore.nn.Conv2d 卷积层。"];
        pages.extend(["nn.Conv2d 的例子。"; 3]);
        assert_eq!(about("nn.Conv2d 的参数有哪些", &pages), [0, 1, 2, 3]);
        let pages = [
            "mindspore.nn.Dense 全连接层。",
            "mindspore.nn.Conv2d 卷积层。",
        ];
        assert_eq!(about("nn.Dense 怎么用", &pages), [0]);
        assert_eq!(about("nn.LSTM 怎么用", &pages), [] as [usize; 0]);
        let faults = [
            "A page fault happens when it is not mapped.",
            "Disks are slow.",
        ];
        assert_eq!(about("When does a page fault happen?", &faults), [0]);
    }

    #[test]
    fn a_question_of_aspects_alone_has_no_subject() {
        let analyzer = analyzer();
        let question = "缺点是什么";
        let words = Words::of(question, &analyzer);
        assert!(Subject::of(question, &words, &analyzer).is_none());
    }
}
