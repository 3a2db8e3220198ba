//! What a Chinese question is about: its subject, which the dictionary often does not know as one
//! word (黄足笛鲷在哪里栖息), and what it puts up for talk (你知道活着吗).

use tributary_taxonomy::Analyzer;

use super::sentence::Sentence;

/// Longest name, in characters.
const LONGEST: usize = 20;
/// Longest name that a question puts up for talk: longer ones are sentences.
const LONGEST_INTRODUCED: usize = 12;
/// Beginnings of questions behind which stands what they are about.
const INTRODUCTIONS: [&str; 30] = [
    "你知道不知道",
    "你知道",
    "你认识",
    "认不认识",
    "你看过",
    "你听过",
    "你听说过",
    "你喜欢",
    "你觉得",
    "你了解",
    "你会玩",
    "知道",
    "认识",
    "看过",
    "听说过",
    "什么是",
    "何为",
    "啥是",
    "介绍一下",
    "请介绍一下",
    "请介绍",
    "解释一下",
    "请解释一下",
    "请解释",
    "讲讲",
    "说说",
    "如何看待",
    "怎么评价",
    "你怎么评价",
    "谈谈",
];
/// Ends of questions before which it stands.
const INTRODUCED_ENDS: [&str; 18] = [
    "你知道吗",
    "知道吗",
    "看过吗",
    "听过么",
    "听过吗",
    "怎么样",
    "是什么意思",
    "什么意思",
    "是什么东西",
    "是什么",
    "是啥",
    "是谁",
    "吗",
    "么",
    "嘛",
    "不",
    "没有",
    "没",
];
/// What makes a text more than a name.
const NO_NAME: [&str; 12] = [
    "，", ",", "的", "是", "什么", "怎么", "你", "我", "这", "那", "可以", "可能",
];
/// Beginnings of what stands before the subject, up to a comma.
const BEFORE_SUBJECT: [&str; 12] = [
    "在", "据", "根据", "除了", "为了", "当", "随着", "由于", "自从", "自", "从", "对于",
];
/// Words that may stand right before the subject.
const OPENINGS: [&str; 9] = [
    "请问", "那么", "虽然", "据信", "目前", "现在", "如今", "其中", "那",
];
/// Words with which the predicate begins, wherever the dictionary sees borders of words.
const PREDICATES: [&str; 46] = [
    "是",
    "的",
    "在",
    "有",
    "被",
    "由",
    "什么",
    "怎么",
    "怎样",
    "如何",
    "为何",
    "为什么",
    "为",
    "哪",
    "何",
    "几",
    "多少",
    "谁",
    "属于",
    "隶属",
    "位于",
    "又名",
    "又称",
    "主要",
    "一共",
    "总共",
    "共",
    "曾",
    "可以",
    "用",
    "以",
    "使用",
    "生活",
    "指",
    "通常",
    "俗称",
    "获得",
    "提供",
    "分为",
    "包",
    "毗邻",
    "成立",
    "全长",
    "体长",
    "作为",
    "支持",
];
/// Ends of clauses of time and place before the subject: 新中国成立后，…
const CLAUSE_ENDS: [char; 7] = ['后', '前', '时', '中', '里', '下', '间'];
const COMMAS: [char; 4] = ['，', ',', '。', '？'];

/// What a question puts up for talk: 活着 in 你知道活着吗, 载波聚合 in 什么是载波聚合.
pub fn introduced(text: &str) -> Option<&str> {
    let is_sign = |sign: char| !sign.is_alphanumeric() && !"》”」』)）".contains(sign);
    let text = text.trim_end_matches(is_sign);
    let behind = INTRODUCTIONS
        .iter()
        .find_map(|beginning| text.strip_prefix(beginning));
    let rest = behind.unwrap_or(text);
    let before = INTRODUCED_ENDS
        .iter()
        .find_map(|end| rest.strip_suffix(end));
    let topic = before.or(behind)?;
    let length = topic.chars().count();
    let is_word = !topic.ends_with(['什', '怎', '这', '那', '要', '多']);
    let is_name = is_word && !NO_NAME.iter().any(|word| topic.contains(word));
    (is_name && (2..=LONGEST_INTRODUCED).contains(&length)).then_some(topic)
}

/// The subject of a question: what stands before its predicate.
pub fn subject<'a>(text: &'a str, analyzer: &Analyzer) -> Option<&'a str> {
    let clause = clause(text);
    let sentence = Sentence::read(clause, analyzer);
    let first = sentence.words.first()?;
    if first.tag == "r" || PREDICATES.iter().any(|word| clause.starts_with(word)) {
        return None;
    }
    let by_word = PREDICATES.iter().filter_map(|word| clause.find(word)).min();
    let by_tag = sentence.words.iter().skip(1).find(|word| {
        let is_long = word.text.chars().count() > 1;
        let begins_predicate = match word.tag.chars().next() {
            Some('v') => word.tag == "v" && is_long,
            Some('d' | 'c') => is_long,
            Some('r' | 'p' | 'u') => true,
            _ => false,
        };
        // 载波聚合怎么配置: a verb right before the predicate belongs to the noun.
        let is_of_noun = word.tag == "v" && by_word == Some(word.end);
        (begins_predicate && !is_of_noun) || COMMAS.iter().any(|comma| word.text.contains(*comma))
    });
    let end = match (by_word, by_tag.map(|word| word.start)) {
        (Some(left), Some(right)) => left.min(right),
        (left, right) => left.or(right)?,
    };
    let subject = clause.get(..end)?.trim();
    let length = subject.chars().count();
    let is_generic = sentence
        .words
        .iter()
        .take_while(|word| word.end <= end)
        .all(|word| word.is_generic() || word.is_of_something() || word.is_time());
    ((2..=LONGEST).contains(&length) && !is_generic).then_some(subject)
}

/// The question without what stands before its subject.
fn clause(text: &str) -> &str {
    let text = text.trim();
    let has_before = BEFORE_SUBJECT.iter().any(|word| text.starts_with(word));
    let text = match text.split_once(['，', ',']) {
        Some((before, after)) if has_before || before.ends_with(CLAUSE_ENDS) => after,
        _ => text,
    };
    let opening = OPENINGS.iter().find_map(|word| text.strip_prefix(word));
    let text = opening.unwrap_or(text);
    // 1785年, 2009 年 8 月
    let is_of_date = |sign: char| sign.is_ascii_digit() || "年月日代 ，,".contains(sign);
    match text.starts_with(|sign: char| sign.is_ascii_digit()) && text.contains('年') {
        true => text.trim_start_matches(is_of_date),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tributary_taxonomy::{AnalyzerConfig, Lexicon};

    use super::*;

    #[test]
    fn the_subject_stands_before_the_predicate() {
        let config = AnalyzerConfig {
            guess_words: true,
            sub_words: true,
            term_words: true,
            english_stems: true,
        };
        let analyzer = Analyzer::new(&config, Lexicon::empty()).unwrap();
        let table = [
            ("黄足笛鲷在哪里栖息？", Some("黄足笛鲷")),
            ("庆大霉素主要被用来治疗什么？", Some("庆大霉素")),
            (
                "1785年詹姆斯·赫顿向学会提交了什么论文？",
                Some("詹姆斯·赫顿"),
            ),
            (
                "在1980年代，华沙证券交易所有多少家公司？",
                Some("华沙证券交易所"),
            ),
            ("有哪些参数", None),
            ("它的作者是谁", None),
            ("你好", None),
        ];
        for (question, expected) in table {
            assert_eq!(subject(question, &analyzer), expected, "{question}");
        }
        let table = [
            ("你知道活着吗", Some("活着")),
            ("什么是载波聚合？", Some("载波聚合")),
            ("载波聚合是什么意思", Some("载波聚合")),
            ("你的名字是什么", None),
            ("北京今天下雨", None),
        ];
        for (question, expected) in table {
            assert_eq!(introduced(question), expected, "{question}");
        }
    }
}
