//! What must hold of the chunks of any document: property tests over seeded random Markdown, and
//! hostile inputs.
#![allow(clippy::unwrap_used, clippy::string_slice, clippy::print_stderr)]

mod support;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use support::{Counter, Random, config, document, random_markdown};
use tributary_enrich::chunkers::{Strategy, chunk};
use tributary_enrich::markdown::Outline;
use tributary_models::TokenCounter;
use tributary_schemas::{Chunk, ChunkId, ChunkKind, CleanDocument, ImageLink};

fn sections(clean: &CleanDocument) -> Vec<Chunk> {
    chunk(clean, Strategy::Sections, &config(), &Counter)
}

fn cut(markdown: &str) -> Vec<Chunk> {
    sections(&document(markdown))
}

/// Texts of the chunks that are parts of the source, in order, as places in the source with its
/// blanks removed.
fn uncovered(markdown: &str, chunks: &[Chunk]) -> Vec<String> {
    let dense = |text: &str| {
        text.chars()
            .filter(|character| !character.is_whitespace())
            .collect::<String>()
    };
    let source = dense(markdown);
    let mut covered_to = 0;
    let mut missing = Vec::new();
    for chunk in chunks {
        if chunk.kind == ChunkKind::Summary {
            // Only the heading of a summary is source text: one line, or two in the underlined
            // style.
            let heading = |lines: usize| dense(&chunk.text.lines().take(lines).collect::<String>());
            let quoted = [heading(2), heading(1)]
                .into_iter()
                .find(|heading| source[covered_to..].starts_with(heading));
            covered_to += quoted.map_or(0, |heading| heading.len());
            continue;
        }
        let text = dense(&chunk.text);
        // A leaf may begin in the text of the one before: find the latest start that leaves no gap.
        let start = (0..=covered_to)
            .rev()
            .filter(|start| source.is_char_boundary(*start))
            .find(|start| source[*start..].starts_with(&text));
        match start {
            Some(start) => covered_to = covered_to.max(start + text.len()),
            None => missing.push(chunk.text.chars().take(60).collect()),
        }
    }
    if covered_to < source.len() {
        missing.push(format!(
            "the end: {}",
            source[covered_to..].chars().take(60).collect::<String>()
        ));
    }
    missing
}

fn check(markdown: &str, seed: u64) {
    let chunks = cut(markdown);
    let limits = config();
    assert_eq!(
        uncovered(markdown, &chunks),
        Vec::<String>::new(),
        "seed {seed}"
    );
    let ids: HashSet<ChunkId> = chunks.iter().map(|chunk| chunk.chunk_id).collect();
    assert_eq!(ids.len(), chunks.len(), "seed {seed}: ids are unique");
    let by_id: HashMap<ChunkId, &Chunk> =
        chunks.iter().map(|chunk| (chunk.chunk_id, chunk)).collect();
    for (position, chunk) in chunks.iter().enumerate() {
        assert_eq!(chunk.ordinal as usize, position);
        assert!(!chunk.text.trim().is_empty());
        match chunk.kind {
            ChunkKind::Section => assert!(
                chunk.tokens as usize <= limits.section_limit_tokens,
                "seed {seed}: {chunk:?}"
            ),
            ChunkKind::Leaf => assert!(
                chunk.tokens as usize <= limits.leaf_maximum_tokens,
                "seed {seed}: {chunk:?}"
            ),
            ChunkKind::Continuation => assert!(chunk.is_continuation),
            ChunkKind::Summary => assert!(
                chunk.tokens as usize <= limits.summary_limit_tokens + 16,
                "seed {seed}: {chunk:?}"
            ),
            ChunkKind::Whole
            | ChunkKind::Api
            | ChunkKind::Faq
            | ChunkKind::CodeFile
            | ChunkKind::CodeFunction => {
                panic!("sections give none")
            }
        }
        let counted = Counter.count(&chunk.text) as f64;
        assert!(
            (counted - f64::from(chunk.tokens)).abs() <= counted * 0.1 + 24.0,
            "seed {seed}: {counted} {}",
            chunk.tokens
        );
        let parent = chunk.parent_id.map(|id| by_id[&id]);
        assert_eq!(
            chunk.parent_summary.as_ref(),
            parent.map(|parent| &parent.text)
        );
        assert!(parent.is_none_or(|parent| parent.kind == ChunkKind::Summary
            && parent.child_ids.contains(&chunk.chunk_id)));
        assert!(
            chunk
                .child_ids
                .iter()
                .all(|id| by_id[id].parent_id == Some(chunk.chunk_id))
        );
    }
    check_blocks(markdown, &chunks, seed);
    check_overlap(&chunks, seed);
}

/// No code, formula or table block is cut: each is whole in some chunk.
fn check_blocks(markdown: &str, chunks: &[Chunk], seed: u64) {
    let outline = Outline::parse(markdown);
    for block in outline
        .blocks
        .iter()
        .filter(|block| block.kind.is_unbreakable())
    {
        let text = outline.text(block.range.clone()).trim();
        assert!(
            chunks.iter().any(|chunk| chunk.text.contains(text)),
            "seed {seed}: cut {text}"
        );
    }
}

/// A leaf after a leaf of text of the same section repeats 10 to 15 % of it, and all but the last
/// of a section are long enough.
fn check_overlap(chunks: &[Chunk], seed: u64) {
    for pair in chunks.windows(2) {
        let (one, next) = (&pair[0], &pair[1]);
        if one.kind != ChunkKind::Leaf
            || next.kind != ChunkKind::Leaf
            || !next.is_continuation
            || one.text.contains("```")
            || one.text.contains('|')
            || one.text.contains("$$")
        {
            continue;
        }
        let ends = (1..one.text.len()).filter(|start| one.text.is_char_boundary(*start));
        let repeated = ends
            .map(|start| &one.text[start..])
            .find(|tail| next.text.starts_with(tail))
            .unwrap_or("");
        let share = Counter.count(repeated) as f64 / f64::from(one.tokens);
        assert!(
            (0.08..=0.17).contains(&share),
            "seed {seed}: overlap {share:.3} of {}",
            one.tokens
        );
        let follows_text =
            !next.text.contains("```") && !next.text.contains('|') && !next.text.contains("$$");
        assert!(
            !follows_text || one.tokens as usize >= config().leaf_minimum_tokens,
            "seed {seed}: {} tokens",
            one.tokens
        );
    }
}

#[test]
fn random_documents_keep_every_rule() {
    let mut cut_ones = 0;
    for seed in 0..150 {
        let markdown = random_markdown(&mut Random(seed + 1));
        check(&markdown, seed);
        cut_ones += usize::from(cut(&markdown).len() > 3);
    }
    assert!(
        cut_ones > 50,
        "the generator must make documents that are cut: {cut_ones}"
    );
}

#[test]
fn the_same_document_gives_the_same_chunks() {
    let markdown = random_markdown(&mut Random(7));
    assert_eq!(cut(&markdown), cut(&markdown));
}

#[test]
fn a_document_within_the_section_limit_is_one_chunk() {
    let chunks = cut("# 标题\n\n第一段。\n\n## 小节\n\n内容。\n");
    assert_eq!(chunks.len(), 1);
    assert_eq!(
        (chunks[0].kind, chunks[0].section_path.clone()),
        (ChunkKind::Section, vec!["标题".to_owned()])
    );
    assert_eq!(chunks[0].text, "# 标题\n\n第一段。\n\n## 小节\n\n内容。");
}

#[test]
fn headings_alone_give_one_chunk_and_a_blank_document_gives_its_title() {
    assert_eq!(cut("# a\n## b\n### c\n").len(), 1);
    assert_eq!(cut("# a").len(), 1);
    let mut blank = document(" \n\n");
    assert_eq!(
        sections(&blank)
            .iter()
            .map(|chunk| chunk.text.clone())
            .collect::<Vec<_>>(),
        ["文档"]
    );
    blank.document.title = String::new();
    assert_eq!(sections(&blank), []);
}

#[test]
fn sections_above_the_limit_get_a_summary_with_their_chunks_below_it() {
    let body = "载波聚合把多个载波合起来。".repeat(120);
    let markdown = format!(
        "# 手册\n\n导言一句。\n\n## 概念\n\n{body}\n\n## 限制\n\n{body}\n\n### 数量\n\n最多十六个。\n"
    );
    let chunks = cut(&markdown);
    let shape: Vec<_> = chunks
        .iter()
        .map(|chunk| (chunk.kind, chunk.section_path.join("/")))
        .collect();
    assert_eq!(shape[0], (ChunkKind::Summary, "手册".to_owned()));
    assert_eq!(shape[1], (ChunkKind::Leaf, "手册".to_owned()));
    assert!(
        chunks[0].text.contains("导言一句。")
            && chunks[0].text.contains("概念")
            && chunks[0].text.contains("限制")
    );
    assert_eq!(chunks[1].parent_id, Some(chunks[0].chunk_id));
    assert!(
        shape[2..]
            .iter()
            .all(|(kind, _)| matches!(kind, ChunkKind::Leaf | ChunkKind::Section))
    );
    assert_eq!(chunks[0].child_ids.len(), chunks.len() - 1);
}

#[test]
fn a_long_code_block_is_one_continuation_with_its_lead_in() {
    let code = "let x = compute_something(1, 2, 3);\n".repeat(400);
    let text = "这一段说明很长。".repeat(100);
    let chunks = cut(&format!(
        "# 例子\n\n{text}\n\n例如：\n\n```rust\n{code}```\n\n结尾。\n"
    ));
    let kinds: Vec<_> = chunks.iter().map(|chunk| chunk.kind).collect();
    assert_eq!(
        kinds,
        [ChunkKind::Leaf, ChunkKind::Continuation, ChunkKind::Leaf]
    );
    assert!(
        chunks[1].text.ends_with("```") && chunks[1].tokens > 2000 && chunks[1].is_continuation
    );
    assert_eq!(chunks[1].section_path, ["例子"]);
    assert_eq!(chunks[2].text, "结尾。");
}

#[test]
fn pages_images_and_the_documents_own_title() {
    let page = "一句话在这里。".repeat(90);
    let markdown = format!(
        "# 文档\n\n{page}\n\n![图](image:0)\n\n{page}\n\n## 表\n\n![再](image:1) ![外](http://x/y.png)\n"
    );
    let mut clean = document(&markdown);
    clean.page_starts = vec![
        0,
        markdown.find("![图]").unwrap() as u64,
        markdown.find("## 表").unwrap() as u64,
    ];
    clean.images = vec![
        ImageLink {
            link: "a.png".into(),
            alt: String::new(),
        },
        ImageLink {
            link: "b.png".into(),
            alt: String::new(),
        },
    ];
    let whole = chunk(&clean, Strategy::Whole, &config(), &Counter);
    assert_eq!(whole.len(), 1);
    assert_eq!(
        (whole[0].kind, whole[0].pages.clone()),
        (ChunkKind::Whole, vec![1, 2, 3])
    );
    assert_eq!(whole[0].images, ["a.png", "b.png", "http://x/y.png"]);
    let mut small = config();
    small.section_limit_tokens = 800;
    let chunks = chunk(&clean, Strategy::Sections, &small, &Counter);
    let places: Vec<_> = chunks
        .iter()
        .map(|chunk| {
            (
                chunk.section_path.clone(),
                chunk.pages.clone(),
                chunk.images.clone(),
            )
        })
        .collect();
    let last = places.last().unwrap();
    assert_eq!(
        last,
        &(
            vec!["表".to_owned()],
            vec![3],
            vec!["b.png".to_owned(), "http://x/y.png".to_owned()]
        )
    );
    assert_eq!(places[0].1, [1, 2, 3]);
    assert!(
        places[1..places.len() - 1]
            .iter()
            .any(|(path, pages, images)| path.is_empty()
                && pages.contains(&2)
                && images == &["a.png"])
    );
}

#[test]
fn duplicate_and_skipped_headings_keep_their_own_paths() {
    let filler = "Some words that fill the section well enough. ".repeat(80);
    let chunks = cut(&format!(
        "# A\n\n#### Same\n\n{filler}\n\n#### Same\n\n{filler}\n\n## B\n\n{filler}\n"
    ));
    let mut paths: BTreeMap<String, usize> = BTreeMap::new();
    for chunk in &chunks {
        *paths.entry(chunk.section_path.join("/")).or_default() += 1;
    }
    assert_eq!(paths.keys().collect::<Vec<_>>(), ["A", "A/B", "A/Same"]);
    let ids: HashSet<_> = chunks.iter().map(|chunk| chunk.chunk_id).collect();
    assert_eq!(
        ids.len(),
        chunks.len(),
        "equal sections have ids of their own"
    );
}

#[test]
fn hostile_documents_are_cut_in_seconds() {
    let long_line = "字".repeat(3_000_000);
    let cases = [
        ("many headings", "# a\n\n## b\n".repeat(50_000)),
        (
            "titles only, all long",
            format!("# {}\n", "t".repeat(100_000)).repeat(20),
        ),
        ("one line, no sentence end", long_line.clone()),
        (
            "one line without spaces in a heading",
            format!("# {long_line}"),
        ),
        ("one line of words", "word ".repeat(2_000_000)),
        ("commas", ",，".repeat(1_000_000)),
        ("deep quotation", format!("{}x", "> ".repeat(10_000))),
        ("deep list", format!("{}x", "- ".repeat(10_000))),
        (
            "deeper list line by line",
            (0..1500)
                .map(|depth| format!("{}- x\n", "  ".repeat(depth)))
                .collect(),
        ),
        ("open brackets", "[".repeat(1_000_000)),
        ("open formulas", "$$ a\n\n".repeat(100_000)),
        ("open html tables", "<table>\n\n".repeat(100_000)),
        ("full stops", ". ".repeat(1_000_000)),
        ("inline code", "`a.` ".repeat(400_000)),
        ("images", "![a](image:0) ".repeat(200_000)),
        (
            "control characters",
            "\u{0}\u{1}\u{feff}\u{200b}".repeat(100_000),
        ),
    ];
    for (name, markdown) in cases {
        let started = Instant::now();
        let chunks = cut(&markdown);
        let longest = chunks
            .iter()
            .filter(|chunk| matches!(chunk.kind, ChunkKind::Leaf))
            .map(|chunk| chunk.tokens)
            .max();
        assert!(
            longest.unwrap_or(0) as usize <= config().leaf_maximum_tokens,
            "{name}"
        );
        assert!(
            started.elapsed().as_secs() < 20,
            "{name} took {:?}",
            started.elapsed()
        );
        eprintln!(
            "{name}: {} bytes, {} chunks, {:?}",
            markdown.len(),
            chunks.len(),
            started.elapsed()
        );
    }
}

/// A deck with these slides, as ingest leaves it: pages follow each other without a blank line.
fn deck(slides: &[&str]) -> CleanDocument {
    let mut clean = document("");
    clean.document.title = "Geometry".to_owned();
    clean.document.media_type =
        "application/vnd.openxmlformats-officedocument.presentationml.presentation".to_owned();
    for slide in slides {
        clean.page_starts.push(clean.markdown.len() as u64);
        clean.markdown.push_str(slide);
        clean.markdown.push('\n');
    }
    clean
}

fn pages(chunks: &[Chunk]) -> Vec<Vec<u32>> {
    chunks.iter().map(|chunk| chunk.pages.clone()).collect()
}

#[test]
fn a_slide_is_a_chunk() {
    let words = "A polygon has corners and edges that meet in them. ".repeat(12);
    let clean = deck(&[
        &format!("# Geometry\n\n{words}"),
        &format!("# Convex hulls\n\n{words}\n\n![hull](image:0)"),
        "",
        &words,
    ]);
    let chunks = sections(&clean);
    assert_eq!(pages(&chunks), [vec![1], vec![2], vec![4]]);
    assert_eq!(chunks[1].section_path, ["Convex hulls"]);
    assert!(
        chunks[0].section_path.is_empty(),
        "the document's own title"
    );
    assert!(uncovered(&clean.markdown, &chunks).is_empty());
}

#[test]
fn a_long_slide_is_several_chunks_and_none_reaches_into_the_next() {
    let long = "The sweep line meets one event after the other in its order. ".repeat(150);
    let next = "The next slide is about something else altogether, as slides are. ".repeat(12);
    let chunks = sections(&deck(&[&long, &next]));
    let pages = pages(&chunks);
    assert!(pages.len() > 2, "{pages:?}");
    assert!(pages.iter().all(|pages| pages.len() == 1), "{pages:?}");
    assert_eq!(pages.last(), Some(&vec![2]));
}

#[test]
fn a_slide_of_a_few_words_goes_with_the_next_one() {
    let words = "A polygon has corners and edges that meet in them. ".repeat(12);
    let clean = deck(&["# Part 2", &words, &words, "Thank you"]);
    let chunks = sections(&clean);
    assert_eq!(pages(&chunks), [vec![1, 2], vec![3, 4]]);
    assert!(uncovered(&clean.markdown, &chunks).is_empty());
    let only_tiny = sections(&deck(&["One", "Two"]));
    assert_eq!(pages(&only_tiny), [vec![1, 2]]);
}
