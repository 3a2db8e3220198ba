//! Words that begin a field of an entry, in the languages and styles of API references.

/// A field of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Description,
    Parameters,
    Inputs,
    Outputs,
    Returns,
    Raises,
    Examples,
    Notes,
    Platforms,
    References,
}

/// Labels without marks, in small letters.
const LABELS: [(Field, &[&str]); 9] = [
    (
        Field::Parameters,
        &[
            "参数",
            "参数说明",
            "关键字参数",
            "入参",
            "parameters",
            "parameter",
            "params",
            "args",
            "arguments",
            "keyword args",
            "keyword arguments",
            "other parameters",
        ],
    ),
    (Field::Inputs, &["输入", "inputs", "input"]),
    (Field::Outputs, &["输出", "outputs", "output"]),
    (
        Field::Returns,
        &[
            "返回",
            "返回值",
            "returns",
            "return",
            "return value",
            "yields",
        ],
    ),
    (
        Field::Raises,
        &[
            "异常",
            "抛出",
            "抛出异常",
            "raises",
            "exceptions",
            "throws",
            "errors",
        ],
    ),
    (
        Field::Examples,
        &[
            "样例",
            "示例",
            "例子",
            "教程样例",
            "代码示例",
            "examples",
            "example",
            "tutorial examples",
            "usage",
        ],
    ),
    (
        Field::Notes,
        &[
            "说明",
            "注意",
            "注",
            "注意事项",
            "警告",
            "note",
            "notes",
            "warning",
            "warnings",
            "caution",
            "important",
        ],
    ),
    (
        Field::Platforms,
        &[
            "支持平台",
            "supported platforms",
            "platforms",
            "availability",
        ],
    ),
    (
        Field::References,
        &["引用", "参考", "参考文献", "references", "see also", "相关"],
    ),
];

impl Field {
    /// The field that a title or label names, whatever is written around it.
    pub fn named(label: &str) -> Option<Self> {
        let label = label
            .trim()
            .trim_end_matches([':', '：'])
            .trim()
            .to_lowercase();
        let named = LABELS
            .iter()
            .find(|(_, words)| words.contains(&label.as_str()));
        named.map(|(field, _)| *field)
    }

    /// The field that a paragraph begins with in bold, and what follows on the same paragraph.
    pub fn beginning(text: &str) -> Option<(Self, &str)> {
        let (label, rest) = text.strip_prefix("**")?.split_once("**")?;
        let field = Self::named(label)?;
        Some((field, rest.trim_start_matches([':', '：']).trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_known_in_both_languages_and_styles() {
        assert_eq!(Field::named("参数："), Some(Field::Parameters));
        assert_eq!(Field::named(" Returns "), Some(Field::Returns));
        assert_eq!(Field::named("关于MNIST数据集："), None);
        assert_eq!(
            Field::beginning("**Note:** 负数输出值会被修改为0。"),
            Some((Field::Notes, "负数输出值会被修改为0。"))
        );
        assert_eq!(Field::beginning("**异常：**"), Some((Field::Raises, "")));
        assert_eq!(Field::beginning("**ReLU** is a layer"), None);
    }
}
