//! Words that only hold a sentence together, or ask: that one of them stands nowhere says nothing
//! about a question, and a question of nothing else asks for nothing.

/// English, in small letters and in order, with what contractions leave: "doesn" and "t".
const ENGLISH: [&str; 105] = [
    "a", "about", "an", "and", "any", "are", "aren", "as", "at", "be", "been", "but", "by", "can",
    "could", "couldn", "did", "didn", "do", "does", "doesn", "for", "from", "had", "has", "hasn",
    "have", "haven", "her", "here", "his", "how", "i", "if", "in", "into", "is", "isn", "it",
    "its", "just", "ll", "many", "may", "me", "might", "much", "must", "my", "no", "not", "of",
    "on", "or", "our", "please", "re", "s", "shall", "she", "should", "shouldn", "so", "some",
    "such", "t", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "to", "too", "us", "ve", "very", "was", "wasn", "we", "were", "weren", "what",
    "whatever", "when", "where", "whether", "which", "who", "whom", "whose", "why", "will", "with",
    "without", "would", "wouldn", "yes", "you", "your",
];

/// Chinese as the analyzer cuts it, in order.
const CHINESE: [&str; 129] = [
    "一下",
    "一个",
    "一些",
    "一种",
    "不",
    "与",
    "个",
    "为",
    "为什么",
    "为何",
    "么",
    "之",
    "也",
    "了",
    "于",
    "什么",
    "什么样",
    "从",
    "他",
    "以",
    "以及",
    "们",
    "会",
    "但",
    "但是",
    "何",
    "何人",
    "何地",
    "何处",
    "何年",
    "何时",
    "何种",
    "你",
    "做什么",
    "关于",
    "其",
    "几",
    "几个",
    "几种",
    "到",
    "又",
    "及",
    "及其",
    "可以",
    "可否",
    "可能",
    "各",
    "向",
    "吗",
    "否",
    "吧",
    "呢",
    "和",
    "哪",
    "哪一个",
    "哪个",
    "哪些",
    "哪儿",
    "哪几个",
    "哪几种",
    "哪种",
    "哪里",
    "啊",
    "因为",
    "在",
    "地",
    "多久",
    "多大",
    "多少",
    "多长",
    "多高",
    "她",
    "如何",
    "如果",
    "它",
    "对",
    "就",
    "已",
    "干什么",
    "并",
    "应该",
    "很",
    "得",
    "必须",
    "怎",
    "怎么",
    "怎么样",
    "怎样",
    "我",
    "或",
    "或者",
    "所",
    "所以",
    "才",
    "把",
    "是",
    "是什么",
    "是否",
    "有",
    "有哪些",
    "有没有",
    "某",
    "此",
    "每",
    "由",
    "由于",
    "的",
    "着",
    "而",
    "而且",
    "能",
    "能否",
    "被",
    "要",
    "该",
    "请",
    "请问",
    "谁",
    "过",
    "还",
    "还是",
    "这",
    "这个",
    "这些",
    "那",
    "那个",
    "那些",
    "都",
    "需要",
];

/// Words that are made of them and say something.
const OF_THEIR_OWN: [&str; 5] = ["几何", "会所", "与会", "得到", "着地"];

/// Bytes of a word that is tried to be made of them.
const LONGEST: usize = 24;

/// What asks, and is followed by what is counted or asked for.
const ASKING: [&str; 8] = ["什么", "几", "哪", "哪一", "哪些", "哪几", "多少", "多长"];

/// What is counted or asked for behind [`ASKING`]: the two together are a word that only asks
/// (哪一年, 几次, 多长时间), each of them alone is not.
const ASKED: [&str; 40] = [
    "人", "件", "位", "倍", "分钟", "名", "周", "地方", "场", "处", "天", "家", "小时", "层", "届",
    "岁", "年", "座", "张", "支", "方面", "日", "时", "时候", "时间", "月", "期", "本", "条", "样",
    "次", "步", "段", "点", "种", "章", "类", "节", "页", "项",
];

/// Whether a word or token is one of them, or made of nothing else, as 哪几 is, or asks for a
/// number, a place or a time, as 哪一年 does.
pub fn is_function_word(word: &str) -> bool {
    let small = word.to_lowercase();
    ENGLISH.binary_search(&small.as_str()).is_ok() || is_made_of_them(&small) || asks(&small)
}

fn asks(word: &str) -> bool {
    ASKING.iter().any(|asking| {
        word.strip_prefix(asking)
            .is_some_and(|rest| ASKED.binary_search(&rest).is_ok())
    })
}

fn is_made_of_them(word: &str) -> bool {
    if word.len() > LONGEST || OF_THEIR_OWN.contains(&word) {
        return false;
    }
    let ends = word.char_indices().map(|(at, _)| at).skip(1);
    let mut parts = ends.chain([word.len()]).map(|end| word.split_at(end));
    parts.any(|(part, rest)| {
        CHINESE.binary_search(&part).is_ok() && (rest.is_empty() || is_made_of_them(rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_hold_a_sentence_together_are_known() {
        assert!(ENGLISH.is_sorted() && CHINESE.is_sorted() && ASKED.is_sorted());
        for word in [
            "How",
            "the",
            "t",
            "的",
            "哪几",
            "有什么",
            "多少",
            "哪一年",
            "几次",
            "干什么",
            "哪些地方",
        ] {
            assert!(is_function_word(word), "{word}");
        }
        for word in [
            "part",
            "Kubernetes",
            "锁",
            "载波聚合",
            "38.331",
            "C",
            "3",
            "几何",
            "年",
            "多层",
        ] {
            assert!(!is_function_word(word), "{word}");
        }
    }
}
