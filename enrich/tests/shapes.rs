//! Chunkers for documents of a shape: API references, questions and answers, tutorials. Whatever the
//! document, no text is lost and nothing fails.
#![allow(clippy::unwrap_used)]

mod support;

use support::{Counter, Random, config, document, random_markdown};
use tributary_enrich::chunkers::{Cut, ModelTexts, Strategy, cut};
use tributary_schemas::api_entry::{ApiEntry, ApiField};
use tributary_schemas::{Chunk, ChunkKind};

fn cut_as(strategy: Strategy, markdown: &str) -> Cut {
    let mut clean = document(markdown);
    clean.document.title = "文档".to_owned();
    cut(&clean, strategy, &config(), &Counter)
}

fn chunks(strategy: Strategy, markdown: &str) -> Vec<Chunk> {
    cut_as(strategy, markdown).finish(ModelTexts::default(), &Counter)
}

const CLASS: &str = "# nn.Conv

`class nn.Conv(size, mode=\"same\")`

二维卷积层。

公式如下：

$$
y = x
$$

**Note:** 只支持 GPU。

更多说明。

**参数：**

- **size** (Union[int, tuple[int]]，可选) - 大小。
- **mode** (str) - 模式。

  - `\"same\"`：填充。
  - `\"valid\"`：不填充。

**输入：**

- **x** (Tensor) - 输入。

**输出：**

Tensor，形状不变。

**异常：**

- **TypeError** - 类型不对。

**支持平台：**

`GPU`

**样例：**

```python
net = nn.Conv(3)
```

## construct

`construct(x)`

计算。

**返回：**

Tensor。
";

fn named(name: &str, type_name: &str, description: &str) -> ApiField {
    ApiField {
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        description: description.to_owned(),
    }
}

#[test]
fn an_entry_is_one_chunk_with_its_fields_and_methods_below_it() {
    let chunks = chunks(Strategy::Api, CLASS);
    assert_eq!(chunks.len(), 2);
    let (class, method) = (&chunks[0], &chunks[1]);
    assert_eq!((class.kind, method.kind), (ChunkKind::Api, ChunkKind::Api));
    assert_eq!(method.parent_id, Some(class.chunk_id));
    assert_eq!(class.child_ids, [method.chunk_id]);
    assert!(method.section_path.ends_with(&["construct".to_owned()]));
    assert!(!class.text.contains("construct(x)") && class.text.contains("net = nn.Conv(3)"));
    let api = class.api.as_deref().unwrap();
    let expected = ApiEntry {
        signature: "class nn.Conv(size, mode=\"same\")".to_owned(),
        description: "二维卷积层。\n\n公式如下：\n\n$$\ny = x\n$$\n\n更多说明。".to_owned(),
        parameters: vec![
            named("size", "Union[int, tuple[int]]，可选", "大小。"),
            named(
                "mode",
                "str",
                "模式。\n\n- `\"same\"`：填充。\n\n- `\"valid\"`：不填充。",
            ),
        ],
        inputs: vec![named("x", "Tensor", "输入。")],
        outputs: "Tensor，形状不变。".to_owned(),
        raises: vec![named("TypeError", "", "类型不对。")],
        examples: vec!["```python\nnet = nn.Conv(3)\n```".to_owned()],
        notes: vec!["只支持 GPU。".to_owned()],
        platforms: "`GPU`".to_owned(),
        ..ApiEntry::default()
    };
    assert_eq!(*api, expected);
    let method = method.api.as_deref().unwrap();
    assert_eq!(method.signature, "construct(x)");
    assert_eq!(method.returns, "Tensor。");
}

#[test]
fn fields_may_be_headings_and_signatures_code_blocks() {
    let markdown = "# open\n\n```python\ndef open(path, mode='r') -> File\n```\n\nOpens it.\n\n## Parameters\n\n- `path`: where it is\n- `mode` (str): how\n\n## Returns\n\nA file.\n\n## Raises\n\n- `OSError`: if not\n";
    let chunks = chunks(Strategy::Api, markdown);
    assert_eq!(chunks.len(), 1);
    let api = chunks[0].api.as_deref().unwrap();
    assert_eq!(api.signature, "def open(path, mode='r') -> File");
    assert_eq!(api.description, "Opens it.");
    let names: Vec<&str> = api.parameters.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(
        (names, api.returns.as_str()),
        (vec!["path", "mode"], "A file.")
    );
    assert_eq!(api.raises, [named("OSError", "", "if not")]);
}

#[test]
fn questions_are_chunks_with_their_answers() {
    let long = "很长的回答。".repeat(700);
    let markdown = format!(
        "# 数据处理\n\n## Q: 怎么办？\n\nA: 这样办。\n\n- 一\n- 二\n\n## Q: 为何？\n\nA: {long}\n"
    );
    let chunks = chunks(Strategy::Faq, &markdown);
    assert_eq!(chunks[0].kind, ChunkKind::Faq);
    assert_eq!(chunks[0].section_path, ["数据处理", "怎么办？"]);
    assert!(chunks[0].text.contains("- 二") && !chunks[0].text.contains("为何"));
    assert!(chunks.len() > 2, "a long answer is cut");
    for leaf in &chunks[1..] {
        assert_eq!(leaf.kind, ChunkKind::Leaf);
        assert_eq!(leaf.section_path, ["数据处理", "为何？"]);
    }
}

#[test]
fn an_answer_ends_where_its_section_does() {
    let markdown = "# FAQ\n\n## Install\n\n### Q: How?\n\nA: So.\n\n### Q: Why?\n\nA: Because.\n\n## Notes\n\nOf something else.\n\n## Use\n\n### Q: When?\n\nA: Now.\n";
    let chunks = chunks(Strategy::Faq, markdown);
    let of: Vec<(String, bool)> = chunks
        .iter()
        .map(|chunk| {
            let path = chunk.section_path.join("/");
            (path, chunk.kind == ChunkKind::Faq)
        })
        .collect();
    let expected = [
        ("FAQ/Install/How?", true),
        ("FAQ/Install/Why?", true),
        ("FAQ/Notes", false),
        ("FAQ/Use/When?", true),
    ];
    assert_eq!(
        of,
        expected.map(|(path, is_pair)| (path.to_owned(), is_pair))
    );
    assert!(
        chunks[3].text.starts_with("## Use"),
        "a title alone goes with what comes next"
    );
    holds_all(markdown, &chunks, 0);
}

fn chunks_of_headings(markdown: &str) -> Vec<String> {
    let chunks = chunks(Strategy::Headings, markdown).into_iter();
    chunks.map(|chunk| chunk.section_path.join("/")).collect()
}

#[test]
fn headings_down_to_the_third_level_are_chunks_with_their_titles() {
    let markdown = "# Guide\n\nIntro.\n\n## One\n\n### First\n\nText.\n\n#### Deep\n\nMore.\n\n### Second\n\nText.\n\n## Two\n\nText.\n";
    let chunks = chunks(Strategy::Headings, markdown);
    let paths: Vec<String> = chunks
        .iter()
        .map(|chunk| chunk.section_path.join("/"))
        .collect();
    assert_eq!(
        paths,
        ["Guide", "Guide/One/First", "Guide/One/Second", "Guide/Two"]
    );
    assert!(chunks[1].text.starts_with("## One\n\n### First") && chunks[1].text.contains("More."));
    let two = chunks_of_headings("## A\n\n## B\n\nText.\n");
    assert_eq!(
        two,
        ["A", "B"],
        "a title without text is not taken for the next one's"
    );
}

#[test]
fn what_is_not_of_the_shape_is_cut_by_sections_and_says_so() {
    let markdown = "# A page\n\nOf words. Why not? So.\n";
    for (strategy, what) in [
        (Strategy::Api, "sections: no api entry found"),
        (Strategy::Faq, "sections: no questions found"),
        (
            Strategy::Headings,
            "sections: no heading of level 2 or 3 found",
        ),
    ] {
        assert_eq!(cut_as(strategy, markdown).fallback(), Some(what));
        assert_eq!(
            chunks(strategy, markdown),
            chunks(Strategy::Sections, markdown)
        );
    }
    assert_eq!(cut_as(Strategy::Api, CLASS).fallback(), None);
}

#[test]
fn what_was_read_of_a_long_entry_is_kept_once() {
    let more = "```\nclass mod.f(a, b=1)\n```\n\ntext\n\n".repeat(20_000);
    let chunks = chunks(
        Strategy::Api,
        &format!("# mod.Cls\n\n`class mod.Cls`\n\n{more}"),
    );
    assert!(chunks.len() > 100);
    let with_fields = chunks.iter().filter(|chunk| chunk.api.is_some());
    assert_eq!(with_fields.count(), 1);
}

/// All non-blank characters, in order, of chunks that do not repeat each other.
fn holds_all(markdown: &str, chunks: &[Chunk], seed: u64) {
    let mut at = 0;
    for chunk in chunks {
        let start = markdown.get(..).unwrap().find(chunk.text.as_str());
        let found = markdown
            .get(at.min(markdown.len())..)
            .unwrap()
            .find(chunk.text.as_str());
        let (start, end) = match (found, start) {
            (Some(found), _) => (at + found, at + found + chunk.text.len()),
            // A leaf repeats the end of the one before.
            (None, Some(start)) => (start, start + chunk.text.len()),
            (None, None) => panic!("seed {seed}: {:?} is not of the source", chunk.text),
        };
        let between = markdown.get(at..start.max(at)).unwrap_or_default();
        assert!(between.trim().is_empty(), "seed {seed}: lost {between:?}");
        at = at.max(end);
    }
    let rest = markdown.get(at.min(markdown.len())..).unwrap();
    assert!(rest.trim().is_empty(), "seed {seed}: lost {rest:?}");
}

#[test]
fn no_text_is_lost_whatever_the_document() {
    for seed in 0..60 {
        let markdown = random_markdown(&mut Random(seed + 1));
        for strategy in [Strategy::Headings, Strategy::Api, Strategy::Faq] {
            let cut = cut_as(strategy, &markdown);
            if cut.fallback().is_none() {
                holds_all(
                    &markdown,
                    &cut.finish(ModelTexts::default(), &Counter),
                    seed,
                );
            }
        }
    }
    holds_all(CLASS, &chunks(Strategy::Api, CLASS), 0);
}
