//! Questions that a sentence answers, known by its form: what it defines, what a thing is for, what
//! holds or is to be done under a condition, why something is so, how something is done, how much a
//! thing is and what it supports. Words of both languages are in [`super::rule_words`].

use super::clean::referents::vague_referent;
use super::rule_words::*;
use super::{Language, half_words};

/// Half words of the name of a thing, at most.
const LONGEST_NAME: usize = 12;
/// Half words of what a question takes from its sentence.
const PART: std::ops::RangeInclusive<usize> = 3..=40;

/// The questions that a sentence answers; most sentences have none.
pub fn questions(sentence: &str) -> Vec<String> {
    let rules: &[fn(&str) -> Vec<String>] = match Language::of(sentence) {
        Language::Zh => &[
            chinese_definition,
            chinese_purpose,
            chinese_aim,
            chinese_condition,
            chinese_reason,
            chinese_means,
            chinese_quantity,
            chinese_support,
        ],
        Language::En => &[
            english_definition,
            english_purpose,
            english_condition,
            english_aim,
            english_ability,
        ],
    };
    let sentence = without_end(sentence);
    let found = rules.iter().map(|rule| rule(sentence));
    let mut questions = found
        .into_iter()
        .find(|found| !found.is_empty())
        .unwrap_or_default();
    questions.retain(|question| vague_referent(question).is_none());
    questions
}

/// A sentence without the sign at its end.
pub fn without_end(sentence: &str) -> &str {
    sentence
        .trim()
        .trim_end_matches(['。', '.', '：', ':', '；', ';', '！', '!'])
}

/// What a term is, and which term something is: two questions of one sentence.
fn chinese_definition(sentence: &str) -> Vec<String> {
    parts(sentence, &CHINESE_DEFINITIONS, chinese_name)
        .map(|(term, _, rest)| vec![format!("{term}是什么？"), format!("什么是{rest}？")])
        .unwrap_or_default()
}

fn chinese_purpose(sentence: &str) -> Vec<String> {
    let Some((term, _, rest)) = parts(sentence, &CHINESE_PURPOSES, chinese_name) else {
        return Vec::new();
    };
    let mut asked = vec![format!("{term}有什么作用？")];
    let aim = first_clause(rest);
    if is_part(aim) && beginning(aim, &CHINESE_DETERMINERS).is_none() {
        asked.push(format!("用什么可以{aim}？"));
    }
    asked
}

/// "要……，先……": how it is done.
fn chinese_aim(sentence: &str) -> Vec<String> {
    let aim = beginning(sentence, &CHINESE_AIMS).and_then(|(_, rest)| rest.split_once('，'));
    aim.filter(|(aim, means)| is_part(aim) && half_words(means) >= *PART.start())
        .map(|(aim, _)| vec![format!("如何{aim}？")])
        .unwrap_or_default()
}

fn chinese_condition(sentence: &str) -> Vec<String> {
    let condition = beginning(sentence, &CHINESE_CONDITIONS);
    // 当前 is no condition.
    let Some((word, rest)) = condition.filter(|(_, rest)| !rest.starts_with('前')) else {
        return Vec::new();
    };
    let Some((condition, consequence)) = rest.split_once('，') else {
        return Vec::new();
    };
    let condition = condition.trim_end_matches("的话");
    if !is_part(condition) || half_words(consequence) < *PART.start() {
        return Vec::new();
    }
    let is_advice = CHINESE_ADVICE.iter().any(|word| consequence.contains(word));
    let asked = if is_advice { "怎么办" } else { "会怎样" };
    vec![match word {
        "当" => format!("{condition}{asked}？"),
        _ => format!("{word}{condition}，{asked}？"),
    }]
}

fn chinese_reason(sentence: &str) -> Vec<String> {
    let behind = beginning(sentence, &CHINESE_REASONS)
        .and_then(|(_, rest)| rest.split_once('，'))
        .map(|(_, consequence)| consequence);
    let consequence = behind
        .map(|behind| beginning(behind, &CHINESE_CONSEQUENCES).map_or(behind, |(_, rest)| rest));
    consequence
        .map(first_clause)
        .filter(|consequence| is_part(consequence))
        .map(|consequence| vec![format!("为什么{consequence}？")])
        .unwrap_or_default()
}

fn chinese_means(sentence: &str) -> Vec<String> {
    let rest = beginning(sentence, &CHINESE_MEANS).map(|(_, rest)| rest);
    rest.and_then(|rest| first_of(&CHINESE_ENDS, rest))
        .filter(|(means, _, _)| is_chinese_phrase(means) && half_words(means) > 0)
        .map(|(_, _, aim)| first_clause(aim.trim_start_matches(['来', '，'])))
        .filter(|aim| is_part(aim))
        .map(|aim| vec![format!("如何{aim}？")])
        .unwrap_or_default()
}

fn chinese_quantity(sentence: &str) -> Vec<String> {
    let asked = CHINESE_QUANTITIES.iter().find_map(|(word, asks)| {
        let (term, rest) = sentence.split_once(word)?;
        let rest = rest.trim_start();
        let is_number = rest.starts_with(|sign: char| sign.is_ascii_digit());
        Some(format!(
            "{}{asks}",
            chinese_name(term).filter(|_| is_number)?
        ))
    });
    asked.into_iter().collect()
}

fn chinese_support(sentence: &str) -> Vec<String> {
    let asked = CHINESE_SUPPORTS.iter().find_map(|(word, asks)| {
        let (term, rest) = sentence.split_once(word)?;
        let is_told = half_words(rest) >= 2;
        Some(format!("{}{asks}", chinese_name(term).filter(|_| is_told)?))
    });
    asked.into_iter().collect()
}

/// What something is, with its article, and which thing something is.
fn english_definition(sentence: &str) -> Vec<String> {
    let Some((term, word, rest)) = parts(sentence, &ENGLISH_DEFINITIONS, english_name) else {
        return Vec::new();
    };
    let asks = match word.trim() {
        "refers to" | "means" => format!("What is meant by {rest}?"),
        verb => format!("What {verb} {rest}?"),
    };
    let is = if word == " are a " { "are" } else { "is" };
    vec![format!("What {is} {}?", with_small_article(term)), asks]
}

fn english_purpose(sentence: &str) -> Vec<String> {
    let Some((term, word, rest)) = parts(sentence, &ENGLISH_PURPOSES, english_name) else {
        return Vec::new();
    };
    let be = if word.starts_with(" are") {
        "are"
    } else {
        "is"
    };
    let term = with_small_article(term);
    let asked = match word.trim() {
        "is responsible for" => format!("What is {term} responsible for?"),
        "is designed to" => format!("What is {term} designed to do?"),
        _ => format!("What {be} {term} used for?"),
    };
    vec![asked, format!("What {} {rest}?", word.trim())]
}

fn english_condition(sentence: &str) -> Vec<String> {
    let asked = beginning(sentence, &ENGLISH_CONDITIONS).and_then(|(word, rest)| {
        let (condition, consequence) = rest.split_once(", ")?;
        let consequence = consequence.strip_prefix("then ").unwrap_or(consequence);
        let is_told = half_words(consequence) >= *PART.start();
        let is_clear = beginning(condition, &ENGLISH_REFERENTS).is_none();
        (is_told && is_clear && is_part(condition)).then(|| {
            let padded = format!("{} ", consequence.to_lowercase());
            let is_advice = ENGLISH_ADVICE
                .iter()
                .any(|advice| match advice.starts_with(' ') {
                    true => padded.contains(advice),
                    false => padded.starts_with(advice),
                });
            let asks = if is_advice {
                "What should be done"
            } else {
                "What happens"
            };
            format!("{asks} {}{condition}?", word.to_lowercase())
        })
    });
    asked.into_iter().collect()
}

/// "To do this, do that."
fn english_aim(sentence: &str) -> Vec<String> {
    let aim = sentence
        .strip_prefix("To ")
        .and_then(|rest| rest.split_once(", "));
    aim.filter(|(aim, means)| is_part(aim) && half_words(means) >= *PART.start())
        .map(|(aim, _)| vec![format!("How to {aim}?")])
        .unwrap_or_default()
}

fn english_ability(sentence: &str) -> Vec<String> {
    if let Some((_, word, rest)) = parts(sentence, &ENGLISH_ENABLES, english_name) {
        return vec![format!("What{word}{}?", first_clause(rest))];
    }
    parts(sentence, &[" supports "], english_name)
        .map(|(term, _, _)| vec![format!("What does {} support?", with_small_article(term))])
        .unwrap_or_default()
}

/// A name, the word that stands first behind it, and the rest of the sentence.
fn parts<'a>(
    sentence: &'a str,
    words: &[&'a str],
    name: fn(&str) -> Option<&str>,
) -> Option<(&'a str, &'a str, &'a str)> {
    let (before, word, rest) = first_of(words, sentence)?;
    let rest = rest.trim();
    let term = name(before)?;
    is_part(rest).then_some((term, word, rest))
}

/// What stands before and behind the word that comes first; of several at one place, the longest.
fn first_of<'a>(words: &[&'a str], sentence: &'a str) -> Option<(&'a str, &'a str, &'a str)> {
    let places = words
        .iter()
        .filter_map(|word| Some((sentence.find(word)?, std::cmp::Reverse(word.len()), *word)));
    let (at, _, word) = places.min()?;
    Some((sentence.get(..at)?, word, sentence.get(at + word.len()..)?))
}

fn beginning<'a>(sentence: &'a str, words: &[&'a str]) -> Option<(&'a str, &'a str)> {
    let found = words
        .iter()
        .find_map(|word| Some((*word, sentence.strip_prefix(word)?)));
    found.map(|(word, rest)| (word, rest.trim_start()))
}

/// The words before a verb, if they name a thing.
fn chinese_name(term: &str) -> Option<&str> {
    let term = term.trim().trim_end_matches(['，', '可', '以']).trim();
    let term = beginning(term, &CHINESE_TIMES).map_or(term, |(_, term)| term);
    let says_enough =
        half_words(term) >= *PART.start() || term.contains(|sign: char| sign.is_ascii_alphabetic());
    let is_clause = beginning(term, &CHINESE_CONDITIONS).is_some();
    (says_enough && !is_clause && is_chinese_phrase(term) && is_name(term)).then_some(term)
}

/// Without a break inside.
fn is_chinese_phrase(term: &str) -> bool {
    !term.contains(['，', '。', '：', '、', ',', ':', '？', '；', '\n'])
}

fn english_name(term: &str) -> Option<&str> {
    let term = term.trim().trim_matches('"');
    let lower = format!(" {} ", term.to_lowercase());
    let first = lower.split_whitespace().next().unwrap_or_default();
    let is_clause = ENGLISH_CLAUSES.contains(&first)
        || ENGLISH_INSIDE.iter().any(|word| lower.contains(word))
        || ENGLISH_ADVERBS
            .iter()
            .any(|word| lower.trim_end().ends_with(word));
    let is_name = !term.contains([',', ':', ';', '(', '"', '\n']) && is_name(term);
    (is_name && !is_clause).then_some(term)
}

/// Whether words can be the name of a thing: few, and none that stands for something else.
fn is_name(term: &str) -> bool {
    let is_whole = !term.contains(['|', '=', '#']) && !term.ends_with(['是', '为', '的']);
    (1..=LONGEST_NAME).contains(&half_words(term)) && is_whole && vague_referent(term).is_none()
}

/// Whether words say enough to ask with, and are no more than one asks.
fn is_part(words: &str) -> bool {
    let is_whole = words.matches(['(', '（']).count() == words.matches([')', '）']).count();
    PART.contains(&half_words(words)) && is_whole && !words.contains("://")
}

/// Up to the first break.
fn first_clause(words: &str) -> &str {
    let words = words.trim();
    words
        .split(['，', '；', ';', ','])
        .next()
        .unwrap_or(words)
        .trim()
}

/// "The tilt" as it stands inside a sentence.
fn with_small_article(term: &str) -> String {
    let article = ["The ", "A ", "An "]
        .iter()
        .find_map(|article| Some((*article, term.strip_prefix(article)?)));
    article.map_or_else(
        || term.to_owned(),
        |(article, rest)| format!("{}{rest}", article.to_lowercase()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_asked_for_what_its_form_says() {
        let cases: [(&str, &[&str]); 26] = [
            (
                "流水线并行是一种将模型按层切分的并行方式。",
                &["流水线并行是什么？", "什么是将模型按层切分的并行方式？"],
            ),
            (
                "调度器主要用于分配时间片，也统计时间。",
                &["调度器有什么作用？", "用什么可以分配时间片？"],
            ),
            (
                "如果日志盘已满，需要先清理旧的段。",
                &["如果日志盘已满，怎么办？"],
            ),
            (
                "当小区处于休眠状态时，基站停止下行发射。",
                &["小区处于休眠状态时会怎样？"],
            ),
            (
                "由于缓存没有刷新，因此新配置不会立即生效。",
                &["为什么新配置不会立即生效？"],
            ),
            (
                "可以通过参数服务器来扩展训练规模。",
                &["如何扩展训练规模？"],
            ),
            ("最大发射功率为23 dBm。", &["最大发射功率是多少？"]),
            ("重试次数默认为 5，可以修改。", &["重试次数默认是多少？"]),
            ("边缘网关仅支持两种加密算法。", &["边缘网关支持什么？"]),
            ("若要更换证书，请先停止网关。", &["如何更换证书？"]),
            ("当前环境变量为 3 个。", &["环境变量是多少？"]),
            ("设置用于所有节点。", &[]),
            ("更新服务是用于下载补丁的程序。", &[]),
            ("它用于计算评分。", &[]),
            ("如果这样，则需要先清理旧的段。", &[]),
            ("今天天气很好，我们去散步。", &[]),
            (
                "The tilt sensor is a device that measures angles.",
                &[
                    "What is the tilt sensor?",
                    "What is a device that measures angles?",
                ],
            ),
            (
                "A watermark is used to find late records.",
                &[
                    "What is a watermark used for?",
                    "What is used to find late records?",
                ],
            ),
            (
                "If the disk is full, you should remove old segments.",
                &["What should be done if the disk is full?"],
            ),
            (
                "When a leader fails, the replicas choose another one.",
                &["What happens when a leader fails?"],
            ),
            (
                "To rotate the keys, restart the broker with both files.",
                &["How to rotate the keys?"],
            ),
            (
                "The console lets you compare two runs.",
                &["What lets you compare two runs?"],
            ),
            (
                "The gateway supports two ciphers only.",
                &["What does the gateway support?"],
            ),
            (
                "In determining whether a product is a consumer product, doubt counts.",
                &[],
            ),
            (
                "\"Copyright\" also means copyright-like laws of other works.",
                &[],
            ),
            ("If it fails, you should try the other port.", &[]),
        ];
        for (sentence, asked) in cases {
            assert_eq!(questions(sentence), asked, "{sentence}");
        }
    }
}
