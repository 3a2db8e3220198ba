//! A Chinese sentence as words with their parts of speech, and what the rules ask of them.

use tributary_taxonomy::Analyzer;

const QUOTES: [(&str, &str); 4] = [("《", "》"), ("“", "”"), ("「", "」"), ("『", "』")];
/// Nouns that name no thing in particular.
const GENERIC: [&str; 33] = [
    "东西", "事", "事情", "人", "人家", "别人", "问题", "时候", "时间", "意思", "地方", "样子",
    "情况", "话", "方面", "里面", "上面", "下面", "这里", "那里", "大家", "自己", "感觉", "关系",
    "朋友", "小时", "有人", "名字", "答案", "例子", "内容", "部分", "时",
];
/// Nouns that say what of a thing is asked for: of which thing was said before.
const OF_SOMETHING: [&str; 72] = [
    "作者",
    "导演",
    "主角",
    "主演",
    "首都",
    "面积",
    "人口",
    "价格",
    "价钱",
    "默认值",
    "取值",
    "取值范围",
    "范围",
    "单位",
    "参数",
    "返回值",
    "语法",
    "用法",
    "作用",
    "功能",
    "用途",
    "特点",
    "特色",
    "特性",
    "特征",
    "优点",
    "缺点",
    "优势",
    "劣势",
    "优缺点",
    "区别",
    "差别",
    "不同",
    "原理",
    "原因",
    "步骤",
    "流程",
    "方法",
    "办法",
    "方式",
    "条件",
    "前提",
    "要求",
    "限制",
    "上限",
    "下限",
    "最大值",
    "最小值",
    "版本",
    "类型",
    "种类",
    "型号",
    "格式",
    "结构",
    "组成",
    "定义",
    "含义",
    "全称",
    "简称",
    "缩写",
    "英文名",
    "别名",
    "影响",
    "好处",
    "坏处",
    "风险",
    "后果",
    "结果",
    "结局",
    "性能",
    "大小",
    "长度",
];

/// A word of a sentence.
#[derive(Clone, Debug)]
pub struct Word<'a> {
    /// As written.
    pub text: &'a str,
    /// Part of speech, see [`tributary_taxonomy::SpokenWord`].
    pub tag: String,
    /// Byte where it begins.
    pub start: usize,
    /// Byte where it ends.
    pub end: usize,
}

/// A sentence.
pub struct Sentence<'a> {
    /// As written.
    pub text: &'a str,
    /// All of it.
    pub words: Vec<Word<'a>>,
}

impl<'a> Sentence<'a> {
    /// Cuts a sentence into words; what stands in quotes is one.
    pub fn read(text: &'a str, analyzer: &Analyzer) -> Self {
        let mut words: Vec<Word<'a>> = Vec::new();
        let mut closing: Option<&str> = None;
        for spoken in analyzer.parts_of_speech(text) {
            let (start, end) = (spoken.range.start, spoken.range.end);
            let written = text.get(start..end).unwrap_or_default();
            if let Some(close) = closing {
                if let Some(quoted) = words.last_mut() {
                    quoted.end = end;
                    quoted.text = text.get(quoted.start..end).unwrap_or_default();
                }
                closing = (written != close).then_some(close);
                continue;
            }
            let rest = text.get(end..).unwrap_or_default();
            let quote = QUOTES
                .iter()
                .find(|(open, close)| written == *open && rest.contains(close));
            closing = quote.map(|(_, close)| *close);
            let tag = match quote {
                Some(_) => "nz".to_owned(),
                None => spoken.tag,
            };
            words.push(Word {
                text: written,
                tag,
                start,
                end,
            });
        }
        Self { text, words }
    }

    /// The text of words from one place to another.
    pub fn between(&self, from: usize, to: usize) -> &'a str {
        let start = self
            .words
            .get(from)
            .map_or(self.text.len(), |word| word.start);
        let end = match to.checked_sub(1).and_then(|last| self.words.get(last)) {
            Some(word) => word.end,
            None => start,
        };
        self.text.get(start..end.max(start)).unwrap_or_default()
    }

    /// The sentence with something put in at a byte, or in the place of bytes.
    pub fn replaced(&self, start: usize, end: usize, with: &str) -> String {
        let before = self.text.get(..start).unwrap_or_default();
        let after = self.text.get(end..).unwrap_or_default();
        format!("{before}{with}{after}")
    }

    /// Whether any word fulfils a condition.
    pub fn any(&self, is: impl Fn(&Word<'_>) -> bool) -> bool {
        self.words.iter().any(is)
    }

    /// The first word from a place on that is no punctuation or space.
    pub fn next(&self, from: usize) -> Option<(usize, &Word<'a>)> {
        let words = self.words.iter().enumerate().skip(from);
        words.into_iter().find(|(_, word)| word.has_letters())
    }
}

impl Word<'_> {
    /// Whether there is a letter, digit or Chinese character in it.
    pub fn has_letters(&self) -> bool {
        self.text.chars().any(char::is_alphanumeric)
    }

    fn is_quoted(&self) -> bool {
        QUOTES.iter().any(|(open, _)| self.text.starts_with(open))
    }

    /// A person, place, title, identifier or another name.
    pub fn is_named(&self) -> bool {
        let is_unknown = self.tag == "x" && self.text.chars().count() > 1;
        let is_name = matches!(
            self.tag.as_str(),
            "nr" | "nrt" | "nrfg" | "ns" | "nt" | "nz" | "eng" | "j"
        );
        self.is_quoted() || ((is_unknown || is_name) && self.has_letters() && !self.is_generic())
    }

    /// Anything that may be a part of the name of a thing.
    pub fn is_nominal(&self) -> bool {
        let is_noun = self.tag.starts_with('n')
            || matches!(
                self.tag.as_str(),
                "vn" | "an" | "l" | "i" | "eng" | "j" | "b"
            );
        self.is_named() || (is_noun && self.has_letters())
    }

    /// A person.
    pub fn is_person(&self) -> bool {
        matches!(self.tag.as_str(), "nr" | "nrt" | "nrfg")
    }

    /// A place.
    pub fn is_place(&self) -> bool {
        self.tag == "ns"
    }

    /// A day, year or the like.
    pub fn is_time(&self) -> bool {
        self.tag == "t"
    }

    /// A noun that names nothing in particular.
    pub fn is_generic(&self) -> bool {
        GENERIC.contains(&self.text)
    }

    /// A noun that says what of a thing is asked for.
    pub fn is_of_something(&self) -> bool {
        OF_SOMETHING.contains(&self.text)
    }

    /// A noun that makes a question speak of something of its own.
    pub fn is_content(&self) -> bool {
        self.is_nominal() && !self.is_generic() && !self.is_of_something()
    }
}
