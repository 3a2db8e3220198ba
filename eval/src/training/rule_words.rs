//! Words by which [`super::rules`] knows headings, and [`super::rule_sentences`] what a sentence answers.

/// Headings that say nothing without those above them.
pub const GENERAL_HEADINGS: [&str; 34] = [
    "概述",
    "简介",
    "介绍",
    "背景",
    "参数",
    "示例",
    "样例",
    "总结",
    "小结",
    "说明",
    "返回值",
    "输入",
    "输出",
    "注意",
    "注意事项",
    "异常",
    "其他",
    "引言",
    "overview",
    "introduction",
    "background",
    "parameters",
    "examples",
    "example",
    "summary",
    "notes",
    "note",
    "returns",
    "usage",
    "details",
    "description",
    "general",
    "other",
    "see also",
];
/// Beginnings of headings that name something to do.
pub const CHINESE_VERBS: [&str; 40] = [
    "使用",
    "配置",
    "安装",
    "创建",
    "加载",
    "训练",
    "定义",
    "设置",
    "构建",
    "实现",
    "运行",
    "保存",
    "导出",
    "调试",
    "编译",
    "启动",
    "部署",
    "查看",
    "修改",
    "删除",
    "添加",
    "获取",
    "执行",
    "导入",
    "下载",
    "切换",
    "优化",
    "验证",
    "评估",
    "准备",
    "处理",
    "转换",
    "管理",
    "监控",
    "升级",
    "打开",
    "关闭",
    "生成",
    "迁移",
    "自定义",
];
/// The same in English.
pub const ENGLISH_VERBS: [&str; 30] = [
    "add",
    "build",
    "change",
    "check",
    "choose",
    "configure",
    "connect",
    "convert",
    "create",
    "debug",
    "define",
    "delete",
    "deploy",
    "disable",
    "download",
    "enable",
    "export",
    "find",
    "import",
    "install",
    "load",
    "manage",
    "open",
    "remove",
    "run",
    "save",
    "set",
    "start",
    "train",
    "use",
];
/// Endings of headings that name a text rather than something to do.
pub const TEXT_ENDINGS: [&str; 6] = ["指南", "教程", "说明", "方法", "步骤", "流程"];
/// Between what is defined and what it is.
pub const CHINESE_DEFINITIONS: [&str; 4] = ["是指", "指的是", "是一种", "是一个"];
pub const ENGLISH_DEFINITIONS: [&str; 6] = [
    " is a ",
    " is an ",
    " is the ",
    " refers to ",
    " means ",
    " are a ",
];
/// Between a thing and what it is for.
pub const CHINESE_PURPOSES: [&str; 5] = ["主要用于", "通常用于", "用于", "用来", "的作用是"];
pub const ENGLISH_PURPOSES: [&str; 6] = [
    " is used to ",
    " are used to ",
    " is used for ",
    " are used for ",
    " is responsible for ",
    " is designed to ",
];
/// Before a condition.
pub const CHINESE_CONDITIONS: [&str; 4] = ["如果", "若", "一旦", "当"];
pub const ENGLISH_CONDITIONS: [&str; 2] = ["If ", "When "];
/// Before an aim.
pub const CHINESE_AIMS: [&str; 5] = ["若要", "如要", "要想", "如需", "为了"];
/// Before the name of a thing.
pub const CHINESE_TIMES: [&str; 3] = ["目前", "当前", "现在"];
/// Before a noun.
pub const CHINESE_DETERMINERS: [&str; 9] = [
    "所有", "每个", "一个", "一些", "多个", "各", "不同", "其", "以下",
];
/// In a consequence that says what to do.
pub const CHINESE_ADVICE: [&str; 8] =
    ["需要", "应", "请", "建议", "必须", "可以", "可通过", "不能"];
pub const ENGLISH_ADVICE: [&str; 9] = [
    "you ",
    "use ",
    "set ",
    "check ",
    "make sure",
    "please ",
    " must ",
    " should ",
    " need to ",
];
/// Before a reason, which stands first.
pub const CHINESE_REASONS: [&str; 2] = ["由于", "因为"];
/// Before what follows from it.
pub const CHINESE_CONSEQUENCES: [&str; 5] = ["因此", "所以", "故", "从而", "则"];
/// Before a means that something is done with.
pub const CHINESE_MEANS: [&str; 8] = [
    "可以通过",
    "可通过",
    "通过",
    "可以使用",
    "使用",
    "可以利用",
    "利用",
    "借助",
];
/// Behind it.
pub const CHINESE_ENDS: [&str; 5] = ["来", "可以", "能够", "即可", "可"];
/// Between a thing and a number; behind it what is asked for.
pub const CHINESE_QUANTITIES: [(&str, &str); 8] = [
    ("的默认值为", "的默认值是多少？"),
    ("默认值为", "的默认值是多少？"),
    ("默认为", "默认是多少？"),
    ("不超过", "不超过多少？"),
    ("最大为", "最大是多少？"),
    ("最多为", "最多是多少？"),
    ("为", "是多少？"),
    ("是", "是多少？"),
];
/// Between a thing and what it supports.
pub const CHINESE_SUPPORTS: [(&str, &str); 4] = [
    ("不支持", "不支持什么？"),
    ("仅支持", "支持什么？"),
    ("只支持", "支持什么？"),
    ("支持", "支持什么？"),
];
/// Between a thing and what one can do with it.
pub const ENGLISH_ENABLES: [&str; 4] = [
    " allows you to ",
    " enables you to ",
    " lets you ",
    " allows users to ",
];
/// First words of a clause, which is no name of a thing.
pub const ENGLISH_CLAUSES: [&str; 31] = [
    "after", "although", "and", "as", "at", "because", "before", "but", "by", "during", "for",
    "from", "here", "how", "however", "if", "in", "note", "on", "one", "or", "since", "so", "that",
    "there", "to", "what", "when", "where", "while", "with",
];
/// Words inside a clause.
pub const ENGLISH_INSIDE: [&str; 9] = [
    " is ",
    " are ",
    " that ",
    " which ",
    " whether ",
    " who ",
    " was ",
    " can ",
    " will ",
];
/// First words of a condition that stand for something else.
pub const ENGLISH_REFERENTS: [&str; 7] =
    ["it ", "this ", "that ", "these ", "they ", "so", "any of "];
/// Last words that belong to the verb.
pub const ENGLISH_ADVERBS: [&str; 5] = [" also", " only", " not", " usually", " often"];
