//! Security levels of sections: no text of a section with a higher level stands in a chunk with a
//! lower one, however a document is cut.
#![allow(clippy::unwrap_used)]

mod support;

use std::fmt::Write as _;

use support::{Counter, Random, config, document};
use tributary_enrich::ChunkerConfig;
use tributary_enrich::chunkers::{ModelTexts, Strategy, cut};
use tributary_schemas::{Chunk, CleanDocument, SectionLevel};

const CANARY: &str = "kanarienvogel";

fn with_rules(markdown: &str, rules: &[(&str, u8)]) -> CleanDocument {
    let mut clean = document(markdown);
    let rule = |(heading, security_level): &(&str, u8)| SectionLevel {
        heading: (*heading).to_owned(),
        security_level: *security_level,
    };
    clean.document.attributes.section_levels = Some(rules.iter().map(rule).collect());
    clean
}

fn chunks(strategy: Strategy, clean: &CleanDocument, config: &ChunkerConfig) -> Vec<Chunk> {
    cut(clean, strategy, config, &Counter).finish(ModelTexts::default(), &Counter)
}

/// Text with its level, for each chunk.
fn levels(strategy: Strategy, clean: &CleanDocument) -> Vec<(String, Option<u8>)> {
    let chunks = chunks(strategy, clean, &config());
    let level = |chunk: Chunk| (chunk.text, chunk.security_level);
    chunks.into_iter().map(level).collect()
}

/// The level of the chunk that says this, other than summaries that quote it.
fn level_of(strategy: Strategy, clean: &CleanDocument, text: &str) -> Option<u8> {
    let found = levels(strategy, clean);
    let lowest = found.iter().filter(|(chunk, _)| chunk.contains(text));
    lowest.map(|(_, level)| *level).min().unwrap()
}

const TEXT: &str = "# 文档\n\nopen words\n\n## Internal notes\n\nclosed words\n\n### Deeper\n\ndeep words\n\n## 公开\n\npublic words\n\n#### Top secret\n\nsecret words\n\n## Last\n\nlast words\n";

#[test]
fn small_sections_of_several_levels_become_no_chunk_together() {
    let clean = with_rules(TEXT, &[("internal*", 3), ("*secret*", 7)]);
    for strategy in [Strategy::Sections, Strategy::Headings] {
        let table = [
            ("open words", None),
            ("closed words", Some(3)),
            ("deep words", Some(3)),
            ("public words", None),
            ("secret words", Some(7)),
            ("last words", None),
        ];
        for (text, expected) in table {
            assert_eq!(level_of(strategy, &clean, text), expected, "{text}");
        }
    }
    let whole = levels(Strategy::Whole, &clean);
    assert_eq!(whole.len(), 1);
    assert_eq!(whole[0].1, Some(7));
    let cut = cut(&clean, Strategy::Sections, &config(), &Counter);
    assert_eq!(cut.highest_section_level(), Some(7));
}

#[test]
fn a_level_of_the_document_is_not_lowered_and_without_rules_nothing_changes() {
    let mut clean = with_rules(TEXT, &[("internal*", 3), ("*secret*", 7)]);
    clean.document.attributes.security_level = Some(5);
    let strategy = Strategy::Sections;
    assert_eq!(level_of(strategy, &clean, "closed words"), None);
    assert_eq!(level_of(strategy, &clean, "secret words"), Some(7));
    let plain = document(TEXT);
    let unruly = with_rules(TEXT, &[("nothing like it", 9)]);
    for strategy in Strategy::ALL {
        let (plain, unruly) = (levels(strategy, &plain), levels(strategy, &unruly));
        assert_eq!(plain, unruly);
        assert!(plain.iter().all(|(_, level)| level.is_none()));
    }
    let of = |clean| cut(clean, strategy, &config(), &Counter).highest_section_level();
    assert_eq!((of(&plain), of(&unruly)), (None, Some(0)));
}

#[test]
fn where_sections_cannot_be_told_the_whole_is_closed() {
    let long = format!("## {} secret\n\nwords\n\n## B\n\nopen\n", "x".repeat(300));
    let table = [
        ("a\n\n> # Secret\n> words\n\n## B\n\nopen\n", Some(7)),
        ("a\n\n- ## Secret\n\n  words\n\n## B\n\nopen\n", Some(7)),
        (
            "a\n\n<h2 class=\"x\">The secret</h2>\n\nwords\n\n## B\n\nopen\n",
            Some(7),
        ),
        ("a\n\n```sh\n# secret\nwords\n```\n\n## B\n\nopen\n", None),
        ("## B\n\nopen\n\n```sh\n# secret\nwords\n", Some(7)),
        ("a\n\nSecret\n------\n\nwords\n\n## B\n\nopen\n", None),
        (long.as_str(), None),
        (
            "Nothing here is a heading, **Secret** or not.\n\nopen\n",
            Some(7),
        ),
    ];
    for (text, expected) in table {
        let clean = with_rules(text, &[("*secret*", 7)]);
        let level = level_of(Strategy::Sections, &clean, "open");
        assert_eq!(level, expected, "{text}");
    }
    for text in [
        long.as_str(),
        "a\n\nThe `secret`\n------\n\nwords\n",
        "## **Secret** #\n\nwords\n",
    ] {
        let clean = with_rules(text, &[("*secret*", 7)]);
        assert_eq!(
            level_of(Strategy::Sections, &clean, "words"),
            Some(7),
            "{text}"
        );
    }
}

/// Markdown with restricted sections, each paragraph of which has the canary, as have all titles
/// below it.
fn random_document(random: &mut Random) -> String {
    let mut text = String::new();
    // Levels of the restricted headings that are open.
    let mut closed: Option<usize> = None;
    for number in 0..2 + random.below(14) {
        let level = 1 + random.below(5);
        if closed.is_some_and(|closed| level <= closed) {
            closed = None;
        }
        let is_closed = closed.is_some() || random.below(4) == 0;
        if is_closed && closed.is_none() {
            closed = Some(level);
        }
        let (title, word) = match is_closed {
            true => (format!("Secret {CANARY} {number}"), CANARY),
            false => (format!("Open {number}"), "ordinary"),
        };
        writeln!(text, "{} {title}\n", "#".repeat(level)).unwrap();
        for _ in 0..random.below(4) {
            let run = format!("{word} word. ").repeat(1 + random.below(60));
            let paragraph = match random.below(5) {
                0 => format!("```c\nint {word}(int a) {{ return a; }}\n```"),
                1 => format!("| a | b |\n|---|---|\n| {word} | x |"),
                2 => format!("**Q: {word}?**\n\nA: {run}"),
                _ => run,
            };
            writeln!(text, "{paragraph}\n").unwrap();
        }
    }
    text
}

#[test]
fn no_text_of_a_higher_section_stands_in_a_lower_chunk() {
    let mut random = Random(7);
    let (mut open, mut closed) = (0, 0);
    for round in 0..400 {
        let text = random_document(&mut random);
        let mut clean = with_rules(&text, &[("secret*", 3)]);
        if round % 3 == 0 {
            clean.document.media_type =
                "application/vnd.openxmlformats-officedocument.presentationml.presentation".into();
            clean.page_starts = text
                .match_indices("\n#")
                .map(|(at, _)| at as u64 + 1)
                .collect();
            clean.page_starts.insert(0, 0);
        }
        let small = ChunkerConfig {
            section_limit_tokens: 60,
            leaf_minimum_tokens: 10,
            leaf_maximum_tokens: 30,
            summary_limit_tokens: 40,
            ..config()
        };
        for (strategy, config) in Strategy::ALL
            .into_iter()
            .flat_map(|strategy| [(strategy, config()), (strategy, small.clone())])
        {
            for mut chunk in chunks(strategy, &clean, &config) {
                if chunk.security_level == Some(3) {
                    closed += 1;
                    continue;
                }
                open += 1;
                chunk.child_ids.clear();
                let shown = format!("{chunk:?}");
                assert!(
                    !shown.contains(CANARY),
                    "{round} {strategy:?} {shown}\n\n{text}"
                );
            }
        }
    }
    assert!(open > 1000 && closed > 1000, "{open} {closed}");
}
