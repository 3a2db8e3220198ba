//! Questions that leave out what was said before: 为什么, 怎么配置, 有哪些参数.

use tributary_schemas::ask::Round;

use super::sentence::{Sentence, Word};
use super::topic::Topic;
use crate::understand::rules::follow_up::Completion;

/// Questions that mean nothing alone, without signs and 呢.
pub const BARE: [&str; 30] = [
    "为什么",
    "为啥",
    "为何",
    "怎么做",
    "怎么办",
    "怎么弄",
    "怎么用",
    "怎么配置",
    "原因",
    "然后",
    "还有",
    "还有吗",
    "其他的",
    "其它的",
    "什么意思",
    "具体",
    "详细说说",
    "举个例子",
    "举例说明",
    "什么时候",
    "在哪",
    "在哪里",
    "哪里",
    "多少钱",
    "多少",
    "是什么",
    "是谁",
    "有哪些",
    "有什么",
    "怎么解决",
];
/// Bare questions that are about the whole of the last question, not about its topic.
const OF_THE_WHOLE: [&str; 13] = [
    "为什么",
    "为啥",
    "为何",
    "原因",
    "然后",
    "还有",
    "还有吗",
    "其他的",
    "其它的",
    "具体",
    "详细说说",
    "举个例子",
    "举例说明",
];
/// Words that begin the predicate of a question whose subject is left out, also with nouns behind.
const SUBJECTLESS: [&str; 35] = [
    "有哪",
    "有何",
    "有着",
    "分布在",
    "为什么被",
    "是什么时候",
    "是何时",
    "是哪一年",
    "是哪年",
    "是在",
    "是由",
    "是怎么",
    "是如何",
    "是因为",
    "是为了",
    "是多少",
    "是几",
    "是否",
    "被",
    "位于",
    "属于",
    "坐落",
    "成立于",
    "出生于",
    "毕业于",
    "由谁",
    "由哪",
    "由什么",
    "有哪些",
    "有什么",
    "有多少",
    "有几",
    "支持哪些",
    "支持什么",
    "需要哪些",
];
/// Words that may stand before the subject.
const PARTICLES: [&str; 23] = [
    "那么",
    "那",
    "而且",
    "或者",
    "是啊",
    "是吗",
    "是的",
    "对啊",
    "对呀",
    "对的",
    "哈哈哈",
    "哈哈",
    "嗯",
    "哦",
    "但是",
    "可是",
    "所以",
    "因为",
    "不过",
    "请问",
    "咦",
    "然后",
    "难道",
];

/// The question with what it leaves out; `None` where it leaves out nothing that is known.
pub fn complete(
    sentence: &Sentence<'_>,
    history: &[Round],
    topics: &[Topic],
) -> Option<Completion> {
    let last = history.last().map(|round| bare(&round.question))?;
    let asked = bare(sentence.text);
    whole(asked, last)
        .or_else(|| object(sentence, topics))
        .or_else(|| subject(sentence, asked, topics))
}

/// Without spaces and signs at its end.
pub fn bare(text: &str) -> &str {
    let is_sign =
        |character: char| !character.is_alphanumeric() && !"》”」』)）".contains(character);
    text.trim().trim_end_matches(is_sign)
}

/// 为什么 behind a whole question.
fn whole(asked: &str, last: &str) -> Option<Completion> {
    let question = asked.trim_end_matches('呢').trim_start_matches("那");
    if !OF_THE_WHOLE.contains(&question) || last.is_empty() {
        return None;
    }
    let statement = last.trim_end_matches(['吗', '呢', '吧']);
    let question = match (question, last.ends_with('吗')) {
        ("为什么" | "为啥" | "为何", true) => format!("为什么{statement}"),
        _ => format!("{last} {asked}"),
    };
    Some(Completion {
        question,
        confidence: 0.5,
    })
}

/// Puts the topic before a predicate without a subject.
fn subject(sentence: &Sentence<'_>, asked: &str, topics: &[Topic]) -> Option<Completion> {
    let at = behind_particles(sentence);
    let (_, first) = sentence.next(at)?;
    let predicate = asked.get(first.start..)?;
    let is_bare = BARE.contains(&predicate.trim_end_matches(['呢', '啊', '呀']));
    let is_subjectless = says_what_it_is(predicate)
        || SUBJECTLESS
            .iter()
            .any(|beginning| predicate.starts_with(beginning));
    let begins_with_attribute = first.is_of_something();
    let speaks_of_itself = sentence.any(|word| word.is_content());
    let has_name = sentence.any(|word| word.is_named());
    let has_subject = sentence.words.iter().any(is_subject_pronoun);
    let leaves_out = is_bare
        || (is_subjectless && !starts_with_name(first))
        || (begins_with_attribute && !has_name && !speaks_of_itself)
        || (!speaks_of_itself && !has_subject && is_predicate(sentence, first));
    let topic = topics.first().filter(|_| leaves_out)?;
    let joint = if begins_with_attribute { "的" } else { "" };
    let name = format!("{}{joint}", topic.text);
    Some(Completion {
        question: sentence.replaced(first.start, first.start, &name),
        confidence: if topic.is_named { 0.75 } else { 0.55 },
    })
}

/// 是一种猎兔犬: a sentence that only says what something is.
fn says_what_it_is(predicate: &str) -> bool {
    const OTHERWISE: [&str; 15] = [
        "是", "否", "不", "谁", "什么", "哪", "啊", "的", "呀", "吗", "吧", "么", "啥", "因", "我",
    ];
    predicate.strip_prefix('是').is_some_and(|rest| {
        !rest.is_empty() && !OTHERWISE.iter().any(|word| rest.starts_with(word))
    })
}

fn starts_with_name(first: &Word<'_>) -> bool {
    first.is_named()
}

fn is_subject_pronoun(word: &Word<'_>) -> bool {
    matches!(
        word.text,
        "我" | "你" | "您" | "我们" | "你们" | "咱们" | "谁" | "大家" | "人家"
    )
}

/// A predicate, and no greeting or interjection.
fn is_predicate(sentence: &Sentence<'_>, first: &Word<'_>) -> bool {
    let is_verbal = |word: &Word<'_>| {
        matches!(word.tag.chars().next(), Some('v' | 'a' | 'z')) || word.text == "是"
    };
    let asks = [
        "怎么",
        "如何",
        "怎样",
        "为什么",
        "什么",
        "多少",
        "几",
        "哪",
        "吗",
        "多",
    ];
    let is_question = asks.iter().any(|word| sentence.text.contains(word));
    let is_short = sentence
        .words
        .iter()
        .filter(|word| word.has_letters())
        .count()
        <= 8;
    let is_predicate = is_verbal(first)
        || first.is_time()
        || matches!(first.tag.chars().next(), Some('r' | 'd' | 'p' | 'm' | 'y'));
    is_short && is_predicate && (is_question || sentence.any(is_verbal))
}

/// The word behind words that only begin to talk.
fn behind_particles(sentence: &Sentence<'_>) -> usize {
    let mut rest = sentence.text;
    while let Some(after) = PARTICLES.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = after.trim_start_matches(|sign: char| !sign.is_alphanumeric());
    }
    let start = sentence.text.len() - rest.len();
    let begins = sentence.words.iter().take_while(|word| word.start < start);
    begins.count()
}

/// 你知道吗, 我也喜欢: puts the topic behind the verb.
fn object(sentence: &Sentence<'_>, topics: &[Topic]) -> Option<Completion> {
    const TRANSITIVE: [&str; 24] = [
        "觉得",
        "打",
        "喜欢",
        "知道",
        "认识",
        "看过",
        "听过",
        "吃",
        "玩",
        "看",
        "听",
        "买",
        "用",
        "用过",
        "了解",
        "听说过",
        "会",
        "爱",
        "讨厌",
        "想吃",
        "想要",
        "见过",
        "教",
        "懂",
    ];
    if sentence.any(|word| word.is_content()) {
        return None;
    }
    let verb = sentence
        .words
        .iter()
        .rposition(|word| TRANSITIVE.contains(&word.text))?;
    let is_end = |word: &Word<'_>| {
        !word.has_letters()
            || matches!(word.tag.as_str(), "y" | "ul" | "ug" | "uz")
            || matches!(
                word.text,
                "吗" | "吧" | "呢" | "了" | "过" | "没" | "啊" | "呀" | "怎么样" | "咋样" | "如何"
            )
    };
    let rest = sentence.words.get(verb + 1..)?;
    if !rest.iter().all(is_end) {
        return None;
    }
    let aspect = rest
        .iter()
        .take_while(|word| matches!(word.text, "过" | "了"))
        .count();
    let end = sentence.words.get(verb + aspect)?.end;
    let topic = topics.first()?;
    Some(Completion {
        question: sentence.replaced(end, end, &topic.text),
        confidence: if topic.is_named { 0.7 } else { 0.5 },
    })
}
