//! Questions that put something else in the place of what was asked for: 那上海呢, 下行呢.

use tributary_schemas::ask::Round;
use tributary_taxonomy::Analyzer;

use super::ellipsis::{BARE, bare};
use super::sentence::{Sentence, Word};
use super::topic::{Phrase, phrases};
use crate::understand::rules::follow_up::{Completion, UNSURE};
use crate::understand::rules::language;

/// Beginnings with which a question puts something else in the place of what was asked for.
const CONTRAST_BEGINNINGS: [&str; 12] = [
    "那么",
    "那",
    "还有",
    "如果是",
    "如果",
    "要是",
    "换成",
    "换做",
    "换",
    "至于",
    "而",
    "再",
];
const CONTRAST_ENDS: [&str; 9] = [
    "又怎么样呢",
    "怎么样呢",
    "又如何呢",
    "呢",
    "怎么样",
    "咋样",
    "如何呢",
    "又如何",
    "又怎样",
];
const TIMES: [&str; 26] = [
    "今天",
    "明天",
    "昨天",
    "后天",
    "前天",
    "大后天",
    "今年",
    "明年",
    "去年",
    "前年",
    "本周",
    "上周",
    "下周",
    "这周",
    "上个月",
    "这个月",
    "下个月",
    "本月",
    "早上",
    "晚上",
    "上午",
    "下午",
    "中午",
    "现在",
    "周末",
    "以后",
];
const OPPOSITES: [(char, char); 16] = [
    ('上', '下'),
    ('左', '右'),
    ('前', '后'),
    ('内', '外'),
    ('主', '辅'),
    ('静', '动'),
    ('大', '小'),
    ('正', '反'),
    ('入', '出'),
    ('读', '写'),
    ('软', '硬'),
    ('单', '双'),
    ('高', '低'),
    ('长', '短'),
    ('新', '旧'),
    ('同', '异'),
];
/// What is put in the place of something, in 那上海呢: 上海.
fn other_part(asked: &str) -> Option<&str> {
    let beginning = CONTRAST_BEGINNINGS
        .iter()
        .find_map(|beginning| asked.strip_prefix(beginning));
    let rest = beginning.unwrap_or(asked);
    let end = CONTRAST_ENDS.iter().find_map(|end| rest.strip_suffix(end));
    if beginning.is_none() && end.is_none() {
        return None;
    }
    let part = end
        .unwrap_or(rest)
        .trim_matches(|sign: char| !sign.is_alphanumeric() && !"《》“”".contains(sign));
    (!part.is_empty()).then_some(part)
}

/// The last question with something else in the place of what it asked for: 那上海呢.
pub fn contrast(
    sentence: &Sentence<'_>,
    history: &[Round],
    analyzer: &Analyzer,
) -> Option<Completion> {
    let last = history.last().map(|round| bare(&round.question))?;
    let part = other_part(bare(sentence.text)).filter(|part| !BARE.contains(part))?;
    // In a question of another language nothing can be exchanged.
    if !language::is_chinese(last) && last.split_whitespace().count() > 2 {
        return Some(Completion {
            question: part.to_owned(),
            confidence: UNSURE,
        });
    }
    if let Some(question) = exchanged(last, part) {
        return Some(Completion {
            question,
            confidence: 0.85,
        });
    }
    let new = Sentence::read(part, analyzer);
    let is_name = |word: &Word<'_>| {
        word.is_nominal()
            || word.is_time()
            || matches!(word.tag.as_str(), "m" | "q" | "x" | "f" | "s" | "c" | "uj")
    };
    // 那本书呢 means a book that was spoken of.
    let points_back = new
        .words
        .first()
        .is_some_and(|word| word.tag == "q" || word.text == "个");
    let is_phrase = !points_back && new.words.iter().all(is_name) && new.words.len() <= 8;
    if !is_phrase || !new.any(|word| word.is_nominal() || word.is_time() || word.tag == "m") {
        return None;
    }
    let old = Sentence::read(last, analyzer);
    substituted(&old, &new).or_else(|| {
        Some(Completion {
            question: format!("{last} {part}"),
            confidence: UNSURE,
        })
    })
}

/// The last question with the part of the same kind exchanged.
fn substituted(old: &Sentence<'_>, new: &Sentence<'_>) -> Option<Completion> {
    let part = new.text;
    let kinds: [fn(&Word<'_>) -> bool; 3] = [
        |word| word.is_time(),
        |word| word.is_place(),
        |word| word.is_person(),
    ];
    for is_kind in kinds {
        if new.words.iter().all(is_kind)
            && let Some(old_word) = old.words.iter().find(|word| is_kind(word))
        {
            let question = old.replaced(old_word.start, old_word.end, part);
            return Some(Completion {
                question,
                confidence: 0.85,
            });
        }
    }
    let alike = old.words.iter().find(|word| is_alike(word.text, part));
    if let Some(word) = alike {
        let question = old.replaced(word.start, word.end, part);
        return Some(Completion {
            question,
            confidence: 0.8,
        });
    }
    if new.words.iter().all(Word::is_of_something) {
        let word = old.words.iter().find(|word| word.is_of_something())?;
        let question = old.replaced(word.start, word.end, part);
        return Some(Completion {
            question,
            confidence: 0.75,
        });
    }
    if new.any(|word| word.is_time()) {
        return None;
    }
    let found = phrases(old);
    let of_words = |phrase: &&Phrase, is: fn(&Word<'_>) -> bool| {
        let words = old.words.get(phrase.from..phrase.to);
        words.is_some_and(|words| words.iter().any(is))
    };
    let phrase = found
        .iter()
        .find(|phrase| of_words(phrase, |word| word.is_named()))
        .or_else(|| {
            found
                .iter()
                .find(|phrase| of_words(phrase, |word| word.is_content()))
        })?;
    let (first, last) = (old.words.get(phrase.from)?, old.words.get(phrase.to - 1)?);
    Some(Completion {
        question: old.replaced(first.start, last.end, part),
        confidence: 0.6,
    })
}

/// A day for a day, 下行 for 上行, wherever the dictionary sees borders of words.
fn exchanged(last: &str, part: &str) -> Option<String> {
    let replaced = |old: &str| last.replacen(old, part, 1);
    if TIMES.contains(&part) {
        let old = TIMES.iter().filter(|time| last.contains(**time));
        return old.max_by_key(|time| time.len()).map(|old| replaced(old));
    }
    let opposite = |sign: char| {
        let pair = OPPOSITES
            .iter()
            .find(|(left, right)| sign == *left || sign == *right)?;
        Some(if pair.0 == sign { pair.1 } else { pair.0 })
    };
    part.char_indices().find_map(|(at, sign)| {
        let after = part.get(at + sign.len_utf8()..)?;
        let old = format!("{}{}{after}", part.get(..at)?, opposite(sign)?);
        (part.chars().count() > 1 && last.contains(&old)).then(|| replaced(&old))
    })
}

/// 上行 and 下行, 静态图 and 动态图: as long, and all but one character the same.
fn is_alike(left: &str, right: &str) -> bool {
    let (count, other) = (left.chars().count(), right.chars().count());
    let same = left
        .chars()
        .zip(right.chars())
        .filter(|(left, right)| left == right)
        .count();
    count == other && count > 1 && same > 0 && same + 1 == count
}
