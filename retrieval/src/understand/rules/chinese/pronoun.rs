//! Pronouns and what they stand for: 它, 他们, 这个, 该协议, 其作者.

use super::sentence::{Sentence, Word};
use super::topic::{Kind, Topic, best};
use crate::understand::rules::follow_up::Completion;

const PERSONAL: [(&str, Kind); 9] = [
    ("他", Kind::Person),
    ("她", Kind::Person),
    ("它", Kind::Thing),
    ("牠", Kind::Thing),
    ("他们", Kind::Person),
    ("她们", Kind::Person),
    ("它们", Kind::Thing),
    ("他俩", Kind::Person),
    ("其", Kind::Thing),
];
const PLACES: [&str; 7] = ["这里", "那里", "这儿", "那儿", "当地", "此地", "该地"];
const DEMONSTRATIVES: [&str; 18] = [
    "这", "那", "这个", "那个", "该", "此", "这种", "那种", "这款", "那款", "这些", "那些", "这部",
    "那部", "这家", "那家", "这本", "那本",
];
/// Words behind 这 and 那 with which they are no pronouns.
const NO_NOUNS: [&str; 23] = [
    "情况", "情形", "条件", "场景", "方式", "意义", "时候", "时", "天", "年", "月", "样", "么",
    "次", "时间", "边", "会儿", "期间", "点", "方面", "段", "阵", "回",
];
/// Words behind 这 and 那 of which they are the subject.
const PREDICATES: [&str; 30] = [
    "是",
    "叫",
    "有",
    "能",
    "会",
    "可以",
    "应该",
    "怎么",
    "如何",
    "怎样",
    "为什么",
    "为何",
    "属于",
    "支持",
    "需要",
    "包括",
    "包含",
    "代表",
    "表示",
    "和",
    "与",
    "跟",
    "在",
    "什么",
    "多少",
    "要",
    "不是",
    "算",
    "好",
    "都",
];

/// The question with its first pronoun replaced; `None` where none refers to the history.
pub fn complete(sentence: &Sentence<'_>, topics: &[Topic]) -> Option<Completion> {
    sentence
        .words
        .iter()
        .enumerate()
        .find_map(|(at, word)| replaced(sentence, topics, at, word))
}

fn replaced(
    sentence: &Sentence<'_>,
    topics: &[Topic],
    at: usize,
    word: &Word<'_>,
) -> Option<Completion> {
    if has_antecedent(sentence, at) {
        return None;
    }
    if let Some((_, kind)) = PERSONAL.iter().find(|(pronoun, _)| *pronoun == word.text) {
        let topic = best(topics, *kind)?;
        return Some(personal(sentence, at, word, topic));
    }
    if word.text == "里面" && begins_object(sentence, at) {
        let topic = best(topics, Kind::Thing)?;
        let question = sentence.replaced(word.start, word.start, &topic.text);
        return Some(Completion::of(question, topic.is_named));
    }
    if PLACES.contains(&word.text) {
        let topic = best(topics, Kind::Place).filter(|topic| topic.kind == Kind::Place)?;
        let question = sentence.replaced(word.start, word.end, &topic.text);
        return Some(Completion::of(question, topic.is_named));
    }
    if DEMONSTRATIVES.contains(&word.text) {
        return demonstrative(sentence, at, topics);
    }
    joined(sentence, word, topics)
}

/// Whether nothing that it could be in stands before a word: 里面有什么, 你喜欢里面哪个角色.
fn begins_object(sentence: &Sentence<'_>, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| sentence.words.get(at));
    before.is_none_or(|before| before.tag.starts_with('v') || !before.has_letters())
}

/// 这书 and 这首歌, where the dictionary has 这 and the noun as one word.
fn joined(sentence: &Sentence<'_>, word: &Word<'_>, topics: &[Topic]) -> Option<Completion> {
    let noun = word.text.strip_prefix(['这', '那', '该'])?;
    let is_noun = word.tag == "r" && !NO_NOUNS.contains(&noun) && !"儿里是就边些".contains(noun);
    let topic = best(topics, kind_of(noun)).filter(|_| is_noun && !noun.is_empty())?;
    Some(Completion::of(
        sentence.replaced(word.start, word.end, &topic.text),
        topic.is_named,
    ))
}

fn personal(sentence: &Sentence<'_>, at: usize, word: &Word<'_>, topic: &Topic) -> Completion {
    let owns = word.text == "其"
        && sentence
            .next(at + 1)
            .is_some_and(|(_, next)| next.is_nominal());
    let name = match owns {
        true => format!("{}的", topic.text),
        false => topic.text.clone(),
    };
    Completion::of(
        sentence.replaced(word.start, word.end, &name),
        topic.is_named,
    )
}

/// A name that stands before the pronoun in the same question is what it means.
fn has_antecedent(sentence: &Sentence<'_>, at: usize) -> bool {
    sentence.words.iter().take(at).any(Word::is_named)
}

fn demonstrative(sentence: &Sentence<'_>, at: usize, topics: &[Topic]) -> Option<Completion> {
    let word = sentence.words.get(at)?;
    let mut behind = at + 1;
    if sentence
        .words
        .get(behind)
        .is_some_and(|next| next.tag == "q")
    {
        behind += 1;
    }
    let is_noun = |at: &usize| {
        let word = sentence.words.get(*at);
        word.is_some_and(|word| word.is_nominal() || word.tag == "s")
    };
    let end = (behind..).take_while(is_noun).count() + behind;
    let noun = sentence.between(behind, end).trim();
    let next = sentence.words.get(behind).map_or("", |next| next.text);
    let is_opening =
        at == 0 && word.text == "那" && sentence.words.get(1).is_some_and(Word::is_named);
    if NO_NOUNS.contains(&next) || is_opening {
        return None;
    }
    if noun.is_empty() {
        return alone(sentence, word, behind, topics);
    }
    let of_it = sentence
        .words
        .get(behind)
        .is_some_and(Word::is_of_something);
    let topic = topics
        .iter()
        .find(|topic| topic.text.ends_with(noun))
        .or_else(|| best(topics, kind_of(noun)))?;
    let start = word.start;
    let (stop, name) = match of_it && !topic.text.ends_with(noun) {
        true => (
            sentence.words.get(behind)?.start,
            format!("{}的", topic.text),
        ),
        false => (sentence.words.get(end - 1)?.end, topic.text.clone()),
    };
    Some(Completion::of(
        sentence.replaced(start, stop, &name),
        topic.is_named,
    ))
}

/// 这是什么, 这个怎么配置, 那是谁; 那 before anything else only goes on talking.
fn alone(
    sentence: &Sentence<'_>,
    word: &Word<'_>,
    behind: usize,
    topics: &[Topic],
) -> Option<Completion> {
    let end = sentence.words.get(behind.checked_sub(1)?)?.end;
    let next = sentence.words.get(behind);
    let is_subject = match word.text {
        "那" => next.is_some_and(|next| matches!(next.text, "是" | "叫" | "个")),
        "这" | "该" | "此" => next.is_some_and(|next| PREDICATES.contains(&next.text)),
        _ => true,
    };
    if !is_subject || word.text == "该" && next.is_none_or(|next| next.text != "是") {
        return None;
    }
    let topic = best(topics, Kind::Thing)?;
    Some(Completion::of(
        sentence.replaced(word.start, end, &topic.text),
        topic.is_named,
    ))
}

fn kind_of(noun: &str) -> Kind {
    const PERSONS: [&str; 11] = [
        "人",
        "演员",
        "歌手",
        "作者",
        "导演",
        "作家",
        "球员",
        "明星",
        "男生",
        "女生",
        "小伙子",
    ];
    const PLACES: [&str; 8] = ["地方", "城市", "国家", "地区", "省", "县", "市", "景点"];
    match noun {
        noun if PERSONS.contains(&noun) => Kind::Person,
        noun if PLACES.contains(&noun) => Kind::Place,
        _ => Kind::Thing,
    }
}
