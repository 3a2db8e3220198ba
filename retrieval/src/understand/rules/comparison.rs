//! Questions that compare two things, split into one for each side.

/// Words between the two sides in Chinese.
const CHINESE_JOINTS: [&str; 9] = ["和", "与", "跟", "同", "以及", "相比", "还是", "比", "、"];
/// What the Chinese ones ask behind the two sides.
const CHINESE_ENDS: [&str; 25] = [
    "有什么区别",
    "有何区别",
    "有哪些区别",
    "的区别是什么",
    "的区别",
    "区别是什么",
    "区别",
    "有什么不同",
    "有何不同",
    "有哪些不同",
    "的不同点",
    "的不同",
    "有什么差别",
    "的差别",
    "的差异",
    "有什么差异",
    "的异同",
    "的优劣",
    "的对比",
    "对比",
    "比较",
    "哪个更好",
    "哪个好",
    "哪个更快",
    "有什么联系和区别",
];
const CHINESE_BEGINNINGS: [&str; 8] = [
    "请比较一下",
    "请比较",
    "请对比",
    "比较一下",
    "对比一下",
    "比较",
    "对比",
    "请问",
];
/// Beginnings of English comparisons, with the words that join the sides.
const ENGLISH_BEGINNINGS: [(&str, &[&str]); 9] = [
    ("difference between ", &[" and "]),
    ("differences between ", &[" and "]),
    ("compare ", &[" and ", " with ", " to "]),
    ("comparison of ", &[" and ", " with "]),
    ("comparison between ", &[" and "]),
    ("which is better, ", &[" or "]),
    ("which is faster, ", &[" or "]),
    ("distinguish ", &[" from ", " and "]),
    (
        "how does ",
        &[" differ from ", " compare to ", " compare with "],
    ),
];
const VERSUS: [&str; 4] = [" versus ", " vs. ", " vs ", " 对比 "];
/// Longest side, in characters: longer ones are sentences.
const LONGEST: usize = 40;

/// What is compared, and in which respect, if that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
    /// The first thing.
    pub left: String,
    /// The second one.
    pub right: String,
    /// In which respect; empty for all.
    pub respect: String,
}

/// The two sides of a comparison; `None` for any other question.
pub fn sides(question: &str) -> Option<Sides> {
    let bare =
        question.trim_matches(|sign: char| !sign.is_alphanumeric() && !"《》".contains(sign));
    let found = versus(bare)
        .or_else(|| english(bare))
        .or_else(|| chinese(bare))?;
    let is_side = |side: &str| !side.is_empty() && side.chars().count() <= LONGEST;
    let are_two = found.left != found.right;
    (is_side(&found.left) && is_side(&found.right) && are_two).then_some(found)
}

/// A question for each side.
pub fn sub_queries(question: &str) -> Vec<String> {
    let Some(sides) = sides(question) else {
        return Vec::new();
    };
    let joint = match super::language::is_chinese(question) {
        true => "",
        false => " ",
    };
    let asked = |side: String| match sides.respect.is_empty() {
        true => side,
        false => format!("{side}{joint}{}", sides.respect),
    };
    [sides.left.clone(), sides.right.clone()].map(asked).into()
}

fn versus(bare: &str) -> Option<Sides> {
    let small = bare.to_ascii_lowercase();
    let (at, joint) = VERSUS
        .iter()
        .find_map(|joint| small.find(joint).map(|at| (at, joint)))?;
    let left = bare.get(..at)?;
    let right = bare.get(at + joint.len()..)?;
    let left = left.rsplit([',', ':', '：', '，']).next()?;
    Some(Sides::of(left, right, ""))
}

fn english(bare: &str) -> Option<Sides> {
    let small = bare.to_ascii_lowercase();
    let (start, joints) = ENGLISH_BEGINNINGS.iter().find_map(|(beginning, joints)| {
        let at = small.find(beginning)?;
        Some((at + beginning.len(), *joints))
    })?;
    let rest = bare.get(start..)?;
    let small = small.get(start..)?;
    let (at, joint) = joints
        .iter()
        .find_map(|joint| small.find(joint).map(|at| (at, joint)))?;
    let (left, right) = (rest.get(..at)?, rest.get(at + joint.len()..)?);
    let (right, respect) = match right.split_once(" in terms of ") {
        Some(parts) => parts,
        None => (right, ""),
    };
    Some(Sides::of(left, right, respect))
}

fn chinese(bare: &str) -> Option<Sides> {
    let rest = CHINESE_BEGINNINGS
        .iter()
        .find_map(|beginning| bare.strip_prefix(beginning));
    let is_asked_to = rest.is_some_and(|_| bare.contains("比"));
    let rest = rest.unwrap_or(bare);
    let end = CHINESE_ENDS.iter().find_map(|end| rest.find(end));
    if end.is_none() && !is_asked_to {
        return None;
    }
    let both = rest
        .get(..end.unwrap_or(rest.len()))?
        .trim_end_matches(['之', '间']);
    let (left, right) = CHINESE_JOINTS
        .iter()
        .find_map(|joint| both.split_once(joint))?;
    let (right, respect) = match right.split_once('在') {
        Some((right, respect)) => (right, respect),
        None => (right, ""),
    };
    let respect = respect.trim_end_matches("方面").trim_end_matches("上");
    Some(Sides::of(left, right, respect))
}

impl Sides {
    fn of(left: &str, right: &str, respect: &str) -> Self {
        let clean = |text: &str| {
            let signs = |sign: char| !sign.is_alphanumeric() && !"《》+#".contains(sign);
            let text = text.trim_matches(signs);
            let text = text.strip_prefix("the ").unwrap_or(text);
            text.trim_end_matches('的').to_owned()
        };
        Self {
            left: clean(left),
            right: clean(right),
            respect: clean(respect),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_is_asked_for_by_itself() {
        let table: [(&str, &[&str]); 13] = [
            ("静态图和动态图的区别是什么？", &["静态图", "动态图"]),
            ("静态图与动态图之间有什么不同", &["静态图", "动态图"]),
            ("TDD和FDD在时延方面的区别", &["TDD时延", "FDD时延"]),
            ("请比较一下X2接口和Xn接口", &["X2接口", "Xn接口"]),
            ("SA还是NSA哪个好", &["SA", "NSA"]),
            ("TDD vs FDD", &["TDD", "FDD"]),
            (
                "What is the difference between TDD and FDD?",
                &["TDD", "FDD"],
            ),
            (
                "Compare Adam with SGD in terms of memory",
                &["Adam memory", "SGD memory"],
            ),
            ("Which is better, Adam or SGD?", &["Adam", "SGD"]),
            ("How does SA differ from NSA?", &["SA", "NSA"]),
            ("载波聚合和双连接怎么配置", &[]),
            ("比较稳定的版本是哪个", &[]),
            ("What is TDD?", &[]),
        ];
        for (question, expected) in table {
            assert_eq!(sub_queries(question), expected, "{question}");
        }
    }
}
