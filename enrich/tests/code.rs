//! The chunker for source code: eight languages, hostile files, and no line lost.
#![allow(clippy::unwrap_used)]

mod support;

use std::time::Instant;

use support::{Counter, config, document};
use tributary_enrich::ChunkerConfig;
use tributary_enrich::chunkers::{ModelTexts, Strategy, cut};
use tributary_schemas::code_entry::{CodeEntry, Definition, DescribedBy};
use tributary_schemas::{Chunk, ChunkKind, CleanDocument};

fn clean(path: &str, code: &str) -> CleanDocument {
    let language = path.rsplit_once('.').unwrap().1;
    let mut clean = document(&format!("````{language}\n{code}\n````\n"));
    clean.document.source_path = path.to_owned();
    clean
}

fn chunks_within(path: &str, code: &str, config: &ChunkerConfig) -> Vec<Chunk> {
    let clean = clean(path, code);
    let cut = cut(&clean, Strategy::Code, config, &Counter);
    assert_eq!(cut.fallback(), None, "{path}");
    let chunks = cut.finish(ModelTexts::default(), &Counter);
    check(&clean, code, &chunks);
    chunks
}

fn chunks(path: &str, code: &str) -> Vec<Chunk> {
    chunks_within(path, code, &config())
}

/// What holds of every file: a record first, texts that are parts of it, no line lost.
fn check(clean: &CleanDocument, code: &str, chunks: &[Chunk]) {
    assert_eq!(chunks[0].kind, ChunkKind::CodeFile);
    assert_eq!(entry(&chunks[0]).definition, Definition::File);
    let mut held = std::collections::HashSet::new();
    for chunk in chunks {
        assert!(!chunk.text.trim().is_empty(), "{:?}", chunk.section_path);
        assert!(chunk.language.is_some(), "{:?}", chunk.section_path);
        let is_part = chunks.len() > 2000 || clean.markdown.contains(&chunk.text);
        assert!(is_part, "{}", chunk.text);
        held.extend(chunk.text.lines().map(str::trim));
    }
    let lost = code.lines().map(str::trim).find(|line| {
        // Longer lines are cut within.
        !line.is_empty() && line.len() < 2000 && !held.contains(line)
    });
    assert_eq!(lost, None);
    let lines = code.lines().count().max(1);
    for entry in chunks.iter().filter_map(|chunk| chunk.code.as_deref()) {
        assert!(entry.start_line >= 1 && entry.start_line <= entry.end_line);
        assert!(entry.end_line as usize <= lines);
        assert!(!entry.description.trim().is_empty());
    }
}

fn entry(chunk: &Chunk) -> &CodeEntry {
    chunk.code.as_deref().unwrap()
}

fn entries(chunks: &[Chunk]) -> Vec<&CodeEntry> {
    let of_definitions = chunks
        .iter()
        .filter(|chunk| chunk.kind == ChunkKind::CodeFunction);
    of_definitions.map(entry).collect()
}

fn names(chunks: &[Chunk]) -> Vec<&str> {
    entries(chunks)
        .into_iter()
        .map(|entry| entry.name.as_str())
        .collect()
}

const C: &str = "// SPDX-License-Identifier: MIT
/*
 *  lib/pond.c
 *
 *  Copyright (C) 2020  A. Person
 *
 *  Keeps ponds of ducks.
 */
#include <stdio.h>
#include \"pond.h\"

#define MOST 8
#define DEPTH 3

#define FOR_EACH_DUCK(duck, pond) \\
\tfor (duck = (pond)->first; duck; duck = duck->next)

/* A pond. */
struct pond {
\tstruct duck *first;
};

typedef struct {
\tint feathers;
} duck_t;

static int feed_all;

/**
 * feed_duck() - gives it bread
 * @duck: who eats
 *
 * Return: how much is left
 */
static int feed_duck(struct duck *duck)
{
\treturn puts(\"quack {\");
}

int feed_pond(struct pond *pond,
\t      int bread)
{
\tstruct duck *duck;

\tFOR_EACH_DUCK(duck, pond)
\t\tfeed_duck(duck);
\treturn feed_duck(pond->first);
}
EXPORT_SYMBOL(feed_pond);
";

#[test]
fn a_file_of_c_is_its_record_and_its_definitions() {
    let chunks = chunks("lib/pond.c", C);
    assert_eq!(
        names(&chunks),
        ["FOR_EACH_DUCK", "pond", "duck_t", "feed_duck", "feed_pond"]
    );
    let file = entry(&chunks[0]);
    assert_eq!(
        (file.name.as_str(), file.start_line, file.end_line),
        ("pond.c", 1, 49)
    );
    assert!(
        file.description.starts_with("Keeps ponds of ducks.\n"),
        "{}",
        file.description
    );
    assert!(
        file.description.contains("feed_duck: gives it bread"),
        "{}",
        file.description
    );
    assert!(!file.description.contains("Copyright"));
    assert!(chunks[0].text.ends_with("#define DEPTH 3"));
    let feed = chunks
        .iter()
        .find(|chunk| chunk.section_path == ["feed_duck"])
        .unwrap();
    let expected = CodeEntry {
        language: "c".to_owned(),
        definition: Definition::Function,
        name: "feed_duck".to_owned(),
        signature: "static int feed_duck(struct duck *duck)".to_owned(),
        start_line: 29,
        end_line: 38,
        description: "gives it bread\nduck: who eats\nReturn: how much is left\nstatic int feed_duck(struct duck *duck)\nfeed duck".to_owned(),
        described_by: DescribedBy::Comment,
        calls: vec!["puts".to_owned()],
        callers: vec!["feed_pond".to_owned()],
    };
    assert_eq!(*entry(feed), expected);
    assert_eq!(feed.parent_id, Some(chunks[0].chunk_id));
    let pond = entries(&chunks)[4];
    assert_eq!(
        pond.signature,
        "int feed_pond(struct pond *pond, int bread)"
    );
    assert_eq!(pond.described_by, DescribedBy::Names);
    assert!(
        chunks
            .last()
            .unwrap()
            .text
            .ends_with("EXPORT_SYMBOL(feed_pond);")
    );
    let types: Vec<_> = entries(&chunks)
        .iter()
        .map(|entry| entry.definition)
        .collect();
    assert_eq!(
        types[..3],
        [Definition::Macro, Definition::Type, Definition::Type]
    );
}

/// A file of each language: path, code, and the definitions in it.
const FILES: [(&str, &str, &[&str]); 8] = [
    (
        "a.cpp",
        "#include <vector>\nnamespace pond {\n// A duck.\nclass Duck : public Bird {\npublic:\n  Duck() : age_(0) {}\n  int age() const { return age_; }\nprivate:\n  int age_;\n};\n\n/// Feeds.\ntemplate <typename T>\nT feed(T bread) { return eat(bread); }\n\nvoid Duck::swim(int far) { feed(far); }\n}  // namespace pond\nusing Ducks = std::vector<pond::Duck>;\n",
        &["pond::Duck", "pond::feed", "pond::Duck::swim", "Ducks"],
    ),
    (
        "a.rs",
        "//! Ponds.\nuse std::fmt;\n\n/// A duck.\n#[derive(Debug)]\npub struct Duck<T> {\n    age: T,\n}\n\nimpl<T> Duck<T> {\n    /// Feeds it.\n    pub fn feed(&self) -> u32 { eat(1) }\n}\n\nmacro_rules! quack {\n    () => {};\n}\n\npub trait Swims {\n    fn swim(&self);\n}\n\n/// Eats.\nfn eat(bread: u32) -> u32 { bread }\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn eats() { assert_eq!(eat(1), 1); }\n}\n",
        &["Duck", "Duck", "quack", "Swims", "eat", "tests::eats"],
    ),
    (
        "a.py",
        "\"\"\"Ponds.\"\"\"\nimport os\n\nLIMIT = 3\n\nclass Duck(Bird):\n    \"\"\"A duck.\"\"\"\n\n    def feed(self, bread):\n        return eat(bread)\n\n@cached\ndef eat(bread: int) -> int:\n    \"\"\"Eats bread.\n\n    :param bread: how much\n    \"\"\"\n    def chew():\n        pass\n    return bread\n\nif __name__ == '__main__':\n    eat(1)\n",
        &["Duck", "eat"],
    ),
    (
        "a.go",
        "// Package pond keeps ducks.\npackage pond\n\nimport \"fmt\"\n\ntype (\n\t// Duck quacks.\n\tDuck struct{ age int }\n\tBread int\n)\n\n// Feed feeds.\nfunc (d *Duck) Feed(b Bread) error { return eat(b) }\n\nfunc eat(b Bread) error {\n\tfmt.Println(b)\n\treturn nil\n}\n",
        &["Duck", "Bread", "Duck.Feed", "eat"],
    ),
    (
        "A.java",
        "package pond;\n\nimport java.util.List;\n\n/** A duck. */\n@Deprecated\npublic class A extends Bird {\n  private int age;\n\n  /** Feeds. */\n  public int feed(int bread) { return eat(bread); }\n}\n\ninterface Swims { void swim(); }\n\nenum Color { RED, GREEN }\n",
        &["A", "Swims", "Color"],
    ),
    (
        "a.js",
        "// Ponds.\nimport fs from 'fs';\n\n/** Feeds. @param {number} bread */\nexport function feed(bread) { return eat(bread); }\n\nconst eat = (bread) => {\n  return bread;\n};\n\nclass Duck {\n  swim() { feed(1); }\n}\n\nmodule.exports.swim = function (duck) { duck.swim(); };\n",
        &["feed", "eat", "Duck", "swim"],
    ),
    (
        "a.ts",
        "import { x } from './x';\n\n/** A duck. */\nexport interface Duck {\n  age: number;\n}\n\ntype Bread = number | string;\n\nexport abstract class Pond<T> {\n  feed(bread: Bread): void { eat(bread); }\n}\n\nexport enum Color { Red }\n\nfunction eat(bread: Bread): Bread { return bread; }\n",
        &["Duck", "Bread", "Pond", "Color", "eat"],
    ),
    (
        "a.tsx",
        "/** Shows. */\nexport const Show = ({ duck }: Props) => <div onClick={() => feed(duck)}>{duck}</div>;\n",
        &["Show"],
    ),
];

#[test]
fn eight_languages_have_their_definitions() {
    for (path, code, expected) in FILES {
        assert_eq!(names(&chunks(path, code)), *expected, "{path}");
        // Twice as long, with line ends of another system.
        chunks(path, &format!("{code}\n{}", code.replace('\n', "\r\n")));
    }
}

#[test]
fn comments_docstrings_and_attributes_go_with_their_definition() {
    let of = |path: &str, name: &str| {
        let (_, code, _) = FILES.iter().find(|file| file.0 == path).unwrap();
        let chunks = chunks(path, code);
        let found = entries(&chunks)
            .into_iter()
            .find(|entry| entry.name == name);
        found.unwrap().clone()
    };
    let duck = of("a.rs", "Duck");
    assert_eq!((duck.start_line, duck.end_line), (4, 8));
    assert_eq!(duck.description, "A duck.\npub struct Duck<T>\nduck");
    let eat = of("a.py", "eat");
    assert_eq!((eat.start_line, eat.end_line), (12, 20));
    assert!(
        eat.description.starts_with("Eats bread.\n"),
        "{}",
        eat.description
    );
    assert_eq!(eat.signature, "@cached def eat(bread: int) -> int");
    let feed = of("a.go", "Duck.Feed");
    assert_eq!(feed.signature, "func (d *Duck) Feed(b Bread) error");
    assert_eq!(feed.calls, ["eat"]);
    assert_eq!(of("a.go", "eat").callers, ["Duck.Feed"]);
    let feed = of("a.js", "feed");
    assert_eq!(
        (feed.start_line, feed.signature.as_str()),
        (4, "export function feed(bread)")
    );
    assert_eq!(of("a.js", "eat").signature, "const eat = (bread)");
    assert_eq!(of("a.cpp", "pond::Duck::swim").calls, ["feed"]);
    assert!(of("A.java", "A").description.contains("feed: Feeds."));
}

#[test]
fn a_long_class_has_its_methods_below_it() {
    let method = |at: usize| {
        format!(
            "    # Does {at}.\n    def do_{at}(self):\n{}",
            "        step(one, two)\n".repeat(160)
        )
    };
    let code = format!(
        "class Duck:\n    \"\"\"A duck.\"\"\"\n    legs = 2\n\n{}\n{}\n    wings = 2\n\n\ndef last(): pass\n",
        method(1),
        method(2)
    );
    let chunks = chunks("a.py", &code);
    assert_eq!(names(&chunks), ["Duck", "Duck.do_1", "Duck.do_2", "last"]);
    let class = chunks
        .iter()
        .find(|chunk| chunk.section_path == ["Duck"])
        .unwrap();
    assert!(class.text.ends_with("legs = 2"));
    assert_eq!(entry(class).end_line, 331);
    let method = chunks
        .iter()
        .find(|chunk| chunk.section_path == ["Duck", "do_2"])
        .unwrap();
    assert_eq!(method.parent_id, Some(class.chunk_id));
    assert!(
        method
            .text
            .starts_with("    # Does 2.\n    def do_2(self):")
    );
    let wings = chunks
        .iter()
        .find(|chunk| chunk.text.trim() == "wings = 2")
        .unwrap();
    assert_eq!(
        (wings.kind, wings.parent_id),
        (ChunkKind::Leaf, Some(class.chunk_id))
    );
}

#[test]
fn a_definition_over_the_limit_goes_on_in_continuations() {
    let code = format!(
        "int f(void)\n{{\n{}}}\n\nint g(void) {{ return 1; }}\n",
        "\tstep(1, 2);\n".repeat(200)
    );
    let small = ChunkerConfig {
        block_limit_tokens: 200,
        leaf_maximum_tokens: 100,
        ..config()
    };
    let chunks = chunks_within("a.c", &code, &small);
    assert_eq!(names(&chunks), ["f", "g"]);
    let kinds: Vec<ChunkKind> = chunks.iter().map(|chunk| chunk.kind).collect();
    assert_eq!(
        kinds[..3],
        [
            ChunkKind::CodeFile,
            ChunkKind::CodeFunction,
            ChunkKind::Continuation
        ]
    );
    assert!(chunks.iter().all(|chunk| chunk.tokens <= 200));
    let rest = chunks
        .iter()
        .filter(|chunk| chunk.kind == ChunkKind::Continuation);
    rest.for_each(|chunk| assert!(chunk.is_continuation && chunk.code.is_none()));
    assert_eq!(entry(&chunks[1]).end_line, 203);
}

#[test]
fn macros_of_a_kernel_hide_no_function() {
    let code = "static DEFINE_PER_CPU(struct pond, ponds) = { .first = NULL };\nEARLY_PARAM(\"x\", y)\n\nSYSCALL_DEFINE2(feed, int, duck,\n\t\tint, bread)\n{\n\treturn 0;\n}\n\nstatic int __init __attribute__((cold)) pond_init(void)\n{\n\treturn 0;\n}\ncore_initcall(pond_init);\n\nstatic void __sched notrace\nswim(struct duck *duck) __acquires(&duck->lock)\n{\n#ifdef CONFIG_DEEP\n\tif (deep(duck)) {\n#else\n\tif (duck) {\n#endif\n\t\tdive();\n\t}\n}\n\n#ifdef CONFIG_FLY\nint fly(struct duck *duck)\n#else\nint fly(void)\n#endif\n{\n\treturn 0;\n}\n\n#ifdef A\nvoid one(void) { }\n#else\nstatic inline void one(void) { }\n#endif\nvoid (*choose(int kind))(void)\n{\n\treturn one;\n}\n";
    let chunks = chunks("kernel/pond.c", code);
    assert_eq!(
        names(&chunks),
        ["feed", "pond_init", "swim", "fly", "one", "one", "choose"]
    );
    let feed = entries(&chunks)[0];
    assert_eq!(
        feed.signature,
        "SYSCALL_DEFINE2(feed, int, duck, int, bread)"
    );
    assert_eq!((feed.start_line, feed.end_line), (4, 8));
    assert_eq!(entries(&chunks)[2].calls, ["deep", "dive"]);
}

#[test]
fn old_c_and_broken_files_keep_their_functions() {
    let old = chunks(
        "a.c",
        "int add(a, b)\n\tint a;\n\tint b;\n{\n\treturn a + b;\n}\n",
    );
    assert_eq!(names(&old), ["add"]);
    let (half, _) = C.split_once("FOR_EACH_DUCK(duck, pond)\n\t\t").unwrap();
    assert!(names(&chunks("pond.c", half)).contains(&"feed_duck"));
    let (_, rest) = C.split_once("struct duck *first;").unwrap();
    assert!(names(&chunks("pond.c", rest)).contains(&"feed_pond"));
    for (path, code, _) in FILES {
        for share in [3, 2] {
            let at = code.floor_char_boundary(code.len() / share);
            let (beginning, end) = code.split_at(at);
            chunks(path, beginning);
            chunks(path, end);
        }
    }
}

#[test]
fn files_without_definitions_are_leaves() {
    let comments = "/* One. */\n\n// Two.\n".to_owned() + &"// Three.\n".repeat(2000);
    let chunks = chunks("a.c", &comments);
    assert!(
        entry(&chunks[0])
            .description
            .starts_with("One.\nTwo. Three.")
    );
    assert!(
        chunks
            .iter()
            .skip(1)
            .all(|chunk| chunk.kind == ChunkKind::Leaf)
    );
    assert!(chunks.iter().all(|chunk| chunk.tokens <= 800));
}

#[test]
fn other_documents_are_cut_by_sections() {
    for (path, markdown) in [
        ("a.css", "```css\na { }\n```\n"),
        ("a.md", "# Title\n\n```c\nint f(void) { }\n```\n"),
        ("a.c", "```c\n \n```\n"),
    ] {
        let mut clean = document(markdown);
        clean.document.source_path = path.to_owned();
        let cut = cut(&clean, Strategy::Code, &config(), &Counter);
        assert_eq!(
            cut.fallback(),
            Some("sections: no definition found"),
            "{path}"
        );
    }
}

#[test]
fn hostile_files_are_cut_in_time() {
    let long_line = format!("var a = [{}];", "1,".repeat(2_500_000));
    let generated: String = (0..20_000)
        .map(|at| format!("int f{at}(void) {{ return g{at}(); }}\n"))
        .collect();
    let brackets = "(".repeat(100_000) + &")".repeat(100_000);
    let files = [
        ("line.js", long_line),
        ("generated.c", generated),
        ("brackets.c", format!("int a = {brackets};\n")),
        ("brackets.py", format!("a = {brackets}\n")),
        ("open.rs", "fn f() { (".repeat(50_000)),
        ("classes.java", "class A { ".repeat(50_000)),
        ("namespaces.cpp", "namespace a { ".repeat(50_000)),
        ("conditions.c", "#if A\n{\n#else\n".repeat(50_000)),
        ("quotes.ts", "`${'\"".repeat(50_000)),
        ("less.cpp", "a < ".repeat(100_000)),
        ("stars.go", "* ".repeat(100_000)),
        ("types.c", "typedef struct { int a; } b;\n".repeat(20_000)),
        ("comments.c", "/* a */ ".repeat(100_000) + "int f(void) { }"),
        ("wide.py", "载波 = '聚合'\n".repeat(20_000)),
    ];
    for (path, code) in files {
        let begun = Instant::now();
        let chunks = chunks(path, &code);
        let seconds = begun.elapsed().as_secs_f64();
        assert!(seconds < 60.0, "{path}: {seconds} s");
        if path == "generated.c" {
            assert_eq!(names(&chunks).len(), 20_000);
        }
    }
}
