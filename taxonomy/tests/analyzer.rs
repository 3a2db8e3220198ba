//! The analyzer as others see it: a golden table of texts and tokens, and properties that must hold
//! for any text.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::path::PathBuf;

use tributary_taxonomy::{Analyzer, AnalyzerConfig, Lexicon, fold, simplify};

const LEXICON: &str = "载波聚合\n载波\nB2B结算中心\n等保2.0三级\nC++模板\n5G NR\nQoS 流\nPing-Pong\ngNodeB\n切换\n上行（UL）\n.NET\n流\nカバー\n一体化 基站";

fn config() -> AnalyzerConfig {
    AnalyzerConfig {
        guess_words: false,
        sub_words: false,
        term_words: false,
        english_stems: true,
    }
}

fn analyzer() -> Analyzer {
    Analyzer::new(&config(), Lexicon::from_text("test", LEXICON).unwrap()).unwrap()
}

fn shared_data(path: &str) -> Option<String> {
    let shared = std::env::var_os("TRIBUTARY_SHARED").map(PathBuf::from);
    let folder =
        shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared"));
    let file = folder.join("data").join(path);
    let text = std::fs::read_to_string(&file).ok();
    if text.is_none() {
        eprintln!("SKIPPED: {} is not there", file.display());
    }
    text
}

fn texts(jsonl: &str) -> Vec<String> {
    let text = |line: &str| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    jsonl.lines().map(text).collect()
}

/// A small generator of numbers, so that a failure can be repeated.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

#[test]
fn golden_table() {
    let analyzer = analyzer();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/analyzer.golden");
    let golden = std::fs::read_to_string(&path).unwrap();
    let mut actual = String::new();
    for line in golden.lines() {
        match line.split_once(" => ") {
            Some((text, _)) => {
                let unescaped = text.replace("\\n", "\n").replace("\\t", "\t");
                actual.push_str(&format!(
                    "{text} => {}\n",
                    match analyzer.analyze(&unescaped) {
                        tokens if tokens.is_empty() => "(none)".to_owned(),
                        tokens => tokens.join(" | "),
                    }
                ));
            }
            None => actual.push_str(&format!("{line}\n")),
        }
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &actual).unwrap();
    }
    for (expected, actual) in golden.lines().zip(actual.lines()) {
        assert_eq!(actual, expected);
    }
}

#[test]
fn a_lexicon_term_is_never_split() {
    let analyzer = analyzer();
    let terms = [
        "载波聚合",
        "B2B结算中心",
        "等保2.0三级",
        "C++模板",
        "5G NR",
        "QoS 流",
        "Ping-Pong",
        "gNodeB",
        "切换",
        "上行（UL）",
    ];
    let tokens = [
        "载波聚合",
        "b2b结算中心",
        "等保2.0三级",
        "c++模板",
        "5g_nr",
        "qos流",
        "ping-pong",
        "gnodeb",
        "切换",
        "上行(ul)",
    ];
    let around = [
        "的",
        "网络",
        "，",
        " ",
        "\n",
        "（",
        "参数 ",
        " and ",
        "在",
        "：",
        "。",
        " 38.331 ",
        "、",
        "/",
        "小区间",
        " the_name ",
        "…",
        "無線",
    ];
    let mut numbers = Numbers(7);
    for _ in 0..3000 {
        let which = numbers.below(terms.len());
        let mut before: String = (0..numbers.below(12))
            .map(|_| around[numbers.below(around.len())])
            .collect();
        let mut after: String = (0..numbers.below(12))
            .map(|_| around[numbers.below(around.len())])
            .collect();
        // A term beside letters is part of a longer word, and beside `_` of a longer name: that is
        // no occurrence of it.
        if before.ends_with(|last: char| last.is_ascii_alphanumeric()) {
            before.push(' ');
        }
        after.insert_str(0, if numbers.below(2) == 0 { "，" } else { " " });
        let sentence = format!("{before}{}{after}", terms[which]);
        let found = analyzer.analyze(&sentence);
        assert!(
            found.iter().any(|token| token == tokens[which]),
            "{:?} not in {found:?} of {sentence:?}",
            tokens[which]
        );
    }
}

#[test]
fn a_term_at_any_place_of_a_long_text_without_breaks_is_found() {
    let analyzer = analyzer();
    for filler in ["网络优化", "網路優化", "ab.", "x ", "-"] {
        let mut text = String::new();
        let mut expected = 0;
        let mut numbers = Numbers(3);
        while text.len() < 400_000 {
            text.push_str(&filler.repeat(numbers.below(3000)));
            text.push_str(" 载波聚合 5G NR ");
            expected += 1;
        }
        let tokens = analyzer.analyze(&text);
        assert_eq!(
            tokens.iter().filter(|token| *token == "载波聚合").count(),
            expected,
            "{filler}"
        );
        assert_eq!(
            tokens.iter().filter(|token| *token == "5g_nr").count(),
            expected,
            "{filler}"
        );
    }
}

#[test]
fn windows_do_not_show() {
    // A long text gives the tokens of its lines, wherever the windows end.
    let analyzer = analyzer();
    let line = "QoS 流的載波聚合，mindspore.nn.Conv2d 在 TS 38.331 中；Ａｂｃ e\u{301}t\u{e9} カタカナ 한국어 running！";
    let of_line = analyzer.analyze(line);
    let count = 6000;
    let text = format!("{line}\n").repeat(count);
    let tokens = analyzer.analyze(&text);
    assert_eq!(tokens.len(), of_line.len() * count);
    assert!(tokens.chunks(of_line.len()).all(|chunk| chunk == of_line));
}

#[test]
fn tokens_hold_no_white_space_and_are_short_for_any_text() {
    let analyzer = analyzer();
    let alphabet: Vec<char> =
        "a1_.-/ +#\n\t　，。（载波聚合流載５Ｇ.nNRQoS한カひ\u{301}\u{200b}😀é\u{0}ก้\u{2028}\u{ac}Ⅷ①ß\u{fffd}𠀀".chars().collect();
    let mut numbers = Numbers(11);
    for _ in 0..3000 {
        let text: String = (0..numbers.below(60))
            .map(|_| alphabet[numbers.below(alphabet.len())])
            .collect();
        let mut joined = String::new();
        analyzer.analyze_into(&text, &mut joined);
        let tokens = analyzer.analyze(&text);
        assert_eq!(joined, tokens.join(" "), "{text:?}");
        for token in &tokens {
            assert!(
                !token.is_empty() && !token.chars().any(char::is_whitespace),
                "{token:?} of {text:?}"
            );
            assert!(token.len() <= 256, "{token:?}");
            assert!(
                token
                    .chars()
                    .any(|character| !character.is_ascii_punctuation()),
                "{token:?} of {text:?}"
            );
        }
    }
}

#[test]
fn huge_single_lines_are_cut_in_linear_time() {
    let analyzer = analyzer();
    for piece in [
        "a", "a.", "_", "载", "載", ".", "한", "カ", "ひ", "a-b/", "e\u{301}", "5G ",
    ] {
        let mut out = String::new();
        let started = std::time::Instant::now();
        analyzer.analyze_into(&piece.repeat(1_000_000 / piece.len()), &mut out);
        assert!(
            started.elapsed().as_secs() < 10,
            "{piece:?} took {:?}",
            started.elapsed()
        );
        assert!(out.split(' ').all(|token| token.len() <= 256), "{piece:?}");
    }
}

#[test]
fn identifiers_are_found_whole_and_by_their_parts() {
    let analyzer = analyzer();
    let table = [
        (
            "mindspore.nn.Conv2d",
            vec!["mindspore.nn.conv2d", "mindspore", "nn", "conv2d"],
        ),
        (
            "OID_WWAN_SIGNAL_STATE",
            vec!["oid_wwan_signal_state", "oid", "wwan", "signal", "state"],
        ),
        ("TS 38.331", vec!["38.331", "38", "331"]),
        ("3GPP R15", vec!["3gpp", "r15"]),
        ("getUserName", vec!["getusername", "get", "user", "name"]),
        ("0x80070005", vec!["0x80070005"]),
        ("E40021", vec!["e40021"]),
        ("EBUSY", vec!["ebusy"]),
        ("v2.0.1", vec!["v2.0.1", "v2", "0", "1"]),
        ("__init__", vec!["__init__", "init"]),
    ];
    for (text, expected) in table {
        let tokens = analyzer.analyze(&format!("调用{text}失败。"));
        for token in expected {
            assert!(
                tokens.iter().any(|found| found == token),
                "{token} not in {tokens:?}"
            );
            // The part as a query finds the whole: all its tokens are among those of the text.
            let query = analyzer.analyze(token);
            assert!(
                query.iter().any(|token| tokens.contains(token)),
                "query {query:?} finds nothing in {tokens:?}"
            );
        }
    }
}

#[test]
fn case_width_and_script_make_no_difference() {
    let analyzer = analyzer();
    for (left, right) in [
        ("載波聚合的參數", "载波聚合的参数"),
        ("ＱｏＳ　流", "qos流"),
        ("Handovers", "handover"),
        ("５Ｇ ＮＲ", "5g nr"),
    ] {
        assert_eq!(
            analyzer.analyze(left),
            analyzer.analyze(right),
            "{left} {right}"
        );
    }
    for text in ["", "。，！？", " \n\t", "---...///", "____", "\u{200b}"] {
        assert!(analyzer.analyze(text).is_empty(), "{text:?}");
    }
}

#[test]
fn words_of_a_chinese_term_stand_beside_it() {
    let config = AnalyzerConfig {
        term_words: true,
        ..config()
    };
    let lexicon = || Lexicon::from_text("test", "地址空间\n切换\n5G NR").unwrap();
    let analyzer = Analyzer::new(&config, lexicon()).unwrap();
    assert_eq!(
        analyzer.analyze("地址空间的切换"),
        ["地址空间", "地址", "空间", "的", "切换"]
    );
    let without = Analyzer::new(&self::config(), lexicon()).unwrap();
    assert_ne!(analyzer.fingerprint(), without.fingerprint());
    let of_no_lexicon = |config: &AnalyzerConfig| {
        let analyzer = Analyzer::new(config, Lexicon::empty()).unwrap();
        analyzer.fingerprint().to_owned()
    };
    assert_eq!(of_no_lexicon(&config), of_no_lexicon(&self::config()));
}

#[test]
fn the_fingerprint_follows_settings_and_lexicon() {
    let plain = Analyzer::new(&config(), Lexicon::empty())
        .unwrap()
        .fingerprint();
    assert_eq!(
        plain,
        Analyzer::new(&config(), Lexicon::empty())
            .unwrap()
            .fingerprint()
    );
    assert_ne!(plain, analyzer().fingerprint());
    let changed = AnalyzerConfig {
        sub_words: true,
        term_words: true,
        ..config()
    };
    assert_ne!(
        plain,
        Analyzer::new(&changed, Lexicon::empty())
            .unwrap()
            .fingerprint()
    );
}

#[test]
fn simplify_agrees_with_opencc() {
    let (Some(traditional), Some(simplified)) = (
        shared_data("drcd-zht/queries.jsonl"),
        shared_data("drcd-zht/queries_simplified.jsonl"),
    ) else {
        return;
    };
    let analyzer = analyzer();
    let (mut characters, mut different) = (0, 0);
    for (text, expected) in texts(&traditional).iter().zip(texts(&simplified)) {
        let converted = simplify(text);
        characters += expected.chars().count();
        different += converted
            .chars()
            .zip(expected.chars())
            .filter(|(left, right)| left != right)
            .count();
        assert_eq!(fold(text), fold(&expected));
        assert_eq!(analyzer.analyze(text), analyzer.analyze(&expected));
    }
    assert!(characters > 10_000);
    assert!(
        different * 1000 < characters,
        "{different} of {characters} characters differ"
    );
    eprintln!("{different} of {characters} characters differ from OpenCC");
}
