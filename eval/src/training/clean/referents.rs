//! Words that stand for something that a question does not name: 本文, 上述, "this document", "it".
//! Whoever asks such a question has the passage before them, and nobody who searches has.

/// Chinese words that are vague wherever they stand.
const CHINESE_ANYWHERE: [&str; 24] = [
    "本文",
    "本章",
    "本节",
    "本页",
    "本手册",
    "本教程",
    "本示例",
    "本例",
    "本段",
    "本篇",
    "上述",
    "上文",
    "下文",
    "前述",
    "前文",
    "上图",
    "下图",
    "上表",
    "下表",
    "上面",
    "下面",
    "如下",
    "文中",
    "文档中提到",
];
/// Chinese signs that are vague unless they are part of one of these words.
const CHINESE_SIGNS: [(char, &[&str]); 5] = [
    ('这', &[]),
    ('那', &["那么", "刹那", "支那", "那曲"]),
    ('它', &["其它", "它山"]),
    (
        '该',
        &[
            "应该",
            "该怎么",
            "该如何",
            "该用",
            "该选",
            "该不该",
            "该当",
            "活该",
        ],
    ),
    (
        '此',
        &[
            "因此",
            "此外",
            "彼此",
            "如此",
            "从此",
            "由此",
            "此类推",
            "至此",
            "此起彼伏",
        ],
    ),
];
/// Vague where something that was said must follow: `以上` is also "and more".
const CHINESE_BEFORE_NOUN: [&str; 2] = ["以上", "以下"];
const CHINESE_NOUNS: [&str; 14] = [
    "内容", "步骤", "代码", "示例", "方法", "配置", "命令", "文字", "信息", "描述", "说明", "哪",
    "参数", "表格",
];

/// English phrases that are vague wherever they stand.
const ENGLISH_ANYWHERE: [&str; 10] = [
    "the above",
    "above-mentioned",
    "aforementioned",
    "mentioned above",
    "the following",
    "the passage",
    "the given text",
    "the document",
    "this one",
    "in the text",
];
/// Pronouns that are vague at the beginning: further on, what they stand for may have been named.
const ENGLISH_PRONOUNS: [&str; 6] = ["it", "its", "they", "them", "their", "he"];
/// Words that point at something that can be seen.
const ENGLISH_POINTERS: [&str; 3] = ["this", "these", "those"];
/// Words of a question in which a pronoun has nothing to stand for.
const BEGINNING: usize = 4;
/// "that" points at something after these.
const BEFORE_THAT: [&str; 10] = [
    "is", "does", "do", "did", "was", "can", "will", "should", "of", "about",
];

/// The first word that stands for something unnamed.
pub fn vague_referent(question: &str) -> Option<String> {
    let lower = question.to_lowercase();
    chinese(&lower).or_else(|| english(question, &lower))
}

fn chinese(text: &str) -> Option<String> {
    let anywhere = CHINESE_ANYWHERE.iter().find(|word| text.contains(**word));
    if let Some(word) = anywhere {
        return Some((*word).to_owned());
    }
    for (sign, harmless) in CHINESE_SIGNS {
        let rest = harmless
            .iter()
            .fold(text.to_owned(), |rest, word| rest.replace(word, " "));
        if rest.contains(sign) {
            return Some(sign.to_string());
        }
    }
    let pairs = CHINESE_BEFORE_NOUN.iter().flat_map(|word| {
        CHINESE_NOUNS
            .iter()
            .map(move |noun| format!("{word}{noun}"))
    });
    let mut found = pairs.filter(|pair| text.contains(pair.as_str()));
    found.next().or_else(|| {
        text.starts_with('其')
            .then(|| begins_with_its(text))
            .flatten()
    })
}

/// 其 at the beginning has nothing to stand for; 其他 and the like stand for nothing.
fn begins_with_its(text: &str) -> Option<String> {
    let harmless = ["其他", "其它", "其中", "其余", "其次"];
    (!harmless.iter().any(|word| text.starts_with(word))).then(|| "其".to_owned())
}

fn english(question: &str, lower: &str) -> Option<String> {
    let words = |text: &str| -> Vec<String> {
        let is_end = |sign: char| !sign.is_alphanumeric() && !matches!(sign, '_' | '-' | '\'');
        let words = text.split(is_end).filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    };
    let joined = format!(" {} ", words(lower).join(" "));
    let anywhere = ENGLISH_ANYWHERE
        .iter()
        .find(|phrase| joined.contains(&format!(" {phrase} ")));
    if let Some(phrase) = anywhere {
        return Some((*phrase).to_owned());
    }
    // As written: IT is a department, and `this` may be a word of a programming language.
    let written = words(question);
    written.iter().enumerate().find_map(|(at, word)| {
        let before = at.checked_sub(1).and_then(|before| written.get(before));
        let next = written.get(at + 1);
        is_vague(word, at, before, next).then(|| word.to_lowercase())
    })
}

fn is_vague(word: &str, at: usize, before: Option<&String>, next: Option<&String>) -> bool {
    let is_shout = word.chars().count() > 1 && !word.chars().any(char::is_lowercase);
    if is_shout {
        return false;
    }
    let word = word.to_lowercase();
    if ENGLISH_PRONOUNS.contains(&word.as_str()) {
        return at < BEGINNING;
    }
    if ENGLISH_POINTERS.contains(&word.as_str()) {
        let is_keyword = next.is_some_and(|next| next == "pointer" || next == "keyword");
        return !is_keyword;
    }
    let points = before.is_some_and(|before| BEFORE_THAT.contains(&before.to_lowercase().as_str()));
    word == "that" && (points || next.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_stand_for_something_unnamed_are_found_and_others_are_not() {
        let cases = [
            ("本文介绍了哪些方法", Some("本文")),
            ("上述参数的默认值是多少？", Some("上述")),
            ("这个接口有什么限制", Some("这")),
            ("那是什么意思", Some("那")),
            ("它支持哪些平台", Some("它")),
            ("该函数返回什么", Some("该")),
            ("此选项的作用", Some("此")),
            ("以下哪个说法正确", Some("以下哪")),
            ("其作者是谁", Some("其")),
            ("应该如何设置学习率", None),
            ("我该怎么保存模型", None),
            ("温度在 80 度以上时会怎样", None),
            ("其他平台如何安装", None),
            ("算子除了加法还支持其它运算吗", None),
            ("如此大的模型怎么切分", None),
            ("What is this function for?", Some("this")),
            ("How does it work?", Some("it")),
            ("What does the above table show?", Some("the above")),
            ("What is the purpose of that?", Some("that")),
            ("What is meant by the document?", Some("the document")),
            (
                "Why is the loss NaN when it is scaled by a large factor?",
                None,
            ),
            ("How is an IT department informed?", None),
            ("What is a method that returns a tensor?", None),
            ("When is the this pointer null in C++?", None),
        ];
        for (question, expected) in cases {
            assert_eq!(vague_referent(question).as_deref(), expected, "{question}");
        }
    }
}
