//! How fast the analyzer is beside plain jieba-rs, in bytes of Chinese text per second of CPU time
//! on one thread; median of the runs. Run: `cargo bench -p tributary-taxonomy --bench analyzer`;
//! reads the evaluation data (`TRIBUTARY_SHARED` or `../../shared`).
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use tributary_taxonomy::{Analyzer, AnalyzerConfig, Lexicon};

const RUNS: usize = 7;

fn main() {
    // `cargo test --benches` also starts this; it has nothing to measure there.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let config = AnalyzerConfig {
        guess_words: false,
        sub_words: false,
        term_words: false,
        english_stems: true,
    };
    let lexicon_file = data_folder().join("lexicon/THUOCL_IT.txt");
    let terms = std::fs::read_to_string(&lexicon_file)
        .ok()
        .unwrap_or_default();
    let words: Vec<&str> = terms
        .lines()
        .filter_map(|line| line.split('\t').next())
        .map(str::trim)
        .filter(|word| word.len() > 3)
        .collect();
    let lexicon = Lexicon::from_text("words", &words.join("\n")).unwrap();
    println!("lexicon of {} terms", lexicon.len());
    let plain = Analyzer::new(&config, Lexicon::empty()).unwrap();
    let with_lexicon = Analyzer::new(&config, lexicon).unwrap();
    let jieba = jieba_rs::Jieba::new();
    for set in ["cmrc2018-zh", "wireless-zh", "drcd-zht", "cranfield-en"] {
        let Some(texts) = read_corpus(set) else {
            eprintln!("SKIPPED: {set} is not there");
            continue;
        };
        let bytes: usize = texts.iter().map(String::len).sum();
        let mut out = String::new();
        let mut analyze = |analyzer: &Analyzer| {
            for text in &texts {
                out.clear();
                analyzer.analyze_into(text, &mut out);
                black_box(&out);
            }
        };
        // In turns, so that a busy machine slows all of them alike.
        let mut seconds = [const { Vec::new() }; 4];
        for _ in 0..RUNS {
            seconds[0].push(cpu_seconds(|| analyze(&plain)));
            seconds[1].push(cpu_seconds(|| analyze(&with_lexicon)));
            seconds[2].push(cpu_seconds(|| {
                texts
                    .iter()
                    .for_each(|text| drop(black_box(jieba.cut(text, false))))
            }));
            seconds[3].push(cpu_seconds(|| {
                texts
                    .iter()
                    .for_each(|text| drop(black_box(jieba.cut(text, true))))
            }));
        }
        let speed = seconds.map(|runs| bytes as f64 / 1e6 / median(runs));
        println!(
            "{set}: {:.2} MB; analyzer {:.1} MB/s, with lexicon {:.1} MB/s; jieba-rs cut {:.1} MB/s, with hmm {:.1} MB/s",
            bytes as f64 / 1e6,
            speed[0],
            speed[1],
            speed[2],
            speed[3]
        );
    }
}

fn median(mut runs: Vec<f64>) -> f64 {
    runs.sort_by(f64::total_cmp);
    runs[runs.len() / 2]
}

fn cpu_seconds(run: impl FnOnce()) -> f64 {
    let (cpu, wall) = (thread_cpu_ns(), Instant::now());
    run();
    match (cpu, thread_cpu_ns()) {
        (Some(before), Some(after)) => (after - before) as f64 / 1e9,
        _ => wall.elapsed().as_secs_f64(),
    }
}

/// CPU time of this thread, where the system tells (Linux).
fn thread_cpu_ns() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()?
        .split(' ')
        .next()?
        .parse()
        .ok()
}

fn data_folder() -> PathBuf {
    let shared = std::env::var_os("TRIBUTARY_SHARED").map(PathBuf::from);
    shared
        .unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared"))
        .join("data")
}

fn read_corpus(set: &str) -> Option<Vec<String>> {
    let corpus = std::fs::read_to_string(data_folder().join(set).join("corpus.jsonl")).ok()?;
    let text = |line: &str| {
        serde_json::from_str::<serde_json::Value>(line)
            .ok()?
            .get("text")?
            .as_str()
            .map(str::to_owned)
    };
    corpus.lines().map(text).collect()
}
